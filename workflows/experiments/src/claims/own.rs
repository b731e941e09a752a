//! The claims on our own policy: it gains what can be gained, and does no harm.

use super::point::Point;
use super::{Claim, Verdict, all, below, shown};
use crate::figures::{Figure, Kind, slr};
use crate::results::Results;
use crate::study::{Study, runs};

/// The expectations of a study.
struct Expected {
    /// The most percent of the runs that become longer by more than 1 %.
    harmed_most: f64,
    /// The most that its mean SLR is above that without reschedule.
    slr_most: f64,
    /// True if the policy makes fewer runs longer than adaptive rounds do; those do nothing about links.
    harms_less: bool,
    /// True if the replication has the study.
    replicated: bool,
}

impl Expected {
    fn of(study: Study) -> Expected {
        let lasts = Expected {
            harmed_most: 2.0,
            slr_most: 0.0,
            harms_less: true,
            replicated: true,
        };
        match study {
            Study::Static
            | Study::Published
            | Study::Bandwidth
            | Study::Trees
            | Study::Lasting
            | Study::LastingHigh
            | Study::Spread
            | Study::Planetlab => lasts,
            Study::Independent => Expected {
                harmed_most: 20.0,
                slr_most: 0.05,
                ..lasts
            },
            Study::OnOff => Expected {
                harmed_most: 30.0,
                slr_most: 0.05,
                ..lasts
            },
            Study::TimeShared => Expected {
                harmed_most: 20.0,
                slr_most: 0.05,
                replicated: false,
                ..lasts
            },
            // Machines that stall go on again, so that a third of the runs would better have waited.
            Study::Stalling => Expected {
                harmed_most: 40.0,
                replicated: false,
                ..lasts
            },
            Study::Mixed => Expected {
                harmed_most: 10.0,
                replicated: false,
                ..lasts
            },
            Study::SlowLinks => Expected {
                harmed_most: 4.0,
                harms_less: false,
                replicated: false,
                ..lasts
            },
        }
    }
}

pub(super) fn claims(results: &Results) -> Vec<Claim> {
    let expected = Expected::of(results.design().study);
    let point = Point::ten(results);
    let mut claims = vec![
        point.shorter_than(runs::NONE),
        point.shorter_than(runs::rounds(4)),
        point.shorter_than(runs::ADAPTIVE),
        point.harms_few(&expected),
    ];
    if expected.harms_less {
        claims.push(point.harms_less());
    }
    if expected.replicated {
        claims.push(point.gains(&expected));
    } else {
        claims.iter_mut().for_each(|claim| claim.replication = "");
    }
    claims
}

impl Point<'_> {
    /// The mean length beside that of another policy.
    fn shorter_than(&self, other: usize) -> Claim {
        let difference = self.minus(slr(runs::OWN), slr(other));
        let slr_of = |column| self.mean(Kind::Slr, column).mean;
        let (own, its) = (slr_of(runs::OWN), slr_of(other));
        let knowing = match other {
            runs::NONE => format!(
                "; a plan that knows the load has {:.3}",
                slr_of(runs::KNOWING)
            ),
            _ => String::new(),
        };
        Claim {
            text: match other {
                runs::NONE => "Ours: the mean SLR of xavantes is below that without reschedule.",
                runs::ADAPTIVE => "Ours: it is below that of adaptive rounds.",
                _ => "Ours: it is below that of four rounds.",
            },
            replication: "",
            here: format!(
                "{} against {}, {:+.1} %{knowing}",
                shown(own, 3),
                shown(its, 3),
                100.0 * (own / its - 1.0)
            ),
            verdict: below(difference, 0.0),
            reproduces: true,
            because: "",
        }
    }

    fn harms_few(&self, expected: &Expected) -> Claim {
        let harmed = |column| self.mean(Kind::Harmed, column);
        let columns = [runs::rounds(4), runs::ADAPTIVE, runs::OWN];
        let shares = columns.map(|column| shown(harmed(column).mean, 1));
        Claim {
            text: "Ours: few of its runs are longer than without reschedule by more than 1 %.",
            replication: "",
            here: format!(
                "4 rounds, adaptive, xavantes {} %; at most {} % are expected",
                shares.join(", "),
                expected.harmed_most
            ),
            verdict: below(harmed(runs::OWN), expected.harmed_most),
            reproduces: true,
            because: "",
        }
    }

    fn harms_less(&self) -> Claim {
        let worse = |column| Figure {
            kind: Kind::Worse,
            column,
        };
        let columns = [runs::rounds(4), runs::ADAPTIVE, runs::OWN];
        let shares = columns.map(|column| shown(self.mean(Kind::Worse, column).mean, 1));
        Claim {
            text: "Ours: the rule of xavantes makes fewer runs worse than adaptive rounds do.",
            replication: "yes: 1 against 12 % under lasting load, 1 against 23 (PlanetLab), 35 against 80 (independent), 43 against 70 (on/off)",
            here: format!(
                "worse than no reschedule: 4 rounds, adaptive, xavantes {} %",
                shares.join(", ")
            ),
            verdict: below(self.minus(worse(runs::OWN), worse(runs::ADAPTIVE)), 0.0),
            reproduces: true,
            because: "",
        }
    }

    fn gains(&self, expected: &Expected) -> Claim {
        let to = |column| self.minus(slr(runs::OWN), slr(column));
        let (adaptive, none) = (to(runs::ADAPTIVE), to(runs::NONE));
        let knowing = to(runs::KNOWING);
        let verdicts: [Verdict; 2] = [below(adaptive, 0.03), below(none, expected.slr_most)];
        Claim {
            text: "Ours: its mean SLR is not above that of adaptive rounds by more than 0.03, nor above that without reschedule by more than 0.05.",
            replication: "yes: 2.371 against 2.402 and 3.195 under lasting load, 2.534 against 2.864 and 2.513 (on/off)",
            here: format!(
                "SLR to adaptive {:+.2}, to no reschedule {:+.2}, to a plan that knows the load {:+.2}",
                adaptive.mean, none.mean, knowing.mean
            ),
            verdict: all(verdicts),
            reproduces: true,
            because: "",
        }
    }
}
