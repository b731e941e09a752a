//! `cargo run --release -p schedule --example quality` prints how long the schedules of all
//! algorithms are beside HEFT's: on the recorded workflows of the data pack that XAVANTES_DATA
//! names, and on the structured graphs of the papers' experiments, direct and through controllers.
//! With `--write FILE` the tables also take the place of what stands between their marks in that
//! file (docs/schedulers.md). It takes some ten minutes, most of them the budgets of xavantes.
//! Numbers are seconds of budget that take the place of the default ones.
#![expect(clippy::print_stdout, reason = "a program for people")]
#![expect(clippy::unwrap_used, reason = "the data pack is known to be sound")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::fmt::Write as _;

use schedule::platform::{MessageCost, ReferenceNetwork, paper, reference};
use schedule::structured::{SIZES, Shape, Structured};
use schedule::{
    Dag, Placing, Problem, Schedule, SchedulerKind, Tree, Xavantes, bound, check, check_copied,
    check_through_controllers, through_controllers,
};

const CELLS: [(u32, &str); 5] = [
    (8, "lan"),
    (64, "lan"),
    (512, "lan"),
    (64, "ccr1"),
    (64, "ccr10"),
];
/// The two tables; either word as an argument asks for that one only.
const PARTS: [&str; 2] = ["recorded", "structured"];
/// Schedules that differ by less than this part are a tie.
const TIE: f64 = 1e-3;
/// Seconds of budget of xavantes on the graphs of the papers.
const PAPER_BUDGET: f64 = 0.1;
/// Algorithms above this product of edges and machines are left out: they would take hours.
const SEARCHES_MAX: usize = 1_500_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let budget: Option<f64> = arguments.iter().find_map(|argument| argument.parse().ok());
    let wanted = |part: &str| {
        let named = |part: &str| arguments.iter().any(|argument| argument == part);
        named(part) || !PARTS.into_iter().any(named)
    };
    let mut parts = Vec::new();
    if wanted(PARTS[0])
        && let Some(folder) = support::workflows()
    {
        let mut text = String::new();
        recorded(&mut text, &folder, budget);
        parts.push((PARTS[0], text));
    }
    if wanted(PARTS[1]) {
        let mut text = String::new();
        structured(&mut text, budget.unwrap_or(PAPER_BUDGET));
        parts.push((PARTS[1], text));
    }
    for (part, text) in parts {
        println!("{text}");
        if let Some(place) = arguments.iter().position(|argument| argument == "--write") {
            let path = &arguments[place + 1];
            let old = std::fs::read_to_string(path).unwrap();
            let (begin, end) = (
                format!("<!-- {part}: begin -->"),
                format!("<!-- {part}: end -->"),
            );
            let (before, rest) = old.split_once(&begin).unwrap();
            let (_, after) = rest.split_once(&end).unwrap();
            std::fs::write(path, format!("{before}{begin}\n{text}\n{end}{after}")).unwrap();
        }
    }
}

/// The recorded workflows on reference platforms, in direct mode.
fn recorded(text: &mut String, folder: &std::path::Path, budget: Option<f64>) {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    let graphs: Vec<Dag> = files.iter().map(|path| support::read(path)).collect();
    let cells: Vec<Vec<(Problem, f64)>> = CELLS
        .iter()
        .map(|&(hosts, net)| {
            let network = ReferenceNetwork::named(net).unwrap();
            let problems = graphs.iter().map(|dag| {
                let platform = reference(hosts, network, dag).unwrap();
                let problem = Problem::new(dag.clone(), &platform).unwrap();
                let heft = SchedulerKind::Heft.scheduler().schedule(&problem).unwrap();
                (problem, heft.makespan())
            });
            problems.collect()
        })
        .collect();
    let n = graphs.len();
    writeln!(
        text,
        "\n{n} recorded workflows, direct: geometric mean of makespan / HEFT's, worst ratio, wins against HEFT \
         (more than 0.1 % shorter); workflows left out\n"
    )
    .unwrap();
    write!(text, "| |").unwrap();
    for (hosts, net) in CELLS {
        write!(text, " {hosts} {net} |").unwrap();
    }
    writeln!(text, "\n|---|--:|--:|--:|--:|--:|").unwrap();
    line(text, "HEFT / bound", &cells, |problem, heft| {
        Some(heft / bound(problem))
    });
    let xavantes = budget.map_or(Xavantes::new(), Xavantes::within);
    line(text, "xavantes", &cells, |problem, heft| {
        let schedule = xavantes.run(problem).unwrap().schedule;
        check(problem, &schedule).unwrap();
        Some(schedule.makespan() / heft)
    });
    line(text, "xavantes, no search", &cells, |problem, heft| {
        let run = xavantes.portfolio_only().run(problem).unwrap();
        Some(run.schedule.makespan() / heft)
    });
    for kind in SchedulerKind::ALL {
        if kind == SchedulerKind::Xavantes || kind == SchedulerKind::Heft {
            continue;
        }
        let scheduler = kind.scheduler();
        line(text, scheduler.name(), &cells, |problem, heft| {
            let searches = problem.dag().n_edges() * problem.hosts().len();
            let exact = matches!(kind, SchedulerKind::Pch | SchedulerKind::Best);
            let dear = matches!(kind, SchedulerKind::Lookahead) && searches > SEARCHES_MAX
                || exact && problem.hosts().len() > 64;
            if dear {
                return None;
            }
            let schedule = scheduler.schedule(problem).ok()?;
            check(problem, &schedule).unwrap();
            Some(schedule.makespan() / heft)
        });
    }
}

