//! Carries out the core's effects: sends messages, answers clients, passes plans to the planner.

use std::sync::Arc;

use model::{GroupId, Mono, ResourceId};
use process_core::{Effect, Input, ProcessManager};
use shell::{Answers, EffectHandler, Peers};
use wire::attempt::ToActivity;
use wire::group::ToGroup;

use crate::history_keeper::HistoryKeeper;
use crate::machine_numbers::MachineNumbers;
use crate::planner::Planner;

/// The connections and threads that carry out effects.
pub(crate) struct Handler {
    pub(crate) groups: Peers<ToGroup, GroupId>,
    pub(crate) machines: Peers<ToActivity, ResourceId>,
    pub(crate) answers: Answers<Input>,
    pub(crate) planner: Planner,
    pub(crate) numbers: Arc<MachineNumbers>,
    pub(crate) history: HistoryKeeper,
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
                Effect::Forget(keys, request) => self.history.forget(&keys, request, inputs),
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
        ];
        due.into_iter().flatten().min()
    }

    fn wake(&mut self, now: Mono, _: &mut Vec<Input>) {
        self.machines.reconnect(now);
        self.groups.reconnect(now);
        self.history.wake(now);
    }
}
