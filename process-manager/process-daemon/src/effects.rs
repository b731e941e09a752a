//! Carries out the core's effects: sends messages, answers clients, passes plans to the planner.

use std::sync::Arc;

use model::{GroupId, Mono, ResourceId};
use process_core::{Action, Caller, Deed, Effect, Input, ProcessManager};
use shell::audit::{self, Audit};
use shell::{Answers, EffectHandler, Peers};
use wire::attempt::ToActivity;
use wire::group::ToGroup;

use crate::figures::Board;
use crate::history_keeper::HistoryKeeper;
use crate::machine_numbers::MachineNumbers;
use crate::outcome_file::OutcomeKeeper;
use crate::planner::Planner;

/// The connections and threads that carry out effects.
pub(crate) struct Handler {
    pub(crate) groups: Peers<ToGroup, GroupId>,
    pub(crate) machines: Peers<ToActivity, ResourceId>,
    pub(crate) answers: Answers<Input>,
    pub(crate) planner: Planner,
    pub(crate) numbers: Arc<MachineNumbers>,
    pub(crate) history: HistoryKeeper,
    pub(crate) outcomes: OutcomeKeeper,
    pub(crate) board: Arc<Board>,
    pub(crate) audit: Audit,
}

impl EffectHandler<ProcessManager> for Handler {
    fn carry_out(&mut self, effects: Vec<Effect>, inputs: &mut Vec<Input>) {
        for effect in effects {
            match effect {
                Effect::ToGroup(group, message) => self.groups.send(group, &message),
                Effect::ToActivity(resource, message) => self.machines.send(resource, &message),
                Effect::Answer {
                    client,
                    number,
                    answer,
                } => {
                    self.answers.send(client.0, number, answer);
                }
                Effect::Plan(request) => self.planner.give(request),
                Effect::Keep(remembered) => self.history.keep(*remembered),
                Effect::Share(to_share) => self.outcomes.keep(*to_share),
                Effect::Forget(request) => self.history.forget(request, inputs),
                Effect::Measured(measured) => self.board.measured(measured),
                Effect::Done(deed) => self.tell(&deed),
                Effect::Foreign(group, machine) => {
                    tracing::warn!(
                        %group,
                        machine = format!("{machine:#}"),
                        "the group's message is ignored: it names a machine of another group"
                    );
                }
                Effect::Registered(resource, name) => {
                    if self.numbers.register(resource, &name) {
                        tracing::warn!(%resource, name, "another machine's link under its number ends");
                        self.machines.cut(resource);
                    }
                }
            }
        }
        self.machines.wake_receivers();
        self.groups.wake_receivers();
    }

    fn next_wakeup(&self) -> Option<Mono> {
        let due = [
            self.machines.next_wakeup(),
            self.groups.next_wakeup(),
            self.history.next_wakeup(),
            self.outcomes.next_wakeup(),
        ];
        due.into_iter().flatten().min()
    }

    fn wake(&mut self, now: Mono, _: &mut Vec<Input>) {
        self.machines.reconnect(now);
        self.groups.reconnect(now);
        self.history.wake(now);
        self.outcomes.wake(now);
    }
}

impl Handler {
    /// Writes the audit line of a change that a client has asked for.
    fn tell(&self, deed: &Deed) {
        let by = match &deed.by {
            Caller::Local => "local".to_owned(),
            Caller::Holder(identity) => identity.to_string(),
        };
        let base = match deed.action {
            Action::SubmitFrom(base) => Some(format!("from {base}")),
            Action::Submit | Action::Cancel | Action::Forget | Action::ForgetHistory => None,
        };
        let process = deed.process.map(|process| process.to_string());
        self.audit.tell(&audit::Deed {
            action: deed.action.word(),
            by: &by,
            address: &self.answers.place(deed.client.0),
            process: process.as_deref(),
            owner: deed.owner.as_deref(),
            subject: base.as_deref(),
            refusal: deed.refusal.as_deref(),
        });
    }
}
