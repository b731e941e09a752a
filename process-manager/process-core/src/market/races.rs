//! Races: a running activity that may run twice and takes far longer than expected is started a second time
//! elsewhere, while its first attempt goes on. An activity that has taken so much longer is expected to take as long
//! once more.
//!
//! ```text
//!   first   |=== expected ===|............ late |.... as long once more ....|
//!   rival                                       |-- transfer --|== p90 ==|       it pays: it is expected to end before
//! ```
//! A rival takes an idle slot of its process alone, while no other process waits for one, and goes when others of the
//! process are sent there ([`Process::rivals_in_the_way`]).

use model::{ActivityId, AttemptId, ProcessId, ResourceId, Span};

use super::limit::fits;
use super::planning::LINK_UNKNOWN;
use super::{Market, Stage};
use crate::enact::message::laid;
use crate::enact::works::{forecast, sum};
use crate::limits;
use crate::machines::Machines;
use crate::process::Process;
use crate::step::Step;

/// An attempt that runs and has run for so long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Late {
    pub(super) activity: ActivityId,
    pub(super) number: u32,
    pub(super) elapsed: Span,
}

/// The expectations of a running attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    /// The machine where it runs.
    pub(super) resource: ResourceId,
    /// The seconds that it takes on the mean machine of its process.
    pub(super) seconds: f64,
    /// Its work in reference seconds.
    pub(super) work: f64,
}

/// An activity that takes too long.
struct Straggler {
    activity: ActivityId,
    /// The work of nine in ten attempts at most, in reference seconds.
    most: f64,
    elapsed: Span,
}

impl Market {
    /// The races that pay, of attempts that run longer than expected: the activity, and the machine for its second
    /// attempt.
    pub(super) fn races(
        &mut self,
        step: &mut Step<'_>,
        machines: &Machines,
        id: ProcessId,
        late: &[Late],
    ) -> Vec<(ActivityId, ResourceId)> {
        let mut races: Vec<(ActivityId, ResourceId)> = Vec::new();
        let Some(known) = step.cx.process(id) else {
            return races;
        };
        let mut looked_again = Vec::new();
        for &one in late {
            let Some(expected) = self.runs_at(id, (one.activity, one.number)) else {
                continue;
            };
            let Some(straggler) = straggler(known, step, one, expected) else {
                continue;
            };
            let is_settled = self
                .demands
                .get(&id)
                // A plan that is being made counts on all slots.
                .is_some_and(|demand| matches!(demand.stage, Stage::Settled));
            let may_race = is_settled && !self.queue.has_others(id);
            let has_room = known.n_rivals() + races.len() < limits::RACES_MAX;
            let taken = races.iter().map(|&(_, place)| place);
            let taken: Vec<ResourceId> = taken.chain([expected.resource]).collect();
            let place = match may_race && has_room {
                true => self.soonest(step, machines, known, &straggler, &taken),
                false => None,
            };
            match place {
                Some(place) => races.push((one.activity, place)),
                None => looked_again.push((one.activity, one.number)),
            }
        }
        let again = step.now.mono + limits::RACE_EACH;
        for attempt in looked_again {
            self.judge_again(step, (id, attempt), again);
        }
        races
    }

    /// The machine with an idle slot of the process on which a second attempt is expected to end first, where that is
    /// sooner than the first one is expected to.
    fn soonest(
        &self,
        step: &Step<'_>,
        machines: &Machines,
        known: &Process,
        straggler: &Straggler,
        taken: &[ResourceId],
    ) -> Option<ResourceId> {
        let activity = straggler.activity;
        let places = known.grants().map(|grant| grant.resource);
        let places = places.filter(|place| !taken.contains(place));
        let idle = places.filter(|&place| self.is_idle_for(known, machines, activity, place));
        let ends = idle.filter_map(|place| {
            let runs = self.seconds_at(known.id(), straggler.most, place)?;
            let seconds = runs + self.transfer(step, known, activity, place);
            (seconds < straggler.elapsed.seconds()).then_some((seconds, place))
        });
        let first = ends.min_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        first.map(|(_, place)| place)
    }

