//! The guardian: a second process, the parent of the executor, that ends all processes of commands
//! when the executor has ended in any way.
//!
//! The kernel kills the first process of each command when the executor dies, and no other. Their
//! descendants become the guardian's, which collects all orphans below it and so finds every one of
//! them. It holds the lock of the state directory until they have ended: the next executor, and the
//! daemons that learn from it of lost commands, come after that.
//!
//! It also kills a frozen executor that was due to end commands whose lease has ended. And if the
//! guardian dies, its executor ends in order.

mod fork;

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::process::ExitCode;

use model::{Mono, Span};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, getppid, kill_process, pidfd_open, set_child_subreaper,
    set_parent_process_death_signal, setsid,
};
use rustix::time::Timespec;

use crate::clock;
use crate::containment::{Children, Containment, Leftovers, end_all, warn};
use crate::sys;

/// Its name in `ps`, so that killing all programs of the executor's name spares it.
const NAME: &std::ffi::CStr = c"guardian";

/// Time after the end of a lease for the executor to act: less than process managers allow for a
/// kill that takes effect late ([`wire::lease::patience`]).
const LATENESS: Span = Span::from_millis(350);

/// Bytes of a deadline in the channel.
const DEADLINE_BYTES: usize = size_of::<u64>();

/// The deadline of an executor without leases.
const NOTHING_DUE: Mono = Mono(u64::MAX);

/// The process that this one is after the split.
pub(crate) enum Side {
    Executor(Channel),
    Guardian(Guardian),
}

/// Splits into two processes. Must be called while this one has a single thread.
pub(crate) fn split() -> io::Result<Side> {
    // Not inherited by the executor.
    set_child_subreaper(Some(getpid()))?;
    let flags = PipeFlags::CLOEXEC | PipeFlags::NONBLOCK;
    let (deadlines, channel) = pipe_with(flags)?;
    let guardian = getpid();
    match fork::fork()? {
        None => {
            set_parent_process_death_signal(Some(Signal::TERM))?;
            // Commands are found by their session.
            let _ = setsid();
            if getppid() != Some(guardian) {
                return Err(io::Error::other("the guardian has gone"));
            }
            let told = None;
            Ok(Side::Executor(Channel { channel, told }))
        }
        Some(executor) => {
            // `ps` then shows both with one command line, and two names.
            let _ = rustix::thread::set_name(NAME);
            let pidfd = pidfd_open(executor, PidfdFlags::empty())?;
            Ok(Side::Guardian(Guardian {
                executor,
                pidfd,
                deadlines: Some(deadlines),
                deadline: None,
                children: Children::of_this_process(),
            }))
        }
    }
}

/// The executor's end of the channel between them.
#[derive(Debug)]
pub(crate) struct Channel {
    channel: OwnedFd,
    told: Option<Mono>,
}

impl Channel {
    /// Sends the time by which the executor must act or count as frozen, by the clock that counts
    /// suspend; none if there is no such time.
    pub(crate) fn tell(&mut self, deadline: Option<Mono>) {
        if deadline == self.told {
            return;
        }
        let told = deadline.unwrap_or(NOTHING_DUE);
        // A guardian that has not read thousands of renewals will soon get the next one.
        if rustix::io::write(&self.channel, &told.0.to_le_bytes()).is_ok() {
            self.told = deadline;
        }
    }
}

/// The guardian; see the module.
pub(crate) struct Guardian {
    executor: Pid,
    /// Becomes readable when the executor has ended.
    pidfd: OwnedFd,
    /// Ends when the executor has closed it.
    deadlines: Option<OwnedFd>,
    /// The time by which the executor must act.
    deadline: Option<Deadline>,
    children: Children,
}

impl Guardian {
    /// Returns when the executor has ended with all processes of its commands. The lock is held
    /// until then.
    pub(crate) fn run(
        mut self,
        containment: &Containment,
        leftovers: &Leftovers,
        lock: File,
    ) -> io::Result<ExitCode> {
        let signals = fork::signals()?;
        while !self.watch(&signals) {}
        let waited = sys::wait(self.executor).ok().flatten();
        let groups: Vec<_> = containment.groups().collect();
        if end_all(&groups) {
            leftovers.forget(&groups);
        } else {
            warn("some of what commands started does not end: it waits in the kernel");
        }
        drop(lock);
        let code = waited.and_then(|waited| waited.code());
        Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
    }

