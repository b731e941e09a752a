//! The engine: observations in, commands out.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::estimates::Estimates;
use super::machine::{Machine, Queue};
use super::policy::{Learning, Policy, PolicyError, Scope, Sizing};
use super::progress::{Phase, Progress};
use super::question::{Answer, Question};
use super::setting::Setting;
use crate::order::less;

/// Something that has happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Observation {
    /// The process begins.
    Begin,
    /// A task has started on the machine that it was sent to.
    Started(u32),
    /// A task has ended.
    Finished(u32),
    /// A task that was to be retracted has not started, and will not.
    Retracted(u32),
    /// A machine has vanished with all that ran on it. Files of ended tasks can still be read.
    Gone(u32),
    /// Somebody else has found the power of a machine.
    Power {
        /// The machine.
        host: u32,
        /// Its power as a factor of the nominal one, from 0 up.
        factor: f64,
    },
    /// The plan that was asked for.
    Planned(Answer),
    /// The time has come for which [`Command::WakeAt`] asked.
    Due,
}

/// Something to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Send a machine the tasks of its round, in order. [`Rounds::progress`] has their slots.
    Send {
        /// The machine.
        host: u32,
        /// Its round, from 1.
        round: u32,
        /// The tasks, in order.
        tasks: Vec<u32>,
    },
    /// Send a machine tasks that came to it and run before some that it was sent earlier.
    SendAhead {
        /// The machine.
        host: u32,
        /// The tasks, in order.
        tasks: Vec<u32>,
    },
    /// Take tasks back from a machine, unless they have started.
    Retract {
        /// The machine.
        host: u32,
        /// The tasks, in order.
        tasks: Vec<u32>,
    },
    /// A machine was judged.
    Judged(Judgement),
    /// Plan, and tell the result.
    Plan(Question),
    /// Plans came into force, or did not.
    Replanned {
        /// The machine whose judgement asked for it.
        host: u32,
        /// The plan.
        answer: Answer,
        /// True if it is in force.
        kept: bool,
    },
    /// Tell when this time has come. It replaces the time that was asked for before.
    WakeAt(f64),
}

/// What a machine's round was like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// The machine.
    pub host: u32,
    /// Seconds that the tasks of the round were expected to take when they started.
    pub expected: f64,
    /// Seconds that they took.
    pub real: f64,
    /// Expected over real, 1 if neither is anything.
    pub performance: f64,
    /// True if the round was longer than expected by more than the threshold.
    pub is_loss: bool,
    /// The power that the machine is believed to have from now on, as a factor of the nominal one.
    pub factor: f64,
}

/// The rounds of one process. It is plain data: the same observations give the same commands.
#[derive(Clone, Debug, PartialEq)]
pub struct Rounds {
    setting: Arc<Setting>,
    policy: Policy,
    progress: Progress,
    machines: Vec<Machine>,
    /// By task: seconds that it was expected to take when it started.
    expected: Vec<f64>,
    n_questions: u64,
    open: Option<Open>,
    /// Machines whose tasks are to be planned again once the open question is settled.
    pending: BTreeSet<u32>,
    wake_at: f64,
}

/// A question that is not settled.
#[derive(Clone, Debug, PartialEq)]
struct Open {
    number: u64,
    host: u32,
    answer: Option<Answer>,
    /// Tasks to be retracted before the answer comes into force.
    awaited: BTreeSet<u32>,
}

impl Rounds {
    /// A process of which nothing has started.
    pub fn new(setting: Arc<Setting>, policy: Policy) -> Result<Rounds, PolicyError> {
        policy.check()?;
        let problem = setting.problem();
        let mut machines = vec![Machine::default(); problem.hosts().len()];
        for (machine, host) in machines.iter_mut().zip(problem.hosts()) {
            machine.slots = host.slots as usize;
        }
        let progress = Progress::new(&setting);
        for task in problem.dag().tasks().filter(|&t| !problem.dag().is_gate(t)) {
            let machine = &mut machines[progress.host[task as usize] as usize];
            machine.unsent.insert(setting.rank(task));
            machine.extent = setting.mean_weight;
            machine.round = 1;
        }
        Ok(Rounds {
            expected: vec![0.0; progress.phase.len()],
            setting,
            policy,
            progress,
            machines,
            n_questions: 0,
            open: None,
            pending: BTreeSet::new(),
            wake_at: f64::INFINITY,
        })
    }

