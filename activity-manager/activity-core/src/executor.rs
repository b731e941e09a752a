//! The link to the executor, which holds the commands and outlives this daemon.

use std::collections::BTreeSet;

use machine::Context;
use model::{AttemptId, Mono};
use wire::attempt::{End, Outcome};
use wire::executor::{
    DaemonHello, Ended, ExecutorHello, FromExecutor, Held, PROTOCOL, Phase, Started, ToExecutor,
};

use crate::attempt::{Attempt, AttemptState, Collecting};
use crate::closed::Closed;
use crate::io::{Effect, Stream};
use crate::manager::{ActivityManager, settle};
use crate::outcome::{self, Verdict};
use crate::parts::executor::Listing;
use crate::record::Note;

impl ActivityManager {
    pub(crate) fn on_executor(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Mono,
        message: FromExecutor,
    ) {
        if let FromExecutor::Hello(hello) = message {
            self.end_tails(cx);
            return self.on_hello(hello);
        }
        if !self.executor.is_ready && self.executor.listing.is_none() {
            return; // It has not said who it is, or speaks another version.
        }
        match message {
            FromExecutor::Hello(_) => {}
            FromExecutor::Held(held) => {
                for held in held {
                    self.on_held(cx, now, held);
                }
            }
            FromExecutor::HeldEnd => self.on_held_end(cx, now),
            FromExecutor::Started(started) => {
                for started in started {
                    self.on_started(now, started);
                }
            }
            FromExecutor::Ended(ended) => {
                for ended in ended {
                    self.on_ended(cx, now, ended);
                }
            }
            FromExecutor::Retracted(ids) => {
                for id in ids {
                    self.on_executor_retracted(cx, now, id);
                }
            }
            // Its queue is full. The start stays in place and is repeated, like a lost one.
            FromExecutor::Refused(_) => {}
            FromExecutor::Pong(number) => self.on_pong(cx, now, number),
            FromExecutor::Output { attempt, written } => {
                if written.is_some() {
                    self.on_seen_running(now, attempt);
                }
                self.on_output(cx, attempt, written);
            }
        }
    }

    fn on_hello(&mut self, hello: ExecutorHello) {
        self.executor.close();
        if hello.protocol != PROTOCOL {
            return;
        }
        let is_same = self.executor.instance == Some(hello.instance);
        self.executor.instance = Some(hello.instance);
        self.executor.listing = Some(Listing {
            is_same,
            named: BTreeSet::new(),
        });
    }

    fn on_held(&mut self, cx: &mut Context<'_, Self>, now: Mono, held: Held) {
        let Some(listing) = &mut self.executor.listing else {
            return;
        };
        let id = held.attempt;
        let is_known = self.attempts.get(id).is_some();
        if !is_known && self.closed.get(id).is_some() {
            return self.drop_closed(id);
        }
        listing.named.insert(id);
        if !is_known {
            let note = Note::read(&held.note);
            self.adopt(now, id, note, AttemptState::Queued(None));
        }
        match held.phase {
            Phase::Queued => {}
            Phase::Running(started) => self.on_started(now, started),
            Phase::Ended(ended) => self.on_ended(cx, now, ended),
        }
    }

    /// The executor's list is complete, so attempts that were sent to it and are not listed are
    /// lost.
    fn on_held_end(&mut self, cx: &mut Context<'_, Self>, now: Mono) {
        let Some(Listing { is_same, named }) = self.executor.listing.take() else {
            return;
        };
        let handed = self
            .attempts
            .asked()
            .filter(|attempt| attempt.state.is_handed());
        let missing: Vec<AttemptId> = handed
            .map(|attempt| attempt.id)
            .filter(|id| !named.contains(id))
            .collect();
        self.executor.is_ready = true;
        self.executor.is_known = true;
        cx.effect(Effect::Execute(ToExecutor::Hello(DaemonHello {
            protocol: PROTOCOL,
            cores: self.config.slots,
            linger: self.config.linger,
            kill_grace: self.config.kill_grace,
            pace_since: self.config.pace_since,
        })));
        self.tell_leases(cx);
        for id in missing {
            let Some(attempt) = self.attempts.remove(id) else {
                continue;
            };
            match &attempt.state {
                // The same executor has never received it.
                AttemptState::Queued(Some(_)) if is_same && attempt.retracting => {
                    self.attempts.insert(attempt);
                    self.on_executor_retracted(cx, now, id);
                }
                AttemptState::Queued(Some(start)) if is_same && !attempt.stopping => {
                    self.out.starts.push(wire::executor::Start::clone(start));
                    self.attempts.insert(attempt);
                }
                AttemptState::Queued(_)
                | AttemptState::Running { .. }
                | AttemptState::Waiting(_)
                | AttemptState::Staging(_)
                | AttemptState::Staged(_)
                | AttemptState::Collecting(_)
                | AttemptState::Ended(_) => self.lose(now, attempt),
            }
        }
        self.lose_started(cx, now);
        self.answer_attached(cx, now);
    }

    fn on_started(&mut self, now: Mono, started: Started) {
        let Started {
            attempt: id,
            pid,
            started,
        } = started;
        let Some(mut attempt) = self.attempts.remove(id) else {
            return;
        };
        attempt.state = match attempt.state {
            AttemptState::Queued(_) | AttemptState::Running { pid: 0, .. } => {
                attempt.asked = now;
                let told = wire::attempt::Started {
                    attempt: id,
                    pid,
                    at: started,
                };
                self.out.answers(attempt.owner).started.push(told);
                AttemptState::Running { pid, started }
            }
            state @ (AttemptState::Waiting(_)
            | AttemptState::Staging(_)
            | AttemptState::Staged(_)
            | AttemptState::Running { .. }
            | AttemptState::Collecting(_)
            | AttemptState::Ended(_)) => state,
        };
        self.attempts.insert(attempt);
    }

