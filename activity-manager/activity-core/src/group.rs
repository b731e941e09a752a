//! The link to the group manager: registration, the slots that are lent, and grants.

use std::collections::BTreeSet;

use machine::Context;
use model::{Mono, ProcessId};
use wire::lease;
use wire::resource::{
    CLOSED_BYTES_MAX, Facts, FromResource, PROCESSES_ASKED_MAX, ProcessGrant, QuestionId,
    ToResource,
};

use crate::attempt::{Attempt, AttemptState};
use crate::io::{Config, Effect};
use crate::manager::{ActivityManager, epoch};
use crate::parts::leaving::Leaving;

/// Unused processes whose grants wait for the group manager's word: a machine has no more grants.
const WITHDRAWN_MAX: usize = 65_536;

impl ActivityManager {
    pub(crate) fn on_group_up(&mut self, cx: &mut Context<'_, Self>, now: Mono) {
        self.group.is_up = true;
        self.group.is_registered = false;
        self.group.has_grants = false;
        self.register(cx, now);
    }

    /// Registers the machine. The group manager does not repeat its messages, so this also requests
    /// the grants.
    pub(crate) fn register(&mut self, cx: &mut Context<'_, Self>, now: Mono) {
        let Config {
            name,
            memory,
            power,
            labels,
            bulk,
            ..
        } = &self.config;
        let facts = Facts {
            name: name.clone(),
            slots: if self.watch.is_silent() {
                0
            } else {
                self.lends
            },
            memory: *memory,
            power: *power,
            labels: labels.clone(),
            bulk: bulk.clone(),
            is_store: self.config.slots == 0,
            closed: match self.watch.is_silent() {
                true => Some("closed until its executor answers".to_owned()),
                false => self.closed_for.clone(),
            },
        };
        self.group.asked = now;
        // The group manager hears of this machine by that.
        if let Some(length) = self.config.lease {
            self.group.alive = lease::next_alive(now, length, self.config.beat);
        }
        cx.effect(Effect::ToGroup(FromResource::Register {
            epoch: epoch(cx),
            facts,
        }));
    }

    pub(crate) fn on_lend(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Mono,
        slots: u32,
        closed: Option<String>,
    ) {
        let stays = self.leaving == Leaving::No;
        let slots = if stays {
            slots.min(self.config.slots)
        } else {
            0
        };
        let closed = closed.filter(|why| why.len() <= CLOSED_BYTES_MAX);
        if (self.lends, &self.closed_for) != (slots, &closed) {
            self.lends = slots;
            self.closed_for = closed;
            if self.group.is_up {
                self.register(cx, now);
            }
        }
    }

    pub(crate) fn on_power(&mut self, cx: &mut Context<'_, Self>, now: Mono, power: f64) {
        self.config.power = power;
        if self.group.is_up {
            self.register(cx, now);
        }
    }

    /// The group manager ends what unused processes hold: these start nothing more here, until
    /// grants that know of the answer allow it again.
    fn on_inquire(
        &mut self,
        cx: &mut Context<'_, Self>,
        question: QuestionId,
        mut processes: Vec<ProcessId>,
    ) {
        // Before the executor has told its attempts, any process may have some.
        if question <= self.group.closed || !self.executor.is_known {
            return;
        }
        let room = WITHDRAWN_MAX.saturating_sub(self.group.withdrawn.len());
        processes.truncate(room.min(PROCESSES_ASKED_MAX));
        let is_over = |attempt: &&Attempt| matches!(attempt.state, AttemptState::Ended(_));
        let busy = self.attempts.iter().filter(|attempt| !is_over(attempt));
        let busy: BTreeSet<ProcessId> = busy.map(|attempt| attempt.id.process).collect();
        processes.retain(|process| !busy.contains(process));
        for &process in &processes {
            self.attempts.withdraw(process);
            self.group.withdrawn.insert(process, question);
        }
        cx.effect(Effect::ToGroup(FromResource::Unused {
            epoch: epoch(cx),
            question,
            processes,
        }));
    }

    pub(crate) fn on_group(&mut self, cx: &mut Context<'_, Self>, now: Mono, message: ToResource) {
        self.group.heard = now;
        match message {
            ToResource::Registered(resource) => {
                self.group.is_registered = true;
                if self.group.resource != Some(resource) {
                    self.group.resource = Some(resource);
                    cx.effect(Effect::Numbered(resource));
                }
            }
            ToResource::Grants(grants, closed) => {
                self.group.has_grants = true;
                let lifted = self.group.close(closed);
                let is_valid = |grant: &&ProcessGrant| !self.group.is_withdrawn(grant.process);
                let grants: Vec<ProcessGrant> = grants.iter().filter(is_valid).copied().collect();
                let mut gone = self.attempts.set_grants(&grants);
                gone.extend(lifted);
                self.release(cx, gone);
            }
            ToResource::Inquire {
                question,
                processes,
            } => self.on_inquire(cx, question, processes),
        }
    }
}
