//! A manager's own directory, keys, disk, port and limits.

use std::fs::{self, File, TryLockError};
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use model::{Bytes, Role};
use rustix::fs::{Access, access, statvfs};
use rustix::process::{Resource, getrlimit};
use shell::config::PeerAddress;
use shell::identity::{Credentials, Ending};
use shell::program::{self, DaemonConfig, Service, chain};
use shell::{clock, environment};

use super::{Finding, group};

/// Bytes free on the disk of a manager below which it is nearly full: a process manager takes less then.
const FREE_MIN: Bytes = Bytes(1 << 30);

/// Open files that a manager needs at least: connections, journals, and files on their way.
const OPEN_FILES_MIN: u64 = 1_024;

/// Where control groups of version 2 are, on a system with these alone and on a hybrid one.
const CONTROL_GROUPS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

/// What is checked of every manager.
struct Manager<'a> {
    file: &'a Path,
    place: DaemonConfig,
    /// The group manager to dial.
    group_manager: Option<PeerAddress>,
    /// The group's authority, if it is here.
    authority: Option<PathBuf>,
}

/// Checks the manager of a configuration.
pub(super) fn check(file: &Path, findings: &mut Vec<Finding>) {
    // Paths in messages are whole, whatever directory the command was given in.
    let file = &fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let manager = match file.file_name().and_then(|name| name.to_str()) {
        Some("gm.toml") => read::<group_daemon::Service>(file, findings).map(|(place, settings)| {
            let authority = settings.authority().map(Path::to_owned);
            (place, None, authority)
        }),
        Some("pm.toml") => read::<process_daemon::Service>(file, findings)
            .map(|(place, settings)| (place, Some(settings.group_manager().clone()), None)),
        Some("am.toml") => read::<activity_daemon::Service>(file, findings).map(|(place, settings)| {
            // Whoever is not the manager cannot say what the manager may.
            if environment::is_own(file).unwrap_or(false)
                && let Err(error) = activity_daemon::Service::approve(&settings)
            {
                let help = "correct am.toml, or make the account: docs/grid.md, \"The accounts of commands\"";
                findings.push(Finding::fault("account", file.display(), error.to_string(), help));
            }
            (place, Some(settings.group_manager().clone()), None)
        }),
        Some(_) | None => {
            let help = "name a gm.toml, pm.toml or am.toml";
            let what = "this is no manager's configuration";
            findings.push(Finding::fault("configuration", file.display(), what, help));
            None
        }
    };
    let Some((place, group_manager, authority)) = manager else {
        return;
    };
    let manager = Manager {
        file,
        place,
        group_manager,
        authority,
    };
    manager.check_directories(findings);
    manager.check_disk(findings);
    let running = manager.running(findings);
    manager.check_port(running, findings);
    manager.check_open_files(running, findings);
    if file.ends_with("am.toml") {
        check_control_groups(running, findings);
    }
    manager.check_identity(findings);
}

fn read<S: Service>(
    file: &Path,
    findings: &mut Vec<Finding>,
) -> Option<(DaemonConfig, S::Settings)> {
    match program::settings::<S>(file) {
        Ok(read) => Some(read),
        Err(error) => {
            let help = "correct it; packaging/samples shows all settings";
            findings.push(Finding::fault(
                "configuration",
                file.display(),
                chain(&error),
                help,
            ));
            None
        }
    }
}

/// The process of a manager that runs; none if it does not, or cannot be told.
type Running = Option<u32>;

