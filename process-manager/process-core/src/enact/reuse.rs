//! Reuse: the test that an activity may take over a recorded outcome.

use model::{ActivityId, AttemptId, Value};

use crate::enact::evaluate::{Evaluator, admit, has_room};
use crate::enact::message::resolve;
use crate::enact::outside::names_outside;
use crate::process::Process;
use crate::record::{ActivityPhase, CacheKey, Reused};

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

/// The outcome of `source` for reuse by `activity`, if it ended well, has the same cache key and is
/// kept in full.
pub(crate) fn stands(
    from: &Process,
    source: ActivityId,
    into: &Process,
    activity: ActivityId,
    cache_key: CacheKey,
) -> Option<Reused> {
    let state = from.activity(source);
    let is_same = from.details(source).cache_key?.key == cache_key.key;
    if state.phase != ActivityPhase::Completed || !is_same {
        return None;
    }
    let declared = into.definition().activity_as_written(activity)?;
    let outputs: Option<Vec<_>> = (0..declared.outputs.len() as u32)
        .map(|output| from.output_of(source, output))
        .collect();
    let writes = writes(from, source, into, activity)?;
    let details = from.details(source);
    let recalled = details.reused;
    let of = AttemptId {
        process: from.id(),
        activity: source,
        number: state.number,
    };
    let cores = from.definition().activity_as_written(source)?.cores;
    let machines = &from.state.machines;
    let named = |resource| machines.iter().find(|(one, _)| *one == resource);
    let machine = named(state.resource);
    let (holder, copy) = from.kept_by(source);
    Some(Reused {
        activity,
        cache_key,
        of: recalled.map_or(of, |recalled| recalled.of),
        resource: state.resource,
        machine: machine.map_or(String::new(), |(_, name)| name.clone()),
        started: details.started,
        wall: details.wall,
        cpu: details.cpu,
        peak_memory: details.peak_memory,
        exit_code: details.exit_code,
        pid: details.pid,
        slots: recalled.map_or(cores, |recalled| recalled.slots),
        log: details.log,
        outputs: outputs?,
        writes,
        copy: copy.and_then(named).cloned(),
        holder: holder.and_then(named).cloned(),
        flow: into.transition().finish(activity.node()),
    })
}

/// The variables that the recorded streams are written to; none if the streams are not kept, or a
/// variable cannot take them.
fn writes(
    from: &Process,
    source: ActivityId,
    into: &Process,
    activity: ActivityId,
) -> Option<Vec<(u32, Value)>> {
    let details = from.details(source);
    admitted(
        into,
        activity,
        details.captured.as_deref().unwrap_or_default(),
    )
}

/// The variables that these values of an activity's streams are written to; none if the streams are not kept,
/// or a variable cannot take them.
pub(crate) fn admitted(
    into: &Process,
    activity: ActivityId,
    kept: &[Value],
) -> Option<Vec<(u32, Value)>> {
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
