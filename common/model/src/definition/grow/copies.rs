//! The copies of a body, and of whoever reads from it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Bodies, Expansion, Grown, Shift, body_len, shifted};
use crate::definition::{Activity, Checked, Graph, Link, Node, NodeKind, Source, Staged};
use crate::{ActivityId, NodeId};

impl Checked {
    pub(super) fn expand(
        &mut self,
        Expansion {
            each,
            n_items,
            keys,
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
        let first = self.draft.nodes[each.index()].children()[0];
        let body = grown.submitted.nodes[origin.index()].children()[0];
        let bodies = Bodies {
            base: self.draft.nodes.len() as u32,
            len: body_len(&grown.submitted.nodes, origin),
            n_items,
            keys: keys.clone(),
        };
        let name = |place: u32| match keys.get(place as usize) {
            Some(key) => format!("{suffix}[{key}]"),
            None => format!("{suffix}[{place}]"),
        };
        let mut roots = vec![first];
        for place in 1..n_items {
            let shift = Shift {
                from: body.0,
                len: bodies.len,
                to: self.draft.nodes.len() as u32,
            };
            roots.push(NodeId(shift.to));
            let shifts: Vec<Shift> = [shift].into_iter().chain(around.iter().copied()).collect();
            self.copy_body(&grown, &shifts, (each, &name(place)));
            grown
                .origins
                .extend((body.0..body.0 + bodies.len).map(NodeId));
        }
        if n_items > 0 {
            let own = name(0);
            let own = &own[suffix.len()..];
            let nodes = &mut self.draft.nodes[first.index()..][..bodies.len as usize];
            for node in nodes.iter_mut().filter(|node| !node.name.is_empty()) {
                node.name.push_str(own);
            }
        }
        self.gather_from((body, bodies.len), (first, &roots), around);
        if let NodeKind::ForEach(controller) = &mut self.draft.nodes[each.index()].kind {
            controller.children = roots;
        }
        grown.expanded.insert(each, bodies);
        self.grown = Some(grown);
        self.graph = Graph::default();
    }

    /// Appends a copy of a body of the draft; the first of the shifts is its own.
    fn copy_body(&mut self, grown: &Grown, shifts: &[Shift], (each, suffix): (NodeId, &str)) {
        let Shift { from, len, to } = shifts[0];
        let map = |node: NodeId| shifted(node, shifts);
        for node in from..from + len {
            let mut copy = grown.submitted.nodes[node as usize].clone();
            copy.renumber(&map);
            self.gather_as_before(&mut copy, NodeId(node), shifts);
            if !copy.name.is_empty() {
                copy.name.push_str(suffix);
            }
            let id = map(NodeId(node));
            if let NodeKind::Activity(_) = copy.kind {
                self.activities.push(ActivityId(id.0));
            }
            self.draft.nodes.push(copy);
            let parent = self.parents[node as usize].map(map);
            self.parents
                .push(if id.0 == to { Some(each) } else { parent });
            self.incoming.push(Vec::new());
            self.outgoing.push(Vec::new());
        }
        let submitted = &self.links[..grown.n_links];
        // Links are in the order of their controllers, and none leaves a body.
        let begin = submitted.partition_point(|(controller, _)| controller.0 < from);
        let end = submitted.partition_point(|(controller, _)| controller.0 < from + len);
        for at in begin..end {
            let (controller, link) = self.links[at].clone();
            let (link, number) = (link.renumbered(&map), self.links.len() as u32);
            self.incoming[link.to.index()].push(number);
            self.outgoing[link.from.index()].push(number);
            self.links.push((map(controller), link));
        }
    }

    /// What a copy gathers from outside of its body is what the first body does by now: maybe the
    /// outputs of many items, where the draft has one.
    fn gather_as_before(&self, copy: &mut Node, of: NodeId, shifts: &[Shift]) {
        let NodeKind::Activity(copy) = &mut copy.kind else {
            return;
        };
        if !copy.inputs.iter().any(|staged| staged.gathers) {
            return;
        }
        let first = shifted(of, &shifts[1..]);
        let NodeKind::Activity(first) = &self.draft.nodes[first.index()].kind else {
            return;
        };
        let own = shifts[0];
        // The nodes of the first body are those of the draft, shifted with what is around.
        let begin = shifted(NodeId(own.from), &shifts[1..]).0;
        let is_outside = |staged: &Staged| match staged.source {
            Source::Output { activity, .. } => {
                staged.gathers && !(begin..begin + own.len).contains(&activity.0)
            }
            Source::Input(_) | Source::Item(_) => false,
        };
        let is_copied = |staged: &Staged| match staged.source {
            Source::Output { activity, .. } => {
                staged.gathers && !(own.to..own.to + own.len).contains(&activity.0)
            }
            Source::Input(_) | Source::Item(_) => false,
        };
        copy.inputs.retain(|staged| !is_copied(staged));
        let gathered = first.inputs.iter().filter(|staged| is_outside(staged));
        copy.inputs.extend(gathered.cloned());
    }

    /// Whoever gathers an output of the body outside of it reads that of each item.
    fn gather_from(
        &mut self,
        (body, len): (NodeId, u32),
        (first, roots): (NodeId, &[NodeId]),
        around: &[Shift],
    ) {
        let own = Shift {
            from: body.0,
            len,
            to: first.0,
        };
        let pairs = self.gathers.iter();
        let readers: BTreeSet<NodeId> = pairs
            .filter(|&&(reader, producer)| own.of(producer).is_some() && own.of(reader).is_none())
            .map(|&(reader, _)| reader)
            .collect();
        for reader in readers {
            // The reader lies in the same bodies around, or in none of them.
            let reader = shifted(reader, around);
            if let NodeKind::Activity(activity) = &mut self.draft.nodes[reader.index()].kind {
                activity.gather_from(first, len, roots);
            }
        }
    }
}

impl Activity {
    /// Reads what lies in the first body in each of them.
    fn gather_from(&mut self, first: NodeId, len: u32, roots: &[NodeId]) {
        if roots.len() < 2 {
            return;
        }
        let within = |node: NodeId| node.0 >= first.0 && node.0 < first.0 + len;
        let mut inputs = Vec::with_capacity(self.inputs.len() + roots.len());
        for staged in std::mem::take(&mut self.inputs) {
            let of_body = match staged.source {
                Source::Output { activity, output } if staged.gathers && within(activity) => {
                    Some((activity.0 - first.0, output))
                }
                Source::Output { .. } | Source::Input(_) | Source::Item(_) => None,
            };
            let Some((offset, output)) = of_body else {
                inputs.push(staged);
                continue;
            };
            inputs.extend(roots.iter().map(|root| Staged {
                path: staged.path.clone(),
                source: Source::Output {
                    activity: NodeId(root.0 + offset),
                    output,
                },
                gathers: true,
            }));
        }
        self.inputs = inputs;
    }
}

impl Node {
    /// Names other nodes by other numbers.
    fn renumber(&mut self, map: &impl Fn(NodeId) -> NodeId) {
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
            NodeKind::Activity(activity) => {
                for staged in &mut activity.inputs {
                    staged.source = match staged.source {
                        Source::Output { activity, output } => Source::Output {
                            activity: map(activity),
                            output,
                        },
                        Source::Item(body) => Source::Item(map(body)),
                        Source::Input(input) => Source::Input(input),
                    };
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
