//! Rule 8: memory and journals stay bounded: at rest nobody holds what is over, and no stream has a
//! long tail.

use simulator::{Seen, Sizes};

use super::Rule;
use crate::known::Known;

/// Events of a stream without a snapshot: twice those after which there is one.
const TAIL_MAX: usize = 2_048;

/// Remembers nothing: all it needs is told at rest.
#[derive(Debug)]
pub(super) struct Bounded;

impl Rule for Bounded {
    fn see(&mut self, _: &Known, seen: &Seen<'_>) -> Result<(), String> {
        let Seen::Sizes(Sizes {
            n_attempts,
            n_starting,
            n_live,
            n_tail_max,
        }) = seen
        else {
            return Ok(());
        };
        if *n_attempts > 0 {
            return Err(format!(
                "activity managers hold {n_attempts} attempts at rest"
            ));
        }
        if *n_starting > 0 {
            return Err(format!(
                "{n_starting} attempts are remembered as starting at rest"
            ));
        }
        if *n_live > 0 {
            return Err(format!(
                "the process manager holds {n_live} processes at rest"
            ));
        }
        if *n_tail_max > TAIL_MAX {
            return Err(format!("a stream has {n_tail_max} events and no snapshot"));
        }
        Ok(())
    }
}
