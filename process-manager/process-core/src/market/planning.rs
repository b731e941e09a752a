//! Planning: the problem is put together here and solved outside the loop, and the answer counts
//! only if nothing has changed meanwhile. First come, first served: the process that was submitted
//! first is planned first, and the others wait until it has its slots.

use std::collections::BTreeMap;

use model::limits::CORES_MAX;
use model::{
    ActivityId, GroupId, Network, NetworkLink, Plan, Platform, ProcessId, Resource, ResourceId,
};
use schedule::{Refusal, SchedulerKind};
use wire::group::Offered;

use super::{Demand, GroupLink, Market, Stage};
use crate::enact::problem::{gives_work, knows_work, problem, refusal_fault};
use crate::io::{Effect, PlanRequest, PlanResult};
use crate::limits;
use crate::machines::Machines;
use crate::process::Process;
use crate::record::{ActivityPhase, Event, Phase, Planned, Replanned};
use crate::step::Step;
use crate::stream::Stream;
use crate::timer::Timer;

/// The network of a group of which nothing was measured: a gigabit, a tenth of a millisecond.
const LINK_UNKNOWN: NetworkLink = NetworkLink {
    bandwidth: 1.25e8,
    latency: 1e-4,
};

impl Market {
    /// Requests a plan for the first process that wants one, unless a plan is being made.
    pub(crate) fn plan_next(&mut self, step: &mut Step<'_>, machines: &Machines) {
        for id in std::mem::take(&mut self.partly_granted) {
            self.plan_on_grants(step, machines, id);
        }
        while let Some(id) = self.next_to_plan(step) {
            let Some(known) = step.cx.process(id) else {
                return;
            };
            let is_first = known.state.plan.generation.0 == 0;
            if !is_first && !is_stranded(known, machines) {
                // The machine that it waited for has come back meanwhile.
                self.set_stage(id, Stage::Settled);
                continue;
            }
            let resources: Vec<Resource> = self
                .answering()
                .filter(|(_, offered)| machines.is_trusted(offered.resource))
                .filter_map(|(_, offered)| {
                    let held = known.granted(offered.resource);
                    resource(offered, offered.free.saturating_add(held))
                })
                .collect();
            if self.request_plan(step, id, resources) {
                return;
            }
            self.note_tried(id);
        }
    }

    /// Has a process planned again of which something waits for a machine that takes nothing.
    pub(crate) fn plan_again(&mut self, step: &mut Step<'_>, machines: &Machines, id: ProcessId) {
        if step.config.lease.is_none() {
            return;
        }
        let is_settled = |demand: &Demand| matches!(demand.stage, Stage::Settled);
        let known = step.cx.process(id);
        let wants = self.demands.get(&id).is_some_and(is_settled)
            && known.is_some_and(|known| is_stranded(known, machines));
        if wants {
            self.set_stage(id, Stage::Wanting);
        }
    }

    /// It is time to see whether a process can be planned with what there is.
    pub(crate) fn plan_anew(&mut self, step: &mut Step<'_>, id: ProcessId) {
        if let Some(demand) = self.demands.get_mut(&id) {
            demand.tried = None;
        }
        step.marks.want_plans();
    }

    /// Notes that a process could not be planned with the current offers. It is not tried again
    /// before the next offer, so it does not delay processes that replan on slots they hold.
    fn note_tried(&mut self, id: ProcessId) {
        let n_offers = self.n_offers;
        if let Some(demand) = self.demands.get_mut(&id) {
            demand.tried = Some(n_offers);
        }
    }

    /// The process to plan next; none while one is planned or waits for the answers to its claims,
    /// unless these are overdue: then the others are planned without the groups that are silent.
    ///
    /// Processes without a plan are planned in the order of their submission. One that was tried in
    /// vain holds up those after it, but where it needs a group that does not answer. A process that
    /// has a plan may replan out of turn, because others may wait for the slots that it holds.
    fn next_to_plan(&self, step: &Step<'_>) -> Option<ProcessId> {
        type Turn = (model::Wall, ProcessId);
        let (mut first, mut first_again): (Option<(Turn, bool)>, Option<Turn>) = (None, None);
        for (&id, demand) in &self.demands {
            if demand.claims.values().any(|claim| !claim.is_overdue()) {
                return None;
            }
            match demand.stage {
                Stage::Planning { .. } => return None,
                Stage::Settled | Stage::Claiming { .. } => {}
                Stage::Wanting => {
                    let Some(known) = step.cx.process(id) else {
                        continue;
                    };
                    if known.phase() != Phase::Running {
                        continue;
                    }
                    let turn = (known.submitted, id);
                    let is_tried = demand.tried == Some(self.n_offers);
                    if known.state.plan.generation.0 == 0 {
                        if is_tried && demand.wants_absent {
                            continue;
                        }
                        let it = (turn, is_tried);
                        first = Some(first.map_or(it, |least| least.min(it)));
                    } else if !is_tried {
                        first_again = Some(first_again.map_or(turn, |least| least.min(turn)));
                    }
                }
            }
        }
        let first = first.filter(|(_, is_tried)| !is_tried);
        let turns = first.map(|(turn, _)| turn).into_iter().chain(first_again);
        turns.min().map(|(_, id)| id)
    }

