//! Offers: what process managers are told of the machines.

use machine::Context;
use model::{Mono, Span};
use wire::group::{FromGroup, Offer, Offered, UNAVAILABLE_MAX, Unavailable};
use wire::resource::Facts;

use crate::io::Effect;
use crate::machines::Machine;
use crate::manager::{GroupManager, state};
use crate::powers::Powers;
use crate::record::MachineNumber;
use crate::state::State;

/// Time for which changes are gathered before an offer to a process manager that is alone: it counts
/// its own slots by itself, and does not wait for the offer.
const OFFER_GAP: Span = Span::from_millis(50);
/// The same where others are connected, since slots that were given back wait for the offer...
const OFFER_GAP_SHARED: Span = Span::from_millis(10);
/// ...and at least this for each machine: to make an offer, and to read it, takes longer then.
const OFFER_GAP_EACH: Span = Span(100);
/// Period of repeating an unchanged offer, since nobody acknowledges it.
const OFFER_PERIOD: Span = Span::from_secs(5);

impl GroupManager {
    /// Offers what has changed, or what was not said for long.
    pub(crate) fn push_offers(&mut self, cx: &mut Context<'_, Self>, now: Mono) {
        if !self.process_managers.any_attached() {
            self.offered = None;
            return;
        }
        let silent = self.offered.map(|offered| now.since(offered));
        let gap = self.offer_gap();
        if silent.is_some_and(|silent| silent < gap) {
            return;
        }
        // Without an earlier offer, the process managers that are attached have got theirs just now.
        if silent.is_some() {
            self.note_fitting(cx);
            let offer = self.offer(cx);
            for number in self.process_managers.attached() {
                let offer = self.offer_to(cx, offer.clone(), number);
                cx.effect(Effect::ToProcess(number, FromGroup::Offer(offer)));
            }
        }
        self.has_changed = false;
        self.offered = Some(now);
    }

    /// The offer to one process manager, from the one to all of them.
    pub(crate) fn offer_to(&self, cx: &Context<'_, Self>, offer: Offer, to: u32) -> Offer {
        let state = state(cx);
        let is_shared = self.process_managers.attached().any(|other| other != to);
        let kept = self.kept_from(state, self.any_of(state, to));
        let own = |mut one: Offered| {
            let number = MachineNumber(one.resource.number);
            let kept = kept.get(&number).copied().unwrap_or_default();
            one.free = one.free.saturating_sub(kept);
            one.yours = u32::try_from(state.held_by(number, to)).unwrap_or(u32::MAX);
            one
        };
        Offer {
            resources: offer.resources.into_iter().map(own).collect(),
            is_shared,
            n_revoked: self.process_managers.n_revoked(to),
            owners: self.owners_to(state, offer.owners, to),
            ..offer
        }
    }

    /// The offer to all process managers, which does not say what each of them holds.
    pub(crate) fn offer(&self, cx: &Context<'_, Self>) -> Offer {
        let state = state(cx);
        // A machine that drains stays among the leaving ones after its connection is gone: the
        // attempts that it gave back just before must not go there again.
        let (leaving, others): (Vec<_>, Vec<_>) = self.machines.iter().partition(|(_, machine)| {
            let facts = &machine.facts;
            (facts.slots == 0 && !facts.is_store) || state.is_drained(&facts.name)
        });
        let connected = others.into_iter().filter(|(_, one)| one.is_there());
        let mut powers = Powers::default();
        let resources = connected.map(|(resource, machine)| {
            let Facts {
                name,
                slots,
                memory,
                power,
                labels,
                bulk,
                is_store: _,
                closed: _,
            } = &machine.facts;
            Offered {
                resource: self.id(resource),
                name: name.clone(),
                power: powers.told(*power),
                slots: *slots,
                free: self.free(state, resource),
                memory: *memory,
                labels: labels.clone(),
                bulk: bulk.clone(),
                yours: 0,
                shown: self.histories.shown(resource, *slots, self.now().wall),
            }
        });
        Offer {
            is_shared: false,
            epoch: state.epoch(),
            resources: resources.collect(),
            unavailable: unavailable(state, &leaving)
                .map(|(number, why)| Unavailable {
                    resource: self.id(number),
                    why,
                })
                .collect(),
            leaving: leaving
                .into_iter()
                .map(|(number, _)| self.id(number))
                .collect(),
            n_revoked: 0,
            owners: self.owners(state),
            takes_shown: true,
            policy: self.config.policy.rescheduling,
            tuning: Some(self.config.policy.tuning).filter(|tuning| !tuning.is_empty()),
        }
    }

    /// When [`GroupManager::push_offers`] is due.
    pub(crate) fn offers_due(&self) -> Option<Mono> {
        let attached = self.process_managers.any_attached();
        let offered = self.offered.filter(|_| attached);
        offered.map(|offered| offered + self.offer_gap())
    }

    /// The time from one offer to the next.
    fn offer_gap(&self) -> Span {
        if !self.has_changed {
            return OFFER_PERIOD;
        }
        if self.process_managers.attached().nth(1).is_none() {
            return OFFER_GAP;
        }
        let of_machines = OFFER_GAP_EACH
            .0
            .saturating_mul(self.machines.n_known() as u64);
        OFFER_GAP_SHARED.max(Span(of_machines))
    }
}

/// Some of the machines that take no work, with the reasons.
fn unavailable(
    state: &State,
    leaving: &[(MachineNumber, &Machine)],
) -> impl Iterator<Item = (MachineNumber, String)> {
    let told = leaving.iter().filter_map(|&(number, machine)| {
        let Facts { name, closed, .. } = &machine.facts;
        let why = match closed {
            _ if state.is_drained(name) => {
                format!("{name} is drained until an administrator ends that (xav undrain {name})")
            }
            Some(why) => format!("{name} is {why}"),
            None => return None,
        };
        Some((number, why))
    });
    told.take(UNAVAILABLE_MAX)
}
