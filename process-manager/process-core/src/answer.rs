//! What clients are told: lists, statuses and progress, all of it read from the state.

use machine::{Context, States};
use model::{ActivityId, NodeId, NodeKind, Now, ProcessId, Span, Wall};
use wire::client::{
    ActivityStatus, Answer, CONTROLLERS_SHOWN_MAX, ControllerProgress, Machine, Planned, Progress,
    RUNNING_SHOWN_MAX, Running, Status, Submit, Summary,
};

use crate::held::held;
use crate::io::{Caller, ClientId, Effect};
use crate::manager::{Live, ProcessManager, State, Timer, Watcher, limits, process};
use crate::process::Process;

impl ProcessManager {
    pub(crate) fn list(&self, cx: &Context<'_, Self>, caller: &Caller) -> Answer {
        let mut all = summaries(cx.states());
        all.retain(|one| caller.sees(one.owner.as_deref()));
        for one in &mut all {
            one.keep = self.kept_for(one.keep);
        }
        Answer::Processes(all)
    }

    pub(crate) fn status(&self, cx: &Context<'_, Self>, id: ProcessId) -> Answer {
        match process(cx, id) {
            Some(known) => Answer::Status(Box::new(self.status_of(known))),
            None => match held(cx, id) {
                Some(held) => Answer::Status(Box::new(held.status())),
                None => Answer::Unknown(id),
            },
        }
    }

    pub(crate) fn submission(&self, cx: &Context<'_, Self>, id: ProcessId) -> Answer {
        match process(cx, id) {
            Some(known) => Answer::Submission(Box::new(submission(known))),
            None => match held(cx, id) {
                Some(held) => Answer::Submission(Box::new(held.submission())),
                None => Answer::Unknown(id),
            },
        }
    }

    /// The machines that were offered last.
    pub(crate) fn machines_known(&self) -> Answer {
        let offers = self
            .groups
            .values()
            .filter_map(|group| group.offer.as_ref());
        let machines = offers
            .flat_map(|offer| &offer.resources)
            .map(|one| Machine {
                resource: one.resource,
                name: one.name.clone(),
                slots: one.slots,
                bulk: one.bulk.clone(),
            });
        Answer::Machines(machines.collect())
    }

    fn status_of(&self, known: &Process) -> Status {
        let mut status = status(known);
        status.copies = self.missing_copies(known);
        status.summary.keep = self.kept_for(known.keep);
        if let Some(live) = self.live.get(&known.id()) {
            status.waiting_for.clone_from(&live.waiting_for);
            for activity in &mut status.activities {
                if let Some(&(at, pid)) = live.running.get(&activity.activity) {
                    activity.phase = wire::client::ActivityPhase::Running;
                    if let Some(last) = activity.attempts.last_mut() {
                        last.started = Some(at);
                        last.pid = pid;
                    }
                }
            }
        }
        status
    }

    /// Begins to tell a client of a process. Its earlier watch of the same process ends with that,
    /// so that one who asks again and again takes one place.
    pub(crate) fn watch(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        client: ClientId,
        number: u64,
        id: ProcessId,
    ) {
        let earlier: Vec<u64> = self
            .watchers
            .range((client, 0)..=(client, u64::MAX))
            .filter(|(_, watcher)| watcher.process == id)
            .map(|(&(_, number), _)| number)
            .collect();
        for number in earlier {
            self.watchers.remove(&(client, number));
            self.disarm(Timer::Watch(client, number));
        }
        let refusal = if let Some(held) = held(cx, id) {
            Some(Answer::Progress(Box::new(held.progress())))
        } else if process(cx, id).is_none() {
            Some(Answer::Unknown(id))
        } else if self.watchers.len() >= limits::WATCHERS_MAX {
            let many = limits::WATCHERS_MAX;
            Some(Answer::Refused(vec![format!(
                "{many} clients are watching here already"
            )]))
        } else {
            None
        };
        if let Some(answer) = refusal {
            cx.effect(Effect::Answer {
                client,
                number,
                answer,
            });
            return;
        }
        self.watchers.insert(
            (client, number),
            Watcher {
                process: id,
                seen: 0,
                told: now.mono,
            },
        );
        self.tell_watcher(cx, now, client, number);
    }

