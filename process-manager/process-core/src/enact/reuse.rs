//! Reuse: the test that an activity may take over a recorded outcome.

use expression::Programs;
use model::{ActivityId, Artifact, AttemptId, Caching, Value};
use wire::client::EachRun;

use crate::enact::evaluate::{Evaluator, admit, has_room};
use crate::enact::message::resolve;
use crate::enact::outside::{named_outside, names_outside};
use crate::process::Process;
use crate::record::{ActivityPhase, CacheKey, Reused};
use crate::shared_outcome::SharedOutcome;

/// The deciding facts of an activity that could be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decided {
    /// Its cache key.
    pub(crate) cache_key: CacheKey,
    /// True if it names no file outside of its directory, whose content the key does not tell.
    pub(crate) is_confined: bool,
}

/// The cache key of an activity that could be sent now; none if one of its expressions faults or an
/// input is missing.
pub(crate) fn memo_of(
    process: &Process,
    activity: ActivityId,
    evaluator: &mut Evaluator<'_>,
) -> Option<CacheKey> {
    decided(process, activity, evaluator).map(|decided| decided.cache_key)
}

/// The deciding facts of an activity that could be sent now; none as [`memo_of`].
pub(crate) fn decided(
    process: &Process,
    activity: ActivityId,
    evaluator: &mut Evaluator<'_>,
) -> Option<Decided> {
    let attempt = AttemptId {
        process: process.id(),
        activity,
        number: 1,
    };
    let dispatch = resolve(process, attempt, evaluator).ok()?;
    let declared = process.definition().activity_as_written(activity)?;
    Some(Decided {
        cache_key: CacheKey::of(declared, &dispatch),
        is_confined: !names_outside(&dispatch),
    })
}

/// Why no outcome of an earlier run of the same definition stands for an activity, as far as that follows from
/// the activity itself; none if one may.
pub(crate) fn runs_each_time(process: &Process, activity: ActivityId) -> Option<EachRun> {
    let declared = process.definition().activity_as_written(activity)?;
    match declared.cache {
        Caching::Always => return None,
        Caching::Never => return Some(EachRun::Said),
        Caching::Unsaid if declared.at_most_once => return Some(EachRun::AtMostOnce),
        Caching::Unsaid if !declared.may_be_recalled() => return Some(EachRun::MakesNothing),
        Caching::Unsaid => {}
    }
    let attempt = AttemptId {
        process: process.id(),
        activity,
        number: 1,
    };
    let mut programs = Programs::default();
    let dispatch = resolve(process, attempt, &mut Evaluator::new(&mut programs)).ok()?;
    named_outside(&dispatch).map(EachRun::NamesOutside)
}

/// The outcome of `source` for reuse by `activity`, if it ended well, has the same cache key and is
/// kept in full.
pub(crate) fn stands(
    from: &Process,
    source: ActivityId,
    into: &Process,
    activity: ActivityId,
    cache_key: CacheKey,
) -> Option<Reused> {
    if from.details(source).cache_key?.key != cache_key.key {
        return None;
    }
    let outcome = SharedOutcome::recorded(from, source)?;
    let machines = &from.state.machines;
    let named = |resource| machines.iter().find(|(one, _)| *one == resource).cloned();
    let (holder, copy) = from.kept_by(source);
    Some(Reused {
        resource: from.activity(source).resource,
        copy: copy.and_then(named),
        holder: holder.and_then(named),
        ..outcome.stands(into, activity, cache_key)?
    })
}

impl SharedOutcome {
    /// The outcome of an activity; none if it has not completed or is not kept in full.
    pub(crate) fn recorded(process: &Process, activity: ActivityId) -> Option<SharedOutcome> {
        let declared = process.definition().activity_as_written(activity)?;
        let state = process.activity(activity);
        if state.phase != ActivityPhase::Completed {
            return None;
        }
        let details = process.details(activity);
        let captures = declared.stdout.is_some() || declared.stderr.is_some();
        let captured = match captures {
            true => details.captured.clone()?,
            false => Vec::new(),
        };
        let outputs: Option<Vec<Artifact>> = (0..declared.outputs.len() as u32)
            .map(|output| process.output_of(activity, output))
            .collect();
        let recalled = details.reused;
        let own = AttemptId {
            process: process.id(),
            activity,
            number: state.number,
        };
        let mut machines = process.state.machines.iter();
        let machine = machines.find(|(one, _)| *one == state.resource);
        Some(SharedOutcome {
            key: details.cache_key?.key,
            of: recalled.map_or(own, |recalled| recalled.of),
            holder: process.id(),
            machine: machine.map_or(String::new(), |(_, name)| name.clone()),
            started: details.started,
            wall: details.wall,
            cpu: details.cpu,
            peak_memory: details.peak_memory,
            exit_code: details.exit_code,
            pid: details.pid,
            slots: recalled.map_or(declared.cores, |recalled| recalled.slots),
            log: details.log,
            outputs: outputs?,
            captured,
            is_for_all: declared.cache == Caching::Always,
            programs: Vec::new(),
        })
    }

    /// This outcome for an activity; none if its cache key is another one or a variable cannot take what was captured.
    pub(crate) fn stands(
        &self,
        into: &Process,
        activity: ActivityId,
        cache_key: CacheKey,
    ) -> Option<Reused> {
        if self.key != cache_key.key {
            return None;
        }
        Some(Reused {
            activity,
            cache_key,
            of: self.of,
            // The machines of one state directory share a store, and every machine has what the store has.
            resource: into
                .state
                .machines
                .first()
                .map_or_else(Default::default, |(one, _)| *one),
            machine: self.machine.clone(),
            started: self.started,
            wall: self.wall,
            cpu: self.cpu,
            peak_memory: self.peak_memory,
            exit_code: self.exit_code,
            pid: self.pid,
            slots: self.slots,
            log: self.log,
            outputs: self.outputs.clone(),
            writes: admitted(into, activity, &self.captured)?,
            copy: None,
            holder: None,
            flow: into.transition().finish(activity.node()),
        })
    }
}

/// The variables that these values of an activity's streams are written to; none if the streams are not kept,
/// or a variable cannot take them.
fn admitted(into: &Process, activity: ActivityId, kept: &[Value]) -> Option<Vec<(u32, Value)>> {
    let declared = into.definition().activity_as_written(activity)?;
    let variables: Vec<u32> = [declared.stdout, declared.stderr]
        .into_iter()
        .flatten()
        .map(|capture| capture.variable)
        .collect();
    if kept.len() != variables.len() {
        return None;
    }
    let pairs = variables.into_iter().zip(kept);
    let writes: Option<Vec<(u32, Value)>> = pairs
        .map(|(variable, value)| Some((variable, admit(into, variable, value.clone()).ok()?)))
        .collect();
    writes.filter(|writes| has_room(into, writes, activity.node()).is_ok())
}

/// Returns true if an activity writes its streams to variables, and these values were too long to
/// be kept.
pub(crate) fn captured_is_missing(process: &Process, activity: ActivityId) -> bool {
    let reads = process
        .definition()
        .activity_as_written(activity)
        .is_some_and(|declared| declared.stdout.is_some() || declared.stderr.is_some());
    reads && process.details(activity).captured.is_none()
}
