//! Properties of every execution, whatever the graph, the machines, their powers and the policy.

use std::collections::BTreeMap;
use std::sync::Arc;

use experiments::ideal::{
    Conditions, Execution, Failure, Powers, Steps, Why, execute, execute_under,
};
use forecast::Method;
use model::{Bytes, GroupId, Network, NetworkLink, Platform, Resource, ResourceId};
use proptest::prelude::*;
use schedule::rounds::{Learning, Margin, Messages, Policy, Restarts, Scope, Setting, Sizing};
use schedule::{Dag, Placing, Problem, Task, Tree};

/// Far beyond the end of any process here that ends.
const HORIZON: f64 = 1e9;

#[derive(Clone, Debug)]
struct Case {
    problem: Problem,
    messages: Messages,
    policy: Policy,
    /// Draws for powers, more than there are machines or tasks.
    draws: Vec<Vec<u32>>,
}

impl Case {
    fn n_hosts(&self) -> usize {
        self.problem.hosts().len()
    }

    fn run(&self, powers: &Powers) -> Result<Execution, Failure> {
        execute(&self.problem, &self.policy, powers, &self.messages, HORIZON)
    }

    /// Factors from 0.1 to 1.3 for each task on each machine.
    fn per_task(&self) -> Powers {
        let row = |task: usize| {
            let draw = |host: usize| self.draws[host][task % self.draws[host].len()];
            let factors = (0..self.n_hosts()).map(|host| 0.1 + f64::from(draw(host) % 13) / 10.0);
            factors.collect()
        };
        Powers::PerTask((0..self.problem.dag().n_tasks()).map(row).collect())
    }

    /// Factors that change each few seconds, none below the least one.
    fn steps(&self, host: usize, least: f64) -> Steps {
        let factors = self.draws[host].iter().map(|draw| {
            let factor = f64::from(draw % 14) / 10.0;
            factor.max(least)
        });
        let times = (0u32..).map(|step| 3.0 * f64::from(step));
        Steps::new(times.zip(factors)).expect("times ascend")
    }
}

fn policies() -> impl Strategy<Value = Policy> {
    let sizing = prop_oneof![
        Just(Sizing::Whole),
        (1u32..6).prop_map(Sizing::Parts),
        (0u32..3).prop_map(|tenths| Sizing::Adaptive {
            reward: f64::from(tenths) / 10.0
        }),
    ];
    let learning = prop_oneof![
        Just(Learning::LastRound),
        (0u32..4).prop_map(|k| Learning::Damped {
            mean_weights: f64::from(k)
        }),
        (0u32..4).prop_map(|k| Learning::Fitted {
            mean_weights: f64::from(k)
        }),
        (0u32..4, any::<bool>()).prop_map(|(k, careful)| Learning::Forecast {
            method: Method::Es,
            mean_weights: f64::from(k),
            margin: if careful {
                Margin::NineInTen
            } else {
                Margin::None
            },
        }),
    ];
    let scope = prop_oneof![Just(Scope::Machine), Just(Scope::All)];
    let gain = prop::option::of((0u32..3).prop_map(|parts| f64::from(parts) / 50.0));
    let questions = prop::option::of(1u32..400);
    let restarts = (0u32..4, 0u32..3, 0u32..3, 0u32..4);
    let restarts = restarts.prop_map(|(overrun, gain, later, times_max)| Restarts {
        overrun: f64::from(overrun) / 2.0,
        gain_least: f64::from(gain) / 20.0,
        later_least: f64::from(later) / 20.0,
        times_max,
    });
    let restarts = prop::option::of(restarts);
    (
        sizing,
        learning,
        scope,
        (gain.clone(), gain.clone(), gain, questions),
        0u32..3,
        (any::<bool>(), restarts, prop::option::of(0u32..3)),
    )
        .prop_map(
            |(
                sizing,
                learning,
                scope,
                bounds,
                threshold,
                (judges_overdue, restarts, link_change),
            )| {
                let (gain_least, wider_gain_least, wider_later_least, questions_max) = bounds;
                Policy {
                    sizing,
                    threshold: f64::from(threshold) / 10.0,
                    learning,
                    scope,
                    gain_least,
                    wider_gain_least,
                    wider_later_least,
                    questions_max,
                    judges_overdue,
                    restarts,
                    splits_cpu: true,
                    link_change_least: link_change.map(f64::from),
                }
            },
        )
}

