//! Recorded outcomes that stand for activities: those of the process that is mended, and for
//! activities that ask for it those of any process of this manager.
//!
//! What stands is recorded with all that is to be known of it, so that nothing depends on the process
//! that it came from. The indexes here are volatile: what they miss is only run again.

use std::collections::{BTreeMap, VecDeque};

use machine::{Context, States};
use model::{ActivityId, AttemptId, Hash, Now, ProcessId, ResourceId, Value};

use crate::checks::Finding;
use crate::dispatch::resolve;
use crate::evaluate::{Evaluator, admit, has_room};
use crate::io::Stream;
use crate::manager::{ProcessManager, State, limits, process};
use crate::process::Process;
use crate::record::CacheKey;
use crate::record::{ActivityPhase, Event, Phase, Reused};
use crate::turns::{ATTEMPT_STEPS, Slice};

/// What came of looking for a recorded outcome.
pub(crate) enum Looked {
    /// This one stands.
    Found(Box<Reused>),
    /// There is none for the next activity.
    Missed,
    /// There is no activity to look for.
    Nothing,
}

/// The activities of a process that have completed, by what other processes look for.
#[derive(Debug, Default)]
pub(crate) struct BaseIndex {
    by_name: BTreeMap<String, ActivityId>,
    by_key: BTreeMap<Hash, ActivityId>,
}

/// Outcomes of all processes, by what decided them.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    by_key: BTreeMap<RecordedKey, (ProcessId, ActivityId)>,
    /// The keys in the order in which they came.
    order: VecDeque<RecordedKey>,
    /// The numbers of owners in the keys.
    owners: BTreeMap<Option<String>, u32>,
}

/// Whose outcome, by number, and what decided it: nobody is told what others have run.
type RecordedKey = (u32, Hash);

impl ProcessManager {
    /// Looks whether a recorded outcome stands for the next activity that has become ready.
    pub(crate) fn recall(
        &mut self,
        cx: &Context<'_, Self>,
        id: ProcessId,
        slice: &mut Slice,
    ) -> Looked {
        let (Some(known), Some(live)) = (process(cx, id), self.live.get_mut(&id)) else {
            return Looked::Nothing;
        };
        if known.phase() != Phase::Running {
            return Looked::Nothing;
        }
        let Some(&activity) = known.index.fresh.0.get(live.n_looked) else {
            return Looked::Nothing;
        };
        live.n_looked += 1;
        self.look_for(cx, id, activity, slice)
    }

    fn look_for(
        &mut self,
        cx: &Context<'_, Self>,
        id: ProcessId,
        activity: ActivityId,
        slice: &mut Slice,
    ) -> Looked {
        let (Some(known), Some(live)) = (process(cx, id), self.live.get(&id)) else {
            return Looked::Nothing;
        };
        let state = known.activity(activity);
        if state.phase != ActivityPhase::Ready || state.number > 0 {
            return Looked::Missed;
        }
        let mut evaluator = Evaluator::new(&mut self.programs);
        let cache_key = memo_of(known, activity, &mut evaluator);
        slice.take(ATTEMPT_STEPS + evaluator.meter.steps());
        let Some(cache_key) = cache_key else {
            return Looked::Missed;
        };
        let base = &live.base;
        let name = &known.definition().node(activity.node()).name;
        let based = known.base.and_then(|base| process(cx, base));
        let of_base = [base.by_name.get(name), base.by_key.get(&cache_key.key)]
            .into_iter()
            .flatten()
            .find_map(|&source| stands(based?, source, known, activity, cache_key));
        let found = of_base.or_else(|| {
            let asks = known.definition().activity(activity)?.cache;
            let (id, source) = self.recorded.get(known, cache_key.key).filter(|_| asks)?;
            stands(process(cx, id)?, source, known, activity, cache_key)
        });
        let Some(reused) = found else {
            return Looked::Missed;
        };
        let holders = [&reused.holder, &reused.copy].into_iter().flatten();
        let mut holders: Vec<ResourceId> = holders.map(|(holder, _)| *holder).collect();
        if reused.holder.is_none() {
            holders.insert(0, reused.resource);
        }
        match self.finding(id, activity, &reused.outputs, &holders) {
            Finding::Sound => Looked::Found(Box::new(reused)),
            // One that a machine is asked about is looked for again when that has answered.
            Finding::Lost | Finding::Asked => Looked::Missed,
        }
    }

