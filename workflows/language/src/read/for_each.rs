//! Bodies that are done for each item of a list.

use model::limits::{EXPRESSION_BYTES_MAX, ITEMS_MAX};
use model::{Draft, Expression, ForEach, Join, Node, NodeId, NodeKind, Type, with_article};

use super::Reader;
use crate::keys::FOR_EACH_FORM;
use crate::tree::{Id, shorten};

impl Reader<'_, '_> {
    /// Reads a for-each from the mapping that its keys are in.
    pub(super) fn for_each(&mut self, id: NodeId, at: Id) -> NodeKind {
        if self.tree.is_null(at) {
            let error = self.expected(at, "a mapping (a for-each)");
            self.add(error.hint("`item`, `in` and `do` stand below it, indented deeper"));
        }
        let fields = match self.tree.is_null(at) {
            true => None,
            false => self.fields(at, &FOR_EACH_FORM),
        };
        let get = |name| fields.as_ref().and_then(|fields| fields.get(name));
        let item = get("item").and_then(|at| self.literal(at, "a name"));
        let index = get("index").and_then(|at| self.literal(at, "a name"));
        let items = get("in").and_then(|at| self.items_of(at));
        let key = get("key").and_then(|at| self.expression(at, "`${...}`"));
        let parallel = get("parallel")
            .and_then(|at| self.truth(at))
            .unwrap_or(true);
        let at_most = get("at-most").and_then(|at| self.whole(at, "a whole number"));
        if let (false, Some(n_items), Some(place)) = (parallel, at_most, get("at-most"))
            && n_items != 1
        {
            let message = format!("{n_items} items at the same time where `parallel` is false");
            let hint = "`parallel: false` is one after another: leave one of the two out";
            self.hint(place, message, hint);
        }
        let complete_when = get("complete-when").and_then(|at| self.enough(at, get("in")));
        self.own_variables(id, get("variables"));
        let body = self.block(at, get("do"));
        NodeKind::ForEach(Box::new(ForEach {
            // Placeholders where they are wanting or wrong, which has been said.
            item: item.map_or_else(|| format!("unnamed_{}", id.0), str::to_owned),
            index: index.map(str::to_owned),
            items: items.unwrap_or_else(|| Expression("[]".to_owned())),
            key,
            at_most: match parallel {
                true => at_most,
                false => Some(1),
            },
            children: vec![body],
            complete_when,
        }))
    }

    /// The number of items that are enough: written out, or an expression.
    fn enough(&mut self, at: Id, items: Option<Id>) -> Option<Expression> {
        let wanted = "a whole number or `${...}`";
        let Some(number) = self.tree.integer::<i64>(at) else {
            let text = self.tree.text(at).unwrap_or_default();
            if text.contains("${") {
                return self.expression(at, wanted);
            }
            let error = self.expected(at, wanted);
            self.add(
                error.hint(
                    "`complete-when: 3` completes when three items have, and stops the others",
                ),
            );
            return None;
        };
        if !(1..=ITEMS_MAX as i64).contains(&number) {
            let message = format!("{number} items; 1 to {ITEMS_MAX}");
            self.hint(at, message, "leave it out to wait for all of them");
            return None;
        }
        let n_items = items
            .and_then(|items| self.tree.list(items))
            .map(<[Id]>::len);
        if let Some(n_items) = n_items.filter(|&n_items| number > n_items as i64) {
            let message = format!("{number} items of a list of {n_items}");
            self.hint(at, message, "leave it out to wait for all of them");
            return None;
        }
        Some(Expression(number.to_string()))
    }

    /// The list of a for-each.
    fn items_of(&mut self, at: Id) -> Option<Expression> {
        let wanted = "`${...}` or a list";
        let tree = self.tree;
        if tree.list(at).is_none() {
            let text = tree.text(at).unwrap_or_default();
            let hint = match tree.integer::<u32>(at) {
                Some(number) => format!("`${{ range({number}) }}` is the list of so many numbers"),
                None if self.variables.contains_key(text) => format!("write `${{ {text} }}`"),
                None => "a list is written `${ ... }` or `[a, b]`".to_owned(),
            };
            if !text.contains("${") {
                let error = self.expected(at, wanted);
                self.add(error.hint(hint));
                return None;
            }
            let items = self.expression(at, wanted)?;
            if let Some((name, kind)) = self.declared_kind(&items)
                && !matches!(kind, Type::List(_) | Type::Json)
            {
                let message = format!("`{}` is {}, not a list", shorten(name), with_article(&kind));
                let hint = format!("declare it as `list of {kind}`");
                self.hint(at, message, hint);
                return None;
            }
            return Some(items);
        }
        let items = self.assigned(at)?;
        let n_bytes = items.0.len();
        if n_bytes > EXPRESSION_BYTES_MAX {
            let message = format!(
                "a list of {n_bytes} bytes; at most {EXPRESSION_BYTES_MAX} are written out"
            );
            let hint = "make it the default of an input, and write `${ inputs.NAME }`";
            self.hint(at, message, hint);
            return None;
        }
        Some(items)
    }

