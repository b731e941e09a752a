//! Leases: the time for which the attempts of a process manager may go on. Their ends are enforced
//! here even if the daemon is frozen, by a timer that counts suspend, so that they take effect as
//! soon as the machine resumes.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;

use model::{Mono, Span};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use wire::executor::{Exit, Lease, Start};

use super::Executor;
use crate::clock;

/// Maximum number of process managers with leases; further ones are ignored.
const OWNERS_MAX: usize = 4_096;

/// The leases that have not ended.
pub(super) struct Leases {
    by_owner: BTreeMap<u32, Lease>,
    /// Becomes readable when the first of them ends.
    pub(super) timer: OwnedFd,
}

impl Leases {
    pub(super) fn new() -> io::Result<Leases> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        Ok(Leases {
            by_owner: BTreeMap::new(),
            timer: timerfd_create(TimerfdClockId::Boottime, flags)?,
        })
    }

    /// Returns true if a command may be queued. A queued one is taken back when its lease ends, so
    /// every waiting command may be started.
    pub(super) fn allow(&self, start: &Start) -> bool {
        let has_lease = |owner| self.by_owner.contains_key(&owner);
        start.owner.is_none_or(has_lease)
    }

    /// Keeps the later end.
    pub(super) fn extend(&mut self, lease: Lease) {
        let before = self.by_owner.get(&lease.owner);
        let is_known = before.is_some() || self.by_owner.len() < OWNERS_MAX;
        let is_later = before.is_none_or(|before| before.until < lease.until);
        if is_known && is_later && lease.until > clock::boot() {
            self.by_owner.insert(lease.owner, lease);
            self.set_timer();
        }
    }

    /// Removes and returns the leases that have ended.
    fn take_ended(&mut self, now: Mono) -> Vec<Lease> {
        let ended = self.by_owner.values().filter(|lease| lease.until <= now);
        let ended: Vec<Lease> = ended.copied().collect();
        for lease in &ended {
            self.by_owner.remove(&lease.owner);
        }
        if !ended.is_empty() {
            self.set_timer();
        }
        ended
    }

    fn set_timer(&self) {
        let none = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let first = self.by_owner.values().map(|lease| lease.until).min();
        // A time of zero disarms it.
        let it_value = first.map_or(none, |until| Timespec {
            tv_sec: (until.0 / 1_000_000).try_into().unwrap_or(i64::MAX),
            tv_nsec: (until.0 % 1_000_000 * 1_000) as i64,
        });
        let at = Itimerspec {
            it_interval: none,
            it_value,
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &at)
            .expect("it is a timer, and the time is one");
    }

    pub(super) fn empty_timer(&self) {
        let mut count = [0; 8];
        // Its value is not used; it is emptied to wait for the next one.
        let _ = rustix::io::read(&self.timer, &mut count);
    }

    /// When the commands of the first of them must be dead.
    pub(super) fn dead_by(&self) -> Option<Mono> {
        self.by_owner.values().map(|lease| lease.dead_by).min()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_owner.is_empty()
    }
}

impl Executor {
    /// Stops and takes back the attempts of leases that have ended.
    pub(super) fn expire(&mut self, now: Mono) {
        if self.leases.is_empty() {
            return;
        }
        let boot = clock::boot();
        for lease in self.leases.take_ended(boot) {
            for attempt in self.parts.store.queued_of(lease.owner) {
                let answer = self.parts.store.retract(attempt);
                self.tell(answer, attempt);
            }
            let grace: Span = lease.dead_by.since(boot);
            for (_, running) in &mut self.slots {
                if let Some(running) = running
                    && running.owner == Some(lease.owner)
                {
                    running.stop(Exit::Expired, now, grace);
                }
            }
        }
    }
}
