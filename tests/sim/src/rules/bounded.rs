//! Rule 8: memory and journals stay bounded: at rest nobody holds what is over, and no stream has a
//! longer tail than its manager's driver leaves.

use simulator::{LongTail, Seen, Sizes};

use super::{Judged, Rule};
use crate::known::Known;

/// Remembers nothing: all it needs is told at rest.
#[derive(Debug)]
pub(super) struct Bounded;

impl Rule for Bounded {
    fn see(&mut self, _: &Known, seen: &Seen<'_>, judged: &mut Judged) -> Result<(), String> {
        let Seen::Sizes(Sizes {
            n_attempts,
            n_starting,
            n_live,
            long_tail,
        }) = seen
        else {
            return Ok(());
        };
        judged.count();
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
        if let Some(LongTail { weight, most }) = long_tail {
            return Err(format!(
                "a stream has events of weight {weight} after its snapshot, of {most} at most"
            ));
        }
        Ok(())
    }
}
