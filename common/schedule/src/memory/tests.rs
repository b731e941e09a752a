use std::collections::BTreeMap;

use model::{Bytes, Network, NetworkLink, Platform, Resource, ResourceId};

use super::*;
use crate::fixtures::task;
use crate::heft::Heft;
use crate::problem::{Demand, Fixed};
use crate::rank::MeanRule;
use crate::request::SchedulerKind;
use crate::{CheckError, Dag, Scheduler, check};

const GIB: u64 = 1 << 30;

/// Machines of so many slots and GiB, equal but for that.
fn platform(machines: &[(u32, u64)]) -> Platform {
    let machine = |(&(slots, gib), number): (&(u32, u64), u32)| Resource {
        id: ResourceId::local(number),
        name: format!("m{number}"),
        power: 1.0,
        slots,
        memory: Bytes(gib * GIB),
        labels: BTreeMap::new(),
    };
    let link = NetworkLink {
        bandwidth: 1e9,
        latency: 0.0,
    };
    let resources = machines.iter().zip(0..).map(machine);
    Platform::new(resources.collect(), Network::uniform(link)).unwrap()
}

/// Tasks of ten seconds that do not wait for each other, each with so many GiB.
fn problem(memory: &[u64], machines: &[(u32, u64)]) -> Problem {
    let dag = Dag::new(&vec![task(10.0, 1); memory.len()], &[]).unwrap();
    let demand = |gib: &u64| Demand {
        memory: Bytes(gib * GIB),
        ..Demand::default()
    };
    let demands: Vec<Demand> = memory.iter().map(demand).collect();
    let given: Vec<u32> = dag.tasks().map(|task| dag.given(task)).collect();
    let problem = Problem::new(dag, &platform(machines)).unwrap();
    let demand_of = |task: u32| demands.get(given[task as usize] as usize);
    problem.with_demands(demand_of).unwrap()
}

fn heft(problem: &Problem) -> Schedule {
    let schedule = Heft::new(MeanRule::Costs).schedule(problem).unwrap();
    check(problem, &schedule).unwrap();
    schedule
}

/// Machine and start of each task.
fn starts(schedule: &Schedule) -> Vec<(u32, f64)> {
    let entries = schedule.entries.iter();
    entries.map(|entry| (entry.host, entry.start)).collect()
}

#[test]
fn two_of_6_gib_run_one_after_another_on_8_gib_whatever_the_algorithm() {
    let problem = problem(&[6, 6], &[(4, 8)]);
    for kind in SchedulerKind::ALL {
        let run = kind.run(&problem).unwrap();
        assert_eq!(check(&problem, &run.schedule), Ok(()), "{kind:?}");
        assert_eq!(run.schedule.makespan(), 20.0, "{kind:?}");
    }
}

#[test]
fn a_slower_start_elsewhere_is_better_than_memory_that_is_awaited() {
    let problem = problem(&[6, 6], &[(4, 8), (1, 8)]);
    assert_eq!(starts(&heft(&problem)), [(0, 0.0), (1, 0.0)]);
}

#[test]
fn what_declares_no_memory_runs_beside_what_fills_the_machine() {
    let problem = problem(&[8, 0, 0, 8], &[(4, 8)]);
    assert_eq!(
        starts(&heft(&problem)),
        [(0, 0.0), (0, 0.0), (0, 0.0), (0, 10.0)]
    );
}

#[test]
fn memory_is_counted_only_where_it_may_run_out() {
    assert!(problem(&[2, 2, 2], &[(4, 6)]).memory().is_none());
    assert!(problem(&[2, 2, 3], &[(2, 5)]).memory().is_none());
    assert!(problem(&[0, 0], &[(2, 0)]).memory().is_none());
    // Not on the machine that none of them fits.
    let two = problem(&[3, 3], &[(4, 2), (2, 5)]);
    let memory = two.memory().unwrap();
    assert!(memory.at(0).is_none() && memory.at(1).is_some());
}

