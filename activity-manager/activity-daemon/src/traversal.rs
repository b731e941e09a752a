//! Permissions for accounts of commands: they may traverse the path to their directories, and have
//! no access to anything else of the manager.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use activity_executor::Account;
use thiserror::Error;

use crate::directories::work_directory;

/// The permission of others for a directory on the path: execute.
const PASS: u32 = 0o001;

/// The permissions that others lose on everything else.
const OTHERS: u32 = 0o077;

/// Why commands cannot run as an account.
#[derive(Debug, Error)]
pub(crate) enum TraversalError {
    /// A directory cannot be changed or read.
    #[error("could not {action} {}", path.display())]
    Io {
        /// The operation that failed.
        action: &'static str,
        /// Its path.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// A directory above cannot be traversed.
    #[error(
        "commands run as {account:?}, which cannot pass {path}: chmod o+x it, or keep the state elsewhere"
    )]
    Closed {
        /// The account.
        account: String,
        /// The directory.
        path: String,
    },
}

/// Permits traversal of a manager's state directory to its work directory, and removes other
/// accounts' access to everything else in it. The directory above, with configuration and identity,
/// is opened for traversal too; those further above are only checked.
pub(crate) fn open(state: &Path, account: &Account) -> Result<(), TraversalError> {
    let failed = |action, path: &Path| {
        let path = path.to_owned();
        move |source| TraversalError::Io {
            action,
            path,
            source,
        }
    };
    let work = work_directory(state);
    let change = |path: &Path, change: &dyn Fn(u32) -> u32| {
        let mode = fs::symlink_metadata(path)?.mode() & 0o7777;
        let wanted = change(mode);
        if wanted == mode {
            return Ok(());
        }
        fs::set_permissions(path, Permissions::from_mode(wanted))
    };
    for entry in fs::read_dir(state).map_err(failed("read", state))? {
        let entry = entry.map_err(failed("read", state))?;
        let path = entry.path();
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        if path != work && !is_link {
            change(&path, &|mode| mode & !OTHERS).map_err(failed("change", &path))?;
        }
    }
    let whole = fs::canonicalize(state).map_err(failed("find", state))?;
    let above = whole.parent();
    for path in [Some(&*work), Some(&*whole), above].into_iter().flatten() {
        change(path, &|mode| mode | PASS).map_err(failed("change", path))?;
    }
    let Some(above) = above else { return Ok(()) };
    for path in above.ancestors().skip(1) {
        let found = fs::metadata(path).map_err(failed("look at", path))?;
        let bit = if found.uid() == account.user {
            0o100
        } else if found.gid() == account.group || account.others.contains(&found.gid()) {
            0o010
        } else {
            PASS
        };
        if found.mode() & bit == 0 {
            return Err(TraversalError::Closed {
                account: account.name.clone(),
                path: path.display().to_string(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_is_open_and_everything_beside_it_is_closed() {
        let dir = tempfile::TempDir::new().unwrap();
        let state = dir.path().join("am/state");
        for name in ["work", "journal", "blobs"] {
            fs::create_dir_all(state.join(name)).unwrap();
        }
        fs::write(state.join("log"), "").unwrap();
        let set = |path: &Path, mode| {
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        };
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        set(&dir.path().join("am"), 0o700);
        set(&state, 0o700);
        set(&state.join("work"), 0o700);
        set(&state.join("journal"), 0o755);
        set(&state.join("log"), 0o644);
        let account = Account {
            name: "ada".to_owned(),
            user: 4_000_000,
            group: 4_000_000,
            others: Vec::new(),
            home: PathBuf::from("/"),
        };
        set(dir.path(), 0o700);
        let error = open(&state, &account).unwrap_err().to_string();
        assert!(
            error.contains("commands run as \"ada\", which cannot pass"),
            "{error}"
        );
        set(dir.path(), 0o711);
        open(&state, &account).unwrap();
        assert_eq!(mode(&dir.path().join("am")), 0o701);
        assert_eq!(mode(&state), 0o701);
        assert_eq!(mode(&state.join("work")), 0o701);
        assert_eq!(mode(&state.join("journal")), 0o700);
        assert_eq!(mode(&state.join("blobs")), 0o700);
        assert_eq!(mode(&state.join("log")), 0o600);
    }
}
