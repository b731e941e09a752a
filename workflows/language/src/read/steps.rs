//! The tree of steps, and what refers from one step to another.

use model::{
    Assignment, Expression, Join, Link, Node, NodeId, NodeKind, OutputSource, Source, Staged, Value,
};

use super::{Fields, Pending, Reader};
use crate::diagnostic::Diagnostic;
use crate::keys::{ACTIVITY, LATER_STEPS, LINK, PARALLEL_FORM, SEQUENCE_FORM, STEPS, Table};
use crate::tree::{Id, shorten};

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
        if self.tree.map(at).is_none() {
            return (Some(at), None);
        }
        let form = self.fields(at, table);
        (form.as_ref().and_then(|form| form.get("do")), form)
    }

    fn form_name(&mut self, form: Option<&Fields>) -> Option<&'t str> {
        let at = form?.get("name")?;
        self.literal(at, "a name")
    }

    fn steps(&mut self, controller: NodeId, at: Option<Id>) -> Vec<NodeId> {
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

    /// An expression, or a value that is written out as an expression.
    fn assigned(&mut self, at: Id) -> Option<Expression> {
        if let Some(text) = self.tree.text(at) {
            if text.trim_start().starts_with("${") {
                return self.expression(at, "one `${...}` or a value");
            }
            if text.replace("$${", "").contains("${") {
                let message = "text around `${...}` where one expression is expected";
                self.hint(
                    at,
                    message,
                    "put it together inside: `${ 'n = ' + string(n) }`",
                );
                return None;
            }
        }
        let value = self.tree.value(at);
        if holds_expression(&value) {
            let message = "an expression inside a list or a mapping";
            self.hint(
                at,
                message,
                "write the whole value as one expression: `${ [a, b] }`",
            );
            return None;
        }
        let mut source = String::new();
        write_literal(&value, &mut source);
        Some(Expression(source))
    }

    /// Reads the references that needed all steps to be known.
    pub(super) fn references(&mut self) {
        for pending in std::mem::take(&mut self.pending) {
            match pending {
                Pending::Links(controller, at) => self.links(controller, at),
                Pending::Staged(activity, at) => self.staged(activity, at),
                Pending::Output(place, at) => {
                    // Else the placeholder stays; what is wrong has been said.
                    if let Some(source) = self.source(at) {
                        let output = &mut self.draft.outputs[place as usize];
                        output.source = OutputSource::Produced(source);
                    }
                }
            }
        }
    }

    fn links(&mut self, controller: NodeId, at: Id) {
        let mut read = Vec::new();
        let mut places = Vec::new();
        let n_before = self.diagnostics.n_all();
        for &item in self.items(at, "a list of links") {
            match self.link(item) {
                Some(link) => {
                    read.push(link);
                    places.push(item);
                }
                None => self.lost.links = true,
            }
        }
        self.lost.links |= self.diagnostics.n_all() > n_before;
        self.links
            .entry(controller)
            .or_default()
            .append(&mut places);
        if let NodeKind::Parallel { links, .. } = &mut self.draft.nodes[controller.index()].kind {
            links.append(&mut read);
        }
    }

    fn link(&mut self, at: Id) -> Option<Link> {
        let fields = self.fields(at, &LINK)?;
        let from = fields.get("from").and_then(|at| self.named(at));
        let to = fields.get("to").and_then(|at| self.named(at));
        let when = fields
            .get("when")
            .and_then(|at| self.expression(at, "`${...}`"));
        Some(Link {
            from: from?,
            to: to?,
            when,
        })
    }

    fn named(&mut self, at: Id) -> Option<NodeId> {
        let name = self.text(at, "the name of a step")?;
        if self.ambiguous.contains(name) {
            return None;
        }
        if let Some(id) = self.names.get(name) {
            return Some(*id);
        }
        if self.lost.has(name) {
            return None;
        }
        let names = self.draft.nodes.iter().map(|node| node.name.as_str());
        let hint = self.meant(name, names);
        let message = format!("no step is called `{}`", shorten(name));
        let hint = hint.unwrap_or_else(|| "a controller is named by `name:`".to_owned());
        self.hint(at, message, hint);
        None
    }

    fn staged(&mut self, id: NodeId, at: Id) {
        let mut read = Vec::new();
        for (key, value) in self.entries(at, "a mapping (path: producer.output)") {
            let path = self.tree.text(key).unwrap_or_default().to_owned();
            match self.source(value) {
                Some(source) => read.push(Staged { path, source }),
                None => self.lose(key),
            }
        }
        if let NodeKind::Activity(activity) = &mut self.draft.nodes[id.index()].kind {
            activity.inputs = read;
        }
    }

    /// `producer.output` or `inputs.NAME`.
    fn source(&mut self, at: Id) -> Option<Source> {
        let wanted = "`activity.output` or `inputs.NAME`";
        let text = self.text(at, wanted)?;
        if text.contains("${") {
            let message = format!("an expression where {wanted} is expected");
            self.hint(at, message, "a file is named, not computed");
            return None;
        }
        let Some((producer, output)) = text.split_once('.') else {
            let message = format!("`{}` where {wanted} is expected", shorten(text));
            let is_variable = self.variables.contains_key(text);
            let hint = is_variable.then(|| format!("the variable is read by \"${{ {text} }}\""));
            self.add(Diagnostic::error(self.tree.span(at), message).hint_if(hint));
            return None;
        };
        if producer == "inputs" {
            let inputs = &self.draft.inputs;
            if let Some(place) = self.inputs.get(output) {
                return Some(Source::Input(*place));
            }
            if self.lost.has(output) {
                return None;
            }
            let hint = self.meant(output, inputs.iter().map(|input| input.name.as_str()));
            let message = format!("the process has no input `{}`", shorten(output));
            let hint =
                hint.unwrap_or_else(|| "declare it under `inputs:` of the process".to_owned());
            self.hint(at, message, hint);
            return None;
        }
        if self.ambiguous.contains(producer) {
            return None;
        }
        let Some(&activity) = self.names.get(producer) else {
            if self.lost.has(producer) {
                return None;
            }
            let hint = self.meant(
                producer,
                self.draft.nodes.iter().map(|node| node.name.as_str()),
            );
            let message = format!("no activity is called `{}`", shorten(producer));
            let place = self.tree.span(at);
            self.add(Diagnostic::error(place, message).hint_if(hint));
            return None;
        };
        let node = &self.draft.nodes[activity.index()];
        let NodeKind::Activity(declared) = &node.kind else {
            let message = format!(
                "`{producer}` is a {}; activities have outputs",
                node.keyword()
            );
            self.error(at, message);
            return None;
        };
        let place = declared
            .outputs
            .iter()
            .position(|produced| produced.name == output);
        if place.is_none() && !self.lost.has(output) {
            let names = declared
                .outputs
                .iter()
                .map(|produced| produced.name.as_str());
            let hint = self.meant(output, names).unwrap_or_else(|| {
                format!(
                    "declare it there: `outputs: {{ {}: PATH }}`",
                    shorten(output)
                )
            });
            let message = format!("`{producer}` has no output `{}`", shorten(output));
            self.hint(at, message, hint);
        }
        place.map(|output| Source::Output {
            activity,
            output: output as u32,
        })
    }
}

