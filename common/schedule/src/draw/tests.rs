use proptest::prelude::*;

use super::*;
use crate::fixtures::{grouped, platform, random, task};
use crate::{Dag, Heft, MeanRule, Problem, Scheduler, TOLERANCE};

const NAMES: [&str; 4] = ["first", "left", "right", "last"];

//   first --> left ---> last      two machines of one slot, 4 seconds for each message
//       \---> right --/
fn diamond() -> (Problem, Schedule) {
    let tasks = [task(2.0, 1), task(10.0, 1), task(9.0, 1), task(3.0, 1)];
    let dag = Dag::new(
        &tasks,
        &[(0, 1, 4.0), (0, 2, 4.0), (1, 3, 4.0), (2, 3, 4.0)],
    )
    .unwrap();
    let problem = Problem::new(dag, &grouped(&[(1.0, 1, 0), (1.0, 1, 1)], 1.0, 1.0)).unwrap();
    let schedule = Heft::new(MeanRule::Costs).schedule(&problem).unwrap();
    (problem, schedule)
}

fn chart(problem: &Problem, schedule: &Schedule, name: &dyn Fn(u32) -> &'static str) -> Chart {
    Chart::new(&Drawn {
        problem,
        schedule,
        name: &|task| name(task),
        group: &|group| format!("group {}", group + 1),
        colour: &|task| task as usize % 3,
        legend: &["one".to_owned(), "two <b>".to_owned()],
        transfer: &|from, to, edge| {
            let hosts = [from, to].map(|task| schedule.entries[task as usize].host);
            problem.transfer(edge, hosts[0], hosts[1])
        },
    })
}

fn without_colours(text: &str) -> String {
    let mut out = String::new();
    let mut in_code = false;
    for c in text.chars() {
        match c {
            '\x1b' => in_code = true,
            'm' if in_code => in_code = false,
            _ if in_code => {}
            c => out.push(c),
        }
    }
    out
}

