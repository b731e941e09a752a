//! Planning again what has not started, and moving it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::engine::{Command, Rounds};
use super::machine::Machine;
use super::policy::{MOVABLE_MAX, Scope, Sizing};
use super::progress::Phase;
use super::question::{Answer, Narrower, Question, Restart};
use crate::order::less;

/// A question that is not settled.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Open {
    number: u64,
    /// The machine that was judged.
    host: u32,
    /// True if the tasks of that machine alone may move, because too many wait.
    is_of_many: bool,
    /// The end of the process up to which the tasks of that machine alone may move for the other reason.
    alone_until: Option<f64>,
    answer: Option<Answer>,
    /// Tasks that run and may be stopped.
    stoppable: Vec<u32>,
    /// Tasks to be retracted before the answer comes into force.
    awaited: BTreeSet<u32>,
    /// Tasks that have left their machine and not come to the next one, so that nobody sends them.
    on_the_way: BTreeSet<u32>,
}

/// The expectation when a plan did not pay, or a later one with a sooner end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Vain {
    /// The moment.
    at: f64,
    /// The time at which the process was to end.
    end: f64,
    /// The mean factor that machines were believed to have.
    factor: f64,
}

impl Vain {
    /// The same end if nothing but the mean factor is another: where all machines are slower alike, no place is
    /// better than before.
    fn end_with(&self, factor: f64) -> f64 {
        self.at + (self.end - self.at) * self.factor / factor
    }
}

impl Rounds {
    /// Has the tasks of a machine planned again, as soon as no other question is open.
    pub(super) fn want_plan(&mut self, host: u32, commands: &mut Vec<Command>) {
        self.pending.insert(host);
        self.ask(commands);
    }

    /// True if the open question is about a machine.
    pub(super) fn is_asked_for(&self, host: u32) -> bool {
        self.open.as_ref().is_some_and(|open| open.host == host)
    }

    /// Asks for the plan of a machine that waits for one, if there is no open question.
    pub(super) fn ask(&mut self, commands: &mut Vec<Command>) {
        while self.open.is_none()
            && let Some(host) = self.next_pending()
        {
            self.pending.remove(&host);
            let (movable, is_of_all) = self.movable(host);
            let is_of_many = self.policy.scope == Scope::All && !is_of_all;
            let narrower = self.policy.wider_gain_least.filter(|_| is_of_all);
            let narrower = narrower.map(|gain_least| Narrower {
                movable: self.movable_of(host),
                gain_least,
                alone_until: self.alone_until(host),
            });
            let restarts = self.restarts(is_of_many);
            if movable.is_empty() && restarts.is_none() {
                continue;
            }
            self.n_questions += 1;
            match Arc::get_mut(&mut self.asked) {
                Some(asked) => asked.copy(&self.progress),
                None => self.asked = Arc::new(self.progress.clone()),
            }
            let question = Question {
                number: self.n_questions,
                movable,
                narrower,
                restarts,
                // A machine that has vanished finishes nothing: any plan is better.
                gain_least: match is_of_many || self.progress.gone[host as usize] {
                    true => None,
                    false => self.policy.gain_least,
                },
                progress: self.asked.clone(),
            };
            let narrower = question.narrower.as_ref();
            self.open = Some(Open {
                number: question.number,
                host,
                is_of_many,
                alone_until: narrower.and_then(|narrower| narrower.alone_until),
                answer: None,
                stoppable: question.stoppable().iter().map(|&(task, _)| task).collect(),
                awaited: BTreeSet::new(),
                on_the_way: BTreeSet::new(),
            });
            commands.push(Command::Plan(Box::new(question)));
        }
    }

    /// The end of the process up to which a loss of a machine has its own tasks alone planned, if the last plan
    /// did not pay.
    fn alone_until(&self, host: u32) -> Option<f64> {
        let later = self.policy.wider_later_least?;
        let vain = self.vain.filter(|_| !self.progress.gone[host as usize])?;
        Some(vain.end_with(self.mean_factor()) + later * vain.end)
    }

