//! The environment of commands: variables, and installed software; and what activities take of named limits.

use model::{Activation, Environment, Template};

use super::{Fields, Reader};
use crate::keys::ENVIRONMENT;
use crate::tree::Id;

impl Reader<'_, '_> {
    /// The environment that all commands get; none where nothing is said of it.
    pub(super) fn environment(&mut self, fields: &Fields) -> Option<Box<Environment>> {
        let env = fields.get("env").map(|at| self.env(at));
        let file = fields.get("env-file");
        let activation = fields.get("environment");
        let environment = Environment {
            env: env.unwrap_or_default(),
            pass: fields.get("pass").map_or(Vec::new(), |at| self.pass(at)),
            file: file.and_then(|at| Some(self.literal(at, "a path")?.to_owned())),
            activation: activation.and_then(|at| self.activation(at)),
        };
        (!environment.is_empty()).then(|| Box::new(environment))
    }

    /// Variables with their values, which may have expressions in them.
    pub(super) fn env(&mut self, at: Id) -> Vec<(String, Template)> {
        let mut env = Vec::new();
        for (name, value) in self.entries(at, "a mapping (NAME: text)") {
            if let Some(text) = self.text(value, "text") {
                env.push((self.name_of(name), Template(text.to_owned())));
            }
        }
        env
    }

    fn pass(&mut self, at: Id) -> Vec<String> {
        if self.tree.map(at).is_some() {
            let error = self.expected(at, "a list of names");
            self.add(error.hint("values that are written out belong below `env`"));
            return Vec::new();
        }
        let items = self.items(at, "a list of names").iter();
        let mut names = Vec::new();
        for &item in items {
            let name = self.literal(item, "the name of a variable");
            names.extend(name.map(str::to_owned));
        }
        names
    }

    /// Installed software.
    pub(super) fn activation(&mut self, at: Id) -> Option<Activation> {
        let is_variable = |name: &str| name.chars().all(|c| c.is_ascii_uppercase() || c == '_');
        let first = self.tree.map(at).and_then(|mut entries| entries.next());
        let first = first.and_then(|(name, _)| self.tree.text(name));
        if first.is_some_and(is_variable) {
            let message = "variables where an environment, `{ path: DIR }`, is expected";
            self.hint(
                at,
                message,
                "variables of the environment are `env: { NAME: text }`",
            );
            return None;
        }
        let fields = self.fields(at, &ENVIRONMENT)?;
        let path = self.literal(fields.get("path")?, "a path")?;
        Some(Activation::Path(path.to_owned()))
    }

    /// Named limits with their units.
    pub(super) fn limits(&mut self, at: Id) -> Vec<(String, u32)> {
        let mut limits = Vec::new();
        for (name, value) in self.entries(at, "a mapping (name: number)") {
            let n_units = self.whole(value, "a whole number");
            // A limit that could not be read is there all the same.
            limits.push((self.name_of(name), n_units.unwrap_or(u32::MAX)));
        }
        limits
    }

    /// What an activity takes of them: one unit where only a name is written.
    pub(super) fn uses_limit(&mut self, at: Id) -> Vec<(String, u32)> {
        if self.tree.map(at).is_some() {
            return self.limits(at);
        }
        let name = self.literal(at, "the name of a limit, or { name: units }");
        name.map_or(Vec::new(), |name| vec![(name.to_owned(), 1)])
    }
}
