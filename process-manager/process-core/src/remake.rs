//! Files that are gone are made again. Where the only machine that had an output has gone, or does
//! not have it any more, the activity that produced it runs once more, and then whoever lacked it.
//!
//! ```text
//!   producer  completed ------------------- wanted --> out --> made    (its outcome stays as recorded)
//!   consumer  sent --> lacking: ready, held back ................> sent
//! ```
//! The recorded outcome of the producer stands: exit status, variables and what it wrote are those
//! of its first run. Only its files are replaced, for whoever has not started. A consumer that was
//! sent before that and lacks the old ones is only sent again.

use std::collections::BTreeSet;

use expression::Programs;
use machine::Context;
use minicbor::{Decode, Encode};
use model::{
    ActivityId, Artifact, AttemptId, Fault, FaultName, NodeId, Now, ProcessId, ResourceId, Source,
};
use wire::attempt::{End, Outcome};
use wire::group::Offered;

use crate::dispatch::resolve;
use crate::evaluate::{Evaluator, fault_event};
use crate::io::Stream;
use crate::manager::{ProcessManager, Timer, limits, process};
use crate::process::Process;
use crate::record::CacheKey;
use crate::record::{self, ActivityPhase, Ended, Event, Flow, PastAttempt, Phase, Verdict};

/// How often one activity is made again, however its files were lost: they may be too large for
/// every machine.
const REMAKES_MAX: u16 = 10;

/// An activity that has completed and whose files are made again.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub(crate) struct Remake {
    #[n(0)]
    pub(crate) state: RemakeState,
    /// The last attempt at it.
    #[n(1)]
    pub(crate) number: u32,
    /// Where it runs or has run; while it is wanted, who lacks it.
    #[n(2)]
    pub(crate) resource: ResourceId,
    /// How often it was wanted.
    #[n(3)]
    n_wanted: u16,
    /// Attempts at it that failed by themselves.
    #[n(4)]
    n_failed: u16,
    /// Activities that were sent with the files as they were before, and have not ended.
    #[n(5)]
    before: BTreeSet<ActivityId>,
    /// What a user sees of the last attempt that has ended.
    #[n(6)]
    last: Option<Box<PastAttempt>>,
}

/// How far a remake is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub(crate) enum RemakeState {
    /// It is to be sent.
    #[n(0)]
    Wanted,
    /// It was sent, and its end is not recorded.
    #[n(1)]
    Out,
    /// The files are there again.
    #[n(2)]
    Made,
    /// They will not be.
    #[n(3)]
    Failed,
}

impl RemakeState {
    fn is_pending(self) -> bool {
        match self {
            RemakeState::Wanted | RemakeState::Out => true,
            RemakeState::Made | RemakeState::Failed => false,
        }
    }
}

impl ProcessManager {
    /// Sends what is to be made again to whoever lacks it, or to another machine that fits.
    pub(crate) fn send_remakes(&mut self, cx: &mut Context<'_, Self>, now: Now, id: ProcessId) {
        let Some(known) = process(cx, id) else { return };
        if known.course.remakes.is_empty() {
            return;
        }
        let wanted = known.course.remakes.iter().filter(|(activity, remake)| {
            remake.state == RemakeState::Wanted && !known.awaits_remake(**activity)
        });
        let wanted: Vec<(ActivityId, u32, ResourceId)> = wanted
            .map(|(&activity, remake)| (activity, known.next_number(activity), remake.resource))
            .collect();
        for (activity, number, lacked_by) in wanted {
            let Some(known) = process(cx, id) else { return };
            let Some(resource) = self.place_for_remake(known, activity, lacked_by) else {
                self.arm_once(Timer::Recall(id), now.mono + limits::REPEAT);
                continue;
            };
            let Some(epoch) = self.machines.get(&resource).and_then(|link| link.epoch) else {
                continue;
            };
            let attempt = AttemptId {
                process: id,
                activity,
                number,
            };
            match remade(known, attempt) {
                Ok(mut message) => {
                    if !self.name_sources(now, known, resource, &mut message) {
                        self.arm_once(Timer::Recall(id), now.mono + limits::REPEAT);
                        continue;
                    }
                    let sent = Event::Remaking(vec![(activity, number, resource)]);
                    cx.record(Stream::Process(id), sent);
                    if let Some(live) = self.live.get_mut(&id) {
                        live.unheard.entry(resource).or_default().insert(attempt);
                    }
                    self.send_in_parts(cx, resource, epoch, vec![message]);
                    self.arm_once(Timer::Unheard(id, resource), now.mono + limits::REPEAT);
                }
                Err(fault) => {
                    let at = Some(crate::record::Spot::Node(activity.node()));
                    let event = fault_event(known, at, fault);
                    cx.record(Stream::Process(id), event);
                    return self.settle(cx, now, id);
                }
            }
        }
    }

