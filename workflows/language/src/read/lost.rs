//! Parts of a definition that could not be read. A name that may be declared in such a part is not
//! reported as unknown.

use std::collections::HashSet;

use model::{NodeId, Problem};

use super::Reader;
use crate::tree::Id;

/// The parts of a file that could not be read.
#[derive(Debug, Default)]
pub(super) struct Lost<'t> {
    /// All texts there, keys and values.
    texts: HashSet<&'t str>,
    /// True if links may be among it.
    pub(super) links: bool,
    /// Controllers and assigns of which parts may be among it.
    pub(super) parts_of: HashSet<NodeId>,
}

impl Lost<'_> {
    /// True if a name is written somewhere in it.
    pub(super) fn has(&self, name: &str) -> bool {
        self.texts.contains(name)
    }
}

impl Reader<'_, '_> {
    /// Remembers that something is not read. What is wrong with it has been said.
    pub(super) fn lose(&mut self, at: Id) {
        let tree = self.tree;
        let mut open = vec![at];
        while let Some(at) = open.pop() {
            self.lost.texts.extend(tree.text(at));
            open.extend(tree.list(at).into_iter().flatten());
            for (key, value) in tree.map(at).into_iter().flatten() {
                self.lost.links |= matches!(tree.text(key), Some("links" | "from" | "to"));
                open.extend([key, value]);
            }
        }
    }

    /// True if a problem is there only because something could not be read.
    pub(super) fn follows(&self, problem: &Problem) -> bool {
        let message = problem.message.as_str();
        let name = message.split('`').nth(1).unwrap_or_default();
        let begins = |start: &[&str]| start.iter().any(|start| message.starts_with(start));
        let ends = |end: &[&str]| end.iter().any(|end| message.ends_with(end));
        if begins(&["no link ends here", "no link comes from"])
            || message.contains("need not have ended when")
        {
            return self.lost.links;
        }
        if begins(&["no variable is called", "no input is called"])
            || ends(&["is neither among the inputs nor among the files"])
        {
            return self.lost.has(name);
        }
        if ends(&["without children", "nothing is assigned"]) {
            let node = problem.place.node;
            return node.is_some_and(|node| self.lost.parts_of.contains(&node));
        }
        if ends(&["to which nothing is ever written"]) {
            return self.diagnostics.has_errors();
        }
        // A file without a body that can be read has been complained of.
        begins(&["nothing to do"]) && self.diagnostics.has_errors()
    }
}
