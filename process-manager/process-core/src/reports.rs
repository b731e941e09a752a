//! Messages of machines, taken to the parts that they are for.

use std::collections::BTreeSet;

use model::{AttemptId, Epoch, ProcessId, ResourceId, Span};
use wire::attempt::{
    Access, Checked, Copied, Fetched, FromActivity, Outcome, Refusal, Started, ToActivity,
};

use crate::enact::judge::Gone;
use crate::io::Effect;
use crate::machines::Told;
use crate::observe::observe;
use crate::parts::Parts;
use crate::step::Step;
use crate::tally::Noted;

/// All attempts that a machine holds, as it has told them.
struct Holding {
    /// The epoch of its activity manager.
    epoch: Epoch,
    /// The lease by which it counts, where it has said.
    lease: Option<Span>,
    /// True if it has lost its journal.
    has_forgotten: bool,
    attempts: BTreeSet<AttemptId>,
}

impl Parts {
    /// A machine has sent a message.
    pub(crate) fn on_activity(
        &mut self,
        step: &mut Step<'_>,
        resource: ResourceId,
        message: FromActivity,
    ) {
        self.machines.hear(step, resource);
        match message {
            FromActivity::Holding {
                epoch,
                ask,
                part,
                n_parts,
                attempts,
                lease,
                has_forgotten,
            } => {
                let told = Told {
                    epoch,
                    ask,
                    part,
                    n_parts,
                    attempts,
                };
                if let Some(attempts) = self.machines.told(step, resource, told) {
                    let holding = Holding {
                        epoch,
                        lease,
                        has_forgotten,
                        attempts,
                    };
                    self.on_holding(step, resource, &holding);
                }
            }
            FromActivity::Accepted(attempts) => {
                self.attempts.heard(resource, attempts.into_iter());
            }
            FromActivity::Fetched(fetched) => self.on_fetched(step, resource, &fetched),
            FromActivity::Started(started) => self.on_started(step, resource, &started),
            FromActivity::Outcomes(outcomes) => self.on_outcomes(step, resource, outcomes),
            FromActivity::Retracted(attempts) => {
                self.machines
                    .is_answered(resource, attempts.iter().copied());
                self.on_taken_back(step, resource, &attempts);
            }
            FromActivity::Tail(attempt, tail) => self.clients.on_tail(step, attempt, tail),
            FromActivity::LogPart(part) => self.clients.on_log_part(step, &part),
            FromActivity::Copied(copied) => self.on_copied(step, resource, copied),
            FromActivity::Discarded(made_by) => {
                let machines = &self.machines;
                self.files.on_discarded(step, machines, resource, &made_by);
            }
            FromActivity::Checked(checked) => self.on_checked(step, resource, checked),
            FromActivity::Access { number, access } => {
                answer_access(step, resource, number, &access);
            }
            FromActivity::Renew { epoch, number } => self.on_renew(step, resource, epoch, number),
            FromActivity::Refused { attempts, why } => {
                self.on_refused(step, resource, &attempts, why);
            }
        }
        self.welcome(step, resource);
    }

    /// A machine has told all attempts that it holds.
    fn on_holding(&mut self, step: &mut Step<'_>, resource: ResourceId, holding: &Holding) {
        let (epoch, held) = (holding.epoch, &holding.attempts);
        let losing = self.files.found(step, &self.machines, resource, epoch);
        self.touch_all(losing);
        self.machines.count_by(step, resource, holding.lease);
        let gone = match holding.has_forgotten {
            true => Gone::Forgotten,
            false => Gone::NotHeld,
        };
        let unwanted = self.attempts.compare(step, resource, held, gone);
        self.machines.drop_unwanted(step, resource, &unwanted);
        let concerned = self.attempts.processes_at(resource);
        self.files
            .keep_again(step, &self.machines, resource, concerned);
        // It may be the one that their checks waited for.
        for id in self.files.unasked() {
            step.marks.mark(id);
        }
    }

    /// A machine has fetched files from others: links may be slower or faster than planned.
    fn on_fetched(&mut self, step: &mut Step<'_>, resource: ResourceId, fetched: &[Fetched]) {
        self.market.note_ways(step.now.mono, resource, fetched);
        let machines: BTreeSet<ResourceId> = fetched.iter().map(|one| one.from).collect();
        let machines = machines.into_iter().chain([resource]);
        let concerned = machines.flat_map(|machine| self.attempts.processes_at(machine));
        let concerned: BTreeSet<ProcessId> = concerned.collect();
        for id in concerned {
            self.market.look_at_ways(step, id);
        }
    }

