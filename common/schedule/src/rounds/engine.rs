//! The engine: observations in, commands out.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::machine::Machine;
use super::moving::{Open, Vain};
use super::policy::{Policy, PolicyError, Sizing};
use super::progress::{Phase, Progress};
use super::question::{Answer, Question};
use super::setting::Setting;

/// Something that has happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Observation {
    /// The process begins.
    Begin,
    /// A task has started on the machine that it was sent to.
    Started(u32),
    /// A task has ended.
    Finished(u32),
    /// A task that was to be retracted has not started, and will not. Whoever drives the rounds keeps
    /// to himself what comes late about an attempt that is over.
    Retracted(u32),
    /// A task that was to be stopped runs no more. It has not ended, and what it did is lost.
    Stopped(u32),
    /// A machine has vanished with all that ran on it. Files of ended tasks can still be read.
    Gone(u32),
    /// A task that ends now has used so many seconds of CPU time on each of its cores.
    Used {
        /// The task, which is told to have ended next.
        task: u32,
        /// The seconds.
        cpu: f64,
    },
    /// The data of an edge has gone from one machine to another.
    Transferred {
        /// The edge.
        edge: u32,
        /// The machines, from and to.
        hosts: [u32; 2],
        /// The seconds that it took.
        seconds: f64,
    },
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
    /// Stop tasks that run, unless they end before. They start again elsewhere.
    Stop {
        /// The machine.
        host: u32,
        /// The tasks, in order.
        tasks: Vec<u32>,
    },
    /// A machine was judged.
    Judged(Judgement),
    /// Plan, and tell the result.
    Plan(Box<Question>),
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

/// The judgement of a machine's round.
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
    pub(super) setting: Arc<Setting>,
    pub(super) policy: Policy,
    pub(super) progress: Progress,
    pub(super) machines: Vec<Machine>,
    /// Machines that have shown something of their power, ascending.
    pub(super) known: Vec<u32>,
    /// By task: seconds that it was expected to take when it started.
    pub(super) expected: Vec<f64>,
    /// By task: when it is judged if it still runs then.
    pub(super) overdue_at: Vec<f64>,
    /// The least of these times of tasks that run; none if it has to be found again.
    pub(super) overdue_next: Option<f64>,
    /// By task: the time before which nobody believes that it ends, because it is overdue; 0 if it
    /// is not, or cannot be stopped.
    pub(super) ends_after: Vec<f64>,
    /// By task: how often it was stopped.
    pub(super) n_stops: Vec<u32>,
    /// The newest task that told of its CPU time, with its seconds.
    pub(super) cpu: Option<(u32, f64)>,
    pub(super) n_questions: u64,
    /// The facts of the newest question, whose memory the next one gets if nobody has it any more.
    pub(super) asked: Arc<Progress>,
    pub(super) open: Option<Open>,
    /// The expectation when the last plan did not pay; none if it did, or if a link or a machine has changed at once
    /// since.
    pub(super) vain: Option<Vain>,
    /// Machines whose tasks are to be planned again once the open question is settled.
    pub(super) pending: BTreeSet<u32>,
    /// The time until which nothing is asked if many tasks wait.
    pub(super) patient_until: f64,
    /// The time at which the engine has asked to be woken.
    pub(super) wake_at: f64,
}

