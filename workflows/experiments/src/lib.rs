//! Studies of scheduling: graphs, platforms and loads, executed under ideal conditions.
//!
//! It is pure: what it draws follows from a seed, results are texts, and charts are texts too. `xav
//! experiment` has the threads and files. It runs no process and moves no bytes; times are exact.
//!
//! [`ideal`] executes a plan by a policy. [`study::Study`] names the published comparisons and
//! ours, [`instance::Source`] draws their instances, [`results::Results`] keeps what became of them,
//! [`claims`] and [`published`] judge that, and [`report`] shows it.

pub mod claims;
pub mod design;
pub mod families;
pub mod figures;
pub mod graphs;
pub mod ideal;
pub mod instance;
pub mod knowing;
pub mod loads;
pub mod plot;
pub mod published;
pub mod report;
pub mod results;
pub mod seeds;
pub mod statistics;
pub mod study;
pub mod traces;
pub mod wide;
