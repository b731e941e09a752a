//! Ten processes of mixed shapes on four slots: all of them end as soon as the slots allow, and none
//! later than it would without backfill.

use std::collections::BTreeMap;

use model::{Mono, ProcessId, SubmitKey};
use process_core::{Event, Stream};
use scenarios::{Scenario, TOLERANCE};
use sim::{Known, rules::Rules};
use simulator::{Observer, Seen, Setup, Sim, Submission};
use wire::client::{Phase, Submit};

/// When each process has ended; all rules hold.
struct Watch {
    rules: Rules,
    ended: BTreeMap<ProcessId, f64>,
}

impl Observer for Watch {
    fn see(&mut self, at: Mono, seen: &Seen<'_>) -> Result<(), String> {
        if let Seen::ProcessDurable(Stream::Process(id), Event::Closed { phase, .. }) = seen {
            assert_eq!(Phase::from(*phase), Phase::Completed);
            self.ended.insert(*id, at.since(BEGIN).seconds());
        }
        self.rules.see(at, seen)
    }
}

/// When all are submitted: the machines are there.
const BEGIN: Mono = Mono(1_000_000);

/// The second at which each process ends.
fn run(seed: u64, scenario: &Scenario) -> Vec<f64> {
    let setup = Setup {
        machines: (scenario.machines, scenario.machines),
        slots: (scenario.slots, scenario.slots),
        powers: (10, 10),
        follows_work: true,
        lease: Some(wire::lease::LENGTH),
        ..Setup::calm()
    };
    let mut known = Known::default();
    let key = |number: usize| SubmitKey(100 + number as u64);
    let submissions = scenario.processes.iter().enumerate();
    let submissions = submissions.map(|(number, shape)| {
        known.managers.insert(key(number).process(), 0);
        Submission {
            submit: Submit::new(key(number), shape.draft(), "mixed.yaml"),
            manager: 0,
            user: None,
            // Each of them is known before the next one comes.
            at: Mono(BEGIN.0 + 10_000 * number as u64),
            cancels_at: None,
        }
    });
    let submissions = submissions.collect();
    let mut sim = Sim::new(seed, setup, submissions, BTreeMap::new(), 1);
    let mut watch = Watch {
        rules: Rules::new(known),
        ended: BTreeMap::new(),
    };
    sim.run(&mut watch).expect("all rules hold");
    let ends = (0..scenario.processes.len()).map(|number| watch.ended[&key(number).process()]);
    ends.collect()
}

#[test]
fn ten_processes_of_mixed_shapes_end_in_time() {
    let scenario = Scenario::ten();
    let bound = scenario.bound();
    let latest = scenario.without_backfill();
    for seed in 0..5 {
        let ends = run(seed, &scenario);
        let all = ends.iter().copied().fold(0.0, f64::max);
        assert!(all <= bound * (1.0 + TOLERANCE), "{all} s of {bound}");
        for ((shape, end), latest) in scenario.processes.iter().zip(ends).zip(&latest) {
            assert!(
                end <= latest * (1.0 + TOLERANCE),
                "{} ends after {end} s, and without backfill after {latest}",
                shape.name
            );
        }
    }
}
