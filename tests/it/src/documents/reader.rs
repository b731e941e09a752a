//! Somebody who reads a document from its beginning, and does what it says.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::blocks::{Block, with_outputs};
use super::tables::{GIVEN, LEFT, REPLACED};
use crate::program::{daemon, program, root};
use crate::running_daemon::{RunningDaemon, two_ports};
use crate::sandbox::{Done, Sandbox};

/// Seconds after which a command that does not end is ended. It only bounds a test that would fail anyway.
const COMMAND_SECONDS: &str = "300";

/// A reader with a clone of the samples and the programs in the `PATH`.
pub(super) struct Reader {
    /// By name; the last one started ends first.
    daemons: Vec<(String, RunningDaemon)>,
    port: u16,
    sandbox: Sandbox,
}

/// The text of a document.
pub(super) fn document(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// True if the command serves until somebody ends it.
fn is_daemon(command: &str) -> bool {
    let first = command.split_whitespace().next().unwrap_or_default();
    let serves = command.contains(" --run") || !command.contains(" join ");
    first.starts_with("xavantes-") && serves && !command.contains(" issue ")
}

impl Reader {
    pub(super) fn new() -> Reader {
        let reader = Reader {
            daemons: Vec::new(),
            port: two_ports().unwrap(),
            sandbox: Sandbox::new(),
        };
        // Accounts of commands pass through it.
        reader.runs("chmod 711 . && mkdir -p tmp var/lib/xavantes");
        let samples = root().join("workflows/samples");
        let copy = format!(
            "mkdir workflows && cp -r '{}' workflows/",
            samples.display()
        );
        reader.runs(&copy);
        reader
    }

    /// Carries out all commands of a document.
    #[track_caller]
    pub(super) fn reads(&mut self, name: &str) {
        let blocks = Block::all(&document(name));
        let mut used = Vec::new();
        let mut n_carried_out = 0;
        for (block, output) in with_outputs(&blocks) {
            let mut said = String::new();
            for command in block.commands() {
                let place = format!("{name}:{}: {command}", block.line);
                let is_meant = |of: &str, other: &str| of == name && other == command;
                let mut left = LEFT.iter();
                if let Some(left) = left.find(|left| is_meant(left.document, left.command)) {
                    println!("skipped: {place}: {}", left.reason);
                    used.push(command.to_owned());
                    continue;
                }
                for given in GIVEN
                    .iter()
                    .filter(|given| is_meant(given.document, given.command))
                {
                    used.push(format!("given {command}"));
                    (given.make)(self);
                }
                let mut words = command.to_owned();
                for one in REPLACED.iter().filter(|one| one.document == name) {
                    if words.contains(one.written) {
                        println!("{place}: `{}`: {}", one.carried_out, one.reason);
                        used.push(format!("replaced {}", one.written));
                        words = words.replace(one.written, one.carried_out);
                    }
                }
                said.push_str(&self.does(&place, &words));
                n_carried_out += 1;
            }
            if let Some(output) = output {
                compare(&format!("{name}:{}", output.line), output, &said);
            }
        }
        assert!(n_carried_out > 0, "{name} has no commands");
        let left = LEFT.iter().filter(|left| left.document == name);
        let expected = left.map(|left| left.command.to_owned());
        let given = GIVEN.iter().filter(|given| given.document == name);
        let expected = expected.chain(given.map(|given| format!("given {}", given.command)));
        let replaced = REPLACED.iter().filter(|one| one.document == name);
        let expected = expected.chain(replaced.map(|one| format!("replaced {}", one.written)));
        let unused: Vec<String> = expected.filter(|entry| !used.contains(entry)).collect();
        assert!(unused.is_empty(), "nothing in {name} is: {unused:?}");
    }

    /// Carries out one section of another document.
    #[track_caller]
    pub(super) fn reads_section(&mut self, name: &str, heading: &str) {
        let blocks = Block::all(&document(name));
        let section = blocks.iter().filter(|block| block.heading == heading);
        let mut n_commands = 0;
        for block in section.filter(|block| block.is_commands()) {
            for command in block.commands() {
                let mut words = command.to_owned();
                for one in REPLACED.iter().filter(|one| one.document == name) {
                    words = words.replace(one.written, one.carried_out);
                }
                self.does(command, &words);
                n_commands += 1;
            }
        }
        assert!(n_commands > 0, "{name} has no {heading}");
    }

    /// Carries out a command; its output.
    #[track_caller]
    fn does(&mut self, place: &str, words: &str) -> String {
        if let Some(arguments) = words.strip_prefix("systemctl ") {
            self.systemctl(arguments);
        } else if is_daemon(words) {
            // In a terminal of its own.
            self.starts(words, words);
        } else {
            let done = self.shell(words);
            assert_eq!(
                done.status,
                Some(0),
                "{place}\n{}\n{}",
                done.stdout,
                done.stderr
            );
            return done.stdout;
        }
        String::new()
    }

    fn command(&self, program: &str) -> Command {
        let programs = daemon("xavantes-gm");
        let programs = programs.parent().expect("a program lies in a directory");
        assert_eq!(program_directory(), programs);
        let path = std::env::var("PATH").unwrap_or_default();
        let as_root = if rustix::process::geteuid().is_root() {
            "--shared"
        } else {
            ""
        };
        let home = self.sandbox.path("");
        let mut command = Command::new(program);
        command
            .current_dir(&home)
            .env_clear()
            .env("PATH", format!("{}:{path}", programs.display()))
            .env("HOME", &home)
            .env("TMPDIR", self.sandbox.path("tmp"))
            .env("XDG_DATA_HOME", self.sandbox.path("data"))
            .env("FREE_PORT", self.port.to_string())
            .env("AS_ROOT", as_root)
            .stdin(Stdio::null());
        command
    }

    fn shell(&self, words: &str) -> Done {
        let mut timed = self.command("timeout");
        timed.args(["--kill-after=5", COMMAND_SECONDS, "sh", "-c", words]);
        timed.output().unwrap().into()
    }

    /// Starts a daemon, and waits until it listens.
    #[track_caller]
    fn starts(&mut self, name: &str, words: &str) {
        let mut shell = self.command("sh");
        shell.args(["-c", &format!("exec {words}")]);
        let daemon = RunningDaemon::start(&mut shell).unwrap();
        self.daemons.push((name.to_owned(), daemon));
    }

    /// Does what systemd would with the units of `packaging/systemd`, as far as their programs are concerned.
    #[track_caller]
    pub(super) fn systemctl(&mut self, arguments: &str) {
        let mut words = arguments.split_whitespace();
        let verb = words.next();
        for unit in words.filter(|word| !word.starts_with("--")) {
            match verb {
                Some("start" | "enable") => {
                    let unit_file = document(&format!("packaging/systemd/{unit}.service"));
                    let line = unit_file
                        .lines()
                        .find_map(|line| line.strip_prefix("ExecStart="));
                    let line = line.expect("a unit starts something");
                    let line = line.replace("/usr/bin/", "").replace("/var/lib", "var/lib");
                    self.starts(unit, &line);
                }
                Some("stop") => {
                    let at = self.daemons.iter().position(|(name, _)| name == unit);
                    let (_, mut daemon) = self.daemons.remove(at.expect("it runs"));
                    daemon.stop();
                }
                verb => panic!("systemctl {verb:?}"),
            }
        }
    }

    /// Carries out a command that has to succeed.
    #[track_caller]
    pub(super) fn runs(&self, words: &str) {
        let done = self.shell(words);
        assert_eq!(
            done.status,
            Some(0),
            "{words}\n{}\n{}",
            done.stdout,
            done.stderr
        );
    }

    /// Carries out a process that has to fault.
    #[track_caller]
    pub(super) fn fails(&self, words: &str) {
        assert_eq!(self.shell(words).status, Some(1), "{words}");
    }

    pub(super) fn file(&self, name: &str, text: &str) {
        let path = self.sandbox.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Saves the block of a document that begins so.
    #[track_caller]
    pub(super) fn file_of(&self, name: &str, beginning: &str, file: &str) {
        let blocks = Block::all(&document(name));
        let block = blocks
            .iter()
            .find(|block| block.text.starts_with(beginning));
        self.file(file, &block.expect("the document has it").text);
    }
}

fn program_directory() -> &'static Path {
    program().parent().expect("a program lies in a directory")
}

impl Drop for Reader {
    fn drop(&mut self) {
        while self.daemons.pop().is_some() {}
    }
}

/// Compares the output that a document shows with the one that there was: text as it is, JSON by its keys, of
/// which `NAME` stands for any.
#[track_caller]
fn compare(place: &str, shown: &Block, said: &str) {
    if shown.language == "text" {
        assert_eq!(said, shown.text, "{place}");
        return;
    }
    let value = |text: &str| -> Value {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{place}: {error}\n{text}"))
    };
    let missing = missing_keys(&value(&shown.text), &value(said));
    assert!(
        missing.is_empty(),
        "{place}: the output has no {missing:?}\n{said}"
    );
}

/// Paths of keys that the output lacks.
fn missing_keys(shown: &Value, said: &Value) -> Vec<String> {
    let Value::Object(shown) = shown else {
        let is_alike = std::mem::discriminant(shown) == std::mem::discriminant(said);
        return if is_alike {
            Vec::new()
        } else {
            vec![format!(" {shown}")]
        };
    };
    let find = |key: &str| match (key, said) {
        ("NAME", Value::Object(said)) => said.values().next(),
        (key, said) => said.get(key),
    };
    let missing = shown.iter().flat_map(|(key, value)| match find(key) {
        None => vec![key.clone()],
        Some(found) => {
            let below = missing_keys(value, found).into_iter();
            below.map(|path| format!("{key}.{path}")).collect()
        }
    });
    missing.collect()
}

#[test]
fn json_that_lacks_a_shown_key_is_found() {
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let shown = value(r#"{"series": {"NAME": {"des": {"rmse": 1.0}}}, "mean": 2}"#);
    let said = value(r#"{"series": {"a": {"des": {"mae": 1.0}}}, "mean": "x"}"#);
    assert_eq!(
        missing_keys(&shown, &said),
        ["mean. 2", "series.NAME.des.rmse"]
    );
}

#[test]
#[should_panic(expected = "147")]
fn output_that_differs_is_found() {
    let blocks = Block::all("```text\ncount: 148\n```\n");
    compare("x", &blocks[0], "count: 147\n");
}
