//! Tests of one manager: inputs go in, and its effects come out as text.

mod bench;
mod drain;
mod endings;
mod files;
mod lease;
mod links;
mod memory;
mod orphans;
mod returns;
mod states;
mod watch;
mod world;
