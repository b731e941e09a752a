//! The nodes of a definition: controllers, activities, and the links between them.

use minicbor::{Decode, Encode};

use super::{Activity, Assignment, Expression, ForEach, Repeat};
use crate::NodeId;

/// A node of the tree.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Node {
    /// Its name. Activities always have one and no two share it; the name of a controller
    /// is empty where the user gave none.
    #[n(0)]
    pub name: String,
    /// Its kind.
    #[n(1)]
    pub kind: NodeKind,
    /// The condition over its incoming links under which it runs.
    #[n(2)]
    pub join: Join,
}

/// The kind of a node.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum NodeKind {
    /// Its children one after another.
    #[n(0)]
    Sequence(#[n(0)] Vec<NodeId>),
    /// Its children at the same time, but for what its links say.
    #[n(1)]
    Parallel {
        /// The children.
        #[n(0)]
        children: Vec<NodeId>,
        /// Orders between any two descendants.
        #[n(1)]
        links: Vec<Link>,
    },
    /// A command.
    #[n(2)]
    Activity(#[n(0)] Box<Activity>),
    /// Variables written all at once.
    #[n(3)]
    Assign(#[n(0)] Vec<Assignment>),
    /// Nothing.
    #[n(4)]
    Empty,
    /// One of its children: the one whose condition is the first that is true, else the child
    /// beyond the conditions, where there is one. The others are skipped.
    #[n(5)]
    If {
        /// The conditions of the first children, tried in order when the node starts.
        #[n(0)]
        conditions: Vec<Expression>,
        /// A branch for each condition; one more is the `else`.
        #[n(1)]
        children: Vec<NodeId>,
    },
    /// A body for each item of a list.
    #[n(6)]
    ForEach(#[n(0)] Box<ForEach>),
    /// A body again and again.
    #[n(7)]
    Repeat(#[n(0)] Box<Repeat>),
}

/// An order between two nodes below one parallel controller.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Link {
    /// The node that ends first.
    #[n(0)]
    pub from: NodeId,
    /// The node that waits for it.
    #[n(1)]
    pub to: NodeId,
    /// The link's value, evaluated when `from` ends; true where nothing is said. A `from` that is
    /// skipped makes it false.
    #[n(2)]
    pub when: Option<Expression>,
}

/// The condition over the incoming links of a node; where it is false, the node is skipped and its own
/// outgoing links are false.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub enum Join {
    /// All are true.
    #[n(0)]
    #[default]
    All,
    /// At least one is true.
    #[n(1)]
    Any,
    /// The expression is true; a link is read as `links.NAME`, NAME being the node it comes from.
    #[n(2)]
    When(#[n(0)] Expression),
}

impl NodeKind {
    /// Returns true if it may run its child more than once, so that there are copies of it in a process.
    pub fn has_bodies(&self) -> bool {
        match self {
            NodeKind::ForEach(_) | NodeKind::Repeat(_) => true,
            NodeKind::Sequence(_)
            | NodeKind::Parallel { .. }
            | NodeKind::If { .. }
            | NodeKind::Activity(_)
            | NodeKind::Assign(_)
            | NodeKind::Empty => false,
        }
    }
}

impl Node {
    /// The activity, or none where the node is something else.
    pub fn activity(&self) -> Option<&Activity> {
        match &self.kind {
            NodeKind::Activity(activity) => Some(activity),
            NodeKind::Sequence(_)
            | NodeKind::Parallel { .. }
            | NodeKind::If { .. }
            | NodeKind::ForEach(_)
            | NodeKind::Repeat(_)
            | NodeKind::Assign(_)
            | NodeKind::Empty => None,
        }
    }

    /// The for-each, or none where the node is something else.
    pub fn for_each(&self) -> Option<&ForEach> {
        match &self.kind {
            NodeKind::ForEach(each) => Some(each),
            NodeKind::Sequence(_)
            | NodeKind::Parallel { .. }
            | NodeKind::If { .. }
            | NodeKind::Repeat(_)
            | NodeKind::Activity(_)
            | NodeKind::Assign(_)
            | NodeKind::Empty => None,
        }
    }

    /// The children of a controller, none of a leaf.
    pub fn children(&self) -> &[NodeId] {
        match &self.kind {
            NodeKind::Sequence(children)
            | NodeKind::Parallel { children, .. }
            | NodeKind::If { children, .. } => children,
            NodeKind::ForEach(controller) => &controller.children,
            NodeKind::Repeat(controller) => &controller.children,
            NodeKind::Activity(_) | NodeKind::Assign(_) | NodeKind::Empty => &[],
        }
    }

    /// The keyword with which the node is written.
    pub fn keyword(&self) -> &'static str {
        match &self.kind {
            NodeKind::Sequence(_) => "sequence",
            NodeKind::Parallel { .. } => "parallel",
            NodeKind::Activity(_) => "activity",
            NodeKind::Assign(_) => "assign",
            NodeKind::Empty => "empty",
            NodeKind::If { .. } => "if",
            NodeKind::ForEach(_) => "for-each",
            NodeKind::Repeat(controller) => controller.test.keyword(),
        }
    }

    /// Its name, or its keyword where it has none.
    pub fn label(&self) -> &str {
        if self.name.is_empty() {
            self.keyword()
        } else {
            &self.name
        }
    }
}
