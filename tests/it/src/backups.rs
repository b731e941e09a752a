//! Backups of managers: a grid whose managers lose their disks goes on from a copy, with its machines.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::enrolment::{Yard, start};
use crate::running_daemon::RunningDaemon;
use crate::wait;

/// The machines that are ready.
fn ready(yard: &Yard) -> usize {
    let nodes = yard.xav(&["nodes", "--json", "--grid", "lab"]);
    let nodes: Value = serde_json::from_str(&nodes.stdout).unwrap_or_default();
    let nodes = nodes.as_array().cloned().unwrap_or_default();
    nodes.iter().filter(|node| node["state"] == "ready").count()
}

/// A machine that has joined and is ready.
fn joined(yard: &Yard) -> RunningDaemon {
    let token = yard.token(&["--role", "am", "--name", "am1"]);
    let mut join = vec!["join", &token, "--dir", "lab/am1", "--run"];
    if rustix::process::geteuid().is_root() {
        join.push("--shared");
    }
    let am = start(&yard.sandbox, "xavantes-am", &join);
    until_ready(yard);
    am
}

fn until_ready(yard: &Yard) {
    wait::until("the machine is ready", || (ready(yard) == 1).then_some(()));
}

#[track_caller]
fn runs(yard: &Yard) {
    let run = yard.xav(&["run", "two.yaml", "--grid", "lab/client", "--quiet"]);
    assert!(run.expect(0).stdout.contains("word: two"));
}

const TWO: &str = "\
xavantes: 1
name: two
variables: { word: string }
outputs: { word: '${ word }' }
body:
  sequence:
    - activity: say
      run: [echo, -n, two]
      stdout: { into: word }
";

#[test]
fn managers_that_lose_their_disks_go_on_from_a_backup_with_their_machines() {
    let yard = Yard::new();
    yard.sandbox.file("two.yaml", TWO);
    let (mut gm, mut pm) = (yard.gm(), yard.pm());
    let _am = joined(&yard);
    runs(&yard);
    let open = yard.token(&["--role", "am"]);
    // A manager that runs is not copied with its journals.
    let backup = |of: &str, to: &str, more: &[&str]| {
        let config = format!("lab/{of}/{of}.toml");
        yard.xav(&[&["grid", "backup", &config, "--to", to], more].concat())
    };
    let refused = backup("gm", "running", &[]).expect(1);
    refused.says("stop it first, or leave them out with --without-state");
    backup("gm", "running", &["--without-state"]).expect(0);
    assert!(
        yard.sandbox
            .path("running/files/authority/authority.key")
            .exists()
    );
    assert!(!yard.sandbox.path("running/files/state").exists());
    gm.stop();
    pm.stop();
    backup("gm", "of-gm", &[]).expect(0);
    backup("pm", "of-pm", &[]).expect(0);
    // The managers go on, and then their disks are lost.
    (gm, pm) = (yard.gm(), yard.pm());
    until_ready(&yard);
    runs(&yard);
    gm.kill();
    pm.kill();
    for manager in ["gm", "pm"] {
        let dir = format!("lab/{manager}");
        let from = format!("of-{manager}");
        yard.xav(&["grid", "restore", &from, &dir])
            .expect(2)
            .says("is not empty; nothing is written over");
        fs::remove_dir_all(yard.sandbox.path(&dir)).unwrap();
        yard.xav(&["grid", "restore", &from, &dir]).expect(0);
    }
    let (_gm, _pm) = (yard.gm(), yard.pm());
    until_ready(&yard);
    runs(&yard);
    let list = yard.xav(&["list", "--json", "--grid", "lab/client"]);
    let list: Value = serde_json::from_str(&list.expect(0).stdout).unwrap();
    // The one before the backup and the one after the restore.
    assert_eq!(list.as_array().unwrap().len(), 2);
    let (joined, text) = yard.join_am(&open, "n1");
    assert!(
        !joined && text.ends_with("the join token was cancelled"),
        "{text}"
    );
}

#[test]
fn a_process_manager_that_is_restored_alone_is_heard_by_those_that_saw_later_epochs_of_it() {
    let yard = Yard::new();
    yard.sandbox.file("two.yaml", TWO);
    let (_gm, mut pm) = (yard.gm(), yard.pm());
    let _am = joined(&yard);
    pm.stop();
    yard.xav(&["grid", "backup", "lab/pm/pm.toml", "--to", "of-pm"])
        .expect(0);
    for _ in 0..2 {
        pm = yard.pm();
        runs(&yard);
        pm.kill();
    }
    fs::remove_dir_all(yard.sandbox.path("lab/pm")).unwrap();
    yard.xav(&["grid", "restore", "of-pm", "lab/pm"]).expect(0);
    let _pm = yard.pm();
    runs(&yard);
}