fn line(
    text: &mut String,
    name: &str,
    cells: &[Vec<(Problem, f64)>],
    ratio: impl Fn(&Problem, f64) -> Option<f64>,
) {
    write!(text, "| {name} |").unwrap();
    for cell in cells {
        let ratios = cell.iter().map(|(problem, heft)| ratio(problem, *heft));
        let ratios: Vec<f64> = ratios.flatten().collect();
        if ratios.is_empty() {
            write!(text, " |").unwrap();
            continue;
        }
        let worst = ratios.iter().copied().fold(0.0, f64::max);
        let wins = ratios.iter().filter(|&&ratio| ratio < 1.0 - TIE).count();
        let missing = match cell.len() - ratios.len() {
            0 => String::new(),
            n => format!("; -{n}"),
        };
        let mean = geometric(&ratios);
        write!(text, " {mean:.3}, {worst:.2}, {wins}{missing} |").unwrap();
    }
    writeln!(text).unwrap();
}

/// Structured graphs on random groups, direct and through controllers.
fn structured(text: &mut String, budget: f64) {
    writeln!(
        text,
        "\nThe papers' fifteen structured graphs (wide) on random groups, budget of xavantes {budget} s: geometric means. \
         \"three\" is the best of PCH, HEFT-B and CPOP, in direct mode or through controllers that are placed by the \
         paper's rule\n"
    )
    .unwrap();
    writeln!(
        text,
        "| groups, messages | direct: PCH / HEFT | PCH fast / exact | xavantes / three | with copies / three | through: \
         xavantes / three | xavantes / its direct | direct search, controllers placed after / its direct |"
    )
    .unwrap();
    writeln!(text, "|---|--:|--:|--:|--:|--:|--:|--:|").unwrap();
    for groups in [2, 5, 10, 25] {
        for (messages, name) in [
            (MessageCost::Low, "low"),
            (MessageCost::Medium, "medium"),
            (MessageCost::High, "high"),
        ] {
            let mut columns = vec![Vec::new(); 7];
            for (size, seed) in SIZES.into_iter().zip(0u64..) {
                let structured = Structured::new(size, Shape::WIDE, 100 + seed);
                let ratios = one(&structured, groups, messages, seed, budget);
                for (column, ratio) in columns.iter_mut().zip(ratios) {
                    column.push(ratio);
                }
            }
            write!(text, "| {groups}, {name} |").unwrap();
            for column in columns {
                write!(text, " {:.3} |", geometric(&column)).unwrap();
            }
            writeln!(text).unwrap();
        }
    }
}

fn one(
    structured: &Structured,
    groups: u32,
    messages: MessageCost,
    seed: u64,
    budget: f64,
) -> [f64; 7] {
    let dag = structured.graph(messages, 31 * seed + 1);
    let platform = paper(groups, 17 * seed + u64::from(groups), 1.0).unwrap();
    let problem = Problem::new(dag, &platform).unwrap();
    let tree = Tree::new(&problem, &structured.parents, &structured.controllers).unwrap();
    let by = |kind: SchedulerKind| kind.scheduler().schedule(&problem).unwrap();
    let [pch, heft, cpop, fast] = [
        SchedulerKind::Pch,
        SchedulerKind::HeftB,
        SchedulerKind::Cpop,
        SchedulerKind::PchFast,
    ]
    .map(by);
    let through = |schedule: &Schedule, placing| {
        let controlled = through_controllers(&problem, &tree, schedule, placing);
        controlled.schedule.makespan()
    };
    let three = [&pch, &heft, &cpop];
    let least = |makespans: [f64; 3]| makespans.into_iter().fold(f64::INFINITY, f64::min);
    let direct_three = least(three.map(Schedule::makespan));
    let through_three = least(three.map(|schedule| through(schedule, Placing::Paper)));
    let xavantes = Xavantes::within(budget);
    let direct = xavantes.run(&problem).unwrap().schedule;
    check(&problem, &direct).unwrap();
    let controlled = xavantes.run_through(&problem, &tree).unwrap().controlled;
    check_through_controllers(&problem, &tree, &controlled).unwrap();
    let copied = xavantes.run_with_copies(&problem, |_| true).unwrap().copied;
    check_copied(&problem, &copied).unwrap();
    [
        pch.makespan() / heft.makespan(),
        fast.makespan() / pch.makespan(),
        direct.makespan() / direct_three,
        copied.makespan() / direct_three,
        controlled.schedule.makespan() / through_three,
        controlled.schedule.makespan() / direct.makespan(),
        through(&direct, Placing::LeastTraffic) / direct.makespan(),
    ]
}

fn geometric(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp()
}
