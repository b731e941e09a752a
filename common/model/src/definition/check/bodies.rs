//! The bodies of for-each controllers and loops: what each node may read, and where a link may go.

use std::collections::BTreeSet;

use super::problems::Problems;
use super::words::{check_expression, check_identifier};
use super::{RESERVED, has_output};
use crate::NodeId;
use crate::definition::limits::ITERATIONS_MAX;
use crate::definition::{Draft, ForEach, NodeKind, OutputSource, Repeat, Source, Staged};

/// The innermost body that each node lies in, by its root.
pub(super) struct Bodies<'a> {
    draft: &'a Draft,
    parents: &'a [Option<NodeId>],
    of: Vec<Option<NodeId>>,
}

impl<'a> Bodies<'a> {
    pub(super) fn new(draft: &'a Draft, parents: &'a [Option<NodeId>]) -> Bodies<'a> {
        let mut of: Vec<Option<NodeId>> = Vec::with_capacity(parents.len());
        for (index, parent) in parents.iter().enumerate() {
            let body =
                parent.and_then(
                    |parent| match draft.nodes[parent.index()].kind.has_bodies() {
                        true => Some(NodeId(index as u32)),
                        false => of[parent.index()],
                    },
                );
            of.push(body);
        }
        Bodies { draft, parents, of }
    }

    /// The innermost body that a node lies in; none where it lies in none.
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
            // Outside of a loop its last iteration is read, so its output is that of the loop.
            let mut from = producer;
            loop {
                let around = self.of(from);
                if let Some(to) = self.lift(reader, around) {
                    return Some((from, to));
                }
                from = self.owner(around?).filter(|&owner| self.is_loop(owner))?;
            }
        }
    }

    /// The controller of a body.
    pub(super) fn owner(&self, body: NodeId) -> Option<NodeId> {
        self.parents[body.index()]
    }

    fn is_loop(&self, controller: NodeId) -> bool {
        matches!(
            self.draft.nodes[controller.index()].kind,
            NodeKind::Repeat(_)
        )
    }

    /// Returns true if a node lies in no body, or in those of loops alone.
    fn is_in_loops(&self, node: NodeId) -> bool {
        let mut at = self.of(node);
        while let Some(body) = at {
            let Some(owner) = self.owner(body).filter(|&owner| self.is_loop(owner)) else {
                return false;
            };
            at = self.of(owner);
        }
        true
    }
}

pub(super) fn check_for_each(each: &ForEach, id: NodeId, problems: &mut Problems) {
    let here = Some(id);
    if each.children.len() != 1 {
        problems.add(here, "for-each.do", "a for-each has one body");
    }
    check_expression(&each.items, here, "for-each.in", problems);
    if let Some(key) = &each.key {
        check_expression(key, here, "for-each.key", problems);
    }
    if let Some(complete_when) = &each.complete_when {
        check_expression(complete_when, here, "for-each.complete-when", problems);
    }
    if each.at_most == Some(0) {
        let message = "0 items at the same time; 1 or more";
        problems.add(here, "for-each.at-most", message);
    }
    if each.index.as_ref() == Some(&each.item) {
        let message = format!("`{}` is the name of the item", each.item);
        problems.add(here, "for-each.index", message);
    }
}

pub(super) fn check_repeat(repeat: &Repeat, id: NodeId, problems: &mut Problems) {
    let (here, keyword) = (Some(id), repeat.test.keyword());
    if repeat.children.len() != 1 {
        problems.add(here, "do", format!("a {keyword} has one body"));
    }
    check_expression(&repeat.condition, here, keyword, problems);
    if let Some(max) = repeat.max_iterations
        && !(1..=ITERATIONS_MAX).contains(&max)
    {
        let message = format!("{max} iterations; 1 to {ITERATIONS_MAX}");
        problems.add(here, "max-iterations", message);
    }
}

