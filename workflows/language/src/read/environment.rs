//! The environment of commands: variables, and installed software; and what activities take of named limits.

use model::{Activation, Activity, Container, Environment, Template};

use super::{Fields, Reader};
use crate::keys::{CONTAINER, ENVIRONMENT};
use crate::tree::Id;

impl Reader<'_, '_> {
    /// The environment that all commands get; none where nothing is said of it.
    pub(super) fn environment(&mut self, fields: &Fields) -> Option<Box<Environment>> {
        let env = fields.get("env").map(|at| self.env(at));
        let file = fields.get("env-file");
        let environment = Environment {
            env: env.unwrap_or_default(),
            pass: fields.get("pass").map_or(Vec::new(), |at| self.pass(at)),
            file: file.and_then(|at| Some(self.literal(at, "a path")?.to_owned())),
            activation: self.activation(fields),
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

    /// What commands run with: an environment or a container.
    pub(super) fn activation(&mut self, fields: &Fields) -> Option<Activation> {
        let environment = fields.get("environment");
        let container = fields.get("container");
        if let (Some(_), Some(container)) = (environment, container) {
            let message = "`container` beside `environment`: a command runs with one of them";
            let hint = "the image of a container has its own software: leave one of the two out";
            self.hint(container, message, hint);
            return None;
        }
        match container {
            Some(at) => self.container(at).map(Activation::Container),
            None => self.software(environment?),
        }
    }

    /// A container: its image alone, or with more about it.
    fn container(&mut self, at: Id) -> Option<Container> {
        if self.tree.map(at).is_none() {
            return Some(Container {
                image: self
                    .literal(at, "an image, or { image: IMAGE }")?
                    .to_owned(),
                has_network: false,
            });
        }
        let fields = self.fields(at, &CONTAINER)?;
        let has_network = fields.get("network").and_then(|at| self.truth(at));
        Some(Container {
            image: self.literal(fields.get("image")?, "an image")?.to_owned(),
            has_network: has_network.unwrap_or(false),
        })
    }

    /// Installed software.
    fn software(&mut self, at: Id) -> Option<Activation> {
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
        let mut said = fields.found.iter().map(|(key, value)| (key.name, *value));
        let Some((kind, value)) = said.next() else {
            // Keys that are none have been told.
            if self.tree.map(at).is_some_and(|entries| entries.len() == 0) {
                let hint = "`path: DIR`, `venv: FILE` or `conda: FILE`";
                self.hint(at, "an environment that says nothing", hint);
            }
            return None;
        };
        if let Some((other, value)) = said.next() {
            let message = format!("`{other}` beside `{kind}`: an environment is one of them");
            self.hint(value, message, "leave one of the two out");
            return None;
        }
        let path = self.literal(value, "a path")?.to_owned();
        Some(match kind {
            "venv" => Activation::Venv(path),
            "conda" => Activation::Conda(path),
            _ => Activation::Path(path),
        })
    }

    /// Lays the file that the environment of all commands is made of into the directories of all
    /// activities, where `files` does not say so.
    pub(super) fn lay_common(&mut self, environment: Option<&Environment>) {
        let activation = environment.and_then(|all| all.activation.as_ref());
        let Some(file) = activation.and_then(Activation::file) else {
            return;
        };
        if !self.draft.files.iter().any(|path| path == file) {
            self.draft.files.push(file.to_owned());
        }
    }

    /// Lays the file that the environment of an activity is made of into its directory, unless one of
    /// its inputs has that path, or it lies there for all activities.
    pub(super) fn lay_own(&mut self, activity: &mut Activity, inputs: Option<Id>) {
        let Some(file) = activity.activation.as_ref().and_then(Activation::file) else {
            return;
        };
        let tree = self.tree;
        let mut inputs = inputs
            .and_then(|inputs| tree.map(inputs))
            .into_iter()
            .flatten();
        if inputs.any(|(path, _)| tree.text(path) == Some(file)) {
            return;
        }
        let place = self.place_of(file.to_owned());
        let is_used = activity.uses.iter().flatten().any(|used| *used == place);
        if place as usize >= self.n_common_files && !is_used {
            activity.uses.get_or_insert_default().push(place);
        }
    }

    /// The place of a file beside the definition, behind all others where it is another one.
    pub(super) fn place_of(&mut self, path: String) -> u32 {
        let files = &mut self.draft.files;
        *self.files.entry(path).or_insert_with_key(|path| {
            files.push(path.clone());
            files.len() as u32 - 1
        })
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