    /// Has the watchers of a process told, at once where the last time is long enough ago or the
    /// process has ended.
    pub(crate) fn notify_watchers(&mut self, cx: &mut Context<'_, Self>, now: Now, id: ProcessId) {
        if self.watchers.is_empty() {
            return;
        }
        let ended = process(cx, id).is_none_or(|known| known.phase().has_ended());
        let watchers: Vec<(ClientId, u64, model::Mono)> = self
            .watchers
            .iter()
            .filter(|(_, watcher)| watcher.process == id)
            .map(|(&(client, number), watcher)| (client, number, watcher.told))
            .collect();
        for (client, number, told) in watchers {
            let due = told + limits::WATCH;
            if ended || due <= now.mono {
                self.tell_watcher(cx, now, client, number);
            } else {
                self.arm_once(Timer::Watch(client, number), due);
            }
        }
    }

    pub(crate) fn tell_watcher(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        client: ClientId,
        number: u64,
    ) {
        let Some(watcher) = self.watchers.get_mut(&(client, number)) else {
            return;
        };
        let id = watcher.process;
        let Some(known) = process(cx, id) else { return };
        let live = self.live.get(&id);
        let revision = live.map_or(u64::MAX, |live| live.revision);
        if watcher.seen == revision && !known.phase().has_ended() {
            return;
        }
        watcher.seen = revision;
        watcher.told = now.mono;
        let answer = Answer::Progress(Box::new(progress(known, live, now, revision)));
        if known.phase().has_ended() {
            self.watchers.remove(&(client, number));
            self.disarm(Timer::Watch(client, number));
        }
        cx.effect(Effect::Answer {
            client,
            number,
            answer,
        });
    }
}

/// All processes, the newest first.
pub fn summaries(states: &States<ProcessManager>) -> Vec<Summary> {
    let mut all: Vec<Summary> = states
        .iter()
        .filter_map(|(_, state)| match state {
            State::Process(process) => Some(summary(process)),
            State::Held(held) => Some(held.summary()),
            State::Empty | State::Manager { .. } => None,
        })
        .collect();
    all.sort_by_key(|one| (std::cmp::Reverse(one.submitted), one.process));
    all
}

/// A process in a line.
pub fn summary(process: &Process) -> Summary {
    Summary {
        process: process.id(),
        name: process.definition().name().to_owned(),
        origin: process.origin.clone(),
        phase: process.phase().into(),
        submitted: process.submitted,
        ended: process.course.closed,
        totals: process.totals(),
        base: process.base,
        keep: process.keep,
        owner: process.owner.clone(),
        held: None,
    }
}

/// What was submitted: inputs with their defaults filled in.
pub fn submission(process: &Process) -> Submit {
    let draft = process.definition().draft();
    let names = draft.inputs.iter().map(|input| input.name.clone());
    Submit {
        key: process.key,
        draft: draft.clone(),
        inputs: names.zip(process.inputs.iter().cloned()).collect(),
        files: process.files.clone(),
        origin: process.origin.clone(),
        base: process.base,
        keep_going: process.keep_going,
        keep: process.keep,
        store: process.store,
    }
}

/// Everything that is recorded of a process.
pub fn status(process: &Process) -> Status {
    let draft = process.definition().draft();
    let names = draft.inputs.iter().map(|input| input.name.clone());
    let inputs = names.zip(process.inputs.iter().cloned()).collect();
    let names = draft.variables.iter().map(|variable| variable.name.clone());
    let variables = names
        .zip(process.course.variables.iter().cloned())
        .collect();
    let activities = process.definition().activities();
    Status {
        summary: summary(process),
        inputs,
        outputs: process.course.outputs.clone(),
        variables,
        faults: process.course.faults.clone(),
        activities: activities
            .iter()
            .map(|&activity| activity_status(process, activity))
            .collect(),
        generation: process.course.plan.generation,
        planned: process.course.planned,
        machines: process.course.machines.clone(),
        waiting_for: None,
        keep_going: process.keep_going,
        copies: None,
    }
}