    /// A plan did not pay, while the process was expected to end at a time. What others would have gained is known
    /// only where the tasks of the slow machine were not planned alone.
    fn was_vain(&mut self, end: f64, was_alone: bool) {
        let factor = self.mean_factor();
        let at = self.progress.now;
        let is_later = |vain: Vain| end >= vain.end_with(factor);
        if end.is_finite() && !(was_alone && self.vain.is_some_and(is_later)) {
            self.vain = Some(Vain { at, end, factor });
        }
    }

    /// The mean factor that machines are believed to have.
    fn mean_factor(&self) -> f64 {
        let factors = &self.progress.factor;
        factors.iter().sum::<f64>() / factors.len() as f64
    }

    /// The machine that is asked about next. A machine that has vanished is never waited with.
    fn next_pending(&self) -> Option<u32> {
        let first = self.pending.first().copied()?;
        if self.policy.questions_max.is_none() || !self.has_many_waiting() {
            return Some(first);
        }
        let mut pending = self.pending.iter().copied();
        if let Some(gone) = pending.find(|&host| self.progress.gone[host as usize]) {
            return Some(gone);
        }
        if self.progress.now < self.patient_until {
            return None;
        }
        let left = |host: u32| {
            let machine = &self.machines[host as usize];
            let slots = machine.queues().len().max(1) as f64;
            let tasks = machine
                .waiting()
                .map(|rank| self.setting.order[rank as usize]);
            let tasks = tasks.map(|task| self.progress.duration(&self.setting, task, host));
            tasks.sum::<f64>() / slots
        };
        let pending = self.pending.iter().map(|&host| (left(host), host));
        let longest = pending.reduce(|longest, other| match less(longest.0, other.0) {
            true => other,
            false => longest,
        });
        longest.map(|(_, host)| host)
    }

    /// The time at which the next question is asked, if machines wait for one and none is open.
    pub(super) fn asks_at(&self) -> Option<f64> {
        let waits = self.open.is_none() && !self.pending.is_empty();
        waits.then_some(self.patient_until)
    }

    /// The tasks that run and may be stopped, if there are any: those that run on for longer, by what
    /// is believed of them, than they take on the best machine.
    fn restarts(&self, is_of_many: bool) -> Option<Restart> {
        let restarts = self.policy.restarts?;
        // Ends that are believed of a task hold until it is looked at again.
        let may_stop = |&task: &u32| {
            let left = self.ends_after[task as usize] - self.progress.now;
            left > 0.0
                && self.progress.is_running(task)
                && !less(left, self.setting.shortest[task as usize])
                && self.n_stops[task as usize] < restarts.times_max
        };
        let stoppable = self.setting.order.iter().copied().filter(may_stop);
        let stoppable = stoppable.map(|task| (task, self.ends_after[task as usize]));
        let stoppable: Vec<(u32, f64)> = stoppable.collect();
        (!stoppable.is_empty()).then_some(Restart {
            stoppable,
            alone: is_of_many,
            gain_least: restarts.gain_least,
            later_least: restarts.later_least,
        })
    }

    /// True if more tasks wait than are planned together.
    fn has_many_waiting(&self) -> bool {
        let waiting = self.machines.iter().map(Machine::n_waiting);
        self.policy.scope == Scope::All && waiting.sum::<usize>() > MOVABLE_MAX
    }

    /// The tasks that may move when a machine was slow, in order, and true if these are those of all
    /// machines; none if only gates are left, which go along with what is around them.
    fn movable(&self, host: u32) -> (Vec<u32>, bool) {
        match self.policy.scope {
            Scope::All if !self.has_many_waiting() => {
                let tasks = self.setting.order.iter().copied();
                let waiting = tasks.filter(|&task| self.progress.is_waiting(task));
                let waiting: Vec<u32> = waiting.collect();
                match waiting.iter().all(|&task| self.is_gate(task)) {
                    true => (Vec::new(), true),
                    false => (waiting, true),
                }
            }
            Scope::All | Scope::Machine => (self.movable_of(host), false),
        }
    }

