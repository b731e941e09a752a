//! Licences and second versions of what the programs are built with.

use std::collections::{BTreeMap, BTreeSet};

use crate::workspace::{Package, packages, text_of};

/// Licences that go with Apache-2.0 in one program, as deny.toml has them.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "BlueOak-1.0.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Crates that come in two versions, and whose fault that is, as deny.toml has them.
const TWICE: &[(&str, &str)] = &[
    (
        "bit-vec",
        "rcgen takes 0.9 through yasna, cel takes 0.10 through antlr4rust",
    ),
    ("getrandom", "ring 0.17 takes 0.2, all others 0.4"),
    (
        "hashbrown",
        "petgraph 0.8 takes 0.15 itself and 0.17 through indexmap",
    ),
    ("parking_lot", "sled 0.34 takes 0.11, cel takes 0.12"),
    ("parking_lot_core", "as parking_lot"),
    (
        "syn",
        "minicbor-derive takes 2, serde and thiserror take 3; at build time only",
    ),
];

/// True if the allowed licences can fulfil an SPDX expression. The old `/` stands for `OR`.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let (value, rest) = any(&words, allowed);
    value && rest.is_empty()
}

/// a OR b ...
fn any<'a, 'b>(words: &'a [&'b str], allowed: &[&str]) -> (bool, &'a [&'b str]) {
    let (mut value, mut rest) = all(words, allowed);
    while let ["OR", after @ ..] = rest {
        let (next, after) = all(after, allowed);
        value |= next;
        rest = after;
    }
    (value, rest)
}

/// a AND b ...
fn all<'a, 'b>(words: &'a [&'b str], allowed: &[&str]) -> (bool, &'a [&'b str]) {
    let (mut value, mut rest) = one(words, allowed);
    while let ["AND", after @ ..] = rest {
        let (next, after) = one(after, allowed);
        value &= next;
        rest = after;
    }
    (value, rest)
}

/// A licence, one with an exception, or an expression in brackets.
fn one<'a, 'b>(words: &'a [&'b str], allowed: &[&str]) -> (bool, &'a [&'b str]) {
    match words {
        ["(", inside @ ..] => match any(inside, allowed) {
            (value, [")", rest @ ..]) => (value, rest),
            (_, rest) => (false, rest),
        },
        [licence, "WITH", exception, rest @ ..] => (
            allowed.contains(&format!("{licence} WITH {exception}").as_str()),
            rest,
        ),
        [licence, rest @ ..] => (allowed.contains(licence), rest),
        [] => (false, &[]),
    }
}

fn licences(packages: &[Package]) -> Vec<String> {
    let wrong = |package: &&Package| {
        !package
            .licence
            .as_ref()
            .is_some_and(|licence| is_allowed(licence, ALLOWED))
    };
    let complaint = |package: &Package| {
        let licence = package.licence.as_deref().unwrap_or("none");
        format!(
            "{} {} has the licence {licence}",
            package.name, package.version
        )
    };
    packages.iter().filter(wrong).map(complaint).collect()
}

fn twice(allowed: &[(&str, &str)], packages: &[Package]) -> Vec<String> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in packages {
        versions
            .entry(&package.name)
            .or_default()
            .push(&package.version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    let mut complaints = Vec::new();
    for (name, versions) in &versions {
        if !allowed.iter().any(|(allowed, _)| allowed == name) {
            complaints.push(format!("{name} comes as {}", versions.join(" and ")));
        }
    }
    for (name, _) in allowed
        .iter()
        .filter(|(name, _)| !versions.contains_key(name))
    {
        complaints.push(format!("{name} comes once; take it from the list"));
    }
    complaints
}

/// The strings in quotes of an array of a TOML file whose entries stand on lines of their own.
fn quoted_in<'a>(text: &'a str, array: &str) -> BTreeSet<&'a str> {
    let lines = text.lines().skip_while(|line| *line != array).skip(1);
    let entries = lines.take_while(|line| !line.starts_with(']'));
    entries.filter_map(|line| line.split('"').nth(1)).collect()
}

#[test]
fn licences_go_together() {
    crate::assert_none(&licences(packages()));
    let package = |name: &str, licence: Option<&str>| Package {
        name: name.to_owned(),
        version: "1.0.0".to_owned(),
        licence: licence.map(str::to_owned),
        ..Package::default()
    };
    let packages = [
        package("a", Some("MIT")),
        package("b", Some("GPL-3.0-only")),
        package("c", None),
    ];
    assert_eq!(
        licences(&packages),
        [
            "b 1.0.0 has the licence GPL-3.0-only",
            "c 1.0.0 has the licence none"
        ]
    );
}

#[test]
fn licence_expressions_are_understood() {
    let allowed = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"];
    for right in [
        "MIT",
        "MIT/GPL-2.0",
        "GPL-2.0 OR MIT",
        "GPL-2.0 OR Apache-2.0 WITH LLVM-exception",
        "(MIT OR GPL-2.0) AND Apache-2.0",
    ] {
        assert!(is_allowed(right, &allowed), "{right}");
    }
    for wrong in [
        "",
        "GPL-2.0",
        "MIT AND GPL-2.0",
        "MIT WITH x",
        "(MIT",
        "MIT)",
        "MIT Apache-2.0",
    ] {
        assert!(!is_allowed(wrong, &allowed), "{wrong}");
    }
}

#[test]
fn second_versions_have_a_reason() {
    crate::assert_none(&twice(TWICE, packages()));
    let package = |name: &str, version: &str| Package {
        name: name.to_owned(),
        version: version.to_owned(),
        ..Package::default()
    };
    let packages = [
        package("a", "1.0.0"),
        package("a", "2.0.0"),
        package("b", "1.0.0"),
    ];
    assert_eq!(
        twice(&[("b", "")], &packages),
        [
            "a comes as 1.0.0 and 2.0.0",
            "b comes once; take it from the list"
        ]
    );
    assert_eq!(twice(&[("a", "")], &packages), [""; 0]);
}

#[test]
fn deny_toml_says_the_same() {
    let text = text_of("deny.toml");
    assert_eq!(
        quoted_in(text, "allow = ["),
        ALLOWED.iter().copied().collect()
    );
    let skipped = quoted_in(text, "skip = [");
    let names: BTreeSet<&str> = skipped
        .iter()
        .map(|entry| entry.split('@').next().unwrap_or(entry))
        .collect();
    assert_eq!(names, TWICE.iter().map(|(name, _)| *name).collect());
}
