//! The program under test.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

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

/// `xav`, built with the daemons as the program that asks is built.
///
/// # Panics
///
/// Where it cannot be built.
pub fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| built(&["xav"]).join("xav"))
}

/// A program of a grid's manager, by its name.
///
/// # Panics
///
/// Where it cannot be built.
pub fn daemon(name: &str) -> PathBuf {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    let directory = DIRECTORY.get_or_init(|| built(&["xavantes-gm", "xavantes-pm", "xavantes-am"]));
    directory.join(name)
}

/// The program that compares policies, and `xav` with other programs.
///
/// # Panics
///
/// Where it cannot be built.
pub fn comparisons() -> PathBuf {
    built(&["compare"]).join("compare")
}

/// A small test, built already where all tests are. Cargo gives dependencies the features that tests need
/// only if it builds one: without it, the programs would need nearly all of our crates a second time.
const SMALL_TEST: &str = "frames";

/// Builds programs as the program that asks is built; the answer is the directory that has them.
fn built(names: &[&str]) -> PathBuf {
    let own = std::env::current_exe().expect("the system knows what runs");
    // target/PROFILE/deps/it-HASH, or target/PROFILE/recorded
    let directory = own.parent().expect("a program lies in a directory");
    let profile = if directory.ends_with("deps") {
        directory
            .parent()
            .expect("`deps` lies in another directory")
    } else {
        directory
    };
    let profile_name = match profile
        .file_name()
        .and_then(|name| name.to_str())
        .expect("a profile has a name")
    {
        "debug" => "dev",
        name => name,
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    for name in OWN {
        build.env_remove(name);
    }
    build.args(["build", "--quiet", "--workspace", "--test", SMALL_TEST]);
    for name in names {
        build.args(["--bin", name]);
    }
    let status = build
        .args(["--profile", profile_name, "--manifest-path"])
        .arg(root().join("Cargo.toml"))
        .arg("--target-dir")
        .arg(
            profile
                .parent()
                .expect("a profile lies in a target directory"),
        )
        .status()
        .expect("cargo is there, since it started this");
    assert!(status.success(), "{names:?} could not be built");
    profile.to_owned()
}

/// The workspace.
///
/// # Panics
///
/// Never: where this package lies is known when it is compiled.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("this package lies two directories deep")
}