    /// Returns true if an activity fits on slots of a machine that its process holds there and nobody of it uses or
    /// waits for.
    fn is_idle_for(
        &self,
        known: &Process,
        machines: &Machines,
        activity: ActivityId,
        place: ResourceId,
    ) -> bool {
        let Some(declared) = known.definition().activity_as_written(activity) else {
            return false;
        };
        let offered = self.answering(machines, place);
        offered.is_some_and(|offered| fits(offered, declared))
            && declared.cores <= self.idle_slots(known, machines, place)
    }

    /// The slots of a machine that a process holds there and nobody of it uses or waits for.
    pub(super) fn idle_slots(
        &self,
        known: &Process,
        machines: &Machines,
        place: ResourceId,
    ) -> u32 {
        let takes_any = self.answering(machines, place).is_some()
            && machines.epoch(place).is_some()
            && !machines.is_leaving(place);
        let is_awaited =
            known.index.ready.contains_key(&Some(place)) || known.index.ready.contains_key(&None);
        if !takes_any || is_awaited {
            return 0;
        }
        let unwanted = machines.unwanted(place, known.id());
        let used = known.all_cores(known.out_at(place).chain(unwanted));
        known.granted(place).saturating_sub(used)
    }

    /// The seconds that a machine takes to fetch the inputs of an activity which it does not have.
    fn transfer(
        &self,
        step: &Step<'_>,
        known: &Process,
        activity: ActivityId,
        place: ResourceId,
    ) -> f64 {
        // Without a link, all machines share one store.
        let (Some(link), Some(declared)) =
            (step.config.link, known.definition().activity(activity))
        else {
            return 0.0;
        };
        let inputs = laid(known, activity, declared).unwrap_or_default();
        let is_there =
            |source| known.holder(source) == Some(place) || known.copy(source) == Some(place);
        let far = inputs.iter().filter(|input| !is_there(input.source));
        let bytes = sum(far.map(|input| input.artifact.bytes.0));
        let speeds = self.ways.speeds([place].into_iter(), link);
        let speed = speeds
            .get(&place)
            .copied()
            .unwrap_or(LINK_UNKNOWN.bandwidth);
        link.latency + bytes as f64 / speed
    }

    /// Returns true if another process waits for slots.
    pub(crate) fn has_others_waiting(&self, id: ProcessId) -> bool {
        self.queue.has_others(id)
    }
}

/// The activity of an attempt that runs, where that is to be raced if there is room: it may run twice, has taken
/// [`limits::STRAGGLES`] times as long as nine in ten do, and has no rival.
fn straggler(
    known: &Process,
    step: &Step<'_>,
    late: Late,
    expected: Expected,
) -> Option<Straggler> {
    let Late {
        activity,
        number,
        elapsed,
    } = late;
    let declared = known.definition().activity_as_written(activity)?;
    let attempt = AttemptId {
        process: known.id(),
        activity,
        number,
    };
    let (_, spread) = forecast(known, step.history, activity);
    let spread = spread.unwrap_or(1.0).max(1.0);
    let long = limits::STRAGGLES * expected.seconds * spread;
    let is_late = elapsed.seconds() > long && elapsed >= limits::STRAGGLES_LEAST;
    let is_alone = known.is_out(attempt)
        && known.activity(activity).number == number
        && known.rivals(activity).next().is_none();
    // One with replicas has as many attempts as it is to have, where there is room.
    let may_race = declared.repeatable && declared.n_replicas() == 1;
    let may = may_race && known.last_number(activity) <= limits::STRAGGLED_MAX;
    (may && is_alone && is_late && !known.is_recomputation(attempt)).then_some(Straggler {
        activity,
        most: expected.work * spread,
        elapsed,
    })
}