    /// The tasks of one machine that may move, likewise.
    fn movable_of(&self, host: u32) -> Vec<u32> {
        let ranks = self.machines[host as usize].waiting().collect();
        self.with_gates(ranks, |gate| self.progress.host[gate as usize] == host)
    }

    /// The tasks at these ranks in order, with the gates around them.
    fn with_gates(&self, mut ranks: Vec<u32>, is_around: impl Fn(u32) -> bool) -> Vec<u32> {
        if ranks.is_empty() {
            return ranks;
        }
        let gates = self.setting.gates.iter();
        let gates = gates.filter(|&&task| is_around(task) && self.progress.is_waiting(task));
        ranks.extend(gates.map(|&task| self.setting.rank(task)));
        ranks.sort_unstable();
        let tasks = ranks.iter().map(|&rank| self.setting.order[rank as usize]);
        tasks.collect()
    }

    /// Retracts what a plan moves, if the plan is kept.
    pub(super) fn planned(&mut self, answer: Answer, commands: &mut Vec<Command>) {
        let Some(open) = &mut self.open else {
            return;
        };
        if open.number != answer.number || open.answer.is_some() || !answer.fits(&self.setting) {
            return;
        }
        let host = open.host;
        if let Some(most) = self.policy.questions_max.filter(|_| open.is_of_many) {
            let pause = answer.before / f64::from(most);
            // Where nothing ends as things are, the next plan cannot come too soon.
            self.patient_until = self.progress.now + if pause.is_finite() { pause } else { 0.0 };
        }
        let pays = match self.policy.gain_least {
            None => true,
            // While other machines are slow too, moving the tasks of one seldom shortens the whole.
            Some(_) if open.is_of_many => !less(answer.before, answer.after),
            Some(least) => less(answer.after, (1.0 - least) * answer.before),
        };
        // A machine that has vanished finishes nothing: any plan is better.
        if !pays && !self.progress.gone[host as usize] {
            if !open.is_of_many {
                let was_alone = open.alone_until.is_some_and(|end| answer.before <= end);
                self.was_vain(answer.before, was_alone);
            }
            self.open = None;
            let kept = false;
            commands.push(Command::Replanned { host, answer, kept });
            self.settled(host, commands);
            return;
        }
        self.vain = None;
        // By machine: the ranks of the tasks that it is to give back, and of those that it is to stop.
        let mut leaving: BTreeMap<u32, [Vec<u32>; 2]> = BTreeMap::new();
        for (task, to, _) in answer.moves(&self.setting) {
            let from = self.progress.host[task as usize];
            let rank = self.setting.rank(task);
            if from == to {
                continue;
            }
            if !self.progress.is_waiting(task) {
                if self.progress.is_running(task) && open.stoppable.contains(&task) {
                    open.awaited.insert(task);
                    leaving.entry(from).or_default()[1].push(rank);
                }
                continue;
            }
            if self.machines[from as usize].sent().contains(&rank) {
                open.awaited.insert(task);
                leaving.entry(from).or_default()[0].push(rank);
            } else {
                let slot = self.progress.slot[task as usize] as usize;
                let slots = slot..slot + self.setting.problem().dag().cores(task) as usize;
                if self.machines[from as usize].left(rank, slots) {
                    open.on_the_way.insert(task);
                }
            }
        }
        let in_order = |mut ranks: Vec<u32>| {
            ranks.sort_unstable();
            let tasks = ranks.iter().map(|&rank| self.setting.order[rank as usize]);
            tasks.collect::<Vec<u32>>()
        };
        for (host, leaving) in leaving {
            let [recalled, stopped] = leaving.map(in_order);
            if !recalled.is_empty() {
                let tasks = recalled;
                commands.push(Command::Retract { host, tasks });
            }
            if !stopped.is_empty() {
                let tasks = stopped;
                commands.push(Command::Stop { host, tasks });
            }
        }
        open.answer = Some(answer);
        self.put_in_force(commands);
    }

