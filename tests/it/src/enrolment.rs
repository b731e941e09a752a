//! A grid from nothing, with the real programs on loopback: made, joined, looked at, and everybody
//! who is not let in.

mod barred;
mod holders;
mod tokens;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::program::daemon;
use crate::running_daemon::{RunningDaemon, two_ports};
use crate::sandbox::{Done, Sandbox};
use crate::wait;

/// A user with a grid.
pub(crate) struct Yard {
    pub(crate) sandbox: Sandbox,
}

#[track_caller]
pub(crate) fn start(sandbox: &Sandbox, program: &str, arguments: &[&str]) -> RunningDaemon {
    let mut command = Command::new(daemon(program));
    command.args(arguments).current_dir(sandbox.path(""));
    RunningDaemon::start(&mut command).unwrap()
}

impl Yard {
    pub(crate) fn new() -> Yard {
        let yard = Yard {
            sandbox: Sandbox::new(),
        };
        yard.init("lab");
        yard
    }

    fn init(&self, dir: &str) {
        let port = two_ports().unwrap().to_string();
        let done = self.xav(&["grid", "init", dir, "--port", &port]);
        assert_eq!(done.status, Some(0), "{done:?}");
    }

    pub(crate) fn xav(&self, arguments: &[&str]) -> Done {
        self.sandbox.xav(arguments)
    }

    pub(crate) fn gm(&self) -> RunningDaemon {
        start(
            &self.sandbox,
            "xavantes-gm",
            &["--config", "lab/gm/gm.toml"],
        )
    }

    pub(crate) fn pm(&self) -> RunningDaemon {
        start(
            &self.sandbox,
            "xavantes-pm",
            &["--config", "lab/pm/pm.toml"],
        )
    }

    #[track_caller]
    pub(crate) fn token(&self, arguments: &[&str]) -> String {
        let all = [&["token", "create", "--grid", "lab"], arguments].concat();
        let done = self.xav(&all);
        assert_eq!(done.status, Some(0), "{done:?}");
        done.stdout.trim_end().to_owned()
    }

    /// Joins as a machine; returns the exit status and both outputs.
    pub(crate) fn join_am(&self, token: &str, dir: &str) -> (bool, String) {
        let output = Command::new(daemon("xavantes-am"))
            .args(["join", token, "--dir", dir, "--name", "node", "--shared"])
            .current_dir(self.sandbox.path(""))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        (output.status.success(), text.trim_end().to_owned())
    }

