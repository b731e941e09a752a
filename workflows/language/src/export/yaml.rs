//! A definition as YAML of the language, in one canonical form.

mod open;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use model::{
    Activation, Activity, CAPABLE, Capture, Command, DataMode, Definition, Draft, Join, Link, Node,
    NodeId, NodeKind, OutputSource, Parse, Retry, Source, Span, Stdin, Template,
};

use self::open::{Open, branches, for_each, own_variables, repeat};
use self::values::{
    duration, expression, is_printable, key, of_activation, of_input, of_limits, of_retry,
    of_variable, scalar, size,
};

use crate::show::{case_source, item_name};

/// Columns up to which a list or a mapping stands on one line.
const WIDTH: usize = 100;

/// A definition as YAML that compiles to the same definition.
///
/// Default values that are files or directories are left out, because the language cannot write them.
/// A controller without a name that a link names is given one.
pub fn yaml(definition: &Definition) -> String {
    let mut writer = Writer {
        definition,
        draft: definition.draft(),
        names: link_names(definition),
        published: definition.draft().published_by_node(),
        text: String::new(),
    };
    writer.head();
    writer.body();
    writer.text
}

/// Names for controllers without one that links need.
fn link_names(definition: &Definition) -> Vec<Option<String>> {
    let nodes = &definition.draft().nodes;
    let mut names = vec![None; nodes.len()];
    let ends = links(definition.draft()).flat_map(|link| [link.from, link.to]);
    let nameless: BTreeSet<NodeId> = ends
        .filter(|end| nodes[end.index()].name.is_empty())
        .collect();
    if nameless.is_empty() {
        return names;
    }
    let taken: BTreeSet<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    for node in nameless {
        let mut name = format!("{}-{}", nodes[node.index()].keyword(), node.0);
        while taken.contains(name.as_str()) {
            name.push('_');
        }
        names[node.index()] = Some(name);
    }
    names
}

fn links(draft: &Draft) -> impl Iterator<Item = &Link> {
    let links = draft.nodes.iter().map(|node| match &node.kind {
        NodeKind::Parallel { links, .. } => links.as_slice(),
        NodeKind::Sequence(_)
        | NodeKind::If { .. }
        | NodeKind::ForEach(_)
        | NodeKind::Repeat(_)
        | NodeKind::Activity(_)
        | NodeKind::Assign(_)
        | NodeKind::Empty => &[],
    });
    links.flatten()
}

struct Writer<'a> {
    definition: &'a Definition,
    draft: &'a Draft,
    names: Vec<Option<String>>,
    /// What is published, by activity; with none that of the process.
    published: BTreeMap<Option<NodeId>, Vec<(&'a str, &'a Template)>>,
    text: String,
}

