//! The links to process managers.

use machine::Context;
use model::limits::STAGED_MAX;
use model::{AttemptId, Bytes, Epoch, FaultName, Mono, Span};
use wire::attempt::{
    ATTEMPTS_MAX, Dispatch, End, FromActivity, Outcome, PROBES_MAX, Refusal, ToActivity,
};

use crate::attempt::{Attempt, AttemptState, dispatch_bytes, start_bytes};
use crate::closed::Closed;
use crate::io::{ATTEMPTS_KNOWN_MAX, Config, DISPATCH_BYTES_MAX, Effect, KNOWN_BYTES_MAX, Stream};
use crate::manager::{ActivityManager, has_forgotten, raise_epoch, settle};
use crate::parts::process::ProcessLink;
use crate::record::Event;

/// Maximum number of known process managers. Further ones are not answered.
const PROCESS_MANAGERS_MAX: usize = 1_024;

impl ActivityManager {
    pub(crate) fn detach(&mut self, number: u32, now: Mono) {
        if let Some(link) = self.process_managers.get_mut(&number) {
            link.away_since = now;
            link.is_attached = false;
            link.wants_holding = false;
        }
    }

    pub(crate) fn on_process(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Mono,
        from: u32,
        message: ToActivity,
    ) {
        if let ToActivity::Attach { epoch, ask, lease } = message {
            return self.on_attach(cx, now, from, (epoch, ask), lease);
        }
        // Before it has got its attempts it has no valid requests: the executor may hold unknown
        // attempts.
        match self.process_managers.get_mut(&from) {
            Some(link) if link.own_epoch != Epoch::default() => link.is_attached = true,
            Some(_) | None => return,
        }
        match message {
            ToActivity::Attach { .. } => {}
            ToActivity::Dispatch {
                meant_for,
                attempts,
                holders,
                holds,
            } => {
                self.holders.learn(holders);
                if let Some(holds) = holds {
                    self.attempts.set_held(holds);
                }
                self.on_dispatch(cx, now, from, meant_for, attempts);
            }
            ToActivity::Acknowledge(ids) => {
                for id in ids {
                    self.forget(cx, id);
                }
            }
            ToActivity::Stop(ids) => {
                for id in ids {
                    self.on_stop(now, from, id);
                }
            }
            ToActivity::Retract(ids) => {
                for id in ids {
                    self.on_retract(now, from, id);
                }
            }
            ToActivity::Tail(id) => self.on_tail_request(cx, from, id),
            ToActivity::Copy {
                copies,
                holders,
                meant_for,
            } => {
                let link = self.process_managers.get(&from);
                let own = link.map_or(Epoch::default(), |link| link.own_epoch);
                if meant_for.is_none_or(|meant_for| meant_for == own) {
                    self.on_copy(cx, from, copies, holders);
                }
            }
            ToActivity::Check { copies, holders } => self.on_check(cx, from, copies, holders),
            ToActivity::Discard(discards) => self.on_discard(cx, from, discards),
            ToActivity::Probe(mut machines) => {
                machines.truncate(PROBES_MAX);
                cx.effect(Effect::Probe { to: from, machines });
            }
            ToActivity::Access { number, is_allowed } => {
                self.on_access(cx, from, number, is_allowed);
            }
            ToActivity::ReadLog(wanted) => cx.effect(Effect::ReadLog(from, wanted)),
            ToActivity::Renewed {
                epoch,
                number,
                keeps,
            } => {
                self.keep_for(cx, from, &keeps);
                self.on_renewed(cx, now, from, epoch, number);
            }
        }
    }

    fn on_attach(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Mono,
        from: u32,
        (epoch, ask): (Epoch, u32),
        lease: Option<Span>,
    ) {
        let n_known = self.process_managers.len();
        if !self.process_managers.contains_key(&from) && n_known >= PROCESS_MANAGERS_MAX {
            return;
        }
        let link = self.process_managers.entry(from).or_default();
        if epoch < link.epoch {
            return; // A late message of an earlier epoch.
        }
        if (epoch, ask) != (link.epoch, link.ask) {
            link.own_epoch = Epoch::default();
            link.is_void = false;
        }
        link.epoch = epoch;
        link.ask = ask;
        // All requests of one of its epochs are alike; those sent from here on get answers of this
        // epoch.
        link.lease.length = wire::lease::counted(lease);
        link.wants_holding = true;
        self.answer_attached(cx, now);
    }