#[test]
fn what_runs_and_what_others_hold_is_awaited() {
    let problem = problem(&[6, 4, 2], &[(4, 8)]);
    let runs = Fixed {
        host: 0,
        finish: 7.0,
    };
    let problem = problem.with_fixed([(0, runs)]).unwrap();
    let problem = problem.with_held([(0, Bytes(GIB), (0.0, 3.0))]).unwrap();
    assert_eq!(starts(&heft(&problem))[1..], [(0, 7.0), (0, 3.0)]);
}

/// ```text
///   others   |          |6 GiB 12-20 |
///   tasks    |6 GiB 0-10|  2 GiB     |6 GiB 20-30|      on 8 GiB, ten seconds each
/// ```
#[test]
fn what_others_are_to_hold_later_is_planned_around_whatever_the_algorithm() {
    let problem = problem(&[6, 6, 2], &[(4, 8)]);
    let others = (0, Bytes(6 * GIB), (12.0, 20.0));
    let problem = problem.with_held([others]).unwrap();
    for kind in SchedulerKind::ALL {
        let schedule = kind.run(&problem).unwrap().schedule;
        assert_eq!(check(&problem, &schedule), Ok(()), "{kind:?}");
        assert_eq!(schedule.makespan(), 30.0, "{kind:?}");
        let plan = crate::retime(&problem, &schedule, model::Generation(1)).unwrap();
        assert_eq!(crate::check_plan(&problem, &plan), Ok(()), "{kind:?}");
        assert_eq!(plan.makespan(), model::Span::from_secs(30), "{kind:?}");
    }
    // A task that is there when they come is refused.
    let before = heft(&self::problem(&[6, 6, 2], &[(4, 8)]));
    let is_refused = matches!(
        check(&problem, &before),
        Err(CheckError::Memory { host: 0, .. })
    );
    assert!(is_refused, "{:?}", starts(&before));
    check(&problem, &fit(&problem, before)).unwrap();
}

#[test]
fn others_may_hold_more_than_there_is() {
    let problem = problem(&[1], &[(1, 2)]);
    let problem = problem.with_held([
        (0, Bytes(u64::MAX), (0.0, 5.0)),
        (0, Bytes(9 * GIB), (0.0, 6.0)),
    ]);
    assert_eq!(starts(&heft(&problem.unwrap())), [(0, 6.0)]);
}

#[test]
fn a_machine_of_more_memory_than_can_be_counted_by_the_byte_holds_what_fits_it() {
    let huge = 1 << 20;
    let problem = problem(&[huge, huge / 2, huge / 2, 1], &[(4, huge)]);
    let schedule = heft(&problem);
    assert_eq!(schedule.makespan(), 30.0);
}

#[test]
fn a_schedule_that_lays_too_much_side_by_side_is_refused_and_put_right() {
    let crowded = problem(&[6, 6, 2], &[(4, 8)]);
    // Made where memory was no matter.
    let schedule = heft(&problem(&[0, 0, 0], &[(4, 8)]));
    let refused = check(&crowded, &schedule);
    assert_eq!(refused, Err(CheckError::Memory { task: 1, host: 0 }));
    let fitted = fit(&crowded, schedule);
    assert_eq!(check(&crowded, &fitted), Ok(()));
    assert_eq!(starts(&fitted), [(0, 0.0), (0, 10.0), (0, 0.0)]);
}

#[test]
fn the_search_moves_what_waits_for_memory() {
    // Three of 6 GiB on one machine of 8 GiB take 30 s one after another; the second machine has
    // one slot.
    let problem = problem(&[6, 6, 6], &[(4, 8), (1, 8)]);
    let alone = Problem::restricted(&problem, &[0]);
    let schedule = heft(&alone);
    assert_eq!(schedule.makespan(), 30.0);
    let mut search = crate::search::Search::new(&problem, &schedule);
    search.run(10_000, 20.0);
    let found = search.schedule();
    check(&problem, &found).unwrap();
    assert_eq!((search.makespan(), found.makespan()), (20.0, 20.0));
}
