//! Studies of scheduling: graphs, platforms and loads, executed under ideal conditions.

pub mod claims;
pub mod design;
pub mod figures;
pub mod graphs;
pub mod ideal;
pub mod instance;
mod knowing;
pub mod loads;
pub mod plot;
pub mod published;
pub mod report;
pub mod results;
pub mod seeds;
pub mod statistics;
pub mod study;
pub mod traces;
