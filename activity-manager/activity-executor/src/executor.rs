//! The event loop: one thread, one epoll, over the listening socket, the daemon's connection, the
//! pipes of commands, and descriptors for the ends of children and for TERM. This thread starts the
//! commands, and lives as long as the process. `executor/connections.rs` handles the daemon's
//! messages, `executor/commands.rs` the start and end of commands.

mod commands;
mod connections;
mod leases;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use model::{AttemptId, Mono, Span};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::process::{Resource, Rlimit};
use rustix::time::Timespec;
use wire::executor::Exit;

use crate::account::{Accounts, Lendable};
use crate::clock;
use crate::containment::{Contained, Containment};
use crate::cpus::{Cpus, FreeCpus};
use crate::guardian::Channel;
use crate::kept::Kept;
use crate::launch::Launcher;
use crate::limits::Limits;
use crate::link::Link;
use crate::log::Log;
use crate::outcomes::{self, OutcomesError};
use crate::pool::Pool;
use crate::running::{Due, Running};
use crate::store::{Answer, Store};
use crate::sys;
use crate::throttle::{Pace, Tempo};

use self::commands::watch;
use self::leases::Leases;

/// Events taken at once.
const EVENTS: usize = 256;

/// Bytes read from a pipe at once: as much as one holds by default.
const SCRATCH_BYTES: usize = 64 * 1024;

/// The longest wait. One whose milliseconds do not fit an `int` needs a call that kernels before 5.11 do not have.
const WAIT_MILLIS_MAX: u64 = 60 * 60 * 1_000;

/// Interval of looking for the end of processes that wait in the kernel.
const STUCK_EVERY: Span = Span::from_secs(1);

const LISTENER: u64 = u64::MAX;
const LINK: u64 = u64::MAX - 1;
const TERMINATION: u64 = u64::MAX - 2;
const LEASES: u64 = u64::MAX - 3;
const POOL: u64 = u64::MAX - 4;
const ENDS: u64 = u64::MAX - 5;

/// The parts of the executor.
pub(crate) struct Parts {
    pub(crate) listener: UnixListener,
    /// The path of this program; none where it is not text.
    pub(crate) program: Option<String>,
    pub(crate) socket: PathBuf,
    pub(crate) state: PathBuf,
    pub(crate) termination: OwnedFd,
    pub(crate) log: Log,
    pub(crate) store: Store,
    /// Attempts whose outcomes are still in the file of an earlier executor.
    pub(crate) restored: BTreeSet<AttemptId>,
    pub(crate) instance: u64,
    /// The site's limits for every command, and the resource limits of its processes that follow
    /// from them.
    pub(crate) limits: Limits,
    pub(crate) of_processes: Vec<(Resource, Rlimit)>,
    pub(crate) linger: Span,
    pub(crate) kill_grace: Span,
    /// The shares of CPU time that commands get, unless they always get all.
    pub(crate) pace: Option<Pace>,
    /// Stored bytes of each stream of an attempt.
    pub(crate) stream_bytes_max: u64,
    /// The accounts of commands.
    pub(crate) accounts: Accounts<Lendable>,
    /// Accounts that attempts get one by one; none if they do not.
    pub(crate) pool: Option<Pool>,
    /// The containment of commands.
    pub(crate) containment: Containment,
    /// The variable in the environment of commands that are contained as trees.
    pub(crate) mark: CString,
    /// The containers of podman that may be there.
    pub(crate) kept: Kept,
    /// The channel to the guardian.
    pub(crate) guardian: Channel,
}

/// A command with processes left in the kernel.
struct Stuck {
    slot: usize,
    cores: u32,
    cpus: Option<Cpus>,
    processes: Contained,
}