    /// Sends their attempts to the process managers that have attached, once those are known.
    pub(crate) fn answer_attached(&mut self, cx: &mut Context<'_, Self>, now: Mono) {
        if !self.executor.is_known {
            return;
        }
        let waiting = self
            .process_managers
            .iter()
            .filter(|(_, link)| link.wants_holding);
        let waiting: Vec<u32> = waiting.map(|(&number, _)| number).collect();
        for number in waiting {
            self.answer_holding(cx, now, number);
            let is_own = |attempt: &&Attempt| attempt.owner == number;
            // A process manager that was started again does not know which of them run.
            let started = self
                .attempts
                .iter()
                .filter(|attempt| attempt.state.has_started());
            let ended = self.attempts.ended();
            let own = started.chain(ended).filter(is_own);
            let own: Vec<AttemptId> = own.map(|attempt| attempt.id).collect();
            for id in own {
                self.tell(now, number, id);
            }
        }
    }

    fn answer_holding(&mut self, cx: &mut Context<'_, Self>, now: Mono, number: u32) {
        let Some(link) = self.process_managers.get_mut(&number) else {
            return;
        };
        link.wants_holding = false;
        link.is_attached = true;
        if link.own_epoch == Epoch::default() {
            link.own_epoch = raise_epoch(cx);
            link.told = now;
            link.lease.ask_anew(now);
        }
        let (epoch, ask) = (link.own_epoch, link.ask);
        let lease = self.config.lease.map(|_| link.lease.length);
        let has_forgotten = has_forgotten(cx, number);
        let own = self
            .attempts
            .iter()
            .filter(|attempt| attempt.owner == number);
        let ids: Vec<AttemptId> = own.map(|attempt| attempt.id).collect();
        let n_parts = ids.len().div_ceil(ATTEMPTS_MAX).max(1) as u32;
        let mut parts = ids.chunks(ATTEMPTS_MAX);
        for part in 0..n_parts {
            let attempts = parts.next().unwrap_or_default().to_vec();
            let holding = FromActivity::Holding {
                epoch,
                ask,
                part,
                n_parts,
                attempts,
                lease,
                has_forgotten,
            };
            cx.effect(Effect::ToProcess(number, holding));
        }
    }

    fn on_dispatch(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Mono,
        from: u32,
        meant_for: Epoch,
        attempts: Vec<Dispatch>,
    ) {
        let own = |link: &ProcessLink| (link.own_epoch, link.is_void);
        let link = self.process_managers.get(&from);
        let (present, is_void) = link.map_or((Epoch(0), false), own);
        if meant_for == present && !is_void {
            self.confirm(cx, now, from);
            if has_forgotten(cx, from) {
                // It got this with this epoch, and sends nothing before it has recorded the
                // consequences.
                cx.record(Stream::Manager, Event::Resolved(from));
            }
        }
        let is_present = meant_for == present && self.may_start(from);
        for (index, dispatch) in attempts.into_iter().enumerate() {
            let id = dispatch.attempt;
            if self.attempts.get(id).is_some() {
                self.attempts.set_owner(id, from);
                self.tell(now, from, id);
                continue;
            }
            let refusal = match self.closed.get(id) {
                // A process manager that has recorded the outcome ignores this. One that was restored
                // from a backup has not, and sends the activity with another number.
                Some(Closed::Acknowledged | Closed::Retracted) => Some(Refusal::Retracted),
                None if !is_present => Some(Refusal::OtherEpoch { epoch: present }),
                None if self.attempts.granted(id.process) == 0 => {
                    // The grant may have been lost on its way.
                    self.group.has_grants = false;
                    Some(Refusal::NoGrantYet)
                }
                None => self.is_full(index, &dispatch).then_some(Refusal::Full),
            };
            match refusal {
                Some(why) => self.out.answers(from).refuse(id, why),
                None => self.take(now, from, dispatch),
            }
        }
    }

    /// One that is alone is taken however large it is, since there will never be more room for it: a
    /// message has a limit too.
    fn is_full(&self, index: usize, dispatch: &Dispatch) -> bool {
        let bytes = self.attempts.bytes();
        index >= ATTEMPTS_MAX
            || self.attempts.len() >= ATTEMPTS_KNOWN_MAX
            || bytes > 0 && bytes + dispatch_bytes(dispatch) > KNOWN_BYTES_MAX
    }

    /// Adds an attempt.
    fn take(&mut self, now: Mono, from: u32, dispatch: Dispatch) {
        let id = dispatch.attempt;
        let failure = self.reason_not_to_run(&dispatch);
        let attempt = Attempt {
            id,
            owner: from,
            cores: dispatch.cores.max(1),
            memory: dispatch.memory.unwrap_or_default(),
            order: self.attempts.next_order(),
            asked: now,
            stopping: false,
            retracting: false,
            is_once: dispatch.at_most_once,
            directory: None,
            state: AttemptState::Waiting(Box::new(dispatch)),
        };
        match failure {
            Some((name, message)) => {
                self.end(now, attempt, Outcome::failed(id, name, message));
            }
            None => {
                self.attempts.insert(attempt);
                if let Some(link) = self.process_managers.get_mut(&from) {
                    link.fresh.push(id);
                }
            }
        }
    }

