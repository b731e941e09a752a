use super::slots::Slots;
use super::times::Times;
use super::{Path, PchFast};
use crate::fixtures::{grouped, random, task};
use crate::meter::Meter;
use crate::pch::Pch;
use crate::platform::{MessageCost, paper};
use crate::problem::{Fixed, Problem};
use crate::structured::{SIZES, Shape, Structured};
use crate::{Dag, ScheduleError, Scheduler, bound, check};

#[test]
fn schedules_are_valid() {
    for seed in 0..60 {
        let problem = random(seed, 2 + (seed as u32 % 50), 1 + (seed as usize % 7));
        let schedule = PchFast.schedule(&problem).unwrap();
        check(&problem, &schedule).unwrap();
        assert!(schedule.makespan() >= bound(&problem) * (1.0 - 1e-9));
    }
}

#[test]
fn on_the_graphs_of_the_paper_it_is_as_good_as_exact_pch() {
    let (mut sum, mut count) = (0.0, 0.0);
    for groups in [2, 5, 10, 25] {
        for (size, seed) in SIZES.into_iter().zip(0..) {
            let structured = Structured::new(size, Shape::WIDE, seed);
            let dag = structured.graph(MessageCost::Medium, seed + 50);
            let problem = Problem::new(dag, &paper(groups, seed, 1.0).unwrap()).unwrap();
            let [fast, exact] = [&PchFast as &dyn Scheduler, &Pch::new()]
                .map(|scheduler| scheduler.schedule(&problem).unwrap().makespan());
            sum += fast / exact;
            count += 1.0;
        }
    }
    let mean: f64 = sum / count;
    assert!(mean < 1.01, "{mean}");
}

#[test]
fn wide_tasks_gates_and_started_ones_keep_the_rules() {
    let tasks: Vec<_> = (0..40)
        .map(|n| match n % 5 {
            4 => task(0.0, 0),
            cores => task(1.0 + f64::from(n % 3), cores.max(1)),
        })
        .collect();
    let edges: Vec<_> = (1..40).map(|to| (to / 2, to, f64::from(to % 4))).collect();
    let dag = Dag::new(&tasks, &edges).unwrap();
    let platform = grouped(&[(1.0, 3, 0), (2.0, 4, 1), (1.5, 3, 1)], 10.0, 1.0);
    let problem = Problem::new(dag, &platform)
        .unwrap()
        .with_fixed([(
            0,
            Fixed {
                host: 1,
                finish: 2.0,
            },
        )])
        .unwrap();
    check(&problem, &PchFast.schedule(&problem).unwrap()).unwrap();
}

#[test]
fn what_fits_nowhere_is_refused() {
    let dag = Dag::new(&[task(1.0, 1), task(1.0, 9)], &[]).unwrap();
    let problem = Problem::new(dag, &grouped(&[(1.0, 3, 0)], 1.0, 1.0)).unwrap();
    let refused = PchFast.schedule(&problem).unwrap_err();
    assert_eq!(refused, ScheduleError::NoHost { task: 1 });
}

#[test]
fn times_that_were_guessed_are_right_in_the_end() {
    for seed in 0..40 {
        let problem = random(seed, 150, 2 + seed as usize % 6);
        let n_hosts = problem.hosts().len() as u32;
        let meter = Meter::unlimited();
        let mut times = Times::new(&problem, &meter);
        let mut path = Path::default();
        for head in 0..150 {
            if times.is_placed(head) {
                continue;
            }
            times.settle(head);
            path.follow(&times, head);
            let host = (seed as u32 + 7 * head) % n_hosts;
            // As wrong as can be: what depends on them has to be counted again.
            let guesses = vec![(0.0, 0.0); path.tasks.len()];
            times.put(&path.tasks, host, 0, &guesses);
        }
        times.settle(150);
        let mut free = vec![0.0f64; n_hosts as usize];
        for task in 0..150 {
            let place = times.places[task as usize];
            let arrivals = times.predecessors(task).iter();
            let start = arrivals
                .map(|edge| times.arrival(edge, place))
                .fold(free[place.host as usize], f64::max);
            let position = times.order[task as usize];
            let finish = start + problem.duration(position, place.host);
            free[place.host as usize] = finish;
            let got = (times.est[task as usize], times.eft[task as usize]);
            assert_eq!(got, (start, finish), "seed {seed}, task {task}");
        }
    }
}

#[test]
fn of_empty_slots_that_are_alike_the_lowest_one_is_open() {
    let dag = Dag::new(&[task(1.0, 2)], &[]).unwrap();
    let machines = grouped(&[(1.0, 2, 0), (1.0, 2, 0), (1.0, 2, 0)], 1.0, 1.0);
    let problem = Problem::new(dag, &machines).unwrap();
    let mut slots = Slots::new(&problem);
    let mut fill = |host, number: usize| {
        slots.touch(&problem, host, number);
        slots.tasks[number].push(0);
        slots.open().to_vec()
    };
    assert_eq!(fill(0, 0), [0, 1, 2]);
    // A task of several cores may come to a machine that is not open.
    assert_eq!(fill(2, 4), [0, 1, 2, 4, 5]);
    assert_eq!(fill(2, 5), [0, 1, 2, 4, 5]);
    assert_eq!(fill(1, 2), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn on_graphs_of_any_shape_it_is_as_good_as_exact_pch() {
    let mut sum = 0.0;
    for seed in 0..40 {
        let problem = random(seed, 200, 8);
        let [fast, exact] = [&PchFast as &dyn Scheduler, &Pch::new()]
            .map(|scheduler| scheduler.schedule(&problem).unwrap().makespan());
        sum += fast / exact;
    }
    let mean: f64 = sum / 40.0;
    assert!(mean < 1.03, "{mean}");
}
