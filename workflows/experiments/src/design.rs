//! The design of an experiment: a study with its seed, repetitions and numbers of groups, and the
//! units of work that follow from it.

use thiserror::Error;

use crate::graphs::GRAPHS;
use crate::study::Study;

/// The most repetitions: ten times the paper's.
pub const REPETITIONS_MAX: u32 = 10_000;
/// The most groups of a platform; beyond them the studies measure nothing but their own length.
pub const GROUPS_MAX: u32 = 200;
/// The most numbers that an experiment keeps, which are held in memory at once: 800 MB.
pub const VALUES_MAX: u64 = 100_000_000;

/// The description of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Design {
    /// The study.
    pub study: Study,
    /// All that is drawn follows from it.
    pub seed: u64,
    /// The number of times that each graph is drawn for each setting and number of groups.
    pub repetitions: u32,
    /// The numbers of groups, ascending.
    pub groups: Vec<u32>,
    /// The checksum of the measured loads, where the study has any; 0 else.
    pub traces: u32,
}

/// A part of an experiment: the fifteen graphs of a repetition, at one setting and number of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The repetition, from 0.
    pub repetition: u32,
    /// The place of the setting among those of the study.
    pub setting: usize,
    /// The number of groups.
    pub groups: u32,
}

/// The reason why there is no such experiment.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DesignError {
    /// No repetition, or too many.
    #[error("{0} repetitions are asked for; 1 to {REPETITIONS_MAX} are possible")]
    Repetitions(u32),
    /// No numbers of groups at all.
    #[error("no numbers of groups are given; an example is 2,5,10-25")]
    NoGroups,
    /// A platform of no groups, or too many.
    #[error("a platform of {0} groups is asked for; 1 to {GROUPS_MAX} are possible")]
    Groups(u32),
    /// Something else than numbers and ranges.
    #[error("{0:?} is no number of groups; an example is 2,5,10-25")]
    Text(String),
    /// More than fits memory.
    #[error(
        "the experiment would keep {values} numbers; the limit is {VALUES_MAX}: take fewer repetitions or groups"
    )]
    TooLarge {
        /// The number that it would keep.
        values: u64,
    },
}

impl Design {
    /// An experiment; groups are put in order, and named once.
    pub fn new(
        study: Study,
        seed: u64,
        repetitions: u32,
        mut groups: Vec<u32>,
    ) -> Result<Design, DesignError> {
        if !(1..=REPETITIONS_MAX).contains(&repetitions) {
            return Err(DesignError::Repetitions(repetitions));
        }
        if let Some(&wrong) = groups.iter().find(|&&n| !(1..=GROUPS_MAX).contains(&n)) {
            return Err(DesignError::Groups(wrong));
        }
        groups.sort_unstable();
        groups.dedup();
        if groups.is_empty() {
            return Err(DesignError::NoGroups);
        }
        let design = Design {
            study,
            seed,
            repetitions,
            groups,
            traces: 0,
        };
        let values = design.n_units() * design.values_of_unit() as u64;
        if values > VALUES_MAX {
            return Err(DesignError::TooLarge { values });
        }
        Ok(design)
    }

    /// The number of units.
    pub fn n_units(&self) -> u64 {
        u64::from(self.repetitions) * self.units_of_repetition()
    }

    /// The numbers that a unit leads to.
    pub fn values_of_unit(&self) -> usize {
        GRAPHS * self.study.columns().len()
    }

    /// The unit of a number. Repetitions come after each other, so that more of them continue what
    /// fewer have begun, and an experiment that is stopped has seen all settings.
    pub fn unit(&self, number: u64) -> Unit {
        let (repetition, rest) = (
            number / self.units_of_repetition(),
            number % self.units_of_repetition(),
        );
        let n_groups = self.groups.len() as u64;
        Unit {
            repetition: repetition as u32,
            setting: (rest / n_groups) as usize,
            groups: self.groups[(rest % n_groups) as usize],
        }
    }

    /// The first unit of a setting and number of groups; the others follow at a distance of
    /// [`Design::units_of_repetition`].
    pub fn first_unit(&self, setting: usize, groups: u32) -> Option<u64> {
        let place = self.groups.binary_search(&groups).ok()?;
        Some((setting * self.groups.len() + place) as u64)
    }

    /// The number of units of a repetition.
    pub fn units_of_repetition(&self) -> u64 {
        (self.study.settings().len() * self.groups.len()) as u64
    }
}

/// Numbers of groups as users write them: `2,5,10-25`.
pub fn parse_groups(text: &str) -> Result<Vec<u32>, DesignError> {
    let mut groups = Vec::new();
    for part in text.split(',').map(str::trim) {
        let wrong = || DesignError::Text(part.chars().take(40).collect());
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(wrong());
        }
        // The ends are judged before a long range is written out.
        for end in [first, last] {
            if !(1..=GROUPS_MAX).contains(&end) {
                return Err(DesignError::Groups(end));
            }
        }
        groups.extend(first..=last);
    }
    groups.sort_unstable();
    groups.dedup();
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_more_repetitions_begin_with_those_of_fewer() {
        let few = Design::new(Study::Static, 1, 2, vec![5, 2, 5]).unwrap();
        let more = Design::new(Study::Static, 1, 7, vec![2, 5]).unwrap();
        assert_eq!(few.n_units(), 2 * 3 * 2);
        let units: Vec<Unit> = (0..few.n_units()).map(|n| few.unit(n)).collect();
        assert!((0u64..).zip(&units).all(|(n, unit)| *unit == more.unit(n)));
        let last = Unit {
            repetition: 1,
            setting: 2,
            groups: 5,
        };
        assert_eq!(units.last(), Some(&last));
        let different = units
            .iter()
            .map(|u| (u.repetition, u.setting, u.groups))
            .collect::<std::collections::BTreeSet<_>>();
        assert_eq!(different.len(), units.len());
        for (number, unit) in (0u64..).zip(units).take(6) {
            assert_eq!(few.first_unit(unit.setting, unit.groups), Some(number));
        }
        assert_eq!(few.first_unit(0, 3), None);
    }

    #[test]
    fn nothing_and_too_much_are_refused() {
        let design = |repetitions, groups: &[u32]| {
            Design::new(Study::Lasting, 1, repetitions, groups.to_vec()).unwrap_err()
        };
        assert_eq!(design(0, &[2]), DesignError::Repetitions(0));
        assert_eq!(design(10_001, &[2]), DesignError::Repetitions(10_001));
        assert_eq!(design(1, &[]), DesignError::NoGroups);
        assert_eq!(design(1, &[0, 2]), DesignError::Groups(0));
        assert_eq!(design(1, &[2, 201]), DesignError::Groups(201));
        let all: Vec<u32> = (1..=GROUPS_MAX).collect();
        assert!(matches!(
            Design::new(Study::Static, 1, 10_000, all),
            Err(DesignError::TooLarge { .. })
        ));
    }

    #[test]
    fn groups_are_numbers_and_ranges() {
        assert_eq!(parse_groups("25, 2,3-5,4").unwrap(), [2, 3, 4, 5, 25]);
        for wrong in ["", "2,,3", "five", "5-2", "2-", "-1"] {
            assert!(
                matches!(parse_groups(wrong), Err(DesignError::Text(_))),
                "{wrong}"
            );
        }
        assert_eq!(parse_groups("0-4000000000"), Err(DesignError::Groups(0)));
    }
}
