//! Managers that are told what they should not be: messages of real runs, changed on their way. No
//! rule is judged, since a peer that lies can break every one of them for itself; but nothing that
//! comes from outside makes a core panic, and nothing makes it wait for ever.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use simulator::Setup;
use thiserror::Error;

use crate::seeds::compose;

/// A manager died of what it was told.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("a manager panicked: {0}")]
pub struct Panicked(String);

/// Runs a seed for as long as a run may take; the answer is how much happened.
pub fn run(seed: u64) -> Result<u64, Panicked> {
    let (mut sim, _) = compose(seed, &Setup::mangled());
    let ran = catch_unwind(AssertUnwindSafe(|| {
        // It need not come to its end.
        let _ = sim.run(&mut ());
        sim.n_happened()
    }));
    ran.map_err(|payload| Panicked(said(&*payload)))
}

fn said(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("without a word").to_owned()
}