prop_compose! {
    /// Up to 24 tasks, some of them gates or without work, on up to 6 machines of 1 to 3 slots.
    fn cases()(
        n in 1usize..25,
    )(
        works in prop::collection::vec(prop_oneof![Just(0u32), 1u32..5, 1u32..40], n),
        cores in prop::collection::vec(prop_oneof![1 => Just(0u32), 8 => Just(1u32), 1 => Just(2u32)], n),
        edges in prop::collection::vec((any::<u32>(), any::<u32>(), prop_oneof![Just(0u32), 0u32..40]), 0..50),
        machines in prop::collection::vec((0u64..3, 0usize..4, prop_oneof![4 => Just(1u32), 1 => 2u32..4]), 1..7),
        bandwidths in (1u32..20, 1u32..20),
        parents in prop::collection::vec(any::<u32>(), 0..4),
        of_task in prop::collection::vec(any::<u32>(), n),
        mode in 0u32..3,
        policy in policies(),
        draws in prop::collection::vec(prop::collection::vec(any::<u32>(), 1..9), 6),
    ) -> Case {
        const POWERS: [f64; 4] = [1.0, 2.0, 1.0 / 3.0, 4.5];
        let most = machines.iter().map(|machine| machine.2).max().unwrap_or(1);
        let tasks: Vec<Task> = works.iter().zip(&cores).map(|(&work, &cores)| Task {
            work: if cores > 0 { f64::from(work) } else { 0.0 },
            cores: cores.min(most),
        }).collect();
        let n = works.len() as u32;
        let edges: Vec<_> = edges.into_iter().filter_map(|(a, b, data)| {
            let (a, b) = (a % n, b % n);
            (a != b).then_some((a.min(b), a.max(b), f64::from(data)))
        }).collect();
        let resources = machines.iter().zip(0u32..).map(|(&(group, power, slots), id)| Resource {
            id: ResourceId::new(GroupId::new(group), id),
            name: format!("m{id}"),
            power: POWERS[power],
            slots,
            memory: Bytes::ZERO,
            labels: BTreeMap::new(),
        });
        let link = |bandwidth: u32| NetworkLink { bandwidth: f64::from(bandwidth), latency: 0.0 };
        let mut network = Network::uniform(link(bandwidths.1));
        network.inside = link(bandwidths.0);
        let platform = Platform::new(resources.collect(), network).expect("sound machines");
        let dag = Dag::new(&tasks, &edges).expect("edges go up");
        let problem = Problem::new(dag, &platform).expect("works are small");
        let n_controllers = parents.len() as u32 + 1;
        let mut above = vec![None];
        above.extend(parents.iter().zip(1u32..).map(|(&parent, own)| Some(parent % own)));
        let of_task: Vec<u32> = of_task.iter().map(|of| of % n_controllers).collect();
        let tree = Tree::new(&problem, &above, &of_task).expect("parents come first");
        let messages = match mode {
            0 => Messages::Direct,
            1 => Messages::Controllers(tree, Placing::Paper),
            _ => Messages::Controllers(tree, Placing::LeastTraffic),
        };
        Case { problem, messages, policy, draws }
    }
}

