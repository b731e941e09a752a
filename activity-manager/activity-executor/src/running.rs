//! One running command: its processes, its pipes, its deadlines, and its end.

use std::os::fd::OwnedFd;

use model::{AttemptId, Mono, Span, Wall};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
use wire::executor::{Captured, Ended, Exit, Start, Started};

use crate::capture::Capture;
use crate::clock;
use crate::container::NO_CONTAINER;
use crate::containment::Contained;
use crate::cpus::Cpus;
use crate::launch::{self, Starting};
use crate::log::Stream;
use crate::sys::Waited;
use crate::throttle::{Tempo, Throttle, Turn};

/// Interval of measuring the memory of a command with a limit.
const MEMORY_EVERY: Span = Span::from_millis(100);

/// Measuring memory takes at most one part in so many of the time: a process of many gigabytes
/// takes long to measure.
const MEMORY_PARTS: u64 = 10;

/// Time for which pipes are read after all processes have ended. Another process may have inherited
/// their ends, and hold them open for ever.
const DRAIN: Span = Span::from_millis(200);

/// First interval of looking for the end of a command's killed remaining processes, doubled up to
/// the second.
const REST_FIRST: Span = Span::from_millis(1);
const REST_LAST: Span = Span::from_millis(100);

/// Time for which the outcome waits for killed processes to end. One that takes longer waits in the
/// kernel, for a disk or a network file system, and executes nothing of its own afterwards.
const REST_PATIENCE: Span = Span::from_secs(5);

/// Age at which the pipes of a command are watched one by one. Most commands are shorter, and are
/// read once, at their end. One that fills a pipe (64 KiB) earlier waits for this.
const UNWATCHED: Span = Span::from_millis(5);

/// Time for which a stopped child may keep its command from beginning. Every process of the same
/// account can stop it; a child makes only a dozen system calls.
const HELD_MAX: Span = Span::from_secs(2);

/// Time in which a child that is not stopped must execute its program. It may come from a network
/// file system that needs many seconds; only this command waits for it, and its timeout and lease
/// count meanwhile.
const STARTING_MAX: Span = Span::from_secs(60);

/// A command between its start and its outcome.
pub(crate) struct Running {
    pub(crate) attempt: AttemptId,
    pub(crate) cores: u32,
    /// The CPUs that it is bound to.
    pub(crate) cpus: Option<Cpus>,
    /// The container of podman that it runs in, by its name.
    pub(crate) container: Option<String>,
    /// The process manager whose lease it needs.
    pub(crate) owner: Option<u32>,
    /// The user that it runs as, if not the executor's own.
    user: Option<u32>,
    pub(crate) stdout: Capture,
    pub(crate) stderr: Capture,
    /// True if the event loop watches the pipes.
    pub(crate) is_watched: bool,
    pub(crate) processes: Contained,
    started: Wall,
    started_mono: Mono,
    /// Until it is known to have executed its program.
    pub(crate) starting: Option<Starting>,
    /// When it is checked for that.
    starting_look_at: Mono,
    timeout_at: Option<Mono>,
    kill_at: Option<Mono>,
    memory: Option<MemoryLimit>,
    /// Until it is being killed: then it has all the time to clean up.
    throttle: Option<Throttle>,
    /// The reason why it is being killed.
    cause: Option<Exit>,
    first: Option<FirstEnded>,
}

struct MemoryLimit {
    bytes_max: u64,
    look_at: Mono,
}

struct FirstEnded {
    waited: Option<Waited>,
    wall: Span,
    /// Present while remaining processes live on.
    rest: Option<Rest>,
    drain_until: Mono,
}

/// When the remaining processes are checked again.
struct Rest {
    look_at: Mono,
    pause: Span,
    give_up: Mono,
}

/// The action of the event loop for a due command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    Nothing,
    Watch,
    /// Its remaining processes may have ended.
    Look,
    Finish,
}

/// The result of a launch.
pub(crate) struct Launched {
    pub(crate) processes: Contained,
    pub(crate) child: launch::Launched,
    pub(crate) user: Option<u32>,
    pub(crate) cpus: Option<Cpus>,
    pub(crate) container: Option<String>,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    pub(crate) started: Wall,
    pub(crate) started_mono: Mono,
}