    /// Has a process planned again on the slots that it holds.
    fn plan_on_grants(&mut self, step: &mut Step<'_>, machines: &Machines, id: ProcessId) {
        let resources: Vec<Resource> = self
            .answering()
            .filter(|(_, offered)| machines.is_trusted(offered.resource))
            .filter_map(|(_, offered)| {
                let held = step
                    .cx
                    .process(id)
                    .map_or(0, |known| known.granted(offered.resource));
                resource(offered, held)
            })
            .collect();
        self.request_plan(step, id, resources);
    }

    /// The machines of groups that answer claims.
    fn answering(&self) -> impl Iterator<Item = (GroupId, &Offered)> {
        let silent = self.silent_groups();
        self.offered()
            .filter(move |(group, _)| !silent.contains(group))
    }

    /// Returns true if a machine that fits an activity can only be in a group that does not answer.
    fn is_absent(&self, step: &Step<'_>, known: &Process, refusal: &Refusal) -> bool {
        let Refusal::NoResource { activity, .. } = refusal else {
            return false;
        };
        let silent = self.silent_groups();
        let answers = |group: &GroupId| {
            let link = self.groups.get(group);
            link.is_some_and(|link| link.offer.is_some()) && !silent.contains(group)
        };
        let mut groups = self.groups.keys().chain(&step.config.groups);
        let is_any_away = !groups.all(answers);
        let Some(declared) = known.definition().activity(*activity) else {
            return false;
        };
        let fits = |(_, one): (GroupId, &Offered)| {
            let mut labels = declared.labels.iter();
            one.slots >= declared.cores
                && declared.memory.is_none_or(|memory| memory <= one.memory)
                && labels.all(|(name, value)| one.labels.get(name) == Some(value))
        };
        is_any_away && !self.answering().any(fits)
    }

    /// Requests a plan. Returns true if there is any machine to plan for.
    fn request_plan(
        &mut self,
        step: &mut Step<'_>,
        id: ProcessId,
        resources: Vec<Resource>,
    ) -> bool {
        let Some(known) = step.cx.process(id) else {
            return false;
        };
        let link = step.config.link.unwrap_or(LINK_UNKNOWN);
        let Ok(platform) = Platform::new(resources, Network::uniform(link)) else {
            let any = self.offered().next().is_some();
            let is_answered = self.answering().next().is_some();
            if let Some(demand) = self.demands.get_mut(&id) {
                let why = match (any, is_answered) {
                    (true, true) => "the machines are held by other processes",
                    (true, false) => "an answer of the group manager",
                    (false, _) => "no machine yet",
                };
                demand.wants_absent = false;
                demand.waiting_for = Some(why.to_owned());
                // Once these machines are free, the next plan shows if one of them fits.
                demand.misfit_since = None;
            }
            return false;
        };
        let scheduler = self.scheduler_for(step, id, known);
        let request = problem(known, platform, scheduler, step.config.link.is_some());
        let basis = self.next_basis();
        let n_offers = self.n_offers;
        let offered = self.offered().count();
        let is_whole = request.platform.resources().len() == offered
            && self
                .offered()
                .zip(request.platform.resources())
                .all(|((_, one), used)| one.resource == used.id && one.slots == used.slots);
        self.set_stage(
            id,
            Stage::Planning {
                basis,
                n_offers,
                is_whole,
            },
        );
        step.cx.effect(Effect::Plan(Box::new(PlanRequest {
            process: id,
            basis,
            request,
        })));
        true
    }

    /// The algorithm for a process. A search would only polish a guess where nobody gave any work,
    /// and hold up the others where several wait.
    fn scheduler_for(&self, step: &Step<'_>, id: ProcessId, known: &Process) -> SchedulerKind {
        let is_waiting = |(&other, demand): (&ProcessId, &Demand)| {
            other != id && matches!(demand.stage, Stage::Wanting)
        };
        let searches = step.config.scheduler == SchedulerKind::Xavantes;
        if searches && (!gives_work(known) || self.demands.iter().any(is_waiting)) {
            return SchedulerKind::Best;
        }
        step.config.scheduler
    }

