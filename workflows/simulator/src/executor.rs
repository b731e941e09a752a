//! An executor: what `activity-executor` does, without processes of the operating system.
//!
//! It holds outcomes until they are forgotten, outlives its daemon for a while, and loses
//! everything when it is killed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use model::{AttemptId, Mono, ProcessId, Span, Wall};
use wire::executor::{
    Captured, Ended, ExecutorHello, Exit, FromExecutor, Held, Lease, PROTOCOL, Phase, Start,
    Started, ToExecutor,
};

use crate::observe::Command;

/// One life of an executor, and the file that outlives it.
#[derive(Debug, Default)]
pub(crate) struct Executor {
    /// A number of this life; 0 while there is none.
    pub(crate) instance: u64,
    /// Counts connections of daemons: what belongs to an earlier one is void.
    pub(crate) connection: u64,
    pub(crate) is_connected: bool,
    cores: u32,
    cores_used: u32,
    attempts: BTreeMap<AttemptId, Entry>,
    queue: VecDeque<AttemptId>,
    retracted: BTreeSet<AttemptId>,
    /// Outcomes that a life has left behind for the next one.
    saved: BTreeMap<AttemptId, Ended>,
    /// The leases that it was told, by their owners, in the simulation's time.
    leases: BTreeMap<u32, Lease>,
    n_runs: u64,
}

#[derive(Debug)]
enum Entry {
    Queued(Box<Start>),
    Running {
        run: u64,
        start: Box<Start>,
        started: Started,
        is_stopping: bool,
    },
    Ended(Box<Ended>),
}

/// The wishes of an executor after an event.
#[derive(Debug, Default)]
pub(crate) struct Wants {
    /// To its daemon, in this order.
    pub(crate) messages: Vec<FromExecutor>,
    /// Commands that have started, with the number of the run.
    pub(crate) started: Vec<(u64, Command)>,
    /// Commands that are to end soon because they were told to, by the number of the run.
    pub(crate) stopped: Vec<(u64, AttemptId)>,
    /// Commands whose lease has ended, and when they are dead.
    pub(crate) expired: Vec<(u64, AttemptId, Mono)>,
    /// When a lease ends that was told.
    pub(crate) ends: Option<Mono>,
}

impl Executor {
    pub(crate) fn is_alive(&self) -> bool {
        self.instance != 0
    }

    /// True if anything runs, waits or is held of other processes than these.
    pub(crate) fn has_any_but(&self, lost: &BTreeSet<ProcessId>) -> bool {
        let mut attempts = self.attempts.keys();
        attempts.any(|attempt| !lost.contains(&attempt.process))
    }

    /// True if this run of an attempt goes on.
    pub(crate) fn runs(&self, attempt: AttemptId, run: u64) -> bool {
        match self.attempts.get(&attempt) {
            Some(Entry::Running { run: running, .. }) => *running == run,
            Some(Entry::Queued(_) | Entry::Ended(_)) | None => false,
        }
    }

    /// Another life begins, with the outcomes that an earlier one left.
    pub(crate) fn begin(&mut self, instance: u64) {
        let (connection, n_runs) = (self.connection, self.n_runs);
        let saved = std::mem::take(&mut self.saved);
        let attempts = saved
            .iter()
            .map(|(&attempt, ended)| (attempt, Entry::Ended(Box::new(ended.clone()))))
            .collect();
        *self = Executor {
            instance,
            connection,
            n_runs,
            attempts,
            saved,
            ..Executor::default()
        };
    }

    /// The life ends at once, and with it what ran: those commands.
    pub(crate) fn killed(&mut self, machine: usize) -> Vec<Command> {
        let attempts = std::mem::take(&mut self.attempts);
        self.instance = 0;
        self.is_connected = false;
        attempts
            .into_values()
            .filter_map(|entry| match entry {
                Entry::Running { start, .. } => Some(command(machine, &start)),
                Entry::Queued(_) | Entry::Ended(_) => None,
            })
            .collect()
    }

    /// No daemon has come: commands are killed, outcomes kept in a file.
    pub(crate) fn gives_up(&mut self, machine: usize, wall: Wall) -> Vec<Command> {
        let mut killed = Vec::new();
        for (attempt, entry) in std::mem::take(&mut self.attempts) {
            match entry {
                Entry::Queued(_) => {}
                Entry::Running { start, started, .. } => {
                    killed.push(command(machine, &start));
                    self.saved
                        .insert(attempt, ended(&start, started, wall, Exit::Abandoned));
                }
                Entry::Ended(outcome) => {
                    self.saved.insert(attempt, *outcome);
                }
            }
        }
        self.instance = 0;
        self.is_connected = false;
        killed
    }

