//! The copies of a body, and of whoever reads from it.

use std::collections::BTreeMap;

use super::{Bodies, Expansion, Grown, Shift, body_len, shifted};
use crate::definition::{Activity, Checked, Graph, Link, Node, NodeKind, Source, Staged};
use crate::{ActivityId, NodeId};

/// A body that a controller gets.
struct Copied<'a> {
    controller: NodeId,
    /// From the draft to the copy, and to the bodies around it, innermost first.
    shifts: &'a [Shift],
    /// The root of the iteration before; none where the controller is no loop.
    before: Option<NodeId>,
    /// What its names end with.
    suffix: String,
}

impl Checked {
    pub(super) fn expand(
        &mut self,
        Expansion {
            each,
            n_items,
            keys,
            n_enough,
            picks: _,
        }: &Expansion,
        around: &[Shift],
        suffix: &str,
    ) {
        let (each, n_items) = (*each, *n_items);
        let mut grown = self.grown.take().unwrap_or_else(|| {
            Box::new(Grown {
                submitted: self.draft.clone(),
                n_links: self.links.len(),
                origins: Vec::new(),
                expanded: BTreeMap::new(),
            })
        });
        let n_submitted = grown.submitted.nodes.len();
        let beyond = each.index().checked_sub(n_submitted);
        let origin = beyond.map_or(each, |beyond| grown.origins[beyond]);
        let body = grown.submitted.nodes[origin.index()].children()[0];
        let len = body_len(&grown.submitted.nodes, origin);
        let Some(controller) = self.made(each) else {
            return;
        };
        let is_loop = matches!(controller.kind, NodeKind::Repeat(_));
        let (first, last) = match *controller.children() {
            [first, .., last] => (first, last),
            [only] => (only, only),
            [] => return,
        };
        let name = |place: u32| match keys.get(place as usize) {
            Some(key) => format!("{suffix}[{key}]"),
            None => format!("{suffix}[{place}]"),
        };
        let n_before = grown.expanded.get(&each).map(|bodies| bodies.n_items);
        if n_before.is_none() && n_items > 0 {
            let own = name(0);
            let own = &own[suffix.len()..];
            for node in (first.0..first.0 + len).map(NodeId) {
                let made = self.made_mut(node);
                if let Some(node) = made.filter(|node| !node.name.is_empty()) {
                    node.name.push_str(own);
                }
            }
        }
        let n_before = n_before.unwrap_or(0);
        let mut roots = Vec::new();
        let n_more = (n_before + n_items).saturating_sub(n_before.max(1)) as usize;
        self.reserve(&mut grown, n_more, n_more * len as usize);
        for place in n_before.max(1)..n_before + n_items {
            let root = NodeId(self.n_nodes() as u32);
            let shift = Shift {
                from: body.0,
                len,
                to: root.0,
            };
            let shifts: Vec<Shift> = [shift].into_iter().chain(around.iter().copied()).collect();
            let copied = Copied {
                controller: each,
                shifts: &shifts,
                before: is_loop.then(|| roots.last().copied().unwrap_or(last)),
                suffix: name(place),
            };
            self.copy_body(&grown, &copied);
            grown.origins.extend((body.0..body.0 + len).map(NodeId));
            roots.push(root);
        }
        let own = Shift {
            from: body.0,
            len,
            to: last.0,
        };
        self.read_from(own, &roots, around);
        match self.change(each).map(|node| &mut node.kind) {
            Some(NodeKind::ForEach(controller)) => {
                controller.children.reserve_exact(roots.len());
                controller.children.extend(roots);
            }
            Some(NodeKind::Repeat(controller)) => controller.children.extend(roots),
            Some(
                NodeKind::Sequence(_)
                | NodeKind::Parallel { .. }
                | NodeKind::If { .. }
                | NodeKind::Activity(_)
                | NodeKind::Assign(_)
                | NodeKind::Empty,
            )
            | None => {}
        }
        let bodies = grown.expanded.entry(each).or_insert_with(|| Bodies {
            n_items: 0,
            keys: keys.clone(),
            n_enough: *n_enough,
        });
        bodies.n_items += n_items;
        self.grown = Some(grown);
        self.graph = Graph::default();
    }