    /// Takes in what has happened and tells what to do. Observations that do not fit the state, such
    /// as repeated ones, change nothing.
    pub fn step(&mut self, now: f64, observation: Observation) -> Vec<Command> {
        self.progress.now = self.progress.now.max(now);
        let mut commands = Vec::new();
        match observation {
            Observation::Begin => {
                for host in 0..self.machines.len() as u32 {
                    self.send(host, &mut commands);
                }
            }
            Observation::Started(task) => self.started(task, &mut commands),
            Observation::Finished(task) => self.finished(task, &mut commands),
            Observation::Retracted(task) => self.retracted(task, &mut commands),
            Observation::Gone(host) => self.gone(host, &mut commands),
            Observation::Power { host, factor } => {
                if let Some(known) = self.progress.factor.get_mut(host as usize)
                    && factor >= 0.0
                {
                    *known = factor;
                }
            }
            Observation::Planned(answer) => self.planned(answer, &mut commands),
            Observation::Due => self.due(&mut commands),
        }
        self.wake(&mut commands);
        commands
    }

    /// The process that runs.
    pub fn setting(&self) -> &Setting {
        &self.setting
    }

    /// How far it has come, and where everything is.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    fn started(&mut self, task: u32, commands: &mut Vec<Command>) {
        if !self.knows(task) || !self.progress.is_waiting(task) {
            return;
        }
        let host = self.progress.host[task as usize];
        self.progress.phase[task as usize] = Phase::Running(self.progress.now);
        self.expected[task as usize] = self.progress.duration(&self.setting, task, host);
        let machine = &mut self.machines[host as usize];
        let rank = self.setting.rank(task);
        machine.unsent.remove(&rank);
        machine.sent.remove(&rank);
        if !self.setting.problem().dag().is_gate(task) {
            machine.running.insert(task);
        }
        self.answered(task, commands);
    }

    fn finished(&mut self, task: u32, commands: &mut Vec<Command>) {
        if !self.knows(task) {
            return;
        }
        let start = match self.progress.phase[task as usize] {
            Phase::Waiting => self.progress.now,
            Phase::Running(start) => start,
            Phase::Ended(_) => return,
        };
        self.started(task, commands);
        let now = self.progress.now;
        self.progress.phase[task as usize] = Phase::Ended(now);
        if self.setting.problem().dag().is_gate(task) {
            return;
        }
        let host = self.progress.host[task as usize];
        let nominal = self.setting.problem().duration(task, host);
        let machine = &mut self.machines[host as usize];
        machine.running.remove(&task);
        machine.expected += self.expected[task as usize];
        machine.real += now - start;
        machine.nominal_all += nominal;
        machine.real_all += now - start;
        let queues = self.queues(host);
        let mut slots = queues[self.slots(task)].iter();
        let ends_round = match self.policy.sizing {
            Sizing::Whole => false,
            // The task that has just ended was the last but one of its slot (rule A9), or there is
            // something to send to a slot that has nothing.
            Sizing::Parts(_) => slots.any(|slot| slot.n_out == 1 || slot.is_starved()),
            Sizing::Adaptive { .. } => slots.any(|slot| slot.n_out == 0),
        };
        if ends_round {
            self.end_round(host, commands);
        }
    }

    fn gone(&mut self, host: u32, commands: &mut Vec<Command>) {
        let Some(gone) = self.progress.gone.get_mut(host as usize) else {
            return;
        };
        if std::mem::replace(gone, true) {
            return;
        }
        let machine = &mut self.machines[host as usize];
        for task in std::mem::take(&mut machine.running) {
            self.progress.phase[task as usize] = Phase::Waiting;
            machine.unsent.insert(self.setting.rank(task));
        }
        let sent = std::mem::take(&mut machine.sent);
        machine.unsent.extend(&sent);
        // Nothing on it can start any more, as if all of it were retracted.
        let awaited = self.open.iter().flat_map(|open| &open.awaited).copied();
        let lost: Vec<u32> = awaited
            .filter(|&task| self.progress.host[task as usize] == host)
            .collect();
        for task in lost {
            self.answered(task, commands);
        }
        match self.policy.sizing {
            Sizing::Whole => {}
            Sizing::Parts(_) | Sizing::Adaptive { .. } => {
                self.pending.insert(host);
                self.ask(commands);
            }
        }
    }

    /// Judges a round and opens the next one.
    fn end_round(&mut self, host: u32, commands: &mut Vec<Command>) {
        let machine = &mut self.machines[host as usize];
        let (expected, real) = (machine.expected, machine.real);
        (machine.expected, machine.real) = (0.0, 0.0);
        let judgement = self.judge(host, expected, real);
        self.machines[host as usize].next_round(self.policy.sizing, &judgement);
        self.after(judgement, commands);
        if self.open.as_ref().is_none_or(|open| open.host != host) {
            self.send(host, commands);
        }
    }

    /// Judges what took so long, and learns from it.
    fn judge(&mut self, host: u32, expected: f64, real: f64) -> Judgement {
        let is_loss = less((1.0 + self.policy.threshold) * expected, real);
        let performance = if real > 0.0 { expected / real } else { 1.0 };
        let factor = &mut self.progress.factor[host as usize];
        match self.policy.learning {
            Learning::LastRound if is_loss => *factor *= performance,
            Learning::LastRound => {}
            Learning::Damped { mean_weights } => {
                let machine = &self.machines[host as usize];
                let weight = mean_weights * self.setting.mean_weight;
                if machine.real_all + weight > 0.0 {
                    *factor = (machine.nominal_all + weight) / (machine.real_all + weight);
                }
            }
        }
        Judgement {
            host,
            expected,
            real,
            performance,
            is_loss,
            factor: *factor,
        }
    }

    /// Tells of a judgement, and asks for a plan if it is a loss.
    fn after(&mut self, judgement: Judgement, commands: &mut Vec<Command>) {
        commands.push(Command::Judged(judgement));
        if judgement.is_loss {
            self.pending.insert(judgement.host);
            self.ask(commands);
        }
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
    fn planned(&mut self, answer: Answer, commands: &mut Vec<Command>) {
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
            let is_sent = self.machines[from as usize]
                .sent
                .contains(&self.setting.rank(task));
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

    fn retracted(&mut self, task: u32, commands: &mut Vec<Command>) {
        let awaited = self
            .open
            .as_ref()
            .is_some_and(|open| open.awaited.contains(&task));
        if awaited && self.progress.is_waiting(task) {
            let machine = &mut self.machines[self.progress.host[task as usize] as usize];
            let rank = self.setting.rank(task);
            if machine.sent.remove(&rank) {
                machine.unsent.insert(rank);
            }
            self.answered(task, commands);
        }
    }

    /// A task that may have been asked back is known to be retracted or to have started.
    fn answered(&mut self, task: u32, commands: &mut Vec<Command>) {
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
            let from = self.progress.host[task as usize];
            self.progress.host[task as usize] = to;
            self.progress.slot[task as usize] = slot;
            if from != to {
                self.progress.since[task as usize] = self.progress.now;
            }
            let rank = self.setting.rank(task);
            if self.machines[from as usize].unsent.remove(&rank) {
                self.machines[to as usize].unsent.insert(rank);
                came.insert(to);
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
            if host == judged || self.machines[host as usize].unsent.is_empty() {
                continue;
            }
            if self.queues(host).iter().any(Queue::is_starved) {
                let machine = &mut self.machines[host as usize];
                if machine.round == 0 {
                    machine.extent = extent;
                }
                machine.round = machine.round.max(round);
                self.send(host, commands);
            }
        }
        self.ask(commands);
    }

    /// Sends what precedes tasks that were sent in the order, so that none of these waits for it for
    /// ever.
    fn send_ahead(&mut self, host: u32, commands: &mut Vec<Command>) {
        let machine = &self.machines[host as usize];
        if let Some(&last) = machine.sent.last() {
            let ranks: Vec<u32> = machine.unsent.range(..last).copied().collect();
            if !ranks.is_empty() {
                let tasks = self.mark_sent(host, &ranks);
                commands.push(Command::SendAhead { host, tasks });
            }
        }
    }

    /// Opens the next round of a machine.
    fn send(&mut self, host: u32, commands: &mut Vec<Command>) {
        let machine = &self.machines[host as usize];
        if machine.unsent.is_empty() || self.progress.gone[host as usize] {
            return;
        }
        let ranks = match self.policy.sizing {
            Sizing::Whole => machine.unsent.iter().copied().collect(),
            Sizing::Parts(parts) => self.part(host, parts),
            Sizing::Adaptive { .. } => self.adaptive_round(host),
        };
        if !ranks.is_empty() {
            let tasks = self.mark_sent(host, &ranks);
            let round = self.machines[host as usize].round;
            commands.push(Command::Send { host, round, tasks });
        }
    }

    /// Algorithm 5's N: what is estimated to end in this part of the makespan (rules A9 and A17).
    fn part(&self, host: u32, parts: u32) -> Vec<u32> {
        let machine = &self.machines[host as usize];
        let estimates = Estimates::new(&self.setting, &self.progress, &[]);
        let round = machine.round.min(parts);
        let until = estimates.makespan() * f64::from(round) / f64::from(parts);
        let eft = |rank: u32| estimates.eft[self.setting.order[rank as usize] as usize];
        let unsent: Vec<u32> = machine.unsent.iter().copied().collect();
        // All that precedes a sent task is sent too: it might wait for that.
        let in_time = unsent.iter().rposition(|&rank| !less(until, eft(rank)));
        let mut count = in_time.map_or(0, |last| last + 1);
        // A round of one task would leave the machine idle while it is judged.
        let mut queues = self.queues(host);
        for (place, &rank) in unsent.iter().enumerate() {
            let task = self.setting.order[rank as usize];
            let slots = &mut queues[self.slots(task)];
            if slots.iter().any(|slot| slot.n_out < 2) {
                count = count.max(place + 1);
            }
            slots.iter_mut().for_each(|slot| slot.n_out += 1);
        }
        unsent[..count].to_vec()
    }

    /// Algorithm 7's M: the first task, then further ones as long as the sum of weights is not above
    /// the extent of the round (rule A14). Where several slots are idle each gets its first task, and
    /// the extent is that of all.
    fn adaptive_round(&self, host: u32) -> Vec<u32> {
        let machine = &self.machines[host as usize];
        let unsent: Vec<u32> = machine.unsent.iter().copied().collect();
        let mut queues = self.queues(host);
        let n_idle = queues.iter().filter(|slot| slot.is_starved()).count();
        let extent = machine.extent * n_idle.max(1) as f64;
        let (mut sum, mut count, mut is_full) = (0.0, 0, false);
        for (place, &rank) in unsent.iter().enumerate() {
            let task = self.setting.order[rank as usize];
            sum += self.progress.duration(&self.setting, task, host);
            is_full |= less(extent, sum);
            let slots = &mut queues[self.slots(task)];
            if !is_full || slots.iter().any(|slot| slot.n_out == 0) {
                count = place + 1;
            }
            slots.iter_mut().for_each(|slot| slot.n_out += 1);
        }
        unsent[..count].to_vec()
    }

    /// By slot of a machine: how many tasks it was sent and how many not.
    fn queues(&self, host: u32) -> Vec<Queue> {
        let machine = &self.machines[host as usize];
        let mut queues = vec![Queue::default(); machine.slots];
        let sent = machine.sent.iter();
        let sent = sent.map(|&rank| self.setting.order[rank as usize]);
        for task in sent.chain(machine.running.iter().copied()) {
            let slots = &mut queues[self.slots(task)];
            slots.iter_mut().for_each(|slot| slot.n_out += 1);
        }
        for &rank in &machine.unsent {
            let task = self.setting.order[rank as usize];
            let slots = &mut queues[self.slots(task)];
            slots.iter_mut().for_each(|slot| slot.n_unsent += 1);
        }
        queues
    }

    /// The slots of its machine that a task holds.
    fn slots(&self, task: u32) -> std::ops::Range<usize> {
        let slot = self.progress.slot[task as usize] as usize;
        slot..slot + self.setting.problem().dag().cores(task) as usize
    }

    fn mark_sent(&mut self, host: u32, ranks: &[u32]) -> Vec<u32> {
        let machine = &mut self.machines[host as usize];
        for rank in ranks {
            machine.unsent.remove(rank);
            machine.sent.insert(*rank);
        }
        let tasks = ranks.iter().map(|&rank| self.setting.order[rank as usize]);
        tasks.collect()
    }

    fn due(&mut self, commands: &mut Vec<Command>) {
        self.wake_at = f64::INFINITY;
        let _ = commands;
    }

    fn wake(&mut self, commands: &mut Vec<Command>) {
        let _ = commands;
    }

    fn knows(&self, task: u32) -> bool {
        (task as usize) < self.progress.phase.len()
    }
}
