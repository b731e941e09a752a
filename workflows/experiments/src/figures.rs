//! The figures of a study: what is counted of each instance, and the estimates of their means.

use crate::results::Results;
use crate::statistics::Estimate;
use crate::study::{CRITICAL, FIRST, SEQUENTIAL, Study, plans, runs};

/// A kind of figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Schedule length ratio: makespan / time of the critical path on the best machine.
    Slr,
    /// Time of all tasks on the best machine / makespan.
    Speedup,
    /// Percent of the instances for which a plan is strictly the shortest of PCH's, HEFT's and CPOP's
    /// in the same mode; ties count for nobody.
    Best,
    /// Percent of the instances that are strictly shortest, of no reschedule and so many rounds.
    BestOfTwo(usize),
    /// Percent of the instances that are strictly shortest, of no reschedule, so many rounds, and
    /// adaptive rounds.
    BestOfThree(usize),
    /// Percent of the runs that end earlier than without reschedule.
    Better,
    /// Percent of the runs that end later than without reschedule.
    Worse,
    /// Percent of the runs that end later than without reschedule by more than a hundredth.
    Harmed,
    /// The number of times that a run was planned again.
    Plans,
    /// Makespan of PCH through controllers / makespan of CPOP without, in percent.
    PchThroughToCpop,
}

impl Kind {
    /// The name in files.
    pub fn name(self) -> String {
        match self {
            Kind::Slr => "slr".to_owned(),
            Kind::Speedup => "speedup".to_owned(),
            Kind::Best => "best_percent".to_owned(),
            Kind::BestOfTwo(t) => format!("best_of_none_rounds_{t}_percent"),
            Kind::BestOfThree(t) => format!("best_of_none_rounds_{t}_adaptive_percent"),
            Kind::Better => "better_percent".to_owned(),
            Kind::Worse => "worse_percent".to_owned(),
            Kind::Harmed => "harmed_percent".to_owned(),
            Kind::Plans => "plans".to_owned(),
            Kind::PchThroughToCpop => "pch_through_to_cpop_percent".to_owned(),
        }
    }
}

/// A figure of the series of one column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// The kind of figure.
    pub kind: Kind,
    /// Of which column.
    pub column: usize,
}

/// The part of the makespan without reschedule from which on a run counts as harmed.
const HARMED: f64 = 1.01;

impl Figure {
    /// All figures of a study.
    pub fn all(study: Study) -> Vec<Figure> {
        let of = |kind, columns: &[usize]| -> Vec<Figure> {
            let columns = columns.iter();
            columns.map(|&column| Figure { kind, column }).collect()
        };
        if study.is_static() {
            let plans: Vec<usize> = (FIRST..plans::COLUMNS.len()).collect();
            return [
                of(Kind::Slr, &plans),
                of(Kind::Speedup, &plans),
                of(Kind::Best, &plans[..6]),
                of(Kind::PchThroughToCpop, &[plans::PCH_THROUGH]),
            ]
            .concat();
        }
        let makespans: Vec<usize> = (FIRST..runs::PLANS).collect();
        let policies = &makespans[1..=runs::POLICIES];
        let mut figures = [
            of(Kind::Slr, &makespans),
            of(Kind::Speedup, &makespans),
            of(Kind::Better, policies),
            of(Kind::Worse, policies),
            of(Kind::Harmed, policies),
            of(Kind::Plans, policies),
        ]
        .concat();
        for t in runs::T {
            let two = [runs::NONE, runs::rounds(t)];
            figures.extend(of(Kind::BestOfTwo(t), &two));
            figures.extend(of(Kind::BestOfThree(t), &[two[0], two[1], runs::ADAPTIVE]));
        }
        figures
    }

