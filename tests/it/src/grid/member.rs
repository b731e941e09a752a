//! A member of a grid: its daemon, its certificate and its disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use model::{Identity, Role, Span};
use shell::identity::{Authority, Credentials, Key};

use crate::program::daemon;
use crate::running_daemon::RunningDaemon;

pub(super) const YEAR: Span = Span::from_secs(365 * 86_400);

/// A disk that is mounted.
pub(crate) struct Disk(PathBuf);

impl Disk {
    pub(crate) fn mount(at: &Path, mebibytes: u32) -> Option<Disk> {
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

/// A member of a grid whose daemon runs.
pub(super) struct Member {
    pub(super) daemon: RunningDaemon,
    role: Role,
    pub(super) name: String,
    pub(super) home: PathBuf,
}

impl Member {
    pub(super) fn start(role: Role, name: &str, home: &Path) -> Member {
        let mut command = Command::new(daemon(&format!("xavantes-{role}")));
        command.arg("--config").arg(home.join("config.toml"));
        Member {
            daemon: RunningDaemon::start(&mut command).unwrap(),
            role,
            name: name.to_owned(),
            home: home.to_owned(),
        }
    }

    /// As configurations name it.
    pub(super) fn peer(&self) -> String {
        self.peer_at(&self.daemon.address)
    }

    /// As configurations name it that reach it by another address.
    pub(super) fn peer_at(&self, address: &str) -> String {
        let name = &self.name;
        format!("{{ name = \"{name}\", address = \"{address}\" }}")
    }

    /// Starts it again where it was.
    pub(super) fn start_again(&mut self) {
        let config = self.home.join("config.toml");
        let text = fs::read_to_string(&config).unwrap();
        let anywhere = "listen = \"127.0.0.1:0\"";
        let there = format!("listen = \"{}\"", self.daemon.address);
        fs::write(&config, text.replace(anywhere, &there)).unwrap();
        *self = Member::start(self.role, &self.name, &self.home);
    }
}

/// Saves a certificate of a member and its key.
pub(super) fn identity(authority: &Authority, role: Role, name: &str, directory: &Path) {
    identity_for(authority, role, name, directory, YEAR);
}

/// The same for a certificate that is valid for so long.
pub(super) fn identity_for(
    authority: &Authority,
    role: Role,
    name: &str,
    directory: &Path,
    life: Span,
) {
    let key = Key::generate().unwrap();
    let identity = Identity::new("grid", "lab", role, name).unwrap();
    let now = shell::clock::wall();
    let issued = authority.issue(&key.request().unwrap(), &identity, now, life);
    Credentials::save(directory, &issued.unwrap().pem, &key, authority.pem()).unwrap();
}
