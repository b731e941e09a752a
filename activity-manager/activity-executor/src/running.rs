//! One running command: its process, its pipes, its deadlines, and how it is ended.

use std::os::fd::OwnedFd;

use model::{AttemptId, Mono, Span, Wall};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};
use wire::executor::{Captured, Ended, Exit, Start, Started};

use crate::capture::Capture;
use crate::launch::{self, Starting};
use crate::log::Stream;
use crate::memory::resident_bytes;
use crate::sys::Waited;
use crate::throttle::{Share, Throttle, Turn};

/// How often the memory of a command that has a limit is looked at.
const MEMORY_EVERY: Span = Span::from_millis(100);

/// How long pipes are read after the first process has ended. Its group is dead by then; a
/// descendant that has left the group may hold them open for ever.
const DRAIN: Span = Span::from_millis(200);

/// Age at which the pipes of a command are watched one by one. Most commands are shorter, and are
/// read once, at their end. One that fills a pipe (64 KiB) earlier waits for this.
const UNWATCHED: Span = Span::from_millis(5);

/// How long a child that somebody has stopped may keep its command from beginning. Whatever has the
/// same account can stop it; a child on its way makes a dozen system calls.
const HELD_MAX: Span = Span::from_secs(2);

/// How long a child that nobody has stopped may take to execute its program. It may come from a network
/// file system that needs many seconds to begin; nobody but this command waits for it, and its
/// timeout and lease count meanwhile.
const STARTING_MAX: Span = Span::from_secs(60);

/// A command between its start and its outcome.
pub(crate) struct Running {
    pub(crate) attempt: AttemptId,
    pub(crate) cores: u32,
    /// Whose lease it needs.
    pub(crate) owner: Option<u32>,
    pub(crate) stdout: Capture,
    pub(crate) stderr: Capture,
    /// Whether the event loop watches the pipes.
    pub(crate) is_watched: bool,
    /// Becomes readable at the end of the first process.
    pub(crate) pidfd: Option<OwnedFd>,
    pid: Pid,
    started: Wall,
    started_mono: Mono,
    /// Until it is known to have executed its program.
    pub(crate) starting: Option<Starting>,
    /// When it is looked at while it has not.
    starting_look_at: Mono,
    timeout_at: Option<Mono>,
    kill_at: Option<Mono>,
    memory: Option<MemoryLimit>,
    /// Until it is being killed: then it has all the time to clean up.
    throttle: Option<Throttle>,
    /// Why it is being killed.
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
    drain_until: Mono,
}

/// What the event loop has to do for a command whose time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    Nothing,
    Watch,
    Finish,
}

/// What a launch gives.
pub(crate) struct Launched {
    pub(crate) child: launch::Launched,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    pub(crate) started: Wall,
    pub(crate) started_mono: Mono,
}

impl Running {
    pub(crate) fn new(
        start: &Start,
        launched: Launched,
        share: Option<Share>,
        kept_max: u64,
    ) -> Running {
        let Launched {
            child,
            stdout,
            stderr,
            started,
            started_mono,
        } = launched;
        let launch::Launched {
            pid,
            pidfd,
            starting,
        } = child;
        let attempt = start.attempt;
        Running {
            attempt,
            cores: start.cores.max(1),
            owner: start.owner,
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
            pidfd: Some(pidfd),
            pid,
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
            throttle: share.map(|share| Throttle::new(share, started_mono)),
            cause: None,
            first: None,
        }
    }

    /// TERM to the group, KILL after `grace`. The first cause stays; a shorter grace counts.
    pub(crate) fn stop(&mut self, cause: Exit, now: Mono, grace: Span) {
        if self.first.is_some() {
            return;
        }
        if self.cause.is_none() {
            self.cause = Some(cause);
            self.throttle = None;
            if grace > Span::ZERO {
                self.signal(Signal::TERM);
                // A stopped process takes the signal only when it goes on.
                self.signal(Signal::CONT);
            }
        }
        if grace == Span::ZERO {
            self.signal(Signal::KILL);
        }
        let kill_at = now + grace;
        self.kill_at = Some(self.kill_at.map_or(kill_at, |earlier| earlier.min(kill_at)));
    }