    /// The figure of an instance.
    pub fn of(self, instance: &[f64]) -> f64 {
        let own = instance[self.column];
        let percent = |is_so: bool| if is_so { 100.0 } else { 0.0 };
        let best_of = |columns: &[usize]| {
            let mut others = columns.iter().filter(|&&column| column != self.column);
            percent(others.all(|&other| own < instance[other]))
        };
        match self.kind {
            Kind::Slr => own / instance[CRITICAL],
            Kind::Speedup => instance[SEQUENTIAL] / own,
            Kind::Best if self.column < plans::PCH_THROUGH => {
                best_of(&[plans::PCH, plans::HEFT, plans::CPOP])
            }
            Kind::Best => best_of(&[plans::PCH_THROUGH, plans::HEFT_THROUGH, plans::CPOP_THROUGH]),
            Kind::BestOfTwo(t) => best_of(&[runs::NONE, runs::rounds(t)]),
            Kind::BestOfThree(t) => best_of(&[runs::NONE, runs::rounds(t), runs::ADAPTIVE]),
            Kind::Better => percent(own < instance[runs::NONE]),
            Kind::Worse => percent(own > instance[runs::NONE]),
            Kind::Harmed => percent(own > HARMED * instance[runs::NONE]),
            Kind::Plans => instance[runs::PLANS + self.column - FIRST - 1],
            Kind::PchThroughToCpop => 100.0 * own / instance[plans::CPOP],
        }
    }

    /// The estimate of its mean at a setting and number of groups.
    pub fn estimate(self, results: &Results, setting: usize, groups: u32) -> Estimate {
        results.estimate(setting, groups, |instance| self.of(instance))
    }

    /// The estimate of the mean difference to another figure of the same instances.
    pub fn minus(self, other: Figure, results: &Results, setting: usize, groups: u32) -> Estimate {
        results.estimate(setting, groups, |instance| {
            self.of(instance) - other.of(instance)
        })
    }
}

/// The schedule length ratio of a column.
pub fn slr(column: usize) -> Figure {
    Figure {
        kind: Kind::Slr,
        column,
    }
}

/// The speedup of a column.
pub fn speedup(column: usize) -> Figure {
    Figure {
        kind: Kind::Speedup,
        column,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_plans_are_those_of_hand() {
        // PCH and HEFT tie without controllers; CPOP is best with them.
        let instance = [
            100.0, 600.0, 200.0, 200.0, 300.0, 400.0, 500.0, 300.0, 200.0,
        ];
        let of = |kind, column| Figure { kind, column }.of(&instance);
        assert_eq!(of(Kind::Slr, plans::PCH), 2.0);
        assert_eq!(of(Kind::Speedup, plans::CPOP), 2.0);
        for column in [plans::PCH, plans::HEFT, plans::CPOP] {
            assert_eq!(of(Kind::Best, column), 0.0);
        }
        assert_eq!(of(Kind::Best, plans::PCH_THROUGH), 0.0);
        assert_eq!(of(Kind::Best, plans::CPOP_THROUGH), 100.0);
        let ratio = of(Kind::PchThroughToCpop, plans::PCH_THROUGH);
        assert!((ratio - 400.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn figures_of_runs_are_those_of_hand() {
        // None 300, rounds 310, 300, 280, adaptive 290, own 270, knowing 250; plans 1 to 5.
        let instance = [
            100.0, 600.0, 300.0, 310.0, 300.0, 280.0, 290.0, 270.0, 250.0, 1.0, 2.0, 3.0, 4.0, 5.0,
        ];
        let of = |kind, column| Figure { kind, column }.of(&instance);
        let columns = [runs::rounds(2), runs::rounds(3), runs::rounds(4)];
        assert_eq!(columns.map(|c| of(Kind::Worse, c)), [100.0, 0.0, 0.0]);
        assert_eq!(columns.map(|c| of(Kind::Better, c)), [0.0, 0.0, 100.0]);
        assert_eq!(columns.map(|c| of(Kind::Harmed, c)), [100.0, 0.0, 0.0]);
        let slightly = instance.map(|value| if value == 310.0 { 302.0 } else { value });
        let harmed = Figure {
            kind: Kind::Harmed,
            column: runs::rounds(2),
        };
        assert_eq!(harmed.of(&slightly), 0.0);
        assert_eq!(of(Kind::BestOfTwo(2), runs::NONE), 100.0);
        assert_eq!(of(Kind::BestOfTwo(3), runs::NONE), 0.0);
        assert_eq!(of(Kind::BestOfTwo(3), runs::rounds(3)), 0.0);
        assert_eq!(of(Kind::BestOfThree(2), runs::ADAPTIVE), 100.0);
        assert_eq!(of(Kind::BestOfThree(4), runs::rounds(4)), 100.0);
        assert_eq!(of(Kind::Plans, runs::rounds(2)), 1.0);
        assert_eq!(of(Kind::Plans, runs::ADAPTIVE), 4.0);
        assert_eq!(of(Kind::Plans, runs::OWN), 5.0);
        assert_eq!(of(Kind::Slr, runs::KNOWING), 2.5);
    }
}
