//! The works of activities, as far as they are given or learned.

use model::{ActivityId, Work};

use crate::process::Process;

/// The assumed work of an activity if nothing is known of any.
const WORK_UNKNOWN: Work = Work::from_secs(1);

pub(crate) fn knows_work(process: &Process) -> bool {
    process.state.n_seen > 0 || gives_work(process)
}

/// Returns true if the definition gives the work of any activity.
pub(crate) fn gives_work(process: &Process) -> bool {
    // Copies of a body have the works of the body.
    let written = process.definition.draft().nodes.iter();
    let mut activities = written.filter_map(|node| node.activity());
    activities.any(|activity| activity.work.is_some_and(|work| work > Work::ZERO))
}

/// The work of an activity, where it is given or others of its process have ended.
pub(crate) fn expected(process: &Process, activity: ActivityId) -> Option<Work> {
    let declared = process.definition().activity_as_written(activity);
    let given = declared.and_then(|declared| declared.work);
    let n_seen = u64::from(process.state.n_seen);
    let mean = || process.state.seen_wall.0.checked_div(n_seen).map(Work);
    given.filter(|&work| work > Work::ZERO).or_else(mean)
}

/// The works of a process's activities, as far as they are known.
pub(crate) struct Works {
    /// That of activities whose work is not given.
    mean: Work,
}

impl Works {
    /// A work that is not given counts as the mean of the run times seen, or else of the works given.
    pub(crate) fn new(process: &Process) -> Works {
        if process.state.n_seen > 0 {
            let mean = process.state.seen_wall.0 / u64::from(process.state.n_seen);
            return Works { mean: Work(mean) };
        }
        let works = process.definition.graph().nodes().map(|node| node.work);
        let given: Vec<u64> = works.map(|work| work.0).filter(|&work| work > 0).collect();
        let n_given = given.len() as u64;
        let sum = sum(given.into_iter());
        let mean = sum.checked_div(n_given).map_or(WORK_UNKNOWN, Work);
        Works { mean }
    }

    /// The work of an activity.
    pub(crate) fn of(&self, process: &Process, activity: ActivityId) -> Work {
        let declared = process.definition().activity_as_written(activity);
        let given = declared.and_then(|declared| declared.work);
        self.or_mean(given.unwrap_or_default())
    }

    /// A work that is given, or else the mean.
    pub(crate) fn or_mean(&self, given: Work) -> Work {
        if given == Work::ZERO {
            self.mean
        } else {
            given
        }
    }
}

/// Numbers from machines and users may add up to more than a `u64` holds.
pub(crate) fn sum(values: impl Iterator<Item = u64>) -> u64 {
    values.fold(0, u64::saturating_add)
}