    /// Appends a copy of a body of the draft.
    fn copy_body(&mut self, grown: &Grown, copied: &Copied<'_>) {
        let Shift { from, len, to } = copied.shifts[0];
        let map = |node: NodeId| shifted(node, copied.shifts);
        for node in from..from + len {
            let written = &grown.submitted.nodes[node as usize];
            let id = map(NodeId(node));
            let mut changed = None;
            if let NodeKind::Activity(_) = written.kind {
                self.activities.push(ActivityId(id.0));
                changed = self.read_as_before(grown, NodeId(node), copied);
            }
            self.copies.push(changed);
            let parent = self.parents[node as usize].map(map);
            self.parents.push(if id.0 == to {
                Some(copied.controller)
            } else {
                parent
            });
        }
        let submitted = &self.links[..grown.n_links];
        // Links are in the order of their controllers, and none leaves a body.
        let begin = submitted.partition_point(|(controller, _)| controller.0 < from);
        let end = submitted.partition_point(|(controller, _)| controller.0 < from + len);
        for at in begin..end {
            let (controller, link) = self.links[at].clone();
            let (link, number) = (link.renumbered(&map), self.links.len() as u32);
            self.incoming.push(link.to, number);
            self.outgoing.push(link.from, number);
            self.links.push((map(controller), link));
        }
    }

    /// A copy reads from the iteration before what it carries on. From outside of its body it reads what
    /// the first body does by now: maybe the outputs of many items, or those of a later iteration, where
    /// the draft has one. None where that is what follows from the draft.
    fn read_as_before(&self, grown: &Grown, of: NodeId, copied: &Copied<'_>) -> Option<Node> {
        let own = copied.shifts[0];
        let written = &grown.submitted.nodes[of.index()];
        let NodeKind::Activity(activity) = &written.kind else {
            return None;
        };
        let is_outside = |source: Source| match source {
            Source::Output { activity, .. } => own.of(activity).is_none(),
            Source::Input(_) | Source::Item(_) | Source::Pick(_) => false,
        };
        let crosses = |staged: &Staged| is_outside(staged.source) || staged.carried.is_some();
        if !self.crossings.is_any() || !activity.inputs.iter().any(crosses) {
            return None;
        }
        // The nodes of the first body are those of the draft, shifted with what is around.
        let around = &copied.shifts[1..];
        let first = self.made(shifted(of, around))?;
        let NodeKind::Activity(first) = &first.kind else {
            return None;
        };
        let map = |node: NodeId| shifted(node, copied.shifts);
        let mut inputs = Vec::with_capacity(activity.inputs.len());
        let mut is_changed = false;
        for written in &activity.inputs {
            let mut staged = written.clone();
            staged.source = renumbered(staged.source, &map);
            let as_first = || first.inputs.iter().filter(|one| one.path == written.path);
            if let (Some(carried), Some(before)) = (self.carried(written, own), copied.before) {
                staged.source = renumbered(carried, &|node| NodeId(node.0 - own.from + before.0));
                is_changed = true;
            } else if is_outside(written.source) || written.carried.is_some_and(is_outside) {
                is_changed |= as_first().ne([&staged]);
                inputs.extend(as_first().cloned());
                continue;
            }
            inputs.push(staged);
        }
        if !is_changed {
            return None;
        }
        let mut copy = written.clone();
        if let NodeKind::Activity(activity) = &mut copy.kind {
            activity.inputs = inputs;
        }
        copy.name.push_str(&copied.suffix);
        Some(copy)
    }

    fn reserve(&mut self, grown: &mut Grown, n_bodies: usize, n_nodes: usize) {
        // One body more than there were, again and again, must not move all of them each time.
        if n_bodies > 1 {
            self.parents.reserve_exact(n_nodes);
            self.copies.reserve(n_nodes);
            grown.origins.reserve_exact(n_nodes);
        }
    }

