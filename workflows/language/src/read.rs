//! The tree of a file becomes a draft, strictly: what is not in the tables of `keys` is an error.
//! Reading goes on after an error, so that all of them are named at once.

mod activity;
mod choice;
mod environment;
mod for_each;
mod head;
mod lost;
mod places;
mod publish;
mod references;
mod repeat;
mod steps;
mod written;

use std::collections::{HashMap, HashSet};

use expression::nearest;
use model::{Definition, Draft, Expression, NodeId, NodeKind, Type, Value};

use self::lost::Lost;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::keys::{ACTIVITY, ELSEWHERE, FOR_EACH_FORM, Key, PROCESS, TYPES, Table, is_step};
use crate::known_items::wrong_picks;
use crate::limits::DIAGNOSTICS_MAX;
use crate::tree::{Id, Tree, is_odd_blank, shorten};

/// Names that are compared to a wrong one: more would make a file of wrong names slow.
const COMPARED_MAX: usize = 1_000;

/// Quotes of typography: letters to YAML, to shells and to expressions.
const QUOTES_ODD: [char; 6] = [
    '\u{201c}', '\u{201d}', '\u{201e}', '\u{2018}', '\u{2019}', '\u{ab}',
];

/// Reads and checks a definition; none, and at least one error, where it is not one.
pub(crate) fn definition(tree: &Tree<'_>, diagnostics: &mut Diagnostics) -> Option<Definition> {
    let mut reader = Reader {
        tree,
        diagnostics,
        draft: Draft::default(),
        steps: Vec::new(),
        names: HashMap::new(),
        variables: HashMap::new(),
        inputs: HashMap::new(),
        files: HashMap::new(),
        n_common_files: 0,
        pending: Vec::new(),
        caches: None,
        ambiguous: HashSet::new(),
        links: HashMap::new(),
        lost: Lost::default(),
        odd_quotes: Vec::new(),
    };
    for &(key, value) in tree.repeated() {
        reader.lose(key);
        reader.lose(value);
    }
    reader.process();
    reader.finish()
}

/// Text that can be read only when all steps are known.
enum Pending {
    Links(NodeId, Id),
    Staged(NodeId, Id),
    Output(u32, Id),
}

struct Reader<'t, 's> {
    tree: &'t Tree<'s>,
    diagnostics: &'t mut Diagnostics,
    draft: Draft,
    /// The position of each node in the file.
    steps: Vec<Id>,
    names: HashMap<&'t str, NodeId>,
    /// The places of variables and inputs, by name.
    variables: HashMap<String, u32>,
    inputs: HashMap<String, u32>,
    /// The places of files beside the definition, by path.
    files: HashMap<String, u32>,
    /// The number of those that lie in the directories of all activities.
    n_common_files: usize,
    pending: Vec<Pending>,
    /// `cache` of all activities that do not say it.
    caches: Option<bool>,
    /// Names that several steps have.
    ambiguous: HashSet<&'t str>,
    /// Where the links of each controller are written.
    links: HashMap<NodeId, Vec<Id>>,
    lost: Lost<'t>,
    /// Texts that begin with a quote of typography, which is a letter of them.
    odd_quotes: Vec<Id>,
}

/// The known keys of one mapping.
struct Fields {
    found: Vec<(&'static Key, Id)>,
}

impl Fields {
    fn get(&self, name: &str) -> Option<Id> {
        self.found
            .iter()
            .find(|(key, _)| key.name == name)
            .map(|(_, value)| *value)
    }
}

impl<'t> Reader<'t, '_> {
    /// Checks what was read, as a whole.
    fn finish(mut self) -> Option<Definition> {
        // A link that could not be read may be the one that orders them.
        if !self.lost.links {
            self.order_by_data();
        }
        let reading = self.diagnostics.clone();
        let n_read = reading.list().len();
        let mut found: Vec<Diagnostic> = Vec::new();
        let mut keep = |diagnostic: Diagnostic, is_order: bool| {
            let is_known = |span| match is_order {
                true => reading.holds(span),
                false => reading.covers(span),
            };
            if n_read == 0 || !diagnostic.span.as_ref().is_none_or(is_known) {
                found.push(diagnostic);
            }
        };
        let mut warnings = Vec::new();
        for finding in expression::check_draft(&self.draft) {
            if self.follows(&finding.problem) {
                continue;
            }
            let located = self.located(&finding.problem, Some(finding.offset));
            match finding.severity {
                expression::Severity::Error => keep(located, false),
                expression::Severity::Warning => warnings.push(located.warning()),
            }
        }
        self.warn_of_unwritten(&mut warnings);
        self.warn_of_odd_quotes(&mut warnings);
        // An order that could not be read may be what is wanting.
        if n_read == 0 {
            self.warn_of_races(&mut warnings);
        }
        let draft = std::mem::take(&mut self.draft);
        let checked = draft.check();
        if let Err(problems) = &checked {
            for problem in problems {
                if !self.follows(problem) {
                    // A link that is wrong in itself may be part of a cycle all the same.
                    let is_order = problem.place.field.starts_with("links.");
                    keep(self.located(problem, None), is_order);
                }
            }
        }
        if let Ok(definition) = &checked {
            for problem in wrong_picks(definition) {
                keep(self.located(&problem, None), false);
            }
        }
        // Last, so that they take no error's place.
        for warning in warnings {
            keep(warning, false);
        }
        for diagnostic in found {
            self.diagnostics.add(diagnostic);
        }
        checked.ok()
    }