/// Every task ran once, after those that it waits for and their data, and no machine ran more than it
/// has slots.
fn is_valid(case: &Case, execution: &Execution) -> Result<(), TestCaseError> {
    let dag = case.problem.dag();
    let slack = |time: f64| 1e-9 * time.max(1.0);
    for task in dag.tasks() {
        let ran = execution.ran[task as usize];
        prop_assert!(ran.start <= ran.finish && ran.finish.is_finite());
        prop_assert!(case.problem.fits(task, ran.host));
        for (pred, edge) in dag.predecessors(task) {
            let before = execution.ran[pred as usize];
            let transfer = match case.messages {
                Messages::Direct => case.problem.transfer(edge, before.host, ran.host),
                // Controllers move, so that only the order of the two is known.
                Messages::Controllers(..) => 0.0,
            };
            let arrival = before.finish + transfer;
            prop_assert!(
                ran.start >= arrival - slack(arrival),
                "task {task} starts at {} and the data of {pred} comes at {arrival}",
                ran.start
            );
        }
    }
    for (host, machine) in (0u32..).zip(case.problem.hosts()) {
        let mut changes: Vec<(f64, i64)> = Vec::new();
        for task in dag.tasks() {
            let ran = execution.ran[task as usize];
            if ran.host == host && ran.finish > ran.start {
                let cores = i64::from(dag.cores(task));
                changes.extend([(ran.start, cores), (ran.finish, -cores)]);
            }
        }
        changes.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        let mut held = 0;
        for (_, cores) in changes {
            held += cores;
            prop_assert!(held <= i64::from(machine.slots), "machine {host}");
        }
    }
    let last = execution.ran.iter().map(|ran| ran.finish);
    prop_assert_eq!(execution.makespan, last.fold(0.0, f64::max));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, max_global_rejects: 100_000, ..ProptestConfig::default() })]

    #[test]
    fn without_variation_every_policy_ends_exactly_at_the_plan(case in cases()) {
        let execution = case.run(&Powers::nominal(case.n_hosts())).unwrap();
        is_valid(&case, &execution)?;
        prop_assert_eq!(execution.reschedules(), 0);
        let (got, want) = (execution.makespan, execution.planned);
        prop_assert!((got - want).abs() <= 1e-9 * want.max(1.0), "{} is not {}", got, want);
    }

    #[test]
    fn executions_under_varying_power_are_valid(case in cases()) {
        let execution = case.run(&case.per_task()).unwrap();
        is_valid(&case, &execution)?;
        let steps = (0..case.n_hosts()).map(|host| case.steps(host, 0.1));
        let execution = case.run(&Powers::Steps(steps.collect())).unwrap();
        is_valid(&case, &execution)?;
    }

    #[test]
    fn executions_with_slow_links_and_told_cpu_times_are_valid(case in cases()) {
        let factors = |place: usize| {
            let draws = case.draws.iter().take(case.n_hosts());
            let draws = draws.map(move |draws| draws[place % draws.len()] % 9 + 2);
            draws.map(|tenths| f64::from(tenths) / 10.0).collect::<Vec<f64>>()
        };
        let steps = (0..case.n_hosts()).map(|host| case.steps(host, 0.1));
        // None faster than said, so that data never comes before it can.
        let links: Vec<f64> = factors(0).into_iter().map(|factor| factor.min(1.0)).collect();
        let conditions = Conditions {
            powers: &Powers::Steps(steps.collect()),
            speeds: &factors(1),
            links: &links,
        };
        let setting = Setting::new(case.problem.clone(), case.messages.clone()).unwrap();
        let setting = Arc::new(setting);
        let execution = execute_under(&setting, &case.policy, &conditions, HORIZON).unwrap();
        is_valid(&case, &execution)?;
    }

    #[test]
    fn nothing_hangs_where_machines_vanish_or_stop(case in cases()) {
        let steps = (0..case.n_hosts()).map(|host| {
            let draw = case.draws[host][0];
            let steps = case.steps(host, 0.0);
            match draw % 3 {
                0 => steps.gone_at(f64::from(draw % 40)),
                _ => steps,
            }
        });
        match case.run(&Powers::Steps(steps.collect())) {
            Ok(execution) => is_valid(&case, &execution)?,
            Err(Failure::Unfinished(verdict)) => {
                let unfinished: Vec<u32> = verdict.tasks.iter().map(|&(task, _)| task).collect();
                prop_assert!(!unfinished.is_empty());
                for (task, why) in &verdict.tasks {
                    match why {
                        Why::Waits { task: other } => {
                            prop_assert!(other != task && unfinished.contains(other));
                        }
                        Why::NoPower { .. } | Why::Gone { .. } => {}
                        Why::Late => prop_assert!(false, "task {task} was forgotten"),
                    }
                }
            }
            Err(failure) => prop_assert!(false, "{failure}"),
        }
    }

    #[test]
    fn a_process_that_may_move_ends_if_one_machine_stays(case in cases()) {
        // The first machine that fits everything stays; all others vanish sooner or later.
        let dag = case.problem.dag();
        let fits_all = |host: &u32| dag.tasks().all(|task| case.problem.fits(task, *host));
        let stays = (0..case.n_hosts() as u32).find(fits_all);
        prop_assume!(stays.is_some() && case.policy.sizing != Sizing::Whole);
        let steps = (0u32..).zip(&case.draws).take(case.n_hosts()).map(|(host, draws)| {
            let steps = Steps::constant(1.0).unwrap();
            match stays == Some(host) {
                true => steps,
                false => steps.gone_at(f64::from(draws[0] % 40)),
            }
        });
        let execution = case.run(&Powers::Steps(steps.collect())).unwrap();
        is_valid(&case, &execution)?;
    }
}
