//! Manifests take lints and versions from the root, where each dependency has its reason; and a crate's own
//! clippy.toml, which replaces the root's, carries every ban that the crate may not lift.

use std::collections::BTreeMap;

use crate::workspace::{TextFile, files};

/// Crates with a clippy.toml of their own, and the sections of bans that it may leave out.
const LIFTED: &[(&str, &[&str])] = &[
    ("common/shell", &["clock", "threads", "environment"]),
    (
        "activity-manager/activity-executor",
        &["clock", "threads", "commands", "environment"],
    ),
];

/// Banned path -> the section (comment above) that it stands in.
fn bans(toml: &str) -> BTreeMap<&str, &str> {
    let mut section = "";
    let mut bans = BTreeMap::new();
    for line in toml.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix("# ") {
            section = comment;
        } else if let Some(ban) = line.strip_prefix("{ path = \"") {
            bans.insert(ban.split('"').next().unwrap_or(ban), section);
        }
    }
    bans
}

fn lifted_bans(lifted: &[(&str, &[&str])], files: &[TextFile]) -> Vec<String> {
    let is_clippy = |file: &&TextFile| file.path.ends_with("clippy.toml");
    let root = files
        .iter()
        .find(|file| file.path == "clippy.toml")
        .map_or("", |file| &file.text);
    let all = bans(root);
    let mut complaints = Vec::new();
    for file in files
        .iter()
        .filter(is_clippy)
        .filter(|file| file.path != "clippy.toml")
    {
        let folder = file.path.trim_end_matches("/clippy.toml");
        let Some((_, sections)) = lifted.iter().find(|(lifted, _)| *lifted == folder) else {
            complaints.push(format!(
                "{}: only shell and activity-executor have one",
                file.path
            ));
            continue;
        };
        let own = bans(&file.text);
        for (ban, section) in all.iter().filter(|(ban, _)| !own.contains_key(*ban)) {
            if !sections.contains(section) {
                complaints.push(format!("{}: lifts the ban of {ban}", file.path));
            }
        }
    }
    complaints
}

/// Lines of one section of a manifest, with their numbers from 1.
fn section<'a>(toml: &'a str, name: &str) -> impl Iterator<Item = (usize, &'a str)> {
    let lines = toml
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()));
    let inside = lines.skip_while(move |(_, line)| *line != name).skip(1);
    inside
        .take_while(|(_, line)| !line.starts_with('['))
        .filter(|(_, line)| !line.is_empty())
}

fn manifests(files: &[TextFile]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files
        .iter()
        .filter(|file| file.path.ends_with("/Cargo.toml"))
    {
        if !section(&file.text, "[lints]").any(|(_, line)| line == "workspace = true") {
            complaints.push(format!(
                "{}: does not take the workspace's lints",
                file.path
            ));
        }
        for name in [
            "[dependencies]",
            "[dev-dependencies]",
            "[build-dependencies]",
        ] {
            for (number, line) in section(&file.text, name) {
                if !line.starts_with('#') && !line.contains("workspace = true") {
                    complaints.push(format!(
                        "{}:{number}: not a version of the workspace's",
                        file.path
                    ));
                }
            }
        }
    }
    complaints
}

fn without_reason(root: &str) -> Vec<String> {
    let all = section(root, "[workspace.dependencies]");
    let others = all.filter(|(_, line)| !line.starts_with('#') && !line.contains("path = "));
    others
        .filter(|(_, line)| !line.contains(" # "))
        .map(|(number, line)| format!("Cargo.toml:{number}: no reason for {line}"))
        .collect()
}

#[test]
fn manifests_take_lints_and_versions_from_the_root() {
    crate::assert_none(&manifests(files()));
    let good = "[package]\nversion.workspace = true\n[lints]\nworkspace = true\n[dependencies]\na.workspace = true\n";
    let bad = "[dependencies]\n# why\na = \"1\"\n\nb = { workspace = true, features = [] }\n";
    let files = [
        TextFile::new("a/a/Cargo.toml", good),
        TextFile::new("a/b/Cargo.toml", bad),
    ];
    assert_eq!(
        manifests(&files),
        [
            "a/b/Cargo.toml: does not take the workspace's lints",
            "a/b/Cargo.toml:3: not a version of the workspace's",
        ]
    );
}

#[test]
fn each_dependency_has_a_reason() {
    crate::assert_none(&without_reason(crate::workspace::text_of("Cargo.toml")));
    let root = "[workspace.dependencies]\n# ours\na = { path = \"a\" }\nb = \"1\" # needed\nc = \"1\"\n[lints]\nd = 1";
    assert_eq!(
        without_reason(root),
        ["Cargo.toml:5: no reason for c = \"1\""]
    );
}

#[test]
fn bans_are_lifted_where_the_architecture_says() {
    crate::assert_none(&lifted_bans(LIFTED, files()));
}

#[test]
fn a_ban_that_is_lifted_elsewhere_is_named() {
    let root = "x = [\n  # clock\n  { path = \"now\" },\n  # order\n  { path = \"iter\" },\n]";
    let files = [
        TextFile::new("clippy.toml", root),
        TextFile::new(
            "a/clippy.toml",
            "x = [\n  # order\n  { path = \"iter\" },\n]",
        ),
        TextFile::new("b/clippy.toml", ""),
        TextFile::new("c/clippy.toml", root),
    ];
    assert_eq!(
        lifted_bans(&[("a", &["clock"]), ("b", &["clock"])], &files),
        [
            "b/clippy.toml: lifts the ban of iter",
            "c/clippy.toml: only shell and activity-executor have one"
        ]
    );
}
