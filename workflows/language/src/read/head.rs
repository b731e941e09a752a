//! The keys above the tree: names, inputs, variables, outputs, files.

use model::limits::COPIES_MAX;
use model::{
    DataMode, Input, NodeId, OnFault, Output, OutputSource, Part, Policy, Tuning, Type, Value,
    Variable, with_article,
};

use super::{Fields, Pending, Reader};
use crate::keys::{INPUT, PROCESS, Table, VARIABLE};
use crate::tree::{Id, shorten};

impl Reader<'_, '_> {
    /// Reads the whole file.
    pub(super) fn process(&mut self) {
        let root = self.tree.root();
        // A placeholder, so that a name that is wanting is complained of once.
        self.draft.name = "unnamed".to_owned();
        let Some(fields) = self.fields(root, &PROCESS) else {
            return;
        };
        if let Some(at) = fields.get("xavantes") {
            self.version(at);
        }
        if let Some(name) = fields.get("name").and_then(|at| self.literal(at, "a name")) {
            name.clone_into(&mut self.draft.name);
        }
        if let Some(at) = fields.get("inputs") {
            for (name, value) in self.entries(at, "a mapping (name: type)") {
                self.input(name, value);
            }
        }
        if let Some(at) = fields.get("variables") {
            for (name, value) in self.entries(at, "a mapping (name: type)") {
                self.declare_variable(name, value, None);
            }
        }
        for (place, variable) in self.draft.variables.iter().enumerate() {
            self.variables
                .entry(variable.name.clone())
                .or_insert(place as u32);
        }
        for (place, input) in self.draft.inputs.iter().enumerate() {
            self.inputs
                .entry(input.name.clone())
                .or_insert(place as u32);
        }
        if let Some(at) = fields.get("files") {
            for &item in self.items(at, "a list of paths") {
                match self.literal(item, "a path") {
                    Some(path) => self.draft.files.push(path.to_owned()),
                    None => self.lose(item),
                }
            }
        }
        let environment = self.environment(&fields);
        self.lay_common(environment.as_deref());
        self.draft.environment = environment;
        let n_common = self.draft.files.len();
        self.n_common_files = n_common;
        for (place, path) in self.draft.files.iter().enumerate() {
            self.files.entry(path.clone()).or_insert(place as u32);
        }
        if let Some(at) = fields.get("data") {
            self.data(at);
        }
        if let Some(at) = fields.get("copies") {
            match self.whole(at, "0 or 1") {
                Some(n_copies) if n_copies > COPIES_MAX => {
                    let message = format!("{n_copies} copies; at most {COPIES_MAX} can be kept");
                    self.error(at, message);
                }
                Some(0) if self.draft.data == DataMode::Controllers => self.hint(
                    at,
                    "0 copies, but `data: controllers` keeps one of each output",
                    "leave `copies` out; with `data: direct` there are none",
                ),
                Some(n_copies) => self.draft.copies = n_copies,
                None => {}
            }
        }
        let keeps = fields.get("keep-intermediates");
        let keeps = keeps.and_then(|at| self.truth(at));
        // To keep them is what happens where nothing is said.
        self.draft.keep_intermediates = keeps.filter(|keeps| !keeps);
        // What activities do not say themselves.
        self.caches = fields.get("cache").and_then(|at| self.truth(at));
        self.draft.limits = fields.get("limits").map(|at| self.limits(at));
        self.draft.on_fault = fields.get("on-fault").and_then(|at| self.on_fault(at));
        self.draft.policy = fields.get("policy").and_then(|at| self.policy(at));
        self.draft.tuning = self.tuning(&fields);
        self.draft.priority = fields.get("priority").and_then(|at| self.priority(at));
        if let Some(at) = fields.get("outputs") {
            for (name, value) in self.entries(at, "a mapping (name: `${...}` or activity.output)") {
                self.output(name, value);
            }
        }
        self.published(&fields);
        if let Some(at) = fields.get("body") {
            self.block(at, Some(at));
        }
        // Nothing is said where no activity has files of its own.
        let has_own = self.draft.files.len() > n_common;
        self.draft.n_common_files = has_own.then_some(n_common as u32);
        self.references();
    }

    fn version(&mut self, at: Id) {
        if self.tree.value(at) != Value::Int(1) {
            let message = match self.tree.text(at) {
                Some("1") => "the version of the language is a number, and this is text".to_owned(),
                text => {
                    let written = shorten(text.unwrap_or(self.tree.describe(at)));
                    format!("version `{written}` of the language; this program reads 1")
                }
            };
            self.hint(at, message, "write `xavantes: 1`");
        }
    }

    fn input(&mut self, name_id: Id, value: Id) {
        let Some((kind, fields)) = self.declared(name_id, value, &INPUT) else {
            return;
        };
        let get = |key| fields.as_ref().and_then(|fields| fields.get(key));
        let name = self.tree.text(name_id).unwrap_or_default().to_owned();
        let default = get("default").map(|at| kind.converted(self.value(at)));
        let minimum = get("minimum").and_then(|at| self.bound(at, &kind));
        let maximum = get("maximum").and_then(|at| self.bound(at, &kind));
        if let (Some(least), Some(most), Some(at)) = (minimum, maximum, get("maximum"))
            && least > most
        {
            let message = format!("no number is at least {least} and at most {most}");
            self.hint(at, message, "`minimum` is the smaller one of the two");
        }
        self.draft.inputs.push(Input {
            name,
            kind,
            default,
            minimum,
            maximum,
        });
    }