    /// The name of the input or variable that an expression is, and its type.
    fn declared_kind<'e>(&self, expression: &'e Expression) -> Option<(&'e str, &Type)> {
        let name = expression.0.trim();
        if let Some(input) = name.strip_prefix("inputs.") {
            let place = *self.inputs.get(input)?;
            return Some((name, &self.draft.inputs[place as usize].kind));
        }
        let place = *self.variables.get(name)?;
        Some((name, &self.draft.variables[place as usize].kind))
    }

    /// The type of the items of a list, where the declarations say it.
    pub(super) fn item_kind(&self, items: &Expression) -> Option<Type> {
        match self.declared_kind(items)? {
            (_, Type::List(kind)) => Some(kind.as_ref().clone()),
            (_, Type::Json) => Some(Type::Json),
            _ => None,
        }
    }

    /// Reads what stands below a key: a step, or a list of steps, which is a sequence. What cannot
    /// be read has a placeholder at `around`.
    pub(super) fn block(&mut self, around: Id, at: Option<Id>) -> NodeId {
        let steps = at.and_then(|at| self.tree.list(at).map(|steps| (at, steps)));
        let read = match steps {
            None => at.and_then(|at| self.step(at)),
            Some((_, &[only])) => self.step(only),
            Some((at, [])) => {
                self.hint(at, "a list without steps", "write `empty:` for nothing");
                None
            }
            Some((at, _)) => {
                let id = self.placeholder(at);
                let children = self.steps(id, Some(at));
                self.draft.nodes[id.index()].kind = match children.is_empty() {
                    true => NodeKind::Empty,
                    false => NodeKind::Sequence(children),
                };
                Some(id)
            }
        };
        read.unwrap_or_else(|| self.placeholder(around))
    }

    /// A node that does nothing.
    fn placeholder(&mut self, at: Id) -> NodeId {
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

/// The for-each or loop around each node of a draft, which may be no tree.
pub(super) struct Bodies {
    around: Vec<Option<NodeId>>,
}

impl Bodies {
    pub(super) fn of(draft: &Draft) -> Bodies {
        let mut around = vec![None; draft.nodes.len()];
        for (index, node) in draft.nodes.iter().enumerate() {
            let inside = match node.kind.has_bodies() {
                true => Some(NodeId(index as u32)),
                false => around[index],
            };
            // A step is read after the one that it lies in.
            for child in node.children() {
                around[child.index()] = inside;
            }
        }
        Bodies { around }
    }

    /// The innermost for-each around a node that has something.
    pub(super) fn find(
        &self,
        draft: &Draft,
        node: NodeId,
        has: impl Fn(&ForEach) -> bool,
    ) -> Option<NodeId> {
        let outwards = |id: &NodeId| self.around[id.index()];
        let mut all = std::iter::successors(self.around[node.index()], outwards);
        all.find(|id| for_each(draft, *id).is_some_and(&has))
    }

    /// Returns true if this is the index of a body that the node lies in.
    pub(super) fn is_index(&self, draft: &Draft, node: NodeId, name: &str) -> bool {
        let outwards = |id: &NodeId| self.around[id.index()];
        let mut all = std::iter::successors(self.around[node.index()], outwards);
        all.any(|id| match &draft.nodes[id.index()].kind {
            NodeKind::ForEach(each) => each.index.as_deref() == Some(name),
            NodeKind::Repeat(repeat) => repeat.index.as_deref() == Some(name),
            NodeKind::Sequence(_)
            | NodeKind::Parallel { .. }
            | NodeKind::If { .. }
            | NodeKind::Activity(_)
            | NodeKind::Assign(_)
            | NodeKind::Empty => false,
        })
    }

    /// The names of the items of the for-eachs around a node.
    pub(super) fn items<'a>(
        &'a self,
        draft: &'a Draft,
        node: Option<NodeId>,
    ) -> impl Iterator<Item = &'a str> {
        let first = node.and_then(|node| self.around[node.index()]);
        let all = std::iter::successors(first, |id| self.around[id.index()]);
        all.filter_map(|id| for_each(draft, id))
            .map(|each| each.item.as_str())
    }
}

/// The for-each that a node is.
pub(super) fn for_each(draft: &Draft, id: NodeId) -> Option<&ForEach> {
    draft.nodes[id.index()].for_each()
}
