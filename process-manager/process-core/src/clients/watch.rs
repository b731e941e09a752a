//! Watchers of processes: clients that are told of the progress.

use std::collections::{BTreeMap, BTreeSet};

use model::{Mono, ProcessId, ResourceId, Span};
use wire::client::{
    Answer, ControllerProgress, InBackoff, Progress, RUNNING_SHOWN_MAX, Rescheduled, Running,
};

use super::left::{Left, left, serves_for};
use super::{Asking, Clients, Shown, tell};
use crate::dispatch::Commands;
use crate::limits;
use crate::process::Process;
use crate::step::Step;
use crate::submission::ClientId;
use crate::timer::Timer;

/// All clients that watch a process.
#[derive(Debug, Default)]
pub(super) struct Watchers {
    by_asking: BTreeMap<Asking, Watcher>,
    by_process: BTreeMap<ProcessId, BTreeSet<Asking>>,
    /// The remaining time of each watched process, as it was last counted.
    left: BTreeMap<ProcessId, (Mono, Left)>,
}

/// A client that watches a process.
#[derive(Debug)]
struct Watcher {
    process: ProcessId,
    seen: u64,
    told: Mono,
}

impl Watchers {
    /// Clients that watch, counted once a process.
    pub(super) fn len(&self) -> usize {
        self.by_asking.len()
    }

    fn insert(&mut self, asking: Asking, watcher: Watcher) {
        let same = self.by_process.entry(watcher.process).or_default();
        same.insert(asking);
        self.by_asking.insert(asking, watcher);
    }

    fn remove(&mut self, asking: Asking) {
        let Some(watcher) = self.by_asking.remove(&asking) else {
            return;
        };
        if let Some(same) = self.by_process.get_mut(&watcher.process) {
            same.remove(&asking);
            if same.is_empty() {
                self.by_process.remove(&watcher.process);
                self.left.remove(&watcher.process);
            }
        }
    }

    /// The remaining time of a process, counted again where the last count is old.
    fn left(&mut self, process: &Process, running: Option<&Commands>, step: &Step<'_>) -> Left {
        let now = step.now.mono;
        let serves_for = serves_for(process);
        let known = self.left.get(&process.id());
        let known = known.filter(|(at, _)| now.since(*at) < serves_for);
        let known = known.filter(|_| !process.phase().has_ended());
        if let Some(&(at, counted)) = known {
            return counted.after(now.since(at));
        }
        let counted = left(process, step.history, running, step.now.wall);
        self.left.insert(process.id(), (now, counted));
        counted
    }

    /// The requests of a client to watch processes.
    fn of(&self, client: ClientId) -> impl Iterator<Item = (Asking, &Watcher)> {
        let all = (client, 0)..=(client, u64::MAX);
        let watchers = self.by_asking.range(all);
        watchers.map(|(&asking, watcher)| (asking, watcher))
    }

    /// The time between two reports to one of them.
    fn interval(&self) -> Span {
        let n_watchers = self.by_asking.len() as u64;
        limits::WATCH.max(Span(n_watchers * 1_000_000 / limits::REPORTS_A_SECOND))
    }
}

impl Clients {
    /// Notes a change of a process that a watcher could see.
    pub(crate) fn touch(&mut self, id: ProcessId) {
        if let Some(revision) = self.revisions.get_mut(&id) {
            *revision += 1;
        }
    }

    /// Begins to tell a client of a process. Its earlier watch of the same process ends with that,
    /// so that one who asks again and again takes one place.
    pub(super) fn watch(
        &mut self,
        step: &mut Step<'_>,
        shown: Shown<'_>,
        (client, number): Asking,
        id: ProcessId,
    ) {
        let earlier = self.watchers.of(client);
        let earlier: Vec<Asking> = earlier
            .filter(|(_, watcher)| watcher.process == id)
            .map(|(asking, _)| asking)
            .collect();
        for (client, number) in earlier {
            self.watchers.remove((client, number));
            step.timers.cancel(Timer::Watch(client, number));
        }
        let refusal = if let Some(held) = step.cx.held(id) {
            Some(Answer::Progress(Box::new(held.progress())))
        } else if step.cx.process(id).is_none() {
            Some(Answer::Unknown(id))
        } else if self.watchers.by_asking.len() >= limits::WATCHERS_MAX {
            let many = limits::WATCHERS_MAX;
            Some(Answer::Refused(vec![format!(
                "{many} clients are watching here already"
            )]))
        } else {
            None
        };
        if let Some(answer) = refusal {
            return tell(step, (client, number), answer);
        }
        self.watchers.insert(
            (client, number),
            Watcher {
                process: id,
                seen: 0,
                told: step.now.mono,
            },
        );
        self.tell_watcher(step, shown, (client, number));
    }

