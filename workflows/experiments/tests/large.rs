//! Executions of more activities than are planned again together.

use std::sync::Arc;

use experiments::ideal::{Event, Execution, Powers, Steps, execute_setting};
use schedule::platform::{ReferenceNetwork, reference};
use schedule::random::Random;
use schedule::rounds::{MOVABLE_MAX, Messages, Policy, Setting};
use schedule::{Dag, Problem, Task};

const TASKS: u32 = 3_000;
/// No execution here takes that long.
const HORIZON: f64 = 1e6;

/// Wide levels between single tasks on 64 machines.
fn setting() -> Arc<Setting> {
    let mut random = Random::new(1);
    let task = |random: &mut Random| Task {
        work: 5.0 + 20.0 * random.unit(),
        cores: 1,
    };
    let tasks: Vec<Task> = (0..TASKS).map(|_| task(&mut random)).collect();
    let width = TASKS / 4;
    let mut edges = Vec::new();
    for task in 1..TASKS {
        match task % width {
            0 => edges.extend((task - width + 1..task).map(|before| (before, task, 5e5))),
            place => edges.push((task - place, task, 5e5)),
        }
    }
    let dag = Dag::new(&tasks, &edges).expect("edges go up");
    let platform = reference(64, ReferenceNetwork::Lan, &dag).expect("a sound platform");
    let problem = Problem::new(dag, &platform).expect("a sound problem");
    Arc::new(Setting::new(problem, Messages::Direct).expect("a plan"))
}

/// Factors that change for each machine, which keeps them for a time in the mean.
fn changing(setting: &Setting, seconds: f64) -> Powers {
    let mut random = Random::new(5);
    let machine = |_| {
        let mut now = 0.0;
        let mut steps = Vec::new();
        while now < HORIZON / 100.0 {
            steps.push((now, 0.2 + 0.8 * random.unit()));
            now += seconds * (0.5 + random.unit());
        }
        Steps::new(steps).expect("times ascend")
    };
    Powers::Steps(setting.problem().hosts().iter().map(machine).collect())
}

/// The number of plans that were asked for while more tasks waited than are planned together, and the
/// time until then.
fn questions(execution: &Execution) -> (usize, f64) {
    let mut starts: Vec<f64> = execution.ran.iter().map(|ran| ran.start).collect();
    starts.sort_by(f64::total_cmp);
    let until = starts[TASKS as usize - MOVABLE_MAX - 1];
    let asked = execution.events.iter().filter(|event| match event {
        Event::Reschedule { time, .. } | Event::Declined { time, .. } => *time < until,
        Event::Send { .. } | Event::Loss { .. } | Event::Stop { .. } => false,
    });
    (asked.count(), until)
}

#[test]
fn questions_about_one_machine_among_many_are_few_and_worth_it() {
    let setting = setting();
    for seconds in [20.0, 300.0] {
        let powers = changing(&setting, seconds);
        let run = |policy: &Policy| execute_setting(&setting, policy, &powers, HORIZON).unwrap();
        let fixed = run(&Policy::fixed());
        for most in [50, 250] {
            let own = run(&Policy {
                questions_max: Some(most),
                ..Policy::xavantes()
            });
            let (asked, until) = questions(&own);
            // The expected length is that of the plan at least.
            let bound = f64::from(most) * until / own.planned + 1.0;
            assert!(asked as f64 <= bound, "{asked} questions, at most {bound}");
            assert!(asked > 10, "{asked} questions");
            let makespans = [own.makespan, fixed.makespan];
            assert!(own.makespan < fixed.makespan, "{makespans:?}");
        }
        let unbounded = run(&Policy {
            questions_max: None,
            ..Policy::xavantes()
        });
        let few = run(&Policy::xavantes());
        assert!(questions(&few).0 < questions(&unbounded).0);
    }
}
