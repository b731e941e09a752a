use std::collections::BTreeMap;

use model::{Bytes, Generation, Network, NetworkLink, Platform, Resource, ResourceId, Span};

use super::{TooLong, retime};
use crate::problem::Problem;
use crate::{Dag, Heft, MeanRule, Scheduler, Task};

fn problem(work: f64, data: f64) -> Problem {
    let machine = |id| Resource {
        id: ResourceId::local(id),
        name: format!("m{id}"),
        power: 3.0,
        slots: 1,
        memory: Bytes::ZERO,
        labels: BTreeMap::new(),
    };
    let link = NetworkLink {
        bandwidth: 3e6,
        latency: 0.0,
    };
    let platform = Platform::new(vec![machine(0), machine(1)], Network::uniform(link)).unwrap();
    let task = Task { work, cores: 1 };
    // t0 -> t2 <- t1: one of the messages crosses the link.
    let dag = Dag::new(&[task; 3], &[(0, 2, data), (1, 2, data)]).unwrap();
    Problem::new(dag, &platform).unwrap()
}

#[test]
fn durations_and_transfers_are_rounded_up() {
    // 1 / 3 s is 333,333.3 µs, and 4 bytes at 3 MB/s take 1.3 µs
    let problem = problem(1.0, 4.0);
    let schedule = Heft::new(MeanRule::Costs).schedule(&problem).unwrap();
    let plan = retime(&problem, &schedule, Generation(9)).unwrap();
    let times: Vec<_> = plan
        .entries
        .iter()
        .map(|e| (e.start.0, e.finish.0))
        .collect();
    assert_eq!(times, [(0, 333_334), (0, 333_334), (333_336, 666_670)]);
    assert_eq!(plan.generation, Generation(9));
    assert!(plan.bound <= plan.makespan() && plan.bound >= Span(666_000));
}

#[test]
fn what_no_clock_counts_is_refused() {
    let problem = problem(1e13, 0.0);
    let schedule = Heft::new(MeanRule::Costs).schedule(&problem).unwrap();
    assert_eq!(retime(&problem, &schedule, Generation(1)), Err(TooLong));
}
