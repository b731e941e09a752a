//! Files: their sources, their copies, their soundness, their loss.

mod checks;
pub(crate) mod copies;
mod loss;
mod sources;