impl Writer<'_> {
    fn head(&mut self) {
        let is_activity = |node: &&Node| matches!(node.kind, NodeKind::Activity(_));
        let n_activities = self.draft.nodes.iter().filter(is_activity).count();
        let n_links = links(self.draft).count();
        let _ = writeln!(
            self.text,
            "# {}: {n_activities} activities, {n_links} links. Written by xav export.",
            self.draft.name
        );
        let _ = writeln!(self.text, "xavantes: 1");
        let _ = writeln!(self.text, "name: {}", scalar(&self.draft.name));
        let inputs = self
            .draft
            .inputs
            .iter()
            .map(|input| (input.name.clone(), of_input(input)));
        self.mapping(0, "inputs", &inputs.collect::<Vec<_>>());
        let variables = self.draft.variables.iter();
        let variables = variables.filter(|variable| variable.of.is_none());
        let variables = variables.map(|variable| (variable.name.clone(), of_variable(variable)));
        self.mapping(0, "variables", &variables.collect::<Vec<_>>());
        let outputs = self.draft.outputs.iter().map(|output| {
            let value = match &output.source {
                OutputSource::Expression(source) => expression(source),
                OutputSource::Produced(source) => self.source(*source, false),
                OutputSource::Gathered(source) => self.source(*source, true),
            };
            (output.name.clone(), value)
        });
        let outputs = outputs.collect::<Vec<_>>();
        self.mapping(0, "outputs", &outputs);
        self.publish(None, 0);
        let files = self.draft.common_files().iter();
        let files: Vec<String> = files.map(|path| scalar(path)).collect();
        self.list(0, "files", &files);
        self.environment();
        self.mapping(0, "limits", &of_limits(self.draft.named_limits()));
        if self.draft.data != DataMode::default() {
            let _ = writeln!(self.text, "data: {}", self.draft.data.name());
        }
        if self.draft.copies > 0 {
            let _ = writeln!(self.text, "copies: {}", self.draft.copies);
        }
        if self.draft.keep_intermediates == Some(false) {
            let _ = writeln!(self.text, "keep-intermediates: false");
        }
        if let Some(on_fault) = self.draft.on_fault {
            let _ = writeln!(self.text, "on-fault: {on_fault}");
        }
        if let Some(policy) = self.draft.policy {
            let _ = writeln!(self.text, "policy: {policy}");
        }
        for (name, part) in self.draft.tuning.unwrap_or_default().named() {
            let _ = writeln!(self.text, "{name}: {part}");
        }
        if let Some(priority) = self.draft.priority {
            let _ = writeln!(self.text, "priority: {priority}");
        }
    }

    /// The environment of all commands.
    fn environment(&mut self) {
        let Some(environment) = &self.draft.environment else {
            return;
        };
        let env = environment.env.iter();
        let env = env.map(|(name, value)| (name.clone(), scalar(&value.0)));
        self.mapping(0, "env", &env.collect::<Vec<_>>());
        let pass = environment.pass.iter().map(|name| scalar(name));
        self.list(0, "pass", &pass.collect::<Vec<_>>());
        if let Some(path) = &environment.file {
            let _ = writeln!(self.text, "env-file: {}", scalar(path));
        }
        let (key, activation) = of_activation(environment.activation.as_ref());
        self.mapping(0, key, &activation);
    }

    /// The tree, a step for each node from the root down.
    fn body(&mut self) {
        self.text.push_str("body:\n");
        let mut open = vec![Open::Step(NodeId(0), 1, false)];
        while let Some(next) = open.pop() {
            match next {
                Open::Step(id, level, item) => {
                    let node = &self.draft.nodes[id.index()];
                    self.step(id, node, level, item);
                    let own = level + usize::from(item);
                    if matches!(node.kind, NodeKind::Parallel { .. }) {
                        open.push(Open::Links(id, own));
                    }
                    if let NodeKind::If {
                        conditions,
                        children,
                    } = &node.kind
                    {
                        open.extend(branches(conditions, children, own).rev());
                        continue;
                    }
                    if let NodeKind::ForEach(each) = &node.kind {
                        open.extend(for_each(each, own_variables(self.draft, id), own + 1).rev());
                        continue;
                    }
                    if let NodeKind::Repeat(controller) = &node.kind {
                        open.extend(repeat(controller, own_variables(self.draft, id), own).rev());
                        continue;
                    }
                    let children = node.children().iter().rev();
                    open.extend(children.map(|child| Open::Step(*child, own + 1, true)));
                }
                Open::Links(id, level) => self.links(id, level),
                Open::Line(level, line) => {
                    self.indent(level, &line);
                    self.text.push('\n');
                }
            }
        }
    }

    /// The keys of a step, the one before its children last.
    fn step(&mut self, id: NodeId, node: &Node, level: usize, item: bool) {
        let own = level + usize::from(item);
        let invented = self.names[id.index()].as_deref();
        let name = invented.unwrap_or(&node.name);
        let mut lines = Vec::new();
        let mut named = |key_line: &str| {
            if !name.is_empty() {
                lines.push(format!("name: {}", scalar(name)));
            }
            match &node.join {
                Join::All => {}
                Join::Any => lines.push("join: any".to_owned()),
                Join::When(condition) => lines.push(format!("join: {}", expression(condition))),
            }
            lines.push(key_line.to_owned());
        };
        match &node.kind {
            NodeKind::Sequence(_) => named("sequence:"),
            NodeKind::Parallel { .. } => named("parallel:"),
            NodeKind::Empty => named("empty:"),
            NodeKind::If { conditions, .. } => {
                let first = conditions.first().map_or(String::new(), expression);
                named(&format!("if: {first}"));
            }
            NodeKind::ForEach(_) => named("for-each:"),
            NodeKind::Repeat(repeat) => {
                let keyword = repeat.test.keyword();
                named(&format!("{keyword}: {}", expression(&repeat.condition)));
            }
            NodeKind::Assign(_) => named("assign:"),
            NodeKind::Activity(_) => {
                lines.push(format!("activity: {}", scalar(name)));
                match &node.join {
                    Join::All => {}
                    Join::Any => lines.push("join: any".to_owned()),
                    Join::When(condition) => lines.push(format!("join: {}", expression(condition))),
                }
            }
        }
        for (index, line) in lines.iter().enumerate() {
            match item && index == 0 {
                true => self.indent(level, "- "),
                false => self.indent(own, ""),
            }
            self.text.push_str(line);
            self.text.push('\n');
        }
        match &node.kind {
            NodeKind::Assign(writes) => {
                for write in writes {
                    let variable = &self.draft.variables[write.variable as usize].name;
                    self.indent(own + 1, "");
                    let _ = writeln!(self.text, "{}: {}", key(variable), expression(&write.value));
                }
            }
            NodeKind::Activity(activity) => self.activity(id, activity, own),
            NodeKind::Sequence(_)
            | NodeKind::Parallel { .. }
            | NodeKind::If { .. }
            | NodeKind::ForEach(_)
            | NodeKind::Repeat(_)
            | NodeKind::Empty => {}
        }
    }

    fn links(&mut self, id: NodeId, level: usize) {
        let NodeKind::Parallel { links, .. } = &self.draft.nodes[id.index()].kind else {
            return;
        };
        if links.is_empty() {
            return;
        }
        self.indent(level, "links:\n");
        for link in links {
            let label = |id: NodeId| match &self.names[id.index()] {
                Some(name) => scalar(name),
                None => scalar(&self.draft.nodes[id.index()].name),
            };
            let (from, to) = (label(link.from), label(link.to));
            self.indent(level + 1, "- ");
            let _ = write!(self.text, "{{ from: {from}, to: {to}");
            if let Some(when) = &link.when {
                let _ = write!(self.text, ", when: {}", expression(when));
            }
            self.text.push_str(" }\n");
        }
    }

    fn activity(&mut self, id: NodeId, activity: &Activity, level: usize) {
        match &activity.command {
            Command::List(words) => {
                let words: Vec<String> = words.iter().map(|word| scalar(&word.0)).collect();
                self.list(level, "run", &words);
            }
            Command::Shell(line) => {
                self.indent(level, "run:\n");
                self.indent(level + 1, "shell: ");
                self.text(&line.0, level + 2);
            }
        }
        let pairs = |pairs: &mut dyn Iterator<Item = (&String, &String)>| -> Vec<(String, String)> {
            pairs
                .map(|(name, value)| (name.clone(), scalar(value)))
                .collect()
        };
        let env = pairs(&mut activity.env.iter().map(|(name, value)| (name, &value.0)));
        self.mapping(level, "env", &env);
        let (key, activation) = of_activation(activity.activation.as_ref());
        self.mapping(level, key, &activation);
        match &activity.stdin {
            Some(Stdin::Text(text)) => {
                self.indent(level, "stdin: ");
                self.text(&text.0, level + 1);
            }
            Some(Stdin::File(path)) => {
                self.mapping(level, "stdin", &[("file".to_owned(), scalar(path))]);
            }
            None => {}
        }
        let inputs = activity.inputs.iter();
        let inputs = inputs.map(|staged| {
            let source = self.source(staged.source, staged.gathers);
            let source = match staged.carried {
                Some(carried) => {
                    let then = self.source(carried, false);
                    format!("{{ first: {source}, then: {then} }}")
                }
                None => source,
            };
            (staged.path.clone(), source)
        });
        let inputs = inputs.collect::<Vec<_>>();
        self.mapping(level, "inputs", &inputs);
        let outputs = pairs(
            &mut activity
                .outputs
                .iter()
                .map(|output| (&output.name, &output.path)),
        );
        self.mapping(level, "outputs", &outputs);
        self.publish(Some(id), level);
        for (stream, capture) in [("stdout", activity.stdout), ("stderr", activity.stderr)] {
            if let Some(capture) = capture {
                let pairs = self.capture(capture);
                self.mapping(level, stream, &pairs);
            }
        }
        // Labels that follow from its environment are not written.
        let capability = self
            .draft
            .activation_of(activity)
            .and_then(Activation::capability);
        let follows = |(name, value): &&(String, String)| {
            capability.is_some_and(|one| name == one.label()) && value == CAPABLE
        };
        let said = activity.labels.iter().filter(|label| !follows(label));
        let labels = pairs(&mut said.map(|(name, value)| (name, value)));
        let mut line = |key: &str, value: String| {
            self.indent(level, "");
            let _ = writeln!(self.text, "{key}: {value}");
        };
        if let Some(work) = activity.work {
            line("work", duration(Span(work.0)));
        }
        if activity.cores != 1 {
            line("cores", activity.cores.to_string());
        }
        if let Some(memory) = activity.memory {
            line("memory", size(memory));
        }
        if let Some(timeout) = activity.timeout {
            line("timeout", duration(timeout));
        }
        if let Some(cache) = activity.cache.choice() {
            line("cache", cache.to_string());
        }
        if activity.repeatable {
            line("repeatable", "true".to_owned());
        }
        if let Some(n) = activity.replicas {
            line("replicas", n.to_string());
        }
        if activity.at_most_once {
            line("at-most-once", "true".to_owned());
        }
        if let Some(priority) = activity.priority {
            line("priority", priority.to_string());
        }
        let used = activity.uses.iter().flatten();
        let used = used.map(|&place| scalar(&self.draft.files[place as usize]));
        self.list(level, "uses", &used.collect::<Vec<_>>());
        self.mapping(level, "uses-limit", &of_limits(activity.used_limits()));
        self.mapping(level, "labels", &labels);
        if activity.retry != Retry::default() {
            self.mapping(level, "retry", &of_retry(&activity.retry));
        }
    }

    fn publish(&mut self, of: Option<NodeId>, level: usize) {
        let all = self.published.get(&of).into_iter().flatten();
        let pairs: Vec<_> = all
            .map(|(name, path)| ((*name).to_owned(), scalar(&path.0)))
            .collect();
        self.mapping(level, "publish", &pairs);
    }

    fn capture(&self, capture: Capture) -> Vec<(String, String)> {
        let variable = &self.draft.variables[capture.variable as usize].name;
        let mut pairs = vec![("into".to_owned(), scalar(variable))];
        let parse = match capture.parse {
            Parse::Text => return pairs,
            Parse::Int => "int",
            Parse::Float => "float",
            Parse::Json => "json",
            Parse::Lines => "lines",
        };
        pairs.push(("as".to_owned(), parse.to_owned()));
        pairs
    }

    fn source(&self, source: Source, gathers: bool) -> String {
        match source {
            Source::Input(input) => {
                format!("inputs.{}", self.draft.inputs[input as usize].name)
            }
            Source::Output { activity, output } => {
                let node = &self.draft.nodes[activity.index()];
                let NodeKind::Activity(producer) = &node.kind else {
                    unreachable!("a checked definition names outputs of activities only");
                };
                let output = &producer.outputs[output as usize].name;
                let items = if gathers { "[*]" } else { "" };
                scalar(&format!("{}{items}.{output}", node.name))
            }
            Source::Item(body) => scalar(item_name(self.definition, body)),
            Source::Pick(pick) => {
                let cases = self.draft.pick_cases(pick).iter().rev();
                let mut text = String::new();
                for case in cases {
                    let then = scalar(&case_source(self.definition, case));
                    text = match &case.when {
                        None => then,
                        Some(when) => {
                            let when = scalar(&format!("${{{}}}", when.0));
                            format!("{{ if: {when}, then: {then}, else: {text} }}")
                        }
                    };
                }
                text
            }
        }
    }

    /// Text after its key: many lines as they are where YAML can say so, else in quotes.
    fn text(&mut self, text: &str, level: usize) {
        let lines = text.strip_suffix('\n').unwrap_or(text);
        let plain = lines.contains('\n')
            && !lines.starts_with([' ', '\t', '\n'])
            && !lines.ends_with('\n')
            && lines.chars().all(|c| c == '\n' || is_printable(c));
        if !plain {
            self.text.push_str(&scalar(text));
            self.text.push('\n');
            return;
        }
        self.text
            .push_str(if text.ends_with('\n') { "|\n" } else { "|-\n" });
        for line in lines.split('\n') {
            if !line.is_empty() {
                self.indent(level, line);
            }
            self.text.push('\n');
        }
    }

    /// A list under a key, on one line where that is short; nothing where it is empty.
    fn list(&mut self, level: usize, name: &str, items: &[String]) {
        if items.is_empty() {
            return;
        }
        let line = format!("{name}: [{}]", items.join(", "));
        if 2 * level + line.len() <= WIDTH {
            self.indent(level, &line);
            self.text.push('\n');
            return;
        }
        self.indent(level, name);
        self.text.push_str(":\n");
        for item in items {
            self.indent(level + 1, "- ");
            self.text.push_str(item);
            self.text.push('\n');
        }
    }

    /// A mapping under a key, as `list`. Values are YAML already.
    fn mapping(&mut self, level: usize, name: &str, entries: &[(String, String)]) {
        if entries.is_empty() {
            return;
        }
        let pair = |(name, value): &(String, String)| format!("{}: {value}", key(name));
        let items: Vec<String> = entries.iter().map(pair).collect();
        let line = format!("{name}: {{ {} }}", items.join(", "));
        if 2 * level + line.len() <= WIDTH {
            self.indent(level, &line);
            self.text.push('\n');
            return;
        }
        self.indent(level, name);
        self.text.push_str(":\n");
        for ((name, value), item) in entries.iter().zip(items) {
            if key(name).len() > KEY_BYTES_MAX {
                self.indent(level + 1, "? ");
                let _ = writeln!(self.text, "{}", key(name));
                self.indent(level + 1, ": ");
                let _ = writeln!(self.text, "{value}");
                continue;
            }
            self.indent(level + 1, &item);
            self.text.push('\n');
        }
    }

    fn indent(&mut self, level: usize, text: &str) {
        for _ in 0..level {
            self.text.push_str("  ");
        }
        self.text.push_str(text);
    }
}

/// Bytes of a key that YAML takes without `?` before it, with room for blanks.
const KEY_BYTES_MAX: usize = 1_000;