pub(crate) fn activity_status(process: &Process, id: ActivityId) -> ActivityStatus {
    let outputs = match process.definition().activity(id) {
        Some(activity) => activity
            .outputs
            .iter()
            .enumerate()
            .filter_map(|(output, declared)| {
                let artifact = process.course.produced.get(&(id, output as u32))?;
                Some((declared.name.clone(), *artifact))
            })
            .collect(),
        None => Vec::new(),
    };
    let (holder, kept) = process.kept_by(id);
    ActivityStatus {
        activity: id,
        phase: process.activity(id).phase.into(),
        planned: process.course.plan.entry(id).map(|entry| Planned {
            resource: entry.resource,
            slot: entry.slot,
            start: entry.start,
            finish: entry.finish,
        }),
        attempts: process.attempts(id),
        outputs,
        reused: process.reused(id),
        copy: kept.or(holder),
    }
}

fn progress(process: &Process, live: Option<&Live>, now: Now, revision: u64) -> Progress {
    let running = live.map_or(Vec::new(), |live| {
        live.running
            .iter()
            .take(RUNNING_SHOWN_MAX)
            .map(|(&activity, &(since, _))| {
                let state = process.activity(activity);
                Running {
                    activity,
                    number: state.number,
                    resource: state.resource,
                    since,
                }
            })
            .collect()
    });
    Progress {
        process: process.id(),
        revision,
        phase: process.phase().into(),
        totals: process.totals(),
        controllers: controllers(process),
        running,
        left: left(process, now.wall),
        waiting_for: live.and_then(|live| live.waiting_for.clone()),
    }
}

/// The controllers nearest the root, in the order of a breadth-first walk.
fn controllers(process: &Process) -> Vec<ControllerProgress> {
    let definition = process.definition();
    let mut shown = Vec::new();
    let mut open = std::collections::VecDeque::from([NodeId(0)]);
    while let Some(node) = open.pop_front() {
        if shown.len() == CONTROLLERS_SHOWN_MAX {
            break;
        }
        match &definition.node(node).kind {
            NodeKind::Sequence(children) | NodeKind::Parallel { children, .. } => {
                shown.push(ControllerProgress {
                    node,
                    n_ended: process.index.n_ended[node.index()],
                    n_all: process.index.n_all[node.index()],
                });
                let room = CONTROLLERS_SHOWN_MAX * 4;
                let n_more = room.saturating_sub(open.len());
                let is_controller =
                    |child: &&NodeId| !definition.node(**child).children().is_empty();
                open.extend(children.iter().filter(is_controller).take(n_more));
            }
            NodeKind::Activity(_) | NodeKind::Assign(_) | NodeKind::Empty => {}
        }
    }
    shown
}

/// About how long a process will still take: by what its activities took so far, else by its plan.
fn left(process: &Process, now: Wall) -> Option<Span> {
    if process.phase().has_ended() {
        return None;
    }
    let totals = process.totals();
    let n_left = u64::from(totals.waiting + totals.ready + totals.running);
    let n_slots: u64 = process.grants().map(|grant| u64::from(grant.slots)).sum();
    if process.course.n_seen > 0 && n_slots > 0 {
        let mean = process.course.seen_wall.0 / u64::from(process.course.n_seen);
        return Some(Span(
            mean.saturating_mul(n_left) / n_slots.min(n_left.max(1)),
        ));
    }
    process
        .course
        .planned
        .map(|planned| planned.saturating_sub(now.since(process.submitted)))
}
