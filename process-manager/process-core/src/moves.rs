//! Machines that come and go: their attempts move, are taken back or are lost.

use std::collections::BTreeSet;

use model::{AttemptId, GroupId, ProcessId, ResourceId};
use wire::group::{Held, Offer};

use crate::budget::Slice;
use crate::enact::busy::Running;
use crate::enact::judge::Gone;
use crate::market::Answered;
use crate::parts::Parts;
use crate::process::Process;
use crate::step::Step;

impl Parts {
    /// A group offers its machines.
    pub(crate) fn on_offer(&mut self, step: &mut Step<'_>, group: GroupId, offer: Offer) {
        if !self.market.is_connected(group) {
            return;
        }
        let offered: Vec<(ResourceId, String)> = offer
            .resources
            .iter()
            .map(|one| (one.resource, one.name.clone()))
            .collect();
        self.files.learn(&offer);
        self.market.on_offer(step, group, offer);
        for (resource, name) in offered {
            self.machines.register(step, resource, &name);
            self.machines.expect(step, resource);
        }
        let leaving = self.market.offers().flat_map(|offer| &offer.leaving);
        let (fresh, returned) = self.machines.set_leaving(leaving.copied().collect());
        for resource in fresh {
            self.move_away(step, resource);
        }
        for resource in returned {
            self.mark_at(step, resource);
        }
        for resource in self.machines.take_doubted() {
            self.attach_machine(step, resource);
        }
    }

    /// A group manager tells what it holds for processes. Those that lack slots of their plans are
    /// planned again, and attempts that cannot start without a grant are taken back.
    pub(crate) fn on_holdings(
        &mut self,
        step: &mut Step<'_>,
        group: GroupId,
        answered: Answered,
        held: Vec<Held>,
    ) {
        for id in self.market.on_holdings(step, group, answered, held) {
            self.take_back_ungranted(step, group, id);
            self.market.plan_again(step, &self.machines, id);
        }
        step.marks.want_plans();
    }

    /// Asks machines for the attempts of a process that holds too little for them there.
    fn take_back_ungranted(&mut self, step: &mut Step<'_>, group: GroupId, id: ProcessId) {
        let known = step.cx.process(id);
        let busy = known.into_iter().flat_map(Process::busy_machines);
        let busy: Vec<ResourceId> = busy.filter(|place| place.group == group).collect();
        for resource in busy {
            let Some(known) = step.cx.process(id) else {
                return;
            };
            let unstarted = self.attempts.unstarted_at(step, resource).into_iter();
            let lacks_grants =
                |one: &AttemptId| one.process == id && !known.fits_grants(one.activity, resource);
            let ungranted: Vec<AttemptId> = unstarted.filter(lacks_grants).collect();
            if !ungranted.is_empty() {
                self.machines.ask_back(resource, ungranted);
                self.take_back(step, resource);
            }
        }
    }

    /// Asks a machine which attempts it holds, where its name is believed: by an offer, or by the
    /// machines that a process has recorded in its plans, since its group may be away.
    pub(crate) fn attach_machine(&mut self, step: &mut Step<'_>, resource: ResourceId) {
        let is_believed = match self.machines.certified_name(resource) {
            None => true,
            Some(name) => {
                let mut offered = self.market.offers().flat_map(|offer| &offer.resources);
                offered.any(|one| one.resource == resource && one.name == name)
                    || self.attempts.processes_at(resource).any(|id| {
                        let known = step.cx.process(id);
                        let mut machines = known.iter().flat_map(|known| &known.state.machines);
                        machines.any(|(one, recorded)| *one == resource && recorded == name)
                    })
            }
        };
        self.machines.attach(step, resource, is_believed);
    }

    /// A machine must tell its attempts anew.
    pub(crate) fn reattach(&mut self, step: &mut Step<'_>, resource: ResourceId) {
        self.machines.detach(resource);
        self.attach_machine(step, resource);
    }

    /// A machine is not connected any more: what was sent is sent again once it is.
    pub(crate) fn machine_down(&mut self, step: &mut Step<'_>, resource: ResourceId) {
        self.machines.down(step, resource);
        self.attempts.machine_down(step, resource);
        let ids = self.attempts.processes_at(resource);
        for id in ids.filter(|&id| self.market.is_retracting(id)) {
            step.marks.mark(id);
        }
    }

    /// A machine that was suspect is there again.
    pub(crate) fn welcome(&mut self, step: &mut Step<'_>, resource: ResourceId) {
        if self.machines.trust(resource) {
            self.mark_at(step, resource);
            self.market.try_all(step);
        }
    }

    /// It is time to look whether a machine was heard.
    pub(crate) fn look_at(&mut self, step: &mut Step<'_>, resource: ResourceId) {
        if self.machines.look_at(step, resource) {
            self.move_away(step, resource);
        }
    }