    /// Reads the variables that each body of a for-each or a loop has, before what writes them.
    pub(super) fn own_variables(&mut self, of: NodeId, at: Option<Id>) {
        let Some(at) = at else { return };
        for (name, value) in self.entries(at, "a mapping (name: type)") {
            let n_before = self.draft.variables.len();
            self.declare_variable(name, value, Some(of));
            for variable in &self.draft.variables[n_before..] {
                let name = variable.name.clone();
                self.variables.entry(name).or_insert(n_before as u32);
            }
        }
    }

    fn declare_variable(&mut self, name_id: Id, value: Id, of: Option<NodeId>) {
        let Some((kind, fields)) = self.declared(name_id, value, &VARIABLE) else {
            return;
        };
        let at = fields.and_then(|fields| fields.get("value"));
        let name = self.tree.text(name_id).unwrap_or_default().to_owned();
        let initial = at.map_or(Value::Null, |at| kind.converted(self.value(at)));
        self.draft.variables.push(Variable {
            name,
            kind,
            initial,
            of,
        });
    }

    /// The type of an input or variable, which is its value or one of its fields. Where it has none, the
    /// name is lost.
    fn declared(
        &mut self,
        name_id: Id,
        value: Id,
        table: &'static Table,
    ) -> Option<(Type, Option<Fields>)> {
        let (kind_at, fields) = if self.tree.map(value).is_none() {
            (Some(value), None)
        } else {
            let fields = self.fields(value, table);
            (
                fields.as_ref().and_then(|fields| fields.get("type")),
                fields,
            )
        };
        let kind = kind_at.and_then(|at| self.kind(at));
        if kind.is_none() {
            self.lose(name_id);
        }
        kind.map(|kind| (kind, fields))
    }

    /// A value that is written out.
    fn value(&mut self, at: Id) -> Value {
        if self.tree.text(at).is_some_and(|text| text.contains("${")) {
            self.hint(
                at,
                "an expression where a value is expected",
                "this must be written out; an `assign` can compute it",
            );
        }
        self.tree.value(at)
    }

    /// The least or greatest number that an input of this type may be.
    fn bound(&mut self, at: Id, kind: &Type) -> Option<f64> {
        match kind {
            Type::Int | Type::Float | Type::Json => self.number(at),
            Type::Text | Type::Bool | Type::File | Type::Directory | Type::List(_) => {
                let message = format!("a bound of {}", with_article(kind));
                let hint = "only numbers have `minimum` and `maximum`: `int`, `float`, or `json`";
                self.hint(at, message, hint);
                None
            }
        }
    }

    fn number(&mut self, at: Id) -> Option<f64> {
        let number = self.tree.number(at);
        if number.is_none() {
            let error = self.expected(at, "a number");
            self.add(error);
        }
        number
    }

    fn data(&mut self, at: Id) {
        let found = self.one_of(at, "`direct` or `controllers`", DataMode::named);
        self.draft.data = found.unwrap_or_default();
    }

    fn on_fault(&mut self, at: Id) -> Option<OnFault> {
        self.one_of(at, "`finish`, `stop` or `continue`", OnFault::named)
    }

    fn policy(&mut self, at: Id) -> Option<Policy> {
        let wanted = "`xavantes`, `static`, `adaptive` or `rounds:T` with T from 1 to 1000";
        self.one_of(at, wanted, Policy::named)
    }

    fn tuning(&mut self, fields: &Fields) -> Option<Tuning> {
        let mut tuning = Tuning::default();
        let policy = self.draft.policy;
        for (name, part) in [
            ("threshold", &mut tuning.threshold),
            ("reward", &mut tuning.reward),
        ] {
            let Some(at) = fields.get(name) else {
                continue;
            };
            *part = self.tree.number(at).and_then(Part::of);
            if part.is_none() {
                let wanted = Part::WANTED;
                match self.tree.number(at).and_then(|_| self.tree.text(at)) {
                    Some(number) => {
                        let message = format!("{} where {wanted} is expected", shorten(number));
                        self.error(at, message);
                    }
                    None => {
                        let error = self.expected(at, wanted);
                        self.add(error);
                    }
                }
            }
        }
        if let Some(unused) = policy.and_then(|policy| tuning.unused_by(policy)) {
            if let Some(at) = fields.get(unused.name) {
                self.error(at, unused.to_string());
            }
            return None;
        }
        (!tuning.is_empty()).then_some(tuning)
    }

    fn one_of<T>(&mut self, at: Id, wanted: &str, find: impl Fn(&str) -> Option<T>) -> Option<T> {
        let text = self.text(at, wanted)?;
        let found = find(text);
        if found.is_none() {
            let message = format!("`{}` where {wanted} is expected", shorten(text));
            // What is wanted names the words.
            let words = wanted.split('`').skip(1).step_by(2);
            match self.meant(text, words.filter(|word| !word.contains(':'))) {
                Some(meant) => self.hint(at, message, meant),
                None => self.error(at, message),
            }
        }
        found
    }

    fn output(&mut self, name_id: Id, value: Id) {
        let name = self.tree.text(name_id).unwrap_or_default().to_owned();
        let wanted = "`${...}` or activity.output";
        let Some(text) = self.text(value, wanted) else {
            return;
        };
        let place = self.draft.outputs.len() as u32;
        // Where it comes from a file the source is filled in when all activities are known.
        let source = OutputSource::Expression(model::Expression("null".to_owned()));
        if text.contains("${") {
            if let Some(expression) = self.expression(value, wanted) {
                let source = OutputSource::Expression(expression);
                self.draft.outputs.push(Output { name, source });
            }
        } else {
            self.draft.outputs.push(Output { name, source });
            self.pending.push(Pending::Output(place, value));
        }
    }
}
