//! A body for each item of a list.

use minicbor::{Decode, Encode};

use super::Expression;
use crate::NodeId;

/// A controller that runs its body once for each item of a list.
///
/// In a draft it has one child, the body. Once its items are known, a process has a child for each
/// of them (see [`super::Definition::expand`]): the body itself for the first item, copies for the others.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ForEach {
    /// The name under which expressions of the body read the item.
    #[n(0)]
    pub item: String,
    /// The name under which they read its place in the list, counted from 0.
    #[n(1)]
    pub index: Option<String>,
    /// The list, evaluated when the controller starts.
    #[n(2)]
    pub items: Expression,
    /// The name of an item, evaluated for each: no two items share one. Its place in the list
    /// where nothing is said.
    #[n(3)]
    pub key: Option<Expression>,
    /// Items that run at the same time: 1 is one after another, all where nothing is said.
    #[n(4)]
    pub at_most: Option<u32>,
    /// The body, and in a process the copies of it.
    #[n(5)]
    pub children: Vec<NodeId>,
    /// Bodies after whose success it completes, evaluated when the controller starts: the others are
    /// stopped or never begin. All where nothing is said.
    #[n(6)]
    pub complete_when: Option<Expression>,
}