impl Rounds {
    /// A process of which nothing has started.
    pub fn new(setting: Arc<Setting>, policy: Policy) -> Result<Rounds, PolicyError> {
        policy.check()?;
        let problem = setting.problem();
        let hosts = problem.hosts().iter();
        let machines = hosts.map(|host| Machine::new(host.slots as usize));
        let progress = Progress::new(&setting);
        let n_tasks = progress.phase.len();
        let asked = Arc::new(progress.clone());
        let mut rounds = Rounds {
            expected: vec![0.0; n_tasks],
            overdue_at: vec![f64::INFINITY; n_tasks],
            overdue_next: Some(f64::INFINITY),
            ends_after: vec![0.0; n_tasks],
            n_stops: vec![0; n_tasks],
            machines: machines.collect(),
            known: Vec::new(),
            setting,
            policy,
            progress,
            cpu: None,
            n_questions: 0,
            asked,
            open: None,
            vain: None,
            pending: BTreeSet::new(),
            patient_until: 0.0,
            wake_at: f64::INFINITY,
        };
        for task in 0..n_tasks as u32 {
            if !rounds.is_gate(task) {
                let slots = rounds.slots(task);
                let machine = &mut rounds.machines[rounds.progress.host[task as usize] as usize];
                machine.came(rounds.setting.rank(task), slots);
                machine.extent = rounds.setting.mean_weight;
                machine.round = 1;
            }
        }
        Ok(rounds)
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
            Observation::Stopped(task) => self.stopped(task, &mut commands),
            Observation::Gone(host) => self.gone(host, &mut commands),
            Observation::Power { host, factor } => {
                if let Some(known) = self.progress.factor.get_mut(host as usize)
                    && factor >= 0.0
                {
                    *known = factor;
                }
            }
            Observation::Used { task, cpu } => self.used(task, cpu),
            Observation::Transferred {
                edge,
                hosts,
                seconds,
            } => self.transferred(edge, hosts, seconds, &mut commands),
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

    /// Its progress, and the places of everything.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    fn started(&mut self, task: u32, commands: &mut Vec<Command>) {
        if !self.knows(task) || !self.progress.is_waiting(task) {
            return;
        }
        let host = self.progress.host[task as usize];
        self.progress.phase[task as usize] = Phase::Running(self.progress.now);
        if !self.is_gate(task) {
            let expected = self.progress.duration(&self.setting, task, host);
            self.expected[task as usize] = expected;
            let overdue_at = self.overdue_from(expected);
            self.overdue_at[task as usize] = overdue_at;
            self.overdue_next = self.overdue_next.map(|next| next.min(overdue_at));
            let (rank, slots) = (self.setting.rank(task), self.slots(task));
            self.machines[host as usize].has_started(task, rank, slots);
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
        if self.is_gate(task) {
            return;
        }
        let host = self.progress.host[task as usize];
        let nominal = self.setting.problem().duration(task, host);
        let slots = self.slots(task);
        let machine = &mut self.machines[host as usize];
        machine.has_ended(task, slots.clone());
        self.overdue_next = None;
        machine.expected += self.expected[task as usize];
        machine.real += now - start;
        self.learn(task, nominal, now - start);
        let machine = &self.machines[host as usize];
        let mut slots = machine.queues()[slots].iter();
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
        // It may be one that was to be stopped.
        self.answered(task, commands);
    }

    /// Keeps the CPU time of a task until it has ended.
    fn used(&mut self, task: u32, cpu: f64) {
        if self.policy.splits_cpu && cpu.is_finite() && cpu > 0.0 {
            self.cpu = Some((task, cpu));
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
        let running = machine.running().iter().copied();
        let sent = machine.sent().iter();
        let sent = sent.map(|&rank| self.setting.order[rank as usize]);
        let lost: Vec<u32> = running.chain(sent).collect();
        machine.has_vanished();
        self.overdue_next = None;
        self.vain = None;
        for &task in &lost {
            self.progress.phase[task as usize] = Phase::Waiting;
            let (rank, slots) = (self.setting.rank(task), self.slots(task));
            self.machines[host as usize].came(rank, slots);
        }
        // Nothing on it can start any more, as if all of it were retracted.
        for task in lost {
            self.answered(task, commands);
        }
        match self.policy.sizing {
            Sizing::Whole => {}
            Sizing::Parts(_) | Sizing::Adaptive { .. } => self.want_plan(host, commands),
        }
    }

    /// The slots of its machine that a task holds.
    pub(super) fn slots(&self, task: u32) -> std::ops::Range<usize> {
        let slot = self.progress.slot[task as usize] as usize;
        slot..slot + self.setting.problem().dag().cores(task) as usize
    }

    pub(super) fn is_gate(&self, task: u32) -> bool {
        self.setting.problem().dag().is_gate(task)
    }

    pub(super) fn knows(&self, task: u32) -> bool {
        (task as usize) < self.progress.phase.len()
    }
}
