//! Checks of recorded files: before new work depends on old files, a machine must confirm that they
//! are still intact.
//!
//! ```text
//!   outcome found --> asked --sound--> reused             output of an earlier epoch --> asked
//!                       |                                                                  |
//!                       +--lost--> the activity runs                     sound: it may end, lost: made again
//! ```
//! The inputs of an activity are verified when its machine stages them. So only files that perhaps
//! no activity reads are checked here: those of cache hits, and after a restart those that are
//! outputs of the process. All checks are volatile: a restart repeats them.

use std::collections::BTreeMap;

use model::{ActivityId, Artifact, Mono, ProcessId, ResourceId, Span};
use wire::attempt::{Checked, Copied, Copy, ToActivity};

use crate::enact::recompute::gone;
use crate::files::copies::parts;
use crate::io::Effect;
use crate::limits;
use crate::parts::Parts;
use crate::parts::checks::{Check, Finding, What};
use crate::process::Process;
use crate::record::{Event, Phase};
use crate::step::Step;
use crate::stream::Stream;
use crate::timer::Timer;

/// The time to wait for a machine that has the files before they count as sound: the machine may be
/// away for long, and an activity that lacks them reports so.
const PATIENCE: Span = Span::from_secs(10);

impl Parts {
    /// Returns the state of the files of a cache hit. Without a known answer it adds a check.
    pub(crate) fn finding(
        &mut self,
        id: ProcessId,
        activity: ActivityId,
        artifacts: &[Artifact],
        holders: &[ResourceId],
    ) -> Finding {
        if artifacts.is_empty() {
            return Finding::Sound;
        }
        let Some(live) = self.live.get_mut(&id) else {
            return Finding::Sound;
        };
        live.checks.finding(activity, artifacts, holders)
    }

    /// After a restart: adds checks of the outputs of the process that earlier epochs have
    /// recorded.
    pub(crate) fn check_outputs(&mut self, step: &Step<'_>, id: ProcessId) {
        let Some(known) = step.cx.process(id) else {
            return;
        };
        if known.phase() != Phase::Running {
            return;
        }
        let checks = known.makers_of_outputs().into_iter().map(|activity| {
            let check = Check {
                what: What::Output,
                artifacts: known.produced_by(activity).collect(),
                holders: known.sources_of(activity, |_| false),
                since: None,
                asked: None,
                is_sound: None,
            };
            (activity, check)
        });
        let checks: Vec<(ActivityId, Check)> = checks.collect();
        if let Some(live) = self.live.get_mut(&id) {
            live.checks.0.extend(checks);
        }
    }

    /// Returns true if a process must not end yet, though all its activities have: its outputs are
    /// being checked or recomputed.
    pub(crate) fn awaits_outputs(&self, known: &Process) -> bool {
        let live = self.live.get(&known.id());
        live.is_some_and(|live| live.checks.has_outputs())
            || (!known.index.recomputations.is_empty() && known.recomputes_outputs())
    }

    /// Sends the checks that were not sent yet, and repeats those that were not answered.
    pub(crate) fn ask_checks(&mut self, step: &mut Step<'_>, id: ProcessId) {
        let is_shared = self.stores.is_shared();
        let Some(live) = self.live.get_mut(&id) else {
            return;
        };
        if live.checks.0.values().all(|check| check.is_sound.is_some()) {
            return;
        }
        let mut by_machine: BTreeMap<ResourceId, Vec<Copy>> = BTreeMap::new();
        let mut given_up = Vec::new();
        for (&activity, check) in &mut live.checks.0 {
            let is_early = |at: Mono| step.now.mono.since(at) < limits::REPEAT;
            if check.is_sound.is_some() || check.asked.is_some_and(is_early) {
                continue;
            }
            let asked = match is_shared {
                true => self.machines.reachable().next(),
                false => {
                    let mut holders = check.holders.iter().copied();
                    holders.find(|&one| self.machines.is_reachable(one))
                }
            };
            let since = *check.since.get_or_insert(step.now.mono);
            // A machine that is reachable and slow may be reading large files.
            if asked.is_none() && !is_shared && step.now.mono.since(since) >= PATIENCE {
                check.is_sound = Some(true);
                given_up.push((activity, check.what));
            }
            if let Some(asked) = asked {
                check.asked = Some(step.now.mono);
                by_machine.entry(asked).or_default().push(Copy {
                    copied: Copied {
                        process: id,
                        activity,
                        artifacts: check.artifacts.clone(),
                    },
                    holders: check
                        .holders
                        .iter()
                        .copied()
                        .filter(|one| *one != asked)
                        .collect(),
                    is_needed: false,
                });
            }
        }
        self.send_checks(step, by_machine);
        step.timers
            .set_once(Timer::Recall(id), step.now.mono + limits::REPEAT);
        for (activity, what) in given_up {
            if what == What::Recalled {
                self.look_again(step, id, activity);
            }
            // The next step sees to the consequences.
            step.timers.set(Timer::Recall(id), step.now.mono + Span(1));
        }
    }

    fn send_checks(&self, step: &mut Step<'_>, by_machine: BTreeMap<ResourceId, Vec<Copy>>) {
        for (machine, copies) in by_machine {
            for copies in parts(copies) {
                let named: Vec<ResourceId> = copies
                    .iter()
                    .flat_map(|copy| copy.holders.iter().copied())
                    .collect();
                let holders = self.stores.known();
                let holders = holders.filter(|one| named.contains(one));
                let holders = holders.filter_map(|one| self.stores.get(one).cloned());
                let message = ToActivity::Check {
                    holders: holders.collect(),
                    copies,
                };
                step.cx.effect(Effect::ToActivity(machine, message));
            }
        }
    }

    /// Takes the answers of a machine to checks.
    pub(crate) fn on_checked(
        &mut self,
        step: &mut Step<'_>,
        resource: ResourceId,
        checked: Vec<Checked>,
    ) {
        let mut touched = Vec::new();
        for Checked { copied, is_sound } in checked {
            let (id, activity) = (copied.process, copied.activity);
            let live = self.live.get_mut(&id);
            let check = live.and_then(|live| live.checks.0.get_mut(&activity));
            let Some(check) = check
                .filter(|check| check.is_sound.is_none() && check.artifacts == copied.artifacts)
            else {
                continue;
            };
            check.is_sound = Some(is_sound);
            let what = check.what;
            if !touched.contains(&id) {
                touched.push(id);
            }
            match (what, is_sound) {
                (What::Recalled, _) => self.look_again(step, id, activity),
                (What::Output, false) => record_lost(step, id, activity, resource),
                (What::Output, true) => {}
            }
        }
        for id in touched {
            step.marks.mark(id);
        }
    }
}

/// Records that an output of the process is lost. It is recomputed, or faults the process if the
/// activity must not run again or no machine is held.
fn record_lost(step: &mut Step<'_>, id: ProcessId, maker: ActivityId, resource: ResourceId) {
    let Some(known) = step.cx.process(id) else {
        return;
    };
    if known.phase() != Phase::Running {
        return;
    }
    let declared = known.definition().activity(maker);
    let event = if declared.is_some_and(|activity| activity.at_most_once) {
        Event::Faulted(Box::new(gone(known, maker.node(), "it must not run twice")))
    } else if known.grants().next().is_none() {
        let why = "the process holds no machine any more that could make it again";
        Event::Faulted(Box::new(gone(known, maker.node(), why)))
    } else {
        Event::FilesLost(vec![maker], resource)
    };
    step.cx.record(Stream::Process(id), event);
}
