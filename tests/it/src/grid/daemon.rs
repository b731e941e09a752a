//! A daemon of a grid: its program, its certificate and its disk.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use model::{Identity, Role, Span};
use rustix::process::{Pid, Signal, kill_process};
use shell::identity::{Authority, Credentials, Key};

use crate::program::daemon;

pub(super) const YEAR: Span = Span::from_secs(365 * 86_400);

/// A disk that is mounted.
pub(super) struct Disk(PathBuf);

impl Disk {
    pub(super) fn mount(at: &Path, mebibytes: u32) -> Option<Disk> {
        let size = format!("size={mebibytes}m,mode=700");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "none"]).arg(at);
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        mounted.then(|| Disk(at.to_owned()))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // An executor may look into it for a moment longer.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// A daemon that runs.
pub(super) struct Daemon {
    pub(super) child: Child,
    pub(super) role: Role,
    pub(super) name: String,
    pub(super) address: String,
    pub(super) home: PathBuf,
}

impl Daemon {
    pub(super) fn start(role: Role, name: &str, home: &Path) -> Daemon {
        let mut child = Command::new(daemon(&format!("xavantes-{role}")))
            .arg("--config")
            .arg(home.join("config.toml"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let (_, address) = line.trim_end().split_once(" listens on ").unwrap();
        Daemon {
            child,
            role,
            name: name.to_owned(),
            address: address.to_owned(),
            home: home.to_owned(),
        }
    }

    /// As configurations name it.
    pub(super) fn peer(&self) -> String {
        self.peer_at(&self.address)
    }

    /// As configurations name it that reach it by another address.
    pub(super) fn peer_at(&self, address: &str) -> String {
        let name = &self.name;
        format!("{{ name = \"{name}\", address = \"{address}\" }}")
    }

    pub(super) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Ends it as an administrator does.
    pub(super) fn stop(&mut self) {
        self.signal(Signal::TERM);
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
    }

    pub(super) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it again where it was.
    pub(super) fn start_again(&mut self) {
        let config = self.home.join("config.toml");
        let text = fs::read_to_string(&config).unwrap();
        let anywhere = "listen = \"127.0.0.1:0\"";
        let there = format!("listen = \"{}\"", self.address);
        fs::write(&config, text.replace(anywhere, &there)).unwrap();
        let (role, name, home) = (self.role, self.name.clone(), self.home.clone());
        *self = Daemon::start(role, &name, &home);
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // A frozen one hears nothing.
        let _ = kill_process(Pid::from_child(&self.child), Signal::CONT);
        // An executor goes on without its daemon unless that ends it in order.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}

/// Saves a certificate of a member and its key.
pub(super) fn identity(authority: &Authority, role: Role, name: &str, directory: &Path) {
    let key = Key::generate().unwrap();
    let identity = Identity::new("grid", "lab", role, name).unwrap();
    let now = shell::clock::wall();
    let issued = authority.issue(&key.request().unwrap(), &identity, now, YEAR);
    Credentials::save(directory, &issued.unwrap().pem, &key, authority.pem()).unwrap();
}
