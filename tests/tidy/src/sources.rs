//! Rules for source files: forbidden words, lengths, and a first line that says what the file is.

use crate::code::{lines_with_word, stripped, tokens};
use crate::workspace::{Package, TextFile, files, packages};

/// The only crate with `unsafe`, and files elsewhere that need it, each with its reason.
const UNSAFE: &[(&str, &str)] = &[
    (
        "common/forecast/tests/memory.rs",
        "counts what a predictor takes in memory; the trait of allocators is unsafe",
    ),
    (
        "activity-manager/activity-executor/",
        "starts commands by clone(2), which std does not offer",
    ),
    (
        "tests/sim/src/allocator.rs",
        "counts what a process takes in memory; the trait of allocators is unsafe",
    ),
];

/// Tests that may sleep, each with its reason. To wait for a state, poll it in one helper and name that here.
const SLEEPS: &[(&str, &str)] = &[
    (
        "tests/it/src/wait.rs",
        "the real program tells nobody of its states; this is the one loop that looks for them",
    ),
    (
        "tests/compare/src/grid/world.rs",
        "the same for what is measured, which is no test",
    ),
    (
        "tests/compare/src/grid/back.rs",
        "how long a daemon is away is what is measured",
    ),
    (
        "tests/compare/src/many/sharing.rs",
        "the cost of those who watch meanwhile is measured",
    ),
    (
        "tests/compare/src/rounds/trial.rs",
        "what runs is looked at until it has ended",
    ),
    ("tests/compare/src/rounds/relay.rs", "a link has a rate"),
    (
        "tests/it/src/flood/strangers.rs",
        "a flood has a rate: it dials so many times a second",
    ),
];

/// Lines of a source file: a file of one subject is shorter.
const LINES_MAX: usize = 700;
/// Lines of a daemon's `main.rs`: what is more belongs in its library.
const MAIN_LINES_MAX: usize = 60;

/// Words for "not done yet", put together so that they do not stand here.
const LEFTOVERS: &[&str] = &[
    concat!("FIX", "ME"),
    concat!("TO", "DO"),
    concat!("XX", "X"),
    concat!("HA", "CK"),
];
/// Macros and attributes that leave something out.
const UNFINISHED: &[&[&str]] = &[
    &["todo", "!"],
    &["unimplemented", "!"],
    &["dbg", "!"],
    &["#", "[", "ignore"],
    &["[", "allow", "("],
];
/// Names of folders and files that say nothing of what is inside.
const EMPTY_NAMES: &[&str] = &["common", "helper", "helpers", "misc", "util", "utils"];

fn rust(files: &[TextFile]) -> impl Iterator<Item = (&TextFile, String)> {
    files
        .iter()
        .filter(|file| file.is_rust())
        .map(|file| (file, stripped(&file.text)))
}

fn lies_in(path: &str, list: &[(&str, &str)]) -> bool {
    list.iter().any(|(prefix, _)| path.starts_with(prefix))
}

fn unsafe_code(allowed: &[(&str, &str)], files: &[TextFile]) -> Vec<String> {
    let mut complaints = Vec::new();
    for (file, code) in rust(files).filter(|(file, _)| !lies_in(&file.path, allowed)) {
        for line in lines_with_word(&code, "unsafe") {
            complaints.push(format!(
                "{}:{line}: `unsafe` outside activity-executor",
                file.path
            ));
        }
    }
    complaints
}

fn leftovers(files: &[TextFile]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| !file.path.ends_with(".lock")) {
        for word in LEFTOVERS {
            for line in lines_with_word(&file.text, word) {
                complaints.push(format!("{}:{line}: {word}", file.path));
            }
        }
    }
    for (file, code) in rust(files) {
        let tokens = tokens(&code);
        for sequence in UNFINISHED {
            let found = tokens.windows(sequence.len()).filter(|window| {
                window
                    .iter()
                    .zip(*sequence)
                    .all(|((_, token), wanted)| token == wanted)
            });
            for window in found {
                complaints.push(format!(
                    "{}:{}: {}",
                    file.path,
                    window[0].0,
                    sequence.concat()
                ));
            }
        }
    }
    complaints
}