    /// Whoever reads an output waits for its producer. A cycle is told at the input that makes it.
    fn order_by_data(&mut self) {
        for added in self.draft.order_by_data() {
            let NodeKind::Activity(activity) = &self.draft.nodes[added.reader.index()].kind else {
                continue;
            };
            let path = &activity.inputs[added.input].path;
            let step = self.steps[added.reader.index()];
            let inputs = self.tree.entry(step, "inputs").map(|(_, inputs)| inputs);
            let entries = inputs
                .and_then(|inputs| self.tree.map(inputs))
                .into_iter()
                .flatten();
            let mut entries = entries.skip(added.input);
            let place = entries.find(|(key, _)| self.tree.text(*key) == Some(path));
            let links = self.links.entry(added.controller).or_default();
            links.push(place.map_or(step, |(_, source)| source));
        }
    }

    fn warn_of_unwritten(&self, found: &mut Vec<Diagnostic>) {
        let variables = &self.draft.variables;
        let mut written: Vec<bool> = variables
            .iter()
            .map(|variable| variable.initial != Value::Null)
            .collect();
        let mut write = |place: u32| {
            if let Some(written) = written.get_mut(place as usize) {
                *written = true;
            }
        };
        for node in &self.draft.nodes {
            match &node.kind {
                NodeKind::Assign(writes) => {
                    writes
                        .iter()
                        .for_each(|assignment| write(assignment.variable));
                }
                NodeKind::Activity(activity) => {
                    [activity.stdout, activity.stderr]
                        .into_iter()
                        .flatten()
                        .for_each(|capture| write(capture.variable));
                }
                NodeKind::Sequence(_)
                | NodeKind::Parallel { .. }
                | NodeKind::If { .. }
                | NodeKind::ForEach(_)
                | NodeKind::Repeat(_)
                | NodeKind::Empty => {}
            }
        }
        let declared = self.tree.entry(self.tree.root(), "variables");
        for (key, _) in declared
            .and_then(|(_, map)| self.tree.map(map))
            .into_iter()
            .flatten()
        {
            let name = self.tree.text(key).unwrap_or_default();
            let place = self.variables.get(name).map(|place| *place as usize);
            let is_wanting = place.is_some_and(|place| !written[place]) && !self.lost.has(name);
            if is_wanting && found.len() < DIAGNOSTICS_MAX {
                let message = format!("nothing is ever written to the variable `{name}`");
                let warning = Diagnostic::error(self.tree.span(key), message);
                found.push(warning.warning());
            }
        }
    }

    fn warn_of_odd_quotes(&self, found: &mut Vec<Diagnostic>) {
        let room = DIAGNOSTICS_MAX.saturating_sub(found.len());
        for &at in self.odd_quotes.iter().take(room) {
            let text = self.tree.text(at).unwrap_or_default();
            let Some(quote) = text.chars().next() else {
                continue;
            };
            let start = self.tree.span(at).start;
            let place = start..start + quote.len_utf8();
            let message = format!("`{quote}` is a letter of the text here, not a quote");
            let warning = Diagnostic::error(place, message).warning();
            found.push(warning.hint("write \" or ' in its place: it came with a copied text"));
        }
    }

    fn warn_of_races(&self, found: &mut Vec<Diagnostic>) {
        for race in self.draft.races() {
            if found.len() >= DIAGNOSTICS_MAX {
                return;
            }
            let variable = self.draft.variables.get(race.variable as usize);
            let name = variable.map_or("", |variable| &variable.name);
            let [other, one] = race.writers.map(|place| self.located_place(&place));
            let message = format!(
                "two steps may write the variable `{name}` at the same time: the last one counts"
            );
            let warning = Diagnostic::error(one, message).warning();
            let hint = "order them by a link or a sequence, or give each a variable of its own";
            found.push(warning.hint(hint).also(other, "the other one writes here"));
        }
    }

    fn add(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.add(diagnostic);
    }

    fn error(&mut self, at: Id, message: impl Into<String>) {
        self.add(Diagnostic::error(self.tree.span(at), message));
    }

