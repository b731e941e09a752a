//! Races: several attempts at one activity are out at a time, on different machines, and the first result counts.
//!
//! ```text
//!   first  |-- out ------------------------- stopped, Dropped      holds its slot until then
//!   rival       |-- out ------ Completed                           its outcome is that of the activity
//! ```
//! The state of an activity names one attempt; those beside it are in a map of the process, so that an activity
//! without rivals takes no more memory than before. Where the one that the state names ends without a result, the
//! oldest rival takes its place. Where a rival has the result, the two change places first. After the result, what is
//! still out has lost: it is stopped, and until its machine has said so it is out as any other attempt, with its
//! slots, its inputs and the end of its process waiting for it.

use minicbor::{Decode, Encode};
use model::{ActivityId, AttemptId, ResourceId, Wall};

use crate::process::Process;
use crate::record::{CacheKey, End, Ended, Outcome, PastAttempt, Verdict};

/// An attempt that is out beside the one that the state of its activity names.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub(crate) struct Rival {
    /// Its machine.
    #[n(0)]
    pub(crate) resource: ResourceId,
    /// The cache key that it was sent with; none of an attempt that has lost the race.
    #[n(1)]
    pub(crate) cache_key: Option<CacheKey>,
}

impl Process {
    /// The attempts at an activity that are out beside the one that its state names, the oldest first.
    pub(crate) fn rivals(&self, activity: ActivityId) -> impl Iterator<Item = (u32, &Rival)> {
        let all = self.state.rivals.iter();
        let of_it = all.flat_map(move |rivals| rivals.range((activity, 0)..=(activity, u32::MAX)));
        of_it.map(|(&(_, number), rival)| (number, rival))
    }

    /// The number of all such attempts of the process.
    pub(crate) fn n_rivals(&self) -> usize {
        self.state.rivals.as_ref().map_or(0, |rivals| rivals.len())
    }

    /// All of them that have lost a race and are to be stopped.
    pub(crate) fn losers(&self) -> impl Iterator<Item = AttemptId> {
        let all = self.state.rivals.iter().flatten();
        let all = all.map(|(&(activity, number), _)| self.attempt((activity, number)));
        all.filter(|attempt| self.has_lost(*attempt))
    }

    /// Returns true if an attempt is out and the result of another one stands.
    pub(crate) fn has_lost(&self, attempt: AttemptId) -> bool {
        self.is_rival(attempt) && !self.activity(attempt.activity).is_out()
    }

    /// Returns true if the activity has a result to wait for and another attempt at it is out too.
    pub(crate) fn is_racing(&self, attempt: AttemptId) -> bool {
        let state = self.state.activities.get(attempt.activity.node().index());
        state.is_some_and(|state| {
            let may_count = state.number == attempt.number || self.is_rival(attempt);
            state.is_out() && may_count && self.rivals(attempt.activity).next().is_some()
        })
    }

    /// Returns true if an attempt is out beside the one that the state of its activity names.
    pub(crate) fn is_rival(&self, attempt: AttemptId) -> bool {
        let key = (attempt.activity, attempt.number);
        let rivals = self.state.rivals.as_ref();
        rivals.is_some_and(|rivals| rivals.contains_key(&key))
    }

    /// Rivals that take slots of a machine which others of the process wait for: more is out there than the process
    /// holds slots. They go, since they are not needed.
    pub(crate) fn rivals_in_the_way(&self) -> impl Iterator<Item = AttemptId> {
        let all = self.state.rivals.iter().flatten();
        let crowded = all.filter(|(_, rival)| {
            let cores = self.all_cores(self.out_at(rival.resource));
            cores > self.granted(rival.resource)
        });
        crowded.map(|(&key, _)| self.attempt(key))
    }

    /// An attempt was sent beside another one.
    pub(super) fn race(
        &mut self,
        (activity, number, resource): (ActivityId, u32, ResourceId),
        cache_key: Option<CacheKey>,
    ) {
        let rival = Rival {
            resource,
            cache_key,
        };
        self.add_rival((activity, number), rival);
        self.index.send((activity, number), resource);
    }

