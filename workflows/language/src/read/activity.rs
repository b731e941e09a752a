//! Activities: the command and its attributes.

use model::{
    Activity, Caching, Capture, Command, NodeId, Parse, Produced, Retry, RetryOn, Span, Stdin,
    Template, Value, Work,
};

use super::{Fields, Pending, Reader};
use crate::keys::{CAPTURE, PARSES, RETRY, RETRY_WORDS, RUN, STDIN};
use crate::tree::{Id, shorten};
use crate::units;

impl Reader<'_, '_> {
    pub(super) fn activity(&mut self, id: NodeId, fields: &Fields) -> Activity {
        let command = fields.get("run").and_then(|at| self.run(at));
        if let Some(at) = fields.get("inputs") {
            self.pending.push(Pending::Staged(id, at));
        }
        let pairs = |reader: &mut Self, key: &str, wanted: &str| match fields.get(key) {
            Some(at) => reader.entries(at, wanted),
            None => Vec::new(),
        };
        let env = fields.get("env").map(|at| self.env(at));
        let mut outputs = Vec::new();
        for (name, value) in pairs(self, "outputs", "a mapping (name: path)") {
            if let Some(path) = self.literal(value, "a path") {
                outputs.push(Produced {
                    name: self.name_of(name),
                    path: path.to_owned(),
                });
            } else {
                self.lose(name);
            }
        }
        self.published_by(id, fields, &outputs);
        let mut labels = Vec::new();
        for (name, value) in pairs(self, "labels", "a mapping (name: text)") {
            if let Some(text) = self.literal(value, "text") {
                labels.push((self.name_of(name), text.to_owned()));
            }
        }
        let repeatable = self.truth_of(fields.get("repeatable"));
        let at_most_once = self.truth_of(fields.get("at-most-once"));
        let retry = fields.get("retry").and_then(|at| self.retry(at));
        let retry = retry.unwrap_or_default();
        if at_most_once && let Some(at) = fields.get("at-most-once") {
            let what = "an activity that is never run twice cannot be";
            if repeatable {
                self.error(at, format!("{what} repeatable"));
            }
            if retry.attempts > 1 {
                self.error(at, format!("{what} tried again"));
            }
        }
        let mut activity = Activity {
            // A placeholder where it is wanting or wrong, which has been said.
            command: command.unwrap_or_else(|| Command::List(vec![Template("true".to_owned())])),
            env: env.unwrap_or_default(),
            stdin: fields.get("stdin").and_then(|at| self.stdin(at)),
            inputs: Vec::new(),
            outputs,
            stdout: fields
                .get("stdout")
                .and_then(|at| self.capture(at, "stdout")),
            stderr: fields
                .get("stderr")
                .and_then(|at| self.capture(at, "stderr")),
            work: fields
                .get("work")
                .and_then(|at| self.duration(at))
                .map(|span| Work(span.0)),
            cores: fields
                .get("cores")
                .and_then(|at| self.whole(at, "a whole number"))
                .unwrap_or(1),
            memory: fields.get("memory").and_then(|at| self.size(at)),
            labels,
            timeout: fields.get("timeout").and_then(|at| self.duration(at)),
            retry,
            cache: Caching::written(
                fields
                    .get("cache")
                    .and_then(|at| self.truth(at))
                    .or(self.caches),
            ),
            repeatable,
            at_most_once,
            priority: fields.get("priority").and_then(|at| self.priority(at)),
            uses: fields.get("uses").map(|at| self.uses(at)),
            activation: self.activation(fields),
            limits: fields.get("uses-limit").map(|at| self.uses_limit(at)),
            replicas: fields
                .get("replicas")
                .and_then(|at| self.whole(at, "a whole number")),
        };
        self.lay_own(&mut activity, fields.get("inputs"));
        activity
    }