/// The executor; see the module.
pub(crate) struct Executor {
    parts: Parts,
    epoll: OwnedFd,
    null: OwnedFd,
    launcher: Launcher,
    link: Option<Link>,
    link_interest: EventFlags,
    /// Commands by slot, and each slot's generation, so that a late event of an earlier command in
    /// the same slot is ignored.
    slots: Vec<(u32, Option<Running>)>,
    free: Vec<usize>,
    /// Becomes readable when a child has ended.
    ends: OwnedFd,
    /// The slots of the running commands, by their first processes.
    commands: BTreeMap<i32, usize>,
    /// Number of containers of podman that were named.
    n_containers: u64,
    /// Commands that were killed and do not end.
    stuck: Vec<Stuck>,
    /// The next time to look for their end.
    stuck_at: Mono,
    leases: Leases,
    /// The pace of commands, from the time on that the daemon has said; from the start before that.
    tempo: Option<Tempo>,
    free_cpus: FreeCpus,
    /// 0 until a daemon has said hello.
    cores: u32,
    cores_used: u32,
    /// When it ends for lack of a daemon.
    linger_until: Option<Mono>,
    /// When the gathered messages are sent, unless there are many.
    tell_first_at: Option<Mono>,
    phase: Phase,
    scratch: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Serving,
    Ending,
}

impl Executor {
    pub(crate) fn new(mut parts: Parts) -> io::Result<Executor> {
        parts.containment.begin()?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        parts.listener.set_nonblocking(true)?;
        let watch = |fd: &dyn AsFd, token| {
            epoll::add(
                &epoll,
                fd.as_fd(),
                EventData::new_u64(token),
                EventFlags::IN,
            )
        };
        watch(&parts.listener, LISTENER)?;
        watch(&parts.termination, TERMINATION)?;
        let ends = sys::ends_of_children()?;
        watch(&ends, ENDS)?;
        let leases = Leases::new()?;
        watch(&leases.timer, LEASES)?;
        if let Some(pool) = &parts.pool {
            watch(pool.bell(), POOL)?;
        }
        Ok(Executor {
            epoll,
            null: File::open("/dev/null")?.into(),
            launcher: Launcher::new(),
            link: None,
            link_interest: EventFlags::IN,
            slots: Vec::new(),
            free: Vec::new(),
            ends,
            commands: BTreeMap::new(),
            n_containers: 0,
            stuck: Vec::new(),
            stuck_at: Mono(0),
            leases,
            tempo: parts
                .pace
                .clone()
                .map(|pace| Tempo::new(pace, clock::mono(), Span::ZERO)),
            free_cpus: FreeCpus::of_this_process(parts.instance),
            cores: 0,
            cores_used: 0,
            linger_until: Some(clock::mono() + parts.linger),
            tell_first_at: None,
            phase: Phase::Serving,
            scratch: vec![0; SCRATCH_BYTES],
            parts,
        })
    }

