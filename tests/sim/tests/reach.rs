//! The seeds reach what the rules are about: a rule about what never happens would hold for ever.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "it counts few of the many things that are seen"
)]

use std::collections::BTreeMap;

use model::{FaultName, Mono, OnFault};
use process_core::record::End;
use process_core::{Event, Stream, Verdict};
use sim::seeds::compose;
use simulator::{Observer, Seen, Setup};
use wire::attempt::ToActivity;
use wire::client::{ActivityPhase, Answer, Phase};

/// Seeds that are looked at: seconds where nothing is optimised.
const SEEDS: u64 = 60;

#[derive(Default)]
struct Counts(BTreeMap<&'static str, u32>);

impl Counts {
    fn add(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }
}

impl Observer for Counts {
    fn see(&mut self, _: Mono, seen: &Seen<'_>) -> Result<(), String> {
        match seen {
            Seen::ToActivity(_, ToActivity::Retract(_)) => self.add("asked back"),
            Seen::ProcessDurable(Stream::Process(_), Event::Replanned(replanned)) => {
                self.add("planned again");
                if replanned.why.is_some() {
                    self.add("planned again for a slow machine");
                }
            }
            Seen::ProcessDurable(Stream::Process(_), Event::Ended(ended)) => {
                match (&ended.outcome.end, &ended.verdict) {
                    (End::Lost, Verdict::Again) => self.add("lost and made again"),
                    (_, verdict)
                        if verdict
                            .fault()
                            .is_some_and(|fault| fault.name == FaultName::OutcomeUnknown) =>
                    {
                        self.add("unknown");
                    }
                    _ => {}
                }
            }
            Seen::Started(command) if command.attempt.number > 1 => self.add("started again"),
            Seen::ProcessDurable(_, Event::MachineLost { .. }) => self.add("lost with files"),
            Seen::ProcessDurable(_, Event::Copied { beside, .. }) => {
                self.add("copied");
                if beside.is_some() {
                    self.add("copied from a copy");
                }
            }
            _ => {}
        }
        if let Seen::ProcessDurable(Stream::Process(id), Event::Reused(reused)) = seen {
            self.add("reused");
            if reused.of.process != *id && !reused.writes.is_empty() {
                self.add("reused with a value");
            }
        }
        if let Seen::Submits(submit) = seen {
            if submit.base.is_some() {
                self.add("mends");
            }
            if submit.on_fault == Some(OnFault::Continue) {
                self.add("goes on");
            }
        }
        if let Seen::Told(_, Answer::Status(status)) = seen {
            let summary = &status.summary;
            let totals = summary.totals;
            if summary.phase == Phase::Completed && totals.reused > 0 {
                self.add(if totals.reused == totals.completed {
                    "nothing was run"
                } else {
                    "some was run"
                });
            }
            let has = |phase| status.activities.iter().any(|one| one.phase == phase);
            let went_on = has(ActivityPhase::Skipped) && has(ActivityPhase::Completed);
            if status.on_fault == OnFault::Continue && summary.phase == Phase::Faulted && went_on {
                self.add("faulted and went on");
            }
        }
        Ok(())
    }
}

/// Fails unless each of these things happens in some run of a profile.
fn happens(profile: &str, things: &[&str]) {
    let setup = Setup::named(profile).expect("the profile is one of ours");
    let mut counts = Counts::default();
    for seed in 0..SEEDS {
        let (mut sim, _) = compose(seed, &setup);
        sim.run(&mut counts).expect("nothing is forbidden here");
    }
    for what in things {
        let n = counts.0.get(what).copied().unwrap_or_default();
        assert!(n > 0, "{what}: never, of {counts:?}", counts = counts.0);
    }
}

#[test]
fn recorded_outcomes_stand_and_processes_go_on() {
    happens(
        "calm",
        &[
            "mends",
            "goes on",
            "reused",
            "reused with a value",
            "nothing was run",
            "some was run",
            "faulted and went on",
        ],
    );
}

#[test]
fn machines_are_given_up_and_emptied_and_outcomes_unknown() {
    happens(
        "leases",
        &[
            "asked back",
            "planned again",
            "lost and made again",
            "started again",
        ],
    );
    // More machines are given up there.
    happens("lengths", &["unknown"]);
}

#[test]
fn machines_are_lost_with_files_and_those_are_copied_again() {
    happens(
        "copies",
        &["copied", "lost with files", "copied from a copy"],
    );
}