    fn hint(&mut self, at: Id, message: impl Into<String>, hint: impl Into<String>) {
        self.add(Diagnostic::error(self.tree.span(at), message).hint(hint));
    }

    /// The name that was probably meant; not searched for when nobody would see it.
    fn meant<'n>(&self, written: &str, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
        if self.diagnostics.list().len() >= DIAGNOSTICS_MAX {
            return None;
        }
        let names = names.into_iter().filter(|name| !name.is_empty());
        let found = nearest(written, names.take(COMPARED_MAX));
        found.map(|meant| format!("did you mean `{meant}`?"))
    }

    fn expected(&mut self, at: Id, wanted: &str) -> Diagnostic {
        let what = self.tree.describe(at);
        Diagnostic::error(
            self.tree.span(at),
            format!("{what} where {wanted} is expected"),
        )
    }

    /// The keys of a mapping; complains of those that its table does not have and of those that
    /// are wanting.
    fn fields(&mut self, map: Id, table: &'static Table) -> Option<Fields> {
        let tree = self.tree;
        let Some(entries) = tree.map(map) else {
            let wanted = format!("a mapping ({})", table.what);
            let error = self.expected(map, &wanted);
            self.add(error);
            self.lose(map);
            return None;
        };
        let mut fields = Fields {
            found: Vec::with_capacity(entries.len()),
        };
        for (name_id, value) in entries {
            let name = tree.text(name_id).unwrap_or_default();
            if let Some(known) = table.keys.iter().find(|key| key.name == name) {
                fields.found.push((known, value));
            } else {
                self.unknown_key(name_id, name, table);
                self.lose(value);
            }
        }
        for key in table.keys.iter().filter(|key| key.required) {
            if fields.get(key.name).is_none() {
                let place = tree.map(map).and_then(|mut entries| entries.next());
                let place = place.map_or(map, |(key, _)| key);
                let message = format!("{} without `{}`", table.what, key.name);
                self.hint(
                    place,
                    message,
                    format!("`{}`: {}", key.name, lower(key.says)),
                );
            }
        }
        Some(fields)
    }

    fn unknown_key(&mut self, at: Id, name: &str, table: &Table) {
        if table.later.contains(&name) {
            self.later(at, name);
            return;
        }
        let names = table.keys.iter().map(|key| key.name);
        let known = elsewhere(name, table).or_else(|| self.meant(name, names.clone()));
        let hint = known.unwrap_or_else(|| {
            let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
            format!("{} has {}", table.what, names.join(", "))
        });
        self.hint(at, format!("unknown key `{}`", shorten(name)), hint);
    }

    fn later(&mut self, at: Id, name: &str) {
        let message = format!("`{name}` is part of the language, but this version does not run it");
        self.error(at, message);
    }

    /// The text of a scalar, numbers and the like as they are written.
    fn text(&mut self, at: Id, wanted: &str) -> Option<&'t str> {
        let tree = self.tree;
        match tree.text(at) {
            Some(text) if !text.is_empty() || !tree.is_plain(at) => {
                if tree.is_plain(at) && text.starts_with(QUOTES_ODD) {
                    self.odd_quotes.push(at);
                }
                Some(text)
            }
            _ => {
                let error = self.expected(at, wanted);
                self.add(error);
                None
            }
        }
    }

    /// As `text`, where an expression cannot stand.
    fn literal(&mut self, at: Id, wanted: &str) -> Option<&'t str> {
        let text = self.text(at, wanted)?;
        if text.contains("${") {
            let message = format!("an expression where {wanted} is expected");
            self.hint(
                at,
                message,
                "this must be written out; expressions here come later",
            );
            return None;
        }
        Some(text)
    }

    /// A number that the check of the definition bounds.
    fn priority(&mut self, at: Id) -> Option<i32> {
        self.integer(at, "a whole number")
    }

    fn whole(&mut self, at: Id, wanted: &str) -> Option<u32> {
        self.integer(at, wanted)
    }

    fn integer<N: TryFrom<i64>>(&mut self, at: Id, wanted: &str) -> Option<N> {
        self.literal(at, wanted)?;
        let number = self.tree.integer(at);
        if number.is_none() {
            let text = self.tree.text(at).unwrap_or_default();
            let message = format!("`{}` where {wanted} is expected", shorten(text));
            let error = Diagnostic::error(self.tree.span(at), message);
            self.add(error.hint_if(number_hint(text)));
        }
        number
    }

    fn entries(&mut self, at: Id, wanted: &str) -> Vec<(Id, Id)> {
        match self.tree.map(at) {
            Some(entries) => entries.collect(),
            None => {
                let error = self.expected(at, wanted);
                self.add(error);
                self.lose(at);
                Vec::new()
            }
        }
    }

    fn items(&mut self, at: Id, wanted: &str) -> &'t [Id] {
        let tree = self.tree;
        match tree.list(at) {
            Some(items) => items,
            None => {
                let error = self.expected(at, wanted);
                self.add(error);
                self.lose(at);
                &[]
            }
        }
    }

    /// The source of a text that is one `${...}`.
    fn expression(&mut self, at: Id, wanted: &str) -> Option<Expression> {
        let text = self.text(at, wanted)?;
        match expression::whole_expression(text) {
            Ok(Some((source, _))) => Some(Expression(source.to_owned())),
            Ok(None) => {
                let message = format!("`{}` where {wanted} is expected", shorten(text));
                self.hint(at, message, "an expression is written `${ ... }`");
                None
            }
            Err(error) => {
                let place = self.tree.place_in(at, error.offset);
                let end = self.tree.span(at).end.max(place);
                self.add(Diagnostic::error(place..end, error.message).hint_if(error.hint));
                None
            }
        }
    }

    fn kind(&mut self, at: Id) -> Option<Type> {
        let text = self.text(at, "a type")?.trim();
        let one = |name: &str| {
            Some(match name {
                "string" => Type::Text,
                "int" => Type::Int,
                "float" => Type::Float,
                "bool" => Type::Bool,
                "json" => Type::Json,
                "file" => Type::File,
                "directory" => Type::Directory,
                _ => return None,
            })
        };
        let (item, is_list) = match text.strip_prefix("list of ") {
            Some(item) => (item.trim(), true),
            None => (text, false),
        };
        match one(item) {
            Some(kind) if is_list => Some(Type::List(Box::new(kind))),
            Some(kind) => Some(kind),
            None => {
                let meant = match item {
                    "integer" | "i64" | "long" => Some("int"),
                    "str" | "text" => Some("string"),
                    "number" | "double" | "f64" => Some("float"),
                    "boolean" => Some("bool"),
                    "object" | "map" | "any" => Some("json"),
                    "dir" | "folder" => Some("directory"),
                    "list" | "array" => Some("list of string"),
                    _ => nearest(item, TYPES),
                };
                let hint = match meant {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("types are {}, and `list of` one of these", TYPES.join(", ")),
                };
                self.hint(at, format!("`{}` is not a type", shorten(text)), hint);
                None
            }
        }
    }

    fn variable(&mut self, at: Id) -> Option<u32> {
        let name = self.text(at, "the name of a variable")?;
        if let Some(place) = self.variables.get(name) {
            return Some(*place);
        }
        if self.lost.has(name) {
            return None;
        }
        let names = self
            .draft
            .variables
            .iter()
            .map(|variable| variable.name.as_str());
        let hint = self
            .meant(name, names)
            .unwrap_or_else(|| format!("declare it: `variables: {{ {}: int }}`", shorten(name)));
        self.hint(
            at,
            format!("no variable is called `{}`", shorten(name)),
            hint,
        );
        None
    }
}

