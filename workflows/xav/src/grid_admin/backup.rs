//! `xav grid backup` and `xav grid restore`: the directory of a group manager or a process manager, with its
//! authority, identity, configuration and journals.
//!
//! A backup is a directory with a copy of each file below `files`, and a manifest with their hashes. It has
//! keys, so it is for its owner alone.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use model::{Bytes, Wall};
use shell::config::ConfigError;
use shell::{clock, program};

use super::arguments::{Backup, Restore};
use super::init::Beside;
use crate::failure::{Failure, Outcome, chain};
use crate::{screen, text};

/// The parts of a backup.
const FILES: &str = "files";
const MANIFEST: &str = "manifest";

/// The first line of a manifest.
const HEAD: &str = "xavantes-backup 1";

/// Files of a backup: some for each token of an authority, and some tens beside them.
const FILES_MAX: usize = 200_000;

/// Directories below each other: a manager's state has four.
const DEPTH_MAX: usize = 16;

/// Bytes of the longest manifest: a path of a few hundred bytes for each file.
const MANIFEST_BYTES_MAX: u64 = 64 << 20;

/// Files and directories that the next start makes anew.
const REMADE: [&str; 4] = ["ended", "log", "log.1", "reserve"];

/// The file of the epoch of a manager's links. Peers ignore epochs that are over, and know all those since the backup.
const EPOCH: &str = "links.epoch";

/// By how much a restore raises an epoch where the clock tells no later one: a manager is not started so often.
const EPOCHS_SINCE: u64 = 1_000_000;

/// The directory of an authority's tokens, by its name, and how one is made unusable.
const TOKENS: &str = "tokens";
const CANCELLED: &str = "cancelled";

/// A manager whose directory can be backed up.
struct Manager {
    /// Its directory: all of it is copied.
    home: PathBuf,
    /// The directory of its state.
    state: PathBuf,
}

impl Manager {
    fn of(config: &Path) -> Result<Manager, Failure> {
        let config = &fs::canonicalize(config).map_err(|error| failed("read", config, &error))?;
        let home = config.parent().unwrap_or(Path::new("/")).to_owned();
        let wrong = |error: ConfigError| Failure::refused(chain(&error));
        let name = config.file_name().and_then(|name| name.to_str());
        let (place, authority) = match name {
            Some("gm.toml") => {
                let (place, settings) =
                    program::settings::<group_daemon::Service>(config).map_err(wrong)?;
                (place, settings.authority().map(Path::to_owned))
            }
            Some("pm.toml") => {
                let (place, _) =
                    program::settings::<process_daemon::Service>(config).map_err(wrong)?;
                (place, None)
            }
            Some(_) | None => {
                let failure =
                    Failure::refused(format!("{} is no gm.toml or pm.toml", config.display()));
                return Err(failure.help("a machine whose disk is lost joins again with a token"));
            }
        };
        let parts = [
            ("directory", Some(&place.directory)),
            ("identity", Some(&place.identity)),
            ("authority", authority.as_ref()),
        ];
        for (setting, part) in parts {
            if let Some(part) = part.filter(|part| !part.starts_with(&home)) {
                return Err(Failure::refused(format!(
                    "{setting} = {} is not below {}: back it up with what you have there",
                    part.display(),
                    home.display()
                )));
            }
        }
        Ok(Manager {
            home,
            state: place.directory,
        })
    }

    /// Keeps the manager from starting until the lock is dropped. An error where it runs.
    fn hold(&self) -> Result<Option<File>, Failure> {
        let path = self.state.join("journal/lock");
        let lock = match File::open(&path) {
            Ok(lock) => lock,
            // It has never run.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("open", &path, &error)),
        };
        match lock.try_lock_shared() {
            Ok(()) => Ok(Some(lock)),
            Err(TryLockError::WouldBlock) => {
                let home = self.home.display();
                let failure =
                    Failure::new(format!("the manager of {home} runs: its journals change"));
                Err(failure.help("stop it first, or leave them out with --without-state"))
            }
            Err(TryLockError::Error(error)) => Err(failed("lock", &path, &error)),
        }
    }
}

