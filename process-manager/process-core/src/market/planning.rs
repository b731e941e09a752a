//! Planning: the problem is put together here and solved outside the loop, and the answer counts
//! only if nothing has changed meanwhile. First come, first served: the process that was submitted
//! first is planned first, and the others wait until it has its slots.

use std::collections::{BTreeMap, BTreeSet};

use model::limits::CORES_MAX;
use model::{ActivityId, Mono, NetworkLink, Plan, Platform, ProcessId, Resource, ResourceId, Span};
use schedule::SchedulerKind;
use wire::group::Offered;

use super::lacking::Lack;
use super::limit::fits;
use super::queue::Turn;
use super::{Demand, Market, Stage};
use crate::enact::busy::Running;
use crate::enact::lengths::lengths;
use crate::enact::problem::problem;
use crate::enact::works::{Works, gives_work, knows_work};
use crate::io::{Effect, InForce, PlanRequest, PlanResult};
use crate::limits;
use crate::machines::Machines;
use crate::process::Process;
use crate::process::index::is_unsent;
use crate::record::{Event, Phase, Planned, Replanned};
use crate::step::Step;
use crate::stream::Stream;
use crate::timer::Timer;

/// The network of a group of which nothing was measured: a gigabit, a tenth of a millisecond.
pub(super) const LINK_UNKNOWN: NetworkLink = NetworkLink {
    bandwidth: 1.25e8,
    latency: 1e-4,
};

impl Market {
    /// Plans the processes that want it, one after another, as long as there are slots for the next one.
    pub(crate) fn plan_next(
        &mut self,
        step: &mut Step<'_>,
        machines: &Machines,
        running: &dyn Running,
    ) {
        self.return_for_others(step);
        self.reschedule(step, machines, running);
        for id in std::mem::take(&mut self.partly_granted) {
            self.plan_on_grants(step, (machines, running), id);
        }
        while let Some(id) = self.next_to_plan(step) {
            let Some(known) = step.cx.process(id) else {
                return;
            };
            let is_first = known.state.plan.generation.0 == 0;
            if known.phase() != Phase::Running || !is_first && !self.is_stranded(known, machines) {
                // It ends, or the machine that it waited for has come back meanwhile.
                self.set_stage(id, Stage::Settled);
                continue;
            }
            if is_first && self.set_beyond_aside(step, id) {
                continue;
            }
            let Some(known) = step.cx.process(id) else {
                return;
            };
            if is_first && self.queue.first().is_some_and(|(_, first)| first == id) {
                self.take_turn(id);
                self.plan_in_turn(id);
            }
            let held = known.grants().map(|grant| grant.resource);
            let places = self.slots.open().chain(held);
            let free = places.map(|place| (place, self.slots.free(place)));
            let mut free: BTreeMap<ResourceId, u32> = free.collect();
            let is_limited = self.limit(machines, known, &mut free);
            self.narrow(step, machines, known, &mut free);
            let resources = free.into_iter().filter_map(|(place, free)| {
                let slots = free.saturating_add(known.granted(place));
                resource(self.answering(machines, place)?, slots)
            });
            let resources: Vec<Resource> = resources.collect();
            if let Some(demand) = self.demands.get_mut(&id) {
                demand.is_limited = is_limited;
            }
            if !self.request_plan(step, id, resources, running) {
                self.note_tried(step, id);
            }
        }
        self.grow(step, machines, running);
        self.plan_past_first(step, machines, running);
        self.note_overdue(step);
    }

    /// A process that is planned by its priority exchanges its turn with the process whose turn it is,
    /// which has the same owner: others wait for as many processes as before.
    fn take_turn(&mut self, id: ProcessId) {
        let Some((at, overtaken)) = self.queue.first_turn() else {
            return;
        };
        let Some(demand) = self.demands.get_mut(&id).filter(|_| overtaken != id) else {
            return;
        };
        let later = std::mem::replace(&mut demand.turn, at);
        let (turn, class) = (demand.turn_of(id), demand.class.clone());
        self.queue.remove((later, id));
        self.queue.want_first(turn, class);
        if let Some(demand) = self.demands.get_mut(&overtaken) {
            demand.turn = later;
            let (turn, class) = (demand.turn_of(overtaken), demand.class.clone());
            self.queue.remove((at, overtaken));
            self.queue.want_first(turn, class);
        }
    }

