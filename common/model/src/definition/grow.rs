//! The growth of a definition: a body gets a copy for each item, or iteration, with ids of its own.
//!
//! ```text
//! submitted          s(0) ── each(1) ── p(2) ─┬ a(3)
//!                                             └ b(4)
//! three items        s(0) ── each(1) ─┬ p[0](2) ─┬ a[0](3)
//!                                     │          └ b[0](4)
//!                                     ├ p[1](5) ─┬ a[1](6)
//!                                     │          └ b[1](7)
//!                                     └ p[2](8) ─┬ a[2](9)
//!                                                └ b[2](10)
//! ```
//! The nodes of a body have consecutive numbers, so a copy is a shift of them. Copies are made of
//! what was submitted, so it does not matter what has grown before inside the first one. A loop gets its
//! bodies one after another, with whatever has grown elsewhere between them.

mod copies;
mod crossings;
mod nodes;
mod picks;

use std::collections::BTreeMap;
use std::sync::Arc;

use minicbor::{Decode, Encode};

pub(super) use self::crossings::Crossings;
pub(super) use self::nodes::Copies;
use super::limits::NODES_MAX;
use super::{
    Checked, Definition, Draft, Link, Node, NodeKind, OutputSource, Picked, Policy, Source, Tuning,
};
use crate::{ActivityId, NodeId};

/// The items that a for-each runs its body for, or further iterations of a loop: how many, and their
/// names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Expansion {
    /// The controller.
    #[n(0)]
    pub each: NodeId,
    /// The number of its items; of a loop the number of iterations that it gets with this one.
    #[n(1)]
    pub n_items: u32,
    /// Their names; empty where they are numbered.
    #[n(2)]
    pub keys: Vec<String>,
    /// Bodies of a for-each after whose success it completes; all where nothing is said.
    #[n(3)]
    pub n_enough: Option<u32>,
    /// What is picked for each body that is added, in the order of [`Definition::pick_sites`], one body after
    /// another; nothing is said where the bodies pick nothing.
    #[n(4)]
    pub picks: Option<Vec<Picked>>,
}

/// What a definition has become since it was submitted.
#[derive(Clone, Debug)]
pub(super) struct Grown {
    /// The draft as it was submitted.
    submitted: Draft,
    /// The links of that draft, which are the first ones of all.
    n_links: usize,
    /// The nodes beyond those of the draft: each is a copy of this node.
    origins: Vec<NodeId>,
    /// The expansion of each controller that has one.
    expanded: BTreeMap<NodeId, Bodies>,
}

/// The bodies of one controller. The first is where the draft has it.
#[derive(Clone, Debug)]
struct Bodies {
    n_items: u32,
    /// The names of the items; empty where they are numbers.
    keys: Vec<String>,
    n_enough: Option<u32>,
}

/// A body that a node lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enclosing {
    /// The for-each or the loop.
    pub each: NodeId,
    /// The root of the body.
    pub body: NodeId,
    /// The place of its item in the list, or the number of the iteration, from 0.
    pub place: u32,
}

/// Consecutive nodes of a draft, and where their copy begins.
#[derive(Clone, Copy)]
struct Shift {
    from: u32,
    len: u32,
    to: u32,
}

impl Shift {
    fn of(self, node: NodeId) -> Option<NodeId> {
        let offset = node.0.checked_sub(self.from)?;
        (offset < self.len).then_some(NodeId(self.to + offset))
    }
}

/// The node that stands for a node of the draft where the innermost of these bodies is.
fn shifted(node: NodeId, bodies: &[Shift]) -> NodeId {
    let mut found = bodies.iter().filter_map(|body| body.of(node));
    found.next().unwrap_or(node)
}