impl Running {
    pub(crate) fn new(
        start: &Start,
        launched: Launched,
        tempo: Option<Tempo>,
        kept_max: u64,
    ) -> Running {
        let Launched {
            processes,
            child,
            cpus,
            container,
            stdout,
            stderr,
            user,
            started,
            started_mono,
        } = launched;
        let launch::Launched { pid: _, starting } = child;
        let attempt = start.attempt;
        Running {
            attempt,
            cores: start.cores.max(1),
            cpus,
            container,
            owner: start.owner,
            user,
            stdout: Capture::new(
                attempt,
                Stream::Stdout,
                stdout,
                start.stdout_inline_max,
                kept_max,
            ),
            stderr: Capture::new(
                attempt,
                Stream::Stderr,
                stderr,
                start.stderr_inline_max,
                kept_max,
            ),
            is_watched: false,
            processes,
            started,
            started_mono,
            starting: Some(starting),
            starting_look_at: started_mono + UNWATCHED,
            timeout_at: start.timeout.map(|timeout| started_mono + timeout),
            kill_at: None,
            memory: start.memory_bytes_max.map(|bytes_max| MemoryLimit {
                bytes_max,
                look_at: started_mono + MEMORY_EVERY,
            }),
            throttle: tempo.map(|tempo| Throttle::new(tempo, started_mono)),
            cause: None,
            first: None,
        }
    }

    /// Sends TERM to all, and KILL after `grace`. The first cause stays; a shorter grace counts.
    pub(crate) fn stop(&mut self, cause: Exit, now: Mono, grace: Span) {
        if self.first.is_some() {
            return;
        }
        if self.cause.is_none() {
            self.cause = Some(cause);
            self.throttle = None;
            if grace > Span::ZERO {
                self.processes.terminate();
            }
        }
        if grace == Span::ZERO {
            self.processes.kill();
        }
        let kill_at = now + grace;
        self.kill_at = Some(self.kill_at.map_or(kill_at, |earlier| earlier.min(kill_at)));
    }

    /// Runs at another pace from here on, if it is slowed at all.
    pub(crate) fn set_tempo(&mut self, tempo: &Tempo, now: Mono) {
        if let Some(throttle) = &mut self.throttle {
            throttle.set(tempo.clone(), now);
        }
    }

    pub(crate) fn pid(&self) -> Pid {
        self.processes.first()
    }

    /// It could not execute its program.
    pub(crate) fn fail(&mut self, exit: Exit) {
        self.cause.get_or_insert(exit);
    }

    /// When it must be killed because its lease has ended.
    pub(crate) fn lease_kill_at(&self) -> Option<Mono> {
        let is_expired = self.cause == Some(Exit::Expired) && self.first.is_none();
        self.kill_at.filter(|_| is_expired)
    }

    /// The first process has ended: the remaining ones must end, and the pipes be emptied.
    pub(crate) fn first_ended(&mut self, waited: Option<Waited>, now: Mono) {
        self.throttle = None;
        if self.cause.is_none() && self.memory.is_some() && self.processes.was_killed_for_memory() {
            self.cause = Some(Exit::OutOfMemory);
        }
        self.first = Some(FirstEnded {
            waited,
            wall: now.since(self.started_mono),
            rest: Some(Rest {
                look_at: now + REST_FIRST,
                pause: REST_FIRST,
                give_up: now + REST_PATIENCE,
            }),
            drain_until: now,
        });
    }

    /// Returns true if it ended by itself, with a status that podman does not have for what it cannot do: then podman
    /// has removed its container.
    pub(crate) fn removed_container(&self) -> bool {
        let waited = self.first.as_ref().and_then(|first| first.waited);
        let code = waited.and_then(|waited| waited.code());
        self.cause.is_none() && code.is_some_and(|code| code != NO_CONTAINER)
    }

    /// All its processes have ended.
    pub(crate) fn rest_ended(&mut self, now: Mono) {
        if let Some(first) = &mut self.first {
            first.rest = None;
            first.drain_until = now + DRAIN;
        }
    }

    /// A process lives on though it was killed. Returns true if the outcome should wait for it.
    pub(crate) fn rest_lives(&mut self, now: Mono) -> bool {
        let Some(rest) = self.first.as_mut().and_then(|first| first.rest.as_mut()) else {
            return false;
        };
        rest.pause = Span(rest.pause.0 * 2).min(REST_LAST);
        rest.look_at = now + rest.pause;
        now < rest.give_up
    }

    /// Acts on what is due.
    pub(crate) fn tick(&mut self, now: Mono, grace: Span) -> Due {
        if let Some(first) = &self.first {
            if let Some(rest) = &first.rest {
                return if now >= rest.look_at {
                    Due::Look
                } else {
                    self.watch_due(now)
                };
            }
            let is_over = now >= first.drain_until || self.is_silent();
            return if is_over {
                Due::Finish
            } else {
                self.watch_due(now)
            };
        }
        if self.timeout_at.is_some_and(|at| now >= at) {
            self.timeout_at = None;
            self.stop(Exit::TimedOut, now, grace);
        }
        if self.kill_at.is_some_and(|at| now >= at) {
            self.kill_at = None;
            self.processes.kill();
        }
        if let Some(limit) = &mut self.memory
            && now >= limit.look_at
        {
            let is_above = self.processes.is_above(limit.bytes_max);
            let took = clock::mono().since(now);
            limit.look_at = now + MEMORY_EVERY.max(Span(took.0 * MEMORY_PARTS));
            if is_above {
                self.memory = None;
                self.stop(Exit::OutOfMemory, now, Span::ZERO);
            }
        }
        if self.starting.is_some() && now >= self.starting_look_at {
            let age = now.since(self.started_mono);
            let held = self.started_mono + HELD_MAX;
            self.starting_look_at = if now < held {
                (now + age).min(held)
            } else {
                now + HELD_MAX
            };
            if age >= STARTING_MAX || (age >= HELD_MAX && self.is_stopped()) {
                self.stop(Exit::Stuck, now, Span::ZERO);
            }
        }
        let is_starting = self.starting.is_some();
        let throttle = self.throttle.as_mut().filter(|_| !is_starting);
        match throttle.and_then(|throttle| throttle.turn(now)) {
            Some(Turn::Stop) => self.processes.signal_group(Signal::STOP),
            Some(Turn::Continue) => self.processes.signal_group(Signal::CONT),
            None => {}
        }
        self.watch_due(now)
    }

