//! Deliberate faults: each patch of `tests/sim/mutants` makes one core or the driver wrong, and the
//! grid must notice within a bounded number of seeds.
//!
//! The user's tree is never touched: the workspace is copied, each patch applied to the copy, the
//! program built there and run. A patch that does not apply, or does not compile, is a failure too.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Output;

use thiserror::Error;

/// Seeds of each profile that a fault may survive.
const SEEDS: u64 = 500;

/// Profiles in which a fault is looked for, the likeliest first.
const PROFILES: [&str; 16] = [
    "hard",
    "crashes",
    "lossy",
    "calm",
    "harsh",
    "leases",
    "lengths",
    "copies",
    "lost",
    "forgotten",
    "shares",
    "crowded",
    "each-here",
    "each",
    "discards",
    "races",
];

/// The copied parts of the workspace: the sources of the program.
const COPIED: [&str; 9] = [
    "Cargo.toml",
    "Cargo.lock",
    "common",
    "group-manager",
    "process-manager",
    "activity-manager",
    "workflows",
    "tests",
    ".cargo",
];

/// A reason why a fault was not detected.
#[derive(Debug, Error)]
pub enum MutantError {
    /// A file or folder could not be read or copied.
    #[error("could not {what}")]
    Files {
        /// The attempted action.
        what: String,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// There is no patch of that name.
    #[error("no fault is called {0}")]
    Unknown(String),
    /// The program without any fault could not be built.
    #[error("could not build the copy without any fault: {0}")]
    Build(String),
    /// These faults were not noticed, or could not be tried.
    #[error("not caught: {}", .0.join(", "))]
    Survived(Vec<String>),
}

/// Tries the faults of these names, or all if there are none; `say` gets the lines of the table.
pub fn run(names: &[String], say: &mut dyn FnMut(&str)) -> Result<(), MutantError> {
    let root = root();
    let patches = patches(&root, names)?;
    let copy = std::env::temp_dir().join(format!("xavantes-mutants-{}", std::process::id()));
    let result = try_all(&root, &copy, &patches, say);
    // A directory that is left behind would only take room.
    let _ = fs::remove_dir_all(&copy);
    result
}

/// Checks that every patch still applies to the present tree, which is not changed.
pub fn all_apply() -> Result<(), MutantError> {
    let root = root();
    let mut stale = Vec::new();
    for patch in patches(&root, &[])? {
        if let Err(why) = apply(&root, &patch, &["--dry-run"]) {
            stale.push(format!("{} ({why})", stem(&patch)));
        }
    }
    if stale.is_empty() {
        Ok(())
    } else {
        Err(MutantError::Survived(stale))
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The patches of these names, or all, in the order of their names.
fn patches(root: &Path, names: &[String]) -> Result<Vec<PathBuf>, MutantError> {
    let folder = root.join("tests/sim/mutants");
    let failed = |source| MutantError::Files {
        what: format!("list {}", folder.display()),
        source,
    };
    let mut patches = Vec::new();
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let is_patch = path
            .extension()
            .is_some_and(|extension| extension == "patch");
        if is_patch {
            patches.push(path);
        }
    }
    patches.sort();
    let unknown = |name: &&String| !patches.iter().any(|patch| stem(patch) == **name);
    if let Some(name) = names.iter().find(unknown) {
        return Err(MutantError::Unknown(name.clone()));
    }
    if !names.is_empty() {
        patches.retain(|patch| names.contains(&stem(patch)));
    }
    Ok(patches)
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn try_all(
    root: &Path,
    copy: &Path,
    patches: &[PathBuf],
    say: &mut dyn FnMut(&str),
) -> Result<(), MutantError> {
    let tree = copy.join("tree");
    for name in COPIED {
        let (from, to) = (root.join(name), tree.join(name));
        copy_all(&from, &to).map_err(|source| MutantError::Files {
            what: format!("copy {}", from.display()),
            source,
        })?;
    }
    if let Err(output) = build(&tree, copy) {
        return Err(MutantError::Build(output));
    }
    say(&format!("{:<34} {:<10} broken rule", "fault", "caught by"));
    let mut survived = Vec::new();
    for patch in patches {
        let name = stem(patch);
        match try_one(&tree, copy, patch) {
            Ok((by, rule)) => say(&format!("{name:<34} {by:<10} {rule}")),
            Err(why) => {
                say(&format!("{name:<34} {:<10} {why}", "NOT CAUGHT"));
                survived.push(name);
            }
        }
    }
    if survived.is_empty() {
        Ok(())
    } else {
        Err(MutantError::Survived(survived))
    }
}

/// The profile that caught it and the rule that was broken, or why it was not caught.
fn try_one(tree: &Path, copy: &Path, patch: &Path) -> Result<(String, String), String> {
    apply(tree, patch, &[])?;
    let caught = build(tree, copy)
        .map_err(|output| format!("it does not compile: {output}"))
        .and_then(|program| hunt(&program, &profiles(patch)));
    apply(tree, patch, &["-R"])?;
    caught
}

fn apply(tree: &Path, patch: &Path, how: &[&str]) -> Result<(), String> {
    let (tree, patch) = (tree.display().to_string(), patch.display().to_string());
    let mut arguments = vec!["-p1", "--quiet", "--batch", "--no-backup-if-mismatch"];
    arguments.extend(["-d", &tree, "-i", &patch]);
    arguments.extend(how);
    let output = command("patch", &arguments, &[])?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "the patch does not apply: {}",
        last_line(&output.stdout)
    ))
}

/// The program, built from the copy.
fn build(tree: &Path, copy: &Path) -> Result<PathBuf, String> {
    let manifest = tree.join("Cargo.toml").display().to_string();
    let target = copy.join("target").display().to_string();
    let arguments = [
        "build",
        "--release",
        "-p",
        "sim",
        "--bin",
        "sim",
        "--manifest-path",
        &manifest,
    ];
    // Built ten times and run for seconds each: less optimised and in pieces is faster in all.
    let settings = [
        ("CARGO_TARGET_DIR", target.as_str()),
        ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1"),
        ("CARGO_PROFILE_RELEASE_INCREMENTAL", "true"),
        ("CARGO_PROFILE_RELEASE_DEBUG", "0"),
        ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "64"),
    ];
    let output = command(env!("CARGO"), &arguments, &settings)?;
    if output.status.success() {
        return Ok(copy.join("target/release/sim"));
    }
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let error = errors.lines().find(|line| line.starts_with("error"));
    Err(error.unwrap_or("cargo failed").to_owned())
}

