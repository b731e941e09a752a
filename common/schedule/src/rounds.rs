//! Sending a plan in rounds, judging machines by what their rounds took, and planning again what has
//! not started: the adaptive part of L. F. Bittencourt, E. R. M. Madeira, "A performance-oriented
//! adaptive scheduler for dependent tasks on grids", Concurrency and Computation: Practice and
//! Experience 20(9), 2008, algorithms 1 and 5 to 7.
//!
//! [`Rounds`] is the engine: [`Observation`]s in, [`Command`]s out, by a [`Policy`]. It asks for a plan
//! with [`Command::Plan`], a [`Question`] with all that the planner has to know, and gets it as
//! [`Observation::Planned`]; whoever drives it may answer in the same instant or later. What has not
//! started may move, sent or not: a sent task moves only when [`Observation::Retracted`] says that it
//! has not started.

mod candidates;
mod engine;
mod estimates;
mod judging;
mod least;
mod links;
mod machine;
mod moving;
mod placing;
mod planner;
mod policy;
mod progress;
mod question;
mod routes;
mod setting;
mod shown;
mod sizes;
mod standing;

pub use engine::{Command, Judgement, Observation, Rounds};
pub use planner::Planner;
pub use policy::{
    FACTOR_MAX, LINK_CHANGE, Learning, MOVABLE_MAX, Margin, Policy, PolicyError, QUESTIONS_MAX,
    RESTARTS, REWARD, ROUNDS_MAX, Restarts, Scope, Sizing, THRESHOLD,
};
pub use progress::{Phase, Progress};
pub use question::{Answer, Narrower, Question, Restart};
pub use setting::{Messages, Setting};
pub use shown::{Shown, mean_factor, variances_ratio};

#[cfg(test)]
mod tests;