    /// When [`Running::tick`] is due.
    pub(crate) fn due(&self) -> Option<Mono> {
        let watch_at = (!self.is_watched).then(|| self.started_mono + UNWATCHED);
        match &self.first {
            Some(first) => {
                let rest = first.rest.as_ref().map(|rest| rest.look_at);
                let end = rest.unwrap_or(first.drain_until);
                watch_at.into_iter().chain(Some(end)).min()
            }
            None => {
                let memory = self.memory.as_ref().map(|limit| limit.look_at);
                let starting = self.starting.as_ref().map(|_| self.starting_look_at);
                let turn = self.throttle.as_ref().filter(|_| starting.is_none());
                let turn = turn.and_then(Throttle::due);
                [
                    watch_at,
                    starting,
                    self.timeout_at,
                    self.kill_at,
                    memory,
                    turn,
                ]
                .into_iter()
                .flatten()
                .min()
            }
        }
    }

    /// Returns true if all processes have ended and both pipes too.
    pub(crate) fn is_over(&self) -> bool {
        let first = self.first.as_ref();
        first.is_some_and(|first| first.rest.is_none()) && self.is_silent()
    }

    pub(crate) fn told(&self) -> Started {
        Started {
            attempt: self.attempt,
            pid: self.pid().as_raw_nonzero().get().unsigned_abs(),
            started: self.started,
        }
    }

    /// The outcome, without the note, which the store has, and the containment.
    pub(crate) fn outcome(mut self) -> (Ended, Contained) {
        self.stdout.close();
        self.stderr.close();
        let pid = self.pid().as_raw_nonzero().get().unsigned_abs();
        let waited = self.first.as_ref().and_then(|first| first.waited);
        let exit = match (
            self.cause,
            waited.map(|waited| (waited.code(), waited.signal())),
        ) {
            (Some(cause), _) => cause,
            (None, Some((Some(code), _))) => Exit::Exited { code },
            (None, Some((None, signal))) => Exit::Signaled { signal },
            // Somebody else collected the process, which nobody can; its end is unknown.
            (None, None) => Exit::Signaled { signal: 0 },
        };
        if let Exit::NotStarted { .. } = exit {
            let start = Start {
                attempt: self.attempt,
                ..Start::default()
            };
            return (not_started(start, exit, self.started), self.processes);
        }
        let ended = Ended {
            attempt: self.attempt,
            exit,
            started: self.started,
            wall: self.first.as_ref().map_or(Span::ZERO, |first| first.wall),
            cpu_user: waited.map_or(Span::ZERO, |waited| waited.cpu_user),
            cpu_system: waited.map_or(Span::ZERO, |waited| waited.cpu_system),
            peak_memory_bytes: waited.map_or(0, |waited| waited.peak_memory_bytes),
            stdout: self.stdout.captured(),
            stderr: self.stderr.captured(),
            note: Vec::new(),
            pid,
            user: self.user,
            limit: None,
        };
        (ended, self.processes)
    }

    fn is_silent(&self) -> bool {
        !self.stdout.is_open() && !self.stderr.is_open()
    }

    fn watch_due(&self, now: Mono) -> Due {
        if !self.is_watched && now >= self.started_mono + UNWATCHED {
            Due::Watch
        } else {
            Due::Nothing
        }
    }

    /// Returns true if the first process is stopped.
    fn is_stopped(&self) -> bool {
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        matches!(waitid(WaitId::Pid(self.pid()), options), Ok(Some(_)))
    }
}

/// The outcome of a command that never ran.
pub(crate) fn not_started(start: Start, exit: Exit, now: Wall) -> Ended {
    Ended {
        attempt: start.attempt,
        exit,
        started: now,
        wall: Span::ZERO,
        cpu_user: Span::ZERO,
        cpu_system: Span::ZERO,
        peak_memory_bytes: 0,
        stdout: Captured::default(),
        stderr: Captured::default(),
        note: start.note,
        pid: 0,
        user: None,
        limit: None,
    }
}
