//! Races: a running activity that may run twice and takes far longer than expected is started a second time
//! elsewhere, while its first attempt goes on. An activity that has taken so much longer is expected to take as long
//! once more.
//!
//! ```text
//!   first   |=== expected ===|............ late |.... as long once more ....|
//!   rival                                       |-- transfer --|== p90 ==|       it pays: it is expected to end before
//! ```
//! A rival takes an idle slot of its process, while no other process waits for one, and goes when others of the
//! process are sent there ([`Process::rivals_in_the_way`]). Where there is none, a free slot is claimed for it.

mod claim;

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

/// An attempt that takes too long, or will from some time on.
struct Straggler {
    activity: ActivityId,
    number: u32,
    /// The machine where it runs.
    resource: ResourceId,
    /// The work of nine in ten attempts at most, in reference seconds.
    most: f64,
    elapsed: Span,
    /// The time from which on it is raced.
    long: Span,
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
        let (mut looked_again, mut lacking) = (Vec::new(), Vec::new());
        let mut lacks_room = false;
        for &one in late {
            let Some(expected) = self.runs_at(id, (one.activity, one.number)) else {
                continue;
            };
            let Some(straggler) = straggler(known, step, one, expected) else {
                continue;
            };
            let attempt = (straggler.activity, straggler.number);
            if straggler.elapsed < straggler.long {
                let left = straggler.long - straggler.elapsed;
                looked_again.push((attempt, step.now.mono + left));
                continue;
            }
            let is_settled = self
                .demands
                .get(&id)
                // A plan that is being made counts on all slots.
                .is_some_and(|demand| matches!(demand.stage, Stage::Settled));
            let may_race = is_settled && !self.queue.has_others(id);
            let has_room = known.n_rivals() + races.len() < limits::RACES_MAX;
            let taken = races.iter().map(|&(_, place)| place);
            let taken: Vec<ResourceId> = taken.chain([expected.resource]).collect();
            let may_begin = may_race && has_room;
            let place = may_begin
                .then(|| self.soonest(step, machines, known, &straggler, &taken))
                .flatten();
            if let Some(place) = place {
                races.push((one.activity, place));
                continue;
            }
            looked_again.push((attempt, step.now.mono + limits::RACE_EACH));
            lacks_room = true;
            if may_begin {
                lacking.push(straggler);
            }
        }
        if lacks_room {
            self.note_lack_of_room(id);
        }
        for (attempt, due) in looked_again {
            self.judge_again(step, (id, attempt), due);
        }
        for straggler in lacking {
            self.claim_for_race(step, machines, id, &straggler);
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
        self.soonest_of(step, known, straggler, idle)
    }

    /// The machine among some on which a second attempt is expected to end first, where that is sooner than the first
    /// one is expected to.
    fn soonest_of(
        &self,
        step: &Step<'_>,
        known: &Process,
        straggler: &Straggler,
        places: impl Iterator<Item = ResourceId>,
    ) -> Option<ResourceId> {
        let activity = straggler.activity;
        let ends = places.filter_map(|place| {
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
        if !self.has_room_for_rivals(known, machines, place) {
            return 0;
        }
        let unwanted = machines.unwanted(place, known.id());
        let used = known.all_cores(known.out_at(place).chain(unwanted));
        known.granted(place).saturating_sub(used)
    }

    /// Returns true if a machine takes attempts, and nothing of a process waits for slots there.
    fn has_room_for_rivals(&self, known: &Process, machines: &Machines, place: ResourceId) -> bool {
        let ready = &known.index.ready;
        self.answering(machines, place).is_some()
            && machines.epoch(place).is_some()
            && !machines.is_leaving(place)
            && !ready.contains_key(&Some(place))
            && !ready.contains_key(&None)
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

/// An attempt that runs, where it is to be raced once it has taken [`limits::STRAGGLES`] times as long as nine in ten
/// do: its activity may run twice, and it has no rival.
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
    let is_alone = known.is_out(attempt)
        && known.activity(activity).number == number
        && known.rivals(activity).next().is_none();
    // One with replicas has as many attempts as it is to have, where there is room.
    let may_race = declared.repeatable && declared.n_replicas() == 1;
    let may = may_race && known.last_number(activity) <= limits::STRAGGLED_MAX;
    if !may || !is_alone || known.is_recomputation(attempt) {
        return None;
    }
    let (_, spread) = forecast(known, step.history, activity);
    let spread = spread.unwrap_or(1.0).max(1.0);
    let long = Span::from_seconds_up(limits::STRAGGLES * expected.seconds * spread);
    Some(Straggler {
        activity,
        number,
        resource: expected.resource,
        most: expected.work * spread,
        elapsed,
        long: long.max(limits::STRAGGLES_LEAST),
    })
}