/// A name by which expressions of a body read something of their own.
fn check_item_name(draft: &Draft, name: &str, id: NodeId, field: &str, problems: &mut Problems) {
    let here = Some(id);
    check_identifier(name, here, field, problems);
    let is_variable = || {
        let mut variables = draft.variables.iter();
        variables.any(|variable| variable.name == *name)
    };
    if RESERVED.contains(&name) {
        problems.add(here, field, format!("`{name}` is a word of expressions"));
    } else if is_variable() {
        let message = format!("`{name}` is a variable of the process");
        problems.hint(here, field, message, "give it a name of its own here");
    }
}

/// The names that expressions of a body can read, each with the field that says it.
fn names(kind: &NodeKind) -> Vec<(&'static str, &str)> {
    let (item, index) = match kind {
        NodeKind::ForEach(each) => (
            Some(("for-each.item", each.item.as_str())),
            each.index.as_deref().map(|name| ("for-each.index", name)),
        ),
        NodeKind::Repeat(repeat) => (None, repeat.index.as_deref().map(|name| ("index", name))),
        NodeKind::Sequence(_)
        | NodeKind::Parallel { .. }
        | NodeKind::If { .. }
        | NodeKind::Activity(_)
        | NodeKind::Assign(_)
        | NodeKind::Empty => (None, None),
    };
    item.into_iter().chain(index).collect()
}

/// What expressions of a body read by name has names of its own, in bodies within each other too.
pub(super) fn check_names(draft: &Draft, bodies: &Bodies<'_>, problems: &mut Problems) {
    for (index, node) in draft.nodes.iter().enumerate() {
        let own = names(&node.kind);
        if own.is_empty() {
            continue;
        }
        let id = NodeId(index as u32);
        let mut outer = BTreeSet::new();
        let mut at = bodies.of(id);
        while let Some(around) = at.and_then(|body| bodies.owner(body)) {
            let names = names(&draft.nodes[around.index()].kind);
            outer.extend(names.into_iter().map(|(_, name)| name));
            at = bodies.of(around);
        }
        for (field, name) in own {
            check_item_name(draft, name, id, field, problems);
            if outer.contains(name) {
                let message = format!("`{name}` is an item, or an index, of a body around");
                problems.add(Some(id), field, message);
            }
        }
    }
}

/// Returns true if an activity reads nothing of an iteration before, or what a loop around it carries.
pub(super) fn carries(draft: &Draft, bodies: &Bodies<'_>, staged: &Staged, reader: NodeId) -> bool {
    let Some(carried) = staged.carried else {
        return true;
    };
    let Source::Output { activity, output } = carried else {
        return false;
    };
    if staged.gathers || !has_output(draft, activity, output) {
        return false;
    }
    let body = bodies.of(activity);
    let owner = body.and_then(|body| bodies.owner(body));
    owner.is_some_and(|owner| bodies.is_loop(owner)) && bodies.lift(reader, body).is_some()
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
            if !carries(draft, bodies, staged, reader) {
                let message = "no loop around both carries this from one iteration to the next";
                let hint = "name an output of an activity in the body of the loop, not in another body inside it";
                problems.hint(Some(reader), format!("{field}.then"), message, hint);
            }
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
                Source::Output { .. } | Source::Item(_) | Source::Input(_) | Source::Pick(_) => {}
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
            && match gathers {
                true => bodies.of(activity).is_none(),
                false => !bodies.is_in_loops(activity),
            }
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

/// Returns true if a node lies in the body of a for-each with this root.
pub(super) fn is_around(draft: &Draft, bodies: &Bodies<'_>, body: NodeId, node: NodeId) -> bool {
    let is_body = body.index() < draft.nodes.len()
        && bodies.of(body) == Some(body)
        && bodies
            .owner(body)
            .is_some_and(|owner| !bodies.is_loop(owner));
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
                | NodeKind::Repeat(_)
                | NodeKind::Assign(_)
                | NodeKind::Empty => &[],
            };
            let output = outputs.get(output as usize);
            (
                node.label(),
                output.map_or("", |output| output.name.as_str()),
            )
        }
        Source::Input(_) | Source::Item(_) | Source::Pick(_) => ("", ""),
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