    /// The files beside the definition that an activity uses. Those that are not for all activities are
    /// added behind these.
    fn uses(&mut self, at: Id) -> Vec<u32> {
        let mut places = Vec::new();
        for &item in self.items(at, "a list of paths") {
            let Some(path) = self.literal(item, "a path") else {
                self.lose(item);
                continue;
            };
            places.push(self.place_of(path.to_owned()));
        }
        places
    }

    /// False where nothing is said.
    fn truth_of(&mut self, at: Option<Id>) -> bool {
        at.and_then(|at| self.truth(at)).unwrap_or(false)
    }

    pub(super) fn name_of(&self, key: Id) -> String {
        self.tree.text(key).unwrap_or_default().to_owned()
    }

    fn run(&mut self, at: Id) -> Option<Command> {
        if let Some(items) = self.tree.list(at) {
            let n_before = self.diagnostics.n_all();
            let mut parts = Vec::with_capacity(items.len());
            for &item in items {
                if let Some(text) = self.text(item, "text") {
                    parts.push(Template(text.to_owned()));
                }
            }
            let whole = self.diagnostics.n_all() == n_before;
            return whole.then_some(Command::List(parts));
        }
        if self.tree.map(at).is_some() {
            let fields = self.fields(at, &RUN)?;
            let line = self.text(fields.get("shell")?, "a line for the shell")?;
            return Some(Command::Shell(Template(line.to_owned())));
        }
        let error = self.expected(at, "a command");
        let hint = "write a list, `[program, argument]`, or `{ shell: \"...\" }`";
        self.add(error.hint(hint));
        None
    }

    fn stdin(&mut self, at: Id) -> Option<Stdin> {
        if self.tree.map(at).is_none() {
            let text = self.text(at, "text or { file: path }")?;
            return Some(Stdin::Text(Template(text.to_owned())));
        }
        let fields = self.fields(at, &STDIN)?;
        let path = self.literal(fields.get("file")?, "a path")?;
        Some(Stdin::File(path.to_owned()))
    }

    fn capture(&mut self, at: Id, stream: &str) -> Option<Capture> {
        if let Some(text) = self.tree.text(at).filter(|text| !text.is_empty()) {
            let hint = format!("write `{stream}: {{ into: {} }}`", shorten(text));
            let error = self.expected(at, "a mapping (a capture)");
            self.add(error.hint(hint));
            self.lose(at);
            return None;
        }
        let fields = self.fields(at, &CAPTURE)?;
        let parse = fields.get("as").and_then(|at| self.parse(at));
        let variable = self.variable(fields.get("into")?)?;
        Some(Capture {
            variable,
            parse: parse.unwrap_or_default(),
        })
    }

    fn parse(&mut self, at: Id) -> Option<Parse> {
        Some(match self.text(at, "a kind of value")? {
            "text" => Parse::Text,
            "int" => Parse::Int,
            "float" => Parse::Float,
            "json" => Parse::Json,
            "lines" => Parse::Lines,
            other => {
                let meant = match other {
                    "string" => Some("did you mean `text`?".to_owned()),
                    _ => self.meant(other, PARSES),
                };
                let hint = meant.unwrap_or_else(|| format!("one of {}", PARSES.join(", ")));
                self.hint(
                    at,
                    format!("`{}` is not a kind of value", shorten(other)),
                    hint,
                );
                return None;
            }
        })
    }

    pub(super) fn truth(&mut self, at: Id) -> Option<bool> {
        match self.tree.value(at) {
            Value::Bool(truth) => Some(truth),
            Value::Null
            | Value::Int(_)
            | Value::Float(_)
            | Value::Text(_)
            | Value::List(_)
            | Value::Map(_)
            | Value::Artifact(..) => {
                let error = self.expected(at, "`true` or `false`");
                self.add(error);
                None
            }
        }
    }

