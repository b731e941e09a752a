//! Checks of recorded files: before new work depends on old files, a machine must confirm that they
//! are still intact.
//!
//! ```text
//!   outcome found --> asked --sound--> reused             output of an earlier epoch --> asked
//!                       |                                                                  |
//!                       +--lost--> the activity runs                     sound: it may end, lost: made again
//! ```
//! Files are lost where each machine that is known to have them has answered so.
//!
//! The inputs of an activity are verified when its machine stages them. So only files that perhaps
//! no activity reads are checked here: those of cache hits, and after a restart those that are
//! outputs of the process. All checks are volatile: a restart repeats them.

use std::collections::BTreeMap;

use model::{ActivityId, Artifact, ProcessId, ResourceId, Span};
use wire::attempt::{Checked, Copy, ToActivity};

use super::Files;
use super::check::{Finding, What};
use super::copies::parts;
use crate::enact::recompute::gone;
use crate::io::Effect;
use crate::limits;
use crate::machines::Machines;
use crate::process::Process;
use crate::record::{Event, Phase};
use crate::step::Step;
use crate::stream::Stream;
use crate::timer::Timer;

/// The time to wait for a machine that has the files before they count as sound: the machine may be
/// away for long, and an activity that lacks them reports so.
const PATIENCE: Span = Span::from_secs(10);

impl Files {
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
        let Some(open) = self.open.get_mut(&id) else {
            return Finding::Sound;
        };
        open.checks.finding(activity, artifacts, holders)
    }

    /// Returns true if a process must not end yet, though all its activities have: its outputs are
    /// being checked or recomputed.
    pub(crate) fn awaits_outputs(&self, known: &Process) -> bool {
        let open = self.open.get(&known.id());
        open.is_some_and(|open| open.checks.has_outputs())
            || (!known.index.recomputations.is_empty() && known.recomputes_outputs())
    }

    /// Returns true if an activity must wait for the check of its cache hit before it is sent.
    pub(crate) fn holds_back(&self, id: ProcessId, activity: ActivityId) -> bool {
        let open = self.open.get(&id);
        open.is_some_and(|open| open.checks.hold_back(activity))
    }

    /// The processes with a check that no machine was there for when it was wanted.
    pub(crate) fn unasked(&self) -> Vec<ProcessId> {
        let open = self.open.iter();
        let unasked = open.filter(|(_, open)| open.checks.has_unasked());
        unasked.map(|(&id, _)| id).collect()
    }

    /// Returns true if the check of any cache hit of a process is unanswered.
    pub(crate) fn checks_recalled(&self, id: ProcessId) -> bool {
        let open = self.open.get(&id);
        open.is_some_and(|open| open.checks.has_recalled())
    }

    /// Sends the checks that were not sent yet, and repeats those that were not answered. Returns the
    /// activities whose cache lookup is to be repeated, since their check is given up.
    pub(crate) fn ask_checks(
        &mut self,
        step: &mut Step<'_>,
        machines: &Machines,
        id: ProcessId,
    ) -> Vec<ActivityId> {
        let is_shared = self.stores.is_shared();
        let Some(open) = self.open.get_mut(&id) else {
            return Vec::new();
        };
        if !open.checks.is_any_open() {
            return Vec::new();
        }
        let mut by_machine: BTreeMap<ResourceId, Vec<Copy>> = BTreeMap::new();
        let mut given_up = Vec::new();
        for activity in open.checks.due(step.now.mono) {
            let Some(check) = open.checks.open(activity) else {
                continue;
            };
            let asked = match is_shared {
                true => machines.reachable().next(),
                false => check.may_have().find(|&one| machines.is_reachable(one)),
            };
            let since = *check.since.get_or_insert(step.now.mono);
            // A machine that is reachable and slow may be reading large files.
            if asked.is_none() && !is_shared && step.now.mono.since(since) >= PATIENCE {
                given_up.push((activity, check.what));
                open.checks.answer(activity, true);
                continue;
            }
            if let Some(asked) = asked {
                check.asked = Some(step.now.mono);
                let question = check.question(id, activity, asked);
                by_machine.entry(asked).or_default().push(question);
                open.checks.note_asked(activity, true);
            }
        }
        self.send_checks(step, by_machine);
        step.timers
            .set_once(Timer::Recall(id), step.now.mono + limits::REPEAT);
        if !given_up.is_empty() {
            // The next step sees to the consequences.
            step.timers.set(Timer::Recall(id), step.now.mono + Span(1));
        }
        let recalled = given_up.iter().filter(|(_, what)| *what == What::Recalled);
        recalled.map(|&(activity, _)| activity).collect()
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

    /// Takes the answer of a machine to a check. Returns true if the cache lookup of the activity is to
    /// be repeated.
    pub(crate) fn on_checked(
        &mut self,
        step: &mut Step<'_>,
        resource: ResourceId,
        checked: Checked,
    ) -> bool {
        let Checked { copied, is_sound } = checked;
        let (id, activity) = (copied.process, copied.activity);
        let is_shared = self.stores.is_shared();
        let Some(open) = self.open.get_mut(&id) else {
            return false;
        };
        let check = open.checks.open(activity);
        let Some(check) = check.filter(|check| check.artifacts == copied.artifacts) else {
            return false;
        };
        step.marks.mark(id);
        if check.what == What::Output
            && !is_sound
            && let Some(known) = step.cx.process(id)
            && check.is_renewed(known.sources_of(activity, |_| false))
        {
            open.checks.note_asked(activity, false);
            return false;
        }
        if !is_sound && !is_shared && check.asks_another(resource) {
            open.checks.note_asked(activity, false);
            step.timers.set(Timer::Recall(id), step.now.mono + Span(1));
            return false;
        }
        let what = check.what;
        open.checks.answer(activity, is_sound);
        match (what, is_sound) {
            (What::Recalled, _) => return true,
            (What::Output, false) => record_lost(step, id, activity, resource),
            (What::Output, true) => {}
        }
        false
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
    let declared = known.definition().activity_as_written(maker);
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
