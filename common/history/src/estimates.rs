//! The works by which the activities of a definition are planned: by whoever runs it, and by whoever only
//! looks what a plan would be.

use std::collections::BTreeMap;

use model::{ActivityId, Definition, NodeId, Work};

use crate::store::{Known, SizeClass, Store};

/// The assumed work of an activity if nothing is known of any.
const WORK_UNKNOWN: Work = Work::from_secs(1);

/// Works as they are given, else as they were in earlier runs of the same owner, else as the others are.
#[derive(Clone, Debug)]
pub struct Estimates {
    /// Forecasts for activities whose work is not given, by the node of the draft.
    remembered: BTreeMap<NodeId, Known>,
    /// The work of all others.
    mean: Work,
}

impl Estimates {
    /// Looks up what is remembered. `seen` is the mean of the run times in this run; without it the mean of
    /// the works that are given or remembered counts, else a second. O(nodes of the graph).
    pub fn new(
        definition: &Definition,
        owner: &str,
        history: &Store,
        seen: Option<Work>,
    ) -> Estimates {
        let remembered = remembered(definition, owner, history);
        Estimates {
            mean: seen.unwrap_or_else(|| mean_known(definition, &remembered)),
            remembered,
        }
    }

    /// The work of an activity; `size` is asked for the size of its inputs where it matters. Copies of a
    /// body share what is remembered of it.
    pub fn of(
        &self,
        definition: &Definition,
        activity: ActivityId,
        size: impl FnOnce() -> Option<SizeClass>,
    ) -> Work {
        let known = self.remembered.get(&definition.origin(activity.node()));
        given(definition, activity)
            .or_else(|| Some(of_size(known?, size)))
            .unwrap_or(self.mean)
    }

    /// The longest time of nine in ten attempts at an activity, as a multiple of the expected one;
    /// none where nobody has seen any.
    pub fn spread(&self, definition: &Definition, activity: ActivityId) -> Option<f64> {
        let origin = definition.origin(activity.node());
        Some(spread(self.remembered.get(&origin)?))
    }
}

/// True if the work of any activity is given or remembered.
pub fn knows_any(definition: &Definition, owner: &str, history: &Store) -> bool {
    let names = (owner, definition.name());
    let is_remembered = history.knows(names.0, names.1);
    // Copies of a body have the works of the body.
    let written = (0..).map(NodeId).zip(&definition.draft().nodes);
    let mut activities = written.filter_map(|(id, node)| Some((id, node.activity()?)));
    activities.any(|(id, activity)| {
        let name = definition.plain_name(id);
        activity.work.is_some_and(|work| work > Work::ZERO)
            || is_remembered && history.of_activity(names, name).is_some()
    })
}

/// The work of one activity, where it is given or remembered.
pub fn known_of(
    definition: &Definition,
    owner: &str,
    history: &Store,
    activity: ActivityId,
    size: impl FnOnce() -> Option<SizeClass>,
) -> Option<Work> {
    given(definition, activity).or_else(|| {
        let name = definition.plain_name(activity.node());
        let known = history.of_activity((owner, definition.name()), name)?;
        Some(of_size(&known, size))
    })
}

/// The work of one activity for inputs of unknown size, where it is given or remembered, and its spread as in
/// [`Estimates::spread`].
pub fn forecast_of(
    definition: &Definition,
    owner: &str,
    history: &Store,
    activity: ActivityId,
) -> (Option<Work>, Option<f64>) {
    let name = definition.plain_name(activity.node());
    let known = history.of_activity((owner, definition.name()), name);
    let remembered = known.as_ref().map(|known| known.of(None).work);
    let work = given(definition, activity).or(remembered);
    (work, known.as_ref().map(spread))
}

fn spread(known: &Known) -> f64 {
    let forecast = known.of(None);
    let work = forecast.work.reference_seconds();
    (forecast.p90.reference_seconds() / work).max(1.0)
}

fn given(definition: &Definition, activity: ActivityId) -> Option<Work> {
    let declared = definition.activity_as_written(activity);
    let given = declared.and_then(|declared| declared.work);
    given.filter(|&work| work > Work::ZERO)
}

fn of_size(known: &Known, size: impl FnOnce() -> Option<SizeClass>) -> Work {
    let class = if known.depends_on_size() {
        size()
    } else {
        None
    };
    known.of(class).work
}

fn remembered(definition: &Definition, owner: &str, history: &Store) -> BTreeMap<NodeId, Known> {
    let names = (owner, definition.name());
    if !history.knows(names.0, names.1) {
        return BTreeMap::new();
    }
    let written = (0..).map(NodeId).zip(&definition.draft().nodes);
    let activities = written.filter_map(|(id, node)| {
        node.activity()?;
        Some((id, history.of_activity(names, definition.plain_name(id))?))
    });
    activities.collect()
}

/// The mean of the works that are given or remembered.
fn mean_known(definition: &Definition, remembered: &BTreeMap<NodeId, Known>) -> Work {
    let known = definition.graph().nodes().filter_map(|node| {
        let given = Some(node.work).filter(|&work| work > Work::ZERO);
        given.or_else(|| {
            let origin = definition.origin(node.activity?.node());
            Some(remembered.get(&origin)?.of(None).work)
        })
    });
    // Numbers of users may add up to more than a `u64` holds.
    let (n_known, sum) = known.fold((0_u64, 0_u64), |(n_known, sum), work| {
        (n_known + 1, sum.saturating_add(work.0))
    });
    sum.checked_div(n_known).map_or(WORK_UNKNOWN, Work)
}

#[cfg(test)]
mod tests;