impl Definition {
    /// An error where these items of a for-each, or iterations of a loop, would make too many nodes.
    pub fn may_expand(&self, each: NodeId, n_items: usize) -> Result<(), String> {
        let n_body = self.n_body_nodes(each);
        let n_more = (n_body as usize).saturating_mul(self.n_copies(each, n_items));
        let n_nodes = self.n_nodes().saturating_add(n_more);
        match n_nodes <= NODES_MAX {
            true => Ok(()),
            false => Err(format!(
                "{n_items} items with {n_body} steps each make a process of {n_nodes} steps; at most \
                 {NODES_MAX}"
            )),
        }
    }

    /// Copies of the body that so many items or iterations need: the first one is where it is.
    fn n_copies(&self, each: NodeId, n_items: usize) -> usize {
        n_items.saturating_sub(usize::from(!self.is_expanded(each)))
    }

    /// Nodes of the body of a for-each or a loop, as it was submitted.
    pub fn n_body_nodes(&self, each: NodeId) -> u32 {
        body_len(&self.0.submitted().nodes, self.origin(each))
    }

    /// Activities that an expansion adds.
    pub fn n_added(&self, each: NodeId, n_items: usize) -> u64 {
        self.n_in_body(each) * self.n_copies(each, n_items) as u64
    }

    /// Activities of one body, as it was submitted.
    fn n_in_body(&self, each: NodeId) -> u64 {
        let nodes = &self.0.submitted().nodes;
        let origin = self.origin(each);
        let body = nodes[origin.index()].children().first();
        let first = body.map_or(0, |body| body.index());
        let inside = nodes[first..].iter().take(body_len(nodes, origin) as usize);
        let activities = inside.filter(|node| matches!(node.kind, NodeKind::Activity(_)));
        activities.count() as u64
    }

    /// Gives a for-each a body for each item, once, or a loop bodies for further iterations. Ids are given
    /// in order, so the same expansions in the same order give the same ids anywhere. Nothing happens
    /// where the node has no bodies, is a for-each that has been expanded or would become too large.
    /// O(nodes added).
    pub fn expand(&mut self, expansion: &Expansion) {
        let Expansion { each, n_items, .. } = *expansion;
        if each.index() >= self.n_nodes() {
            return;
        }
        let may_grow = match self.as_written(each).kind {
            NodeKind::ForEach(_) => !self.is_expanded(each),
            NodeKind::Repeat(_) => true,
            NodeKind::Sequence(_)
            | NodeKind::Parallel { .. }
            | NodeKind::If { .. }
            | NodeKind::Activity(_)
            | NodeKind::Assign(_)
            | NodeKind::Empty => false,
        };
        if !may_grow || self.may_expand(each, n_items as usize).is_err() {
            return;
        }
        let bodies = self.shifts(each);
        let suffix = self.suffix(each);
        self.make_neighbours(each, &bodies);
        let n_before = self.n_items(each).unwrap_or(0);
        let checked = Arc::make_mut(&mut self.0);
        checked.expand(expansion, &bodies, &suffix);
        self.settle_picks(expansion, n_before);
    }

    /// Makes the copies that an expansion reads or changes: the controller, its first body, and whoever
    /// reads from its last one.
    fn make_neighbours(&self, each: NodeId, around: &[Shift]) {
        self.node(each);
        let crossings = &self.0.crossings;
        let (Some(&first), true) = (self.children(each).first(), crossings.is_any()) else {
            return;
        };
        let len = self.n_body_nodes(each);
        for node in first.0..first.0 + len {
            self.node(NodeId(node));
        }
        let readers = crossings.readers_of(Shift {
            from: self.origin(first).0,
            len,
            to: first.0,
        });
        for reader in readers {
            self.node(shifted(reader, around));
        }
    }

    /// Returns true if the items of a for-each are known, or a loop has begun.
    pub fn is_expanded(&self, each: NodeId) -> bool {
        let grown = self.0.grown.as_ref();
        grown.is_some_and(|grown| grown.expanded.contains_key(&each))
    }

