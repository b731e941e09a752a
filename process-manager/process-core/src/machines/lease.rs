//! Leases: the time for which attempts go on at a machine that is not answered, and the time at
//! which they have ended for certain.

use model::{Epoch, Mono, ProcessId, ResourceId, Span};
use wire::attempt::ToActivity;
use wire::lease;

use super::{Liveness, Machines};
use crate::io::Effect;
use crate::limits;
use crate::record::Event;
use crate::step::Step;
use crate::stream::{State, Stream};
use crate::timer::Timer;

impl Machines {
    /// An epoch begins. Earlier ones may have granted longer leases until a moment ago, and until these
    /// have ended it waits by the longest; `before` is the one that they have recorded. An epoch that is
    /// shorter than that leaves it to the next one.
    pub(super) fn lease_from(&mut self, step: &mut Step<'_>, before: Option<Span>) {
        let Some(own) = step.config.lease else {
            return;
        };
        // An epoch that recorded none knew of one length alone.
        let earlier = before.unwrap_or(lease::LENGTH);
        self.earlier_leases_end = step.now.mono + lease::patience(earlier);
        let longest = own.max(earlier);
        if before != Some(longest) {
            step.cx.record(Stream::Manager, Event::Leased(longest));
        }
        if longest > own {
            step.timers
                .set(Timer::EarlierLeasesEnd, self.earlier_leases_end);
        }
    }

    /// Every lease of an earlier epoch has expired: records the longest one of this epoch.
    pub(crate) fn lease_alone(&mut self, step: &mut Step<'_>) {
        let lengths = self.liveness.values().map(|liveness| liveness.length);
        if let Some(longest) = lengths.chain(step.config.lease).max()
            && leased(step) != Some(longest)
        {
            step.cx.record(Stream::Manager, Event::Leased(longest));
        }
    }

    /// A machine is offered: it will connect.
    pub(crate) fn expect(&mut self, step: &mut Step<'_>, resource: ResourceId) {
        if step.config.lease.is_some() && !self.liveness.contains_key(&resource) {
            let heard = step.now.mono;
            let liveness = Liveness {
                heard,
                ..Liveness::default()
            };
            self.liveness.insert(resource, liveness);
            step.timers
                .set(Timer::Suspect(resource), heard + lease::SILENCE);
        }
    }

    /// Notes a message of a machine.
    pub(crate) fn hear(&mut self, step: &mut Step<'_>, resource: ResourceId) {
        if step.config.lease.is_none() {
            return;
        }
        self.expect(step, resource);
        if let Some(liveness) = self.liveness.get_mut(&resource) {
            liveness.heard = step.now.mono;
        }
        step.timers
            .set_once(Timer::Suspect(resource), step.now.mono + lease::SILENCE);
    }

    /// Extends the time until which attempts may run on a machine: its lease from now on, every
    /// lease granted to it before, and those of earlier epochs.
    pub(crate) fn wait_for(&mut self, step: &mut Step<'_>, resource: ResourceId) {
        if let Some(own) = step.config.lease
            && let Some(liveness) = self.liveness.get_mut(&resource)
        {
            let until = step.now.mono + lease::patience(own.max(liveness.length));
            liveness.until = liveness.until.max(until).max(self.earlier_leases_end);
            let until = liveness.until;
            self.give_up_at(step, resource, until);
        }
    }

    /// Sets the moment at which a machine is given up unless it is heard.
    fn give_up_at(&mut self, step: &mut Step<'_>, resource: ResourceId, at: Mono) {
        if let Some(liveness) = self.liveness.get_mut(&resource) {
            // A moment that has passed is noticed as soon as this step is over, which is not late.
            liveness.due = at.max(step.now.mono);
            liveness.is_excused = false;
        }
        step.timers.set(Timer::Lost(resource), at);
    }

    /// The time of a machine is over. Returns true if it was over long ago: then this manager stood still itself and
    /// has heard nobody, so the machine has a moment to come back before all that it has counts as lost.
    pub(crate) fn is_excused(&mut self, step: &mut Step<'_>, resource: ResourceId) -> bool {
        let Some(liveness) = self.liveness.get_mut(&resource) else {
            return false;
        };
        let late = step.now.mono.since(liveness.due);
        if late < limits::STOOD_STILL || std::mem::replace(&mut liveness.is_excused, true) {
            return false;
        }
        liveness.due = step.now.mono + limits::BACK_WITHIN;
        step.timers.set(Timer::Lost(resource), liveness.due);
        true
    }

