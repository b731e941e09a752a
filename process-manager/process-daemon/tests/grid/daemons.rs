//! Programs, certificates and configurations for a grid on loopback.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use model::{Identity, Role, Span};
use rustix::process::{Pid, Signal, kill_process};
use shell::identity::{Authority, Credentials, Key};
use tempfile::TempDir;

const YEAR: Span = Span::from_secs(365 * 86_400);

/// The variables that cargo sets for this test's own package. ring's build script reads them: with
/// them, ring and everything that depends on it would be built again.
const OWN: [&str; 7] = [
    "CARGO_MANIFEST_DIR",
    "CARGO_MANIFEST_LINKS",
    "CARGO_PKG_NAME",
    "CARGO_PKG_VERSION_MAJOR",
    "CARGO_PKG_VERSION_MINOR",
    "CARGO_PKG_VERSION_PATCH",
    "CARGO_PKG_VERSION_PRE",
];

/// The other programs, built like this test.
pub(crate) fn programs() -> (PathBuf, PathBuf) {
    let pm = Path::new(env!("CARGO_BIN_EXE_xavantes-pm"));
    let profile = pm.parent().unwrap();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let profile_name = match profile.file_name().unwrap().to_str().unwrap() {
        "debug" => "dev",
        name => name,
    };
    let mut build = Command::new(cargo);
    build
        .args(["build", "--quiet", "--workspace"])
        .args(["--bin", "xavantes-gm", "--bin", "xavantes-am"])
        .args(["--profile", profile_name, "--target-dir"])
        .arg(profile.parent().unwrap())
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    for name in OWN {
        build.env_remove(name);
    }
    assert!(build.status().unwrap().success(), "they could not be built");
    (profile.join("xavantes-gm"), profile.join("xavantes-am"))
}

/// A running daemon.
pub(crate) struct Daemon {
    pub(crate) child: Child,
    pub(crate) address: String,
}

impl Daemon {
    pub(crate) fn start(program: &Path, config: &Path) -> Daemon {
        let mut child = Command::new(program)
            .arg("--config")
            .arg(config)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let (_, address) = line.trim_end().split_once(" listens on ").unwrap();
        Daemon {
            address: address.to_owned(),
            child,
        }
    }

    /// Stops it as an administrator does.
    pub(crate) fn stop(mut self) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
    }

    /// Kills it as a crash would.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) struct Grid {
    pub(crate) dir: TempDir,
    authority: Authority,
}

impl Grid {
    pub(crate) fn new() -> Grid {
        let authority = Authority::create("grid", "lab", shell::clock::wall(), YEAR).unwrap();
        let dir = TempDir::new().unwrap();
        Grid { dir, authority }
    }

    /// A certificate and a configuration for a daemon, which is named by its role and a number.
    pub(crate) fn member(&self, role: Role, number: u32, settings: &str) -> PathBuf {
        let name = format!("{role}{number}");
        let home = self.dir.path().join(&name);
        let key = Key::generate().unwrap();
        let identity = Identity::new("grid", "lab", role, &name).unwrap();
        let request = key.request().unwrap();
        let now = shell::clock::wall();
        let issued = self.authority.issue(&request, &identity, now, YEAR);
        let place = home.join("identity");
        Credentials::save(&place, &issued.unwrap().pem, &key, self.authority.pem()).unwrap();
        let config = home.join("config.toml");
        let text = format!(
            "directory = \"state\"\nidentity = \"identity\"\nlisten = \"127.0.0.1:0\"\n{settings}"
        );
        fs::write(&config, text).unwrap();
        config
    }
}

pub(crate) fn peer(role: Role, address: &str) -> String {
    format!("{{ name = \"{role}1\", address = \"{address}\" }}")
}