    /// Has a process planned again of which something waits for a machine that takes nothing.
    pub(crate) fn plan_again(&mut self, step: &mut Step<'_>, machines: &Machines, id: ProcessId) {
        let is_settled = |demand: &Demand| matches!(demand.stage, Stage::Settled);
        let wants = |known: &Process| match step.config.lease {
            Some(_) => self.is_stranded(known, machines),
            // Machines of one program are never suspect.
            None => self.lacks_place(known, machines) || known.is_unplanned(),
        };
        if !self.demands.get(&id).is_some_and(is_settled) || !step.cx.process(id).is_some_and(wants)
        {
            return;
        }
        match self.waits_for_more(step, machines, id) {
            Some(until) => step.timers.set_by(Timer::Plan(id), until),
            None => self.set_stage(id, Stage::Wanting),
        }
    }

    /// The moment until which a large process waits for more items before it is planned for those that no
    /// plan has. None where nothing of it runs meanwhile, or it needs a plan for another reason.
    fn waits_for_more(&self, step: &Step<'_>, machines: &Machines, id: ProcessId) -> Option<Mono> {
        let known = step.cx.process(id)?;
        let until = self.demands.get(&id)?.again_from;
        let is_small = known.definition().activities().len() <= limits::REPLAN_AT_ONCE_MAX;
        let waits = until > step.now.mono
            && !is_small
            && known.out().next().is_some()
            && !self.lacks_place(known, machines)
            && !is_cut_off(known, machines);
        waits.then_some(until)
    }

    /// It is time to see whether a process can be planned with what there is.
    pub(crate) fn plan_anew(&mut self, step: &mut Step<'_>, id: ProcessId) {
        if let Some(demand) = self.demands.get_mut(&id)
            && matches!(demand.stage, Stage::Wanting)
        {
            demand.tried = None;
            self.set_stage(id, Stage::Wanting);
        }
        self.growth.retry();
        step.marks.want_plans();
    }

    /// The process to plan next; none while one is planned, or as many claims are open as may be.
    ///
    /// Processes without a plan are planned in the order of [`Queue`](super::Queue). One that was tried in
    /// vain, or waits for the answer to a question, holds up those after it, but where it needs a group
    /// that does not answer. A process that holds slots may be planned out of turn, because others may
    /// wait for these.
    pub(super) fn next_to_plan(&self, step: &Step<'_>) -> Option<ProcessId> {
        if !self.planning.is_empty() || self.claims.is_full() {
            return None;
        }
        let mut links = self.groups.values();
        let is_unconfirmed = links.any(|link| link.is_unconfirmed(step.now.mono));
        let is_tried = |id: ProcessId| {
            let demand = self.demands.get(&id);
            demand.is_none_or(|demand| {
                let is_unknown = demand.is_inherited && !demand.has_plan && is_unconfirmed;
                is_unknown || demand.tried == Some(self.n_offers)
            })
        };
        let may_go = |&(_, id): &Turn| !is_tried(id) && !self.claims.holds_back(id);
        let first = self.queue.first().filter(may_go);
        let other = self.queue.out_of_turn().find(may_go);
        first.into_iter().chain(other).min().map(|(_, id)| id)
    }

    /// Returns true if a planned process has unsent activities without a place, on a machine that takes
    /// no work, or on slots that it does not hold.
    fn is_stranded(&self, known: &Process, machines: &Machines) -> bool {
        self.lacks_place(known, machines) || is_stranded(known, machines)
    }

