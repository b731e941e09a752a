//! The allowed imports between crates: ARCHITECTURE.md's "Arrows" as a table, checked against cargo's metadata.

use std::collections::BTreeSet;

use crate::workspace::{Package, packages};

/// The crates that every core may import.
const LAYERS: &[&str] = &[
    "model",
    "machine",
    "wire",
    "schedule",
    "expression",
    "history",
];
/// Further crates for tests of a core: pure ones, to make test data.
const PURE: &[&str] = &[
    "model",
    "machine",
    "wire",
    "schedule",
    "expression",
    "history",
    "language",
];
const CORES: &[&str] = &["group-core", "process-core", "activity-core"];
const DAEMONS: &[&str] = &["group-daemon", "process-daemon", "activity-daemon"];
/// Crates with I/O that are no daemons.
const OUTSIDE: &[&str] = &["journal", "shell", "activity-executor", "activity-blobs"];
/// Further crates for tests of a daemon.
const DAEMON_TESTS: &[&str] = &[
    "expression",
    "language",
    "activity-executor",
    "activity-blobs",
];

/// A crate, its folder, the crates that it may import, and those that its tests may import besides.
struct Row {
    name: &'static str,
    folder: &'static str,
    imports: &'static [&'static [&'static str]],
    dev_imports: &'static [&'static [&'static str]],
}

const fn row(
    folder: &'static str,
    name: &'static str,
    imports: &'static [&'static [&'static str]],
    dev_imports: &'static [&'static [&'static str]],
) -> Row {
    Row {
        name,
        folder,
        imports,
        dev_imports,
    }
}

const TABLE: &[Row] = &[
    row("common", "model", &[], &[]),
    row("common", "machine", &[&["model"]], &[]),
    row("common", "expression", &[&["model"]], &[]),
    row("common", "wire", &[&["model"]], &[]),
    // Rounds forecast the performance of machines.
    row("common", "schedule", &[&["model", "forecast"]], &[]),
    row("common", "forecast", &[], &[]),
    row("common", "history", &[&["model"]], &[]),
    row("common", "journal", &[&["model"]], &[]),
    row(
        "common",
        "shell",
        &[&["model", "machine", "wire", "journal"]],
        &[],
    ),
    row("group-manager", "group-core", &[LAYERS], &[PURE]),
    // Plans count on forecasts of links.
    row(
        "process-manager",
        "process-core",
        &[LAYERS, &["forecast"]],
        &[PURE],
    ),
    row("activity-manager", "activity-core", &[LAYERS], &[PURE]),
    row(
        "activity-manager",
        "activity-executor",
        &[&["model", "wire"]],
        &[],
    ),
    row(
        "activity-manager",
        "activity-blobs",
        &[&["model", "wire"]],
        &[],
    ),
    row(
        "group-manager",
        "group-daemon",
        &[&["group-core", "shell", "journal"], LAYERS],
        &[DAEMON_TESTS],
    ),
    row(
        "process-manager",
        "process-daemon",
        &[&["process-core", "shell", "journal"], LAYERS],
        &[DAEMON_TESTS],
    ),
    row(
        "activity-manager",
        "activity-daemon",
        &[
            &[
                "activity-core",
                "activity-executor",
                "activity-blobs",
                "shell",
                "journal",
                "forecast",
            ],
            LAYERS,
        ],
        &[DAEMON_TESTS],
    ),
    row(
        "workflows",
        "language",
        &[&["model", "expression"]],
        &[&["wire", "schedule"]],
    ),
    row("workflows", "simulator", &[CORES, LAYERS], &[PURE]),
    row(
        "workflows",
        "experiments",
        &[&["model", "schedule", "forecast"]],
        // The example that plays a platform file reads it.
        &[&["language"]],
    ),
    row(
        "workflows",
        "xav",
        &[
            DAEMONS,
            OUTSIDE,
            LAYERS,
            &["language", "simulator", "experiments", "forecast"],
        ],
        &[CORES],
    ),
    row(
        "tests",
        "sim",
        &[CORES, LAYERS, &["language", "simulator"]],
        &[&["scenarios"]],
    ),
    // The cores replay the journals of earlier releases.
    row("tests", "it", &[OUTSIDE, LAYERS, &["language"]], &[CORES]),
    row("tests", "tidy", &[], &[]),
    row("tests", "scenarios", &[&["model"]], &[]),
    row(
        "tests",
        "compare",
        &[OUTSIDE, &["model", "wire", "scenarios"]],
        &[],
    ),
];

fn complaints(table: &[Row], crates: &[Package]) -> Vec<String> {
    let ours: BTreeSet<&str> = crates.iter().map(|package| package.name.as_str()).collect();
    let mut complaints = Vec::new();
    for package in crates {
        let Some(row) = table.iter().find(|row| row.name == package.name) else {
            complaints.push(format!(
                "{} has no row in the table of arrows",
                package.name
            ));
            continue;
        };
        let folder = format!("{}/{}", row.folder, row.name);
        if package.folder.as_deref() != Some(&folder) {
            complaints.push(format!("{} does not lie in {folder}", row.name));
        }
        let may: BTreeSet<&str> = row.imports.concat().into_iter().collect();
        let tests_may: BTreeSet<&str> = row.dev_imports.concat().into_iter().collect();
        for import in package
            .imports
            .iter()
            .filter(|import| ours.contains(import.as_str()))
        {
            if !may.contains(import.as_str()) {
                complaints.push(format!("{} must not import {import}", row.name));
            }
        }
        for import in package
            .dev_imports
            .iter()
            .filter(|import| ours.contains(import.as_str()))
        {
            if !may.contains(import.as_str()) && !tests_may.contains(import.as_str()) {
                complaints.push(format!(
                    "the tests of {} must not import {import}",
                    row.name
                ));
            }
        }
    }
    for row in table.iter().filter(|row| !ours.contains(row.name)) {
        complaints.push(format!(
            "{} has a row in the table of arrows and is not there",
            row.name
        ));
    }
    complaints
}

fn own_crates() -> Vec<Package> {
    packages()
        .iter()
        .filter(|package| package.folder.is_some())
        .cloned()
        .collect()
}

#[test]
fn crates_import_what_the_architecture_allows() {
    crate::assert_none(&complaints(TABLE, &own_crates()));
}

#[test]
fn a_wrong_arrow_a_wrong_folder_and_an_unknown_crate_are_named() {
    let table = [
        row("common", "a", &[&["b"]], &[]),
        row("common", "b", &[], &[&["c"]]),
    ];
    let package = |name: &str, folder: &str, imports: &[&str], dev_imports: &[&str]| Package {
        name: name.to_owned(),
        folder: Some(folder.to_owned()),
        imports: imports.iter().map(|&name| name.to_owned()).collect(),
        dev_imports: dev_imports.iter().map(|&name| name.to_owned()).collect(),
        ..Package::default()
    };
    let right = [
        package("a", "common/a", &["b", "serde"], &[]),
        package("b", "common/b", &[], &[]),
    ];
    assert_eq!(complaints(&table, &right), [""; 0]);
    let wrong = [
        package("a", "common/x", &["b"], &["c"]),
        package("b", "common/b", &["a"], &["c"]),
        package("c", "common/c", &[], &[]),
    ];
    assert_eq!(
        complaints(&table, &wrong),
        [
            "a does not lie in common/a",
            "the tests of a must not import c",
            "b must not import a",
            "c has no row in the table of arrows",
        ]
    );
    assert_eq!(
        complaints(&table, &right[..1]),
        ["b has a row in the table of arrows and is not there"]
    );
}

#[test]
fn cores_never_import_each_other_and_only_xav_imports_daemons() {
    for row in TABLE {
        let imports = [row.imports.concat(), row.dev_imports.concat()].concat();
        if CORES.contains(&row.name) {
            assert!(
                !imports.iter().any(|name| CORES.contains(name)),
                "{}",
                row.name
            );
        }
        if row.name != "xav" {
            assert!(
                !imports.iter().any(|name| DAEMONS.contains(name)),
                "{}",
                row.name
            );
        }
        let programs = ["xav", "sim", "it", "tidy", "compare"];
        assert!(
            !imports.iter().any(|name| programs.contains(name)),
            "{}",
            row.name
        );
    }
}
