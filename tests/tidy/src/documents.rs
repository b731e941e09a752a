//! Checks of documents: CI or a test runs every command of the README, named files exist, and no text has a
//! path of somebody's machine.

use std::collections::BTreeSet;

use crate::workspace::{TextFile, files, root, text_of};

/// Beginnings of paths of one machine, put together so that they do not stand here.
const MACHINE_PATHS: &[&str] = &[
    concat!("/", "home/"),
    concat!("/", "root/"),
    concat!("/", "Users/"),
    concat!("/", "work/"),
];

/// Commands that a reader runs before the first one of ours.
const COMMON_COMMANDS: &[&str] = &["cd", "git clone", "rustup"];

/// The command by which a reader runs xav from a clone.
const XAV: &str = "cargo run --profile quick --bin xav -- ";

/// The lines of all blocks between ```bash and ```, without prompts and comments.
fn commands(markdown: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut inside = false;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside && line.trim() == "```bash";
        } else if inside {
            let line = line.split(" #").next().unwrap_or(line).trim();
            let line = line.strip_prefix("$ ").unwrap_or(line);
            if !line.is_empty() && !line.starts_with('#') {
                found.push(line.to_owned());
            }
        }
    }
    found
}

/// Settings that a daemon asks its configuration for, and that no sample shows.
fn unshown(asking: &str, samples: &str) -> Vec<String> {
    let shown: BTreeSet<&str> = samples
        .lines()
        .filter_map(|line| line.trim_start_matches(['#', ' ']).split_once(" = "))
        .map(|(key, _)| key)
        .collect();
    let asking: String = asking.split_whitespace().collect();
    let keys = asking.split("config.").skip(1).filter_map(|call| {
        let (method, arguments) = call.split_once('(')?;
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
        let arguments = method.chars().all(is_word).then_some(arguments)?;
        arguments.strip_prefix('"')?.split('"').next()
    });
    let unshown = keys.filter(|key| !shown.contains(key));
    unshown.map(str::to_owned).collect()
}

/// The commands that neither CI, nor an alias, nor a test with the same arguments runs.
fn never_run(
    commands: &[String],
    ci: &str,
    aliases: &BTreeSet<String>,
    tests: &[&str],
) -> Vec<String> {
    let run = |command: &str| {
        let arguments = command
            .strip_prefix(XAV)
            .or_else(|| command.strip_prefix("xav "))
            .or_else(|| command.starts_with("xavantes-").then_some(command));
        if let Some(arguments) = arguments {
            // A test names the arguments one by one; `run` and the file's own name are enough to find it.
            let in_one = |test: &&str| {
                // A command within the command is one too.
                let plain = arguments.replace("$(", "").replace(')', "");
                let mut words = plain.split_whitespace();
                words.all(|word| test.contains(word.rsplit('/').next().unwrap_or(word)))
            };
            return tests.iter().any(in_one);
        }
        let alias = command
            .strip_prefix("cargo ")
            .and_then(|rest| rest.split(' ').next());
        // Its output may go through a pipe, which does not change what is run.
        ci.lines()
            .filter_map(|line| line.split(" 2>&1 |").next())
            .any(|line| line.trim() == command)
            || command.trim_start_matches("./") == ".ci/run"
            || alias.is_some_and(|alias| aliases.contains(alias))
            || COMMON_COMMANDS
                .iter()
                .any(|common| command.starts_with(common))
    };
    commands
        .iter()
        .filter(|command| !run(command))
        .cloned()
        .collect()
}

fn aliases(config: &str) -> BTreeSet<String> {
    let lines = config.lines().skip_while(|line| *line != "[alias]").skip(1);
    let names = lines.take_while(|line| !line.starts_with('['));
    names
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, _)| name.to_owned())
        .collect()
}

fn machine_paths(files: &[TextFile]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files {
        for (index, line) in file.text.lines().enumerate() {
            for path in MACHINE_PATHS.iter().filter(|path| begins_in(line, path)) {
                complaints.push(format!(
                    "{}:{}: a machine's own path {path}",
                    file.path,
                    index + 1
                ));
            }
        }
    }
    complaints
}

/// True if the path begins in the line, and is not the middle of another.
fn begins_in(line: &str, path: &str) -> bool {
    let inside = |before: char| before.is_alphanumeric() || "}])>._-~*/$".contains(before);
    line.match_indices(path)
        .any(|(at, _)| !line[..at].chars().next_back().is_some_and(inside))
}

#[test]
fn commands_of_the_readme_are_run() {
    let readme = text_of("README.md");
    assert!(!readme.is_empty(), "README.md is missing");
    let ci = text_of(".ci/run");
    let aliases = aliases(text_of(".cargo/config.toml"));
    let commands = commands(readme);
    assert!(
        commands.iter().any(|command| command.starts_with(XAV)),
        "it begins with a process"
    );
    // tests/it carries out those of our programs (`documents.rs`).
    let is_ours = |command: &String| {
        let beginnings = [XAV, "xav ", "xavantes-"];
        beginnings.iter().any(|own| command.starts_with(own))
    };
    let others: Vec<String> = commands.into_iter().filter(|one| !is_ours(one)).collect();
    crate::assert_none(&never_run(&others, ci, &aliases, &[]));
}

