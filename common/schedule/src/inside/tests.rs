use super::Inside;
use crate::fixtures::{grouped, random, task};
use crate::problem::Problem;
use crate::{Dag, Heft, MeanRule, Scheduler, check, less};

#[test]
fn only_the_part_is_used() {
    for seed in 0..30 {
        let problem = random(seed, 30, 7);
        let hosts = |inside: Inside| {
            let schedule = inside.schedule(&problem).unwrap();
            check(&problem, &schedule).unwrap();
            let hosts = schedule.entries.iter().map(|entry| entry.host);
            hosts.collect::<std::collections::BTreeSet<u32>>()
        };
        assert_eq!(hosts(Inside::OneMachine).len(), 1);
        let groups = hosts(Inside::OneGroup)
            .into_iter()
            .map(|host| problem.group(host));
        assert_eq!(groups.collect::<std::collections::BTreeSet<u32>>().len(), 1);
        let heft = Heft::new(MeanRule::Costs).schedule(&problem).unwrap();
        let groups = Inside::BestGroups.schedule(&problem).unwrap();
        check(&problem, &groups).unwrap();
        assert!(!less(heft.makespan(), groups.makespan()), "seed {seed}");
    }
}

#[test]
fn what_no_part_can_hold_alone_leaves_it() {
    // t0 needs the two slots of m0, t1 the label that m1 alone has.
    let dag = Dag::new(&[task(1.0, 2), task(1.0, 1)], &[]).unwrap();
    let machines = grouped(&[(1.0, 2, 0), (1.0, 1, 1)], 1.0, 1.0);
    let mut resources = machines.resources().to_vec();
    resources[1].labels.insert("gpu".into(), "true".into());
    let platform = model::Platform::new(resources, machines.network().clone()).unwrap();
    let gpu = crate::Demand {
        labels: vec![("gpu".into(), "true".into())],
        ..crate::Demand::default()
    };
    let problem = Problem::new(dag, &platform).unwrap();
    let problem = problem
        .with_demands(|task| (task == 1).then_some(&gpu))
        .unwrap();
    for inside in [Inside::OneMachine, Inside::OneGroup, Inside::BestGroups] {
        let schedule = inside.schedule(&problem).unwrap();
        check(&problem, &schedule).unwrap();
        let hosts: Vec<u32> = schedule.entries.iter().map(|entry| entry.host).collect();
        assert_eq!(hosts, [0, 1], "{inside:?}");
    }
}
