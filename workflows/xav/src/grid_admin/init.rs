//! `xav grid init`: a grid from nothing.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use journal::durable;
use model::{Identity, Role};
use shell::clock;
use shell::identity::{
    AUTHORITY_LIFE, Authority, Credentials, Key, Registrar, is_address, write_secret,
};
use shell::program;
use wire::admin::Contact;

use super::admin_context;
use super::arguments::Init;
use crate::failure::{Failure, Outcome, chain};
use crate::{screen, text};

/// The next commands, which a new user copies.
const NEXT: &str = "\
Start it, each line in a terminal of its own or as a service (docs/grid.md):

  xavantes-gm --config DIR/gm/gm.toml
  xavantes-pm --config DIR/pm/pm.toml

and have machines join, this one or others, as often as you like:

  xavantes-am join $(xav token create --role am --grid DIR) --dir DIR/am1 --name am1 --run

Then look at it, and run something:

  xav nodes --grid DIR
  xav run --grid DIR/client FILE
";

/// `xav grid init`
pub(super) fn init(arguments: &Init) -> Outcome {
    let dir = &arguments.dir;
    let made = Beside::empty(dir)?;
    lay_out(arguments, &made.path)?;
    made.into_place(dir)?;
    let shown = text::quoted(&dir.display().to_string());
    let Init { grid, group, .. } = arguments;
    screen::out(&format!(
        "The grid {grid} with the group {group} is in {shown}. Keep {shown}/gm/authority safe: who has it \
         is believed to be anybody.\n\n{}",
        NEXT.replace("DIR", &shown)
    ))?;
    if is_loopback(&arguments.host) {
        screen::tell("It is for this machine alone; for others give --host HOST.\n");
    }
    Ok(0)
}

/// Everything, in a directory that nobody knows yet.
fn lay_out(arguments: &Init, dir: &Path) -> Result<(), Failure> {
    let Init {
        grid,
        group,
        host,
        port,
        ..
    } = arguments;
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let shown = match bare.parse() {
        Ok(IpAddr::V6(address)) => format!("[{address}]"),
        Ok(IpAddr::V4(_)) | Err(_) => host.clone(),
    };
    let contact = |name: &str, port: u16| Contact {
        name: name.to_owned(),
        address: format!("{shown}:{port}"),
    };
    let (gm, pm) = (contact("gm", *port), contact("pm", port + 1));
    if !is_address(&gm.address) {
        let host = text::quoted(host);
        return Err(Failure::refused(format!(
            "{host} is no host name or address"
        )));
    }
    let listen = |port| SocketAddr::new(listens_on(bare), port);
    let now = clock::wall();
    let authority = Authority::create(grid, group, now, AUTHORITY_LIFE);
    let authority = authority.map_err(|error| Failure::refused(chain(&error)))?;
    let registrar = Registrar::create(&dir.join("gm/authority"), authority);
    let mut registrar = registrar.map_err(|error| Failure::because(&error))?;
    let mut admit = |role, name: &str, address: Option<&str>, place: PathBuf| {
        let done = || -> Result<(), Box<dyn std::error::Error>> {
            let identity = Identity::new(grid, group, role, name)?;
            let key = Key::generate()?;
            let issued = registrar.admit(&key.request()?, &identity, address, now)?;
            let authority = registrar.authority().pem();
            Ok(Credentials::save(&place, &issued.pem, &key, authority)?)
        };
        let mut done = done;
        done().map_err(|error| Failure::because(&*error))
    };
    let gm_address = Some(&*gm.address);
    admit(Role::Gm, &gm.name, gm_address, dir.join("gm/identity"))?;
    let pm_address = Some(&*pm.address);
    admit(Role::Pm, &pm.name, pm_address, dir.join("pm/identity"))?;
    let admin = super::join::account_name();
    admit(Role::Admin, &admin, None, dir.join("client/identity"))?;

    let head = |what: &str| format!("# {what} of the group {group} of the grid {grid}.\n");
    let gm_text = format!(
        "{}{}address = \"{}\"\nauthority = \"authority\"\n",
        head("The group manager"),
        program::place(listen(*port)),
        gm.address
    );
    let pm_text = format!(
        "{}{}group-manager = {}\n",
        head("A process manager"),
        program::place(listen(port + 1)),
        program::contact(&gm)
    );
    let write = |path: PathBuf, text: &str| {
        write_secret(&path, text).map_err(|error| Failure::because(&error))
    };
    write(dir.join("gm/gm.toml"), &gm_text)?;
    write(dir.join("pm/pm.toml"), &pm_text)?;
    let client = head("What its users need") + &program::grid_file(&gm, &[pm]);
    write(dir.join("client").join(admin_context::FILE), &client)
}

