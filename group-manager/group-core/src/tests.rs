//! One manager at the bench: inputs go in, and everything that it wants done comes out as text.

mod bench;
mod claims;
mod confirm;
mod endings;
mod forgetting;
mod machines;
mod owners;
mod returns;
mod shown;
mod waiting;
mod watch;
mod world;
