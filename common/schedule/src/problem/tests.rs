use std::collections::BTreeMap;

use model::{Bytes, GroupId, Network, NetworkLink, Platform, Resource, ResourceId};

use super::{Demand, Fixed, OUTSIDE, Problem, ProblemError};
use crate::{Dag, Task};

fn platform() -> Platform {
    let machine = |id, group, slots, gpu: &str| Resource {
        id: ResourceId::new(GroupId::new(group), id),
        name: format!("m{id}"),
        power: 2.0,
        slots,
        memory: Bytes(u64::from(slots) << 30),
        labels: BTreeMap::from([("gpu".to_owned(), gpu.to_owned())]),
    };
    let mut network = Network::uniform(NetworkLink {
        bandwidth: 10.0,
        latency: 1.0,
    });
    network.between = NetworkLink {
        bandwidth: 5.0,
        latency: 2.0,
    };
    let machines = vec![
        machine(0, 7, 1, "yes"),
        machine(1, 7, 2, "no"),
        machine(2, 3, 4, "no"),
    ];
    Platform::new(machines, network).unwrap()
}

fn problem(cores: u32) -> Problem {
    let tasks = [
        Task { work: 6.0, cores },
        Task {
            work: 0.0,
            cores: 0,
        },
    ];
    Problem::new(Dag::new(&tasks, &[(0, 1, 20.0)]).unwrap(), &platform()).unwrap()
}

#[test]
fn a_message_costs_latency_and_bandwidth_but_nothing_at_home() {
    let problem = problem(1);
    assert_eq!(problem.transfer(0, 1, 1), 0.0);
    assert_eq!(problem.transfer(0, 0, 1), 3.0);
    assert_eq!(problem.transfer(0, 0, 2), 6.0);
    assert_eq!(problem.transfer(0, OUTSIDE, 2), 6.0);
    assert_eq!(problem.duration(0, 2), 3.0);
}

#[test]
fn the_nearest_misfit_is_told() {
    let demand = |memory: u64, gpu: Option<&str>| Demand {
        memory: Bytes(memory << 30),
        labels: gpu
            .map(|gpu| ("gpu".to_owned(), gpu.to_owned()))
            .into_iter()
            .collect(),
        machine: None,
    };
    let misfit = |cores, demand: Demand| {
        let problem = problem(cores).with_demands(|_| Some(&demand)).unwrap();
        assert_eq!(problem.misfit(1), None, "a gate fits everywhere");
        problem.misfit(0).unwrap_or_default()
    };
    assert_eq!(misfit(4, demand(4, Some("no"))), "");
    assert_eq!(
        misfit(8, demand(0, None)),
        "needs 8 cores; the largest machine has 4"
    );
    assert_eq!(
        misfit(1, demand(5, None)),
        "needs 5.0 GiB of memory; the largest machine has 4.0 GiB"
    );
    assert_eq!(
        misfit(1, demand(0, Some("big"))),
        "needs the label gpu: big; no machine has it"
    );
    let environment = Demand {
        labels: vec![("conda".to_owned(), "yes".to_owned())],
        ..Demand::default()
    };
    assert_eq!(
        misfit(1, environment),
        "needs micromamba, mamba or conda for its environment; no machine has it (label conda: yes)"
    );
    assert_eq!(
        misfit(2, demand(0, Some("yes"))),
        "no machine meets all it needs; m0 comes nearest: the activity needs 2 cores where it has 1"
    );
}

#[test]
fn a_task_that_may_run_on_one_machine_alone_fits_no_other() {
    let place = ResourceId::new(GroupId::new(7), 1);
    let there = Demand {
        machine: Some(place),
        ..Demand::default()
    };
    let problem = problem(1).with_demands(|_| Some(&there)).unwrap();
    let fitting: Vec<u32> = (0..3).filter(|&host| problem.fits(0, host)).collect();
    let ids = fitting
        .iter()
        .map(|&host| problem.hosts()[host as usize].id);
    assert_eq!(ids.collect::<Vec<_>>(), [place]);
    let nowhere = Demand {
        machine: Some(ResourceId::local(9)),
        ..Demand::default()
    };
    let problem = problem.with_demands(|_| Some(&nowhere)).unwrap();
    let why = problem.misfit(0).unwrap();
    assert!(
        why.ends_with("the activity may run on another machine alone"),
        "{why}"
    );
}

#[test]
fn input_that_makes_no_sense_is_refused() {
    let refused = |problem: Result<Problem, ProblemError>| problem.map(|_| ()).unwrap_err();
    let ready = |ready: &[Vec<f64>]| refused(problem(1).with_ready(ready));
    assert!(matches!(
        ready(&[vec![], vec![0.0; 3]]),
        ProblemError::Slots { given: 3, .. }
    ));
    assert!(matches!(
        ready(&[vec![], vec![], vec![], vec![]]),
        ProblemError::Hosts { .. }
    ));
    assert!(matches!(ready(&[vec![-1.0]]), ProblemError::Time { .. }));
    assert!(matches!(
        ready(&[vec![f64::NAN]]),
        ProblemError::Time { .. }
    ));
    let fixed =
        |task, host, finish| refused(problem(1).with_fixed([(task, Fixed { host, finish })]));
    assert!(matches!(fixed(5, 0, 0.0), ProblemError::Fixed { .. }));
    assert!(
        matches!(fixed(1, 0, 0.0), ProblemError::Fixed { .. }),
        "a gate does not start"
    );
    assert!(matches!(fixed(0, 3, 0.0), ProblemError::Fixed { .. }));
    assert!(matches!(
        fixed(0, 0, f64::INFINITY),
        ProblemError::Time { .. }
    ));
    let costs = |costs: &[Vec<f64>]| refused(problem(1).with_costs(costs));
    assert!(matches!(costs(&[vec![1.0; 3]]), ProblemError::Costs { .. }));
    assert!(matches!(
        costs(&[vec![1.0; 2], vec![1.0; 3]]),
        ProblemError::Costs { .. }
    ));
    let tasks = [Task {
        work: 1e300,
        cores: 1,
    }];
    let endless = Problem::new(Dag::new(&tasks, &[]).unwrap(), &platform());
    assert!(matches!(refused(endless), ProblemError::TooLong { .. }));
}
