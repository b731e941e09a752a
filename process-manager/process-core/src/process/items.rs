//! The items of for-each controllers: what a node is run for.

use std::borrow::Cow;

use model::{Enclosing, NodeId, NodeKind, Value};

use crate::process::Process;
use crate::process::activity::ActivityState;
use crate::record::Expanded;

/// Values of items, by the names under which expressions read them.
pub(crate) type Items<'a> = Vec<(&'a str, Cow<'a, Value>)>;

impl Process {
    /// A for-each gets a body for each of its items.
    pub(super) fn expand(&mut self, expanded: &Expanded) {
        let each = expanded.node;
        if self.definition.is_expanded(each) {
            return;
        }
        let n_before = self.definition.nodes().len();
        self.definition.expand(&expanded.expansion());
        let n_nodes = self.definition.nodes().len();
        let states = &mut self.state.activities;
        states.resize(n_nodes, ActivityState::default());
        self.state.frame.grow(&self.definition, each);
        self.state.expanded.push(expanded.clone());
        self.note_expanded(n_before);
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

    /// The items, and their indexes, that expressions of a node can read by name.
    pub(crate) fn items(&self, node: NodeId) -> Items<'_> {
        let mut items = Vec::new();
        for around in self.definition.enclosing(node) {
            let NodeKind::ForEach(each) = &self.definition.node(around.each).kind else {
                continue;
            };
            if let Some(item) = self.item(around) {
                items.push((each.item.as_str(), Cow::Borrowed(item)));
            }
            if let Some(index) = &each.index {
                let place = Value::Int(i64::from(around.place));
                items.push((index.as_str(), Cow::Owned(place)));
            }
        }
        items
    }
}