/// All profiles, those first that the patch names after `Likely in: `.
fn profiles(patch: &Path) -> Vec<&'static str> {
    let text = fs::read_to_string(patch).unwrap_or_default();
    let named = text
        .lines()
        .find_map(|line| line.strip_prefix("Likely in: "));
    let named: Vec<&str> = named.unwrap_or_default().split_whitespace().collect();
    let mut profiles = PROFILES.to_vec();
    profiles.sort_by_key(|profile| !named.contains(profile));
    profiles
}

/// Runs seeds until a rule is broken.
fn hunt(program: &Path, profiles: &[&str]) -> Result<(String, String), String> {
    let seeds = format!("0..{SEEDS}");
    for &profile in profiles {
        let arguments = ["--seeds", &seeds, "--profile", profile];
        let output = command(&program.display().to_string(), &arguments, &[])?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let broken = text.lines().find_map(|line| line.strip_prefix("broken: "));
        if let Some(broken) = broken {
            let seed = text
                .lines()
                .find_map(|line| line.strip_prefix("replay: cargo sim --seed "));
            let seed = seed
                .and_then(|rest| rest.split_whitespace().next())
                .unwrap_or("?");
            return Ok((format!("{profile} {seed}"), broken.to_owned()));
        }
        if !output.status.success() {
            // A core that panics was caught as well.
            return Ok((profile.to_owned(), last_line(&output.stderr)));
        }
    }
    Err(format!("{SEEDS} seeds of each profile hold"))
}

#[expect(
    clippy::disallowed_methods,
    reason = "builds and runs the copy; no manager is near"
)]
fn command(program: &str, arguments: &[&str], settings: &[(&str, &str)]) -> Result<Output, String> {
    std::process::Command::new(program)
        .args(arguments)
        .envs(settings.iter().copied())
        .output()
        .map_err(|error| format!("could not start {program}: {error}"))
}

fn last_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.trim_end()
        .lines()
        .last()
        .unwrap_or_default()
        .to_owned()
}

fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        return fs::copy(from, to).map(|_| ());
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_name() != "target" {
            copy_all(&entry.path(), &to.join(entry.file_name()))?;
        }
    }
    Ok(())
}
