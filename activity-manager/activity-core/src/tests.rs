//! One manager at the bench: inputs go in, and everything that it wants done comes out as text.

mod bench;
mod drain;
mod files;
mod lease;
mod links;
mod states;
mod watch;
mod world;