    /// Waits for a machine in this state.
    #[track_caller]
    fn wait_for(&self, name: &str, state: &str) -> Value {
        wait::until(&format!("{name} is {state}"), || {
            let nodes = self.sandbox.json(&["nodes", "--grid", "lab", "--json"]);
            let nodes = nodes.as_array().cloned().unwrap_or_default();
            let is_meant = |node: &Value| node["name"] == name && node["state"] == state;
            nodes.into_iter().find(is_meant)
        })
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_grid_is_made_once_and_its_keys_are_its_owners() {
    let yard = Yard::new();
    let lab = yard.sandbox.path("lab");
    for directory in ["", "gm", "gm/identity", "gm/authority", "pm", "client"] {
        assert_eq!(mode(&lab.join(directory)), 0o700, "{directory}");
    }
    let keys = [
        "gm/authority/authority.key",
        "gm/identity/certificate.key",
        "pm/identity/certificate.key",
        "client/identity/certificate.key",
    ];
    for key in keys {
        assert_eq!(mode(&lab.join(key)), 0o600, "{key}");
    }
    let files = ["lab/gm/gm.toml", "lab/pm/pm.toml", "lab/client/grid.toml"];
    let done = yard.xav(&[&["config", "check"], &files[..]].concat());
    assert_eq!(done.status, Some(0), "{done:?}");

    let again = yard.xav(&["grid", "init", "lab"]);
    assert_eq!(again.status, Some(2));
    assert!(again.stderr.contains("lab is not empty"), "{again:?}");
    let odd = yard.xav(&["grid", "init", "other", "--grid", "Big ReadmeGrid"]);
    assert_eq!(odd.status, Some(2), "{odd:?}");
    assert!(
        odd.stderr.contains("cannot be \"Big ReadmeGrid\""),
        "{odd:?}"
    );
    assert!(!yard.sandbox.path("other").exists());
    let none = yard.xav(&["nodes"]);
    assert!(none.stderr.contains("no grid was given"), "{none:?}");
    let down = yard.xav(&["nodes", "--grid", "lab"]);
    assert_eq!(down.status, Some(1));
    assert!(
        down.stderr.contains("could not ask the group manager"),
        "{down:?}"
    );
}

#[test]
fn slots_of_a_process_manager_whose_certificate_is_revoked_are_free_when_its_leases_have_ended() {
    let yard = Yard::new();
    // Its absence alone would end nothing here.
    let config = yard.sandbox.path("lab/gm/gm.toml");
    let text = fs::read_to_string(&config).unwrap() + "holdings-end-after = \"1h\"\n";
    fs::write(&config, text).unwrap();
    let (_gm, _pm) = (yard.gm(), yard.pm());
    let token = yard.token(&["--role", "am"]);
    let join = [
        "join", &token, "--dir", "lab/am1", "--name", "am1", "--run", "--slots", "2", "--shared",
    ];
    let _am = start(&yard.sandbox, "xavantes-am", &join);
    yard.wait_for("am1", "ready");
    let file = yard.sandbox.file(
        "long.yaml",
        "xavantes: 1\nname: long\nbody: { activity: one, cores: 2, run: [sleep, '600'] }\n",
    );
    let done = yard.xav(&["submit", &file, "--grid", "lab"]);
    assert_eq!(done.status, Some(0), "{done:?}");
    let held = |slots: u32| {
        wait::until("slots to be held, or free", || {
            let node = yard.wait_for("am1", "ready");
            (node["held"] == slots).then_some(())
        });
    };
    held(2);
    // Only a process manager that is away may lose slots by hand.
    let release = |what: &str| yard.xav(&["nodes", "--release", what, "--grid", "lab"]);
    release("pm")
        .expect(1)
        .says("process manager pm is connected: `xav cancel`");
    release("nobody")
        .expect(2)
        .says("there is no process nobody")
        .says("nor a process manager of that name");
    let node = yard.wait_for("am1", "ready");
    let process = node["holders"][0]["process"].as_str().unwrap();
    release(&process[..6])
        .expect(1)
        .says("process manager pm is connected: `xav cancel`");
    let revoked = yard.xav(&["cert", "revoke", "pm/pm", "--grid", "lab"]);
    assert_eq!(revoked.status, Some(0), "{revoked:?}");
    held(0);
    let none = release("pm/pm").expect(0);
    assert_eq!(none.stdout, "It holds no slots.\n");
}

#[test]
fn a_machine_whose_commands_run_as_its_manager_does_not_link_inputs() {
    let yard = Yard::new();
    let _gm = yard.gm();
    let (joined, text) = yard.join_am(&yard.token(&["--role", "am"]), "n1");
    assert!(joined, "{text}");
    let config = yard.sandbox.path("n1/am.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text + "inputs = \"link\"\n").unwrap();
    let output = Command::new(daemon("xavantes-am"))
        .arg("--config")
        .arg(&config)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(text.contains("inputs = \"link\" needs commands"), "{text}");
}

#[test]
fn two_machines_join_are_looked_at_drained_and_revoked() {
    let yard = Yard::new();
    let mut gm = yard.gm();
    let mut pm = yard.pm();
    let am = |name: &str| {
        let token = yard.token(&["--role", "am"]);
        let dir = format!("lab/{name}");
        let arguments = [
            "join", &token, "--dir", &dir, "--name", name, "--run", "--slots", "3", "--shared",
        ];
        start(&yard.sandbox, "xavantes-am", &arguments)
    };
    let mut am1 = am("am1");
    let am2 = am("am2");
    yard.wait_for("am1", "ready");
    // It tells of itself a little later than it registers.
    let node = wait::until("am1 tells of itself", || {
        let node = yard.wait_for("am1", "ready");
        node["version"].is_string().then_some(node)
    });
    assert_eq!((&node["slots"], &node["free"]), (&3.into(), &3.into()));
    assert!(node["power"].as_f64().unwrap() > 0.0);
    assert!(node["load"]["cores"].as_u64().unwrap() > 0, "{node}");
    assert!(
        node["load"]["memory_free_bytes"].as_u64().unwrap() > 0,
        "{node}"
    );
    yard.wait_for("am2", "ready");

    let done = yard.xav(&["drain", "am2", "--grid", "lab"]);
    assert_eq!(done.status, Some(0), "{done:?}");
    let node = yard.wait_for("am2", "drained");
    assert_eq!(node["free"], 0);
    let unknown = yard.xav(&["drain", "am3", "--grid", "lab"]);
    assert!(
        unknown.stderr.contains("there is no machine \"am3\""),
        "{unknown:?}"
    );
    // A group manager that is killed knows it afterwards, and machines come back by themselves.
    gm.kill();
    let mut gm = yard.gm();
    yard.wait_for("am1", "ready");
    yard.wait_for("am2", "drained");
    yard.xav(&["undrain", "am2", "--grid", "lab"]);
    yard.wait_for("am2", "ready");

    let revoked = yard.xav(&["cert", "revoke", "am/am2", "--grid", "lab"]);
    assert!(
        revoked.stdout.contains("xav://grid/main/am/am2"),
        "{revoked:?}"
    );
    let node = yard.wait_for("am2", "suspect");
    assert_eq!(node["why"], "its manager cannot be reached");
    // The process manager hears of it, and its link ends too.
    let log = yard.sandbox.path("lab/pm/state/log");
    wait::until("the process manager ends the link", || {
        let text = fs::read_to_string(&log).ok()?;
        let mut lines = text.lines();
        lines.find(|line| line.contains("a link is down") && line.contains("was revoked"))?;
        Some(())
    });
    let list = yard
        .sandbox
        .json(&["cert", "list", "--grid", "lab", "--json"]);
    let states: Vec<(&str, &str)> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (
                one["holder"].as_str().unwrap(),
                one["state"].as_str().unwrap(),
            )
        })
        .filter(|(holder, _)| holder.contains("/am/"))
        .collect();
    assert_eq!(
        states,
        [
            ("xav://grid/main/am/am1", "valid"),
            ("xav://grid/main/am/am2", "revoked")
        ]
    );
    let log = yard.xav(&["logs", "--daemon", "--grid", "lab", "-n", "500"]);
    assert!(log.stdout.contains("a member has joined"), "{log:?}");
    // The audit log names the token by its ID.
    let tells_join = |line: &&str| line.contains("audit") && line.contains(" with token ");
    assert!(log.stdout.lines().any(|line| tells_join(&line)), "{log:?}");
    yard.wait_for("am1", "ready");
    am1.stop();
    drop(am2);
    pm.stop();
    gm.stop();
}

