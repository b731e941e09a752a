//! Metrics of a group manager.

use std::sync::atomic::{AtomicU64, Ordering};

use group_core::{Effect, Survey};
use model::Wall;
use shell::identity::{Registrar, TokenCounts};
use shell::metrics::{Figures, MICROSECONDS};
use wire::group::{FromGroup, Owners};

/// Owners with figures of their own: those who hold most. Each is a series in whatever keeps them.
const OWNERS_SHOWN_MAX: usize = 50;

/// The label of all other owners together. No owner has this name, which is no identity.
const OTHERS: &str = "(others)";

/// Answers to process managers since the start. A repeated answer counts again.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    granted: AtomicU64,
    refused: AtomicU64,
    released: AtomicU64,
    offers: AtomicU64,
    forgotten: AtomicU64,
}

impl Counts {
    /// The core asks for this action.
    pub(crate) fn effect(&self, effect: &Effect) {
        if let Effect::Forgotten { .. } = effect {
            self.forgotten.fetch_add(1, Ordering::Relaxed);
        }
        let Effect::ToProcess(_, message) = effect else {
            return;
        };
        let count = match message {
            FromGroup::Granted { .. } => &self.granted,
            FromGroup::Refused { .. } => &self.refused,
            FromGroup::Released(_) => &self.released,
            FromGroup::Offer(_) => &self.offers,
            FromGroup::Holdings { .. } => return,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds the counts.
    pub(crate) fn show(&self, figures: &mut Figures) {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let about = "Answers to claims of slots, by result.";
        let mut claims = figures.counters("claims_total", about);
        claims.add(&[("result", "granted")], get(&self.granted) as f64);
        claims.add(&[("result", "refused")], get(&self.refused) as f64);
        let about = "Processes whose slots were given back.";
        figures.counter("releases_total", about, get(&self.released));
        let about = "Offers of slots that were sent to process managers.";
        figures.counter("offers_total", about, get(&self.offers));
        let about = "Machines that were forgotten, since they did not come back.";
        figures.counter("machines_forgotten_total", about, get(&self.forgotten));
    }
}

/// Adds machines and slots.
pub(crate) fn show_machines(figures: &mut Figures, survey: &Survey) {
    let nodes = &survey.nodes;
    let mut machines = [("up", 0), ("away", 0), ("drained", 0)];
    let (mut free, mut used, mut unavailable) = (0_u64, 0_u64, 0_u64);
    for node in nodes {
        let state = match (&node.suspect, node.is_drained) {
            (Some(_), _) => 1,
            (None, true) => 2,
            (None, false) => 0,
        };
        machines[state].1 += 1;
        let idle = u64::from(node.slots.saturating_sub(node.held));
        used += u64::from(node.held);
        match state {
            0 => free += idle,
            _ => unavailable += idle,
        }
    }
    let about = "Machines of the group, by state.";
    let mut family = figures.gauges("machines", about);
    for (state, n) in machines {
        family.add(&[("state", state)], f64::from(n));
    }
    let about = "Machines that processes have shown to be slower or faster than measured.";
    let mut corrected = figures.gauges("machines_corrected", about);
    for (direction, is_so) in [
        ("slower", (|shown| shown < 1_000) as fn(u32) -> bool),
        ("faster", |shown| shown > 1_000),
    ] {
        let n = nodes.iter().filter(|node| node.shown.is_some_and(is_so));
        corrected.add(&[("direction", direction)], n.count() as f64);
    }
    let about = "Slots of the group: free, used by processes, and neither because their machine is away or drained.";
    let mut slots = figures.gauges("slots", about);
    for (state, n) in [("free", free), ("used", used), ("unavailable", unavailable)] {
        slots.add(&[("state", state)], n as f64);
    }
    let about = "Grants of slots that processes hold, counted once for each machine.";
    figures.gauge("grants", about, survey.n_grants as f64);
    let about = "Slots that the processes of an owner hold.";
    let mut slots = figures.gauges("owner_slots", about);
    let held = survey.slots_by_owner.iter();
    let held = held.map(|(name, slots)| (name.as_str(), *slots));
    for (owner, n) in bounded(held.collect()) {
        slots.add(&[("owner", &owner)], n as f64);
    }
}

/// Adds what owners have used and their shares, where the group has rules for them.
pub(crate) fn show_owners(figures: &mut Figures, owners: Option<&Owners>) {
    let about = "1 where owners of processes have shares of the group.";
    let is_fair = owners.is_some_and(|owners| owners.is_fair);
    figures.gauge("shares_in_force", about, u8::from(is_fair).into());
    let owners = owners.map(|owners| &owners.owners[..]).unwrap_or_default();
    let of = |value: &dyn Fn(&wire::group::OwnerUsage) -> u64| {
        let all = owners.iter().map(|one| (one.name.as_str(), value(one)));
        bounded(all.collect())
    };
    let about = "Slot time that an owner has used, which counts for less the longer it is ago.";
    let mut used = figures.gauges("owner_used_slot_seconds", about);
    for (owner, n) in of(&|one| one.usage.0) {
        used.add(&[("owner", &owner)], n as f64 * MICROSECONDS);
    }
    let about = "Share of an owner, which means something beside those of others alone.";
    let mut shares = figures.gauges("owner_share", about);
    for (owner, n) in of(&|one| one.share.into()) {
        shares.add(&[("owner", &owner)], n as f64);
    }
}

/// Adds the members' certificates and the join tokens.
pub(crate) fn show_members(figures: &mut Figures, registrar: &Registrar, now: Wall) {
    let issued = registrar.issued_certificates();
    let is_revoked = |serial| registrar.revocations().contains(serial);
    let revoked = issued.iter().filter(|(serial, _)| is_revoked(serial));
    let revoked = revoked.count();
    let valid = registrar.valid(now).count();
    let all = issued.iter().count();
    let about = "Certificates that the authority has issued, by state.";
    let mut certificates = figures.gauges("certificates", about);
    let expired = all.saturating_sub(valid).saturating_sub(revoked);
    for (state, n) in [("valid", valid), ("revoked", revoked), ("expired", expired)] {
        certificates.add(&[("state", state)], n as f64);
    }
    let about = "Members whose certificate ends soon.";
    let ending = registrar.endings(now).len();
    figures.gauge("certificates_ending", about, ending as f64);
    let ends = registrar.valid(now).map(|(_, signed)| signed.not_after);
    let first = ends.min().unwrap_or_default();
    let about = "When the first of the valid certificates of members ends, in Unix time; 0 if there is none.";
    let seconds = first.0 as f64 * MICROSECONDS;
    figures.gauge("first_certificate_end_timestamp_seconds", about, seconds);
    let about = "When the authority of the group ends, in Unix time.";
    let seconds = registrar.authority().not_after().0 as f64 * MICROSECONDS;
    figures.gauge("authority_end_timestamp_seconds", about, seconds);
    let TokenCounts { n_open, n_used } = registrar.token_counts();
    let about = "Join tokens, by state. An expired one is open until it is removed.";
    let mut tokens = figures.gauges("join_tokens", about);
    tokens.add(&[("state", "open")], n_open as f64);
    tokens.add(&[("state", "used")], n_used as f64);
}

/// The owners with the greatest values, and all others in one.
fn bounded(mut owners: Vec<(&str, u64)>) -> Vec<(String, u64)> {
    owners.sort_by_key(|&(name, n)| (std::cmp::Reverse(n), name));
    let others = owners.split_off(owners.len().min(OWNERS_SHOWN_MAX));
    let shown = owners.into_iter().map(|(name, n)| (name.to_owned(), n));
    let rest: u64 = others.iter().map(|(_, n)| n).sum();
    let rest = (!others.is_empty()).then(|| (OTHERS.to_owned(), rest));
    shown.chain(rest).collect()
}

#[test]
fn of_many_owners_those_who_hold_most_have_figures_of_their_own() {
    let names: Vec<String> = (0..200).map(|number| format!("u{number:03}")).collect();
    let owners = names.iter().zip(0..).map(|(name, n)| (name.as_str(), n));
    let told = bounded(owners.collect());
    assert_eq!(told.len(), OWNERS_SHOWN_MAX + 1);
    assert_eq!(told[0], ("u199".to_owned(), 199));
    assert_eq!(told[OWNERS_SHOWN_MAX].0, OTHERS);
    let all: u64 = told.iter().map(|(_, n)| n).sum();
    assert_eq!(all, (0..200).sum());
    assert_eq!(bounded(vec![("ana", 0)]), [("ana".to_owned(), 0)]);
}