    /// All activities in the order in which the tree has them, those of an item together.
    pub fn in_order(&self) -> Vec<ActivityId> {
        if self.0.grown.is_none() {
            return self.activities().to_vec();
        }
        let mut found = Vec::with_capacity(self.activities().len());
        let mut open = vec![NodeId(0)];
        while let Some(node) = open.pop() {
            if matches!(self.as_written(node).kind, NodeKind::Activity(_)) {
                found.push(ActivityId(node.0));
            }
            open.extend(self.children(node).iter().rev());
        }
        found
    }

    /// Items of a for-each, once they are known, or the iterations of a loop so far.
    pub fn n_items(&self, each: NodeId) -> Option<u32> {
        let bodies = self.0.grown.as_ref()?.expanded.get(&each)?;
        Some(bodies.n_items)
    }

    /// Bodies of a for-each after whose success it completes, where that is not all of them; none before
    /// its items are known.
    pub fn n_enough(&self, each: NodeId) -> Option<u32> {
        self.0.grown.as_ref()?.expanded.get(&each)?.n_enough
    }

    /// The node of the submitted draft that a node is, or is a copy of.
    pub fn origin(&self, node: NodeId) -> NodeId {
        let Some(grown) = &self.0.grown else {
            return node;
        };
        let beyond = node.index().checked_sub(grown.submitted.nodes.len());
        let copied = beyond.and_then(|beyond| grown.origins.get(beyond));
        copied.copied().unwrap_or(node)
    }

    /// The name of a node in the draft, without the items that it is run for.
    pub fn plain_name(&self, node: NodeId) -> &str {
        &self.0.submitted().nodes[self.origin(node).index()].name
    }

    /// The bodies that a node lies in, from the innermost outwards. A body whose items are not known
    /// is the one of the first item.
    pub fn enclosing(&self, node: NodeId) -> impl Iterator<Item = Enclosing> {
        let mut at = Some(node).filter(|_| self.0.has_bodies);
        std::iter::from_fn(move || {
            loop {
                let body = at?;
                let each = self.parent(body);
                at = each;
                let each = each?;
                if self.as_written(each).kind.has_bodies() {
                    let place = self.place_of(each, body);
                    return Some(Enclosing { each, body, place });
                }
            }
        })
    }

    /// Returns true for a link that has an item wait for an earlier one which it reads, of a for-each that has one item
    /// at a time: their order says the same.
    pub fn repeats_order(&self, link: u32) -> bool {
        let Some((_, Link { from, to, .. })) = self.links().get(link as usize) else {
            return false;
        };
        let Some(reader) = self.enclosing(*to).next() else {
            return false;
        };
        let kind = &self.as_written(reader.each).kind;
        let is_ordered = matches!(kind, NodeKind::ForEach(each) if each.at_most == Some(1));
        let mut around = self.enclosing(*from);
        is_ordered && around.any(|one| one.each == reader.each && one.body != reader.body)
    }

    fn place_of(&self, each: NodeId, body: NodeId) -> u32 {
        if !self.is_expanded(each) {
            return 0;
        }
        // Bodies get their numbers in the order of the items.
        let bodies = self.node(each).children();
        bodies.partition_point(|&other| other < body) as u32
    }

    /// The name of an item: its key, or its place.
    pub fn item_name(&self, of: Enclosing) -> String {
        let grown = self.0.grown.as_ref();
        let bodies = grown.and_then(|grown| grown.expanded.get(&of.each));
        let key = bodies.and_then(|bodies| bodies.keys.get(of.place as usize));
        key.cloned().unwrap_or_else(|| of.place.to_string())
    }

