//! A body that runs again and again.

use minicbor::{Decode, Encode};

use super::Expression;
use crate::NodeId;

/// A controller that runs its body as often as a condition says: one iteration after another.
///
/// In a draft it has one child, the body. A process gets a further child, a copy of the body, for each
/// iteration after the first, once it is known that there is one (see [`super::Definition::expand`]).
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Repeat {
    /// When the condition is evaluated, and which value of it ends the loop.
    #[n(0)]
    pub test: Test,
    /// The condition.
    #[n(1)]
    pub condition: Expression,
    /// The name under which expressions of the body and the condition read the number of the iteration,
    /// counted from 0.
    #[n(2)]
    pub index: Option<String>,
    /// The most iterations there may be; [`super::limits::ITERATIONS`] where nothing is said.
    #[n(3)]
    pub max_iterations: Option<u32>,
    /// The body, and in a process the copies of it.
    #[n(4)]
    pub children: Vec<NodeId>,
}

/// When the condition of a loop is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Test {
    /// `while`: before each iteration, which only begins if it is true.
    #[n(0)]
    While,
    /// `repeat-until`: after each iteration, which is the last one if it is true.
    #[n(1)]
    Until,
}

impl Test {
    /// The keyword with which the loop is written, which is also the key of its condition.
    pub fn keyword(self) -> &'static str {
        match self {
            Test::While => "while",
            Test::Until => "repeat-until",
        }
    }
}

impl Repeat {
    /// The most iterations there may be.
    pub fn iterations_max(&self) -> u32 {
        self.max_iterations.unwrap_or(super::limits::ITERATIONS)
    }
}
