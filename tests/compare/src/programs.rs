//! The programs that are measured, built where this one was built.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Variables that cargo sets for a program of its own package. ring's build script reads them: with them,
/// ring and its dependents would be built again.
const OWN: [&str; 7] = [
    "CARGO_MANIFEST_DIR",
    "CARGO_MANIFEST_LINKS",
    "CARGO_PKG_NAME",
    "CARGO_PKG_VERSION_MAJOR",
    "CARGO_PKG_VERSION_MINOR",
    "CARGO_PKG_VERSION_PATCH",
    "CARGO_PKG_VERSION_PRE",
];

/// The directory of this program.
pub(crate) fn directory() -> Result<PathBuf> {
    let own = std::env::current_exe().context("could not find the own program")?;
    let directory = own.parent().context("a program lies in a directory")?;
    Ok(directory.to_owned())
}

/// Builds the programs of a grid. The answer is the directory that has them.
pub(crate) fn of_a_grid() -> Result<PathBuf> {
    build(&[
        ("xav", "xav"),
        ("group-daemon", "xavantes-gm"),
        ("process-daemon", "xavantes-pm"),
        ("activity-daemon", "xavantes-am"),
    ])
}

/// Builds programs, given as package and program, with the cargo that runs this one. The answer is
/// the directory that has them.
pub(crate) fn build(programs: &[(&str, &str)]) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let own = directory()?;
    let target = own.parent().context("a profile has a target directory")?;
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
    let mut build = Command::new(cargo);
    for name in OWN {
        build.env_remove(name);
    }
    build.args(["build", "--release"]);
    for (package, program) in programs {
        build.args(["-p", package, "--bin", program]);
    }
    let status = build
        .arg("--manifest-path")
        .arg(manifest)
        .arg("--target-dir")
        .arg(target)
        .status()
        .context("could not start cargo to build what is measured")?;
    ensure!(
        status.success(),
        "what is measured could not be built; --skip-xav measures the rest"
    );
    Ok(target.join("release"))
}
