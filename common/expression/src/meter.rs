//! The budget of evaluations in time and memory, and its use.

use model::Value;

use crate::ExpressionError;
use crate::limits::{STEPS_MAX, VALUE_BYTES_MAX};

/// Bytes that are searched, copied or made in the time of one step...
const BYTES_A_STEP: usize = 256;
/// ...texts, lists and maps that are searched in that time...
const LOOKED_INTO_A_STEP: usize = 4;
/// ...and steps for making one of them, which allocates memory.
const MAKING_STEPS: usize = 2;

/// Counts the use of one decision's expressions: an `assign` with all its targets, a command with
/// all its arguments. Together they may use [`STEPS_MAX`] steps and make values of
/// [`VALUE_BYTES_MAX`] bytes, so that a decision takes a few milliseconds at most, however many
/// expressions it has. Steps are counted and not timed: the same decision costs the same
/// everywhere.
#[derive(Debug)]
pub struct Meter {
    steps: u64,
    steps_max: u64,
    bytes: usize,
}

impl Meter {
    /// A meter without use.
    pub fn new() -> Meter {
        Meter::up_to(STEPS_MAX)
    }

    /// A meter for a decision with fewer steps.
    pub fn up_to(steps_max: u64) -> Meter {
        Meter {
            steps: 0,
            steps_max,
            bytes: 0,
        }
    }

    /// Steps used so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Counts steps of work whose time does not depend on an expression alone. The error reports
    /// too many steps, at this offset of the source.
    pub fn use_steps(&mut self, n_steps: u64, offset: usize) -> Result<(), ExpressionError> {
        self.steps = self.steps.saturating_add(n_steps);
        if self.steps > self.steps_max {
            let message = format!("more than {} steps", self.steps_max);
            return Err(ExpressionError::new(offset, message));
        }
        Ok(())
    }

    /// Counts the time of reading bytes.
    pub fn pass_bytes(&mut self, n_bytes: usize, offset: usize) -> Result<(), ExpressionError> {
        self.use_steps((n_bytes / BYTES_A_STEP) as u64, offset)
    }

    /// Counts the time of searching values, and a step.
    pub(crate) fn look_through(
        &mut self,
        values: &[&Value],
        offset: usize,
    ) -> Result<(), ExpressionError> {
        let (mut n_bytes, mut n_pieces) = (0, 0);
        for value in values {
            n_bytes += value.size();
            n_pieces += pieces(value);
        }
        self.pass_bytes(n_bytes, offset)?;
        self.use_steps(1 + (n_pieces / LOOKED_INTO_A_STEP) as u64, offset)
    }

    /// Counts the bytes of a copy before it is made, and the time of making it.
    pub(crate) fn copy(&mut self, value: &Value, offset: usize) -> Result<(), ExpressionError> {
        self.make(value.size(), pieces(value), offset)
    }

    /// Counts bytes of texts, lists and maps before they are made, and the time of making them.
    pub(crate) fn make(
        &mut self,
        n_bytes: usize,
        n_pieces: usize,
        offset: usize,
    ) -> Result<(), ExpressionError> {
        self.bytes = self.bytes.saturating_add(n_bytes);
        if self.bytes > VALUE_BYTES_MAX {
            let message = format!("values of more than {} MiB", VALUE_BYTES_MAX >> 20);
            return Err(ExpressionError::new(offset, message));
        }
        self.pass_bytes(n_bytes, offset)?;
        self.use_steps((MAKING_STEPS * n_pieces) as u64, offset)
    }
}

/// The number of texts, lists and maps in a value; an entry of a map counts as one more.
fn pieces(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Artifact(..) => 0,
        Value::Text(_) => 1,
        Value::List(items) => 1 + items.iter().map(pieces).sum::<usize>(),
        Value::Map(items) => 1 + items.values().map(|item| 1 + pieces(item)).sum::<usize>(),
    }
}

impl Default for Meter {
    fn default() -> Meter {
        Meter::new()
    }
}