    /// The names of the items that a node is run for, from the outermost inwards, with places of equal
    /// width so that they sort as the items do; those from the body of `below` outwards are left out.
    pub fn item_path(&self, node: NodeId, below: NodeId) -> String {
        let around: Vec<NodeId> = self.enclosing(below).map(|outer| outer.body).collect();
        let own = self
            .enclosing(node)
            .filter(|inner| !around.contains(&inner.body));
        let grown = self.0.grown.as_ref();
        let name = |of: Enclosing| {
            let bodies = grown.and_then(|grown| grown.expanded.get(&of.each));
            let key = bodies.and_then(|bodies| bodies.keys.get(of.place as usize));
            let last = bodies.map_or(0, |bodies| bodies.n_items.saturating_sub(1));
            let width = last.to_string().len();
            key.cloned()
                .unwrap_or_else(|| format!("{:0width$}", of.place))
        };
        let mut names: Vec<String> = own.map(name).collect();
        names.reverse();
        names.join("/")
    }

    /// All nodes that stand for an activity of the draft, in the order of their items; itself where
    /// it is in no body.
    pub fn instances(&self, of: NodeId) -> Vec<NodeId> {
        self.instances_in(of, |_, bodies| bodies)
    }

    /// The node that stands for an activity of the draft in the last iteration of each loop that it lies
    /// in; itself where it is in no body.
    pub fn last_instance(&self, of: NodeId) -> NodeId {
        let last = |kind: &NodeKind, bodies| last_of_loop(kind, bodies);
        let found = self.instances_in(of, last);
        found.last().copied().unwrap_or(of)
    }

    /// The nodes that stand for one of the draft, in the bodies that `among` selects at each level.
    fn instances_in<'a>(
        &'a self,
        of: NodeId,
        among: impl Fn(&NodeKind, &'a [NodeId]) -> &'a [NodeId],
    ) -> Vec<NodeId> {
        let submitted = self.0.submitted();
        let mut roots = Vec::new();
        let mut at = of;
        while let Some(parent) = self.0.parents[at.index()] {
            if submitted.nodes[parent.index()].kind.has_bodies() {
                roots.push((parent, at));
            }
            at = parent;
        }
        // From the outermost body inwards: the same node in each body of each level.
        let mut found = vec![NodeId(0)];
        let mut above = NodeId(0);
        for (each, body) in roots.into_iter().rev() {
            let of_each = |root: NodeId| self.node(NodeId(root.0 + (each.0 - above.0)));
            let bodies = found.iter().flat_map(|&root| {
                let each = of_each(root);
                among(&each.kind, each.children())
            });
            found = bodies.copied().collect();
            above = body;
        }
        let offset = of.0 - above.0;
        found
            .into_iter()
            .map(|root| NodeId(root.0 + offset))
            .collect()
    }

    /// The activities outside of the bodies of a controller that read files from inside. What they read
    /// changes as there are more bodies.
    pub fn readers_across(&self, each: NodeId) -> Vec<ActivityId> {
        let nodes = &self.0.submitted().nodes;
        let origin = self.origin(each);
        let Some(&body) = nodes[origin.index()].children().first() else {
            return Vec::new();
        };
        let own = Shift {
            from: body.0,
            len: body_len(nodes, origin),
            to: body.0,
        };
        let around = self.shifts(each);
        let readers = self.0.crossings.readers_of(own).into_iter();
        let readers = readers.map(|reader| ActivityId(shifted(reader, &around).0));
        readers.collect()
    }

    /// Returns true if files of all bodies of a controller are read outside of it, or are outputs of the process.
    pub fn is_gathered(&self, each: NodeId) -> bool {
        let submitted = self.0.submitted();
        let origin = self.origin(each);
        let Some(&body) = submitted.nodes[origin.index()].children().first() else {
            return false;
        };
        let own = Shift {
            from: body.0,
            len: body_len(&submitted.nodes, origin),
            to: body.0,
        };
        let mut outputs = submitted.outputs.iter();
        let is_output = outputs.any(|output| match output.source {
            OutputSource::Gathered(Source::Output { activity, .. }) => own.of(activity).is_some(),
            OutputSource::Gathered(_) | OutputSource::Produced(_) | OutputSource::Expression(_) => {
                false
            }
        });
        is_output || self.0.crossings.is_gathered(own) || self.is_picked_from(own)
    }

