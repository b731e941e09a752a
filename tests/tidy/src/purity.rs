//! Pure crates have no clock, randomness, thread, file, socket or environment: neither by what they import
//! nor by what they name of the standard library.

use crate::code::{stripped, tokens, without_tests};
use crate::workspace::{Package, TextFile, files, packages};

const PURE: &[&str] = &[
    "model",
    "machine",
    "expression",
    "wire",
    "schedule",
    "group-core",
    "process-core",
    "activity-core",
    "language",
    "simulator",
    "experiments",
];

/// Other people's crates that a pure crate may import, each because it computes and does nothing else.
const MAY_IMPORT: &[(&str, &str)] = &[
    ("annotate-snippets", "text of diagnostics"),
    ("blake3", "hashes of bytes in memory"),
    ("cel", "evaluates expressions"),
    ("crc32fast", "checksums of bytes in memory"),
    ("flate2", "unpacks bytes in memory"),
    ("globset", "matches names"),
    ("granit-parser", "text to events"),
    ("lz4_flex", "packs bytes in memory"),
    ("minicbor", "codec"),
    ("petgraph", "graphs"),
    ("schemars", "JSON Schema from types"),
    ("serde", "traits"),
    ("serde_json", "JSON as text"),
    ("thiserror", "error types"),
];

/// Crates that a pure crate must not depend on, not even through others.
const NEVER_BELOW: &[&str] = &[
    "async-std",
    "mio",
    "nix",
    "quinn",
    "rayon",
    "redb",
    "reqwest",
    "rustls",
    "sled",
    "smol",
    "tokio",
];

/// Modules of the standard library that reach outside.
const MODULES: &[&str] = &["env", "fs", "net", "os", "process", "thread"];

/// Words that reach outside wherever they stand.
const WORDS: &[&str] = &[
    "Instant",
    "RandomState",
    "SystemTime",
    "fastrand",
    "getrandom",
    "libc",
    "rand",
    "rustix",
    "thread_local",
    "tokio",
];

fn imports(crates: &[Package]) -> Vec<String> {
    let ours: Vec<&str> = crates
        .iter()
        .filter(|package| package.folder.is_some())
        .map(|package| package.name.as_str())
        .collect();
    let mut complaints = Vec::new();
    for package in crates
        .iter()
        .filter(|package| PURE.contains(&package.name.as_str()))
    {
        let others = package
            .imports
            .iter()
            .filter(|import| !ours.contains(&import.as_str()));
        for import in others.filter(|import| !MAY_IMPORT.iter().any(|(name, _)| name == import)) {
            complaints.push(format!(
                "{} is pure and must not import {import}",
                package.name
            ));
        }
        for below in package
            .closure
            .iter()
            .filter(|below| NEVER_BELOW.contains(&below.as_str()))
        {
            complaints.push(format!(
                "{} is pure and must not bring {below} along",
                package.name
            ));
        }
    }
    complaints
}

fn names(folders: &[String], files: &[TextFile]) -> Vec<String> {
    let pure = |file: &&TextFile| {
        let inside = folders
            .iter()
            .any(|folder| file.path.starts_with(&format!("{folder}/")));
        inside && file.is_rust() && !file.is_test()
    };
    let mut complaints = Vec::new();
    for file in files.iter().filter(pure) {
        let code = stripped(&file.text);
        let tokens = tokens(without_tests(&code));
        for (index, &(line, word)) in tokens.iter().enumerate() {
            let next = |step: usize| tokens.get(index + step).map_or("", |&(_, word)| word);
            if WORDS.contains(&word) {
                complaints.push(format!("{}:{line}: pure code names `{word}`", file.path));
            }
            if word == "std" && next(1) == "::" && MODULES.contains(&next(2)) {
                complaints.push(format!(
                    "{}:{line}: pure code names `std::{}`",
                    file.path,
                    next(2)
                ));
            }
            if word == "std" && next(1) == "::" && next(2) == "{" {
                let group = tokens[index..].iter().take_while(|&&(_, word)| word != ";");
                for (line, word) in group.filter(|(_, word)| MODULES.contains(word)) {
                    complaints.push(format!(
                        "{}:{line}: pure code names `std::{word}`",
                        file.path
                    ));
                }
            }
        }
    }
    complaints
}

#[test]
fn pure_crates_import_only_what_computes() {
    crate::assert_none(&imports(packages()));
}

#[test]
fn pure_crates_name_nothing_of_the_outside() {
    let pure = packages()
        .iter()
        .filter(|package| PURE.contains(&package.name.as_str()));
    let folders: Vec<String> = pure.filter_map(|package| package.folder.clone()).collect();
    assert_eq!(folders.len(), PURE.len(), "each pure crate is there");
    crate::assert_none(&names(&folders, files()));
}

#[test]
fn an_import_of_the_outside_is_named() {
    let package = |name: &str, folder: Option<&str>, imports: &[&str], closure: &[&str]| Package {
        name: name.to_owned(),
        folder: folder.map(str::to_owned),
        imports: imports.iter().map(|&name| name.to_owned()).collect(),
        closure: closure.iter().map(|&name| name.to_owned()).collect(),
        ..Package::default()
    };
    let crates = [
        package("model", Some("common/model"), &["minicbor"], &["minicbor"]),
        package(
            "wire",
            Some("common/wire"),
            &["model", "getrandom"],
            &["model", "tokio"],
        ),
        package("shell", Some("common/shell"), &["tokio"], &["tokio"]),
        package("tokio", None, &[], &[]),
    ];
    assert_eq!(
        imports(&crates),
        [
            "wire is pure and must not import getrandom",
            "wire is pure and must not bring tokio along",
        ]
    );
}

#[test]
fn a_name_of_the_outside_is_named() {
    let text = "use std::time::{Duration, Instant};\nuse std::{fmt, fs};\nuse std::collections::BTreeMap;\n\
                // std::thread\nfn f() { std::env::args(); }\n#[cfg(test)]\nmod tests { use std::fs; }";
    let files = [
        TextFile::new("a/src/lib.rs", text),
        TextFile::new("a/src/tests.rs", text),
        TextFile::new("b/src/lib.rs", text),
    ];
    assert_eq!(
        names(&["a".to_owned()], &files),
        [
            "a/src/lib.rs:1: pure code names `Instant`",
            "a/src/lib.rs:2: pure code names `std::fs`",
            "a/src/lib.rs:5: pure code names `std::env`",
        ]
    );
}
