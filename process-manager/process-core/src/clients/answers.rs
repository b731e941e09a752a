//! Answers to clients: lists, statuses and progress, all read from the state.

use model::{ActivityId, NodeId, NodeKind, Now, ProcessId, Span, Wall};
use wire::client::{
    ActivityStatus, Answer, CONTROLLERS_SHOWN_MAX, ControllerProgress, Machine, Planned, Progress,
    RUNNING_SHOWN_MAX, Running, Status, Submit, Summary,
};

use crate::dispatch::Commands;
use crate::io::Effect;
use crate::limits;
use crate::parts::Parts;
use crate::parts::clients::Watcher;
use crate::process::Process;
use crate::step::Step;
use crate::stream::State;
use crate::submission::{Caller, ClientId};
use crate::timer::Timer;

impl Parts {
    pub(crate) fn list(&self, step: &Step<'_>, caller: &Caller) -> Answer {
        let mut all = summaries(step.cx.states().map(|(_, state)| state));
        all.retain(|one| caller.sees(one.owner.as_deref()));
        for one in &mut all {
            one.keep = self.kept_for(step, one.keep);
        }
        Answer::Processes(all)
    }

    pub(crate) fn status(&self, step: &Step<'_>, id: ProcessId) -> Answer {
        match step.cx.process(id) {
            Some(known) => Answer::Status(Box::new(self.status_of(step, known))),
            None => match step.cx.held(id) {
                Some(held) => Answer::Status(Box::new(held.status())),
                None => Answer::Unknown(id),
            },
        }
    }

    pub(crate) fn submission(&self, step: &Step<'_>, id: ProcessId) -> Answer {
        match step.cx.process(id) {
            Some(known) => Answer::Submission(Box::new(submission(known))),
            None => match step.cx.held(id) {
                Some(held) => Answer::Submission(Box::new(held.submission())),
                None => Answer::Unknown(id),
            },
        }
    }

    /// The machines that were offered last.
    pub(crate) fn machines_known(&self) -> Answer {
        let machines = self
            .market
            .offers()
            .flat_map(|offer| &offer.resources)
            .map(|one| Machine {
                resource: one.resource,
                name: one.name.clone(),
                slots: one.slots,
                bulk: one.bulk.clone(),
            });
        Answer::Machines(machines.collect())
    }

    fn status_of(&self, step: &Step<'_>, known: &Process) -> Status {
        let mut status = status(known);
        status.copies = self.files.missing_copies(step, &self.machines, known);
        status.summary.keep = self.kept_for(step, known.keep);
        status.waiting_for = self.market.waiting_for(known.id()).cloned();
        if let Some(running) = self.attempts.running(known.id()) {
            for activity in &mut status.activities {
                if let Some(&(at, pid)) = running.get(&activity.activity) {
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
        step: &mut Step<'_>,
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
            step.timers.cancel(Timer::Watch(client, number));
        }
        let refusal = if let Some(held) = step.cx.held(id) {
            Some(Answer::Progress(Box::new(held.progress())))
        } else if step.cx.process(id).is_none() {
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
            step.cx.effect(Effect::Answer {
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
                told: step.now.mono,
            },
        );
        self.tell_watcher(step, client, number);
    }

    /// Has the watchers of a process told, at once where the last time is long enough ago or the
    /// process has ended.
    pub(crate) fn notify_watchers(&mut self, step: &mut Step<'_>, id: ProcessId) {
        if self.watchers.is_empty() {
            return;
        }
        let ended = step
            .cx
            .process(id)
            .is_none_or(|known| known.phase().has_ended());
        let watchers: Vec<(ClientId, u64, model::Mono)> = self
            .watchers
            .iter()
            .filter(|(_, watcher)| watcher.process == id)
            .map(|(&(client, number), watcher)| (client, number, watcher.told))
            .collect();
        for (client, number, told) in watchers {
            let due = told + limits::WATCH;
            if ended || due <= step.now.mono {
                self.tell_watcher(step, client, number);
            } else {
                step.timers.set_once(Timer::Watch(client, number), due);
            }
        }
    }

    pub(crate) fn tell_watcher(&mut self, step: &mut Step<'_>, client: ClientId, number: u64) {
        let Some(watcher) = self.watchers.get_mut(&(client, number)) else {
            return;
        };
        let id = watcher.process;
        let Some(known) = step.cx.process(id) else {
            return;
        };
        let revision = self.revisions.get(&id).copied().unwrap_or(u64::MAX);
        if watcher.seen == revision && !known.phase().has_ended() {
            return;
        }
        watcher.seen = revision;
        watcher.told = step.now.mono;
        let mut progress = progress(known, self.attempts.running(id), step.now, revision);
        progress.waiting_for = self.market.waiting_for(id).cloned();
        let answer = Answer::Progress(Box::new(progress));
        if known.phase().has_ended() {
            self.watchers.remove(&(client, number));
            step.timers.cancel(Timer::Watch(client, number));
        }
        step.cx.effect(Effect::Answer {
            client,
            number,
            answer,
        });
    }
}

/// All processes, the newest first.
pub fn summaries<'a>(states: impl Iterator<Item = &'a State>) -> Vec<Summary> {
    let summaries = states.filter_map(|state| match state {
        State::Process(process) => Some(summary(process)),
        State::Held(held) => Some(held.summary()),
        State::Empty | State::Manager { .. } => None,
    });
    let mut all: Vec<Summary> = summaries.collect();
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
        ended: process.state.closed,
        totals: process.totals(),
        base: process.base,
        keep: process.keep,
        owner: process.owner.clone(),
        held: None,
    }
}

/// The submission of a process: inputs with their defaults filled in.
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
    let variables = names.zip(process.state.variables.iter().cloned()).collect();
    let activities = process.definition().activities();
    Status {
        summary: summary(process),
        inputs,
        outputs: process.state.outputs.clone(),
        variables,
        faults: process.state.faults.clone(),
        activities: activities
            .iter()
            .map(|&activity| activity_status(process, activity))
            .collect(),
        generation: process.state.plan.generation,
        planned: process.state.planned,
        machines: process.state.machines.clone(),
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
                let artifact = process.output_of(id, output as u32)?;
                Some((declared.name.clone(), artifact))
            })
            .collect(),
        None => Vec::new(),
    };
    let (holder, kept) = process.kept_by(id);
    ActivityStatus {
        activity: id,
        phase: process.activity(id).phase.into(),
        planned: process.state.plan.entry(id).map(|entry| Planned {
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

fn progress(process: &Process, running: Option<&Commands>, now: Now, revision: u64) -> Progress {
    let running = running.map_or(Vec::new(), |running| {
        running
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
        waiting_for: None,
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
            NodeKind::Sequence(children)
            | NodeKind::Parallel { children, .. }
            | NodeKind::If { children, .. } => {
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
    if process.state.n_seen > 0 && n_slots > 0 {
        let mean = process.state.seen_wall.0 / u64::from(process.state.n_seen);
        return Some(Span(
            mean.saturating_mul(n_left) / n_slots.min(n_left.max(1)),
        ));
    }
    process
        .state
        .planned
        .map(|planned| planned.saturating_sub(now.since(process.submitted)))
}