    /// Kills what is left of the group. To be called while the first process is not collected, which
    /// keeps the number of the group from being used again.
    pub(crate) fn kill_group(&self) {
        self.signal(Signal::KILL);
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// It could not execute its program.
    pub(crate) fn fail(&mut self, exit: Exit) {
        self.cause.get_or_insert(exit);
    }

    /// The first process has ended: what remains is to empty the pipes.
    pub(crate) fn first_ended(&mut self, waited: Option<Waited>, now: Mono) {
        self.pidfd = None;
        self.throttle = None;
        let wall = now.since(self.started_mono);
        self.first = Some(FirstEnded {
            waited,
            wall,
            drain_until: now + DRAIN,
        });
    }

    /// Acts on what is due.
    pub(crate) fn tick(&mut self, now: Mono, grace: Span) -> Due {
        if let Some(first) = &self.first {
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
            self.signal(Signal::KILL);
        }
        if let Some(limit) = &mut self.memory
            && now >= limit.look_at
        {
            limit.look_at = now + MEMORY_EVERY;
            if resident_bytes(self.pid) > limit.bytes_max {
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
            Some(Turn::Stop) => self.signal(Signal::STOP),
            Some(Turn::Continue) => self.signal(Signal::CONT),
            None => {}
        }
        self.watch_due(now)
    }

    /// When [`Running::tick`] has something to do.
    pub(crate) fn due(&self) -> Option<Mono> {
        let watch_at = (!self.is_watched).then(|| self.started_mono + UNWATCHED);
        match &self.first {
            Some(first) => [watch_at, Some(first.drain_until)]
                .into_iter()
                .flatten()
                .min(),
            None => {
                let memory = self.memory.as_ref().map(|limit| limit.look_at);
                let starting = self.starting.as_ref().map(|_| self.starting_look_at);
                let turn = self.throttle.as_ref().filter(|_| starting.is_none());
                let turn = turn.map(Throttle::due);
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

    /// Whether the first process has ended and both pipes too.
    pub(crate) fn is_over(&self) -> bool {
        self.first.is_some() && self.is_silent()
    }

    pub(crate) fn told(&self) -> Started {
        Started {
            attempt: self.attempt,
            pid: self.pid.as_raw_nonzero().get().unsigned_abs(),
            started: self.started,
        }
    }

    /// The outcome. Its note is with the store.
    pub(crate) fn outcome(mut self) -> Ended {
        self.stdout.close();
        self.stderr.close();
        let waited = self.first.as_ref().and_then(|first| first.waited);
        let exit = match (
            self.cause,
            waited.map(|waited| (waited.code(), waited.signal())),
        ) {
            (Some(cause), _) => cause,
            (None, Some((Some(code), _))) => Exit::Exited { code },
            (None, Some((None, signal))) => Exit::Signaled { signal },
            // Somebody else collected the process, which nobody can; its end is not known.
            (None, None) => Exit::Signaled { signal: 0 },
        };
        if let Exit::NotStarted { .. } = exit {
            let start = Start {
                attempt: self.attempt,
                ..Start::default()
            };
            return not_started(start, exit, self.started);
        }
        Ended {
            attempt: self.attempt,
            exit,
            started: self.started,
            wall: self.first.map_or(Span::ZERO, |first| first.wall),
            cpu_user: waited.map_or(Span::ZERO, |waited| waited.cpu_user),
            cpu_system: waited.map_or(Span::ZERO, |waited| waited.cpu_system),
            peak_memory_bytes: waited.map_or(0, |waited| waited.peak_memory_bytes),
            stdout: self.stdout.captured(),
            stderr: self.stderr.captured(),
            note: Vec::new(),
            pid: self.pid.as_raw_nonzero().get().unsigned_abs(),
        }
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

    /// Whether somebody keeps the first process from going on.
    fn is_stopped(&self) -> bool {
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        matches!(waitid(WaitId::Pid(self.pid), options), Ok(Some(_)))
    }

    fn signal(&self, signal: Signal) {
        if self.starting.as_ref().is_some_and(Starting::is_in_memory) {
            // It may not lead its group yet.
            let _ = kill_process(self.pid, signal);
        }
        // The group may be empty already, which is what is wanted.
        let _ = kill_process_group(self.pid, signal);
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
    }
}
