//! The bodies of for-each controllers: what each node may read, and where a link may go.

use std::collections::BTreeSet;

use super::problems::Problems;
use super::words::{check_expression, check_identifier};
use super::{RESERVED, has_output};
use crate::NodeId;
use crate::definition::{Draft, ForEach, NodeKind, OutputSource, Source, Staged};

/// The innermost body that each node lies in, by its root.
pub(super) struct Bodies<'a> {
    parents: &'a [Option<NodeId>],
    of: Vec<Option<NodeId>>,
}

impl<'a> Bodies<'a> {
    pub(super) fn new(draft: &Draft, parents: &'a [Option<NodeId>]) -> Bodies<'a> {
        let mut of: Vec<Option<NodeId>> = Vec::with_capacity(parents.len());
        for (index, parent) in parents.iter().enumerate() {
            let body = parent.and_then(|parent| match draft.nodes[parent.index()].kind {
                NodeKind::ForEach(_) => Some(NodeId(index as u32)),
                NodeKind::Sequence(_)
                | NodeKind::Parallel { .. }
                | NodeKind::If { .. }
                | NodeKind::Activity(_)
                | NodeKind::Assign(_)
                | NodeKind::Empty => of[parent.index()],
            });
            of.push(body);
        }
        Bodies { parents, of }
    }

    /// The innermost body that a node lies in; none where it lies in no for-each.
    pub(super) fn of(&self, node: NodeId) -> Option<NodeId> {
        self.of[node.index()]
    }

    /// The node of a body, or of the process outside of all bodies, that a node is or lies below; none
    /// where the node is elsewhere.
    pub(super) fn lift(&self, node: NodeId, body: Option<NodeId>) -> Option<NodeId> {
        let mut at = node;
        while self.of(at) != body {
            at = self.parents[self.of(at)?.index()]?;
        }
        Some(at)
    }

    /// Producer and reader, each as the node that is in the same body as the other; none where the
    /// reader cannot read that.
    pub(super) fn ends(
        &self,
        producer: NodeId,
        reader: NodeId,
        gathers: bool,
    ) -> Option<(NodeId, NodeId)> {
        if gathers {
            // The innermost body around both, or the process.
            let mut around = self.of(reader);
            loop {
                if let Some(from) = self.lift(producer, around) {
                    return (from != producer).then_some((from, self.lift(reader, around)?));
                }
                around = self.of(self.parents[around?.index()]?);
            }
        } else {
            Some((producer, self.lift(reader, self.of(producer))?))
        }
    }
}

pub(super) fn check_for_each(draft: &Draft, each: &ForEach, id: NodeId, problems: &mut Problems) {
    let here = Some(id);
    if each.children.len() != 1 {
        problems.add(here, "for-each.do", "a for-each has one body");
    }
    check_expression(&each.items, here, "for-each.in", problems);
    if let Some(key) = &each.key {
        check_expression(key, here, "for-each.key", problems);
    }
    if each.at_most == Some(0) {
        let message = "0 items at the same time; 1 or more";
        problems.add(here, "for-each.at-most", message);
    }
    let names = [("item", Some(&each.item)), ("index", each.index.as_ref())];
    for (key, name) in names {
        let Some(name) = name else { continue };
        let field = format!("for-each.{key}");
        check_identifier(name, here, &field, problems);
        let is_variable = || {
            draft
                .variables
                .iter()
                .any(|variable| variable.name == *name)
        };
        if RESERVED.contains(&name.as_str()) {
            problems.add(here, &field, format!("`{name}` is a word of expressions"));
        } else if is_variable() {
            let message = format!("`{name}` is a variable of the process");
            problems.hint(here, &field, message, "give the item a name of its own");
        }
    }
    if each.index.as_ref() == Some(&each.item) {
        let message = format!("`{}` is the name of the item", each.item);
        problems.add(here, "for-each.index", message);
    }
}

/// Items of bodies within each other have different names.
pub(super) fn check_names(draft: &Draft, bodies: &Bodies<'_>, problems: &mut Problems) {
    for (index, node) in draft.nodes.iter().enumerate() {
        let NodeKind::ForEach(each) = &node.kind else {
            continue;
        };
        let id = NodeId(index as u32);
        let mut outer = BTreeSet::new();
        let mut at = bodies.of(id);
        while let Some(around) = at.and_then(|body| bodies.parents[body.index()]) {
            if let NodeKind::ForEach(around) = &draft.nodes[around.index()].kind {
                outer.extend([Some(&around.item), around.index.as_ref()]);
            }
            at = bodies.of(around);
        }
        for (key, name) in [("item", Some(&each.item)), ("index", each.index.as_ref())] {
            if let Some(own) = name.filter(|_| outer.contains(&name)) {
                let message = format!("`{own}` is an item, or its index, of a for-each around");
                problems.add(Some(id), format!("for-each.{key}"), message);
            }
        }
    }
}

/// Nobody reads what he cannot know: an item outside of its body, one output of a body that has many,
/// or many of an activity that has one.
pub(super) fn check_reads(draft: &Draft, bodies: &Bodies<'_>, problems: &mut Problems) {
    for (index, node) in draft.nodes.iter().enumerate() {
        let NodeKind::Activity(activity) = &node.kind else {
            continue;
        };
        let reader = NodeId(index as u32);
        for staged in &activity.inputs {
            let field = format!("inputs.{}", staged.path);
            match staged.source {
                Source::Output { activity, output } if has_output(draft, activity, output) => {
                    if bodies.ends(activity, reader, staged.gathers).is_none() {
                        let (message, hint) = unreadable(draft, staged.source, staged.gathers);
                        problems.hint(Some(reader), &field, message, hint);
                    }
                    check_directory(staged, reader, &field, problems);
                }
                Source::Item(body) if !is_around(draft, bodies, body, reader) => {
                    let message = "this item is read outside of its for-each";
                    problems.add(Some(reader), field, message);
                }
                Source::Output { .. } | Source::Item(_) | Source::Input(_) => {}
            }
        }
    }
    for output in &draft.outputs {
        let (source, gathers) = match output.source {
            OutputSource::Produced(source) => (source, false),
            OutputSource::Gathered(source) => (source, true),
            OutputSource::Expression(_) => continue,
        };
        if let Source::Output {
            activity,
            output: at,
        } = source
            && has_output(draft, activity, at)
            && bodies.of(activity).is_some() != gathers
        {
            let (message, hint) = unreadable(draft, source, gathers);
            problems.hint(None, format!("outputs.{}", output.name), message, hint);
        }
    }
}

fn check_directory(staged: &Staged, reader: NodeId, field: &str, problems: &mut Problems) {
    if staged.gathers && !staged.path.ends_with('/') {
        let message = "the outputs of all items are staged in a directory";
        let hint = format!("write `{}/`", staged.path);
        problems.hint(Some(reader), field, message, hint);
    }
}

/// Returns true if a node lies in the body with this root.
pub(super) fn is_around(draft: &Draft, bodies: &Bodies<'_>, body: NodeId, node: NodeId) -> bool {
    let is_body = body.index() < draft.nodes.len() && bodies.of(body) == Some(body);
    is_body && bodies.lift(node, Some(body)).is_some()
}

fn unreadable(draft: &Draft, source: Source, gathers: bool) -> (String, String) {
    let (name, output) = match source {
        Source::Output { activity, output } => {
            let node = &draft.nodes[activity.index()];
            let outputs = match &node.kind {
                NodeKind::Activity(activity) => activity.outputs.as_slice(),
                NodeKind::Sequence(_)
                | NodeKind::Parallel { .. }
                | NodeKind::If { .. }
                | NodeKind::ForEach(_)
                | NodeKind::Assign(_)
                | NodeKind::Empty => &[],
            };
            let output = outputs.get(output as usize);
            (
                node.label(),
                output.map_or("", |output| output.name.as_str()),
            )
        }
        Source::Input(_) | Source::Item(_) => ("", ""),
    };
    match gathers {
        true => (
            format!(
                "`{name}` runs for no item that this does not run for too, so there is one output"
            ),
            format!("write `{name}.{output}`"),
        ),
        false => (
            format!("`{name}` runs for each item of a for-each, so there are many of its outputs"),
            format!("write `{name}[*].{output}` for all of them"),
        ),
    }
}