fn holds_expression(value: &Value) -> bool {
    let open = |text: &str| text.replace("$${", "").contains("${");
    match value {
        Value::Text(text) => open(text),
        Value::List(items) => items.iter().any(holds_expression),
        Value::Map(entries) => entries
            .iter()
            .any(|(name, value)| open(name) || holds_expression(value)),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Artifact(_) => {
            false
        }
    }
}

/// A value as the expression language writes it.
fn write_literal(value: &Value, source: &mut String) {
    match value {
        Value::Null | Value::Artifact(_) => source.push_str("null"),
        Value::Bool(value) => source.push_str(&value.to_string()),
        Value::Int(number) => source.push_str(&number.to_string()),
        Value::Float(number) => source.push_str(&format!("{number:?}")),
        Value::Text(text) => write_text(text, source),
        Value::List(items) => {
            source.push('[');
            for (index, item) in items.iter().enumerate() {
                source.push_str(if index > 0 { ", " } else { "" });
                write_literal(item, source);
            }
            source.push(']');
        }
        Value::Map(entries) => {
            source.push('{');
            for (index, (name, value)) in entries.iter().enumerate() {
                source.push_str(if index > 0 { ", " } else { "" });
                write_text(name, source);
                source.push_str(": ");
                write_literal(value, source);
            }
            source.push('}');
        }
    }
}

fn write_text(text: &str, source: &mut String) {
    source.push('"');
    for c in text.replace("$${", "${").chars() {
        match c {
            '"' => source.push_str("\\\""),
            '\\' => source.push_str("\\\\"),
            '\n' => source.push_str("\\n"),
            '\r' => source.push_str("\\r"),
            '\t' => source.push_str("\\t"),
            c => source.push(c),
        }
    }
    source.push('"');
}
