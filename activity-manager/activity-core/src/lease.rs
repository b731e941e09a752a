//! Leases: attempts of a process manager go on for as long as it has recently renewed their lease.
//!
//! Each process manager has a length of its own, which it sends when it attaches. This manager
//! asks, at a fifth of the lease's length. An answer is worth one length from the time at which the
//! request was *sent*, because the time of the answer is unknown here. The executor gets each end
//! and enforces it even if this daemon is frozen. Once a lease has ended, attempts that have not
//! started end unstarted, running ones are stopped, and dispatches for the announced epoch are
//! refused: the process manager may have given all of them to others.

use machine::Context;
use model::{AttemptId, Epoch, Mono, Span};
use wire::attempt::{FromActivity, Outcome};
use wire::executor::{Lease, ToExecutor};
use wire::lease;
use wire::resource::FromResource;

use crate::attempt::AttemptState;
use crate::io::{Config, Effect};
use crate::manager::{ActivityManager, raise_epoch};
use crate::parts::lease::End;
use crate::parts::process::ProcessLink;

impl Config {
    fn lease_end(&self, length: Span, sent: Mono) -> End {
        let grace = lease::grace(length, self.kill_grace);
        let (until, dead_by) = lease::end(sent, length, grace);
        End { until, dead_by }
    }
}

impl ActivityManager {
    /// Ends expired leases. Called before anything else in a step: a daemon that was frozen must
    /// not act on messages that arrived meanwhile.
    pub(crate) fn expire(&mut self, cx: &mut Context<'_, Self>, now: Mono) {
        let is_over = |link: &ProcessLink| {
            let end = link.lease.end;
            end.is_some_and(|end| end.until <= now)
        };
        let over = self.process_managers.iter();
        let over: Vec<u32> = over
            .filter(|(_, link)| is_over(link))
            .map(|(&number, _)| number)
            .collect();
        for number in over {
            self.end_lease(cx, now, number);
        }
    }

    fn end_lease(&mut self, cx: &mut Context<'_, Self>, now: Mono, number: u32) {
        let epoch = raise_epoch(cx);
        if let Some(link) = self.process_managers.get_mut(&number) {
            link.lease.end = None;
            link.void(now, epoch);
        }
        let own = self
            .attempts
            .iter()
            .filter(|attempt| attempt.owner == number);
        let own: Vec<AttemptId> = own.map(|attempt| attempt.id).collect();
        for id in own {
            let Some(attempt) = self.attempts.remove(id) else {
                continue;
            };
            match &attempt.state {
                AttemptState::Waiting(_) | AttemptState::Staging(_) | AttemptState::Staged(_) => {
                    let outcome = Outcome::without_run(id, wire::attempt::End::Stopped);
                    self.end(now, attempt, outcome);
                }
                // The executor does this by itself; it may not have received all of it.
                AttemptState::Queued(_) | AttemptState::Running { .. } => {
                    self.attempts.insert(attempt);
                    self.attempts.set_stopping(id);
                    self.out.stops.push(id);
                }
                AttemptState::Collecting(_) | AttemptState::Ended(_) => {
                    self.attempts.insert(attempt)
                }
            }
        }
    }

    /// Returns true if attempts of a process manager may be sent to the executor.
    pub(crate) fn may_start(&self, owner: u32) -> bool {
        let link = self.process_managers.get(&owner);
        self.config.lease.is_none() || link.is_some_and(|link| link.lease.end.is_some())
    }

    /// The process manager uses an epoch that was announced at this time.
    pub(crate) fn confirm(&mut self, cx: &mut Context<'_, Self>, now: Mono, from: u32) {
        if let Some(link) = self.process_managers.get(&from)
            && link.lease.end.is_none()
        {
            let told = link.told;
            self.extend(cx, now, from, told);
        }
    }

    pub(crate) fn on_renewed(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Mono,
        from: u32,
        epoch: Epoch,
        number: u32,
    ) {
        if let Some(link) = self.process_managers.get_mut(&from)
            && link.own_epoch == epoch
            && !link.is_void
            && let Some(sent) = link.lease.answered(number)
        {
            self.extend(cx, now, from, sent);
        }
    }

    fn extend(&mut self, cx: &mut Context<'_, Self>, now: Mono, number: u32, sent: Mono) {
        let Some(link) = self.process_managers.get_mut(&number) else {
            return;
        };
        if self.config.lease.is_none() {
            return;
        }
        let end = self.config.lease_end(link.lease.length, sent);
        if link.lease.extend(now, end) && self.executor.is_ready {
            cx.effect(tell(number, end));
        }
    }

    /// Sends all leases to an executor that has just listed its attempts.
    pub(crate) fn tell_leases(&self, cx: &mut Context<'_, Self>) {
        for (&number, link) in &self.process_managers {
            if let Some(end) = link.lease.end {
                cx.effect(tell(number, end));
            }
        }
    }

    /// Sends the due renewals, and the sign of life to the group manager.
    pub(crate) fn renew(&mut self, cx: &mut Context<'_, Self>, now: Mono) {
        let Some(length) = self.config.lease else {
            return;
        };
        if self.group.is_up && self.group.alive <= now {
            self.group.alive = lease::next_alive(now, length, self.config.beat);
            cx.effect(Effect::ToGroup(FromResource::Alive));
        }
        for (&to, link) in &mut self.process_managers {
            if link.is_attached && link.own_epoch != Epoch::default() && link.lease.next <= now {
                let number = link.lease.ask(now);
                let epoch = link.own_epoch;
                let renew = FromActivity::Renew { epoch, number };
                cx.effect(Effect::ToProcess(to, renew));
            }
        }
    }

    /// When [`ActivityManager::expire`] or [`ActivityManager::renew`] is due.
    pub(crate) fn lease_due(&self) -> Option<Mono> {
        self.config.lease?;
        let links = self.process_managers.values();
        let due = links.flat_map(|link| {
            let asks = link.is_attached && link.own_epoch != Epoch::default();
            let next = asks.then_some(link.lease.next);
            let until = link.lease.end.map(|end| end.until);
            next.into_iter().chain(until)
        });
        let alive = self.group.is_up.then_some(self.group.alive);
        due.chain(alive).min()
    }
}

fn tell(owner: u32, end: End) -> Effect {
    let End { until, dead_by } = end;
    Effect::Execute(ToExecutor::Lease(Lease {
        owner,
        until,
        dead_by,
    }))
}
