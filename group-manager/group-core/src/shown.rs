//! The powers that machines have shown to processes, beside their measured ones.
//!
//! ```text
//!  process managers --Shown--> median of what they tell --> offers, and the machine's history
//!                                 ^ load of others
//! ```
//! What is told fades: the part of the power that a machine lacks is halved every half hour, so that one that was
//! slow is tried again. Power and load are told apart as far as the load of others is known: as much of the slowness
//! as that load explains is gone as soon as less load is expected.

use std::collections::BTreeMap;

use model::{Span, Wall};
use wire::group::SHOWN_RANGE;

/// The time in which what was told comes to count half as much.
const HALF_LIFE: Span = Span::from_secs(1_800);

/// Words that are so much older than the newest one do not count beside it: whoever still sees the same tells it
/// again each five minutes.
const TOGETHER: Span = Span::from_secs(600);

/// Half-lives after which nothing of it is left.
const HALF_LIVES_MAX: f64 = 8.0;

/// Powers within this part of the measured one are told as that one: chance, and planners take equal machines for
/// equal.
const DIFFERS_FROM: f64 = 0.1;

/// The steps of what is told, so that offers do not change with each message.
const STEP: f64 = 0.05;

/// Process managers whose word on a machine counts; the oldest word makes room.
const TELLERS_MAX: usize = 32;

/// The least part of a machine's cores that is believed to be left beside others.
const LEFT_MIN: f64 = 0.05;

/// The knowledge of one machine's power beside the measured one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ShownPower {
    /// By process manager; of none what an earlier epoch of this manager knew.
    told: BTreeMap<Option<u32>, Told>,
    load: Load,
}

/// The word of a process manager.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Told {
    /// The part of its power.
    part: f64,
    /// The part of its slots that others had left it then.
    left: f64,
    at: Wall,
}

/// The load of a machine by programs other than its commands, in cores.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// The cores of the machine; 0 where nothing is known.
    pub cores: u32,
    /// At the last look, smoothed over some seconds.
    pub others: Option<f64>,
    /// As it is expected from then on.
    pub others_expected: Option<f64>,
}

impl ShownPower {
    /// A process manager tells the power in thousandths.
    pub(crate) fn tell(&mut self, from: Option<u32>, per_mille: u32, (slots, at): (u32, Wall)) {
        let per_mille = per_mille.clamp(*SHOWN_RANGE.start(), *SHOWN_RANGE.end());
        let told = Told {
            part: f64::from(per_mille) / 1e3,
            left: left(self.load.cores, self.load.others, slots),
            at,
        };
        if from.is_some() {
            self.told.remove(&None);
        }
        self.told.insert(from, told);
        if self.told.len() > TELLERS_MAX {
            let oldest = self.told.iter().min_by_key(|(_, told)| told.at);
            if let Some(oldest) = oldest.map(|(&from, _)| from) {
                self.told.remove(&oldest);
            }
        }
    }

    pub(crate) fn set_load(&mut self, load: Load) {
        self.load = load;
    }

    pub(crate) fn load(&self) -> Load {
        self.load
    }

    /// Thousandths of its power that it has, in steps; none where that is as measured.
    pub(crate) fn per_mille(&self, slots: u32, now: Wall) -> Option<u32> {
        let left = left(self.load.cores, self.load.others_expected, slots);
        let newest = self.told.values().map(|told| told.at).max()?;
        let together = self.told.values();
        let together = together.filter(|told| newest.since(told.at) <= TOGETHER);
        let mut parts: Vec<f64> = together.map(|told| told.part(left, now)).collect();
        parts.sort_by(f64::total_cmp);
        // Of two that differ, the machine gets the benefit of the doubt.
        let median = *parts.get(parts.len() / 2)?;
        let stepped = (median / STEP).round() * STEP;
        let differs = (median - 1.0).abs() >= DIFFERS_FROM;
        differs.then_some((stepped * 1e3).round() as u32)
    }
}

impl Told {
    /// The part of its power that the machine has by this, with so much left of its slots by others.
    fn part(self, left: f64, now: Wall) -> f64 {
        let half_lives = now.since(self.at).seconds() / HALF_LIFE.seconds();
        if half_lives > HALF_LIVES_MAX {
            return 1.0;
        }
        let part = match self.part < 1.0 {
            true => {
                let by_itself = (self.part / self.left).min(1.0);
                let by_load = self.part / by_itself;
                by_itself * by_load.max(left)
            }
            false => self.part,
        };
        part.powf(0.5_f64.powf(half_lives))
    }
}

/// The part of a machine's slots that others leave it; all where nothing is known.
fn left(cores: u32, others: Option<f64>, slots: u32) -> f64 {
    match others {
        Some(others) if cores > 0 && slots > 0 && others.is_finite() => {
            ((f64::from(cores) - others) / f64::from(slots.min(cores))).clamp(LEFT_MIN, 1.0)
        }
        Some(_) | None => 1.0,
    }
}

#[cfg(test)]
mod tests;