    /// A machine has told what it holds, and by which length it counts.
    pub(crate) fn count_by(
        &mut self,
        step: &mut Step<'_>,
        resource: ResourceId,
        echoed: Option<Span>,
    ) {
        if let Some(own) = step.config.lease
            && let Some(liveness) = self.liveness.get_mut(&resource)
        {
            liveness.length = liveness.length.max(lease::waited(own, echoed));
            let length = liveness.length;
            if leased(step).is_none_or(|recorded| recorded < length) {
                step.cx.record(Stream::Manager, Event::Leased(length));
            }
        }
        self.wait_for(step, resource);
    }

    /// Returns true if a machine is silent or detached, but not for so long that it is lost.
    pub(crate) fn may_return(&self, step: &Step<'_>, resource: ResourceId) -> bool {
        let Some(length) = step.config.lease else {
            return false;
        };
        let is_attached = self.epoch(resource).is_some();
        let (is_suspect, until) = match self.liveness.get(&resource) {
            Some(liveness) if liveness.is_excused => (liveness.is_suspect, liveness.due),
            Some(liveness) => (
                liveness.is_suspect,
                liveness.heard + lease::patience(length),
            ),
            None => (false, self.begun + lease::patience(length)),
        };
        (is_suspect || !is_attached) && step.now.mono < until
    }

    /// Returns true while this epoch is so young that groups restarted with it may not know all
    /// machines yet.
    pub(crate) fn is_young(&self, step: &Step<'_>) -> bool {
        let length = step.config.lease;
        length.is_some_and(|length| step.now.mono < self.begun + lease::patience(length))
    }

    /// Returns true while a group that cannot be reached may still come back and name its machines.
    pub(crate) fn may_be_unnamed(&self, step: &Step<'_>) -> bool {
        let is_leased = step.config.lease.is_some();
        is_leased && step.now.mono < self.begun + limits::UNNAMED_FOR
    }

    /// It is time to look whether a machine was heard. Returns true where it falls silent.
    pub(crate) fn look_at(&mut self, step: &mut Step<'_>, resource: ResourceId) -> bool {
        let Some(liveness) = self.liveness.get_mut(&resource) else {
            return false;
        };
        let due = liveness.heard + lease::SILENCE;
        if step.now.mono < due {
            step.timers.set(Timer::Suspect(resource), due);
            return false;
        }
        !std::mem::replace(&mut liveness.is_suspect, true)
    }

    /// A machine was heard. Returns true where it was suspect, and has told its attempts.
    pub(crate) fn trust(&mut self, resource: ResourceId) -> bool {
        if self.epoch(resource).is_none() {
            return false;
        }
        let liveness = self.liveness.get_mut(&resource);
        liveness.is_some_and(|liveness| std::mem::take(&mut liveness.is_suspect))
    }

    /// After a restart: attempts that an earlier epoch has sent to a machine may run for as long as if
    /// it had granted a lease just now.
    pub(crate) fn expect_earlier(&mut self, step: &mut Step<'_>, resource: ResourceId) {
        self.expect(step, resource);
        self.give_up_at(step, resource, self.earlier_leases_end);
    }

    /// A machine asks whether its attempts may go on: in the epoch in which it has told them they may,
    /// and `keeps` are the processes for which it keeps copies. Returns true where it has begun another
    /// epoch, and must tell its attempts anew.
    pub(crate) fn on_renew(
        &mut self,
        step: &mut Step<'_>,
        resource: ResourceId,
        (epoch, number): (Epoch, u32),
        keeps: Vec<ProcessId>,
    ) -> bool {
        let known = self.epoch(resource);
        if step.config.lease.is_none() || known.is_none() {
            return false;
        }
        if known == Some(epoch) {
            self.wait_for(step, resource);
            let renewed = ToActivity::Renewed {
                epoch,
                number,
                keeps,
            };
            step.cx.effect(Effect::ToActivity(resource, renewed));
        }
        known < Some(epoch)
    }
}

/// The longest lease that is recorded.
fn leased(step: &Step<'_>) -> Option<Span> {
    match step.cx.state(Stream::Manager)? {
        State::Manager { leased, .. } => *leased,
        State::Empty | State::Process(_) | State::Packed(_) | State::Held(_) => None,
    }
}
