//! The branches of an `if` and the cases of a `switch`.

use model::{Expression, NodeId, NodeKind};

use super::{Fields, Reader};
use crate::keys::{BRANCH, CASE, DEFAULT};
use crate::tree::Id;

/// The branches read so far. What could not be read has a placeholder, so that those after it keep
/// their numbers, by which problems find their places in the file.
#[derive(Default)]
struct Branches {
    conditions: Vec<Expression>,
    children: Vec<NodeId>,
}

impl Reader<'_, '_> {
    /// Reads what is below an `if`, whose condition stands at `at`.
    pub(super) fn choice(&mut self, at: Id, fields: &Fields) -> NodeKind {
        let mut branches = Branches::default();
        self.branch(at, Some(fields), &mut branches);
        for &item in fields.get("elif").map_or(&[][..], |at| self.elif(at)) {
            let fields = self.fields(item, &BRANCH);
            self.branch(item, fields.as_ref(), &mut branches);
        }
        if let Some(otherwise) = fields.get("else") {
            let step = self.block(otherwise, Some(otherwise));
            branches.children.push(step);
        }
        NodeKind::If {
            conditions: branches.conditions,
            children: branches.children,
        }
    }

    /// Reads a `switch` from the list of its cases, as the `if` that it is.
    pub(super) fn switch(&mut self, at: Id) -> NodeKind {
        let mut branches = Branches::default();
        let items = self.cases(at);
        for (place, &item) in items.iter().enumerate() {
            let Some((key, _)) = self.tree.entry(item, "default") else {
                let fields = self.fields(item, &CASE);
                let get = |name| fields.as_ref().and_then(|fields| fields.get(name));
                self.condition(get("case"), &mut branches);
                let step = self.block(item, get("do"));
                branches.children.push(step);
                continue;
            };
            let fields = self.fields(item, &DEFAULT);
            if place + 1 < items.len() {
                self.error(key, "a case behind `default` would never be done");
                // What stands behind it keeps its number.
                self.condition(None, &mut branches);
            } else if place == 0 {
                let hint = "write the steps themselves, without `switch`";
                self.hint(key, "a switch with nothing but `default`", hint);
            }
            let step = self.block(item, fields.and_then(|fields| fields.get("default")));
            branches.children.push(step);
        }
        if branches.conditions.is_empty() {
            self.condition(None, &mut branches);
        }
        if branches.children.is_empty() {
            let step = self.block(at, None);
            branches.children.push(step);
        }
        NodeKind::If {
            conditions: branches.conditions,
            children: branches.children,
        }
    }

    fn condition(&mut self, at: Option<Id>, branches: &mut Branches) {
        let condition = at.and_then(|at| self.expression(at, "`${...}`"));
        let unread = || Expression("false".to_owned());
        branches.conditions.push(condition.unwrap_or_else(unread));
    }

    fn branch(&mut self, at: Id, fields: Option<&Fields>, branches: &mut Branches) {
        let get = |name| fields.and_then(|fields| fields.get(name));
        self.condition(get("if"), branches);
        let step = self.block(at, get("then"));
        branches.children.push(step);
    }
}

impl<'t> Reader<'t, '_> {
    fn cases(&mut self, at: Id) -> &'t [Id] {
        let wanted = "a list of cases";
        if self.tree.text(at).is_some_and(|text| !text.is_empty()) {
            let error = self.expected(at, wanted);
            let hint = "write `switch:` and below it `- case: ${ value == 1 }` with its `do:`";
            self.add(error.hint(hint));
            return &[];
        }
        let items = self.items(at, wanted);
        if items.is_empty() && self.tree.list(at).is_some() {
            self.hint(at, "a switch without cases", "write `empty:` for nothing");
        }
        items
    }

    fn elif(&mut self, at: Id) -> &'t [Id] {
        let wanted = "a list of branches";
        if self.tree.map(at).is_some() {
            let error = self.expected(at, wanted);
            self.add(error.hint("write `- ` before each `if` below `elif:`"));
            self.lose(at);
            return &[];
        }
        let items = self.items(at, wanted);
        if items.is_empty() && self.tree.list(at).is_some() {
            self.hint(at, "an `elif` without branches", "leave it out");
        }
        items
    }
}