/// Where a daemon listens that others reach by this name.
fn listens_on(host: &str) -> IpAddr {
    match host.parse() {
        Ok(IpAddr::V6(address)) if address.is_loopback() => address.into(),
        Ok(IpAddr::V6(_)) => Ipv6Addr::UNSPECIFIED.into(),
        Ok(IpAddr::V4(address)) if address.is_loopback() => address.into(),
        Ok(IpAddr::V4(_)) => Ipv4Addr::UNSPECIFIED.into(),
        Err(_) if is_loopback(host) => Ipv4Addr::LOCALHOST.into(),
        Err(_) => Ipv4Addr::UNSPECIFIED.into(),
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost"
        || host
            .parse()
            .is_ok_and(|address: IpAddr| address.is_loopback())
}

/// A directory that is filled beside the wanted one, and takes its place as a whole. Dropped, it is
/// gone.
pub(super) struct Beside {
    pub(super) path: PathBuf,
    /// Locked: who finds it free finds what was interrupted.
    _lock: File,
    is_kept: bool,
}

impl Beside {
    /// Makes it, with nothing in it.
    pub(super) fn empty(dir: &Path) -> Result<Beside, Failure> {
        let beside = Beside::of(dir)?;
        let emptied = fs::read_dir(&beside.path).and_then(|mut entries| {
            entries.try_for_each(|entry| {
                let entry = entry?;
                match entry.file_type()?.is_dir() {
                    true => fs::remove_dir_all(entry.path()),
                    false => fs::remove_file(entry.path()),
                }
            })
        });
        emptied.map_err(|error| failed("empty", &beside.path, &error))?;
        Ok(beside)
    }

    /// Makes it, or takes the one that an interrupted command has left, with what is in it.
    pub(super) fn of(dir: &Path) -> Result<Beside, Failure> {
        match fs::read_dir(dir) {
            Ok(mut entries) => {
                if entries.next().is_some() {
                    let dir = text::quoted(&dir.display().to_string());
                    return Err(Failure::refused(format!(
                        "{dir} is not empty; nothing is written over"
                    )));
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(failed("use", dir, &error)),
        }
        let mut name = dir.file_name().unwrap_or_default().to_owned();
        name.push(".part");
        let path = dir.parent().unwrap_or(Path::new("")).join(name);
        let made = durable::create_directory(&path, 0o700).and_then(|()| File::open(&path));
        let lock = made.map_err(|error| failed("make", &path, &error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let dir = text::quoted(&dir.display().to_string());
                return Err(Failure::refused(format!("another command is making {dir}")));
            }
            Err(TryLockError::Error(error)) => return Err(failed("lock", &path, &error)),
        }
        Ok(Beside {
            path,
            _lock: lock,
            is_kept: false,
        })
    }

    /// Gives it its place, durably.
    pub(super) fn into_place(mut self, dir: &Path) -> Result<(), Failure> {
        self.is_kept = true;
        let placed = durable::flush_directory(&self.path)
            .and_then(|()| fs::rename(&self.path, dir))
            .and_then(|()| durable::flush_name(dir));
        placed.map_err(|error| failed("make", dir, &error))
    }

    /// Leaves it where it is, so that the same command can go on with it.
    pub(super) fn keep(mut self) {
        self.is_kept = true;
    }
}

fn failed(action: &str, path: &Path, error: &std::io::Error) -> Failure {
    let path = text::quoted(&path.display().to_string());
    Failure::refused(format!("could not {action} {path}: {error}"))
}

impl Drop for Beside {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_listens_where_it_is_reached_and_not_further() {
        let listens = |host| listens_on(host).to_string();
        assert_eq!(listens("127.0.0.1"), "127.0.0.1");
        assert_eq!(listens("localhost"), "127.0.0.1");
        assert_eq!(listens("::1"), "::1");
        assert_eq!(listens("10.1.2.3"), "0.0.0.0");
        assert_eq!(listens("fd00::7"), "::");
        assert_eq!(listens("node7.example"), "0.0.0.0");
    }
}
