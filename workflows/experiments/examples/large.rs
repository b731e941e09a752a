//! `cargo run --release -p experiments --example large -- [ACTIVITIES]` runs wide levels of ten thousand
//! activities on 64 machines by each policy under five kinds of load, once each, and prints the
//! makespans with the CPU time of each run: the last table of docs/rounds.md.
#![expect(clippy::print_stdout, reason = "a program for people")]

use std::sync::Arc;

use experiments::ideal::{Powers, Steps, execute_setting};
use experiments::wide::wide;
use schedule::Problem;
use schedule::random::Random;
use schedule::rounds::{Messages, Policy, Setting};

/// No execution here takes that long.
const HORIZON: f64 = 1e9;
/// Loads that change are drawn until here; the last part holds from then on.
const DRAWN_UNTIL: f64 = 30_000.0;
/// The mean time for which a machine is free or busy.
const HOLDING_MEAN: f64 = 50.0;
/// The time for which a machine keeps a part of its power.
const STEP: f64 = 300.0;

fn main() {
    let n = std::env::args().nth(1).map(|text| text.parse());
    let n: u32 = n.unwrap_or(Ok(10_000)).expect("a number of activities");
    let setting = Arc::new(Setting::new(wide(n), Messages::Direct).expect("a plan"));
    let own = Policy::xavantes();
    let policies = [
        ("fixed", Policy::fixed()),
        ("adaptive", Policy::adaptive()),
        ("xavantes", own),
        (
            "1,000 questions",
            Policy {
                questions_max: Some(1_000),
                ..own
            },
        ),
    ];
    for (load, powers) in loads(setting.problem()) {
        println!("\n{load}");
        for (name, policy) in &policies {
            let before = cpu_seconds();
            let run = execute_setting(&setting, policy, &powers, HORIZON).expect("it ends");
            let seconds = cpu_seconds() - before;
            println!("{name:16} {:8.0} {seconds:6.2} s", run.makespan);
        }
    }
}

fn loads(problem: &Problem) -> [(&'static str, Powers); 5] {
    let mut random = Random::new(3);
    let changing = steps(problem, || (STEP, 0.2 + 0.8 * random.unit()));
    let mut random = Random::new(3);
    let mut is_busy = false;
    let on_off = steps(problem, || {
        is_busy = !is_busy;
        let holding = -HOLDING_MEAN * (1.0 - random.unit()).ln();
        // One second at least, so that times ascend.
        (holding.max(1.0), if is_busy { 0.5 } else { 1.0 })
    });
    [
        (
            "20 to 100 % of the power, another part every 300 s",
            changing,
        ),
        (
            "a fifth slow for the whole run",
            lost(problem, 0.2, (0.3, 0.9), 0.1),
        ),
        (
            "half slow, and each activity up to 30 %",
            lost(problem, 0.5, (0.0, 0.9), 0.3),
        ),
        (
            "each activity 40 to 100 % of the power",
            lost(problem, 0.0, (0.0, 0.0), 0.6),
        ),
        ("on and off, for 50 s in the mean", on_off),
    ]
}

/// Factors that change with time, each with the seconds for which it holds.
fn steps(problem: &Problem, mut next: impl FnMut() -> (f64, f64)) -> Powers {
    let mut machine = |_| {
        let (mut now, mut steps) = (0.0, Vec::new());
        while now < DRAWN_UNTIL {
            let (seconds, factor) = next();
            steps.push((now, factor));
            now += seconds;
        }
        Steps::new(steps).expect("times ascend")
    };
    Powers::Steps(problem.hosts().iter().map(&mut machine).collect())
}

/// Some machines lose a part of their power for the whole run, and each task up to another part on
/// whatever machine.
fn lost(problem: &Problem, probability: f64, (least, most): (f64, f64), of_task: f64) -> Powers {
    let mut random = Random::new(3);
    let hosts = problem.hosts().iter();
    let kept: Vec<f64> = hosts
        .map(|_| {
            let (hit, loss) = (random.unit() < probability, random.unit());
            if hit {
                1.0 - least - (most - least) * loss
            } else {
                1.0
            }
        })
        .collect();
    let rows = (0..problem.dag().n_tasks()).map(|_| {
        let task = 1.0 - of_task * random.unit();
        kept.iter().map(|kept| kept * task).collect()
    });
    Powers::PerTask(rows.collect())
}

/// The CPU time of this process, in hundredths of a second as Linux counts it.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").expect("Linux tells of processes");
    let (_, fields) = text.rsplit_once(')').expect("the name is in brackets");
    let ticks = fields.split_whitespace().nth(11);
    let ticks: f64 = ticks
        .and_then(|ticks| ticks.parse().ok())
        .expect("a number");
    ticks / 100.0
}
