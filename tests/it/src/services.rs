//! Daemons as services: what they tell the service manager that started them, and the secrets that it gives
//! them. The service manager here is a socket that the test reads.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::process::Command;
use std::time::Duration;

use crate::program::daemon;
use crate::running_daemon::{RunningDaemon, two_ports};
use crate::sandbox::Sandbox;
use crate::wait;

/// The time in which the service manager wants a sign of life, in microseconds.
const PATIENCE_MICROS: u64 = 900_000;

/// A silence after which a service manager would act: several times that.
const SILENCE: Duration = Duration::from_secs(4);

/// The end of a service manager: the socket at which it hears of one service.
struct Manager {
    socket: UnixDatagram,
    path: String,
}

impl Manager {
    fn listen(sandbox: &Sandbox, name: &str) -> Manager {
        let path = sandbox.path(name);
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(SILENCE)).unwrap();
        let path = path.display().to_string();
        Manager { socket, path }
    }

    fn watches<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .env("NOTIFY_SOCKET", &self.path)
            .env("WATCHDOG_USEC", PATIENCE_MICROS.to_string())
            .env_remove("WATCHDOG_PID")
    }

    /// The next message; none after a long silence.
    fn hears(&self) -> Option<String> {
        let mut bytes = [0; 4_096];
        let n_bytes = self.socket.recv(&mut bytes).ok()?;
        Some(String::from_utf8(bytes[..n_bytes].to_vec()).unwrap())
    }

    /// Waits for a message with this line.
    #[track_caller]
    fn waits_for(&self, line: &str) -> String {
        wait::until(line, || {
            self.hears()
                .filter(|heard| heard.lines().any(|heard| heard == line))
        })
    }
}

/// A grid that was made, and is started piece by piece.
fn grid() -> Sandbox {
    let sandbox = Sandbox::new();
    let port = two_ports().unwrap().to_string();
    sandbox
        .xav(&["grid", "init", "lab", "--port", &port])
        .expect(0);
    sandbox
}

fn command(sandbox: &Sandbox, name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(daemon(name));
    command.args(arguments).current_dir(sandbox.path(""));
    command
}

/// Has a machine join, and starts its manager.
fn machine(sandbox: &Sandbox, manager: Option<&Manager>) -> RunningDaemon {
    let token = sandbox
        .xav(&["token", "create", "--role", "am", "--grid", "lab"])
        .expect(0)
        .stdout;
    let mut arguments = vec!["join", token.trim_end(), "--dir", "lab/am1", "--run"];
    if rustix::process::geteuid().is_root() {
        arguments.push("--shared");
    }
    let mut command = command(sandbox, "xavantes-am", &arguments);
    if let Some(manager) = manager {
        manager.watches(&mut command);
    }
    RunningDaemon::start(&mut command).unwrap()
}

#[test]
fn each_daemon_says_that_it_serves_goes_on_and_stops() {
    let sandbox = grid();
    let heard = ["gm", "pm", "am"].map(|name| Manager::listen(&sandbox, name));
    let start = |name: &str, config: &str, manager: &Manager| {
        let mut command = command(&sandbox, name, &["--config", config]);
        RunningDaemon::start(manager.watches(&mut command)).unwrap()
    };
    let gm = start("xavantes-gm", "lab/gm/gm.toml", &heard[0]);
    let pm = start("xavantes-pm", "lab/pm/pm.toml", &heard[1]);
    let am = machine(&sandbox, Some(&heard[2]));
    for (mut daemon, manager) in [am, pm, gm].into_iter().zip(heard.iter().rev()) {
        // Readiness is the first word, and the status says where it listens.
        let first = manager.hears().unwrap();
        let mut lines = first.lines();
        assert_eq!(lines.next(), Some("READY=1"), "{first}");
        let status = lines.next().unwrap();
        let listens = format!("listens on {}, ", daemon.address);
        assert!(
            status.starts_with("STATUS=") && status.contains(&listens),
            "{status}"
        );
        manager.waits_for("WATCHDOG=1");
        manager.waits_for("WATCHDOG=1");
        daemon.stop();
        manager.waits_for("STOPPING=1");
    }
}

#[test]
fn a_loop_that_stands_still_gives_no_sign_of_life_though_its_program_runs() {
    let sandbox = grid();
    let manager = Manager::listen(&sandbox, "gm");
    let mut command = command(&sandbox, "xavantes-gm", &["--config", "lab/gm/gm.toml"]);
    // Its loop stands when the first machine is recorded.
    command.env("XAVANTES_STAND", "group:1");
    let mut gm = RunningDaemon::start(manager.watches(&mut command)).unwrap();
    manager.waits_for("WATCHDOG=1");
    let machine = machine(&sandbox, None);
    wait::until("signs of life end", || {
        manager.hears().is_none().then_some(())
    });
    // A thread that always ticks would still say that all is well.
    assert!(gm.runs());
    gm.kill();
    drop(machine);
}

#[test]
fn keys_may_come_from_the_service_manager() {
    let sandbox = grid();
    let given = sandbox.path("credentials");
    fs::create_dir(&given).unwrap();
    let keys = [
        ("lab/gm/identity/certificate.key", "certificate.key"),
        ("lab/gm/authority/authority.key", "authority.key"),
    ];
    for (from, name) in keys {
        fs::rename(sandbox.path(from), given.join(name)).unwrap();
        // As systemd shows a file that an access control list opens to the service's account.
        fs::set_permissions(given.join(name), fs::Permissions::from_mode(0o440)).unwrap();
    }
    let start = || {
        let mut command = command(&sandbox, "xavantes-gm", &["--config", "lab/gm/gm.toml"]);
        RunningDaemon::start(command.env("CREDENTIALS_DIRECTORY", &given))
    };
    let gm = start().unwrap();
    // It signs with the authority's key.
    let mut machine = machine(&sandbox, None);
    machine.stop();
    drop(gm);
    fs::set_permissions(
        given.join("certificate.key"),
        fs::Permissions::from_mode(0o444),
    )
    .unwrap();
    assert!(start().is_err(), "a key that everybody may read");
}