fn sleeps(allowed: &[(&str, &str)], files: &[TextFile]) -> Vec<String> {
    let mut complaints = Vec::new();
    let tests = rust(files).filter(|(file, _)| file.is_test() && !lies_in(&file.path, allowed));
    for (file, code) in tests {
        for window in tokens(&code)
            .windows(2)
            .filter(|pair| pair[0].1 == "sleep" && pair[1].1 == "(")
        {
            let line = window[0].0;
            complaints.push(format!(
                "{}:{line}: a test sleeps; wait for the state",
                file.path
            ));
        }
    }
    complaints
}

/// Entries of a list that allow nothing that is there.
fn idle<'a>(allowed: &'a [(&str, &str)], complain: impl Fn(&TextFile) -> bool) -> Vec<&'a str> {
    let needed = |prefix: &str| {
        files()
            .iter()
            .any(|file| file.path.starts_with(prefix) && complain(file))
    };
    allowed
        .iter()
        .map(|&(prefix, _)| prefix)
        .filter(|prefix| !needed(prefix))
        .collect()
}

fn lengths(files: &[TextFile]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let lines = file.text.lines().count();
        let main = file.path.ends_with("-daemon/src/main.rs");
        let most = if main { MAIN_LINES_MAX } else { LINES_MAX };
        if lines > most {
            complaints.push(format!("{}: {lines} lines, at most {most}", file.path));
        }
    }
    complaints
}

fn beginnings(files: &[TextFile]) -> Vec<String> {
    let wanting = |file: &&TextFile| {
        let first = after_attributes(&file.text);
        file.is_rust() && !file.path.ends_with("/tests.rs") && !first.starts_with("//")
    };
    let complaint =
        |file: &TextFile| format!("{}: does not begin with what it is (//!)", file.path);
    files.iter().filter(wanting).map(complaint).collect()
}

/// The text after `#![...]` at its beginning, which hold for the whole file.
fn after_attributes(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some(attribute) = rest.strip_prefix("#![") {
        rest = attribute
            .split_once("]\n")
            .map_or("", |(_, after)| after.trim_start());
    }
    rest
}

fn empty_names(files: &[TextFile]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files {
        let below = file.path.strip_prefix("common/").unwrap_or(&file.path);
        let names = below
            .split('/')
            .map(|name| name.split('.').next().unwrap_or(name));
        if let Some(name) = names.into_iter().find(|name| EMPTY_NAMES.contains(name)) {
            complaints.push(format!(
                "{}: `{name}` does not say what is inside",
                file.path
            ));
        }
    }
    complaints
}

fn stubs(folders: &[&str], files: &[TextFile]) -> Vec<String> {
    let filled = |folder: &&str| {
        let code = |name: &str| {
            let path = format!("{folder}/src/{name}");
            files
                .iter()
                .find(|file| file.path == path)
                .map(|file| stripped(&file.text))
        };
        // `fn main() {}` is six tokens; a crate with less than twenty says nothing.
        ["lib.rs", "main.rs"]
            .into_iter()
            .filter_map(code)
            .any(|code| tokens(&code).len() >= 20 || code.contains("mod "))
    };
    let empty = folders.iter().filter(|folder| !filled(folder));
    empty
        .map(|folder| format!("{folder} stands empty"))
        .collect()
}

#[test]
fn unsafe_stays_in_the_executor() {
    crate::assert_none(&unsafe_code(UNSAFE, files()));
    let files = [
        TextFile::new("a/src/lib.rs", "//! unsafe\nunsafe { f() }"),
        TextFile::new("b/src/lib.rs", "unsafe {}"),
    ];
    assert_eq!(
        unsafe_code(&[("b/", "")], &files),
        ["a/src/lib.rs:2: `unsafe` outside activity-executor"]
    );
}