/// `xav grid backup`
pub(super) fn backup(arguments: &Backup) -> Outcome {
    let manager = Manager::of(&arguments.config)?;
    let (_held, left_out) = match arguments.without_state {
        true => (None, Some(manager.state.as_path())),
        false => (manager.hold()?, None),
    };
    let mut paths = Vec::new();
    collect(&manager.home, left_out, 0, &mut paths)?;
    // Files that are written later are copied later, where the manager runs: a token that is used up while the copy
    // is made has its certificate in it.
    paths.sort_by_key(|path| {
        (
            !path.components().any(|part| part.as_os_str() == TOKENS),
            path.clone(),
        )
    });
    let made = Beside::empty(&arguments.to)?;
    let mut manifest = format!("{HEAD}\n");
    let mut n_bytes = 0;
    for path in &paths {
        let below = path
            .strip_prefix(&manager.home)
            .expect("it was found below");
        let shown = below.to_str().filter(|shown| !shown.contains('\n'));
        let shown = shown.ok_or_else(|| Failure::refused(format!("{below:?} is no text")))?;
        let copied = copy(path, &made.path.join(FILES).join(below));
        let Copied { hash, bytes, mode } = copied.map_err(|error| failed("copy", path, &error))?;
        manifest.push_str(&format!("{hash} {mode:o} {bytes} {shown}\n"));
        n_bytes += bytes;
    }
    let path = made.path.join(MANIFEST);
    let written = journal::durable::write(&path, manifest.as_bytes(), 0o600);
    written.map_err(|error| failed("write", &path, &error))?;
    made.into_place(&arguments.to)?;
    screen::out(&format!(
        "{} files, {}, are in {}. It has keys: keep it where nobody else can read it.\n",
        paths.len(),
        text::bytes(Bytes(n_bytes)),
        arguments.to.display()
    ))?;
    Ok(0)
}

/// `xav grid restore`
pub(super) fn restore(arguments: &Restore) -> Outcome {
    let Restore { backup, dir } = arguments;
    let entries = manifest(backup)?;
    let made = Beside::empty(dir)?;
    for (below, entry) in &entries {
        let (from, to) = (backup.join(FILES).join(below), made.path.join(below));
        let Copied { hash, bytes, .. } =
            copy(&from, &to).map_err(|error| failed("copy", &from, &error))?;
        if (&hash, bytes) != (&entry.hash, entry.bytes) {
            return Err(Failure::new(format!(
                "{} is damaged: it is not what was backed up",
                from.display()
            )));
        }
        let allowed = fs::set_permissions(&to, fs::Permissions::from_mode(entry.mode));
        allowed.map_err(|error| failed("write", &to, &error))?;
    }
    let n_tokens = cancel_tokens(&made.path)?;
    raise_epochs(&made.path)?;
    made.into_place(dir)?;
    screen::out(&format!(
        "{} files are in {}.\n",
        entries.len(),
        dir.display()
    ))?;
    if n_tokens > 0 {
        screen::tell(&format!(
            "{n_tokens} join tokens that were open then admit nobody: some may have been used since.\n"
        ));
    }
    screen::tell(
        "What was decided after the backup is not known there: revoke again what was revoked since, and see \
         \"Backup and restore\" in docs/operate.md.\n",
    );
    Ok(0)
}

/// A file of a backup.
struct Entry {
    hash: String,
    mode: u32,
    bytes: u64,
}

fn manifest(backup: &Path) -> Result<BTreeMap<PathBuf, Entry>, Failure> {
    let path = backup.join(MANIFEST);
    let mut text = String::new();
    let read =
        File::open(&path).and_then(|file| file.take(MANIFEST_BYTES_MAX).read_to_string(&mut text));
    read.map_err(|error| failed("read", &path, &error))?;
    let mut lines = text.lines();
    if lines.next() != Some(HEAD) {
        return Err(Failure::refused(format!(
            "{} is no backup of this version",
            backup.display()
        )));
    }
    let entries = lines.enumerate().map(|(index, line)| {
        entry(line).ok_or_else(|| {
            Failure::refused(format!(
                "{}:{}: this is no file of a backup",
                path.display(),
                index + 2
            ))
        })
    });
    entries.collect()
}

fn entry(line: &str) -> Option<(PathBuf, Entry)> {
    let mut words = line.splitn(4, ' ');
    let (hash, mode, bytes) = (words.next()?, words.next()?, words.next()?);
    let path = PathBuf::from(words.next()?);
    // A path that leads elsewhere would be written there.
    let is_below = path
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    let entry = Entry {
        hash: hash.to_owned(),
        mode: u32::from_str_radix(mode, 8)
            .ok()
            .filter(|mode| mode & !0o777 == 0)?,
        bytes: bytes.parse().ok()?,
    };
    is_below.then_some((path, entry))
}