    /// Nothing more goes to a machine, and what has not started there is taken back.
    fn move_away(&mut self, step: &mut Step<'_>, resource: ResourceId) {
        let lost = match self.machines.is_leaving(resource) {
            true => Vec::new(),
            false => self.attempts.repeatable_at(step, resource),
        };
        self.machines.drop_unwanted(step, resource, &lost);
        self.attempts.lose(step, resource, &lost, Gone::Doubled);
        for id in self.attempts.processes_at(resource) {
            self.market.plan_again(step, &self.machines, id);
        }
        step.marks.want_plans();
        self.take_back(step, resource);
    }

    /// Judges machines whose activities run longer than expected, and starts those a second time elsewhere that may
    /// run twice.
    pub(crate) fn judge_overdue(&mut self, step: &mut Step<'_>, id: ProcessId) {
        let races = self.market.judge_overdue(step, &self.machines, id);
        if races.is_empty() {
            return;
        }
        let mut slice = self.slice(step, id);
        for (activity, resource) in races {
            let (attempts, grid) = self.attempts_and_grid();
            attempts.race(step, grid, (id, resource), activity, &mut slice);
        }
        self.end_slice(step, id, &slice);
    }

    /// Starts attempts beside others at activities that want several at once.
    pub(crate) fn start_replicas(&mut self, step: &mut Step<'_>, id: ProcessId, slice: &mut Slice) {
        for (activity, resource) in self.market.replicas(step, &self.machines, id) {
            let (attempts, grid) = self.attempts_and_grid();
            attempts.race(step, grid, (id, resource), activity, slice);
        }
    }

    /// Slots are given back where others wait for some. Second attempts do not keep theirs from them.
    pub(crate) fn return_slots(&mut self, step: &mut Step<'_>, id: ProcessId) {
        if self.market.has_others_waiting(id) {
            self.attempts.stop_rivals(step, id);
        }
        self.market.return_slots(step, &self.machines, id);
    }

    /// Attempts that a plan moves are asked back, and it comes into force once they are there.
    pub(crate) fn move_on(&mut self, step: &mut Step<'_>, id: ProcessId) {
        for (resource, attempts) in self.market.take_to_retract(step, id) {
            self.machines.ask_back(resource, attempts);
            self.take_back(step, resource);
        }
        let known = (&self.machines, &self.attempts as &dyn Running);
        self.market.settle_moves(step, known, id);
    }

    /// Asks a machine for the attempts that have not started there.
    pub(crate) fn take_back(&mut self, step: &mut Step<'_>, resource: ResourceId) {
        let unstarted = self.attempts.unstarted_at(step, resource).into_iter();
        self.machines.take_back(step, resource, unstarted);
    }

    /// The lease of a machine has ended for certain: nothing that was sent there runs any more.
    pub(crate) fn give_up(&mut self, step: &mut Step<'_>, resource: ResourceId) {
        if self.machines.is_excused(step, resource) {
            return;
        }
        if !self.machines.give_up(resource) {
            return;
        }
        let lost = self.attempts.out_at(step, resource);
        // The machine refuses from here on whatever was sent to this epoch of it.
        self.reattach(step, resource);
        self.attempts.lose(step, resource, &lost, Gone::GivenUp);
        self.lose_files(step, resource);
    }

    /// A machine is lost, or has come back without its files.
    pub(crate) fn lose_files(&mut self, step: &mut Step<'_>, resource: ResourceId) {
        let losing = self.files.lose(step, &self.machines, resource);
        self.touch_all(losing);
    }

    /// After a restart: waits for the machines with files that processes may need.
    pub(crate) fn expect_holders(&mut self, step: &mut Step<'_>) {
        if step.config.lease.is_none() {
            return;
        }
        for resource in self.files.needed_holders(step) {
            self.machines.expect_earlier(step, resource);
        }
    }

    /// After a restart: attempts that an earlier epoch has sent may still run, and machines that plans
    /// name may not come back.
    pub(crate) fn expect_all(&mut self, step: &mut Step<'_>) {
        if step.config.lease.is_none() {
            return;
        }
        let mut places: BTreeSet<ResourceId> = BTreeSet::new();
        let mut planned: BTreeSet<ResourceId> = BTreeSet::new();
        for id in self.attempts.processes() {
            if let Some(known) = step.cx.process(id) {
                places.extend(known.busy_machines());
                let entries = known.state.plan.entries.iter();
                planned.extend(entries.map(|entry| entry.resource));
            }
        }
        for resource in places {
            self.machines.expect_earlier(step, resource);
        }
        // If a planned machine never connects, its activities are planned again.
        for resource in planned {
            self.machines.expect(step, resource);
        }
    }

    /// The processes that a machine concerns may have something to do.
    fn mark_at(&self, step: &mut Step<'_>, resource: ResourceId) {
        for id in self.attempts.processes_at(resource) {
            step.marks.mark(id);
        }
    }
}
