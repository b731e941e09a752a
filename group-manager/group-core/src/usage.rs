//! The slot time that owners of processes have used, decayed: each second of a slot counts half once a
//! half-life has passed.
//!
//! Between two events holdings are constant. An owner with `s` slots for a time `t` is charged
//!
//! ```text
//! used(t) = used(0) * 2^(-t/h) + s * (h / ln 2) * (1 - 2^(-t/h))        h: the half-life
//! ```
//!
//! which is the same however often it is charged meanwhile.

use std::collections::BTreeMap;

use model::{Span, Wall};

/// Owners whose usage is kept. Those beyond, which have used least, count as if they had used nothing.
pub(crate) const OWNERS_MAX: usize = 256;

/// Slot seconds below which usage is forgotten: it decides nothing any more. What is charged at once is
/// more, however short it was held.
const USAGE_MIN: f64 = 1e-7;

/// The usage of owners.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Usage {
    /// Slot seconds by the owner's name, as of `charged`.
    used: BTreeMap<String, f64>,
    /// When they were charged last, by the calendar.
    charged: Option<Wall>,
}

/// The effect of some time on usage.
struct Decay {
    /// The part of the usage before that counts after it.
    left: f64,
    /// Seconds that a slot counts which was held all the time.
    charge: f64,
}

impl Decay {
    fn over(time: Span, half_life: Span) -> Decay {
        let mean = half_life.seconds().max(1e-6) / std::f64::consts::LN_2;
        let lost = -(-time.seconds() / mean).exp_m1();
        Decay {
            left: 1.0 - lost,
            charge: mean * lost,
        }
    }
}

impl Usage {
    /// What a snapshot says.
    pub(crate) fn restore(used: Vec<(String, f64)>, charged: Option<Wall>) -> Usage {
        let used = used.into_iter().collect();
        Usage { used, charged }
    }

    /// Time has passed, in which owners have held these slots.
    pub(crate) fn charge<'a>(
        &mut self,
        (elapsed, half_life): (Span, Span),
        at: Wall,
        held: impl Iterator<Item = (&'a str, u64)>,
    ) {
        let decay = Decay::over(elapsed, half_life);
        for used in self.used.values_mut() {
            *used *= decay.left;
        }
        for (owner, slots) in held {
            let used = self.used.entry(owner.to_owned()).or_default();
            *used += slots as f64 * decay.charge;
        }
        self.used.retain(|_, used| *used >= USAGE_MIN);
        while self.used.len() > OWNERS_MAX {
            let least = self.used.iter().min_by(|a, b| a.1.total_cmp(b.1));
            let Some(least) = least.map(|(owner, _)| owner.clone()) else {
                break;
            };
            self.used.remove(&least);
        }
        self.charged = Some(at);
    }

    /// What an owner has used after some more time, in which it has held these slots.
    pub(crate) fn after(
        &self,
        owner: &str,
        slots: u64,
        (elapsed, half_life): (Span, Span),
    ) -> Span {
        let decay = Decay::over(elapsed, half_life);
        let used = self.used.get(owner).copied().unwrap_or_default();
        Span::from_seconds_up(used * decay.left + slots as f64 * decay.charge)
    }

    /// When owners were charged last.
    pub(crate) fn charged(&self) -> Option<Wall> {
        self.charged
    }

    /// The owners of whom usage is known, with their slot seconds.
    pub(crate) fn used(&self) -> impl Iterator<Item = (&str, f64)> {
        self.used
            .iter()
            .map(|(owner, used)| (owner.as_str(), *used))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Span = Span::from_secs(86_400);

    fn used(usage: &Usage, owner: &str) -> f64 {
        let known = usage.used().find(|(name, _)| *name == owner);
        known.map_or(0.0, |(_, used)| used)
    }

    #[test]
    fn usage_is_halved_in_each_half_life() {
        let mut usage = Usage::restore(vec![("ana".to_owned(), 800.0)], None);
        usage.charge((DAY, DAY), Wall(1), std::iter::empty());
        assert!((used(&usage, "ana") - 400.0).abs() < 1e-9);
        usage.charge((DAY, DAY), Wall(2), std::iter::empty());
        assert!((used(&usage, "ana") - 200.0).abs() < 1e-9);
        assert_eq!(usage.charged(), Some(Wall(2)));
        usage.charge((Span(u64::MAX), DAY), Wall(3), std::iter::empty());
        assert_eq!(usage.used().count(), 0);
    }

    #[test]
    fn a_slot_counts_its_seconds_while_these_are_few_against_the_half_life() {
        let mut usage = Usage::default();
        let week = Span(7 * DAY.0);
        usage.charge(
            (Span::from_secs(60), week),
            Wall(1),
            [("ana", 4)].into_iter(),
        );
        assert!((used(&usage, "ana") - 240.0).abs() < 0.01);
    }

    #[test]
    fn to_charge_more_often_changes_nothing() {
        let (mut once, mut often) = (Usage::default(), Usage::default());
        once.charge((DAY, DAY), Wall(1), [("ana", 3)].into_iter());
        for _ in 0..1_000 {
            let part = (Span(DAY.0 / 1_000), DAY);
            often.charge(part, Wall(1), [("ana", 3)].into_iter());
        }
        let (once, often) = (used(&once, "ana"), used(&often, "ana"));
        assert!((once - often).abs() < 1e-6 * once, "{once} {often}");
        assert!((once - 3.0 * 86_400.0 / (2.0 * std::f64::consts::LN_2)).abs() < 1e-3);
    }

    #[test]
    fn many_short_times_add_up() {
        let mut usage = Usage::default();
        for _ in 0..1_000 {
            usage.charge((Span(10), DAY), Wall(1), [("ana", 1)].into_iter());
            usage.charge((Span(10), DAY), Wall(1), std::iter::empty());
        }
        assert!((used(&usage, "ana") - 0.01).abs() < 1e-6);
    }

    #[test]
    fn the_owners_that_have_used_least_are_forgotten_where_there_are_too_many() {
        let mut usage = Usage::default();
        let names: Vec<String> = (0..=OWNERS_MAX)
            .map(|number| format!("u{number}"))
            .collect();
        let held = names
            .iter()
            .zip(1..)
            .map(|(name, slots)| (name.as_str(), slots));
        usage.charge((DAY, DAY), Wall(1), held);
        assert_eq!(usage.used().count(), OWNERS_MAX);
        assert_eq!(used(&usage, "u0"), 0.0);
        assert!(used(&usage, "u1") > 0.0);
    }
}
