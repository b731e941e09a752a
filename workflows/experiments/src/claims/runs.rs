//! The paper's claims on rescheduling.

use super::point::Point;
use super::{Claim, Verdict, above, all, independent, shown};
use crate::figures::{Figure, Kind, slr, speedup};
use crate::published::GROUPS;
use crate::results::Results;
use crate::statistics::Estimate;
use crate::study::{Study, runs};

/// A study in the words of its claims: which of the paper's hold there.
struct Known {
    /// Load that lasts for many tasks.
    lasts: bool,
}

impl Known {
    fn of(study: Study) -> Known {
        Known {
            lasts: match study {
                Study::Lasting | Study::LastingHigh | Study::Spread | Study::Planetlab => true,
                Study::Static
                | Study::Published
                | Study::Bandwidth
                | Study::Trees
                | Study::Independent
                | Study::OnOff
                | Study::TimeShared
                | Study::Stalling
                | Study::Mixed
                | Study::SlowLinks => false,
            },
        }
    }
}

const CHANGES: &str = "the load changes faster than a few activities, so what was measured is over";

pub(super) fn claims(results: &Results) -> Vec<Claim> {
    let study = results.design().study;
    let known = Known::of(study);
    let point = Point::ten(results);
    vec![
        point.grow(&known),
        point.counts(&known),
        point.adaptive(&known, study),
        point.approach(&known),
        point.more_groups(),
        point.none_above(&known),
    ]
}

impl Point<'_> {
    fn grow(&self, known: &Known) -> Claim {
        let gains = runs::T.map(|t| self.minus(slr(runs::NONE), slr(runs::rounds(t))));
        let speedups = runs::T.map(|t| self.minus(speedup(runs::rounds(t)), speedup(runs::NONE)));
        let steps = [(2, 3), (3, 4)]
            .map(|(few, more)| self.minus(slr(runs::rounds(few)), slr(runs::rounds(more))));
        let list = |numbers: [Estimate; 3]| numbers.map(|e| shown(e.mean, 2)).join(", ");
        Claim {
            text: "Rescheduling gains in mean SLR and speedup, the more the more rounds (paper: 0.33, 0.69, 0.93 and 0.06, 0.13, 0.18).",
            replication: "yes, in size and growth, for load that lasts; opposite sign for load that changes quickly",
            here: format!("SLR {}; speedup {}", list(gains), list(speedups)),
            verdict: all(gains
                .iter()
                .chain(&speedups)
                .chain(&steps)
                .map(|&e| above(e, 0.0))),
            reproduces: known.lasts,
            because: if known.lasts {
                "rests on the pattern of load"
            } else {
                CHANGES
            },
        }
    }

    fn counts(&self, known: &Known) -> Claim {
        let counts = runs::T.map(|t| {
            let of = |column| Figure {
                kind: Kind::BestOfTwo(t),
                column,
            };
            self.minus(of(runs::rounds(t)), of(runs::NONE)).times(150.0)
        });
        Claim {
            text: "There are more best schedules with reschedule than without (of 15,000: 2,381, 4,158, 4,993; high communication 2,317, 4,624, 5,493).",
            replication: "order of magnitude yes; it grows from 2 to 3 rounds and stays flat to 4",
            here: counts.map(|e| shown(e.mean, 0)).join(", "),
            verdict: all(counts.map(|e| above(e, 0.0))),
            reproduces: known.lasts,
            because: if known.lasts { "" } else { CHANGES },
        }
    }

    fn adaptive(&self, known: &Known, study: Study) -> Claim {
        let best = |column| Figure {
            kind: Kind::BestOfThree(2),
            column,
        };
        let more = [runs::NONE, runs::rounds(2)]
            .map(|other| self.minus(best(runs::ADAPTIVE), best(other)));
        let slower = runs::T.map(|t| self.minus(slr(runs::rounds(t)), slr(runs::ADAPTIVE)));
        // Four rounds equal it under measured loads.
        let compared = if study == Study::Planetlab { 2 } else { 3 };
        let counts = [runs::NONE, runs::rounds(2), runs::ADAPTIVE]
            .map(|column| shown(150.0 * self.mean(Kind::BestOfThree(2), column).mean, 0));
        Claim {
            text: "Adaptive rounds give more best schedules and better means than fixed rounds.",
            replication: "yes for load that lasts; with PlanetLab's loads four rounds equal it",
            here: format!(
                "best of 15,000 with 2 rounds: none, rounds, adaptive {}; SLR of 2, 3, 4 rounds - adaptive {}",
                counts.join(", "),
                slower.map(|e| shown(e.mean, 2)).join(", ")
            ),
            verdict: all(more
                .iter()
                .chain(&slower[..compared])
                .map(|&e| above(e, 0.0))),
            reproduces: known.lasts,
            because: if known.lasts { "" } else { CHANGES },
        }
    }

    fn approach(&self, known: &Known) -> Claim {
        let of = |t: usize| self.minus(slr(runs::rounds(t)), slr(runs::ADAPTIVE));
        let falls = self.minus(slr(runs::rounds(2)), slr(runs::rounds(4)));
        Claim {
            text: "Fixed rounds approach adaptive ones as they become more.",
            replication: "yes for load that lasts",
            here: format!(
                "SLR of 2, 4 rounds - adaptive {}, {}",
                shown(of(2).mean, 2),
                shown(of(4).mean, 2)
            ),
            verdict: above(falls, 0.0),
            reproduces: known.lasts,
            because: if known.lasts {
                ""
            } else {
                "both are worse than no reschedule, adaptive more so"
            },
        }
    }

    fn more_groups(&self) -> Claim {
        let groups = &self.results.design().groups;
        let (first, last) = (groups.first().copied(), groups.last().copied());
        let figure = Figure {
            kind: Kind::BestOfThree(2),
            column: runs::ADAPTIVE,
        };
        let of = |groups: Option<u32>| {
            figure
                .estimate(self.results, 0, groups.unwrap_or(GROUPS))
                .times(150.0)
        };
        let (few, many) = (of(first), of(last));
        let verdict = match first == last {
            true => Verdict::Open,
            false => above(independent(many, few), 0.0),
        };
        Claim {
            text: "Adaptive rounds gain with the number of groups (best schedules from 4,000 at 2 groups to 8,000 at 25).",
            replication: "no: flat, 7,525 to 7,725, or falling, 5,650 to 4,475 with PlanetLab's loads",
            here: format!(
                "{} at {}, {} at {} groups",
                shown(few.mean, 0),
                first.unwrap_or(0),
                shown(many.mean, 0),
                last.unwrap_or(0)
            ),
            verdict,
            reproduces: false,
            because: "",
        }
    }

    fn none_above(&self, known: &Known) -> Claim {
        let best = |column| Figure {
            kind: Kind::BestOfThree(2),
            column,
        };
        let difference = self.minus(best(runs::NONE), best(runs::rounds(2)));
        Claim {
            text: "Of none, 2 rounds and adaptive, no reschedule is best more often than 2 rounds.",
            replication: "only for load that changes quickly",
            here: format!("{:+.0} of 15,000", 150.0 * difference.mean),
            verdict: above(difference, 0.0),
            reproduces: !known.lasts,
            because: if known.lasts {
                "the paper's pattern is not known; a load that lasts gives the other sign"
            } else {
                ""
            },
        }
    }
}
