//! The way of each input and timer to the step that takes it.

use std::collections::BTreeSet;

use model::{GroupId, ProcessId, Span};
use wire::group::FromGroup;

use crate::clients::{self, Consequence};
use crate::io::{Effect, Input};
use crate::market::Answered;
use crate::observe;
use crate::parts::Parts;
use crate::process::Process;
use crate::record::Event;
use crate::step::Step;
use crate::stream::{State, Stream};
use crate::timer::Timer;

impl Parts {
    /// Takes an input to the step that its subject is in.
    pub(crate) fn take(&mut self, step: &mut Step<'_>, input: Input) {
        match input {
            Input::Group(group, message) => self.on_group(step, group, message),
            Input::GroupUp(group) => self.market.group_up(step, group),
            Input::GroupDown(group) => self.market.group_down(step, group),
            Input::Activity(resource, message) => self.on_activity(step, resource, message),
            Input::ActivityUp(resource) => {
                self.machine_down(step, resource);
                self.machines.up(step, resource);
                self.attach_machine(step, resource);
            }
            Input::ActivityNamed(resource, name) => {
                self.machines.name(resource, name);
            }
            Input::ActivityDown(resource) => self.machine_down(step, resource),
            Input::Request(client, caller, number, request) => {
                // It may read a packed process.
                step.pack_soon();
                let (clients, shown) = self.clients_and_shown();
                let asked = (caller, request);
                let consequence = clients.on_request(step, shown, (client, number), asked);
                self.follow(step, consequence);
            }
            Input::Submission(client, number, submission) => {
                let asking = (client, number);
                let consequence = self.clients.on_submission(step, asking, *submission);
                self.follow(step, consequence);
            }
            Input::Foresee(client, number, submission) => {
                // It may read packed processes.
                step.pack_soon();
                let answer = self.foresee(step, *submission);
                clients::tell(step, (client, number), answer);
            }
            Input::ClientGone(client) => self.clients.gone(step, client),
            Input::Planned(result) => self.market.on_planned(step, *result),
            Input::Room(room) => self.clients.set_room(room),
            Input::Barred(is_barred) => {
                self.clients.set_barred(is_barred);
                self.market.set_barred(step, is_barred);
            }
            Input::Known(known) => observe::know(step, known),
            Input::Recalled(outcomes) => self.cache.recall(outcomes),
            Input::HistoryForgotten(request, result) => {
                clients::history_forgotten(step, &request, result);
            }
            // The manager itself has answered it: no part counts.
            Input::Measure => {}
        }
    }

    fn on_group(&mut self, step: &mut Step<'_>, group: GroupId, message: FromGroup) {
        if let Some(machine) = message.foreign(group) {
            return step.cx.effect(Effect::Foreign(group, machine));
        }
        match message {
            FromGroup::Offer(offer) => self.on_offer(step, group, offer),
            FromGroup::Holdings {
                epoch,
                number,
                held,
                n_revoked,
            } => {
                let answered = Answered {
                    epoch,
                    number,
                    n_revoked,
                };
                self.on_holdings(step, group, answered, held);
            }
            answer @ (FromGroup::Granted { .. }
            | FromGroup::Refused { .. }
            | FromGroup::Released(_)) => {
                if let Some(released) = self.market.on_answer(step, group, answer) {
                    self.released(released);
                }
            }
        }
    }

    /// Sees to the consequence of a request.
    fn follow(&mut self, step: &mut Step<'_>, consequence: Option<Consequence>) {
        match consequence {
            Some(Consequence::Founded(id)) => self.begin(step, id, true),
            Some(Consequence::Forgotten(id)) => self.forget(step, &[id].into()),
            None => {}
        }
    }

    /// Processes are forgotten, and all that is kept of them.
    fn forget(&mut self, step: &mut Step<'_>, ids: &BTreeSet<ProcessId>) {
        self.cache.forget(ids);
        for &id in ids {
            self.files.forget(step, id);
        }
    }

