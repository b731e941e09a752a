//! Planning: the problem is put together here, solved outside the loop, and the answer taken only
//! where nothing has changed meanwhile. First come, first served: the process that was submitted
//! first is planned first, and the others wait until it has its slots.

use std::collections::BTreeMap;

use machine::Context;
use model::limits::CORES_MAX;
use model::{
    ActivityId, Bytes, Fault, FaultName, Generation, GroupId, Network, NetworkLink, Now, Plan,
    Platform, ProcessId, Resource, ResourceId, Source, Span, Work,
};
use schedule::{Demand, Placed, Refusal, SchedulerKind};
use wire::group::Offered;

use crate::index::has_ended;
use crate::io::{Effect, PlanRequest, PlanResult, Stream};
use crate::links::GroupLink;
use crate::manager::{Live, ProcessManager, Stage, Timer, limits, process};
use crate::process::Process;
use crate::record::{Event, Phase};

/// What an activity is taken to compute where nothing is known of any.
const WORK_UNKNOWN: Work = Work::from_secs(1);

/// The network of a group of which nothing was measured: a gigabit, a tenth of a millisecond.
const LINK_UNKNOWN: NetworkLink = NetworkLink {
    bandwidth: 1.25e8,
    latency: 1e-4,
};

impl ProcessManager {
    /// Has the first process planned that wants a plan, unless one is at it.
    pub(crate) fn plan_next(&mut self, cx: &mut Context<'_, Self>) {
        while let Some(id) = self.next_to_plan(cx) {
            let Some(known) = process(cx, id) else { return };
            let is_first = known.course.plan.generation.0 == 0;
            if !is_first && !self.is_stranded(known) {
                // What it waited for has come back meanwhile.
                self.set_stage(id, Stage::Settled);
                continue;
            }
            let resources: Vec<Resource> = self
                .answering()
                .filter(|(_, offered)| self.is_trusted(offered.resource))
                .filter_map(|(group, offered)| {
                    let held = known.granted(offered.resource);
                    resource(group, offered, offered.free.saturating_add(held))
                })
                .collect();
            if self.request_plan(cx, id, resources) {
                return;
            }
            self.note_tried(id);
        }
    }

    /// It is time to see whether a process can be planned with what there is.
    pub(crate) fn plan_anew(&mut self, cx: &mut Context<'_, Self>, id: ProcessId) {
        if let Some(live) = self.live.get_mut(&id) {
            live.tried = None;
        }
        self.plan_next(cx);
    }

    /// What cannot be planned keeps nobody waiting for whom there are slots already.
    fn note_tried(&mut self, id: ProcessId) {
        let n_offers = self.n_offers;
        if let Some(live) = self.live.get_mut(&id) {
            live.tried = Some(n_offers);
        }
    }