    fn duration(&mut self, at: Id) -> Option<Span> {
        let text = self.literal(at, "a duration")?;
        match units::parse_duration(text) {
            Ok(span) => Some(span),
            Err(error) => {
                self.hint(at, shorten(&error.message), error.hint);
                None
            }
        }
    }

    fn size(&mut self, at: Id) -> Option<model::Bytes> {
        let text = self.literal(at, "a size")?;
        match units::parse_size(text) {
            Ok(bytes) => Some(bytes),
            Err(error) => {
                self.hint(at, shorten(&error.message), error.hint);
                None
            }
        }
    }

    fn retry(&mut self, at: Id) -> Option<Retry> {
        if self.tree.text(at).is_some_and(|text| !text.is_empty()) {
            let error = self.expected(at, "a mapping (a retry)");
            self.add(error.hint("write `retry: { attempts: 3 }`"));
            return None;
        }
        let fields = self.fields(at, &RETRY)?;
        let attempts = fields
            .get("attempts")
            .and_then(|at| self.whole(at, "a whole number"));
        let backoff = fields.get("backoff").and_then(|at| self.duration(at));
        let mut on = Vec::new();
        if let Some(list) = fields.get("on") {
            let wanted = "a list of exit statuses, exit, timeout, out-of-memory, lost";
            for &item in self.items(list, wanted) {
                on.extend(self.retry_on(item));
            }
        }
        let growth = fields.get("memory");
        let memory_percent = growth.and_then(|at| self.memory_growth(at));
        if let Some(at) = growth
            && !on.is_empty()
            && !on.contains(&RetryOn::OutOfMemory)
        {
            let message = "memory grows after `out-of-memory`, which is not in `on`";
            self.hint(
                at,
                message,
                "add `out-of-memory` to `on`, or leave `memory` out",
            );
        }
        Some(Retry {
            attempts: attempts?,
            backoff: backoff.unwrap_or(Span::ZERO),
            on,
            memory_percent,
        })
    }

    /// `x2`, `x1.5`: in percent.
    fn memory_growth(&mut self, at: Id) -> Option<u32> {
        let text = self.literal(at, "a factor such as `x2`")?.trim();
        let factor = text.strip_prefix('x').filter(|factor| {
            let is_plain = |c: char| c.is_ascii_digit() || c == '.';
            factor.chars().all(is_plain)
        });
        let percent = factor.and_then(|factor| factor.parse::<f64>().ok());
        let Some(percent) = percent.map(|factor| (factor * 100.0).round()) else {
            let message = format!("`{}` where a factor is expected", shorten(text));
            self.hint(at, message, "`x2` is twice as much as the try before had");
            return None;
        };
        // The check of the definition bounds it.
        Some(percent as u32)
    }

    fn retry_on(&mut self, at: Id) -> Option<RetryOn> {
        let status = match self.tree.value(at) {
            Value::Int(status) => i32::try_from(status)
                .ok()
                .filter(|status| (0..256).contains(status)),
            Value::Text(text) => {
                let mut words = RETRY_WORDS.iter();
                if let Some((_, on)) = words.find(|(word, _)| *word == text) {
                    return Some(*on);
                }
                let words = RETRY_WORDS.iter().map(|(word, _)| *word);
                let hint = self.meant(&text, words).unwrap_or_else(|| {
                    let words = RETRY_WORDS.map(|(word, _)| word).join("`, `");
                    format!("exit statuses are 0 to 255; other ends are `{words}`")
                });
                let message = format!("`{}` is no end of an attempt", shorten(&text));
                self.hint(at, message, hint);
                return None;
            }
            Value::Null
            | Value::Bool(_)
            | Value::Float(_)
            | Value::List(_)
            | Value::Map(_)
            | Value::Artifact(..) => None,
        };
        if status.is_none() {
            let error = self.expected(at, "an exit status");
            self.add(error.hint("exit statuses are 0 to 255; `exit` stands for any but 0"));
        }
        status.map(RetryOn::Exit)
    }
}
