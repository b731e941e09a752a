//! Decisions about one process, worked out before they are recorded: expressions, messages, judgements.

pub(crate) mod busy;
pub(crate) mod cache_key;
pub(crate) mod compare;
pub(crate) mod decide;
pub(crate) mod evaluate;
pub(crate) mod expand;
pub(crate) mod judge;
pub(crate) mod lengths;
pub(crate) mod message;
mod outside;
pub(crate) mod pick;
pub(crate) mod problem;
pub(crate) mod recompute;
pub(crate) mod reuse;
pub(crate) mod works;
