//! `xav self check`: each fault that is planted on a machine is found, with what to do.

use std::fs;
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use model::{Identity, Role, Span, Wall};
use serde_json::Value;
use shell::identity::{Authority, Credentials, Key};

use crate::enrolment::{Yard, start};
use crate::grid::Disk;
use crate::program::program;
use crate::wait;

const DAY: u64 = 86_400;

/// The faults of a check: what is checked, and what was found. Advice depends on the system.
fn faults(yard: &Yard, arguments: &[&str]) -> Vec<(String, String)> {
    let done = yard.xav(&[&["self", "check", "--json"], arguments].concat());
    let findings: Value = serde_json::from_str(&done.stdout).unwrap();
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
    let findings = findings.as_array().unwrap();
    let faults: Vec<(String, String)> = findings
        .iter()
        .filter(|finding| finding["is_fault"] == true)
        .inspect(|finding| {
            assert!(!text(finding, "help").is_empty() && !text(finding, "place").is_empty())
        })
        .map(|finding| (text(finding, "check"), text(finding, "what")))
        .collect();
    assert_eq!(done.status, Some(i32::from(!faults.is_empty())), "{done:?}");
    faults
}

/// Asserts that a check finds one fault, which says this.
#[track_caller]
fn finds(yard: &Yard, arguments: &[&str], check: &str, what: &str) {
    let found = faults(yard, arguments);
    assert!(
        found.len() == 1 && found[0].0 == check && found[0].1.contains(what),
        "{check}: {found:?}"
    );
}

fn allow(yard: &Yard, path: &str, mode: u32) {
    fs::set_permissions(yard.sandbox.path(path), fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_grid_that_is_well_has_no_faults() {
    let yard = Yard::new();
    let (_gm, _pm) = (yard.gm(), yard.pm());
    let token = yard.token(&["--role", "am", "--name", "am1"]);
    let mut join = vec!["join", &token, "--dir", "lab/am", "--run"];
    if rustix::process::geteuid().is_root() {
        join.push("--shared");
    }
    let _am = start(&yard.sandbox, "xavantes-am", &join);
    let all = [
        "lab/gm/gm.toml",
        "lab/pm/pm.toml",
        "lab/am/am.toml",
        "--grid",
        "lab",
    ];
    wait::until("the grid is well", || {
        faults(&yard, &all).is_empty().then_some(())
    });
    let said = yard.xav(&[&["self", "check"], &all[..]].concat()).expect(0);
    said.shows("No faults (managers: 3, and the grid).");
}

#[test]
fn faults_of_files_are_found_while_nothing_runs() {
    let yard = Yard::new();
    let gm = ["lab/gm/gm.toml"];
    assert_eq!(faults(&yard, &gm), []);
    allow(&yard, "lab/gm/identity/certificate.key", 0o644);
    finds(&yard, &gm, "identity", "has mode 644");
    allow(&yard, "lab/gm/identity/certificate.key", 0o600);
    allow(&yard, "lab/gm/authority", 0o777);
    finds(&yard, &gm, "permissions", "other accounts may write there");
    allow(&yard, "lab/gm/authority", 0o700);
    if rustix::process::geteuid().is_root() {
        let authority = yard.sandbox.path("lab/gm/authority");
        std::os::unix::fs::chown(&authority, Some(70_000), None).unwrap();
        finds(&yard, &gm, "permissions", "belongs to another account");
        std::os::unix::fs::chown(&authority, Some(0), None).unwrap();
    }
    let config = yard.sandbox.path("lab/gm/gm.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{text}colour = \"red\"\n")).unwrap();
    finds(
        &yard,
        &gm,
        "configuration",
        "there is no setting \"colour\"",
    );
    fs::write(&config, &text).unwrap();
    let listen = text.lines().find_map(|line| line.strip_prefix("listen = "));
    let taken = UdpSocket::bind(listen.unwrap().trim_matches('"')).unwrap();
    finds(&yard, &gm, "port", "in use");
    drop(taken);
    // Few files may be open.
    let few = Command::new("sh")
        .args(["-c", "ulimit -n 256; exec \"$0\" self check lab/gm/gm.toml"])
        .arg(program())
        .current_dir(yard.sandbox.path(""))
        .output()
        .unwrap();
    assert_eq!(few.status.code(), Some(1), "{few:?}");
    let said = String::from_utf8(few.stdout).unwrap();
    assert!(
        said.contains("at most 256 open files are allowed") && said.contains("LimitNOFILE"),
        "{said}"
    );
    assert_eq!(faults(&yard, &gm), []);
}

#[test]
fn a_certificate_that_ends_and_a_group_manager_that_is_not_there_are_found() {
    let yard = Yard::new();
    let pm = ["lab/pm/pm.toml"];
    finds(&yard, &pm, "group-manager", "it cannot be asked");
    let gm = yard.gm();
    assert_eq!(faults(&yard, &pm), []);
    let authority = Authority::load(&yard.sandbox.path("lab/gm/authority")).unwrap();
    let now = shell::clock::wall();
    let certify = |age: u64, life: u64| {
        let key = Key::generate().unwrap();
        let identity = Identity::new("grid", "main", Role::Pm, "pm").unwrap();
        let signed = Wall(now.0 - Span::from_secs(age * DAY).0);
        let life = Span::from_secs(life * DAY);
        let issued = authority
            .issue(&key.request().unwrap(), &identity, signed, life)
            .unwrap();
        let place = yard.sandbox.path("lab/pm/identity");
        Credentials::save(&place, &issued.pem, &key, authority.pem()).unwrap();
    };
    certify(80, 90);
    finds(&yard, &pm, "certificate", "and it has not renewed it");
    certify(100, 90);
    finds(&yard, &pm, "certificate", "its certificate ");
    drop(gm);
    // As a user sees it.
    let lost = faults(&yard, &["--grid", "lab"]);
    assert_eq!(lost[0].0, "group-manager");
}

#[test]
fn an_account_that_is_missing_is_found() {
    let yard = Yard::new();
    let _gm = yard.gm();
    let token = yard.token(&["--role", "am"]);
    let (joined, text) = yard.join_am(&token, "am");
    assert!(joined, "{text}");
    let config = yard.sandbox.path("am/am.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(
        &config,
        text.replace("shared = true", "account = \"nobody-is-called-so\""),
    )
    .unwrap();
    finds(&yard, &["am/am.toml"], "account", "nobody-is-called-so");
}

#[test]
fn a_disk_that_is_nearly_full_is_found() {
    let yard = Yard::new();
    fs::create_dir(yard.sandbox.path("lab/gm/state")).unwrap();
    let Some(_disk) = Disk::mount(&yard.sandbox.path("lab/gm/state"), 64) else {
        println!("SKIPPED: a small disk cannot be mounted here (only root may)");
        return;
    };
    finds(
        &yard,
        &["lab/gm/gm.toml"],
        "disk",
        "its disk is nearly full: 64.0 MiB are free",
    );
}
