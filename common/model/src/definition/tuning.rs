//! The parameters of the published rules by which a process is planned again.

use std::fmt;

use minicbor::{Decode, Encode};

use super::Policy;
use super::limits::PARAMETER_MAX;

/// The parameters of [`Policy::Rounds`] and [`Policy::Adaptive`], where they are not those of the paper's example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Tuning {
    /// The part of its expected time by which a round may be late before its machine counts as slow: 0.1 in the paper.
    #[n(0)]
    pub threshold: Option<Part>,
    /// The part of a round by which the next one grows where it was not late, of [`Policy::Adaptive`] alone: 0.05 in
    /// the paper, which found rounds too long above 0.3.
    #[n(1)]
    pub reward: Option<Part>,
}

/// A number from 0 to [`PARAMETER_MAX`] in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(transparent)]
pub struct Part(#[n(0)] pub u32);

/// The reason why a parameter is of no use with a rule: the parameter, and the rules that have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unused {
    /// Its name in the language.
    pub name: &'static str,
    /// The rules that have it, for people.
    pub of: &'static str,
}

impl Part {
    /// The words for the numbers that may be, for people.
    pub const WANTED: &'static str = "a number from 0 to 100 with at most three decimals";

    /// A number with at most three decimals, where it is within bounds.
    pub fn of(number: f64) -> Option<Part> {
        let thousandths = (number * 1e3).round();
        let is_exact = (number * 1e3 - thousandths).abs() < 1e-6;
        let part = (0.0..=f64::from(PARAMETER_MAX) * 1e3).contains(&thousandths);
        (is_exact && part).then_some(Part(thousandths as u32))
    }

    /// The number.
    pub fn value(self) -> f64 {
        f64::from(self.0) / 1e3
    }

    /// Returns true if it is within bounds.
    pub fn is_within_bounds(self) -> bool {
        self.0 <= PARAMETER_MAX * 1_000
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.value())
    }
}

impl Tuning {
    /// The parameters by their names in the language.
    pub fn named(self) -> impl Iterator<Item = (&'static str, Part)> {
        let all = [("threshold", self.threshold), ("reward", self.reward)];
        all.into_iter()
            .filter_map(|(name, part)| Some((name, part?)))
    }

    /// Returns true if no parameter is given.
    pub fn is_empty(self) -> bool {
        self == Tuning::default()
    }

    /// The parameters of these, and of `others` where these have none.
    pub fn or(self, others: Tuning) -> Tuning {
        Tuning {
            threshold: self.threshold.or(others.threshold),
            reward: self.reward.or(others.reward),
        }
    }

    /// The parameters that a rule has.
    pub fn of(self, policy: Policy) -> Tuning {
        match policy {
            Policy::Adaptive => self,
            Policy::Rounds(_) => Tuning {
                reward: None,
                ..self
            },
            Policy::Xavantes | Policy::Static => Tuning::default(),
        }
    }

    /// The first parameter that a rule does not have.
    pub fn unused_by(self, policy: Policy) -> Option<Unused> {
        let used = self.of(policy);
        if self.threshold != used.threshold {
            let (name, of) = ("threshold", "`rounds:T` and `adaptive` have it");
            return Some(Unused { name, of });
        }
        let (name, of) = ("reward", "`adaptive` alone has it");
        (self.reward != used.reward).then_some(Unused { name, of })
    }
}

impl fmt::Display for Unused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unused { name, of } = self;
        write!(f, "there is no {name} in this policy; {of}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_at_most_three_decimals_and_is_written_as_it_was_read() {
        for (number, text) in [
            (0.0, "0"),
            (0.1, "0.1"),
            (0.05, "0.05"),
            (0.125, "0.125"),
            (2.0, "2"),
            (100.0, "100"),
        ] {
            let part = Part::of(number).unwrap();
            assert_eq!(part.to_string(), text);
            assert_eq!(Part::of(text.parse().unwrap()), Some(part));
        }
        for wrong in [-0.001, 0.0005, 100.001, 1e9, f64::NAN, f64::INFINITY] {
            assert_eq!(Part::of(wrong), None, "{wrong}");
        }
        assert!(Part(100_000).is_within_bounds() && !Part(100_001).is_within_bounds());
    }

    #[test]
    fn each_rule_has_its_own_parameters() {
        let both = Tuning {
            threshold: Some(Part(200)),
            reward: Some(Part(50)),
        };
        let unused = |policy| both.unused_by(policy).map(|unused| unused.name);
        assert_eq!(unused(Policy::Adaptive), None);
        assert_eq!(unused(Policy::Rounds(4)), Some("reward"));
        assert_eq!(unused(Policy::Static), Some("threshold"));
        assert_eq!(unused(Policy::Xavantes), Some("threshold"));
        assert_eq!(both.of(Policy::Rounds(4)).reward, None);
        assert!(both.of(Policy::Static).is_empty());
        assert_eq!(Tuning::default().or(both), both);
        let other = Tuning {
            threshold: Some(Part(1)),
            reward: None,
        };
        assert_eq!(
            other.or(both).named().collect::<Vec<_>>(),
            [("threshold", Part(1)), ("reward", Part(50)),]
        );
    }
}