#[test]
fn who_has_no_right_token_does_not_join() {
    let yard = Yard::new();
    let _gm = yard.gm();
    let token = yard.token(&["--role", "am"]);
    // A slip of the hand, and another kind of daemon: nothing is asked for.
    let (_, text) = yard.join_am(&token[..token.len() - 1], "n1");
    assert!(text.contains("was not copied whole"), "{text}");
    let for_pm = yard.token(&["--role", "pm"]);
    let (_, text) = yard.join_am(&for_pm, "n1");
    assert_eq!(text, "error: the join token is for pm, not for am");
    if rustix::process::geteuid().is_root() {
        let output = Command::new(daemon("xavantes-am"))
            .args(["join", &token, "--dir", "n1"])
            .current_dir(yard.sandbox.path(""))
            .output()
            .unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains("commands would run as root"), "{text}");
    }
    // It is not used up by that, nor by a wrong name.
    let named = yard.token(&["--role", "am", "--name", "other"]);
    let (_, text) = yard.join_am(&named, "n1");
    assert!(text.contains("is for the name \"other\""), "{text}");
    assert!(!yard.sandbox.path("n1").exists());
    let (joined, text) = yard.join_am(&token, "n1");
    assert!(joined, "{text}");
    assert_eq!(
        mode(&yard.sandbox.path("n1/identity/certificate.key")),
        0o600
    );
    let (_, text) = yard.join_am(&token, "n2");
    assert!(text.ends_with("the join token has been used"), "{text}");
    let second = yard.token(&["--role", "am"]);
    let (_, text) = yard.join_am(&second, "n2");
    assert!(
        text.contains("there is a member xav://grid/main/am/node already"),
        "{text}"
    );

    let short = yard.token(&["--role", "am", "--ttl", "1s"]);
    let text = wait::until("the token expires", || {
        // Its name is taken, so it lets nobody in before that.
        let (_, text) = yard.join_am(&short, "n2");
        text.contains("expired").then_some(text)
    });
    assert!(text.ends_with("the join token has expired"), "{text}");
}

#[test]
fn a_token_of_another_authority_tells_nothing_to_this_one() {
    let yard = Yard::new();
    let mut gm = yard.gm();
    let token = yard.token(&["--role", "am"]);
    gm.stop();
    // At the same address there is another grid of the same names.
    let toml = fs::read_to_string(yard.sandbox.path("lab/gm/gm.toml")).unwrap();
    yard.init("other");
    fs::write(yard.sandbox.path("other/gm/gm.toml"), toml).unwrap();
    let arguments = ["--config", "other/gm/gm.toml"];
    let _other = start(&yard.sandbox, "xavantes-gm", &arguments);
    let (_, text) = yard.join_am(&token, "n1");
    assert!(
        text.ends_with("the certificate is of an authority that is not trusted"),
        "{text}"
    );
    let denied = yard.xav(&["nodes", "--grid", "lab"]);
    assert!(denied.stderr.contains("is not trusted"), "{denied:?}");
}