    /// Returns true if an activity is to make files again and fits on none of the slots that its process
    /// holds.
    pub(crate) fn lacks_place(&self, known: &Process, machines: &Machines) -> bool {
        if known.state.plan.generation.0 == 0 || known.phase() != Phase::Running {
            return false;
        }
        let has_place = |activity: ActivityId, place: ResourceId| {
            let declared = known.definition().activity_as_written(activity);
            let offered = self
                .offered_at(place)
                .filter(|_| machines.is_trusted(place));
            let (Some(declared), Some(offered)) = (declared, offered) else {
                return false;
            };
            declared.cores <= known.granted(place) && fits(offered, declared)
        };
        let mut wanted = known.wanted_recomputations();
        wanted.any(|activity| {
            !known
                .grants()
                .any(|grant| has_place(activity, grant.resource))
        })
    }

    /// Has a process planned again on the slots that it holds.
    fn plan_on_grants(
        &mut self,
        step: &mut Step<'_>,
        (machines, running): (&Machines, &dyn Running),
        id: ProcessId,
    ) {
        let Some(known) = step.cx.process(id) else {
            return;
        };
        let places: BTreeSet<ResourceId> = known.grants().map(|grant| grant.resource).collect();
        let resources = places
            .into_iter()
            .filter_map(|place| resource(self.answering(machines, place)?, known.granted(place)));
        let resources: Vec<Resource> = resources.collect();
        self.request_plan(step, id, resources, running);
    }

    /// A machine for plans: it takes work, and its group answers claims.
    pub(super) fn answering(&self, machines: &Machines, resource: ResourceId) -> Option<&Offered> {
        let may_serve = machines.is_trusted(resource) && !self.claims.is_silent(resource.group);
        self.offered_at(resource).filter(|_| may_serve)
    }

    /// The offered machines of groups that answer claims.
    pub(super) fn all_answering(&self) -> impl Iterator<Item = &Offered> {
        let offered = self.offered();
        let answering = offered.filter(|(group, _)| !self.claims.is_silent(*group));
        answering.map(|(_, one)| one)
    }

    /// Requests a plan. Returns true if there is any machine to plan for.
    pub(super) fn request_plan(
        &mut self,
        step: &mut Step<'_>,
        id: ProcessId,
        resources: Vec<Resource>,
        running: &dyn Running,
    ) -> bool {
        if let Some(demand) = self.demands.get_mut(&id) {
            (demand.moves, demand.rescheduled) = (None, None);
        }
        self.request(step, id, resources, running, None)
    }

    /// Requests a plan that is compared with the one in force.
    pub(super) fn request_comparison(
        &mut self,
        step: &mut Step<'_>,
        id: ProcessId,
        resources: Vec<Resource>,
        running: &dyn Running,
        in_force: InForce,
    ) -> bool {
        self.request(step, id, resources, running, Some(in_force))
    }