    /// Returns true if somebody reads an output of one of many copies of this body, by its place.
    fn is_picked_from(&self, body: Shift) -> bool {
        let picks = self.0.submitted().picks.iter().flatten();
        let mut cases = picks.flat_map(|pick| &pick.cases);
        cases.any(|case| match case.source {
            Source::Output { activity, .. } => case.place.is_some() && body.of(activity).is_some(),
            Source::Input(_) | Source::Item(_) | Source::Pick(_) => false,
        })
    }

    /// Returns true if an iteration of a loop reads what this activity has made in the one before.
    pub fn is_carried(&self, activity: ActivityId) -> bool {
        let origin = self.origin(activity.node());
        self.0.crossings.is_carried(origin)
    }

    /// The bodies that a controller lies in, innermost first, as shifts of the draft's nodes.
    fn shifts(&self, each: NodeId) -> Vec<Shift> {
        let nodes = &self.0.submitted().nodes;
        let shift = |around: Enclosing| Shift {
            from: self.origin(around.body).0,
            len: body_len(nodes, self.origin(around.each)),
            to: around.body.0,
        };
        self.enclosing(each).map(shift).collect()
    }

    /// The items that a node is run for, as its name ends: `[2][b]`.
    fn suffix(&self, node: NodeId) -> String {
        let items = self.enclosing(node);
        // Without any item the body stays as it is.
        let expanded = items.filter(|around| self.n_items(around.each).is_some_and(|n| n > 0));
        let mut names: Vec<String> = expanded
            .map(|around| format!("[{}]", self.item_name(around)))
            .collect();
        names.reverse();
        names.concat()
    }
}

/// Of the bodies of a loop the last one, of others all.
fn last_of_loop<'a>(kind: &NodeKind, bodies: &'a [NodeId]) -> &'a [NodeId] {
    let n_before = match kind {
        NodeKind::Repeat(_) => bodies.len().saturating_sub(1),
        NodeKind::Sequence(_)
        | NodeKind::Parallel { .. }
        | NodeKind::If { .. }
        | NodeKind::ForEach(_)
        | NodeKind::Activity(_)
        | NodeKind::Assign(_)
        | NodeKind::Empty => 0,
    };
    &bodies[n_before..]
}

/// Nodes of the body of a for-each or a loop of a draft.
fn body_len(nodes: &[Node], each: NodeId) -> u32 {
    let Some(&body) = nodes[each.index()].children().first() else {
        return 0;
    };
    let mut last = body;
    while let Some(&child) = nodes[last.index()].children().last() {
        last = child;
    }
    last.0 - body.0 + 1
}

impl Checked {
    /// The draft as it was submitted.
    pub(super) fn submitted(&self) -> &Draft {
        let grown = self.grown.as_ref();
        grown.map_or(&self.draft, |grown| &grown.submitted)
    }

    pub(super) fn set_policy(&mut self, policy: Policy) {
        self.draft.policy = Some(policy);
        if let Some(grown) = &mut self.grown {
            grown.submitted.policy = Some(policy);
        }
        let tuning = self.draft.tuning.unwrap_or_default().of(policy);
        self.replace_tuning(tuning);
    }

    pub(super) fn set_tuning(&mut self, tuning: Tuning) {
        let before = self.draft.tuning.unwrap_or_default();
        self.replace_tuning(tuning.or(before));
    }

    fn replace_tuning(&mut self, tuning: Tuning) {
        let tuning = (!tuning.is_empty()).then_some(tuning);
        self.draft.tuning = tuning;
        if let Some(grown) = &mut self.grown {
            grown.submitted.tuning = tuning;
        }
    }

    pub(super) fn set_priority(&mut self, priority: i32) {
        self.draft.priority = Some(priority);
        if let Some(grown) = &mut self.grown {
            grown.submitted.priority = Some(priority);
        }
    }
}