/// Advice for a key that is one of other languages, or stands in another place.
fn elsewhere(name: &str, table: &Table) -> Option<String> {
    if name.contains(is_odd_blank) {
        return Some("there is a no-break space in it: type the spaces again".to_owned());
    }
    if table.what == PROCESS.what && is_step(name) {
        return Some(format!(
            "`{name}:` belongs below `body:`, indented deeper than that"
        ));
    }
    let has = |keys: &[Key], name: &str| keys.iter().any(|key| key.name == name);
    if has(table.keys, "for-each") && has(FOR_EACH_FORM.keys, name) {
        return Some(format!(
            "`{name}:` belongs below `for-each:`, indented deeper than that"
        ));
    }
    if table.what != ACTIVITY.what {
        return None;
    }
    let mut known = ELSEWHERE.iter();
    let found = known.find(|(names, _)| names.contains(&name));
    found.map(|(_, instead)| (*instead).to_owned())
}

/// How a number is written that stands there as a word or with more behind it.
fn number_hint(written: &str) -> Option<String> {
    const WORDS: [&str; 13] = [
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
        "eleven", "twelve",
    ];
    let word = written.to_ascii_lowercase();
    if let Some(number) = WORDS.iter().position(|known| *known == word) {
        return Some(format!("write `{number}`"));
    }
    let n_digits = written.bytes().take_while(u8::is_ascii_digit).count();
    match (n_digits, &written[n_digits..]) {
        (0, _) => Some("write it in digits, as `2`".to_owned()),
        (_, rest) if rest.starts_with('.') => {
            Some("without a point: it is a whole number".to_owned())
        }
        (_, "") => None,
        (_, _) => Some(format!("without a unit: write `{}`", &written[..n_digits])),
    }
}

fn lower(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters.next().map(|c| c.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}