    fn reason_not_to_run(&self, dispatch: &Dispatch) -> Option<(FaultName, String)> {
        let Config { slots, .. } = self.config;
        let bytes = start_bytes(dispatch);
        if dispatch.command.is_empty() {
            Some((
                FaultName::NotStarted,
                "the command line is empty".to_owned(),
            ))
        } else if dispatch.cores > slots {
            let message = format!("needs {} cores; this machine has {slots}", dispatch.cores);
            Some((FaultName::NoResource, message))
        } else if bytes > DISPATCH_BYTES_MAX {
            let (bytes, most) = (Bytes(bytes as u64), Bytes(DISPATCH_BYTES_MAX as u64));
            let message = format!(
                "command line, environment and stdin take {bytes}; at most {most} may be sent"
            );
            Some((FaultName::TooLarge, message))
        } else if dispatch.inputs.len() > STAGED_MAX {
            let n_inputs = dispatch.inputs.len();
            let message = format!("has {n_inputs} input files; at most {STAGED_MAX}");
            Some((FaultName::TooLarge, message))
        } else {
            None
        }
    }

    /// Accepts new attempts that wait, so that they are not sent again. For those that advanced at
    /// once, the start or the end is reported.
    pub(crate) fn accept_waiting(&mut self) {
        for (&number, link) in &mut self.process_managers {
            for id in link.fresh.drain(..) {
                let is_waiting = self
                    .attempts
                    .get(id)
                    .is_some_and(|found| matches!(found.state, AttemptState::Waiting(_)));
                if is_waiting {
                    self.out.answers(number).accepted.push(id);
                }
            }
        }
    }

    /// Forgets an attempt that has ended: its outcome is durable elsewhere, or nobody wants it.
    pub(crate) fn forget(&mut self, cx: &mut Context<'_, Self>, id: AttemptId) {
        let Some(attempt) = self.attempts.remove(id) else {
            return;
        };
        let AttemptState::Ended(outcome) = &attempt.state else {
            return self.attempts.insert(attempt);
        };
        let is_kept = match outcome.end {
            End::Failed(_) => true,
            End::Completed | End::Stopped | End::Lost | End::Lacking(_) => false,
        };
        settle(cx, id);
        self.closed.insert(id, Closed::Acknowledged);
        self.out.forgets.push(id);
        if !is_kept {
            self.clear(attempt);
        }
    }

    fn on_stop(&mut self, now: Mono, from: u32, id: AttemptId) {
        self.attempts.set_owner(id, from);
        let Some(attempt) = self.attempts.remove(id) else {
            return self.on_unknown(from, id);
        };
        match &attempt.state {
            AttemptState::Waiting(_) | AttemptState::Staging(_) | AttemptState::Staged(_) => {
                let outcome = Outcome::without_run(id, End::Stopped);
                self.end(now, attempt, outcome);
            }
            AttemptState::Queued(_) | AttemptState::Running { .. } => {
                self.attempts.insert(attempt);
                self.attempts.set_stopping(id);
                self.out.stops.push(id);
            }
            // It has ended already: the outcome is on its way.
            AttemptState::Collecting(_) => self.attempts.insert(attempt),
            AttemptState::Ended(_) => {
                self.attempts.insert(attempt);
                self.tell(now, from, id);
            }
        }
    }

    fn on_retract(&mut self, now: Mono, from: u32, id: AttemptId) {
        self.attempts.set_owner(id, from);
        let Some(mut attempt) = self.attempts.remove(id) else {
            return self.on_unknown(from, id);
        };
        match &attempt.state {
            AttemptState::Waiting(_) | AttemptState::Staging(_) | AttemptState::Staged(_) => {
                self.take_back(from, attempt);
            }
            AttemptState::Queued(_) => {
                (attempt.retracting, attempt.asked) = (true, now);
                self.attempts.insert(attempt);
                self.out.retracts.push(id);
            }
            AttemptState::Running { .. } | AttemptState::Collecting(_) | AttemptState::Ended(_) => {
                self.attempts.insert(attempt);
                self.tell(now, from, id);
            }
        }
    }

    /// Unknown attempts will not run here, or no more. Whoever has the outcome of one and asks all the
    /// same, since its acknowledgement was on its way, asks until it is told.
    fn on_unknown(&mut self, from: u32, id: AttemptId) {
        match self.closed.get(id) {
            Some(Closed::Acknowledged) => self.out.answers(from).retracted.push(id),
            Some(Closed::Retracted) | None => self.retracted(from, id),
        }
    }
}