    /// A machine has said whether the files are sound of the outcome that was found for an activity.
    pub(crate) fn look_again(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        id: ProcessId,
        activity: ActivityId,
    ) {
        let mut slice = self.slice(now, id);
        if let Looked::Found(reused) = self.look_for(cx, id, activity, &mut slice) {
            cx.record(Stream::Process(id), Event::Reused(reused));
            self.remember(cx, id, activity);
            self.miss_lost(cx, now, id, activity);
        }
        self.end_slice(now, id, &slice);
    }

    /// Whether a process is not to be planned yet: what outcomes stand for needs no machine.
    pub(crate) fn awaits_recall(&self, cx: &Context<'_, Self>, id: ProcessId) -> bool {
        let is_planned = process(cx, id).is_none_or(|known| known.course.plan.generation.0 > 0);
        let live = self.live.get(&id);
        !is_planned && live.is_some_and(|live| live.checks.has_recalled())
    }

    /// An activity has completed: others may look for its outcome.
    pub(crate) fn remember(&mut self, cx: &Context<'_, Self>, id: ProcessId, activity: ActivityId) {
        if let Some(known) = process(cx, id)
            && let Some(cache_key) = known.course.cache_keys.get(&activity)
        {
            self.recorded.insert(cache_key.key, known, activity);
        }
    }
}

/// What decides the outcome of an activity that could be sent at this moment; none where one of its
/// expressions faults or an input is missing.
pub(crate) fn memo_of(
    process: &Process,
    activity: ActivityId,
    evaluator: &mut Evaluator<'_>,
) -> Option<CacheKey> {
    let attempt = AttemptId {
        process: process.id(),
        activity,
        number: 1,
    };
    let dispatch = resolve(process, attempt, evaluator).ok()?;
    Some(CacheKey::of(
        process.definition().activity(activity)?,
        &dispatch,
    ))
}

/// The outcome of `source` as it stands for `activity`, where it has ended well, was decided by the
/// same and all of it is kept.
fn stands(
    from: &Process,
    source: ActivityId,
    into: &Process,
    activity: ActivityId,
    cache_key: CacheKey,
) -> Option<Reused> {
    let state = from.activity(source);
    let is_same = from.course.cache_keys.get(&source)?.key == cache_key.key;
    if state.phase != ActivityPhase::Completed || !is_same {
        return None;
    }
    let declared = into.definition().activity(activity)?;
    let outputs: Option<Vec<_>> = (0..declared.outputs.len() as u32)
        .map(|output| from.course.produced.get(&(source, output)).copied())
        .collect();
    let writes = writes(from, source, into, activity)?;
    let recalled = from.course.reused.get(&source);
    let of = AttemptId {
        process: from.id(),
        activity: source,
        number: state.number,
    };
    let cores = from.definition().activity(source)?.cores;
    let machines = &from.course.machines;
    let named = |resource| machines.iter().find(|(one, _)| *one == resource);
    let machine = named(state.resource);
    let (holder, copy) = from.kept_by(source);
    Some(Reused {
        activity,
        cache_key,
        of: recalled.map_or(of, |recalled| recalled.of),
        resource: state.resource,
        machine: machine.map_or(String::new(), |(_, name)| name.clone()),
        started: state.started,
        wall: state.wall,
        cpu: state.cpu,
        peak_memory: state.peak_memory,
        exit_code: state.has_exit_code.then_some(state.exit_code),
        pid: state.pid,
        slots: recalled.map_or(cores, |recalled| recalled.slots),
        log: from.course.logs.get(&source).copied(),
        outputs: outputs?,
        writes,
        copy: copy.and_then(named).cloned(),
        holder: holder.and_then(named).cloned(),
        flow: into.turn(|turn| turn.finish(activity.node())),
    })
}

