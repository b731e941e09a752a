//! The branches of an `if`.

use model::{Expression, Join, Node, NodeId, NodeKind};

use super::{Fields, Reader};
use crate::keys::BRANCH;
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
            let step = self.branch_step(otherwise, Some(otherwise));
            branches.children.push(step);
        }
        NodeKind::If {
            conditions: branches.conditions,
            children: branches.children,
        }
    }

    fn branch(&mut self, at: Id, fields: Option<&Fields>, branches: &mut Branches) {
        let get = |name| fields.and_then(|fields| fields.get(name));
        let condition = get("if").and_then(|at| self.expression(at, "`${...}`"));
        let unread = || Expression("false".to_owned());
        branches.conditions.push(condition.unwrap_or_else(unread));
        let step = self.branch_step(at, get("then"));
        branches.children.push(step);
    }

    fn branch_step(&mut self, at: Id, step: Option<Id>) -> NodeId {
        if let Some(id) = step.and_then(|step| self.step(step)) {
            return id;
        }
        let id = NodeId(self.draft.nodes.len() as u32);
        self.draft.nodes.push(Node {
            name: String::new(),
            kind: NodeKind::Empty,
            join: Join::All,
        });
        self.steps.push(at);
        id
    }
}

impl<'t> Reader<'t, '_> {
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
