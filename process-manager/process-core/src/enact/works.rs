//! The works of a process's activities, as far as they are given, remembered or learned. Plans, the time left
//! and whatever else needs a work ask here, so all say the same; `xav plan` asks [`Estimates`] too.

use history::{Estimates, SizeClass, Store};
use model::{ActivityId, Bytes, Work};

use crate::enact::message::laid;
use crate::process::Process;
use crate::process::files::maker;
use crate::process::index::has_ended;

pub(crate) fn knows_work(process: &Process, history: &Store) -> bool {
    process.state.n_seen > 0 || gives_work(process, history)
}

/// Returns true if the work of any activity is given, or remembered of earlier runs.
pub(crate) fn gives_work(process: &Process, history: &Store) -> bool {
    history::knows_any(process.definition(), owner(process), history)
}

/// The work of an activity, where it is given or remembered, or others of its process have ended.
pub(crate) fn expected(process: &Process, history: &Store, activity: ActivityId) -> Option<Work> {
    estimated(process, history, activity).or_else(|| seen(process))
}

/// Returns true if the work of an activity is given or remembered, or others of its process have ended.
/// O(log store), whatever it reads.
pub(crate) fn is_known(process: &Process, history: &Store, activity: ActivityId) -> bool {
    let (definition, owner) = (process.definition(), owner(process));
    process.state.n_seen > 0
        || history::known_of(definition, owner, history, activity, || None).is_some()
}

/// The work of an activity, where it is given or remembered.
pub(crate) fn estimated(process: &Process, history: &Store, activity: ActivityId) -> Option<Work> {
    let size = || size_class(process, activity);
    history::known_of(
        process.definition(),
        owner(process),
        history,
        activity,
        size,
    )
}

/// The work of an activity where it is given or remembered, in reference seconds, and how many times as long
/// nine in ten attempts at it take at most. O(log store).
pub(crate) fn forecast(
    process: &Process,
    history: &Store,
    activity: ActivityId,
) -> (Option<f64>, Option<f64>) {
    let (work, spread) =
        history::forecast_of(process.definition(), owner(process), history, activity);
    (work.map(Work::reference_seconds), spread)
}

/// The name under which works of a process are remembered; empty for that of the manager's own
/// machine.
pub(crate) fn owner(process: &Process) -> &str {
    process.owner.as_deref().unwrap_or_default()
}

/// The size of what an activity reads; none while some of it is not there.
pub(crate) fn size_class(process: &Process, id: ActivityId) -> Option<SizeClass> {
    let activity = process.definition().activity(id)?;
    let mut makers = activity
        .inputs
        .iter()
        .map(|input| maker(Some(input.source)));
    if makers.any(|maker| maker.is_some_and(|one| !has_ended(process.activity(one).phase))) {
        return None;
    }
    let laid = laid(process, id, activity).ok()?;
    let bytes = sum(laid.iter().map(|one| one.artifact.bytes.0));
    Some(SizeClass::of(Bytes(bytes)))
}

/// The works of a process's activities, as far as they are known.
pub(crate) struct Works {
    estimates: Estimates,
}

impl Works {
    /// A work that is not given is as it was in earlier runs of the same user. One of which nothing is
    /// remembered counts as the mean of the run times seen in this process, or else of the works that are known.
    pub(crate) fn new(process: &Process, history: &Store) -> Works {
        let estimates =
            Estimates::new(process.definition(), owner(process), history, seen(process));
        Works { estimates }
    }

    /// The work of an activity.
    pub(crate) fn of(&self, process: &Process, activity: ActivityId) -> Work {
        let size = || size_class(process, activity);
        self.estimates.of(process.definition(), activity, size)
    }

    /// The longest time of nine in ten attempts at an activity, as a multiple of the expected one;
    /// none where nobody has seen any.
    pub(crate) fn spread(&self, process: &Process, activity: ActivityId) -> Option<f64> {
        self.estimates.spread(process.definition(), activity)
    }
}

/// The mean of the run times in this process.
fn seen(process: &Process) -> Option<Work> {
    let n_seen = u64::from(process.state.n_seen);
    process.state.seen_wall.0.checked_div(n_seen).map(Work)
}

/// Numbers from machines and users may add up to more than a `u64` holds.
pub(crate) fn sum(values: impl Iterator<Item = u64>) -> u64 {
    values.fold(0, u64::saturating_add)
}
