//! The rules of rescheduling, each of which can be switched by itself.

use forecast::Method;
use thiserror::Error;

/// The most rounds of a fixed number: beyond that each activity is a round of its own.
pub const ROUNDS_MAX: u32 = 1_000_000;
/// The largest threshold, reward or weight; beyond that nothing changes any more.
pub const FACTOR_MAX: f64 = 1e6;
/// The most activities of all machines that are planned again together: a plan for more of them takes
/// longer than it is worth while the process goes on.
pub const MOVABLE_MAX: usize = 500;
/// The questions in the expected length of a process while more than [`MOVABLE_MAX`] activities wait, so that the
/// tasks of each machine are planned by themselves: for ten thousand activities on 64 machines they
/// take two seconds together.
pub const QUESTIONS_MAX: u32 = 200;
/// Our own rule of moving overdue activities: one that has taken twice as long as expected takes as
/// long again. A second move of it is the last one; more of them gain nothing in any study.
pub const RESTARTS: Restarts = Restarts {
    overrun: 1.0,
    gain_least: 0.1,
    later_least: 0.08,
    times_max: 2,
};
/// The part by which links have to differ from those that were planned with in our own rule: a third of
/// the bandwidth, or three times as much. Smaller differences gain little more, and harm more often.
pub const LINK_CHANGE: f64 = 2.0;
/// The part of the expected time by which a round may be late in the paper's example.
pub const THRESHOLD: f64 = 0.1;
/// The paper's reward factor.
pub const REWARD: f64 = 0.05;

/// The rules of judging a process, of learning from that, and of moving activities.
///
/// [`Policy::fixed`], [`Policy::rounds`] and [`Policy::adaptive`] are those of Bittencourt and
/// Madeira; [`Policy::xavantes`] is ours. Each field may be set by itself, which is how studies
/// measure what it is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// The part of its queue that a machine is sent at once.
    pub sizing: Sizing,
    /// A round is a loss if it took longer than expected by more than this part.
    pub threshold: f64,
    /// The lesson of a judgement about the power of a machine.
    pub learning: Learning,
    /// The activities that a loss puts back to the planner.
    pub scope: Scope,
    /// The least part of the planned makespan that a plan has to save to be kept; without it every
    /// plan is kept, better or not. A plan for the tasks of one machine alone, because too many
    /// wait, is kept if it saves anything or nothing.
    pub gain_least: Option<f64>,
    /// The least part of the planned makespan that a plan which moves activities of other machines has
    /// to save beyond one that moves those of the slow machine alone; else that one is taken. Without
    /// it there is no such comparison.
    pub wider_gain_least: Option<f64>,
    /// The part of the makespan by which the process has to be expected to end later than when the last plan did
    /// not pay, beyond what all machines together have become slower since, for a plan that moves activities of
    /// other machines. Until then a loss has those of the slow machine alone planned. Without it each loss may
    /// move all.
    pub wider_later_least: Option<f64>,
    /// The questions in the expected length of the process at most while more than [`MOVABLE_MAX`]
    /// activities wait: slow machines are gathered meanwhile, and the one whose tasks would take longest is
    /// planned next. Without it each loss asks for a plan.
    pub questions_max: Option<u32>,
    /// True if an activity that runs longer than expected by more than the threshold is a loss
    /// before it ends.
    pub judges_overdue: bool,
    /// Moving overdue activities while they run. Without it what has started stays.
    pub restarts: Option<Restarts>,
    /// True if CPU times beside wall times tell a slow machine from one with a competitor: each is
    /// learned by itself, so that the one is believed sooner than the other where it varies less.
    /// Nothing changes where nobody tells of CPU times.
    pub splits_cpu: bool,
    /// The part by which the links of a machine have to be slower or faster than planned with for
    /// a new plan. Without it transfers are believed to take what the platform says.
    pub link_change_least: Option<f64>,
}

/// The rule of stopping an overdue activity and starting it again, from nothing, on another machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Restarts {
    /// An activity that has run for longer than expected runs on for as long again, times this
    /// number, at least. Before it ends nobody knows more.
    pub overrun: f64,
    /// The least part of the planned makespan that a plan which stops activities has to save beyond
    /// the best one that stops none.
    pub gain_least: f64,
    /// The part of the planned makespan by which overdue activities have to make the process later, for a plan that
    /// stops some of them. Where they do not, other activities are what has to move.
    pub later_least: f64,
    /// The times that one activity is stopped at most, so that it cannot be moved for ever.
    pub times_max: u32,
}

/// The part of its queue that a machine is sent at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sizing {
    /// All of it, and nothing is ever judged.
    Whole,
    /// As much as is estimated to end before the next of so many equal parts of the makespan
    /// (Algorithm 5).
    Parts(u32),
    /// The mean weight of an activity at first, then longer or shorter as the machine performs
    /// (Algorithms 6 and 7), with this reward factor.
    Adaptive {
        /// The part of a round by which the next one grows if it was not late.
        reward: f64,
    },
}

/// The lesson of a judgement about the power of a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Learning {
    /// A loss multiplies the known power by expected over real time of the round; a gain changes
    /// nothing (rule A10).
    LastRound,
    /// The nominal power times (h + k w) / (real + k w) over all that has ended there, h its nominal
    /// time, w the mean weight (section 10.3): follows gains too.
    Damped {
        /// The number of mean weights, k.
        mean_weights: f64,
    },
    /// As [`Learning::Pooled`], but the number of mean weights follows from how much the performance
    /// of one machine varies beside how much machines differ: where tasks vary wherever they run, a
    /// machine has to show more before it is believed.
    Fitted {
        /// The number of mean weights while nothing is known, and where both vary alike.
        mean_weights: f64,
    },
    /// As [`Learning::Fitted`], but a machine is believed to have its forecast performance rather than
    /// that over all that has ended there.
    Forecast {
        /// The predictor of the real over the nominal time of the next activity.
        method: Method,
        /// The number of mean weights while nothing is known, and where both vary alike.
        mean_weights: f64,
        /// The quantile that is planned with.
        margin: Margin,
    },
    /// As [`Learning::Damped`], but what a machine is given in advance is what all machines together
    /// have shown, and not its nominal power. So a machine that nobody has tried does not look
    /// better than those that were tried while all are loaded.
    Pooled {
        /// The number of mean weights, k.
        mean_weights: f64,
    },
}

