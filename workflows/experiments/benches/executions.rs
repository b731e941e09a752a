//! The speed of ideal executions: studies run millions of small ones, and a manager's engine has to
//! keep up with a large one.

use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use experiments::ideal::{Powers, Steps, execute_setting};
use experiments::wide::wide;
use schedule::platform::{MessageCost, paper};
use schedule::random::Random;
use schedule::rounds::{Messages, Policy, Setting};
use schedule::structured::{Shape, Structured};
use schedule::{Placing, Problem, Tree};

/// No execution here takes that long.
const HORIZON: f64 = 1e9;

/// A fifth of the machines loses a part of its power for the whole run; each task loses some more.
fn lasting(problem: &Problem, seed: u64) -> Powers {
    let mut random = Random::new(seed);
    let hosts = problem.hosts().iter();
    let kept: Vec<f64> = hosts
        .map(|_| match random.below(5) {
            0 => 0.1 + 0.6 * random.unit(),
            _ => 1.0,
        })
        .collect();
    let mut row = || {
        let factors = kept.iter().map(|kept| kept * (0.9 + 0.1 * random.unit()));
        factors.collect()
    };
    Powers::PerTask((0..problem.dag().n_tasks()).map(|_| row()).collect())
}

/// Factors that change every 300 s.
fn steps(problem: &Problem, seed: u64) -> Powers {
    let mut random = Random::new(seed);
    let machine = |_| {
        let steps = (0..1_000).map(|step| (300.0 * f64::from(step), 0.2 + 0.8 * random.unit()));
        Steps::new(steps).expect("sound steps")
    };
    Powers::Steps(problem.hosts().iter().map(machine).collect())
}

/// 40 activities on 40 machines.
fn small(through_controllers: bool) -> Arc<Setting> {
    let drawn = Structured::new(40, Shape::MIDDLE, 7);
    let platform = paper(13, 40, 1.0).expect("a sound platform");
    let dag = drawn.graph(MessageCost::Medium, 1);
    let problem = Problem::new(dag, &platform).expect("a sound problem");
    let messages = match through_controllers {
        true => Messages::Controllers(
            Tree::new(&problem, &drawn.parents, &drawn.controllers).expect("a tree"),
            Placing::Paper,
        ),
        false => Messages::Direct,
    };
    Arc::new(Setting::new(problem, messages).expect("a plan"))
}

fn executions(criterion: &mut Criterion) {
    let policies = [
        ("fixed", Policy::fixed()),
        ("rounds4", Policy::rounds(4)),
        ("adaptive", Policy::adaptive()),
        ("xavantes", Policy::xavantes()),
    ];
    let mut group = criterion.benchmark_group("executions");
    for (mode, setting) in [("direct", small(false)), ("controllers", small(true))] {
        let hosts = setting.problem().hosts().len();
        let loads = [
            ("lasting", lasting(setting.problem(), 3)),
            ("steps", steps(setting.problem(), 3)),
        ];
        for (load, powers) in &loads {
            for (name, policy) in &policies {
                let name = format!("40 on {hosts}, {mode}, {load}, {name}");
                group.bench_function(name, |bencher| {
                    bencher.iter(|| execute_setting(&setting, policy, powers, HORIZON));
                });
            }
        }
    }
    group.sample_size(10);
    let setting = Arc::new(Setting::new(wide(10_000), Messages::Direct).expect("a plan"));
    let loads = [
        ("lasting", lasting(setting.problem(), 3)),
        ("steps", steps(setting.problem(), 3)),
    ];
    for (load, powers) in &loads {
        for (name, policy) in &policies {
            let name = format!("10000 on 64, {load}, {name}");
            group.bench_function(name, |bencher| {
                bencher.iter(|| execute_setting(&setting, policy, powers, HORIZON));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, executions);
criterion_main!(benches);
