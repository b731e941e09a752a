//! Rules of our own policy that are for a kind of load each gain under it.
#![expect(
    clippy::unwrap_used,
    reason = "a test whose instances are known to be sound"
)]

use std::sync::Arc;

use experiments::graphs::{Graphs, Width};
use experiments::ideal::{Conditions, execute_under};
use experiments::loads::Load;
use experiments::seeds::{Purpose, seed};
use experiments::traces::Traces;
use schedule::Problem;
use schedule::platform::{MessageCost, paper_with};
use schedule::rounds::{Messages, Policy, Setting};

/// No run here takes that long.
const HORIZON: f64 = 1e9;
const GROUPS: u32 = 10;

/// The mean makespans of policies over drawn runs under a load, in direct mode.
fn means(load: Load, policies: &[Policy]) -> Vec<f64> {
    let graphs = Graphs::drawn(Width::Middle, 7, 0);
    let mut sums = vec![0.0; policies.len()];
    for repetition in 0..4 {
        for (graph, structured) in (0u64..).zip(&graphs.trees) {
            let of = |purpose| seed(7, purpose, &[repetition, graph]);
            let dag = structured.graph(MessageCost::Medium, of(Purpose::Costs));
            let platform = paper_with(GROUPS, of(Purpose::Machines), 1.0, 0.5).unwrap();
            let problem = Problem::new(dag, &platform).unwrap();
            let (tasks, machines) = (structured.controllers.len(), problem.hosts().len());
            let drawn = of(Purpose::Load);
            let powers = load
                .powers(tasks, machines, &Traces::default(), drawn)
                .unwrap();
            let conditions = Conditions {
                powers: &powers,
                speeds: &load.speeds(machines, drawn),
                links: &load.links(machines, drawn),
            };
            let setting = Arc::new(Setting::new(problem, Messages::Direct).unwrap());
            for (sum, policy) in sums.iter_mut().zip(policies) {
                let run = execute_under(&setting, policy, &conditions, HORIZON).unwrap();
                *sum += run.makespan;
            }
        }
    }
    sums
}

#[test]
fn stopping_overdue_activities_gains_where_machines_stall() {
    let stays = Policy {
        restarts: None,
        ..Policy::xavantes()
    };
    let means = means(Load::Stalling, &[Policy::xavantes(), stays]);
    assert!(means[0] < 0.9 * means[1], "{means:?}");
}

#[test]
fn cpu_times_gain_where_some_machines_are_slow_and_all_are_shared() {
    let together = Policy {
        splits_cpu: false,
        ..Policy::xavantes()
    };
    let means = means(Load::Mixed, &[Policy::xavantes(), together]);
    assert!(means[0] < means[1], "{means:?}");
}

#[test]
fn transfers_gain_where_links_are_slower_than_the_platform_says() {
    let unseen = Policy {
        link_change_least: None,
        ..Policy::xavantes()
    };
    let means = means(Load::SlowLinks, &[Policy::xavantes(), unseen]);
    assert!(means[0] < 0.9 * means[1], "{means:?}");
}