    /// A machine of those that the process holds, on which an activity may run.
    fn place_for_remake(
        &self,
        known: &Process,
        activity: ActivityId,
        first: ResourceId,
    ) -> Option<ResourceId> {
        let declared = known.definition().activity(activity)?;
        let fits = |offered: &Offered| {
            let has = |(name, value): &(String, String)| offered.labels.get(name) == Some(value);
            declared.cores <= known.granted(offered.resource)
                && declared
                    .memory
                    .is_none_or(|memory| memory <= offered.memory)
                && declared.labels.iter().all(has)
                && self.is_trusted(offered.resource)
                && self
                    .machines
                    .get(&offered.resource)
                    .is_some_and(|link| link.epoch.is_some())
        };
        let offers = self.groups.values().filter_map(|link| link.offer.as_ref());
        let fitting = offers
            .flat_map(|offer| &offer.resources)
            .filter(|one| fits(one));
        let mut fitting: Vec<ResourceId> = fitting.map(|one| one.resource).collect();
        // Where it is lacked, it need not be brought.
        fitting.sort_by_key(|&resource| (resource != first, resource));
        fitting.first().copied()
    }
}

/// The attempt as it is sent once more. What it is run with must be what it was run with.
fn remade(process: &Process, attempt: AttemptId) -> Result<wire::attempt::Dispatch, Box<Fault>> {
    let activity = attempt.activity;
    let mut programs = Programs::default();
    let message = resolve(process, attempt, &mut Evaluator::new(&mut programs))?;
    let (Some(declared), Some(before)) = (
        process.definition().activity(activity),
        process.course.cache_keys.get(&activity),
    ) else {
        return Ok(message);
    };
    let after = CacheKey::of(declared, &message);
    if (after.command, after.environment) == (before.command, before.environment) {
        return Ok(message);
    }
    let name = &process.definition().node(activity.node()).name;
    let what = format!(
        "the files of `{name}` are gone, and it cannot make them again, because variables that it \
         was run with have changed"
    );
    Err(Box::new(Fault::new(FaultName::Lost, what).of(activity)))
}

/// What follows where an attempt could not begin for want of inputs.
pub(crate) fn lacking(process: &Process, outcome: &Outcome, inputs: &[u32]) -> Verdict {
    let consumer = outcome.attempt.activity;
    let definition = process.definition();
    let laid = definition
        .activity(consumer)
        .and_then(|activity| crate::dispatch::laid(process, consumer, activity).ok())
        .unwrap_or_default();
    let mut makers = BTreeSet::new();
    for &input in inputs {
        let Some(one) = laid.get(input as usize) else {
            continue;
        };
        let Some(Source::Output { activity, .. }) = one.source else {
            let name = &definition.node(consumer.node()).name;
            let what = match one.source {
                Some(Source::Input(input)) => {
                    let input = &definition.draft().inputs[input as usize].name;
                    format!("the input `{input}` of the process")
                }
                Some(Source::Output { .. }) | None => {
                    format!("the file `{}` that was given with the process", one.path)
                }
            };
            let what = format!(
                "{name}: {what} is damaged or gone on every machine that had it, and nothing can \
                 make it again: submit the process again with it"
            );
            let fault = Fault::new(FaultName::Staging, what).of(consumer);
            return Verdict::Faulted(Box::new(fault));
        };
        let maker = ActivityId(activity.0);
        if definition
            .activity(maker)
            .is_some_and(|activity| activity.at_most_once)
        {
            return Verdict::Faulted(Box::new(gone(process, activity, "it must not run twice")));
        }
        let remake = process.course.remakes.get(&maker);
        // Files that have been made again since it was sent are what it lacks no more.
        if remake
            .is_some_and(|remake| remake.state.is_pending() || remake.before.contains(&consumer))
        {
            continue;
        }
        if remake.is_some_and(|remake| remake.n_wanted >= REMAKES_MAX) {
            return Verdict::Faulted(Box::new(gone(process, activity, "was lost too often")));
        }
        makers.insert(maker);
    }
    Verdict::Lacking(makers.into_iter().collect())
}

/// The fault of a process that cannot go on without files that are gone.
pub(crate) fn gone(process: &Process, maker: NodeId, why: &str) -> Fault {
    let name = &process.definition().node(maker).name;
    let what = format!("what `{name}` had produced is damaged or gone, and {why}");
    Fault::new(FaultName::Lost, what).of(ActivityId(maker.0))
}

