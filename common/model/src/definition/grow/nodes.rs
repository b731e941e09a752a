//! The nodes of copies, made when somebody asks for one.
//!
//! A copy differs from the node of the draft by its name and by the numbers of the nodes that it refers to,
//! and both follow from the bodies around it. So a copy is no more than a place until somebody reads it, and
//! again once [`Definition::release`] has let go of it: 100,000 items do not keep 100,000 command lines. Only
//! copies whose inputs or children have changed since are kept as they are.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use super::shifted;
use crate::definition::{Activity, Checked, Definition, Graph, Node};
use crate::{ActivityId, NodeId};

/// The nodes beyond those of the draft.
#[derive(Clone, Default)]
pub(in crate::definition) struct Copies {
    nodes: Vec<OnceLock<Box<Node>>>,
    /// True for each that is not what follows from the draft.
    is_changed: Vec<bool>,
}

impl fmt::Debug for Copies {
    /// Prints the number: which of them were read makes no difference to anybody.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} copies", self.nodes.len())
    }
}

impl Copies {
    pub(in crate::definition) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn reserve(&mut self, n_more: usize) {
        self.nodes.reserve_exact(n_more);
        self.is_changed.reserve_exact(n_more);
    }

    /// Appends a copy: as it was changed, or one that follows from the draft.
    pub(super) fn push(&mut self, changed: Option<Node>) {
        self.is_changed.push(changed.is_some());
        let node = changed.map(Box::new);
        self.nodes
            .push(node.map_or_else(OnceLock::new, OnceLock::from));
    }
}

impl Checked {
    /// The number of all nodes.
    pub(in crate::definition) fn n_nodes(&self) -> usize {
        self.draft.nodes.len() + self.copies.len()
    }

    /// A node that is there: one of the draft, or a copy that was made.
    pub(super) fn made(&self, node: NodeId) -> Option<&Node> {
        match node.index().checked_sub(self.draft.nodes.len()) {
            None => self.draft.nodes.get(node.index()),
            Some(beyond) => self.copies.nodes.get(beyond)?.get().map(|node| &**node),
        }
    }

    /// The same, to be renamed as the items around it say.
    pub(super) fn made_mut(&mut self, node: NodeId) -> Option<&mut Node> {
        match node.index().checked_sub(self.draft.nodes.len()) {
            None => self.draft.nodes.get_mut(node.index()),
            Some(beyond) => {
                let copy = self.copies.nodes.get_mut(beyond)?;
                copy.get_mut().map(|node| &mut **node)
            }
        }
    }

    /// The same, to become something else than what follows from the draft.
    pub(super) fn change(&mut self, node: NodeId) -> Option<&mut Node> {
        if let Some(beyond) = node.index().checked_sub(self.draft.nodes.len())
            && let Some(is_changed) = self.copies.is_changed.get_mut(beyond)
        {
            *is_changed = true;
        }
        self.made_mut(node)
    }
}

impl Definition {
    /// The number of all nodes, those of grown bodies too.
    pub fn n_nodes(&self) -> usize {
        self.0.n_nodes()
    }

    /// One node.
    pub fn node(&self, id: NodeId) -> &Node {
        let checked = &*self.0;
        match id.index().checked_sub(checked.draft.nodes.len()) {
            None => &checked.draft.nodes[id.index()],
            Some(beyond) => checked.copies.nodes[beyond].get_or_init(|| Box::new(self.copied(id))),
        }
    }

    /// The node of the draft that a node is, or is a copy of: all of it but its name, its children and the
    /// nodes that it refers to. It costs no memory, unlike [`Definition::node`].
    pub fn as_written(&self, id: NodeId) -> &Node {
        &self.0.submitted().nodes[self.origin(id).index()]
    }

    /// The activity of the draft that an activity is, or is a copy of: all of it but the sources of its
    /// inputs.
    pub fn activity_as_written(&self, id: ActivityId) -> Option<&Activity> {
        if id.node().index() >= self.n_nodes() {
            return None;
        }
        self.as_written(id.node()).activity()
    }

    /// The children of a controller, none of a leaf.
    pub fn children(&self, id: NodeId) -> &[NodeId] {
        match self.as_written(id).children() {
            [] => &[],
            [..] => self.node(id).children(),
        }
    }

    /// The name of a node, with the items that it is run for; empty where it has none.
    pub fn name_of(&self, id: NodeId) -> String {
        match self.0.made(id) {
            Some(node) => node.name.clone(),
            None => self.copied_name(id),
        }
    }

    /// Lets go of a copy, which is made again when somebody reads it. O(1).
    pub fn release(&mut self, id: NodeId) {
        let beyond = id.index().checked_sub(self.0.draft.nodes.len());
        // Whoever shares the definition for a moment keeps its copies.
        if let Some(beyond) = beyond
            && let Some(checked) = Arc::get_mut(&mut self.0)
            && let Some(false) = checked.copies.is_changed.get(beyond)
        {
            checked.copies.nodes[beyond].take();
        }
    }

    /// Lets go of a copy of an activity for good, however it was changed: nobody will read its inputs. O(1).
    pub fn let_go(&mut self, id: ActivityId) {
        let beyond = id.node().index().checked_sub(self.0.draft.nodes.len());
        if let Some(beyond) = beyond
            && self.activity_as_written(id).is_some()
            && let Some(checked) = Arc::get_mut(&mut self.0)
        {
            checked.copies.is_changed[beyond] = false;
            checked.copies.nodes[beyond].take();
        }
    }

    /// Lets go of the graph of a definition that has grown, which is made again when somebody asks for it. O(n)
    /// once.
    pub fn release_graph(&mut self) {
        if self.0.grown.is_some()
            && let Some(checked) = Arc::get_mut(&mut self.0)
        {
            checked.graph = Graph::default();
        }
    }

    /// All nodes but for the names of copies: none is made to stay. Most leaves are lent from the draft.
    pub(in crate::definition) fn all_lent(&self) -> Vec<Cow<'_, Node>> {
        let lent = |id: NodeId| {
            if let Some(node) = self.0.made(id) {
                return Cow::Borrowed(node);
            }
            let written = self.as_written(id);
            let reads = |activity: &Activity| !activity.inputs.is_empty();
            let refers = !written.children().is_empty() || written.activity().is_some_and(reads);
            match refers {
                true => Cow::Owned(self.copied(id)),
                false => Cow::Borrowed(written),
            }
        };
        (0..self.n_nodes() as u32)
            .map(|id| lent(NodeId(id)))
            .collect()
    }

    fn copied(&self, id: NodeId) -> Node {
        let mut copy = self.as_written(id).clone();
        let shifts = self.shifts(id);
        copy.renumber(&|node| shifted(node, &shifts));
        copy.name = self.copied_name(id);
        copy
    }

    fn copied_name(&self, id: NodeId) -> String {
        let name = self.plain_name(id);
        match name.is_empty() {
            true => String::new(),
            false => format!("{name}{}", self.suffix(id)),
        }
    }
}