    /// A daemon has connected: what it is told first.
    pub(crate) fn greet(&self) -> Vec<FromExecutor> {
        let hello = ExecutorHello {
            containment: None,
            protocol: PROTOCOL,
            pid: 7,
            instance: self.instance,
        };
        let mut messages = vec![FromExecutor::Hello(hello)];
        let held: Vec<Held> = self
            .attempts
            .iter()
            .map(|(&attempt, entry)| {
                let (note, phase) = match entry {
                    Entry::Queued(start) => (start.note.clone(), Phase::Queued),
                    Entry::Running { start, started, .. } => {
                        (start.note.clone(), Phase::Running(*started))
                    }
                    Entry::Ended(ended) => (ended.note.clone(), Phase::Ended(Ended::clone(ended))),
                };
                Held {
                    attempt,
                    note,
                    phase,
                }
            })
            .collect();
        messages.extend(held.chunks(3).map(|some| FromExecutor::Held(some.to_vec())));
        messages.push(FromExecutor::HeldEnd);
        messages
    }

    /// A message of its daemon. `is_full` says for each start whether it is refused.
    pub(crate) fn take(
        &mut self,
        machine: usize,
        message: ToExecutor,
        at: Mono,
        wall: Wall,
        mut is_full: impl FnMut() -> bool,
    ) -> Wants {
        let mut wants = Wants::default();
        self.expire(at, &mut wants);
        match message {
            ToExecutor::Hello(hello) => self.cores = hello.cores,
            ToExecutor::Start(starts) => {
                for start in starts {
                    wants.messages.extend(self.queue(start, &mut is_full));
                }
            }
            ToExecutor::Retract(attempts) => {
                for attempt in attempts {
                    wants.messages.push(self.retract(attempt));
                }
            }
            ToExecutor::Stop(attempts) => {
                for attempt in attempts {
                    if let Some(Entry::Running {
                        run, is_stopping, ..
                    }) = self.attempts.get_mut(&attempt)
                    {
                        if !*is_stopping {
                            *is_stopping = true;
                            wants.stopped.push((*run, attempt));
                        }
                    } else {
                        wants.messages.push(self.retract(attempt));
                    }
                }
            }
            ToExecutor::Forget(attempts) => {
                for attempt in attempts {
                    if let Some(Entry::Ended(_)) = self.attempts.get(&attempt) {
                        self.attempts.remove(&attempt);
                        self.saved.remove(&attempt);
                    }
                }
            }
            ToExecutor::Tail(attempt) => {
                wants.messages.push(FromExecutor::Output {
                    attempt,
                    written: None,
                });
            }
            ToExecutor::Ping(number) => wants.messages.push(FromExecutor::Pong(number)),
            ToExecutor::Shutdown => {}
            ToExecutor::Lease(lease) => {
                let before = self.leases.get(&lease.owner);
                if before.is_none_or(|before| before.until < lease.until) {
                    self.leases.insert(lease.owner, lease);
                    wants.ends = Some(lease.until);
                }
                self.expire(at, &mut wants);
            }
        }
        self.start_queued(machine, wall, &mut wants);
        wants
    }

    /// A lease may have ended.
    pub(crate) fn lease_ends(&mut self, machine: usize, at: Mono, wall: Wall) -> Wants {
        let mut wants = Wants::default();
        self.expire(at, &mut wants);
        self.start_queued(machine, wall, &mut wants);
        wants
    }

    /// Takes back and stops what a lease that has ended was for.
    fn expire(&mut self, at: Mono, wants: &mut Wants) {
        let ended: Vec<Lease> = self.leases.values().copied().collect();
        for lease in ended.into_iter().filter(|lease| lease.until <= at) {
            self.leases.remove(&lease.owner);
            let mut queued = Vec::new();
            for (&attempt, entry) in &mut self.attempts {
                match entry {
                    Entry::Queued(start) if start.owner == Some(lease.owner) => {
                        queued.push(attempt);
                    }
                    Entry::Running { run, start, .. } if start.owner == Some(lease.owner) => {
                        wants.expired.push((*run, attempt, lease.dead_by));
                    }
                    Entry::Queued(_) | Entry::Running { .. } | Entry::Ended(_) => {}
                }
            }
            for attempt in queued {
                wants.messages.push(self.retract(attempt));
            }
        }
    }