/// What follows from the end of an attempt to make files again.
pub(crate) fn judge_remake(process: &Process, outcome: Outcome) -> Ended {
    let activity = outcome.attempt.activity;
    let n_failed = process
        .course
        .remakes
        .get(&activity)
        .map_or(0, |remake| u32::from(remake.n_failed) + 1);
    let tries = process
        .definition()
        .activity(activity)
        .map_or(1, |declared| declared.retry.attempts);
    let verdict = match &outcome.end {
        End::Completed => Verdict::Completed,
        End::Failed(_) | End::Stopped | End::Lost | End::Lacking(_)
            if process.phase() != Phase::Running =>
        {
            Verdict::Stopped
        }
        End::Failed(_) if n_failed < tries => Verdict::Again,
        End::Failed(failure) => {
            let why = format!("making it again failed: {}", failure.message);
            let mut fault = gone(process, activity.node(), &why);
            fault.attempt = outcome.attempt.number;
            fault.exit_code = outcome.exit_code;
            fault.stderr_tail.clone_from(&failure.stderr_tail);
            Verdict::Faulted(Box::new(fault))
        }
        End::Stopped | End::Lost => Verdict::Again,
        End::Lacking(inputs) => lacking(process, &outcome, inputs),
    };
    let (verdict, flow) = match verdict {
        // Activities that wait for the files cannot run.
        Verdict::Faulted(fault) if process.goes_on() => {
            let waiting = process.waiting_for(activity).into_iter();
            let nodes = waiting.map(ActivityId::node);
            let flow = process.turn(|turn| turn.break_nodes(nodes));
            (Verdict::Broke(fault), flow)
        }
        verdict @ (Verdict::Completed
        | Verdict::Retry { .. }
        | Verdict::Again
        | Verdict::Moved
        | Verdict::Faulted(_)
        | Verdict::Broke(_)
        | Verdict::Stopped
        | Verdict::Lacking(_)) => (verdict, Flow::default()),
    };
    Ended {
        outcome: outcome.into(),
        verdict,
        writes: Vec::new(),
        flow,
    }
}

impl Process {
    /// Whether this attempt makes files again.
    pub(crate) fn is_remake(&self, attempt: AttemptId) -> bool {
        self.course
            .remakes
            .get(&attempt.activity)
            .is_some_and(|remake| {
                remake.state == RemakeState::Out && remake.number == attempt.number
            })
    }

    /// Whether an activity waits for files that are being made again.
    pub(crate) fn awaits_remake(&self, activity: ActivityId) -> bool {
        let remakes = &self.course.remakes;
        if remakes.is_empty() {
            return false;
        }
        let mut makers = self.makers(activity);
        makers.any(|maker| self.is_to_be_remade(maker))
    }

    /// The attempt of an activity that is out, with its machine.
    pub(crate) fn out_of(&self, activity: ActivityId) -> (ResourceId, AttemptId) {
        let state = self.activity(activity);
        let (number, resource) = match self.course.remakes.get(&activity) {
            Some(remake) if remake.state == RemakeState::Out => (remake.number, remake.resource),
            Some(_) | None => (state.number, state.resource),
        };
        let process = self.id();
        let attempt = AttemptId {
            process,
            activity,
            number,
        };
        (resource, attempt)
    }

    /// The machine that has what an activity has produced.
    pub(crate) fn holder_of(&self, activity: ActivityId) -> ResourceId {
        if let Some(&holder) = self.course.holders.get(&activity) {
            return holder;
        }
        match self.course.remakes.get(&activity) {
            Some(remake) if remake.state == RemakeState::Made => remake.resource,
            Some(_) | None => self.activity(activity).resource,
        }
    }

    /// Whether an activity that has completed is to run once more.
    pub(crate) fn is_to_be_remade(&self, activity: ActivityId) -> bool {
        let remake = self.course.remakes.get(&activity);
        remake.is_some_and(|remake| remake.state.is_pending())
    }

    /// What a user sees of the last attempt to make files again.
    pub(crate) fn last_remake(&self, activity: ActivityId) -> Option<&PastAttempt> {
        let remake = self.course.remakes.get(&activity)?;
        remake.last.as_deref()
    }

    fn next_number(&self, activity: ActivityId) -> u32 {
        let remake = self.course.remakes.get(&activity);
        let before = remake.map_or(0, |remake| remake.number);
        self.activity(activity).number.max(before) + 1
    }

    /// The activities whose outputs an activity is given.
    pub(crate) fn makers(&self, activity: ActivityId) -> impl Iterator<Item = ActivityId> {
        let declared = self.definition().activity(activity);
        let inputs = declared.map_or(&[][..], |declared| &declared.inputs);
        inputs.iter().filter_map(|input| match input.source {
            Source::Output { activity, .. } => Some(ActivityId(activity.0)),
            Source::Input(_) => None,
        })
    }