    /// An attempt of an earlier epoch has written output, so it was started; its start or end is
    /// requested.
    fn on_seen_running(&mut self, now: Mono, id: AttemptId) {
        let Some(mut attempt) = self.attempts.remove(id) else {
            return;
        };
        if let AttemptState::Queued(None) = attempt.state {
            attempt.state = AttemptState::Running {
                pid: 0,
                started: model::Wall(0),
            };
            attempt.asked = now;
            self.out.retracts.push(id);
        }
        self.attempts.insert(attempt);
    }

    fn on_ended(&mut self, cx: &mut Context<'_, Self>, now: Mono, ended: Ended) {
        let id = ended.attempt;
        let note = Note::read(&ended.note);
        if self.attempts.get(id).is_none() {
            if self.closed.get(id).is_some() {
                return self.drop_closed(id);
            }
            self.adopt(now, id, note.clone(), AttemptState::Queued(None));
        }
        let Some(mut attempt) = self.attempts.remove(id) else {
            return;
        };
        match &attempt.state {
            AttemptState::Running { .. } | AttemptState::Queued(_) => {}
            // It was not sent to the executor, or its end is known already.
            AttemptState::Waiting(_)
            | AttemptState::Staging(_)
            | AttemptState::Staged(_)
            | AttemptState::Collecting(_)
            | AttemptState::Ended(_) => return self.attempts.insert(attempt),
        }
        let stderr_tail = outcome::tail(&ended.stderr.inline);
        let user = ended.user;
        match outcome::judge(ended, note.as_ref()) {
            Verdict::Report(outcome) => self.end(now, attempt, outcome),
            Verdict::Collect(outcome) => {
                let outputs = note.map(|note| note.outputs).unwrap_or_default();
                let collecting = Collecting {
                    outcome,
                    outputs,
                    user,
                    stderr_tail,
                };
                cx.effect(collecting.effect(&attempt));
                attempt.asked = now;
                attempt.state = AttemptState::Collecting(Box::new(collecting));
                self.attempts.insert(attempt);
            }
        }
    }

    fn on_executor_retracted(&mut self, cx: &mut Context<'_, Self>, now: Mono, id: AttemptId) {
        let Some(attempt) = self.attempts.remove(id) else {
            return;
        };
        if let AttemptState::Queued(_) = attempt.state {
            settle(cx, id);
        }
        match &attempt.state {
            // An outcome that nobody asks for is sent anyway until it is acknowledged.
            AttemptState::Queued(_) if attempt.stopping || !attempt.retracting => {
                let outcome = Outcome::without_run(id, End::Stopped);
                self.end(now, attempt, outcome);
            }
            AttemptState::Queued(_) => self.take_back(attempt.owner, attempt),
            // The executor had it and does not have it any more.
            AttemptState::Running { .. } => self.lose(now, attempt),
            AttemptState::Waiting(_)
            | AttemptState::Staging(_)
            | AttemptState::Staged(_)
            | AttemptState::Collecting(_)
            | AttemptState::Ended(_) => self.attempts.insert(attempt),
        }
    }

    /// Adds an attempt that an earlier epoch sent to the executor.
    fn adopt(&mut self, now: Mono, id: AttemptId, note: Option<Note>, state: AttemptState) {
        let note = note.unwrap_or_default();
        let directory = Some(note.directory).filter(|directory| !directory.is_empty());
        let order = self.attempts.next_order();
        self.attempts.insert(Attempt {
            id,
            owner: note.owner,
            // A machine may have become one without slots meanwhile.
            cores: note.cores.clamp(1, self.config.slots.max(1)),
            memory: note.memory.unwrap_or_default(),
            order,
            asked: now,
            stopping: false,
            retracting: false,
            is_once: false,
            directory: directory.map(String::into_boxed_str),
            state,
        });
    }

    /// Attempts of an earlier epoch that must not run twice, and that no executor has: they may
    /// have run.
    fn lose_started(&mut self, cx: &mut Context<'_, Self>, now: Mono) {
        let starting = cx.state(Stream::Manager).map(|state| &state.starting);
        let is_gone = |id: AttemptId| {
            let is_known = self.attempts.get(id).is_some() || self.closed.get(id).is_some();
            !is_known
        };
        let gone = starting.into_iter().flatten();
        let gone: Vec<(AttemptId, u32)> = gone
            .map(|(&id, &owner)| (id, owner))
            .filter(|&(id, _)| is_gone(id))
            .collect();
        for (id, owner) in gone {
            let note = Note {
                owner,
                ..Note::default()
            };
            self.adopt(now, id, Some(note), AttemptState::Queued(None));
            if let Some(attempt) = self.attempts.remove(id) {
                self.lose(now, attempt);
            }
        }
    }

    /// The executor has an attempt that is over here.
    fn drop_closed(&mut self, id: AttemptId) {
        match self.closed.get(id) {
            Some(Closed::Acknowledged) => self.out.forgets.push(id),
            Some(Closed::Retracted) => self.out.retracts.push(id),
            None => {}
        }
    }

    /// The outcome of this attempt will never be known.
    fn lose(&mut self, now: Mono, attempt: Attempt) {
        let mut outcome = Outcome::without_run(attempt.id, End::Lost);
        if let AttemptState::Running { pid, started } = attempt.state {
            (outcome.pid, outcome.started) = (pid, started);
        }
        self.end(now, attempt, outcome);
    }
}