    /// A timer is due.
    pub(crate) fn ring(&mut self, step: &mut Step<'_>, timer: Timer) {
        match timer {
            Timer::AttachGroup(group) => self.market.attach_group(step, group),
            Timer::Inquiry(group) => self.market.repeat_inquiry(step, group),
            Timer::AttachMachine(resource) => self.attach_machine(step, resource),
            Timer::Suspect(resource) => self.look_at(step, resource),
            Timer::Retract(resource) => self.take_back(step, resource),
            Timer::Lost(resource) => self.give_up(step, resource),
            Timer::EarlierLeasesEnd => self.machines.lease_alone(step),
            Timer::Forget => {
                let ids = self.clients.forget_over(step);
                self.forget(step, &ids.into_iter().collect());
            }
            Timer::Pack => self.pack_ended(step),
            Timer::Plan(process) => {
                self.market.plan_anew(step, process);
                step.marks.mark(process);
            }
            Timer::Judge(process) => self.judge_overdue(step, process),
            Timer::Claim(process) => self.market.repeat_claims(step, process),
            Timer::Unacknowledged(process, resource) => {
                let (attempts, grid) = self.attempts_and_grid();
                attempts.repeat_unacknowledged(step, grid, process, resource);
            }
            Timer::Stop(process) => self
                .attempts
                .stop_what_is_out(step, &self.machines, process),
            Timer::Release(process) => self.release(step, process),
            Timer::Return(process) => self.return_slots(step, process),
            Timer::Backoff(process, activity) => {
                self.attempts.try_again(step, process, activity);
            }
            Timer::Watch(client, number) => {
                let (clients, shown) = self.clients_and_shown();
                clients.tell_watcher(step, shown, (client, number));
            }
            Timer::Recall(process) => step.marks.mark(process),
            Timer::Turns => self.take_turns(step),
            Timer::Silent => self.market.note_silence(step),
            Timer::Overdue => self.market.tell_overdue(step),
            Timer::Shown => self.market.tell_shown(step),
            Timer::Copy(process) => self.files.repeat_copies(step, &self.machines, process),
            Timer::Discard(process) => {
                self.files.repeat_discards(step, &self.machines, process);
            }
            Timer::Tail(client, number) => self.clients.give_up_tail(step, (client, number)),
        }
    }

    /// After a replay: takes up all processes again.
    pub(crate) fn resume(&mut self, step: &mut Step<'_>) {
        let leased = match step.cx.state(Stream::Manager) {
            Some(State::Manager { leased, .. }) => *leased,
            Some(State::Empty | State::Process(_) | State::Packed(_) | State::Held(_)) | None => {
                Some(Span::ZERO)
            }
        };
        step.cx.record(Stream::Manager, Event::Epoch(step.epoch));
        self.machines.begin(step, leased);
        self.cache.resume(step);
        let processes = step.cx.processes();
        let open = processes.filter(|process| !process.state.is_released);
        let open: Vec<ProcessId> = open.map(Process::id).collect();
        for id in open {
            let machines = step
                .cx
                .process(id)
                .map(|known| known.state.machines.clone());
            for (resource, name) in machines.unwrap_or_default() {
                self.machines.register(step, resource, &name);
            }
            self.begin(step, id, false);
        }
        self.market.release_held(step);
        self.market.expect_offer(step);
        step.pack_soon();
        self.files.resume_copies(step);
        self.expect_all(step);
        self.expect_holders(step);
        self.clients.watch_time(step);
    }

    /// Takes up a process that was founded in this epoch or an earlier one.
    pub(crate) fn begin(&mut self, step: &mut Step<'_>, id: ProcessId, is_new: bool) {
        let Some(process) = step.cx.process(id) else {
            return;
        };
        self.market.begin(process, is_new);
        self.clients.begin(process);
        self.files.begin(process, is_new);
        self.attempts.begin(step, id, is_new);
        self.cache.begin(step, id);
        step.marks.mark(id);
    }
}