    /// An attempt has ended with a result, beside which others may be out. Those have lost from here on.
    pub(super) fn win(&mut self, attempt: AttemptId) {
        let key = (attempt.activity, attempt.number);
        let Some(winner) = self.take_rival(key) else {
            return;
        };
        let state = self.activity(attempt.activity);
        let before = (attempt.activity, state.number);
        let loser = Rival {
            resource: state.resource,
            cache_key: None,
        };
        self.add_rival(before, loser);
        self.put_in_place(key, winner);
    }

    /// An attempt has ended whose end counts for nothing: it has lost, or another one goes on in its place.
    pub(super) fn drop_attempt(&mut self, ended: &Ended) {
        let Ended {
            outcome, verdict, ..
        } = ended;
        let (activity, number) = (outcome.attempt.activity, outcome.attempt.number);
        let has_lost = self.has_lost(outcome.attempt);
        let Some(resource) = self.index.end((activity, number)) else {
            return;
        };
        let end = match (verdict, outcome.end) {
            (Verdict::Dropped(Some(fault)), _) => fault.name.to_string(),
            (_, End::Completed) => "too late".to_owned(),
            (_, End::Failed | End::Stopped) => "stopped".to_owned(),
            (_, End::Lost) => "lost".to_owned(),
            (_, End::Lacking) => "lacking".to_owned(),
        };
        let past = self.past_attempt(outcome, end, resource);
        self.keep_past(activity, past);
        if self.take_rival((activity, number)).is_none() {
            let next = self.rivals(activity).next().map(|(number, _)| number);
            let next = next.and_then(|number| Some((number, self.take_rival((activity, number))?)));
            if let Some((number, rival)) = next {
                self.put_in_place((activity, number), rival);
            }
        }
        if has_lost {
            // It read its inputs until then.
            self.note_reads(activity);
            self.activity_mut(activity).pack();
            return;
        }
        let state = self.activity_mut(activity);
        state.n_failed += u16::from(outcome.end == End::Failed);
        state.n_lost += u16::from(outcome.end == End::Lost && outcome.started != Wall(0));
    }

    /// The state of an activity names this attempt from here on.
    fn put_in_place(&mut self, (activity, number): (ActivityId, u32), rival: Rival) {
        let state = self.activity_mut(activity);
        state.begin_attempt(number, rival.resource);
        if rival.cache_key.is_some() {
            state.details_mut().cache_key = rival.cache_key;
        }
    }

    fn add_rival(&mut self, key: (ActivityId, u32), rival: Rival) {
        let rivals = self.state.rivals.get_or_insert_default();
        rivals.insert(key, rival);
    }

    fn take_rival(&mut self, key: (ActivityId, u32)) -> Option<Rival> {
        let rivals = self.state.rivals.as_mut()?;
        let rival = rivals.remove(&key);
        if rivals.is_empty() {
            self.state.rivals = None;
        }
        rival
    }

    /// An attempt that has ended, as its activity remembers it.
    pub(super) fn past_attempt(
        &self,
        outcome: &Outcome,
        end: String,
        resource: ResourceId,
    ) -> PastAttempt {
        let declared = self
            .definition
            .activity_as_written(outcome.attempt.activity);
        PastAttempt {
            number: outcome.attempt.number,
            resource,
            end,
            pid: outcome.pid,
            started: outcome.started,
            wall: outcome.wall,
            cpu: outcome.cpu,
            peak_memory: outcome.peak_memory,
            exit_code: outcome.exit_code,
            log: outcome.log,
            slots: declared.map_or(0, |declared| declared.cores),
        }
    }

    /// Takes in the attempts that are out beside others, after a snapshot was read.
    pub(super) fn rebuild_races(&mut self) {
        for (&key, rival) in self.state.rivals.iter().flatten() {
            self.index.send(key, rival.resource);
        }
    }
}