    /// Serves until it is shut down or has been without a daemon for too long.
    pub(crate) fn run(mut self) -> Result<(), RunError> {
        let mut events = Vec::with_capacity(EVENTS);
        let mut more_to_start = false;
        loop {
            let timeout = if more_to_start {
                Some(Timespec::default())
            } else {
                self.timeout()
            };
            match epoll::wait(&self.epoll, spare_capacity(&mut events), timeout.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    return Err(RunError::Wait {
                        source: error.into(),
                    });
                }
            }
            let now = clock::mono();
            // Before anything that came meanwhile, which may renew an ended lease.
            self.expire(now);
            for event in events.drain(..) {
                let (token, flags) = (event.data.u64(), event.flags);
                match token {
                    LISTENER => self.accept(),
                    LINK => self.receive(flags, now),
                    TERMINATION => self.terminated(now),
                    // It has woken this thread, and everything is done.
                    LEASES => self.leases.empty_timer(),
                    // An account for another attempt is free.
                    POOL => self.parts.pool.iter_mut().for_each(Pool::take_ready),
                    ENDS => self.collect(now),
                    _ => self.command_event(token),
                }
            }
            self.tick(now);
            self.tell_guardian();
            more_to_start = self.start_queued();
            if !self.gathers(now) {
                // The log before the outcomes that refer to it.
                self.parts.log.flush();
                self.send(now);
            }
            let n_ended = self.free.len() + self.stuck.len();
            if self.phase == Phase::Ending && n_ended == self.slots.len() {
                return self.save();
            }
        }
    }

    // Time.

    fn timeout(&self) -> Option<Timespec> {
        let running = self
            .slots
            .iter()
            .filter_map(|(_, running)| running.as_ref()?.due());
        let now = clock::mono();
        let stuck = (!self.stuck.is_empty()).then_some(self.stuck_at);
        let kept = self.parts.kept.due(now);
        let others = [self.linger_until, self.tell_at(), stuck, kept];
        let next = running.chain(others.into_iter().flatten());
        let micros = next.min()?.since(now).0;
        Some(epoll_timeout(micros))
    }

    fn tick(&mut self, now: Mono) {
        let grace = self.parts.kill_grace;
        for slot in 0..self.slots.len() {
            let (generation, Some(running)) = &mut self.slots[slot] else {
                continue;
            };
            if running.due().is_none_or(|due| due > now) {
                continue;
            }
            self.launcher.reclaim(&mut running.starting);
            match running.tick(now, grace) {
                Due::Nothing => {}
                Due::Watch => {
                    watch(&self.epoll, *generation, slot, running);
                    // Most commands have ended before this, and their end implies their start.
                    let attempt = running.attempt;
                    self.tell(Answer::Started, attempt);
                }
                Due::Look => self.end_rest(slot, now),
                Due::Finish => self.finish(slot),
            }
        }
        self.parts.kept.tick(now);
        if !self.stuck.is_empty() && now >= self.stuck_at {
            self.stuck_at = now + STUCK_EVERY;
            self.free_stuck();
        }
        if self.linger_until.is_some_and(|until| now >= until) && self.phase == Phase::Serving {
            self.end(now, grace);
        }
    }

    /// Sends the time by which commands must be dead to the guardian: a frozen executor kills none.
    fn tell_guardian(&mut self) {
        let running = self.slots.iter().filter_map(|(_, one)| one.as_ref());
        let (now, boot) = (clock::mono(), clock::boot());
        let kills = running.filter_map(Running::lease_kill_at);
        let kills = kills.map(|at| boot + at.since(now));
        let leases = self.leases.dead_by();
        self.parts.guardian.tell(kills.chain(leases).min());
    }

    // The end.

    fn terminated(&mut self, now: Mono) {
        let mut signals = [0; 1024];
        // Emptied, or it stays readable; the kind of signal does not matter.
        let _ = rustix::io::read(&self.parts.termination, &mut signals);
        let grace = match self.phase {
            Phase::Serving => self.parts.kill_grace,
            Phase::Ending => Span::ZERO,
        };
        self.end(now, grace);
    }

    fn end(&mut self, now: Mono, grace: Span) {
        if self.phase == Phase::Serving {
            self.phase = Phase::Ending;
            self.linger_until = None;
            // The next daemon must start another executor, which waits for the lock.
            let _ = fs::remove_file(&self.parts.socket);
            let _ = epoll::delete(&self.epoll, &self.parts.listener);
            self.parts.store.clear_queue();
        }
        for (_, running) in &mut self.slots {
            if let Some(running) = running {
                running.stop(Exit::Abandoned, now, grace);
            }
        }
    }

    fn save(self) -> Result<(), RunError> {
        let held = self.parts.store.outcomes();
        outcomes::save(&self.parts.state, clock::wall(), held.into_iter())
            .map_err(|source| RunError::Save { source })
    }
}

/// Why the loop ended by an error.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    #[error("could not wait for events")]
    Wait {
        #[source]
        source: io::Error,
    },
    #[error("could not keep the outcomes of ended commands")]
    Save {
        #[source]
        source: OutcomesError,
    },
}

/// A time to wait, in whole milliseconds.
fn epoll_timeout(micros: u64) -> Timespec {
    // epoll counts milliseconds: rounding down would poll repeatedly for the last part of one.
    let millis = micros.div_ceil(1_000).min(WAIT_MILLIS_MAX);
    Timespec {
        tv_sec: (millis / 1_000).cast_signed(),
        tv_nsec: (millis % 1_000 * 1_000_000) as i64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_rounded_up_and_fits_an_int_of_milliseconds() {
        let (second, day) = (1_000_000, 86_400_000_000);
        let parts = |micros| {
            let wait = epoll_timeout(micros);
            (wait.tv_sec, wait.tv_nsec)
        };
        assert_eq!(parts(0), (0, 0));
        assert_eq!(parts(1), (0, 1_000_000));
        assert_eq!(parts(2 * second + 1_500), (2, 2_000_000));
        for micros in [60 * day, u64::MAX] {
            let (seconds, _) = parts(micros);
            assert!(
                0 < seconds && seconds * 1_000 <= i64::from(i32::MAX),
                "{seconds}"
            );
        }
    }
}