    fn on_started(&mut self, step: &mut Step<'_>, resource: ResourceId, started: &[Started]) {
        step.cx.note(Noted::Started(started));
        self.market.watch_started(step, resource, started);
        let mut begun = self.attempts.on_started(step, resource, started);
        self.touch_all(begun.iter().copied());
        begun.dedup();
        for &id in begun.iter().filter(|&&id| self.market.is_retracting(id)) {
            step.marks.mark(id);
        }
        for id in begun {
            let (clients, shown) = self.clients_and_shown();
            clients.notify_watchers(step, shown, id);
        }
    }

    fn on_outcomes(&mut self, step: &mut Step<'_>, resource: ResourceId, outcomes: Vec<Outcome>) {
        let attempts = outcomes.iter().map(|outcome| outcome.attempt);
        self.machines.is_answered(resource, attempts);
        self.market.judge(step, resource, &outcomes);
        observe(step, &self.market, resource, &outcomes);
        let ended = outcomes.iter().map(|outcome| outcome.attempt);
        let is_known = |attempt: &AttemptId| {
            let known = step.cx.process(attempt.process);
            known.is_some_and(|known| !known.is_out(*attempt) || known.has_lost(*attempt))
        };
        let known: Vec<AttemptId> = ended.filter(is_known).collect();
        let (attempts, grid) = self.attempts_and_grid();
        let completed = attempts.on_outcomes(step, grid, resource, outcomes);
        // A machine that begins another epoch collects the outputs of what it still holds once more.
        for attempt in known {
            let made = (attempt.process, attempt.activity);
            self.files.discard_again(step, made, resource);
        }
        for (id, activity) in completed {
            self.cache.remember(step, id, activity);
        }
    }

    /// A machine has given attempts back that had not started.
    fn on_taken_back(&mut self, step: &mut Step<'_>, resource: ResourceId, ids: &[AttemptId]) {
        self.attempts.heard(resource, ids.iter().copied());
        self.attempts.lose(step, resource, ids, Gone::Unstarted);
    }

    fn on_copied(&mut self, step: &mut Step<'_>, resource: ResourceId, copied: Vec<Copied>) {
        let machines = &self.machines;
        let ids: Vec<ProcessId> = copied.iter().map(|one| one.process).collect();
        let losing = self.files.on_copied(step, machines, resource, copied);
        for id in ids {
            self.attempts.note_places(step, id);
        }
        self.touch_all(losing);
    }

    fn on_checked(&mut self, step: &mut Step<'_>, resource: ResourceId, checked: Vec<Checked>) {
        for one in checked {
            let (id, activity) = (one.copied.process, one.copied.activity);
            if self.files.on_checked(step, resource, one) {
                self.look_again(step, id, activity);
            }
        }
    }

    /// A machine asks whether its attempts may go on.
    fn on_renew(&mut self, step: &mut Step<'_>, resource: ResourceId, epoch: Epoch, number: u32) {
        let keeps = self.files.kept_at(resource);
        let asked = (epoch, number);
        if self.machines.on_renew(step, resource, asked, keeps) {
            self.reattach(step, resource);
        }
    }

    fn on_refused(
        &mut self,
        step: &mut Step<'_>,
        resource: ResourceId,
        attempts: &[AttemptId],
        why: Refusal,
    ) {
        match why {
            // The repeat finds room.
            Refusal::Full => {}
            Refusal::NoGrantYet => self.attempts.repeat_soon(step, resource, attempts),
            Refusal::Retracted => self.on_taken_back(step, resource, attempts),
            Refusal::OtherEpoch { epoch } => {
                let known = self.machines.epoch(resource);
                if known.is_some_and(|known| known < epoch) {
                    self.reattach(step, resource);
                }
            }
        }
    }

    /// Notes changes of processes that a watcher could see.
    pub(crate) fn touch_all(&mut self, ids: impl IntoIterator<Item = ProcessId>) {
        for id in ids {
            self.clients.touch(id);
        }
    }
}

/// A machine asks if a user may have a file.
fn answer_access(step: &mut Step<'_>, resource: ResourceId, number: u32, access: &Access) {
    let known = step.cx.process(access.process);
    let is_allowed = known.is_some_and(|known| {
        known.owner.as_ref() == Some(&access.user) && known.has_artifact(access.artifact)
    });
    let answer = ToActivity::Access { number, is_allowed };
    step.cx.effect(Effect::ToActivity(resource, answer));
}