    /// A command ends; none where it is not running any more.
    pub(crate) fn ends(
        &mut self,
        machine: usize,
        attempt: AttemptId,
        run: u64,
        wall: Wall,
        exit: Exit,
        printed: Option<i64>,
    ) -> Option<(Command, Wants)> {
        if !self.runs(attempt, run) {
            return None;
        }
        let Some(Entry::Running { start, started, .. }) = self.attempts.remove(&attempt) else {
            return None;
        };
        let mut outcome = ended(&start, started, wall, exit);
        if let Some(printed) = printed {
            let text = format!("{printed}\n").into_bytes();
            let shown = text.len().min(start.stdout_inline_max as usize);
            outcome.stdout = Captured {
                bytes: text.len() as u64,
                inline: text[..shown].to_vec(),
                ..Captured::default()
            };
        }
        self.cores_used -= start.cores.max(1);
        let command = command(machine, &start);
        let mut wants = Wants {
            messages: vec![FromExecutor::Ended(vec![outcome.clone()])],
            ..Wants::default()
        };
        self.attempts
            .insert(attempt, Entry::Ended(Box::new(outcome)));
        self.start_queued(machine, wall, &mut wants);
        Some((command, wants))
    }

    fn queue(&mut self, start: Start, is_full: &mut impl FnMut() -> bool) -> Option<FromExecutor> {
        let attempt = start.attempt;
        match self.attempts.get(&attempt) {
            Some(Entry::Queued(_)) => return None,
            Some(Entry::Running { started, .. }) => {
                return Some(FromExecutor::Started(vec![*started]));
            }
            Some(Entry::Ended(ended)) => {
                return Some(FromExecutor::Ended(vec![Ended::clone(ended)]));
            }
            None => {}
        }
        if self.retracted.contains(&attempt) {
            return Some(FromExecutor::Retracted(vec![attempt]));
        }
        if start
            .owner
            .is_some_and(|owner| !self.leases.contains_key(&owner))
        {
            return Some(self.retract(attempt));
        }
        if is_full() {
            return Some(FromExecutor::Refused(vec![attempt]));
        }
        self.attempts
            .insert(attempt, Entry::Queued(Box::new(start)));
        self.queue.push_back(attempt);
        None
    }

    fn retract(&mut self, attempt: AttemptId) -> FromExecutor {
        match self.attempts.get(&attempt) {
            Some(Entry::Running { started, .. }) => return FromExecutor::Started(vec![*started]),
            Some(Entry::Ended(ended)) => return FromExecutor::Ended(vec![Ended::clone(ended)]),
            Some(Entry::Queued(_)) => {
                self.attempts.remove(&attempt);
                self.queue.retain(|&queued| queued != attempt);
            }
            None => {}
        }
        self.retracted.insert(attempt);
        FromExecutor::Retracted(vec![attempt])
    }

    /// First come, first started: nothing overtakes.
    fn start_queued(&mut self, machine: usize, wall: Wall, wants: &mut Wants) {
        while let Some(&attempt) = self.queue.front() {
            let Some(Entry::Queued(start)) = self.attempts.get(&attempt) else {
                self.queue.pop_front();
                continue;
            };
            let cores = start.cores.max(1);
            if cores > self.cores.saturating_sub(self.cores_used) {
                return;
            }
            self.queue.pop_front();
            let Some(Entry::Queued(start)) = self.attempts.remove(&attempt) else {
                return;
            };
            self.cores_used += cores;
            self.n_runs += 1;
            let run = self.n_runs;
            let pid = 1_000 + (run % 30_000) as u32;
            let started = Started {
                attempt,
                pid,
                started: wall,
            };
            wants.messages.push(FromExecutor::Started(vec![started]));
            wants.started.push((run, command(machine, &start)));
            let entry = Entry::Running {
                run,
                start,
                started,
                is_stopping: false,
            };
            self.attempts.insert(attempt, entry);
        }
    }
}

fn command(machine: usize, start: &Start) -> Command {
    Command {
        machine,
        attempt: start.attempt,
        cores: start.cores.max(1),
        program: start.program.clone(),
    }
}

fn ended(start: &Start, started: Started, wall: Wall, exit: Exit) -> Ended {
    let ran = wall.since(started.started);
    Ended {
        attempt: start.attempt,
        exit,
        started: started.started,
        wall: ran,
        cpu_user: ran,
        cpu_system: Span::ZERO,
        peak_memory_bytes: 1 << 20,
        stdout: Captured::default(),
        stderr: Captured::default(),
        note: start.note.clone(),
        pid: started.pid,
        user: None,
        limit: None,
    }
}