#[test]
fn what_ended_since_the_backup_of_a_process_manager_runs_again_on_machines_that_went_on() {
    let yard = Yard::new();
    let go = yard.sandbox.path("go");
    let held = format!(
        "\
xavantes: 1
name: held
body:
  sequence:
    - {{ activity: first, run: {{ shell: 'until [ -e {} ]; do sleep 0.02; done' }} }}
    - {{ activity: second, run: ['true'] }}
",
        go.display()
    );
    yard.sandbox.file("held.yaml", &held);
    let (_gm, mut pm) = (yard.gm(), yard.pm());
    let _am = joined(&yard);
    let submitted = yard.xav(&["submit", "held.yaml", "--grid", "lab/client"]);
    let id = submitted.expect(0).stdout.trim_end().to_owned();
    let until = |what: &str, says: &dyn Fn(&Value) -> bool| {
        wait::until(what, || {
            let status = yard.xav(&["status", &id, "--json", "--grid", "lab/client"]);
            let status: Value = serde_json::from_str(&status.stdout).ok()?;
            says(&status).then_some(())
        });
    };
    until("the first activity runs", &|status| {
        status["activities"]["running"] == 1
    });
    pm.stop();
    yard.xav(&["grid", "backup", "lab/pm/pm.toml", "--to", "of-pm"])
        .expect(0);
    pm = yard.pm();
    fs::write(&go, "").unwrap();
    let completed = |status: &Value| status["state"] == "completed";
    until("the process completes", &completed);
    pm.kill();
    fs::remove_dir_all(yard.sandbox.path("lab/pm")).unwrap();
    yard.xav(&["grid", "restore", "of-pm", "lab/pm"]).expect(0);
    let _pm = yard.pm();
    until("the process completes once more", &completed);
}

#[test]
fn a_group_manager_restored_without_its_state_is_heard_by_those_that_went_on() {
    let yard = Yard::new();
    yard.sandbox.file("two.yaml", TWO);
    let (mut gm, _pm) = (yard.gm(), yard.pm());
    let _am = joined(&yard);
    runs(&yard);
    let backup = ["grid", "backup", "lab/gm/gm.toml", "--to", "of-gm"];
    let without = ["--without-state"];
    yard.xav(&[&backup[..], &without].concat()).expect(0);
    gm.kill();
    fs::remove_dir_all(yard.sandbox.path("lab/gm")).unwrap();
    yard.xav(&["grid", "restore", "of-gm", "lab/gm"]).expect(0);
    let _gm = yard.gm();
    until_ready(&yard);
    runs(&yard);
}

#[test]
fn a_damaged_backup_makes_nothing() {
    let yard = Yard::new();
    yard.xav(&["grid", "backup", "lab/gm/gm.toml", "--to", "copy"])
        .expect(0);
    let key = yard.sandbox.path("copy/files/authority/authority.key");
    let text = fs::read_to_string(&key).unwrap();
    fs::write(&key, text.replacen('A', "B", 1)).unwrap();
    let damaged = yard.xav(&["grid", "restore", "copy", "again"]);
    damaged.expect(1).says("it is not what was backed up");
    fs::remove_file(&key).unwrap();
    yard.xav(&["grid", "restore", "copy", "again"]).expect(1);
    fs::write(yard.sandbox.path("copy/manifest"), "xavantes-backup 2\n").unwrap();
    let other = yard.xav(&["grid", "restore", "copy", "again"]);
    other.expect(2).says("is no backup of this version");
    assert!(!Path::new(&yard.sandbox.path("again")).exists());
}

#[test]
fn parts_that_lie_elsewhere_are_named_and_a_machine_is_not_backed_up() {
    let yard = Yard::new();
    let config = yard.sandbox.path("lab/gm/gm.toml");
    let text = fs::read_to_string(&config).unwrap();
    let elsewhere = text.replace("authority = \"authority\"", "authority = \"/elsewhere\"");
    fs::write(&config, elsewhere).unwrap();
    let backup = |config: &str| {
        yard.xav(&["grid", "backup", config, "--to", "copy"])
            .expect(2)
    };
    backup("lab/gm/gm.toml").says("authority = /elsewhere is not below");
    yard.sandbox.file("am.toml", "");
    backup("am.toml").says("a machine whose disk is lost joins again with a token");
}
