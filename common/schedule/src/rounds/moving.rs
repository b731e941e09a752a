//! Planning again what has not started, and moving it.

use std::collections::BTreeSet;

use super::engine::{Command, Rounds};
use super::machine::Machine;
use super::policy::{Scope, Sizing};
use super::question::{Answer, Question};
use crate::order::less;

/// A question that is not settled.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Open {
    number: u64,
    /// The machine that was judged.
    host: u32,
    answer: Option<Answer>,
    /// Tasks to be retracted before the answer comes into force.
    awaited: BTreeSet<u32>,
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
    fn ask(&mut self, commands: &mut Vec<Command>) {
        while self.open.is_none()
            && let Some(host) = self.pending.pop_first()
        {
            let movable = self.movable(host);
            if movable.is_empty() {
                continue;
            }
            self.n_questions += 1;
            let question = Question {
                number: self.n_questions,
                movable,
                progress: self.progress.clone(),
            };
            self.open = Some(Open {
                number: question.number,
                host,
                answer: None,
                awaited: BTreeSet::new(),
            });
            commands.push(Command::Plan(question));
        }
    }

    /// The tasks that may move when a machine was slow, in order; none if only gates are left, which
    /// go along with what is around them.
    fn movable(&self, host: u32) -> Vec<u32> {
        let machines = match self.policy.scope {
            Scope::Machine => &self.machines[host as usize..=host as usize],
            Scope::All => &self.machines[..],
        };
        let mut ranks: Vec<u32> = machines.iter().flat_map(Machine::waiting).collect();
        if ranks.is_empty() {
            return Vec::new();
        }
        let dag = self.setting.problem().dag();
        let gates = dag.tasks().filter(|&task| dag.is_gate(task));
        let gates = gates.filter(|&task| {
            let is_here = match self.policy.scope {
                Scope::Machine => self.progress.host[task as usize] == host,
                Scope::All => true,
            };
            is_here && self.progress.is_waiting(task)
        });
        ranks.extend(gates.map(|task| self.setting.rank(task)));
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
        let pays = match self.policy.gain_least {
            None => true,
            Some(least) => less(answer.after, (1.0 - least) * answer.before),
        };
        // A machine that has vanished finishes nothing: any plan is better.
        if !pays && !self.progress.gone[host as usize] {
            self.open = None;
            let kept = false;
            commands.push(Command::Replanned { host, answer, kept });
            self.settled(host, commands);
            return;
        }
        let mut recalled = BTreeSet::new();
        for (task, to, _) in answer.moves(&self.setting) {
            let from = self.progress.host[task as usize];
            let sent = self.machines[from as usize].sent();
            let is_sent = sent.contains(&self.setting.rank(task));
            if from != to && self.progress.is_waiting(task) && is_sent {
                recalled.insert((from, self.setting.rank(task)));
            }
        }
        for host in 0..self.machines.len() as u32 {
            let ranks = recalled.range((host, 0)..=(host, u32::MAX));
            let tasks = ranks.map(|&(_, rank)| self.setting.order[rank as usize]);
            let tasks: Vec<u32> = tasks.collect();
            if !tasks.is_empty() {
                open.awaited.extend(&tasks);
                commands.push(Command::Retract { host, tasks });
            }
        }
        open.answer = Some(answer);
        self.put_in_force(commands);
    }

    pub(super) fn retracted(&mut self, task: u32, commands: &mut Vec<Command>) {
        let awaits = |open: &Open| open.awaited.contains(&task);
        if self.open.as_ref().is_some_and(awaits) && self.progress.is_waiting(task) {
            let (rank, slots) = (self.setting.rank(task), self.slots(task));
            let host = self.progress.host[task as usize];
            self.machines[host as usize].was_retracted(rank, slots);
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
        let Some(Open { host, answer, .. }) = self.open.take_if(is_settled) else {
            return;
        };
        let Some(answer) = answer else {
            return;
        };
        let mut came = BTreeSet::new();
        for (task, to, slot) in answer.moves(&self.setting) {
            if !self.progress.is_waiting(task) || self.progress.gone[to as usize] {
                continue;
            }
            let (from, old) = (self.progress.host[task as usize], self.slots(task));
            self.progress.slot[task as usize] = slot;
            let (rank, slots) = (self.setting.rank(task), self.slots(task));
            if from == to {
                self.machines[to as usize].shifted(rank, old, slots);
            } else {
                self.progress.host[task as usize] = to;
                self.progress.since[task as usize] = self.progress.now;
                if self.machines[from as usize].left(rank, old) {
                    self.machines[to as usize].came(rank, slots);
                    came.insert(to);
                }
            }
        }
        self.progress.controllers.clone_from(&answer.controllers);
        let kept = true;
        commands.push(Command::Replanned { host, answer, kept });
        for to in came {
            self.send_ahead(to, commands);
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
