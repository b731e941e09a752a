//! The parts of the manager that have a state of their own. None of them knows the manager, whose
//! files beside this one ask them.

pub(crate) mod access;
pub(crate) mod copies;
pub(crate) mod executor;
pub(crate) mod group;
pub(crate) mod lease;
pub(crate) mod leaving;
pub(crate) mod process;
pub(crate) mod tail;
pub(crate) mod watch;