#[test]
fn commands_of_samples_are_run_and_their_files_are_there() {
    let all = files();
    let tests: Vec<&str> = all
        .iter()
        .filter(|file| file.is_rust() && file.is_test())
        .map(|file| &*file.text)
        .collect();
    let samples = all.iter().filter(|file| {
        file.path.starts_with("workflows/samples/") && file.path.ends_with("/README.md")
    });
    let mut complaints = Vec::new();
    for readme in samples {
        let commands = commands(&readme.text);
        complaints.extend(never_run(&commands, "", &BTreeSet::new(), &tests));
        let named = commands
            .iter()
            .flat_map(|command| command.split_whitespace());
        for path in named.filter(|word| word.starts_with("workflows/")) {
            if !root().join(path).exists() {
                complaints.push(format!("{}: {path} is not there", readme.path));
            }
        }
    }
    crate::assert_none(&complaints);
}

#[test]
fn a_command_that_nothing_runs_is_named() {
    let readme = "```bash\n# a comment\n$ cargo test --workspace   # all\ncargo sim --seeds 3\ncargo fly\n```\n\
                  cargo text\n```text\ncargo output\n```\n```bash\ncd x\n\
                  cargo run --profile quick --bin xav -- run a/b.yaml --input n=1\nxav run c.yaml\n\
                  xavantes-gm $(xav run b.yaml) n=1\n```\n";
    let commands = commands(readme);
    assert_eq!(commands.len(), 7);
    let aliases = aliases("[alias]\nsim = \"run\"\n[build]\nx = 1\n");
    assert_eq!(aliases.len(), 1);
    let tests = ["xav([\"run\", \"b.yaml\", \"--input\", \"n=1\"])"];
    assert_eq!(
        never_run(
            &commands,
            "set -e\ncargo test --workspace\n",
            &aliases,
            &tests
        ),
        [
            "cargo fly",
            "xav run c.yaml",
            "xavantes-gm $(xav run b.yaml) n=1"
        ]
    );
}

/// Paths that a section of a document names between backticks, and that are not there.
fn missing_paths(section: &str, is_there: impl Fn(&str) -> bool) -> Vec<String> {
    let named = section.split('`').skip(1).step_by(2);
    let paths = named.filter(|word| word.contains('/') && !word.contains([' ', '{', '*']));
    let missing = paths.filter(|path| !is_there(path));
    missing.map(|path| format!("{path} is not there")).collect()
}

#[test]
fn a_change_begins_in_a_file_that_is_there() {
    let (_, rest) = text_of("ARCHITECTURE.md")
        .split_once("## Where does a change go?")
        .expect("the architecture says where a change goes");
    let section = rest.split("\n## ").next().unwrap_or(rest);
    let rows = section.lines().filter(|line| line.starts_with("| "));
    assert!(rows.count() > 10, "a heading and ten changes");
    crate::assert_none(&missing_paths(section, |path| root().join(path).exists()));
    let section = "| `nice: 5` | `a/b.rs` | `a/c.rs` and `run` |";
    let missing = missing_paths(section, |path| path == "a/b.rs");
    assert_eq!(missing, ["a/c.rs is not there"]);
}

#[test]
fn no_path_of_a_machine_stands_anywhere() {
    crate::assert_none(&machine_paths(files()));
    let bad = MACHINE_PATHS[0];
    let text = format!("see {bad}me/x\nsee a{bad}x, {{state}}{bad}x\n\"{bad}x\"");
    assert_eq!(
        machine_paths(&[TextFile::new("a.md", &text)]),
        [
            format!("a.md:1: a machine's own path {bad}"),
            format!("a.md:3: a machine's own path {bad}"),
        ]
    );
}

#[test]
fn samples_of_configurations_show_every_setting() {
    let all = files();
    let is_daemons = |file: &&TextFile| {
        let is_daemon = |part: &str| part.ends_with("-daemon");
        let of_daemon = file.path.split('/').any(is_daemon) || file.path.ends_with("/program.rs");
        file.is_rust() && !file.is_test() && of_daemon
    };
    let asking: String = all
        .iter()
        .filter(is_daemons)
        .map(|file| &*file.text)
        .collect();
    let samples = all
        .iter()
        .filter(|file| file.path.starts_with("packaging/samples/"));
    let samples: String = samples.map(|file| &*file.text).collect();
    assert!(!samples.is_empty(), "there are no samples");
    crate::assert_none(&unshown(&asking, &samples));
    let asking = "config.text(\"a\"); config\n    .optional_span_in(\n        \"b-c\",\n 1); config.flag(\"d\")";
    assert_eq!(unshown(asking, "a = 1\n# d = true\n# b = 2"), ["b-c"]);
}