    pub(super) fn retracted(&mut self, task: u32, commands: &mut Vec<Command>) {
        let (rank, slots) = match self.knows(task) {
            true => (self.setting.rank(task), self.slots(task)),
            false => return,
        };
        if let Some(open) = &mut self.open
            && open.awaited.contains(&task)
            && self.progress.is_waiting(task)
        {
            let machine = &mut self.machines[self.progress.host[task as usize] as usize];
            machine.was_retracted(rank, slots.clone());
            machine.left(rank, slots);
            open.on_the_way.insert(task);
            self.answered(task, commands);
        }
    }

    /// A task that ran waits again, to start elsewhere.
    pub(super) fn stopped(&mut self, task: u32, commands: &mut Vec<Command>) {
        let (rank, slots) = match self.knows(task) {
            true => (self.setting.rank(task), self.slots(task)),
            false => return,
        };
        if let Some(open) = &mut self.open
            && open.awaited.contains(&task)
            && self.progress.is_running(task)
        {
            let machine = &mut self.machines[self.progress.host[task as usize] as usize];
            machine.was_stopped(task, rank, slots.clone());
            machine.left(rank, slots);
            self.progress.phase[task as usize] = Phase::Waiting;
            self.overdue_next = None;
            self.ends_after[task as usize] = 0.0;
            self.n_stops[task as usize] += 1;
            open.on_the_way.insert(task);
            self.answered(task, commands);
        }
    }

    /// A task that may have been asked back is known to be retracted or to have started.
    pub(super) fn answered(&mut self, task: u32, commands: &mut Vec<Command>) {
        if let Some(open) = &mut self.open
            && open.awaited.remove(&task)
        {
            self.put_in_force(commands);
        }
    }

    /// Moves tasks once everything that moves is retracted.
    fn put_in_force(&mut self, commands: &mut Vec<Command>) {
        let is_settled = |open: &mut Open| open.answer.is_some() && open.awaited.is_empty();
        let Some(open) = self.open.take_if(is_settled) else {
            return;
        };
        let (host, on_the_way) = (open.host, open.on_the_way);
        let Some(answer) = open.answer else {
            return;
        };
        for (task, to, slot) in answer.moves(&self.setting) {
            if !self.progress.is_waiting(task) {
                continue;
            }
            let (from, old) = (self.progress.host[task as usize], self.slots(task));
            let rank = self.setting.rank(task);
            if self.progress.gone[to as usize] {
                if on_the_way.contains(&task) {
                    self.machines[from as usize].came(rank, old);
                }
                if self.progress.gone[from as usize] {
                    self.pending.insert(from);
                }
                continue;
            }
            self.progress.slot[task as usize] = slot;
            let slots = self.slots(task);
            if from == to {
                self.machines[to as usize].shifted(rank, old, slots);
                continue;
            }
            self.progress.host[task as usize] = to;
            self.progress.since[task as usize] = self.progress.now;
            if !self.is_gate(task) {
                self.machines[from as usize].left(rank, old);
                self.machines[to as usize].came(rank, slots);
            }
        }
        self.progress.controllers.clone_from(&answer.controllers);
        let kept = true;
        commands.push(Command::Replanned { host, answer, kept });
        for host in 0..self.machines.len() as u32 {
            self.send_ahead(host, commands);
        }
        self.settled(host, commands);
    }

    /// Opens rounds when a question is settled: of the machine that was judged, then of all others
    /// that have tasks and nothing to do.
    fn settled(&mut self, judged: u32, commands: &mut Vec<Command>) {
        self.send(judged, commands);
        let (round, extent) = {
            let machine = &self.machines[judged as usize];
            (machine.round, machine.extent)
        };
        for host in 0..self.machines.len() as u32 {
            if host == judged || self.machines[host as usize].unsent().is_empty() {
                continue;
            }
            let machine = &mut self.machines[host as usize];
            if machine.is_starved() || self.policy.sizing == Sizing::Whole {
                if machine.round == 0 {
                    machine.extent = extent;
                }
                machine.round = machine.round.max(round);
                self.send(host, commands);
            }
        }
        self.ask(commands);
    }
}
