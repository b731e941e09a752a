//! The items of for-each controllers and the iterations of loops: what a node is run for.

use std::borrow::Cow;

use model::{Enclosing, NodeId, NodeKind, Source, Value};

use crate::process::Process;
use crate::record::{Expanded, Iterations};

/// What expressions of a node can read of the bodies that it lies in: values of items, indexes and
/// variables by name, and those of the bodies of others.
#[derive(Debug)]
pub(crate) struct Items<'a> {
    process: &'a Process,
    node: NodeId,
    values: Vec<(&'a str, Cow<'a, Value>)>,
}

impl<'a> Items<'a> {
    /// Adds a value that is kept elsewhere.
    pub(crate) fn push_borrowed(&mut self, name: &'a str, value: &'a Value) {
        self.values.push((name, Cow::Borrowed(value)));
    }

    /// Adds a number.
    pub(crate) fn push_number(&mut self, name: &'a str, number: i64) {
        self.values.push((name, Cow::Owned(Value::Int(number))));
    }

    /// By name.
    pub(crate) fn values(&self) -> &[(&'a str, Cow<'a, Value>)] {
        &self.values
    }
}

impl expression::Bodies for Items<'_> {
    fn values(&self, name: &str) -> Result<Vec<Value>, String> {
        self.process.values_of(name, self.node)
    }
}

impl Process {
    /// A for-each gets a body for each of its items, or a loop one for another iteration.
    pub(super) fn expand(&mut self, expanded: &Expanded) {
        let each = expanded.node;
        if expanded.iterations.is_none() && self.definition.is_expanded(each) {
            return;
        }
        let n_before = self.definition.n_nodes();
        let n_links_before = self.definition.links().len();
        let is_next = expanded.iterations.is_some() && self.definition.is_expanded(each);
        let last = self.definition.node(each).children().last().copied();
        let mut across = match self.index.readers {
            Some(_) => self.definition.readers_across(each),
            None => Vec::new(),
        };
        if self.index.readers.is_some() && !self.definition.is_expanded(each) {
            // The picks of the first body are known with its items.
            across.extend(self.definition.first_pickers(each));
        }
        let read_before = self.forget_readers(&across);
        self.definition.expand(&expanded.expansion());
        let n_nodes = self.definition.n_nodes();
        self.state.activities.grow(n_nodes);
        self.state.frame.grow(&self.definition, each);
        self.changed.add_nodes(n_before, n_nodes);
        let n_links = self.definition.links().len();
        self.changed.add_nodes(n_links_before, n_links);
        self.keep_expanded(expanded);
        self.note_expanded(expanded, n_before);
        let entries = expanded.entries();
        self.state.plan.entries.extend_from_slice(entries);
        for &entry in entries {
            self.changed.add_node(entry.activity.node().index());
            self.note_entry(entry);
        }
        self.note_new_readers(n_before, &across);
        self.note_left_behind(last.filter(|_| is_next));
        for maker in read_before {
            self.note_unneeded(maker);
        }
        self.fold(expanded.folded());
    }

    /// Keeps what the definition needs to be grown again: the plan has the entries.
    fn keep_expanded(&mut self, expanded: &Expanded) {
        let Some(more) = &expanded.iterations else {
            return self.push_expanded(expanded.clone());
        };
        let last = self.state.expanded.last_mut();
        if let Some(last) = last.filter(|last| last.node == expanded.node)
            && let Some(before) = &mut last.iterations
        {
            // One iteration after another is the same as several at once.
            before.n_more = before.n_more.saturating_add(more.n_more);
            if let (Some(before), Some(picks)) = (&mut last.picks, &expanded.picks) {
                before.extend_from_slice(picks);
            }
            return;
        }
        let (n_more, entries) = (more.n_more, Vec::new());
        self.push_expanded(Expanded {
            node: expanded.node,
            iterations: Some(Iterations {
                n_more,
                entries,
                folded: None,
            }),
            picks: expanded.picks.clone(),
            ..Expanded::default()
        });
    }

    fn push_expanded(&mut self, expanded: Expanded) {
        let at = self.state.expanded.len();
        // A loop that was the last one does not grow any more in its place.
        let from = at.saturating_sub(1);
        (from..=at).for_each(|at| self.changed.add_expansion(at));
        self.state.expanded.push(expanded);
    }

    /// The item that a body is run for.
    pub(crate) fn item(&self, of: Enclosing) -> Option<&Value> {
        let &at = self.index.expanded.get(&of.each)?;
        self.state.expanded.get(at)?.items.get(of.place as usize)
    }

    /// The item of the body with this root.
    pub(crate) fn item_of(&self, body: NodeId) -> Option<&Value> {
        let of = self.definition.enclosing(body).next()?;
        self.item(of).filter(|_| of.body == body)
    }

    /// The activities whose outputs an output of the process may be picked from.
    pub(super) fn picked_makers(&self, pick: u32) -> Vec<NodeId> {
        let cases = self.definition.draft().pick_cases(pick).iter();
        let makers = cases.filter_map(|case| match case.source {
            Source::Output { activity, .. } => Some(activity),
            Source::Input(_) | Source::Item(_) | Source::Pick(_) => None,
        });
        makers
            .flat_map(|maker| self.definition.instances(maker))
            .collect()
    }

    /// The items, their indexes and the variables of bodies, that expressions of a node can read by name.
    pub(crate) fn items(&self, node: NodeId) -> Items<'_> {
        let mut items = Items {
            process: self,
            node,
            values: Vec::new(),
        };
        for around in self.definition.enclosing(node) {
            let (item, index) = match &self.definition.as_written(around.each).kind {
                NodeKind::ForEach(each) => (Some(each.item.as_str()), &each.index),
                NodeKind::Repeat(repeat) => (None, &repeat.index),
                NodeKind::Sequence(_)
                | NodeKind::Parallel { .. }
                | NodeKind::If { .. }
                | NodeKind::Activity(_)
                | NodeKind::Assign(_)
                | NodeKind::Empty => continue,
            };
            if let Some((name, item)) = item.zip(self.item(around)) {
                items.push_borrowed(name, item);
            }
            if let Some(index) = index {
                items.push_number(index, i64::from(around.place));
            }
            self.add_variables(around.each, around.body, &mut items);
        }
        items
    }
}
