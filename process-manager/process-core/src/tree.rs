//! The controllers of a process: a tree of nodes, with links between them.
//!
//! ```text
//!  idle --enable--> enabled --links known, join true--> running --> done
//!                      \------ join false ------------------------> skipped
//! ```
//! In a process that goes on without what depends on a fault, a node is *broken* by a fault of its
//! own, by a child that is broken (a sequence or an `if` at once, a parallel when all its children have ended)
//! or by its links: a link from a broken node is broken, `join: all` with a broken link breaks its
//! node, and so does any other join that is not true where a broken link reads false. So a node that
//! is not broken has seen the end of everything that it waits for.
//!
//! Each kind of controller has a file: its first moves, and its answer to the end of a child. A
//! [`Transition`] carries signals between them from one cause to everything that follows without an
//! expression; the [`Frame`] is the fold of what came of it.

mod choice;
mod for_each;
mod frame;
mod links;
mod parallel;
mod repeat;
mod sequence;
#[cfg(test)]
mod tests;
mod transition;

use model::NodeId;

use crate::record::LinkState;

pub(crate) use frame::{Decision, Frame, Moved};
pub(crate) use transition::{Transition, begin};

/// Messages between controllers and their children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signal {
    Enable(NodeId),
    Run(NodeId),
    Skip(NodeId),
    Break(NodeId),
    Finished(NodeId),
    ChildEnded(NodeId),
    Link(u32, LinkState),
}

/// The answer of a controller to the end of one of its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// Others are still to end.
    Wait,
    /// This child is next.
    Enable(NodeId),
    /// The controller is done.
    Finish,
    /// The controller is broken, and children that have not begun with it.
    Break,
}
