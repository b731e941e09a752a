//! Requests to machines to check that files are still intact.

use std::collections::BTreeMap;

use model::{ActivityId, Artifact, Mono, ProcessId, ResourceId};
use wire::attempt::{Copied, Copy};

use crate::limits;
use crate::process::Process;
use crate::record::Phase;

/// Checks, by the activity that made the files or whose outputs they would become.
#[derive(Debug, Default)]
pub(super) struct Checks(pub(super) BTreeMap<ActivityId, Check>);

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
        let checks = process.makers_of_outputs().into_iter().map(|activity| {
            let check = Check {
                what: What::Output,
                artifacts: process.produced_by(activity).collect(),
                holders: process.sources_of(activity, |_| false),
                lacking: Vec::new(),
                since: None,
                asked: None,
                is_sound: None,
            };
            (activity, check)
        });
        Checks(checks.collect())
    }

    /// Returns the state of the files of a cache hit. Without a known answer it adds a check; so it
    /// does if the files were lost and another machine has a copy since.
    pub(super) fn finding(
        &mut self,
        activity: ActivityId,
        artifacts: &[Artifact],
        holders: &[ResourceId],
    ) -> Finding {
        let known = self.0.get(&activity);
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
        self.0.insert(activity, check);
        Finding::Asked
    }

    /// Returns true if an activity must wait for the check of its cache hit before it is sent.
    pub(super) fn hold_back(&self, activity: ActivityId) -> bool {
        let check = self.0.get(&activity);
        check.is_some_and(|check| check.what == What::Recalled && check.is_sound.is_none())
    }

    /// Returns true if the check of any cache hit is unanswered.
    pub(super) fn has_recalled(&self) -> bool {
        let mut all = self.0.values();
        all.any(|check| check.what == What::Recalled && check.is_sound.is_none())
    }

    /// Returns true if no machine was asked for a check.
    pub(super) fn has_unasked(&self) -> bool {
        let mut all = self.0.values();
        all.any(|check| check.is_sound.is_none() && check.asked.is_none())
    }

    pub(super) fn has_outputs(&self) -> bool {
        let mut all = self.0.values();
        all.any(|check| check.what == What::Output && check.is_sound.is_none())
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
        checks.0.get_mut(&activity).unwrap().is_sound = Some(false);
        assert_eq!(finding(&mut checks, &[maker]), Finding::Lost);
        assert_eq!(finding(&mut checks, &[maker, copy]), Finding::Asked);
        assert!(checks.hold_back(activity));
        checks.0.get_mut(&activity).unwrap().is_sound = Some(false);
        assert_eq!(finding(&mut checks, &[maker, copy]), Finding::Lost);
    }
}
