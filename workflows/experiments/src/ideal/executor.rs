//! The loop that carries out what the rounds say and tells them what happens.

use std::collections::VecDeque;
use std::sync::Arc;

use schedule::rounds::{Command, Observation, Planner, Policy, Rounds, Setting};

use super::machines::{Machines, Next};
use super::{Conditions, Event, Execution, Failure, Verdict, Why};

/// Runs a process that was checked.
pub(super) fn run(
    setting: &Arc<Setting>,
    policy: &Policy,
    conditions: &Conditions<'_>,
    horizon: f64,
) -> Result<Execution, Failure> {
    let mut executor = Executor {
        rounds: Rounds::new(setting.clone(), *policy)?,
        machines: Machines::new(setting, *conditions),
        setting,
        planner: Planner::new(setting),
        now: 0.0,
        wake_at: f64::INFINITY,
        events: Vec::new(),
    };
    executor.observe(Observation::Begin);
    while executor.machines.n_ended < setting.plan().entries.len() {
        if !executor.advance(horizon) {
            return Err(executor.verdict().into());
        }
    }
    let ran = executor.machines.ran;
    Ok(Execution {
        makespan: ran.iter().map(|ran| ran.finish).fold(0.0, f64::max),
        planned: setting.plan().makespan(),
        ran,
        events: executor.events,
    })
}

struct Executor<'a> {
    setting: &'a Setting,
    rounds: Rounds,
    planner: Planner<'a>,
    machines: Machines<'a>,
    now: f64,
    wake_at: f64,
    events: Vec<Event>,
}

impl Executor<'_> {
    /// Lets the next thing happen; false if there is none before the horizon.
    fn advance(&mut self, horizon: f64) -> bool {
        let next = self.machines.next(self.rounds.progress());
        let next = next.filter(|&(time, _)| time <= horizon);
        match next {
            Some((time, next)) if time <= self.wake_at => {
                self.now = time;
                match next {
                    Next::Start { host, task } => self.start(host, task),
                    Next::Finish { host, task } => self.finish(host, task),
                    Next::Gone { host } => {
                        self.machines.vanish(host);
                        self.observe(Observation::Gone(host));
                    }
                }
                true
            }
            Some(_) | None if self.wake_at <= horizon => {
                self.now = self.wake_at;
                self.wake_at = f64::INFINITY;
                self.observe(Observation::Due);
                true
            }
            Some(_) | None => false,
        }
    }

    fn start(&mut self, host: u32, task: u32) {
        let transfers = self.machines.transfers(task, self.rounds.progress());
        if self.setting.problem().dag().is_gate(task) {
            let progress = self.rounds.progress();
            self.machines.pass_gate(host, task, self.now, progress);
            self.observe(Observation::Finished(task));
        } else {
            let progress = self.rounds.progress();
            self.machines.start(host, task, self.now, progress);
            self.observe(Observation::Started(task));
        }
        // What has started stays, so that a plan which these lead to cannot take it away.
        for (edge, hosts, seconds) in transfers {
            self.observe(Observation::Transferred {
                edge,
                hosts,
                seconds,
            });
        }
    }

    /// Ends a task; its machine goes on by itself before the rounds hear of it (rule A18).
    fn finish(&mut self, host: u32, task: u32) {
        let progress = self.rounds.progress();
        self.machines.finish(host, task, self.now, progress);
        while let Some(next) = self.startable(host) {
            self.start(host, next);
        }
        if let Some(cpu) = self.machines.cpu(host, task) {
            self.observe(Observation::Used { task, cpu });
        }
        self.observe(Observation::Finished(task));
    }

    fn startable(&mut self, host: u32) -> Option<u32> {
        let progress = self.rounds.progress();
        self.machines.startable(host, self.now, progress)
    }

    /// Tells the rounds what has happened and does what they say, until they say nothing more.
    fn observe(&mut self, observation: Observation) {
        let mut commands = VecDeque::from(self.rounds.step(self.now, observation));
        while let Some(command) = commands.pop_front() {
            commands.extend(self.obey(command));
        }
    }

    fn obey(&mut self, command: Command) -> Vec<Command> {
        let (time, now) = (self.now, self.now);
        match command {
            Command::Send { host, round, tasks } => {
                self.machines.take(host, &tasks);
                self.events.push(Event::Send {
                    time,
                    host,
                    round,
                    tasks,
                });
                Vec::new()
            }
            Command::SendAhead { host, tasks } => {
                self.machines.take(host, &tasks);
                Vec::new()
            }
            Command::Retract { host, tasks } => {
                let mut commands = Vec::new();
                for task in tasks {
                    self.machines.give_back(host, task);
                    commands.extend(self.rounds.step(now, Observation::Retracted(task)));
                }
                commands
            }
            Command::Stop { host, tasks } => {
                let mut commands = Vec::new();
                for task in tasks {
                    if !self.machines.runs(host, task) {
                        // It has just ended, which the rounds hear next.
                        continue;
                    }
                    let progress = self.rounds.progress();
                    self.machines.stop(host, task, progress);
                    self.events.push(Event::Stop { time, host, task });
                    commands.extend(self.rounds.step(now, Observation::Stopped(task)));
                }
                commands
            }
            Command::Judged(judgement) => {
                if judgement.is_loss {
                    self.events.push(Event::Loss {
                        time,
                        host: judgement.host,
                        performance: judgement.performance,
                    });
                }
                Vec::new()
            }
            Command::Plan(question) => {
                let answer = self.planner.answer(&question);
                // The rounds use its memory again.
                drop(question);
                self.rounds.step(now, Observation::Planned(answer))
            }
            Command::Replanned { host, answer, kept } => {
                self.events.push(match kept {
                    true => {
                        self.machines.moved(self.rounds.progress());
                        Event::Reschedule {
                            time,
                            host,
                            clusters: answer.clusters,
                        }
                    }
                    false => Event::Declined { time, host },
                });
                Vec::new()
            }
            Command::WakeAt(time) => {
                self.wake_at = time;
                Vec::new()
            }
        }
    }

    /// The reason of each task that has not ended, when nothing happens any more.
    fn verdict(&self) -> Verdict {
        let progress = self.rounds.progress();
        let dag = self.setting.problem().dag();
        let ended = |task: u32| self.machines.ran[task as usize].finish.is_finite();
        let tasks = dag.tasks().filter(|&task| !ended(task));
        let why = |task: u32| {
            let host = progress.host[task as usize];
            let waits_for = |task: u32| Why::Waits { task };
            match self.machines.end_of(task) {
                Some(end) if end.is_infinite() => return Why::NoPower { host },
                Some(_) => return Why::Late,
                None => {}
            }
            let mut preds = dag.predecessors(task).map(|(pred, _)| pred);
            if let Some(pred) = preds.find(|&pred| !ended(pred)) {
                return waits_for(pred);
            }
            if progress.gone[host as usize] {
                return Why::Gone { host };
            }
            match self.machines.before(host, task, progress) {
                Some(before) => waits_for(before),
                // Its data comes after the horizon.
                None => Why::Late,
            }
        };
        Verdict {
            tasks: tasks.map(|task| (task, why(task))).collect(),
        }
    }
}