#[test]
fn users_look_and_administrators_change() {
    let yard = Yard::new();
    let _gm = yard.gm();
    let token = yard.token(&["--role", "user", "--name", "ada"]);
    let done = yard.xav(&["grid", "join", &token, "ada"]);
    assert!(
        done.stdout.starts_with("You are ada in the grid grid."),
        "{done:?}"
    );
    let check = yard.xav(&["config", "check", "ada/grid.toml"]);
    assert_eq!(check.status, Some(0), "{check:?}");
    let nodes = yard.xav(&["nodes", "--grid", "ada"]);
    assert_eq!(nodes.status, Some(0), "{nodes:?}");
    let refused: [&[&str]; 6] = [
        &["token", "create", "--role", "am"],
        &["cert", "list"],
        &["cert", "revoke", "user/ada"],
        &["drain", "am1"],
        &["logs", "--daemon"],
        &["logs", "--daemon", "am1"],
    ];
    for arguments in refused {
        let done = yard.xav(&[arguments, &["--grid", "ada"]].concat());
        assert_eq!(done.status, Some(1), "{arguments:?}");
        assert!(
            done.stderr.contains("this is for administrators only"),
            "{arguments:?}: {done:?}"
        );
    }
    let before = fs::read(yard.sandbox.path("ada/identity/certificate.pem")).unwrap();
    let early = yard.xav(&["cert", "renew", "--grid", "ada"]);
    assert_eq!(early.status, Some(1), "{early:?}");
    assert!(
        early.stderr.contains("the certificate is renewed from 2"),
        "{early:?}"
    );
    let after = fs::read(yard.sandbox.path("ada/identity/certificate.pem")).unwrap();
    assert_eq!(before, after);
    yard.xav(&["cert", "revoke", "user/ada", "--grid", "lab"]);
    wait::until("ada is not answered", || {
        let done = yard.xav(&["nodes", "--grid", "ada"]);
        done.stderr
            .contains("the certificate was revoked")
            .then_some(())
    });
    let own = yard.xav(&["cert", "revoke", "gm/gm", "--grid", "lab"]);
    assert!(own.stderr.contains("does not revoke its own"), "{own:?}");
}

#[test]
fn a_user_renews_a_certificate_that_is_due_once() {
    let yard = Yard::new();
    let config = yard.sandbox.path("lab/gm/gm.toml");
    // With a minute's life, every certificate is due at once: it is valid from some minutes ago.
    let text = fs::read_to_string(&config).unwrap() + "certificate-life = \"60s\"\n";
    fs::write(&config, text).unwrap();
    let _gm = yard.gm();
    let token = yard.token(&["--role", "user", "--name", "ada"]);
    yard.xav(&["grid", "join", &token, "ada"]);
    let renewed = yard.xav(&["cert", "renew", "--grid", "ada"]);
    assert!(
        renewed
            .stdout
            .starts_with("Your certificate is valid until"),
        "{renewed:?}"
    );
    let again = yard.xav(&["cert", "renew", "--grid", "ada"]);
    assert_eq!(again.status, Some(1), "{again:?}");
    assert!(again.stderr.contains("was renewed less than"), "{again:?}");
}

#[test]
fn members_renew_their_certificates_and_stay_linked() {
    let yard = Yard::new();
    let config = yard.sandbox.path("lab/gm/gm.toml");
    // With a minute's life, every certificate is due at once: it is valid from some minutes ago.
    let text = fs::read_to_string(&config).unwrap() + "certificate-life = \"60s\"\n";
    fs::write(&config, text).unwrap();
    let mut gm = yard.gm();
    let token = yard.token(&["--role", "am"]);
    let arguments = [
        "join", &token, "--dir", "lab/am1", "--name", "am1", "--run", "--shared",
    ];
    let mut am = start(&yard.sandbox, "xavantes-am", &arguments);
    let log = yard.sandbox.path("lab/am1/state/log");
    let text = wait::until("the certificate is renewed and read", || {
        let text = fs::read_to_string(&log).ok()?;
        text.contains("certificates were read again")
            .then_some(text)
    });
    assert!(text.contains("the own certificate was renewed"), "{text}");
    assert!(!text.contains("a link is down"), "{text}");
    let list = yard
        .sandbox
        .json(&["cert", "list", "--grid", "lab", "--json"]);
    let of_am = list.as_array().unwrap().iter();
    let n_of_am = of_am
        .filter(|one| one["holder"] == "xav://grid/main/am/am1")
        .count();
    assert_eq!(n_of_am, 2);
    yard.wait_for("am1", "ready");
    am.stop();
    gm.stop();
}