/// Finds the files below a directory, without those that a start makes anew.
fn collect(
    directory: &Path,
    left_out: Option<&Path>,
    depth: usize,
    paths: &mut Vec<PathBuf>,
) -> Result<(), Failure> {
    let read = |error: io::Error| failed("read", directory, &error);
    for entry in fs::read_dir(directory).map_err(read)? {
        let entry = entry.map_err(read)?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(read)?);
        let is_remade = |name: &&str| entry.file_name() == **name;
        if Some(&*path) == left_out || REMADE.iter().any(is_remade) {
            continue;
        }
        if kind.is_dir() {
            if depth == DEPTH_MAX {
                return Err(Failure::refused(format!("{} is too deep", path.display())));
            }
            collect(&path, left_out, depth + 1, paths)?;
        } else if kind.is_symlink() {
            let shown = path.display();
            return Err(Failure::refused(format!(
                "{shown} is a link: back up what it leads to yourself"
            )));
        } else if kind.is_file() {
            if paths.len() == FILES_MAX {
                let home = directory.display();
                return Err(Failure::refused(format!(
                    "{home} has more than {FILES_MAX} files"
                )));
            }
            paths.push(path);
        }
    }
    Ok(())
}

/// A copy that was made.
struct Copied {
    hash: String,
    bytes: u64,
    mode: u32,
}

/// Copies a file durably, for its owner alone.
fn copy(from: &Path, to: &Path) -> io::Result<Copied> {
    if let Some(directory) = to.parent() {
        journal::durable::create_directory(directory, 0o700)?;
    }
    let mut source = File::open(from)?;
    let mode = source.metadata()?.permissions().mode() & 0o777;
    let mut open = OpenOptions::new();
    let mut target = open.write(true).create_new(true).mode(0o600).open(to)?;
    let bytes = io::copy(&mut source, &mut target)?;
    target.sync_all()?;
    journal::durable::flush_name(to)?;
    // The copy is hashed, so that the manifest says what is in the backup.
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(to)?)?;
    let hash = hasher.finalize().to_hex().to_string();
    Ok(Copied { hash, bytes, mode })
}

/// Makes unusable the tokens of a restored authority, and counts them.
fn cancel_tokens(home: &Path) -> Result<usize, Failure> {
    let mut paths = Vec::new();
    collect(home, None, 0, &mut paths)?;
    let is_open = |path: &&PathBuf| {
        let parent = path.parent().and_then(Path::file_name);
        parent.is_some_and(|name| name == TOKENS) && path.extension().is_none()
    };
    let open: Vec<&PathBuf> = paths.iter().filter(is_open).collect();
    for path in &open {
        let renamed = fs::rename(path, path.with_extension(CANCELLED))
            .and_then(|()| journal::durable::flush_name(path));
        renamed.map_err(|error| failed("cancel", path, &error))?;
    }
    Ok(open.len())
}

/// Raises the epoch of a restored manager's links above all that peers have seen.
fn raise_epochs(home: &Path) -> Result<(), Failure> {
    let mut paths = Vec::new();
    collect(home, None, 0, &mut paths)?;
    for path in paths
        .iter()
        .filter(|path| path.file_name().is_some_and(|name| name == EPOCH))
    {
        let text = fs::read_to_string(path).map_err(|error| failed("read", path, &error))?;
        let epoch: u64 = text
            .trim()
            .parse()
            .map_err(|_| Failure::refused(format!("{} holds no epoch", path.display())))?;
        let raised = raised(epoch, clock::wall()).to_string();
        let written = journal::durable::write(path, raised.as_bytes(), 0o600);
        written.map_err(|error| failed("write", path, &error))?;
    }
    Ok(())
}

/// An epoch above all that a manager has had up to this time. Those of a manager without a state begin at the time in
/// seconds, and it starts less often than that.
fn raised(epoch: u64, now: Wall) -> u64 {
    let seconds = now.0 / 1_000_000;
    match seconds > epoch {
        true => seconds,
        false => epoch.saturating_add(EPOCHS_SINCE),
    }
}

fn failed(action: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("could not {action} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restored_epoch_is_above_those_that_began_without_a_state_since() {
        let now = Wall(1_800_000_000 * 1_000_000);
        // Of a state from before epochs began at the time of day, and of one after.
        assert_eq!(raised(7, now), 1_800_000_000);
        assert_eq!(raised(1_790_000_000, now), 1_800_000_000);
        // The clock is behind.
        assert_eq!(raised(1_800_000_000, now), 1_801_000_000);
    }

    #[test]
    fn a_manifest_leads_nowhere_else() {
        let line = |path: &str| format!("00ff 600 7 {path}");
        let (path, found) = entry(&line("state/journal/a b")).unwrap();
        assert_eq!(path, Path::new("state/journal/a b"));
        assert_eq!((&*found.hash, found.mode, found.bytes), ("00ff", 0o600, 7));
        for wrong in ["../x", "/etc/x", "a/../../x", "./x"] {
            assert!(entry(&line(wrong)).is_none(), "{wrong}");
        }
        for wrong in [
            "00ff 4755 7 x",
            "00ff 9 7 x",
            "00ff 600 -1 x",
            "00ff 600 7",
            "",
        ] {
            assert!(entry(wrong).is_none(), "{wrong}");
        }
    }
}
