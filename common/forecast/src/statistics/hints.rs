//! Advice that follows from the statistics of a series.

use super::Statistics;

/// Limits from Dobber's tables 3.3 and 7.2: the gain of DES over other predictors grows with these
/// three, and these are values well above the means that were measured.
const JUMP_SIZE: f64 = 8.0;
const SIGMA_SIGMA: f64 = 0.24;
const C_SIGMA: f64 = 0.71;
/// Coefficients of variation from which running copies of the same job pays, on two equal machines
/// and on 64 (the break-even of R = 2 against one copy, chapter 5).
const REPLICAS_ON_TWO: f64 = 2.0 / 3.0;
const REPLICAS_ON_MANY: f64 = 0.45;

/// A piece of advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hint {
    /// All values are equal.
    Constant,
    /// The last value is a better forecast than the mean.
    LastBeatsMean,
    /// The mean is a better forecast than the last value.
    MeanBeatsLast,
    /// Rare and large jumps dominate: predictors that learn from classes of errors pay.
    ClassesPay,
    /// Runtimes vary so much that the first of two copies is worth their cost, on two machines.
    ReplicasPay,
    /// The same, on 64 machines at least.
    ReplicasPayOnMany,
}

impl Hint {
    /// A sentence for people.
    pub fn text(self) -> &'static str {
        match self {
            Hint::Constant => "all values are equal: every predictor is exact",
            Hint::LastBeatsMean => "the last value is a better forecast than the mean",
            Hint::MeanBeatsLast => "the mean is a better forecast than the last value",
            Hint::ClassesPay => "rare, large jumps dominate: des and xavantes are worth their cost",
            Hint::ReplicasPay => {
                "runtimes vary so much that running each job twice pays, on two equal machines and more"
            }
            Hint::ReplicasPayOnMany => {
                "runtimes vary enough for running each job twice, on some tens of equal machines"
            }
        }
    }
}

/// The advice for a series.
pub fn hints(statistics: &Statistics) -> Vec<Hint> {
    let above = |name, limit| statistics.get(name).is_some_and(|value| value > limit);
    if statistics.get("sigma") == Some(0.0) {
        return vec![Hint::Constant];
    }
    let mut hints = Vec::new();
    match statistics.get("sigma/rmse_lv") {
        Some(ratio) if ratio > 1.0 => hints.push(Hint::LastBeatsMean),
        Some(ratio) if ratio < 1.0 => hints.push(Hint::MeanBeatsLast),
        Some(_) | None => {}
    }
    let jumps = statistics.get("f_jumps").filter(|share| *share > 0.0);
    let jump_size = jumps
        .zip(statistics.get("mse_jumps/sigma2"))
        .map(|(share, mse)| mse / share);
    if jump_size.is_some_and(|size| size > JUMP_SIZE)
        && (above("sigma(sigma)/mu", SIGMA_SIGMA) || above("c(sigma)", C_SIGMA))
    {
        hints.push(Hint::ClassesPay);
    }
    if above("c", REPLICAS_ON_TWO) {
        hints.push(Hint::ReplicasPay);
    } else if above("c", REPLICAS_ON_MANY) {
        hints.push(Hint::ReplicasPayOnMany);
    }
    hints
}