    /// These are to be made again for whoever lacks them on a machine.
    pub(crate) fn want_remakes(&mut self, makers: &[ActivityId], lacked_on: ResourceId) {
        for &maker in makers {
            let number = self.activity(maker).number;
            let remake = self.course.remakes.entry(maker).or_insert(Remake {
                state: RemakeState::Made,
                number,
                resource: lacked_on,
                n_wanted: 0,
                n_failed: 0,
                before: BTreeSet::new(),
                last: None,
            });
            if !remake.state.is_pending() {
                remake.state = RemakeState::Wanted;
                remake.resource = lacked_on;
                remake.n_wanted = remake.n_wanted.saturating_add(1);
            }
        }
    }

    pub(crate) fn send_remake(&mut self, activity: ActivityId, number: u32, resource: ResourceId) {
        if let Some(remake) = self.course.remakes.get_mut(&activity) {
            remake.state = RemakeState::Out;
            remake.number = number;
            remake.resource = resource;
            self.index.out.entry(resource).or_default().insert(activity);
        }
    }

    pub(crate) fn end_remake(&mut self, ended: &Ended) {
        let Ended {
            outcome, verdict, ..
        } = ended;
        let activity = outcome.attempt.activity;
        let (resource, _) = self.out_of(activity);
        self.leave(resource, activity);
        let told = self.past_remake(ended, resource);
        let Some(remake) = self.course.remakes.get_mut(&activity) else {
            return;
        };
        remake.last = Some(Box::new(told));
        match verdict {
            Verdict::Completed => {
                remake.state = RemakeState::Made;
                for (output, artifact) in (0..).zip(&outcome.outputs) {
                    self.course.produced.insert((activity, output), *artifact);
                }
                let out = self.index.out.values().flatten().copied();
                let takes = |other: &ActivityId| self.makers(*other).any(|maker| maker == activity);
                let before: BTreeSet<ActivityId> = out.filter(takes).collect();
                if let Some(remake) = self.course.remakes.get_mut(&activity) {
                    remake.before = before;
                }
                self.note_produced(activity);
            }
            Verdict::Again | Verdict::Moved | Verdict::Retry { .. } => {
                if outcome.end == record::End::Failed {
                    remake.n_failed = remake.n_failed.saturating_add(1);
                }
                remake.state = RemakeState::Wanted;
            }
            Verdict::Lacking(makers) => {
                remake.state = RemakeState::Wanted;
                self.want_remakes(makers, resource);
            }
            Verdict::Stopped => remake.state = RemakeState::Failed,
            Verdict::Faulted(fault) => {
                remake.state = RemakeState::Failed;
                self.stop(Phase::Faulting, Some(fault));
            }
            Verdict::Broke(fault) => {
                remake.state = RemakeState::Failed;
                self.keep_fault(fault);
            }
        }
        self.forget_before(activity);
        self.follow(&ended.flow);
    }

    /// An activity has ended: that it was sent before something was made again does not matter.
    pub(crate) fn forget_before(&mut self, activity: ActivityId) {
        for remake in self.course.remakes.values_mut() {
            remake.before.remove(&activity);
        }
    }

    /// Whoever waits for files that will not be made again.
    pub(crate) fn waiting_for(&self, maker: ActivityId) -> Vec<ActivityId> {
        let ready = self.index.ready.values().flatten();
        ready
            .map(|&(_, activity)| activity)
            .filter(|&activity| self.makers(activity).any(|one| one == maker))
            .filter(|&activity| self.activity(activity).phase == ActivityPhase::Ready)
            .collect()
    }

    fn past_remake(&self, ended: &Ended, resource: ResourceId) -> PastAttempt {
        let outcome = &ended.outcome;
        let activity = outcome.attempt.activity;
        let end = match (&ended.verdict, self.is_same(activity, &outcome.outputs)) {
            (Verdict::Completed, true) => "made again",
            (Verdict::Completed, false) => "made again, with other content",
            (Verdict::Lacking(_), _) => "lacking",
            (Verdict::Stopped, _) => "stopped",
            (
                Verdict::Again
                | Verdict::Moved
                | Verdict::Retry { .. }
                | Verdict::Faulted(_)
                | Verdict::Broke(_),
                _,
            ) => "not made again",
        };
        PastAttempt {
            number: outcome.attempt.number,
            resource,
            end: end.to_owned(),
            pid: outcome.pid,
            started: outcome.started,
            wall: outcome.wall,
            cpu: outcome.cpu,
            peak_memory: outcome.peak_memory,
            exit_code: outcome.exit_code,
            log: outcome.log,
            slots: self
                .definition
                .activity(activity)
                .map_or(0, |declared| declared.cores),
        }
    }

    fn is_same(&self, activity: ActivityId, outputs: &[Artifact]) -> bool {
        (0..).zip(outputs).all(|(output, artifact)| {
            self.course.produced.get(&(activity, output)) == Some(artifact)
        })
    }
}
