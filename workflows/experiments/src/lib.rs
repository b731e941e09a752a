//! Studies of scheduling: graphs, platforms and loads, executed under ideal conditions.

pub mod design;
pub mod graphs;
pub mod ideal;
pub mod instance;
mod knowing;
pub mod loads;
pub mod results;
pub mod seeds;
pub mod statistics;
pub mod study;
pub mod traces;