    /// Waits for the next event and handles it. Returns true if the executor has ended.
    fn watch(&mut self, signals: &OwnedFd) -> bool {
        self.read_deadlines();
        let timeout = self.remaining().map(|span| Timespec {
            tv_sec: (span.0 / 1_000_000).try_into().unwrap_or(i64::MAX),
            tv_nsec: (span.0 % 1_000_000 * 1_000) as i64,
        });
        let mut fds = vec![
            PollFd::new(&self.pidfd, PollFlags::IN),
            PollFd::new(signals, PollFlags::IN),
        ];
        if let Some(deadlines) = &self.deadlines {
            fds.push(PollFd::new(deadlines, PollFlags::IN));
        }
        // A failure is an interruption, after which everything is checked again.
        let _ = poll(&mut fds, timeout.as_ref());
        let has_ended = !fds[0].revents().is_empty();
        while let Some(signal) = fork::next(signals) {
            match signal {
                libc::SIGCHLD => self.collect_orphans(),
                // A signal to end this process means both.
                _ => {
                    let _ = kill_process(self.executor, Signal::TERM);
                }
            }
        }
        has_ended
    }

    /// The time until the deadline is checked; none without one. A late executor is killed.
    fn remaining(&mut self) -> Option<Span> {
        let left = self.deadline.as_mut()?.left(clock::boot(), clock::mono());
        if left == Span::ZERO {
            warn("the executor has not ended commands whose lease had run out: it is killed");
            let _ = kill_process(self.executor, Signal::KILL);
            self.deadline = None;
            return None;
        }
        Some(left)
    }

    /// Reads the latest deadline.
    fn read_deadlines(&mut self) {
        let Some(deadlines) = &self.deadlines else {
            return;
        };
        let mut bytes = [0; DEADLINE_BYTES];
        loop {
            match rustix::io::read(deadlines, &mut bytes) {
                Ok(DEADLINE_BYTES) => {
                    let told = Mono(u64::from_le_bytes(bytes));
                    self.deadline = (told != NOTHING_DUE).then_some(Deadline::at(told));
                }
                Err(Errno::AGAIN | Errno::INTR) => return,
                // The executor is ending.
                Ok(_) | Err(_) => {
                    self.deadlines = None;
                    self.deadline = None;
                    return;
                }
            }
        }
    }

    /// Collects ended children except the executor, whose end its descriptor reports.
    fn collect_orphans(&self) {
        let mut pids = Vec::new();
        self.children.read(&mut pids);
        for pid in pids.into_iter().filter_map(Pid::from_raw) {
            if pid != self.executor {
                let _ = sys::wait(pid);
            }
        }
    }
}

/// The time by which the executor must act, and its permitted lateness.
struct Deadline {
    /// By the clock that counts suspend.
    at: Mono,
    /// By the clock that does not count suspend: a resumed machine wakes both processes at once,
    /// and the executor gets its time. None before the deadline.
    late_until: Option<Mono>,
}

impl Deadline {
    fn at(at: Mono) -> Deadline {
        Deadline {
            at,
            late_until: None,
        }
    }

    /// The time until the next check, however often this is called; zero when the executor has had
    /// its deadline and all of [`LATENESS`].
    fn left(&mut self, boot: Mono, mono: Mono) -> Span {
        let left = self.at.since(boot);
        if left > Span::ZERO {
            return left;
        }
        let until = *self.late_until.get_or_insert(mono + LATENESS);
        until.since(mono)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wake_ups_of_the_guardian_do_not_shorten_the_executors_time() {
        let mut deadline = Deadline::at(Mono(1_000));
        assert_eq!(deadline.left(Mono(400), Mono(0)), Span(600));
        // After a suspend over the deadline. An ending orphan wakes the guardian again.
        assert_eq!(deadline.left(Mono(9_000), Mono(10)), LATENESS);
        assert_eq!(
            deadline.left(Mono(9_100), Mono(110)),
            Span(LATENESS.0 - 100)
        );
        let late = Mono(10) + LATENESS;
        assert_eq!(deadline.left(Mono(9_000_000), late), Span::ZERO);
    }
}