    pub(crate) fn on_planned(&mut self, step: &mut Step<'_>, result: PlanResult) {
        let PlanResult {
            process: id,
            basis,
            result,
        } = result;
        let Some(demand) = self.demands.get_mut(&id) else {
            return;
        };
        let (n_offers, is_whole) = match demand.stage {
            Stage::Planning {
                basis: asked,
                n_offers,
                is_whole,
            } if asked == basis => (n_offers, is_whole),
            Stage::Planning { .. } | Stage::Settled | Stage::Wanting | Stage::Claiming { .. } => {
                return;
            }
        };
        let Some(known) = step.cx.process(id) else {
            return;
        };
        if known.phase() != Phase::Running {
            demand.stage = Stage::Settled;
            return step.marks.want_plans();
        }
        match result {
            Ok(plan) => {
                demand.misfit_since = None;
                demand.wants_absent = false;
                let is_estimate = knows_work(known);
                self.claim_for(step, id, plan, is_estimate);
            }
            Err(refusal) => self.on_refusal(step, id, (n_offers, is_whole), &refusal),
        }
    }

    /// There is no plan on the machines that were offered: the process waits for others, or faults where
    /// none that fits is known for long.
    fn on_refusal(
        &mut self,
        step: &mut Step<'_>,
        id: ProcessId,
        (n_offers, is_whole): (u64, bool),
        refusal: &Refusal,
    ) {
        let Some(known) = step.cx.process(id) else {
            return;
        };
        let wants_absent = self.is_absent(step, known, refusal);
        let Some(demand) = self.demands.get_mut(&id) else {
            return;
        };
        demand.wants_absent = wants_absent;
        demand.stage = Stage::Wanting;
        demand.waiting_for = Some(format!("a machine that fits: {refusal}"));
        demand.tried = Some(n_offers);
        // A process that has a plan waits for a machine that fits for as long as it takes. And a
        // machine that fits may only be held by others, so patience begins only when such a machine
        // is gone.
        let is_first = known.state.plan.generation.0 == 0;
        let may_fault = is_first && is_whole && !wants_absent;
        if may_fault {
            let since = *demand.misfit_since.get_or_insert(step.now.mono);
            let until = since + step.config.patience;
            // An offer that should have been followed by another may be out of date.
            let is_fresh = |link: &GroupLink| {
                !link.is_up || step.now.mono.since(link.offered) <= limits::OFFER_FRESH
            };
            if until <= step.now.mono && self.groups.values().all(is_fresh) {
                let fault = refusal_fault(known, refusal);
                demand.stage = Stage::Settled;
                step.cx
                    .record(Stream::Process(id), Event::Faulted(Box::new(fault)));
                return step.marks.mark(id);
            }
            step.timers
                .set(Timer::Plan(id), until.max(step.now.mono + limits::REPEAT));
        } else {
            demand.misfit_since = None;
        }
        step.marks.want_plans();
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
        let offered = self.offered().map(|(_, one)| one);
        let machines: Vec<(ResourceId, String)> = offered
            .filter(|one| !known.names_machine(one.resource))
            .map(|one| (one.resource, one.name.clone()))
            .collect();
        let before = &known.state.plan;
        let event = if before.generation.0 == 0 {
            Event::Planned(Box::new(Planned {
                plan,
                machines,
                is_estimate,
            }))
        } else {
            let replanned = Replanned::new(before, &plan, machines, is_estimate);
            Event::Replanned(Box::new(replanned))
        };
        step.cx.record(Stream::Process(id), event);
        if let Some(demand) = self.demands.get_mut(&id) {
            demand.stage = Stage::Settled;
            demand.waiting_for = None;
            demand.n_replans = 0;
        }
        step.marks.mark(id);
        step.marks.want_plans();
    }
}

fn resource(offered: &Offered, slots: u32) -> Option<Resource> {
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

/// Returns true if a planned process has unsent activities without a place, or on a machine that
/// takes no work.
fn is_stranded(known: &Process, machines: &Machines) -> bool {
    let plan = &known.state.plan;
    if plan.generation.0 == 0 || known.phase() != Phase::Running {
        return false;
    }
    if known.index.ready.contains_key(&None) {
        return true;
    }
    let waits = |activity: ActivityId| match known.activity(activity).phase {
        ActivityPhase::Waiting | ActivityPhase::Ready | ActivityPhase::Backoff => true,
        ActivityPhase::Sent
        | ActivityPhase::Completed
        | ActivityPhase::Faulted
        | ActivityPhase::Skipped
        | ActivityPhase::Stopped => false,
    };
    let mut trusted: BTreeMap<ResourceId, bool> = BTreeMap::new();
    plan.entries.iter().any(|entry| {
        let place = entry.resource;
        let is_trusted = trusted
            .entry(place)
            .or_insert_with(|| machines.is_trusted(place));
        !*is_trusted && waits(entry.activity)
    })
}
