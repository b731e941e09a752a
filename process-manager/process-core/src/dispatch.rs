//! Attempts: sent, repeated, lost, ended.

mod outcomes;
mod recompute;
mod send;