    /// Has the watchers of a process told, at once where the last time is long enough ago or the
    /// process has ended.
    pub(crate) fn notify_watchers(&mut self, step: &mut Step<'_>, shown: Shown<'_>, id: ProcessId) {
        let Some(watching) = self.watchers.by_process.get(&id) else {
            return;
        };
        let ended = step
            .cx
            .process(id)
            .is_none_or(|known| known.phase().has_ended());
        let all = &self.watchers.by_asking;
        let watchers: Vec<(ClientId, u64, Mono)> = watching
            .iter()
            .filter_map(|asking| Some((asking.0, asking.1, all.get(asking)?.told)))
            .collect();
        let interval = self.watchers.interval();
        for (client, number, told) in watchers {
            let due = told + interval;
            if ended || due <= step.now.mono {
                self.tell_watcher(step, shown, (client, number));
            } else {
                step.timers.set_once(Timer::Watch(client, number), due);
            }
        }
    }

    /// Tells a watcher what has changed since it was told last.
    pub(crate) fn tell_watcher(
        &mut self,
        step: &mut Step<'_>,
        shown: Shown<'_>,
        (client, number): Asking,
    ) {
        let Some(watcher) = self.watchers.by_asking.get_mut(&(client, number)) else {
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
        let running = shown.attempts.running(id);
        let left = self.watchers.left(known, running, step);
        let mut progress = progress(known, running, left, revision);
        (progress.run_again, progress.n_run_again) = shown.attempts.run_again(id);
        progress.waiting_for = shown.grid.market.waiting_for(known);
        let answer = Answer::Progress(Box::new(progress));
        if known.phase().has_ended() {
            self.watchers.remove((client, number));
            step.timers.cancel(Timer::Watch(client, number));
        }
        tell(step, (client, number), answer);
    }

    /// A client has gone: nobody is to be told of the processes that it watches.
    pub(super) fn forget_watches(&mut self, step: &mut Step<'_>, client: ClientId) {
        let gone: Vec<Asking> = self.watchers.of(client).map(|(asking, _)| asking).collect();
        for (client, number) in gone {
            self.watchers.remove((client, number));
            step.timers.cancel(Timer::Watch(client, number));
        }
    }
}

fn progress(process: &Process, running: Option<&Commands>, left: Left, revision: u64) -> Progress {
    let running = running.map_or(Vec::new(), |running| {
        running
            .iter()
            // Of a race, one attempt is shown.
            .filter(|&(&(activity, number), _)| process.activity(activity).number == number)
            .take(RUNNING_SHOWN_MAX)
            .map(|(&(activity, _), &(since, _))| {
                let state = process.activity(activity);
                Running {
                    activity,
                    number: state.number,
                    resource: state.resource,
                    since,
                    name: process.grown_name(activity),
                }
            })
            .collect()
    });
    let rescheduled: Option<Rescheduled> = process.moves().last().map(Into::into);
    Progress {
        process: process.id(),
        revision,
        phase: process.phase().into(),
        totals: process.totals(),
        controllers: controllers(process),
        running,
        left: left.median,
        waiting_for: None,
        left_p90: left.p90,
        machines: names(process, rescheduled.as_ref()),
        rescheduled,
        n_rescheduled: process.n_moves(),
        run_again: Vec::new(),
        n_run_again: 0,
        backoff: in_backoff(process),
    }
}

/// The names of the machines that a plan is told of.
fn names(process: &Process, rescheduled: Option<&Rescheduled>) -> Vec<(ResourceId, String)> {
    let Some(rescheduled) = rescheduled else {
        return Vec::new();
    };
    let routes = rescheduled.routes.iter();
    let named: BTreeSet<ResourceId> = routes
        .flat_map(|route| [route.from, route.to])
        .chain([rescheduled.resource])
        .collect();
    let machines = process.state.machines.iter();
    let named = machines.filter(|(one, _)| named.contains(one));
    named.cloned().collect()
}

fn in_backoff(process: &Process) -> Option<InBackoff> {
    let backoffs = &process.index.backoffs;
    let &(until, activity) = backoffs.first()?;
    Some(InBackoff {
        n: backoffs.len() as u64,
        activity,
        name: process.grown_name(activity),
        until,
    })
}

fn controllers(process: &Process) -> Vec<ControllerProgress> {
    let index = &process.index;
    let shown = index.shown.iter().map(|&node| ControllerProgress {
        node,
        n_ended: index.n_ended[node.index()],
        n_all: index.n_all[node.index()],
    });
    shown.collect()
}