#[test]
fn bars_have_names_and_the_critical_path_is_marked() {
    let (problem, schedule) = diamond();
    let chart = chart(&problem, &schedule, &|task| NAMES[task as usize]);
    assert_eq!(chart.critical_path(), [0, 1, 3]);
    let look = Look {
        width: 64,
        rows_max: 10,
    };
    assert_eq!(
        without_colours(&chart.terminal(look)),
        "\
m0 │[fir…][left#########################]                      │
m1 │                   [right=====================]   [last###]│
    0           4.8s           9.5s           14.2s       19.0s
   one     two <b>     others
"
    );
}

#[test]
fn many_rows_are_put_together() {
    let tasks: Vec<_> = (0..12).map(|_| task(1.0, 1)).collect();
    let dag = Dag::new(&tasks, &[]).unwrap();
    let machines: Vec<_> = (0..6).map(|number| (1.0, 2, number / 2)).collect();
    let problem = Problem::new(dag, &grouped(&machines, 1.0, 1.0)).unwrap();
    let schedule = Heft::new(MeanRule::Costs).schedule(&problem).unwrap();
    let chart = chart(&problem, &schedule, &|_| "a");
    let labels = |rows_max| -> Vec<String> {
        let text = without_colours(&chart.terminal(Look {
            width: 40,
            rows_max,
        }));
        let rows = text.lines().filter_map(|line| line.split_once('│'));
        rows.map(|(label, _)| label.trim().to_owned()).collect()
    };
    assert_eq!(labels(12)[..3], ["m0:0", "m0:1", "m1:0"]);
    assert_eq!(labels(6), ["m0", "m1", "m2", "m3", "m4", "m5"]);
    assert_eq!(labels(3), ["group 1", "group 2", "group 3"]);
    assert_eq!(labels(2), ["group 1 … group 2", "group 3 … group 3"]);
    assert_eq!(labels(1), ["group 1 … group 3"]);
}

#[test]
fn idle_slots_are_left_out_and_counted() {
    let dag = Dag::new(&[task(1.0, 2)], &[]).unwrap();
    let problem = Problem::new(dag, &platform(&[(1.0, 3), (1.0, 1)])).unwrap();
    let schedule = Heft::new(MeanRule::Costs).schedule(&problem).unwrap();
    let chart = chart(&problem, &schedule, &|_| "both");
    let text = without_colours(&chart.terminal(Look {
        width: 40,
        rows_max: 10,
    }));
    assert_eq!(text.matches("[both").count(), 2, "{text}");
    assert!(text.contains("2 slots have nothing to do"), "{text}");
}

#[test]
fn nothing_to_draw_is_drawn_as_nothing() {
    let dag = Dag::new(&[], &[]).unwrap();
    let problem = Problem::new(dag, &platform(&[(1.0, 1)])).unwrap();
    let schedule = Heft::new(MeanRule::Costs).schedule(&problem).unwrap();
    let chart = chart(&problem, &schedule, &|_| "a");
    let look = Look {
        width: 80,
        rows_max: 9,
    };
    assert_eq!(chart.terminal(look), "");
    assert!(chart.svg("nothing", "").starts_with("<svg "));
    assert_eq!(chart.critical_path(), [0u32; 0]);
}

#[test]
fn svg_has_a_bar_for_each_task_and_escapes_what_users_write() {
    let (problem, schedule) = diamond();
    let evil = ["<script>", "\"&", "a\u{1}b", "]]>"];
    let chart = chart(&problem, &schedule, &|task| evil[task as usize]);
    let svg = chart.svg("</svg><script>", "said");
    assert_eq!(svg.matches("<rect class=\"b").count(), 4, "{svg}");
    assert_eq!(svg.matches("<path class=\"k\"").count(), 1, "{svg}");
    assert!(!svg.contains("<script"), "{svg}");
    assert!(svg.contains("&lt;script&gt;") && svg.contains("a?b") && svg.contains("two &lt;b&gt;"));
    assert!(!svg.contains("href") && svg.matches("http").count() == 1);
}

#[test]
fn svg_of_many_short_bars_stays_small() {
    let tasks: Vec<_> = (0..30_000).map(|_| task(1.0, 1)).collect();
    let dag = Dag::new(&tasks, &[]).unwrap();
    let problem = Problem::new(dag, &platform(&[(1.0, 2)])).unwrap();
    let schedule = Heft::new(MeanRule::Costs).schedule(&problem).unwrap();
    let chart = chart(&problem, &schedule, &|_| "a");
    let svg = chart.svg("many", "");
    assert!(svg.len() < 4 << 20, "{}", svg.len());
}

proptest! {
    #[test]
    fn critical_path_leads_to_the_end_without_a_gap(seed in 0u64..500) {
        let problem = random(seed, 30, 4);
        let schedule = Heft::new(MeanRule::Costs).schedule(&problem).unwrap();
        let chart = chart(&problem, &schedule, &|_| "a");
        let path = chart.critical_path();
        let entry = |task: u32| &schedule.entries[task as usize];
        prop_assert!(entry(path[0]).start <= TOLERANCE, "{path:?}");
        let last = path[path.len() - 1];
        prop_assert!((entry(last).finish - schedule.makespan()).abs() <= TOLERANCE);
        for pair in path.windows(2) {
            let (one, next) = (entry(pair[0]), entry(pair[1]));
            prop_assert!(one.finish <= next.start + TOLERANCE);
        }
    }

    #[test]
    fn terminal_lines_fit_their_width(seed in 0u64..200, width in 40usize..200, rows_max in 1usize..20) {
        let problem = random(seed, 40, 5);
        let schedule = Heft::new(MeanRule::Costs).schedule(&problem).unwrap();
        let chart = chart(&problem, &schedule, &|task| NAMES[task as usize % 4]);
        let text = without_colours(&chart.terminal(Look { width, rows_max }));
        for line in text.lines() {
            prop_assert!(line.chars().count() <= width, "{line}");
        }
    }
}