    fn request(
        &mut self,
        step: &mut Step<'_>,
        id: ProcessId,
        mut resources: Vec<Resource>,
        running: &dyn Running,
        in_force: Option<InForce>,
    ) -> bool {
        self.note_spare(id, &resources);
        // A machine counts as it has shown itself to this process, and to others before.
        for one in &mut resources {
            one.power *= self.shown_part(id, one.id) * self.factor(id, one.id);
        }
        let Some(known) = step.cx.process(id) else {
            return false;
        };
        let link = step.config.link.unwrap_or(LINK_UNKNOWN);
        let ways = self.ways.speeds(resources.iter().map(|one| one.id), link);
        let network = self.ways.network(&ways, link);
        let Ok(platform) = Platform::new(resources, network) else {
            self.note_without_machines(id);
            return false;
        };
        let scheduler = self.scheduler_for(step, id, known);
        let files_cross = step.config.link.is_some();
        if files_cross {
            let machines: Vec<ResourceId> = ways.keys().copied().collect();
            self.want_probes(known.definition(), &machines, step.now.mono);
        }
        let out = (running, step.now.wall);
        let held = self.held_by_others(step, known, &platform, running);
        let movable = self.movable(id);
        let mut request = problem(
            known,
            platform,
            scheduler,
            files_cross,
            (out, step.history),
            &movable,
        );
        request.held = held;
        for (activity, place) in self.staying(step, known, &request.platform) {
            request.demands.entry(activity).or_default().machine = Some(place);
        }
        if let Some(demand) = self.demands.get_mut(&id) {
            demand.ways = ways;
        }
        let basis = self.next_basis();
        let n_offers = self.n_offers;
        let used = request.platform.resources();
        let is_wholly_used = |one: &Resource| {
            let offered = self.offered_at(one.id);
            offered.is_some_and(|offered| offered.slots == one.slots)
        };
        let is_whole = used.iter().all(is_wholly_used) && used.len() == self.offered().count();
        // To hand it to another thread would take longer.
        let is_small = known.definition().activities().len() == 1
            && used.len() <= limits::PLAN_AT_ONCE_MACHINES_MAX;
        self.set_stage(
            id,
            Stage::Planning {
                basis,
                n_offers,
                is_whole,
            },
        );
        let demand = self.demands.get(&id);
        let grows = demand.is_some_and(|demand| demand.grows);
        let asked = PlanRequest {
            process: id,
            basis,
            request,
            in_force,
            grows: grows.then(|| known.state.plan.entries.clone()),
        };
        if is_small {
            self.on_planned(step, asked.answer());
        } else {
            step.cx.effect(Effect::Plan(Box::new(asked)));
        }
        true
    }

    /// The algorithm for a process. A search would only polish a guess where nobody gave any work,
    /// and hold up the others where several wait.
    fn scheduler_for(&self, step: &Step<'_>, id: ProcessId, known: &Process) -> SchedulerKind {
        let searches = step.config.scheduler == SchedulerKind::Xavantes;
        let is_single = known.definition().activities().len() == 1;
        let demand = self.demands.get(&id);
        let is_soon = demand.is_some_and(|demand| demand.grows || demand.moves.is_some());
        if searches
            && (is_single
                || is_soon
                || !gives_work(known, step.history)
                || self.queue.has_others(id))
        {
            return SchedulerKind::Best;
        }
        step.config.scheduler
    }

    pub(crate) fn on_planned(&mut self, step: &mut Step<'_>, result: PlanResult) {
        let (id, basis) = (result.process, result.basis);
        let Some(demand) = self.demands.get_mut(&id) else {
            return;
        };
        let (n_offers, is_whole) = match demand.stage {
            Stage::Planning {
                basis: asked,
                n_offers,
                is_whole,
            } if asked == basis => (n_offers, is_whole),
            Stage::Planning { .. }
            | Stage::Settled
            | Stage::Wanting
            | Stage::Retracting { .. }
            | Stage::Claiming { .. } => {
                return;
            }
        };
        let Some(known) = step.cx.process(id) else {
            return;
        };
        if known.phase() != Phase::Running {
            self.set_stage(id, Stage::Settled);
            return step.marks.want_plans();
        }
        if let Some(moves) = demand.moves.take() {
            return self.on_comparison(step, result, moves);
        }
        let result = result.result;
        if std::mem::take(&mut demand.grows) && self.grows_in_vain(step.now.mono, known, &result) {
            self.set_stage(id, Stage::Settled);
            return step.marks.want_plans();
        }
        let Some(demand) = self.demands.get_mut(&id) else {
            return;
        };
        match result {
            Ok(plan) => {
                self.misfits.remove(&id);
                demand.wants_absent = false;
                let is_estimate = knows_work(known, step.history);
                if !self.is_over_in_time(step.now.mono, id, plan.makespan()) {
                    self.set_stage(id, Stage::Wanting);
                    return step.marks.want_plans();
                }
                self.claim_for(step, id, plan, is_estimate);
            }
            Err(refusal) => self.on_refusal(step, id, (n_offers, is_whole), &refusal),
        }
    }

