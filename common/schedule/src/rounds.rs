//! Sending a plan in rounds, judging machines by what their rounds took, and planning again what has
//! not started.

mod policy;
mod setting;

pub use policy::{
    FACTOR_MAX, Learning, Policy, PolicyError, REWARD, ROUNDS_MAX, Scope, Sizing, THRESHOLD,
};
pub use setting::{Messages, Setting};
