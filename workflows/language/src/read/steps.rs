//! The tree of steps.

use model::{Assignment, Join, Node, NodeId, NodeKind, Test};

use super::{Fields, Pending, Reader};
use crate::keys::{ACTIVITY, LATER_STEPS, PARALLEL_FORM, SEQUENCE_FORM, STEPS, Table, is_step};
use crate::tree::{Id, is_odd_blank, shorten};

impl<'t> Reader<'t, '_> {
    /// Reads a step and all below it; none where it is not a step.
    pub(super) fn step(&mut self, at: Id) -> Option<NodeId> {
        let Some(table) = self.step_table(at) else {
            self.lose(at);
            return None;
        };
        let fields = self.fields(at, table)?;
        let id = NodeId(self.draft.nodes.len() as u32);
        self.draft.nodes.push(Node {
            name: String::new(),
            kind: NodeKind::Empty,
            join: Join::All,
        });
        self.steps.push(at);

        let keyword = table.keys[0].name;
        let main = fields.get(keyword);
        let mut name = match keyword {
            "activity" => main.and_then(|at| self.literal(at, "the activity's name")),
            _ => fields.get("name").and_then(|at| self.literal(at, "a name")),
        };
        if let Some(join) = fields.get("join").and_then(|at| self.join(at)) {
            self.draft.nodes[id.index()].join = join;
        }
        let kind = match keyword {
            "sequence" => {
                let (steps, form) = self.form(main?, &SEQUENCE_FORM);
                name = name.or_else(|| self.form_name(form.as_ref()));
                NodeKind::Sequence(self.steps(id, steps))
            }
            "parallel" => {
                let (steps, form) = self.form(main?, &PARALLEL_FORM);
                name = name.or_else(|| self.form_name(form.as_ref()));
                let inside = form.and_then(|form| form.get("links"));
                if let (Some(outside), Some(_)) = (fields.get("links"), inside) {
                    self.error(outside, "links beside the parallel and inside it");
                    self.lost.links = true;
                }
                for links in [fields.get("links"), inside].into_iter().flatten() {
                    self.pending.push(Pending::Links(id, links));
                }
                NodeKind::Parallel {
                    children: self.steps(id, steps),
                    links: Vec::new(),
                }
            }
            "if" => self.choice(main?, &fields),
            "switch" => self.switch(main?),
            "for-each" => self.for_each(id, main?),
            "while" => self.repeat((id, Test::While), at, &fields),
            "repeat-until" => self.repeat((id, Test::Until), at, &fields),
            "assign" => NodeKind::Assign(self.assign(id, main?)),
            "empty" => {
                let nothing = main.is_none_or(|at| {
                    self.tree.is_null(at) || self.tree.map(at).is_some_and(|map| map.len() == 0)
                });
                if let Some(at) = main.filter(|_| !nothing) {
                    self.hint(at, "an empty step with something in it", "write `empty:`");
                }
                NodeKind::Empty
            }
            _ => NodeKind::Activity(Box::new(self.activity(id, &fields))),
        };
        let node = &mut self.draft.nodes[id.index()];
        node.kind = kind;
        if let Some(name) = name {
            name.clone_into(&mut node.name);
            if *self.names.entry(name).or_insert(id) != id {
                self.ambiguous.insert(name);
            }
        } else if keyword == "activity" {
            // A placeholder: that the name is wanting has been said.
            node.name = format!("unnamed-{}", id.0);
        }
        Some(id)
    }

    fn step_table(&mut self, at: Id) -> Option<&'static Table> {
        let tree = self.tree;
        let kinds = STEPS.map(|table| table.keys[0].name);
        let listed = || kinds.map(|kind| format!("`{kind}`")).join(", ");
        let Some(entries) = tree.map(at) else {
            let error = self.expected(at, "a step");
            let error = match tree.list(at) {
                Some(_) => error
                    .hint("write `sequence:` (one after another) or `parallel:` before the list"),
                None if tree.is_null(at) => {
                    error.hint("it stands on the lines below, indented deeper than the key")
                }
                None if tree
                    .text(at)
                    .is_some_and(|text| text.contains(is_odd_blank)) =>
                {
                    error.hint("there is a no-break space in it: type the spaces again")
                }
                None => error.hint(format!("a step is a mapping with one of {}", listed())),
            };
            self.add(error);
            return None;
        };
        let keys: Vec<(Id, &str)> = entries
            .map(|(key, _)| (key, tree.text(key).unwrap_or_default()))
            .collect();
        let mut found = None;
        for &(key, name) in &keys {
            let Some(table) = STEPS.iter().find(|table| table.keys[0].name == name) else {
                continue;
            };
            let Some((_, first)) = found else {
                found = Some((*table, name));
                continue;
            };
            let message = format!("`{name}` beside `{first}`: a step does one thing");
            let hint = match (name, first) {
                ("if", other) | (other, "if") => {
                    format!("the `{other}` goes below `then:` of the step with `if:`")
                }
                (own @ ("for-each" | "while" | "repeat-until"), other)
                | (other, own @ ("for-each" | "while" | "repeat-until")) => {
                    format!("the `{other}` goes below `do:` of the step with `{own}:`")
                }
                _ => "write another step, `- ` before it".to_owned(),
            };
            self.hint(key, message, hint);
            return None;
        }
        if let Some((table, _)) = found {
            return Some(table);
        }
        if let Some((key, name)) = keys.iter().find(|(_, name)| LATER_STEPS.contains(name)) {
            self.later(*key, name);
            return None;
        }
        let is_of_if = |name: &str| matches!(name, "then" | "elif" | "else");
        if let Some((key, name)) = keys.iter().find(|(_, name)| is_of_if(name)) {
            let message = format!("`{name}` without its `if`");
            let hint = "it is a key of the step that begins with `if:`, without `- ` before it";
            self.hint(*key, message, hint);
            return None;
        }
        let is_of_switch = |name: &str| matches!(name, "case" | "default");
        if let Some((key, name)) = keys.iter().find(|(_, name)| is_of_switch(name)) {
            let message = format!("`{name}` without its `switch`");
            self.hint(
                *key,
                message,
                "it begins an item of the list below `switch:`",
            );
            return None;
        }
        let place = keys.first().map_or(at, |(key, _)| *key);
        if keys
            .iter()
            .any(|(_, name)| ACTIVITY.keys.iter().any(|key| key.name == *name))
        {
            let message = "a step that does not say what it is";
            self.hint(place, message, format!("begin it with one of {}", listed()));
            return None;
        }
        let (message, hint) = match keys.first() {
            None => ("an empty mapping where a step is expected".to_owned(), None),
            Some((_, name)) => {
                let all = kinds.into_iter().chain(LATER_STEPS);
                (
                    format!("`{}` is not a step", shorten(name)),
                    self.meant(name, all),
                )
            }
        };
        let hint = hint.unwrap_or_else(|| format!("a step is a mapping with one of {}", listed()));
        self.hint(place, message, hint);
        None
    }

    /// The list of steps of a controller, and its mapping form where that was chosen.
    fn form(&mut self, at: Id, table: &'static Table) -> (Option<Id>, Option<Fields>) {
        let Some(mut entries) = self.tree.map(at) else {
            return (Some(at), None);
        };
        let first = entries.next().map(|(key, _)| key);
        let name = first
            .and_then(|key| self.tree.text(key))
            .unwrap_or_default();
        // A step in the place of the list of steps.
        if let Some(first) = first.filter(|_| is_step(name) && self.tree.entry(at, "do").is_none())
        {
            let message = format!("`{name}` where a list of steps is expected");
            self.hint(
                first,
                message,
                format!("write `- {name}:`: each step of a list begins with `- `"),
            );
            self.lose(at);
            return (None, None);
        }
        let form = self.fields(at, table);
        (form.as_ref().and_then(|form| form.get("do")), form)
    }

    fn form_name(&mut self, form: Option<&Fields>) -> Option<&'t str> {
        let at = form?.get("name")?;
        self.literal(at, "a name")
    }

    pub(super) fn steps(&mut self, controller: NodeId, at: Option<Id>) -> Vec<NodeId> {
        let Some(at) = at else {
            self.lost.parts_of.insert(controller);
            return Vec::new();
        };
        let n_before = self.diagnostics.n_all();
        let items = self.items(at, "a list of steps");
        let mut children = Vec::with_capacity(items.len());
        for &item in items {
            children.extend(self.step(item));
        }
        if children.is_empty() && self.diagnostics.n_all() > n_before {
            self.lost.parts_of.insert(controller);
        }
        children
    }

    fn join(&mut self, at: Id) -> Option<Join> {
        let wanted = "`all`, `any` or `${...}`";
        match self.text(at, wanted)? {
            "all" => Some(Join::All),
            "any" => Some(Join::Any),
            _ => self.expression(at, wanted).map(Join::When),
        }
    }

    fn assign(&mut self, id: NodeId, at: Id) -> Vec<Assignment> {
        let mut writes = Vec::new();
        let entries = self.entries(at, "a mapping (variable: `${...}` or a value)");
        if !entries.is_empty() || self.tree.map(at).is_none() {
            // If none of them can be read, a diagnostic has said so.
            self.lost.parts_of.insert(id);
        }
        for (name, value) in entries {
            let variable = self.variable(name);
            let source = self.assigned(value);
            if let (Some(variable), Some(value)) = (variable, source) {
                writes.push(Assignment { variable, value });
            }
        }
        writes
    }
}
