//! The claims of the paper's text, each judged by the results of a study.

mod own;
mod plans;
mod point;
mod runs;

use crate::results::Results;
use crate::statistics::Estimate;
use crate::study::Study;

/// A claim and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The claim, in a sentence.
    pub text: &'static str,
    /// The finding of the replication.
    pub replication: &'static str,
    /// The numbers that judge it here.
    pub here: String,
    /// The judgement.
    pub verdict: Verdict,
    /// True if it is known to hold: then it is checked.
    pub reproduces: bool,
    /// The reason why it does not hold, or the assumption that it rests on.
    pub because: &'static str,
}

/// A judgement at 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It holds at every point.
    Holds,
    /// It does not at some point.
    Fails,
    /// There are too few repetitions to tell.
    Open,
}

impl Verdict {
    /// The word for tables.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Holds => "yes",
            Verdict::Fails => "no",
            Verdict::Open => "too few repetitions to tell",
        }
    }

    fn and(self, other: Verdict) -> Verdict {
        match (self, other) {
            (Verdict::Fails, _) | (_, Verdict::Fails) => Verdict::Fails,
            (Verdict::Open, _) | (_, Verdict::Open) => Verdict::Open,
            (Verdict::Holds, Verdict::Holds) => Verdict::Holds,
        }
    }
}

impl Claim {
    /// True if it is known to hold and does not.
    pub fn is_broken(&self) -> bool {
        self.reproduces && self.verdict == Verdict::Fails
    }
}

/// The claims that a study judges, as far as the experiment has the numbers of groups they need.
pub fn claims(results: &Results) -> Vec<Claim> {
    let study = results.design().study;
    match study {
        Study::Static => plans::of_static(results),
        Study::Published => plans::of_published(results),
        Study::Bandwidth => plans::of_bandwidth(results),
        Study::Trees => plans::of_trees(results),
        Study::Lasting
        | Study::LastingHigh
        | Study::Spread
        | Study::Planetlab
        | Study::Independent
        | Study::OnOff
        | Study::TimeShared => {
            let mut claims = runs::claims(results);
            if study == Study::TimeShared {
                claims.iter_mut().for_each(|claim| claim.replication = "");
            }
            claims.extend(own::claims(results));
            claims
        }
        Study::Stalling | Study::Mixed | Study::SlowLinks => own::claims(results),
    }
}

/// The verdict on a mean that is to be below a limit.
fn below(estimate: Estimate, limit: f64) -> Verdict {
    if estimate.high() < limit {
        Verdict::Holds
    } else if estimate.low() > limit {
        Verdict::Fails
    } else {
        Verdict::Open
    }
}

/// The verdict on a mean that is to be above a limit.
fn above(estimate: Estimate, limit: f64) -> Verdict {
    below(estimate.times(-1.0), -limit)
}

fn all(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
    verdicts.into_iter().fold(Verdict::Holds, Verdict::and)
}

/// The difference of two independent means.
fn independent(one: Estimate, other: Estimate) -> Estimate {
    Estimate {
        n: one.n.min(other.n),
        mean: one.mean - other.mean,
        half_width: one.half_width.hypot(other.half_width),
    }
}

/// A number with so many digits behind the point.
fn shown(value: f64, decimals: usize) -> String {
    format!("{value:.decimals$}")
}

/// A mean with half its interval.
fn with_interval(estimate: Estimate, decimals: usize) -> String {
    if estimate.half_width.is_finite() {
        format!(
            "{:.decimals$} ± {:.decimals$}",
            estimate.mean, estimate.half_width
        )
    } else {
        shown(estimate.mean, decimals)
    }
}

#[cfg(test)]
mod tests;