impl Manager<'_> {
    /// Its state belongs to the account that owns its keys, and nobody else writes there.
    fn check_directories(&self, findings: &mut Vec<Finding>) {
        let owner = fs::metadata(&self.place.identity)
            .map(|metadata| metadata.uid())
            .ok();
        let journal = self.place.directory.join("journal");
        let parts = [
            Some(&self.place.directory),
            Some(&journal),
            self.authority.as_ref(),
        ];
        for part in parts.into_iter().flatten() {
            let Ok(metadata) = fs::metadata(part) else {
                continue;
            };
            if metadata.mode() & 0o022 != 0 {
                let what = format!(
                    "its mode is {:o}: other accounts may write there",
                    metadata.mode() & 0o7777
                );
                findings.push(Finding::fault(
                    "permissions",
                    part.display(),
                    what,
                    "chmod go-w",
                ));
            }
            if owner.is_some_and(|owner| owner != metadata.uid()) {
                let what = "it belongs to another account than the keys: was the manager once run by hand?";
                let help = "chown -R it to the account that runs the manager";
                findings.push(Finding::fault("permissions", part.display(), what, help));
            }
        }
    }

    fn check_disk(&self, findings: &mut Vec<Finding>) {
        let existing = self.place.directory.ancestors().find(|path| path.exists());
        let Some(Ok(disk)) = existing.map(statvfs) else {
            return;
        };
        let free = Bytes(disk.f_bavail.saturating_mul(disk.f_frsize));
        if free < FREE_MIN {
            let what = format!("its disk is nearly full: {free} are free");
            let help = "`xav forget --older-than 7d` on a process manager, or a larger disk";
            findings.push(Finding::fault(
                "disk",
                self.place.directory.display(),
                what,
                help,
            ));
        }
    }

    /// The process of the manager, from the lock of its journal.
    fn running(&self, findings: &mut Vec<Finding>) -> Running {
        let path = self.place.directory.join("journal/lock");
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => {
                let help = "run this as root, or as the manager's account";
                findings.push(Finding::fault(
                    "permissions",
                    path.display(),
                    error.to_string(),
                    help,
                ));
                return None;
            }
        };
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => fs::read_to_string(&path).ok()?.trim().parse().ok(),
            Ok(()) | Err(TryLockError::Error(_)) => None,
        }
    }

    /// What a manager that does not run would listen on is free.
    fn check_port(&self, running: Running, findings: &mut Vec<Finding>) {
        let listen = self.place.listen;
        if running.is_some() || listen.port() == 0 {
            return;
        }
        let is_bound = |listen: SocketAddr| UdpSocket::bind(listen);
        if let Err(error) = is_bound(listen) {
            let help = "`ss -ulpn` tells who has the port; stop that, or change `listen`";
            findings.push(Finding::fault("port", listen, error.to_string(), help));
        }
    }

    fn check_open_files(&self, running: Running, findings: &mut Vec<Finding>) {
        let limit = match running {
            Some(pid) => fs::read_to_string(format!("/proc/{pid}/limits"))
                .ok()
                .and_then(|limits| open_files(&limits)),
            None => getrlimit(Resource::Nofile).current,
        };
        if let Some(limit) = limit.filter(|limit| *limit < OPEN_FILES_MIN) {
            let what =
                format!("at most {limit} open files are allowed, {OPEN_FILES_MIN} are needed");
            let help = "LimitNOFILE=65536 in its unit, or `ulimit -n 65536` before it starts";
            findings.push(Finding::fault(
                "open-files",
                self.file.display(),
                what,
                help,
            ));
        }
    }

    /// Keys and certificate can be read and are valid for long enough, and the group manager takes them.
    fn check_identity(&self, findings: &mut Vec<Finding>) {
        let identity = self.place.identity.display();
        let credentials = match Credentials::load(&self.place.identity) {
            Ok(credentials) => credentials,
            Err(error) => {
                let help = "only the manager's account may read its key: chmod 600; if it is gone, join again";
                findings.push(Finding::fault("identity", identity, chain(&error), help));
                return;
            }
        };
        let now = clock::wall();
        if now < credentials.certificate().not_before {
            let what = "its certificate is not valid yet: the clock of this machine is behind";
            findings.push(Finding::fault("clock", &identity, what, group::SET_CLOCK));
        }
        match credentials.ending(now) {
            None => {}
            Some(ending @ Ending::Soon(_)) => {
                let what = format!("its certificate {ending}, and it has not renewed it");
                let help = "let it reach its group manager: see its log";
                findings.push(Finding::fault("certificate", &identity, what, help));
            }
            Some(ending @ Ending::Over(_)) => {
                let what = format!("its certificate {ending}");
                let help = "join again with a token, or `xavantes-gm issue` where the authority is";
                findings.push(Finding::fault("certificate", &identity, what, help));
                return;
            }
        }
        if let Some(peer) = &self.group_manager {
            let gm = peer.identity(credentials.identity(), Role::Gm);
            group::ask(&peer.address, &credentials, &gm, findings);
        }
    }
}

/// The soft limit of open files, from a process's limits.
fn open_files(limits: &str) -> Option<u64> {
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The control group of the manager, or of this command, may be divided.
fn check_control_groups(running: Running, findings: &mut Vec<Finding>) {
    let process = running.map_or_else(|| "self".to_owned(), |pid| pid.to_string());
    let groups = fs::read_to_string(format!("/proc/{process}/cgroup")).unwrap_or_default();
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"));
    let is_delegated = own.is_some_and(|own| {
        let directories = CONTROL_GROUPS.map(|root| Path::new(root).join(own));
        directories.iter().any(|directory| {
            access(directory.join("cgroup.procs"), Access::WRITE_OK).is_ok()
                && access(directory, Access::WRITE_OK).is_ok()
        })
    });
    if !is_delegated {
        let what = "no control group may be divided: commands are held together by walking their processes";
        let help = "run the activity manager by its unit (Delegate=yes), or as root with control groups of version 2";
        findings.push(Finding::advice(
            "control-groups",
            "/sys/fs/cgroup",
            what,
            help,
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_of_open_files_is_read() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max processes             128311               128311               processes \n\
                      Max open files            256                  1048576              files     \n";
        assert_eq!(open_files(limits), Some(256));
        assert_eq!(open_files("Max open files            unlimited"), None);
    }
}
