//! Requests to machines to check that files are still intact.

use std::collections::{BTreeMap, BTreeSet};

use model::{ActivityId, Artifact, Mono, ProcessId, ResourceId};
use wire::attempt::{Copied, Copy};

use crate::limits;
use crate::process::Process;
use crate::record::Phase;

/// Checks, by the activity that made the files or whose outputs they would become. Of a process with many, a step
/// looks at those that it concerns, and once a second at all that are not answered.
#[derive(Debug, Default)]
pub(super) struct Checks {
    all: BTreeMap<ActivityId, Check>,
    unanswered: BTreeSet<ActivityId>,
    /// Those of which no machine was asked, or another one is to be asked.
    unasked: BTreeSet<ActivityId>,
    /// Those of outputs that are not answered.
    n_outputs: usize,
    /// When all that are not answered were looked at last.
    looked: Option<Mono>,
}

/// One check.
#[derive(Debug)]
pub(super) struct Check {
    pub(super) what: What,
    pub(super) artifacts: Vec<Artifact>,
    /// The machines that are known to have the files.
    pub(super) holders: Vec<ResourceId>,
    /// Holders that have answered that they have not, nor got the files elsewhere.
    pub(super) lacking: Vec<ResourceId>,
    /// The time at which the check became due.
    pub(super) since: Option<Mono>,
    /// The time of the last request to a machine.
    pub(super) asked: Option<Mono>,
    /// The answer, once there is one.
    pub(super) is_sound: Option<bool>,
}

impl Check {
    /// Returns true if a machine is to be asked now: it was not, or has not answered.
    pub(super) fn is_due(&self, now: Mono) -> bool {
        let is_early = |at: Mono| now.since(at) < limits::REPEAT;
        self.is_sound.is_none() && !self.asked.is_some_and(is_early)
    }

    /// Begins anew where other machines have the files since. Returns true if there are any.
    pub(super) fn is_renewed(&mut self, holders: Vec<ResourceId>) -> bool {
        if !holders.iter().any(|holder| !self.holders.contains(holder)) {
            return false;
        }
        self.holders = holders;
        self.lacking.clear();
        (self.since, self.asked) = (None, None);
        true
    }

    /// The machines that may still have the files.
    pub(super) fn may_have(&self) -> impl Iterator<Item = ResourceId> {
        let holders = self.holders.iter().copied();
        holders.filter(|holder| !self.lacking.contains(holder))
    }

    /// A machine has neither the files nor got them elsewhere. Returns true if another one is to be asked: after
    /// a restart nobody knows its address before it is there itself, so the machine could not ask it.
    pub(super) fn asks_another(&mut self, lacking: ResourceId) -> bool {
        self.lacking.push(lacking);
        if self.may_have().next().is_none() {
            return false;
        }
        self.asked = None;
        true
    }

    /// The question to a machine, with the other machines that have the files.
    pub(super) fn question(
        &self,
        process: ProcessId,
        activity: ActivityId,
        to: ResourceId,
    ) -> Copy {
        let others = self.holders.iter().copied().filter(|one| *one != to);
        Copy {
            copied: Copied {
                process,
                activity,
                artifacts: self.artifacts.clone(),
            },
            holders: others.collect(),
            is_needed: false,
            number: None,
        }
    }
}

/// The reason for a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// The files are a cache hit, not yet accepted.
    Recalled,
    /// The files are outputs of the process.
    Output,
}

/// The state of the files of a cache hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    Sound,
    Lost,
    /// A machine was asked for a check, or will be.
    Asked,
}

impl Checks {
    /// After a restart: checks of the outputs of the process that earlier epochs have recorded.
    pub(super) fn of_outputs(process: &Process) -> Checks {
        if process.phase() != Phase::Running {
            return Checks::default();
        }
        let mut checks = Checks::default();
        for activity in process.makers_of_outputs() {
            let check = Check {
                what: What::Output,
                artifacts: process.produced_by(activity).collect(),
                holders: process.sources_of(activity, |_| false),
                lacking: Vec::new(),
                since: None,
                asked: None,
                is_sound: None,
            };
            checks.add(activity, check);
        }
        checks
    }

    fn add(&mut self, activity: ActivityId, check: Check) {
        self.close(activity);
        self.n_outputs += usize::from(check.what == What::Output);
        self.all.insert(activity, check);
        self.unanswered.insert(activity);
        self.unasked.insert(activity);
    }

    /// Nobody waits for a check any more.
    fn close(&mut self, activity: ActivityId) {
        self.unasked.remove(&activity);
        if self.unanswered.remove(&activity) {
            let check = self.all.get(&activity);
            let is_output = check.is_some_and(|check| check.what == What::Output);
            self.n_outputs -= usize::from(is_output);
        }
    }

    /// A check that is not answered.
    pub(super) fn open(&mut self, activity: ActivityId) -> Option<&mut Check> {
        let check = self.all.get_mut(&activity);
        check.filter(|check| check.is_sound.is_none())
    }

    /// Notes the answer to a check.
    pub(super) fn answer(&mut self, activity: ActivityId, is_sound: bool) {
        if let Some(check) = self.all.get_mut(&activity) {
            check.is_sound = Some(is_sound);
        }
        self.close(activity);
    }

    /// A machine was asked, or another one is to be.
    pub(super) fn note_asked(&mut self, activity: ActivityId, is_asked: bool) {
        match is_asked {
            true => self.unasked.remove(&activity),
            false => self.unasked.insert(activity),
        };
    }

    /// Returns true if any check is not answered.
    pub(super) fn is_any_open(&self) -> bool {
        !self.unanswered.is_empty()
    }

