//! What the engine learns from CPU times, transfers and forecasts, and from several processes at once.

use forecast::Method;

use super::*;

/// Runs tasks that all were sent to the first machine one after the other, each for so many seconds of
/// CPU and wall time, and returns the factor that is believed of the machine then.
fn factor_after(policy: Policy, times: &[(f64, f64)]) -> f64 {
    let tasks = vec![task(10.0, 1); times.len()];
    let edges: Vec<(u32, u32, f64)> = (1..times.len() as u32)
        .map(|task| (task - 1, task, 0.0))
        .collect();
    let dag = Dag::new(&tasks, &edges).unwrap();
    let platform = grouped(&[(1.0, 1, 0), (0.01, 1, 0)], 1.0, 1.0);
    let problem = Problem::new(dag, &platform).unwrap();
    let setting = Arc::new(Setting::new(problem, Messages::Direct).unwrap());
    let mut rounds = Rounds::new(setting, policy).unwrap();
    let mut now = 0.0;
    rounds.step(now, Observation::Begin);
    for (task, &(cpu, wall)) in (0u32..).zip(times) {
        rounds.step(now, Observation::Started(task));
        now += wall;
        rounds.step(now, Observation::Used { task, cpu });
        rounds.step(now, Observation::Finished(task));
    }
    rounds.progress().factor[0]
}

#[test]
fn cpu_times_tell_a_slow_machine_from_one_with_a_competitor() {
    let together = Policy {
        splits_cpu: false,
        ..Policy::xavantes()
    };
    // It has half of its power itself, and others take now nothing and now two thirds of it.
    let slow = [(20.0, 20.0), (20.0, 60.0), (20.0, 20.0), (20.0, 60.0)];
    let (split, whole) = (
        factor_after(Policy::xavantes(), &slow),
        factor_after(together, &slow),
    );
    // A quarter is what its tasks get in the mean.
    assert!(0.25 < split && split < whole, "{split} and {whole}");
    // Where all is taken by others, or all is the machine's own, there is nothing to tell apart.
    let shared = slow.map(|(_, wall)| (10.0, wall));
    assert_eq!(
        factor_after(Policy::xavantes(), &shared),
        factor_after(together, &shared)
    );
}

#[test]
fn a_forecast_is_believed_the_more_the_more_has_ended() {
    let policy = |mean_weights, margin| Policy {
        learning: Learning::Forecast {
            method: Method::Last,
            mean_weights,
            margin,
        },
        ..Policy::xavantes()
    };
    let times = [20.0, 20.0, 40.0, 40.0].map(|wall| (wall, wall));
    assert_eq!(factor_after(policy(0.0, Margin::None), &times), 0.25);
    let damped = factor_after(policy(3.0, Margin::None), &times);
    assert!(damped > 0.25, "{damped}");
    // The forecast was wrong by 20 s once, so nine in ten take more than it says.
    let careful = factor_after(policy(0.0, Margin::NineInTen), &times);
    assert!(careful < 0.25, "{careful}");
}

/// Two tasks of which the second needs the data of the first, on machines of two groups.
#[test]
fn slow_transfers_are_believed_of_both_ends_and_ask_for_a_plan() {
    let dag = Dag::new(
        &[task(10.0, 1); 4],
        &[(0, 1, 10.0), (1, 2, 10.0), (2, 3, 10.0)],
    )
    .unwrap();
    let platform = grouped(&[(1.0, 1, 0), (0.5, 1, 1), (0.5, 1, 2)], 1.0, 1.0);
    let problem = Problem::new(dag, &platform).unwrap();
    let nominal = problem.transfer(0, 0, 1);
    let setting = Arc::new(Setting::new(problem, Messages::Direct).unwrap());
    let transferred = |seconds| Observation::Transferred {
        edge: 0,
        hosts: [0, 1],
        seconds,
    };
    let mut rounds = Rounds::new(setting.clone(), Policy::xavantes()).unwrap();
    rounds.step(0.0, Observation::Begin);
    // Half of the bandwidth is no reason to plan again.
    assert_eq!(rounds.step(1.0, transferred(2.0 * nominal)), []);
    assert_eq!(rounds.progress().links, [0.5, 0.5, 1.0]);
    // The fastest of the newest four transfers counts.
    for _ in 0..3 {
        assert_eq!(rounds.step(1.0, transferred(10.0 * nominal)), []);
    }
    let commands = rounds.step(1.0, transferred(10.0 * nominal));
    assert_eq!(rounds.progress().links, [0.1, 0.1, 1.0]);
    assert!(question(&commands).is_some(), "{commands:?}");
    // Whoever does not look at transfers, and who hears of none that can be, learns nothing.
    let mut adaptive = Rounds::new(setting, Policy::adaptive()).unwrap();
    assert_eq!(adaptive.step(1.0, transferred(10.0 * nominal)), []);
    assert_eq!(adaptive.progress().links, [1.0; 3]);
    for seconds in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let before = rounds.progress().clone();
        assert_eq!(rounds.step(1.0, transferred(seconds)), []);
        assert_eq!(rounds.progress(), &before);
    }
}

#[test]
fn several_processes_are_one_graph_and_learn_of_machines_from_each_other() {
    // Two chains that no edge joins. Each machine has one of them.
    let edges = [(0, 1, 0.0), (1, 2, 0.0), (3, 4, 0.0), (4, 5, 0.0)];
    let dag = Dag::new(&[task(10.0, 1); 6], &edges).unwrap();
    let platform = grouped(&[(1.0, 1, 0), (1.0, 1, 0)], 1.0, 1.0);
    let problem = Problem::new(dag, &platform).unwrap();
    let setting = Arc::new(Setting::new(problem, Messages::Direct).unwrap());
    let mut rounds = Rounds::new(setting.clone(), Policy::xavantes()).unwrap();
    rounds.step(0.0, Observation::Begin);
    let first = |rounds: &Rounds, host| {
        let on_host = |&&task: &&u32| rounds.progress().host[task as usize] == host;
        *setting.order.iter().find(on_host).unwrap()
    };
    let (slow, other) = (first(&rounds, 0), first(&rounds, 1));
    rounds.step(0.0, Observation::Started(slow));
    rounds.step(0.0, Observation::Started(other));
    rounds.step(10.0, Observation::Finished(other));
    let commands = rounds.step(100.0, Observation::Finished(slow));
    let question = question(&commands).unwrap();
    // Tasks of both may move because one of them met a slow machine.
    let dag = setting.problem().dag();
    let given = question.movable.iter().map(|&task| dag.given(task) / 3);
    assert_eq!(given.collect::<BTreeSet<u32>>(), BTreeSet::from([0, 1]));
    let answer = question.answer(&setting);
    assert!(answer.after < answer.before, "{answer:?}");
}