/// The quantile of a forecast that is planned with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Margin {
    /// None: the forecast itself.
    None,
    /// The one that nine in ten activities do not exceed, so that machines whose power varies are
    /// avoided.
    NineInTen,
}

/// The activities that a loss puts back to the planner: at most [`MOVABLE_MAX`] where they are not those
/// of the slow machine alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Those of the slow machine that have not started (rule A11).
    Machine,
    /// All that have not started, or those of the slow machine if these are too many.
    All,
}

/// The reason why options are not a policy.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum PolicyError {
    /// A number of rounds that is out of bounds.
    #[error("{0} rounds cannot be run; there are from 1 to {ROUNDS_MAX}")]
    Rounds(u32),
    /// A policy that may ask nothing; one that never plans again sends everything at once.
    #[error("no question may be asked; at least one is, or their number has no bound")]
    Questions,
    /// A number that is out of bounds.
    #[error("the {what} is {value}; it is a number from 0 to {FACTOR_MAX}")]
    Factor {
        /// The option.
        what: &'static str,
        /// The value given.
        value: f64,
    },
}

impl Policy {
    /// Everything is sent at once and stays where it is.
    pub const fn fixed() -> Policy {
        Policy {
            sizing: Sizing::Whole,
            threshold: THRESHOLD,
            learning: Learning::LastRound,
            scope: Scope::Machine,
            gain_least: None,
            wider_gain_least: None,
            wider_later_least: None,
            questions_max: None,
            judges_overdue: false,
            restarts: None,
            splits_cpu: false,
            link_change_least: None,
        }
    }

    /// Dynamic PCH in so many rounds (Algorithm 5).
    pub const fn rounds(rounds: u32) -> Policy {
        Policy {
            sizing: Sizing::Parts(rounds),
            ..Policy::fixed()
        }
    }

    /// Adaptive rounds (Algorithms 6 and 7).
    pub const fn adaptive() -> Policy {
        Policy {
            sizing: Sizing::Adaptive { reward: REWARD },
            ..Policy::fixed()
        }
    }

    /// Adaptive rounds that do little harm: what machines have shown is believed as far as they
    /// differ more than tasks do, overdue tasks are judged before they end, all that has not started
    /// may move, and a plan is kept only if it saves 3 %, or 6 % more than moving the slow machine's
    /// alone where it moves others too; after a plan that did not pay, others stay until the end is expected 10 %
    /// later (section 10.3, and docs/rounds.md for what each of these is
    /// worth). An overdue activity is stopped and starts again elsewhere where that saves 10 %.
    /// CPU times and transfers are looked at where somebody tells of them. Of large processes, machines are planned one by one and not too often.
    pub const fn xavantes() -> Policy {
        Policy {
            learning: Learning::Fitted { mean_weights: 3.0 },
            scope: Scope::All,
            gain_least: Some(0.03),
            wider_gain_least: Some(0.06),
            wider_later_least: Some(0.1),
            questions_max: Some(QUESTIONS_MAX),
            judges_overdue: true,
            restarts: Some(RESTARTS),
            splits_cpu: true,
            link_change_least: Some(LINK_CHANGE),
            ..Policy::adaptive()
        }
    }

    /// The first option that is out of bounds.
    pub fn check(&self) -> Result<(), PolicyError> {
        let reward = match self.sizing {
            Sizing::Whole => 0.0,
            Sizing::Parts(rounds) if (1..=ROUNDS_MAX).contains(&rounds) => 0.0,
            Sizing::Parts(rounds) => return Err(PolicyError::Rounds(rounds)),
            Sizing::Adaptive { reward } => reward,
        };
        if self.questions_max == Some(0) {
            return Err(PolicyError::Questions);
        }
        let mean_weights = match self.learning {
            Learning::LastRound => 0.0,
            Learning::Damped { mean_weights }
            | Learning::Pooled { mean_weights }
            | Learning::Forecast { mean_weights, .. }
            | Learning::Fitted { mean_weights } => mean_weights,
        };
        for (what, value) in [
            ("threshold", self.threshold),
            ("reward factor", reward),
            ("number of mean weights", mean_weights),
            ("least gain", self.gain_least.unwrap_or(0.0)),
            (
                "least change of links",
                self.link_change_least.unwrap_or(0.0),
            ),
            (
                "part of an overrun that follows",
                self.restarts.map_or(0.0, |restarts| restarts.overrun),
            ),
            (
                "least gain of a restart",
                self.restarts.map_or(0.0, |restarts| restarts.gain_least),
            ),
            (
                "least delay before a restart",
                self.restarts.map_or(0.0, |restarts| restarts.later_least),
            ),
            (
                "least gain of a wider plan",
                self.wider_gain_least.unwrap_or(0.0),
            ),
            (
                "least delay before a wider plan",
                self.wider_later_least.unwrap_or(0.0),
            ),
        ] {
            if !(0.0..=FACTOR_MAX).contains(&value) {
                return Err(PolicyError::Factor { what, value });
            }
        }
        Ok(())
    }
}