    /// What the body of a loop carries from one iteration to the next for this input, if anything.
    fn carried(&self, staged: &Staged, body: Shift) -> Option<Source> {
        let Some(Source::Output { activity, .. }) = staged.carried else {
            return None;
        };
        // A producer lies in the body that it carries from, in none inside of it.
        let mut at = body.of(activity).map(|_| activity)?;
        while at.0 != body.from {
            at = self.parents[at.index()]?;
            if self.draft.nodes[at.index()].kind.has_bodies() {
                return None;
            }
        }
        staged.carried
    }

    /// Whoever gathers outputs of the body outside of it reads those of the new ones too. Whoever reads
    /// one output reads it from the last of them. `last` is the body that was last before.
    fn read_from(&mut self, last: Shift, roots: &[NodeId], around: &[Shift]) {
        let Some(&newest) = roots.last() else {
            return;
        };
        for reader in self.crossings.readers_of(last) {
            // The reader lies in the same bodies around, or in none of them.
            let reader = shifted(reader, around);
            let reader = self.change(reader).map(|node| &mut node.kind);
            let Some(NodeKind::Activity(activity)) = reader else {
                continue;
            };
            activity.gather_from(last, roots);
            for staged in activity.inputs.iter_mut().filter(|staged| !staged.gathers) {
                let within = |node: NodeId| (last.to..last.to + last.len).contains(&node.0);
                staged.source = renumbered(staged.source, &|node| match within(node) {
                    true => NodeId(node.0 - last.to + newest.0),
                    false => node,
                });
            }
        }
    }
}

impl Activity {
    /// Gathers from further bodies what it gathers from the last one before.
    fn gather_from(&mut self, last: Shift, roots: &[NodeId]) {
        let offset_of = |staged: &Staged| match staged.source {
            Source::Output { activity, output } if staged.gathers => {
                let offset = activity.0.checked_sub(last.to)?;
                (offset < last.len).then_some((offset, output))
            }
            Source::Output { .. } | Source::Input(_) | Source::Item(_) | Source::Pick(_) => None,
        };
        if !self.inputs.iter().any(|staged| offset_of(staged).is_some()) {
            return;
        }
        let mut inputs = Vec::with_capacity(self.inputs.len() + roots.len());
        for staged in std::mem::take(&mut self.inputs) {
            let of_body = offset_of(&staged);
            let path = staged.path.clone();
            inputs.push(staged);
            let Some((offset, output)) = of_body else {
                continue;
            };
            inputs.extend(roots.iter().map(|root| Staged {
                path: path.clone(),
                source: Source::Output {
                    activity: NodeId(root.0 + offset),
                    output,
                },
                gathers: true,
                carried: None,
            }));
        }
        self.inputs = inputs;
    }
}

impl Node {
    /// Names other nodes by other numbers.
    pub(super) fn renumber(&mut self, map: &impl Fn(NodeId) -> NodeId) {
        let all = |children: &mut Vec<NodeId>| {
            for child in children {
                *child = map(*child);
            }
        };
        match &mut self.kind {
            NodeKind::Sequence(children) | NodeKind::If { children, .. } => all(children),
            NodeKind::Parallel { children, links } => {
                all(children);
                for link in links {
                    *link = link.clone().renumbered(map);
                }
            }
            NodeKind::ForEach(controller) => all(&mut controller.children),
            NodeKind::Repeat(controller) => all(&mut controller.children),
            NodeKind::Activity(activity) => {
                for staged in &mut activity.inputs {
                    staged.source = renumbered(staged.source, map);
                }
            }
            NodeKind::Assign(_) | NodeKind::Empty => {}
        }
    }
}

impl Link {
    fn renumbered(self, map: &impl Fn(NodeId) -> NodeId) -> Link {
        Link {
            from: map(self.from),
            to: map(self.to),
            when: self.when,
        }
    }
}

pub(super) fn renumbered(source: Source, map: &impl Fn(NodeId) -> NodeId) -> Source {
    match source {
        Source::Output { activity, output } => Source::Output {
            activity: map(activity),
            output,
        },
        Source::Item(body) => Source::Item(map(body)),
        Source::Input(_) | Source::Pick(_) => source,
    }
}