    /// The duration of a process with the bodies that are expected beyond those in its plan; none where these are
    /// all. It may use all slots that are offered before they come.
    fn expected(&self, step: &Step<'_>, known: &Process, makespan: Span) -> Option<Span> {
        let slots = self.offered().map(|(_, one)| u64::from(one.slots));
        let slots = slots.sum::<u64>().max(1) as f64;
        let works = Works::new(known, step.history);
        let lengths = lengths(known, step.history, &works, slots);
        let expected = Span::from_seconds_up(makespan.seconds() * lengths.factor());
        (lengths.expected != lengths.planned).then_some(expected)
    }

    /// Puts a plan in force whose slots are held.
    pub(crate) fn take_plan(
        &mut self,
        step: &mut Step<'_>,
        id: ProcessId,
        plan: Plan,
        is_estimate: bool,
    ) {
        let Some(known) = step.cx.process(id) else {
            return;
        };
        let planned = plan.entries.iter().map(|entry| entry.resource);
        let held = self.used(known).into_iter().map(|want| want.resource);
        let named: BTreeSet<ResourceId> = planned.chain(held).collect();
        let named = named.into_iter().filter(|one| !known.has_slots_of(*one));
        let offered = named.filter_map(|one| Some((one, self.offered_at(one)?)));
        let (machines, slots): (Vec<_>, Vec<_>) = offered
            .map(|(one, offered)| ((one, offered.name.clone()), offered.slots))
            .unzip();
        let slots = (!slots.is_empty()).then_some(slots);
        let before = &known.state.plan;
        let event = if before.generation.0 == 0 {
            let expected = self.expected(step, known, plan.makespan());
            Event::Planned(Box::new(Planned {
                plan,
                machines,
                is_estimate,
                at: Some(step.now.wall),
                expected,
                slots,
            }))
        } else {
            let plan = known.plan_with(&plan, step.now.wall);
            self.note_moved(id, step.now.mono, (before, &plan));
            let mut replanned = Replanned::new(before, &plan, machines, is_estimate);
            let demand = self.demands.get_mut(&id);
            replanned.slots = slots;
            replanned.why = demand.and_then(|demand| demand.rescheduled.take());
            Event::Replanned(Box::new(replanned))
        };
        let n_activities = known.definition().activities().len() as u64;
        let each = limits::REPLAN_EACH.0;
        step.cx.record(Stream::Process(id), event);
        self.note_planned(id);
        self.set_stage(id, Stage::Settled);
        self.look_after_plan(step, id);
        if let Some(demand) = self.demands.get_mut(&id) {
            demand.has_plan = true;
            demand.waiting_for = None;
            demand.lacks = Lack::Nothing;
            demand.n_replans = 0;
            demand.again_from = step.now.mono + Span(each.saturating_mul(n_activities));
        }
        step.marks.mark(id);
        step.marks.want_plans();
    }
}

pub(super) fn resource(offered: &Offered, slots: u32) -> Option<Resource> {
    let slots = slots.min(offered.slots).min(CORES_MAX);
    (slots > 0).then(|| Resource {
        id: offered.resource,
        name: offered.name.clone(),
        power: offered.power,
        slots,
        memory: offered.memory,
        labels: offered.labels.clone(),
    })
}

fn is_stranded(known: &Process, machines: &Machines) -> bool {
    let plan = &known.state.plan;
    if plan.generation.0 == 0 || known.phase() != Phase::Running {
        return false;
    }
    known.is_unplanned() || is_cut_off(known, machines)
}

/// Returns true if an activity waits for a machine that takes nothing, or for slots that are not held.
fn is_cut_off(known: &Process, machines: &Machines) -> bool {
    let plan = &known.state.plan;
    let waits = |activity: ActivityId| is_unsent(known.activity(activity).phase);
    // The slots of each machine that may be used.
    let mut usable: BTreeMap<ResourceId, u32> = BTreeMap::new();
    plan.entries.iter().any(|entry| {
        let place = entry.resource;
        let usable = *usable.entry(place).or_insert_with(|| {
            let is_trusted = machines.is_trusted(place);
            if is_trusted { known.granted(place) } else { 0 }
        });
        usable < known.index.slots.of(place) && waits(entry.activity)
    })
}
