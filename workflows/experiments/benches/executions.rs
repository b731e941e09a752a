//! The speed of ideal executions: studies run millions of small ones, and a manager's engine has to
//! keep up with a large one.
//!
//! The measured loads of the study `planetlab` are read where XAVANTES_DATA says, and left out without it.

#[path = "../examples/support/measured.rs"]
mod measured;

use std::cell::LazyCell;
use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use experiments::design::Design;
use experiments::graphs::GRAPHS;
use experiments::ideal::{Powers, Steps, execute_setting, execute_under};
use experiments::instance::{Drawn, DrawnLoad, Source};
use experiments::study::Study;
use experiments::wide::wide;
use schedule::platform::{MessageCost, paper};
use schedule::random::Random;
use schedule::rounds::{Messages, Policy, Setting};
use schedule::structured::{Shape, Structured};
use schedule::{Placing, Problem, Tree};

/// No execution here takes that long.
const HORIZON: f64 = 1e9;
/// Groups of a study with some forty machines in the mean.
const GROUPS: u32 = 13;
/// Draws of a study, of which each execution takes the next one.
const DRAWS: u32 = 200;
/// The activities of the graph of a study that is executed: the one whose number is nearest.
const ACTIVITIES: usize = 40;

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
    let mut platforms = (0..).map(|seed| paper(13, seed, 1.0).expect("a sound platform"));
    let platform = platforms.find(|platform| platform.resources().len() == 40);
    let platform = platform.expect("one of forty machines");
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

/// Draws of the graph of some forty activities on some forty machines, with their loads.
fn draws(study: Study, through_controllers: bool) -> Vec<(Arc<Setting>, DrawnLoad)> {
    let design = Design::new(study, 1, DRAWS, vec![GROUPS]).expect("a small design");
    let source = Source::new(design, measured::traces());
    let units = (0..source.design().n_units()).map(|number| source.design().unit(number));
    let units: Vec<_> = units.collect();
    let drawn = |unit, graph| source.drawn(unit, graph).expect("an instance");
    let far = |&graph: &usize| {
        let n_tasks = drawn(units[0], graph).problem.dag().n_tasks();
        n_tasks.abs_diff(ACTIVITIES)
    };
    let graph = (0..GRAPHS).min_by_key(far).expect("fifteen graphs");
    let settings = units.into_iter().map(|unit| {
        let Drawn {
            problem,
            tree,
            load,
        } = drawn(unit, graph);
        let messages = match through_controllers {
            true => Messages::Controllers(tree, Placing::Paper),
            false => Messages::Direct,
        };
        let setting = Setting::new(problem, messages).expect("a plan");
        (Arc::new(setting), load.expect("a load"))
    });
    settings.collect()
}

/// Executions under the loads of each study of rescheduling.
fn studies(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("studies");
    group.measurement_time(Duration::from_secs(2));
    let has_traces = !measured::traces().is_empty();
    let is_there = |study: &Study| !study.is_static() && (has_traces || !study.needs_traces());
    let policies = [
        ("adaptive", Policy::adaptive()),
        ("xavantes", Policy::xavantes()),
    ];
    for study in Study::ALL.into_iter().filter(is_there) {
        for (mode, through) in [("direct", false), ("controllers", true)] {
            // Drawn for those alone that are measured.
            let draws = LazyCell::new(|| draws(study, through));
            for (name, policy) in &policies {
                group.bench_function(format!("{}, {mode}, {name}", study.name()), |bencher| {
                    let mut next = draws.iter().cycle();
                    bencher.iter(|| {
                        let (setting, load) = next.next().expect("draws");
                        execute_under(setting, policy, &load.conditions(), HORIZON)
                    });
                });
            }
        }
    }
    group.finish();
}

criterion_group!(benches, executions, studies);
criterion_main!(benches);
