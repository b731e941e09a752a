//! The .deb that `packaging/build` makes: what it has, and what is left when it is purged. The archive: whose it is.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::program::{daemon, program, root};

/// Programs of the system that this needs.
const NEEDED: [&str; 4] = ["dpkg", "dpkg-deb", "dpkg-shlibdeps", "systemd-sysusers"];

fn is_there(name: &str) -> bool {
    Command::new("sh")
        .args(["-c", &format!("command -v {name}")])
        .output()
        .is_ok_and(|output| output.status.success())
}

/// Why there is no package here, if so.
fn lacks() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("only root may unpack a package".to_owned());
    }
    let lacking: Vec<&str> = NEEDED.into_iter().filter(|name| !is_there(name)).collect();
    (!lacking.is_empty()).then(|| format!("needs {}", lacking.join(", ")))
}

#[track_caller]
fn done(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    output
}

/// Files and directories below a directory.
fn below(directory: &Path, shown: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{shown}/{}", entry.file_name().display());
        if entry.file_type().unwrap().is_dir() {
            below(&entry.path(), &name, found);
        }
        found.push(name);
    }
    found.sort();
}

/// The package of a kind, in a directory that has nothing else.
fn packaged(kind: &str, to: &Path) -> PathBuf {
    // Both, where cargo builds them for the first time.
    let (_, binaries) = (program(), daemon("xavantes-gm"));
    done(
        Command::new(root().join("packaging/build"))
            .arg("--binaries")
            .arg(binaries.parent().unwrap())
            .arg("--to")
            .arg(to)
            .arg(kind)
            .env("DPKG_DEB_COMPRESSOR_TYPE", "none"),
    );
    let made = fs::read_dir(to).unwrap().next().unwrap();
    made.unwrap().path()
}

/// Checks that each program of a system runs and says who it is.
#[track_caller]
fn programs_run(system: &Path) {
    for name in ["xav", "xavantes-gm", "xavantes-pm", "xavantes-am"] {
        let path = system.join("usr/bin").join(name);
        let said = done(Command::new(&path).arg("--version")).stdout;
        let said = String::from_utf8(said).unwrap();
        assert!(said.starts_with(name), "{said}");
    }
}

#[test]
fn an_archive_has_programs_that_run_and_belongs_to_root() {
    if !is_there("tar") {
        println!("SKIPPED: needs tar");
        return;
    }
    let dir = TempDir::new().unwrap();
    let archive = packaged("tar", dir.path());
    let listed = done(Command::new("tar").args(["-tvzf"]).arg(&archive)).stdout;
    let listed = String::from_utf8(listed).unwrap();
    let of_others: Vec<&str> = listed
        .lines()
        .filter(|line| !line.contains(" root/root "))
        .collect();
    assert_eq!(of_others, [""; 0]);
    let outside = listed.lines().filter(|line| !line.contains(" usr/"));
    assert_eq!(outside.count(), 0, "{listed}");
    let system = dir.path().join("system");
    fs::create_dir(&system).unwrap();
    done(
        Command::new("tar")
            .arg("-xzf")
            .arg(&archive)
            .arg("-C")
            .arg(&system),
    );
    programs_run(&system);
    for file in [
        "usr/lib/systemd/system/xavantes-pm.service",
        "usr/lib/sysusers.d/xavantes.conf",
        "usr/share/doc/xavantes/LICENSE",
        "usr/share/doc/xavantes/third-party.gz",
    ] {
        let metadata = fs::metadata(system.join(file)).expect(file);
        assert_eq!(metadata.permissions().mode() & 0o7777, 0o644, "{file}");
    }
}

#[test]
fn a_package_is_installed_and_purged_and_leaves_nothing_but_state() {
    if let Some(why) = lacks() {
        println!("SKIPPED: {why}");
        return;
    }
    let dir = TempDir::new().unwrap();
    let package = packaged("deb", dir.path());
    assert_eq!(package.extension(), Some("deb".as_ref()), "{package:?}");
    let system = dir.path().join("system");
    for made in ["var/lib/dpkg/info", "var/lib/dpkg/updates", "etc"] {
        fs::create_dir_all(system.join(made)).unwrap();
    }
    fs::write(system.join("var/lib/dpkg/status"), "").unwrap();
    let dpkg = || {
        let mut dpkg = Command::new("dpkg");
        dpkg.arg(format!("--root={}", system.display()))
            .args(["--force-script-chrootless", "--force-depends"])
            .arg(format!("--log={}", dir.path().join("log").display()));
        dpkg
    };
    done(dpkg().arg("--install").arg(&package));
    programs_run(&system);
    for file in [
        "usr/lib/systemd/system/xavantes-am.service",
        "usr/share/bash-completion/completions/xav",
        "usr/share/man/man1/xav-run.1.gz",
        "usr/share/man/man8/xavantes-gm.8.gz",
        "usr/share/doc/xavantes/copyright",
        "usr/share/doc/xavantes/third-party.gz",
        "usr/share/doc/xavantes/samples/gm.toml",
    ] {
        let metadata = fs::metadata(system.join(file)).expect(file);
        assert_eq!(metadata.permissions().mode() & 0o7777, 0o644, "{file}");
    }
    let accounts = fs::read_to_string(system.join("etc/passwd")).unwrap();
    assert!(accounts.contains("xavantes:"), "{accounts}");
    let state = system.join("var/lib/xavantes");
    assert_eq!(
        fs::metadata(&state).unwrap().permissions().mode() & 0o777,
        0o711
    );
    // The files that a manager would have.
    fs::create_dir(state.join("gm")).unwrap();
    fs::write(state.join("gm/gm.toml"), "directory = \"state\"\n").unwrap();
    done(dpkg().args(["--purge", "xavantes"]));
    let mut left = Vec::new();
    below(&system, "", &mut left);
    left.retain(|path| !path.starts_with("/var/lib/dpkg") && !path.starts_with("/etc"));
    assert_eq!(
        left,
        [
            "/var",
            "/var/lib",
            "/var/lib/xavantes",
            "/var/lib/xavantes/gm",
            "/var/lib/xavantes/gm/gm.toml"
        ]
    );
    // The account owns the state, so it stays with it; without any, both go.
    let accounts = fs::read_to_string(system.join("etc/passwd")).unwrap();
    assert!(accounts.contains("xavantes:"), "{accounts}");
    fs::remove_dir_all(state.join("gm")).unwrap();
    done(dpkg().arg("--install").arg(&package));
    done(dpkg().args(["--purge", "xavantes"]));
    assert!(!state.exists());
    let accounts = fs::read_to_string(system.join("etc/passwd")).unwrap();
    assert!(!accounts.contains("xavantes:"), "{accounts}");
}