/// The variables that the recorded streams are written to; none where they are not kept, or a
/// variable cannot take them.
fn writes(
    from: &Process,
    source: ActivityId,
    into: &Process,
    activity: ActivityId,
) -> Option<Vec<(u32, Value)>> {
    let declared = into.definition().activity(activity)?;
    let variables: Vec<u32> = [declared.stdout, declared.stderr]
        .into_iter()
        .flatten()
        .map(|capture| capture.variable)
        .collect();
    let kept = from
        .course
        .captured
        .get(&source)
        .map_or(&[][..], Vec::as_slice);
    if kept.len() != variables.len() {
        return None;
    }
    let pairs = variables.into_iter().zip(kept);
    let writes: Option<Vec<(u32, Value)>> = pairs
        .map(|(variable, value)| Some((variable, admit(into, variable, value.clone()).ok()?)))
        .collect();
    writes.filter(|writes| has_room(into, writes).is_ok())
}

/// Whether an activity has completed and what it wrote to variables was too long to be kept.
pub(crate) fn captured_is_missing(process: &Process, activity: ActivityId) -> bool {
    let reads = process
        .definition()
        .activity(activity)
        .is_some_and(|declared| declared.stdout.is_some() || declared.stderr.is_some());
    reads && !process.course.captured.contains_key(&activity)
}

impl BaseIndex {
    /// The index of a process; empty where there is none.
    pub(crate) fn of(states: &States<ProcessManager>, base: ProcessId) -> BaseIndex {
        let mut index = BaseIndex::default();
        let Some(State::Process(base)) = states.get(Stream::Process(base)) else {
            return index;
        };
        for (&activity, cache_key) in &base.course.cache_keys {
            if base.activity(activity).phase == ActivityPhase::Completed {
                let name = &base.definition().node(activity.node()).name;
                index.by_name.insert(name.clone(), activity);
                index.by_key.entry(cache_key.key).or_insert(activity);
            }
        }
        index
    }
}

impl Recorded {
    /// Of all processes, those submitted first first.
    pub(crate) fn of(states: &States<ProcessManager>) -> Recorded {
        let mut processes: Vec<&Process> = states
            .iter()
            .filter_map(|(_, state)| match state {
                State::Process(process) => Some(process.as_ref()),
                State::Held(_) | State::Empty | State::Manager { .. } => None,
            })
            .collect();
        processes.sort_by_key(|process| (process.submitted, process.id()));
        let mut recorded = Recorded::default();
        for process in processes {
            for (&activity, cache_key) in &process.course.cache_keys {
                if process.activity(activity).phase == ActivityPhase::Completed {
                    recorded.insert(cache_key.key, process, activity);
                }
            }
        }
        recorded
    }

    /// What was recorded of the same owner's processes.
    fn get(&self, of: &Process, key: Hash) -> Option<(ProcessId, ActivityId)> {
        let owner = *self.owners.get(&of.owner)?;
        self.by_key.get(&(owner, key)).copied()
    }

    fn insert(&mut self, key: Hash, process: &Process, activity: ActivityId) {
        let n_owners = u32::try_from(self.owners.len()).expect("each has a process in memory");
        let owner = match self.owners.get(&process.owner) {
            Some(&owner) => owner,
            None => *self.owners.entry(process.owner.clone()).or_insert(n_owners),
        };
        let key = (owner, key);
        if self.by_key.insert(key, (process.id(), activity)).is_none() {
            self.order.push_back(key);
        }
        if self.by_key.len() > limits::RECORDED_MAX
            && let Some(first) = self.order.pop_front()
        {
            self.by_key.remove(&first);
        }
    }

    /// Nothing of a process is found any more.
    pub(crate) fn forget(&mut self, process: ProcessId) {
        let by_key = &mut self.by_key;
        by_key.retain(|_, (of, _)| *of != process);
        self.order.retain(|key| by_key.contains_key(key));
    }
}