    /// The checks for which a machine is to be asked now.
    pub(super) fn due(&mut self, now: Mono) -> Vec<ActivityId> {
        let looks = self.looked.is_none_or(|at| now.since(at) >= limits::REPEAT);
        let some = match looks {
            true => {
                self.looked = Some(now);
                &self.unanswered
            }
            false => &self.unasked,
        };
        let is_due = |activity: &&ActivityId| {
            let check = self.all.get(activity);
            check.is_some_and(|check| check.is_due(now))
        };
        some.iter().filter(is_due).copied().collect()
    }

    /// Returns the state of the files of a cache hit. Without a known answer it adds a check; so it
    /// does if the files were lost and another machine has a copy since.
    pub(super) fn finding(
        &mut self,
        activity: ActivityId,
        artifacts: &[Artifact],
        holders: &[ResourceId],
    ) -> Finding {
        let known = self.all.get(&activity);
        if let Some(check) = known.filter(|check| check.artifacts == artifacts) {
            let is_new = |holder: &ResourceId| !check.holders.contains(holder);
            match check.is_sound {
                Some(true) => return Finding::Sound,
                None => return Finding::Asked,
                Some(false) if !holders.iter().any(is_new) => return Finding::Lost,
                Some(false) => {}
            }
        }
        let check = Check {
            what: What::Recalled,
            artifacts: artifacts.to_vec(),
            holders: holders.to_vec(),
            lacking: Vec::new(),
            since: None,
            asked: None,
            is_sound: None,
        };
        self.add(activity, check);
        Finding::Asked
    }

    /// Returns true if an activity must wait for the check of its cache hit before it is sent.
    pub(super) fn hold_back(&self, activity: ActivityId) -> bool {
        let check = self.all.get(&activity);
        check.is_some_and(|check| check.what == What::Recalled && check.is_sound.is_none())
    }

    /// Returns true if the check of any cache hit is unanswered.
    pub(super) fn has_recalled(&self) -> bool {
        self.unanswered.len() > self.n_outputs
    }

    /// Returns true if no machine was asked for a check.
    pub(super) fn has_unasked(&self) -> bool {
        !self.unasked.is_empty()
    }

    pub(super) fn has_outputs(&self) -> bool {
        self.n_outputs > 0
    }
}

#[cfg(test)]
mod tests {
    use model::{ArtifactKind, Bytes, Hash};

    use super::*;

    #[test]
    fn a_check_of_an_output_begins_anew_with_the_copies_that_were_made_since() {
        let (maker, copy) = (ResourceId::local(0), ResourceId::local(1));
        let mut check = Check {
            what: What::Output,
            artifacts: Vec::new(),
            holders: vec![maker],
            lacking: Vec::new(),
            since: Some(Mono(1)),
            asked: Some(Mono(2)),
            is_sound: None,
        };
        assert!(!check.is_renewed(vec![maker]));
        assert!(!check.is_due(Mono(2)));
        assert!(check.is_renewed(vec![maker, copy]));
        assert!(check.is_due(Mono(2)));
        let question = check.question(ProcessId(1), ActivityId(1), maker);
        assert_eq!(question.holders, [copy]);
        assert!(check.asks_another(maker));
        assert!(check.is_due(Mono(2)));
        assert!(check.may_have().eq([copy]));
        assert!(!check.asks_another(copy));
    }

    #[test]
    fn what_was_asked_is_looked_at_once_a_second_and_what_was_not_at_once() {
        let artifacts = [Artifact {
            hash: Hash([1; 32]),
            bytes: Bytes(1),
            kind: ArtifactKind::File,
        }];
        let mut checks = Checks::default();
        let mut now = Mono(1);
        let ask = |checks: &mut Checks, now: Mono| {
            let due = checks.due(now);
            for &activity in &due {
                checks.open(activity).unwrap().asked = Some(now);
                checks.note_asked(activity, true);
            }
            due
        };
        let find = |checks: &mut Checks, number: u32| {
            checks.finding(ActivityId(number), &artifacts, &[ResourceId::local(0)])
        };
        find(&mut checks, 1);
        find(&mut checks, 2);
        assert_eq!(ask(&mut checks, now), [ActivityId(1), ActivityId(2)]);
        find(&mut checks, 3);
        assert!(checks.has_unasked());
        assert_eq!(ask(&mut checks, now), [ActivityId(3)]);
        assert_eq!(ask(&mut checks, now), []);
        checks.answer(ActivityId(2), true);
        now = now + limits::REPEAT;
        assert_eq!(ask(&mut checks, now), [ActivityId(1), ActivityId(3)]);
        checks.answer(ActivityId(1), false);
        checks.answer(ActivityId(3), true);
        assert!(!checks.is_any_open() && !checks.has_recalled() && !checks.has_unasked());
        now = now + limits::REPEAT;
        assert_eq!(ask(&mut checks, now), []);
    }

    #[test]
    fn a_copy_made_while_a_lost_machine_was_asked_is_asked_for_too() {
        let activity = ActivityId(1);
        let artifacts = [Artifact {
            hash: Hash([1; 32]),
            bytes: Bytes(1),
            kind: ArtifactKind::File,
        }];
        let (maker, copy) = (ResourceId::local(0), ResourceId::local(1));
        let mut checks = Checks::default();
        let finding = |checks: &mut Checks, holders: &[ResourceId]| {
            checks.finding(activity, &artifacts, holders)
        };
        assert_eq!(finding(&mut checks, &[maker]), Finding::Asked);
        checks.answer(activity, false);
        assert_eq!(finding(&mut checks, &[maker]), Finding::Lost);
        assert_eq!(finding(&mut checks, &[maker, copy]), Finding::Asked);
        assert!(checks.hold_back(activity));
        checks.answer(activity, false);
        assert_eq!(finding(&mut checks, &[maker, copy]), Finding::Lost);
    }
}
