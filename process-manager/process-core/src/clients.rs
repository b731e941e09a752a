//! Clients: requests, answers, watchers.

pub(crate) mod answers;
mod forget;
mod requests;
mod tail;
mod why;

pub use answers::{status, submission, summaries, summary};
pub use why::why;
