//! `cargo run --release -p experiments --example events -- [REPETITIONS]` prints a checksum of all that happens in
//! executions of each study of rescheduling, by policy and mode of messages. A change that is to make policies faster and
//! nothing else leaves every line as it is.
//!
//! Times are compared to the last bit. The measured loads are read where XAVANTES_DATA says, and left out without it.
#![expect(clippy::print_stdout, reason = "a program for people")]

#[path = "support/measured.rs"]
mod measured;

use std::sync::Arc;

use crc32fast::Hasher;
use experiments::design::Design;
use experiments::graphs::GRAPHS;
use experiments::ideal::execute_under;
use experiments::instance::Source;
use experiments::study::Study;
use schedule::Placing;
use schedule::rounds::{Messages, Policy, Setting};

/// No run here takes that long.
const HORIZON: f64 = 1e9;
const MODES: [&str; 2] = ["direct", "controllers"];

fn policies() -> [(&'static str, Policy); 5] {
    let own = Policy::xavantes();
    let gain_least = None;
    [
        ("fixed", Policy::fixed()),
        ("4 rounds", Policy::rounds(4)),
        ("adaptive", Policy::adaptive()),
        ("xavantes", own),
        ("every plan kept", Policy { gain_least, ..own }),
    ]
}

fn main() {
    let repetitions = std::env::args().nth(1).map(|text| text.parse());
    let repetitions = repetitions.map_or(2, |number| number.expect("a number of repetitions"));
    let traces = measured::traces();
    for study in Study::ALL {
        if study.is_static() || (study.needs_traces() && traces.is_empty()) {
            continue;
        }
        let design = Design::new(study, 1, repetitions, vec![2, 10, 25]);
        let source = Source::new(design.expect("a small design"), traces.clone());
        let mut sums: [[Hasher; 2]; 5] = Default::default();
        for number in 0..source.design().n_units() {
            let unit = source.design().unit(number);
            for graph in 0..GRAPHS {
                let drawn = source.drawn(unit, graph).expect("an instance");
                let load = drawn.load.expect("a study of rescheduling has a load");
                let through = Messages::Controllers(drawn.tree, Placing::Paper);
                for (mode, messages) in [Messages::Direct, through].into_iter().enumerate() {
                    let setting = Setting::new(drawn.problem.clone(), messages).expect("a plan");
                    let setting = Arc::new(setting);
                    for (sums, (_, policy)) in sums.iter_mut().zip(policies()) {
                        let run = execute_under(&setting, &policy, &load.conditions(), HORIZON);
                        sums[mode].update(format!("{:?}", run.expect("it ends")).as_bytes());
                    }
                }
            }
        }
        for (sums, (policy, _)) in sums.into_iter().zip(policies()) {
            for (sum, mode) in sums.into_iter().zip(MODES) {
                println!(
                    "{:12} {mode:11} {policy:15} {:08x}",
                    study.name(),
                    sum.finalize()
                );
            }
        }
    }
}