    /// The process to plan next; none while one is planned or waits for the answers to its claims,
    /// unless these are overdue: then the others are planned without the groups that are silent.
    ///
    /// Processes without a plan are planned in the order of their submission. One that was tried in
    /// vain holds up those after it, but where it needs a group that does not answer. A process that
    /// has a plan may replan out of turn, because others may wait for the slots that it holds.
    fn next_to_plan(&self, cx: &Context<'_, Self>) -> Option<ProcessId> {
        type Turn = (model::Wall, ProcessId);
        let (mut first, mut first_again): (Option<(Turn, bool)>, Option<Turn>) = (None, None);
        for (&id, live) in &self.live {
            if live.claims.values().any(|claim| !claim.is_overdue()) {
                return None;
            }
            match live.stage {
                Stage::Planning { .. } => return None,
                Stage::Settled | Stage::Claiming { .. } => {}
                Stage::Wanting => {
                    let Some(known) = process(cx, id) else {
                        continue;
                    };
                    if known.phase() != Phase::Running {
                        continue;
                    }
                    let turn = (known.submitted, id);
                    let is_tried = live.tried == Some(self.n_offers);
                    if known.course.plan.generation.0 == 0 {
                        if is_tried && live.wants_absent {
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
    pub(crate) fn plan_on_grants(&mut self, cx: &mut Context<'_, Self>, id: ProcessId) {
        let resources: Vec<Resource> = self
            .answering()
            .filter(|(_, offered)| self.is_trusted(offered.resource))
            .filter_map(|(group, offered)| {
                let held = process(cx, id).map_or(0, |known| known.granted(offered.resource));
                resource(group, offered, held)
            })
            .collect();
        self.request_plan(cx, id, resources);
    }

    /// The machines of groups that answer claims.
    fn answering(&self) -> impl Iterator<Item = (GroupId, &Offered)> {
        let silent = self.silent_groups();
        self.offered()
            .filter(move |(group, _)| !silent.contains(group))
    }

    /// Whether a machine that fits an activity can only be in a group that does not answer.
    fn is_absent(&self, known: &Process, refusal: &Refusal) -> bool {
        let Refusal::NoResource { activity, .. } = refusal else {
            return false;
        };
        let silent = self.silent_groups();
        let answers = |group: &GroupId| {
            let link = self.groups.get(group);
            link.is_some_and(|link| link.offer.is_some()) && !silent.contains(group)
        };
        let mut groups = self.groups.keys().chain(&self.config.groups);
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

    pub(crate) fn offered(&self) -> impl Iterator<Item = (GroupId, &Offered)> {
        let all = self.groups.iter().flat_map(|(&group, link)| {
            link.offer
                .iter()
                .flat_map(move |offer| offer.resources.iter().map(move |one| (group, one)))
        });
        // The others only keep files.
        all.filter(|(_, one)| one.slots > 0)
    }

    /// Asks for a plan. Whether there is any machine to plan for.
    fn request_plan(
        &mut self,
        cx: &mut Context<'_, Self>,
        id: ProcessId,
        resources: Vec<Resource>,
    ) -> bool {
        let Some(known) = process(cx, id) else {
            return false;
        };
        let link = self.config.link.unwrap_or(LINK_UNKNOWN);
        let Ok(platform) = Platform::new(resources, Network::uniform(link)) else {
            let any = self.offered().next().is_some();
            let is_answered = self.answering().next().is_some();
            if let Some(live) = self.live.get_mut(&id) {
                let why = match (any, is_answered) {
                    (true, true) => "the machines are held by other processes",
                    (true, false) => "an answer of the group manager",
                    (false, _) => "no machine yet",
                };
                live.wants_absent = false;
                live.waiting_for = Some(why.to_owned());
                // Whether one of those fits is seen when they are free.
                live.misfit_since = None;
            }
            return false;
        };
        let scheduler = self.scheduler_for(id, known);
        let request = problem(known, platform, scheduler, self.config.link.is_some());
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
        cx.effect(Effect::Plan(Box::new(PlanRequest {
            process: id,
            basis,
            request,
        })));
        true
    }

    /// The algorithm for a process. A search would only polish a guess where nobody gave any work,
    /// and hold up the others where several wait.
    fn scheduler_for(&self, id: ProcessId, known: &Process) -> SchedulerKind {
        let is_waiting = |(&other, live): (&ProcessId, &Live)| {
            other != id && matches!(live.stage, Stage::Wanting)
        };
        let searches = self.config.scheduler == SchedulerKind::Xavantes;
        if searches && (!gives_work(known) || self.live.iter().any(is_waiting)) {
            return SchedulerKind::Best;
        }
        self.config.scheduler
    }

    pub(crate) fn on_planned(&mut self, cx: &mut Context<'_, Self>, now: Now, result: PlanResult) {
        let PlanResult {
            process: id,
            basis,
            result,
        } = result;
        let Some(live) = self.live.get_mut(&id) else {
            return;
        };
        let (n_offers, is_whole) = match live.stage {
            Stage::Planning {
                basis: asked,
                n_offers,
                is_whole,
            } if asked == basis => (n_offers, is_whole),
            Stage::Planning { .. } | Stage::Settled | Stage::Wanting | Stage::Claiming { .. } => {
                return;
            }
        };
        let Some(known) = process(cx, id) else { return };
        if known.phase() != Phase::Running {
            live.stage = Stage::Settled;
            return self.plan_next(cx);
        }
        match result {
            Ok(plan) => {
                live.misfit_since = None;
                live.wants_absent = false;
                let is_estimate = knows_work(known);
                self.claim_for(cx, now, id, plan, is_estimate);
            }
            Err(refusal) => {
                let wants_absent = self.is_absent(known, &refusal);
                let Some(live) = self.live.get_mut(&id) else {
                    return;
                };
                live.wants_absent = wants_absent;
                live.stage = Stage::Wanting;
                live.waiting_for = Some(format!("a machine that fits: {refusal}"));
                live.tried = Some(n_offers);
                // What has a plan waits for a machine that fits for as long as it takes; and what
                // fits may only be held by others, so that the wait for it begins when it is gone.
                let is_first = known.course.plan.generation.0 == 0;
                let may_fault = is_first && is_whole && !wants_absent;
                if may_fault {
                    let since = *live.misfit_since.get_or_insert(now.mono);
                    let until = since + self.config.patience;
                    // An offer that should have been followed by another may be out of date.
                    let is_fresh = |link: &GroupLink| {
                        !link.is_up || now.mono.since(link.offered) <= limits::OFFER_FRESH
                    };
                    if until <= now.mono && self.groups.values().all(is_fresh) {
                        let fault = refusal_fault(known, &refusal);
                        live.stage = Stage::Settled;
                        cx.record(Stream::Process(id), Event::Faulted(Box::new(fault)));
                        return self.settle(cx, now, id);
                    }
                    self.arm(Timer::Plan(id), until.max(now.mono + limits::REPEAT));
                } else {
                    live.misfit_since = None;
                }
                self.plan_next(cx);
            }
        }
    }

    /// Puts a plan in force whose slots are held.
    pub(crate) fn take_plan(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        id: ProcessId,
        plan: Plan,
        is_estimate: bool,
    ) {
        let machines: Vec<(ResourceId, String)> = self
            .offered()
            .map(|(_, one)| (one.resource, one.name.clone()))
            .collect();
        cx.record(
            Stream::Process(id),
            Event::Planned {
                plan,
                machines,
                is_estimate,
            },
        );
        if let Some(live) = self.live.get_mut(&id) {
            live.stage = Stage::Settled;
            live.waiting_for = None;
            live.n_replans = 0;
        }
        self.settle(cx, now, id);
        self.plan_next(cx);
    }
}

fn resource(group: GroupId, offered: &Offered, slots: u32) -> Option<Resource> {
    let slots = slots.min(offered.slots).min(CORES_MAX);
    (slots > 0).then(|| Resource {
        id: offered.resource,
        name: offered.name.clone(),
        group,
        power: offered.power,
        slots,
        memory: offered.memory,
        labels: offered.labels.clone(),
    })
}

fn knows_work(process: &Process) -> bool {
    process.course.n_seen > 0 || gives_work(process)
}

/// Whether the definition says of any activity how much it computes.
fn gives_work(process: &Process) -> bool {
    let graph = process.definition.graph();
    graph.nodes().any(|node| node.work > Work::ZERO)
}

/// What is to be planned: the whole process, works that nobody gave taken as the mean of those
/// that somebody did. Bytes count only where files cross between machines.
fn problem(
    process: &Process,
    platform: Platform,
    scheduler: SchedulerKind,
    files_cross: bool,
) -> schedule::Request {
    let produced = &process.course.produced;
    let all_bytes = sum(produced.values().map(|artifact| artifact.bytes.0));
    let mean_bytes = Bytes(all_bytes / produced.len().max(1) as u64);
    let graph = process.definition.graph();
    let given: Vec<Work> = graph
        .nodes()
        .map(|node| node.work)
        .filter(|work| work.0 > 0)
        .collect();
    let mean = if process.course.n_seen > 0 {
        Work(process.course.seen_wall.0 / u64::from(process.course.n_seen))
    } else if given.is_empty() {
        WORK_UNKNOWN
    } else {
        Work(sum(given.iter().map(|work| work.0)) / given.len() as u64)
    };
    let graph = graph.weighted(
        |node| match node.activity {
            Some(_) if node.work == Work::ZERO => mean,
            Some(_) | None => node.work,
        },
        |from, to, bytes| match (from.activity, to.activity) {
            (Some(from), Some(to)) if files_cross => bytes_given(process, from, to, mean_bytes),
            (Some(_) | None, _) => bytes,
        },
    );
    schedule::Request {
        graph,
        platform,
        demands: demands(process),
        ready: Vec::new(),
        placed: placed(process),
        generation: Generation(process.course.plan.generation.0 + 1),
        scheduler,
    }
}

/// The bytes that an activity is given of what another has produced; outputs that are not there yet
/// count as the mean of those that are.
fn bytes_given(process: &Process, from: ActivityId, to: ActivityId, mean: Bytes) -> Bytes {
    let declared = process.definition().activity(to);
    let inputs = declared.map_or(&[][..], |declared| &declared.inputs);
    let outputs = inputs.iter().filter_map(|input| match input.source {
        Source::Output { activity, output } if activity == from.node() => Some(output),
        Source::Output { .. } | Source::Input(_) => None,
    });
    let bytes = outputs.map(|output| {
        let produced = process.course.produced.get(&(from, output));
        produced.map_or(mean.0, |artifact| artifact.bytes.0)
    });
    Bytes(sum(bytes))
}

/// What machines and users say may add up to more than there is.
fn sum(values: impl Iterator<Item = u64>) -> u64 {
    values.fold(0, u64::saturating_add)
}

/// What has ended already or is out, and where what it produced lies or will lie.
fn placed(process: &Process) -> Vec<Placed> {
    let activities = process.definition().activities().iter();
    activities
        .filter_map(|&id| {
            let state = process.activity(id);
            let finish = match process.course.plan.entry(id) {
                Some(entry) if state.is_out() => Span(entry.finish.0.saturating_sub(entry.start.0)),
                Some(_) | None => Span::ZERO,
            };
            let placed = Placed {
                activity: id,
                resource: state.resource,
                finish,
            };
            (has_ended(state.phase) || state.is_out()).then_some(placed)
        })
        .collect()
}

/// What activities ask of a machine beside cores.
fn demands(process: &Process) -> BTreeMap<ActivityId, Demand> {
    let definition = process.definition();
    definition
        .activities()
        .iter()
        .filter_map(|&id| {
            let activity = definition.activity(id)?;
            let asks = activity.memory.is_some() || !activity.labels.is_empty();
            let memory = activity.memory.unwrap_or_default();
            let labels = activity.labels.clone();
            asks.then_some((id, Demand { memory, labels }))
        })
        .collect()
}

fn refusal_fault(process: &Process, refusal: &Refusal) -> Fault {
    match refusal {
        Refusal::NoResource { activity, misfit } => {
            let name = &process.definition().node(activity.node()).name;
            Fault::new(FaultName::NoResource, format!("{name} {misfit}")).of(*activity)
        }
        Refusal::Twice(_)
        | Refusal::Unknown(_)
        | Refusal::Graph(_)
        | Refusal::Problem(_)
        | Refusal::TooLong(_)
        | Refusal::Invalid { .. } => Fault::new(FaultName::NoResource, refusal.to_string()),
    }
}
