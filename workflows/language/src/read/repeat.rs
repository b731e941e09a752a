//! Bodies that are done again and again.

use model::{Expression, NodeId, NodeKind, Repeat, Test};

use super::{Fields, Reader};
use crate::tree::Id;

impl Reader<'_, '_> {
    /// Reads the keys of a loop from those of its step, which stands at `at`.
    pub(super) fn repeat(
        &mut self,
        (id, test): (NodeId, Test),
        at: Id,
        fields: &Fields,
    ) -> NodeKind {
        let condition = fields.get(test.keyword());
        let condition = condition.and_then(|at| self.condition_of(test, at));
        let index = fields.get("index");
        let index = index.and_then(|at| self.literal(at, "a name"));
        let max = fields.get("max-iterations");
        let max_iterations = max.and_then(|at| self.whole(at, "a whole number"));
        self.own_variables(id, fields.get("variables"));
        let body = self.block(at, fields.get("do"));
        NodeKind::Repeat(Box::new(Repeat {
            test,
            // A placeholder where it is wanting or wrong, which has been said.
            condition: condition.unwrap_or_else(|| Expression("false".to_owned())),
            index: index.map(str::to_owned),
            max_iterations,
            children: vec![body],
        }))
    }

    fn condition_of(&mut self, test: Test, at: Id) -> Option<Expression> {
        let wanted = "`${...}`";
        if self.tree.map(at).is_none() {
            return self.expression(at, wanted);
        }
        let error = self.expected(at, wanted);
        let keyword = test.keyword();
        self.add(error.hint(format!(
            "write `{keyword}: ${{ ... }}`, and `do:` beside it"
        )));
        self.lose(at);
        None
    }
}