#[test]
fn nothing_is_left_over() {
    crate::assert_none(&leftovers(files()));
    let text = format!(
        "// {}: later\nfn f() {{ todo!() }}\n#[ignore]\nfn g() {{}}",
        LEFTOVERS[0]
    );
    let found = leftovers(&[
        TextFile::new("a.rs", &text),
        TextFile::new("b.md", "XXXXXX todo!"),
    ]);
    assert_eq!(
        found,
        [
            format!("a.rs:1: {}", LEFTOVERS[0]).as_str(),
            "a.rs:2: todo!",
            "a.rs:3: #[ignore"
        ]
    );
    assert_eq!(
        leftovers(&[TextFile::new("a.rs", "#![allow(x)]")]),
        ["a.rs:1: [allow("]
    );
}

#[test]
fn tests_do_not_sleep() {
    crate::assert_none(&sleeps(SLEEPS, files()));
    let files = [
        TextFile::new("a/src/tests.rs", "fn f() { thread::sleep(x); }"),
        TextFile::new("a/src/lib.rs", "fn f() { thread::sleep(x); }"),
    ];
    assert_eq!(
        sleeps(&[], &files),
        ["a/src/tests.rs:1: a test sleeps; wait for the state"]
    );
    assert_eq!(sleeps(&[("a/", "polls")], &files), [""; 0]);
}

#[test]
fn each_exception_is_needed() {
    let one = |file: &TextFile| vec![file.clone()];
    assert_eq!(
        idle(UNSAFE, |file| !unsafe_code(&[], &one(file)).is_empty()),
        [""; 0]
    );
    assert_eq!(
        idle(SLEEPS, |file| !sleeps(&[], &one(file)).is_empty()),
        [""; 0]
    );
    assert_eq!(idle(&[("tests/tidy/", "")], |_| false), ["tests/tidy/"]);
}

#[test]
fn files_are_short() {
    crate::assert_none(&lengths(files()));
    let long = "\n".repeat(MAIN_LINES_MAX + 1);
    let files = [
        TextFile::new("x-daemon/src/main.rs", &long),
        TextFile::new("x/src/main.rs", &long),
    ];
    assert_eq!(
        lengths(&files),
        ["x-daemon/src/main.rs: 61 lines, at most 60"]
    );
}

#[test]
fn files_begin_with_what_they_are() {
    crate::assert_none(&beginnings(files()));
    let files = [
        TextFile::new("a/src/lib.rs", "use std::fmt;"),
        TextFile::new("a/src/b.rs", "#![expect(\n    x\n)]\n//! What b is."),
        TextFile::new("a/src/b/tests.rs", "use super::*;"),
    ];
    assert_eq!(
        beginnings(&files),
        ["a/src/lib.rs: does not begin with what it is (//!)"]
    );
}

#[test]
fn names_say_what_is_inside() {
    crate::assert_none(&empty_names(files()));
    let files = [
        TextFile::new("common/wire/src/lib.rs", ""),
        TextFile::new("common/wire/src/utils/text.rs", ""),
        TextFile::new("tests/it/common.rs", ""),
    ];
    assert_eq!(
        empty_names(&files),
        [
            "common/wire/src/utils/text.rs: `utils` does not say what is inside",
            "tests/it/common.rs: `common` does not say what is inside",
        ]
    );
}

#[test]
fn no_crate_stands_empty() {
    let own = |package: &'static Package| package.folder.as_deref();
    let folders: Vec<&str> = packages().iter().filter_map(own).collect();
    crate::assert_none(&stubs(&folders, files()));
    let files = [
        TextFile::new("a/src/lib.rs", "//! It will be much.\nfn main() {}"),
        TextFile::new("b/src/main.rs", "//! B.\nmod c;"),
    ];
    assert_eq!(
        stubs(&["a", "b", "c"], &files),
        ["a stands empty", "c stands empty"]
    );
}
