//! Ownership of the directory of an attempt: the manager's until the command starts, then the
//! command's account's. An account is an attacker here, and may run other commands meanwhile. So
//! ownership is given through descriptors that were opened without following a link, below a
//! directory that is closed to the account until the last step.

use std::ffi::CStr;
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, RenameFlags, Stat, Uid, chmod, chownat, fchmod,
    fchown, fstat, mkdirat, openat, renameat_with, unlinkat,
};
use rustix::io::Errno;
use rustix::path::Arg;
use rustix::process::{getegid, geteuid};
use thiserror::Error;

use crate::account::Numbers;

/// Permissions of others on the path to a command's directory: execute, not read.
const PASS: u32 = 0o011;

/// Permissions of others than the manager on a directory that is about to be given away: none.
const OTHERS: u32 = 0o077;

/// The modes of an input that was placed as a hard link: for others to read, and for nobody to write.
const READ_ONLY: [u32; 2] = [0o444, 0o404];

/// The mode of a directory that only its owner enters.
const CLOSED: Mode = Mode::RWXU;

/// Maximum depth of directories. Those of inputs are not as deep.
const DEPTH_MAX: usize = 256;

/// Depth of directories that are open while a tree is removed.
const REMOVED_DEPTH_MAX: usize = 64;

/// Why a directory was not given to an account. Its content may have been given already, but the
/// directory itself stays closed to the account.
#[derive(Debug, Error)]
pub(crate) enum GiveError {
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Others than the manager could have entered it.
    #[error("{} was not made by the manager, or is open to others", .0.display())]
    Open(PathBuf),
    /// It is neither a file nor a directory, or not the manager's own, or has another hard link,
    /// whose owner would change as well, and is not read-only.
    #[error("{} is not a file or directory of the manager's own with a single name", .0.display())]
    Foreign(PathBuf),
    /// Its directories are deeper than inputs are.
    #[error("{} is more than {DEPTH_MAX} directories deep", .0.display())]
    Deep(PathBuf),
}

impl GiveError {
    /// The system's error number; 0 if it is another error.
    pub(crate) fn errno(&self) -> i32 {
        match self {
            GiveError::Io { source, .. } => source.raw_os_error().unwrap_or(0),
            GiveError::Open(_) | GiveError::Foreign(_) | GiveError::Deep(_) => 0,
        }
    }

    fn io(path: &Path, source: impl Into<io::Error>) -> GiveError {
        GiveError::Io {
            path: path.to_owned(),
            source: source.into(),
        }
    }
}

/// Gives an account the directory of an attempt with its content, the directory itself last, and
/// lets the account traverse the process's directory above.
pub(crate) fn give(directory: &Path, account: &Numbers) -> Result<(), GiveError> {
    let failed = |error| GiveError::io(directory, error);
    if let Some(above) = directory.parent() {
        let mode = fs::metadata(above)
            .map_err(|error| GiveError::io(above, error))?
            .mode()
            & 0o7777;
        if mode & PASS != PASS {
            let opened = Permissions::from_mode(mode | PASS);
            fs::set_permissions(above, opened).map_err(|error| GiveError::io(above, error))?;
        }
    }
    let top = open_directory(CWD, directory).map_err(failed)?;
    let stat = fstat(&top).map_err(failed)?;
    if stat.st_uid != geteuid().as_raw() || stat.st_mode & OTHERS != 0 {
        return Err(GiveError::Open(directory.to_owned()));
    }
    let gift = Gift {
        user: Some(Uid::from_raw(account.user)),
        group: Some(Gid::from_raw(account.group)),
    };
    gift.give_entries(&top, directory, 1)?;
    fchown(&top, gift.user, gift.group).map_err(failed)
}

/// Makes a directory for the files that a command keeps beside its own directory, and gives it to
/// the account. The parent belongs to the manager.
pub(crate) fn make_for(directory: &Path, account: &Numbers) -> Result<(), GiveError> {
    mkdirat(CWD, directory, CLOSED).map_err(|error| GiveError::io(directory, error))?;
    give(directory, account)
}

/// Makes a directory for an account below another one, which is made too; both may be there already.
pub(crate) fn make_once_for(directory: &Path, account: &Numbers) -> Result<(), GiveError> {
    if let Some(above) = directory.parent() {
        match mkdirat(CWD, above, CLOSED) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(GiveError::io(above, error)),
        }
    }
    match fs::symlink_metadata(directory) {
        Ok(found) if found.is_dir() && found.uid() == account.user => Ok(()),
        // A kill came between its making and its giving away.
        Ok(found) if found.is_dir() => give(directory, account),
        Ok(_) => Err(GiveError::Foreign(directory.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => make_for(directory, account),
        Err(error) => Err(GiveError::io(directory, error)),
    }
}

/// Closes the directory of an ended attempt to its account. Its content stays as it is.
pub(crate) fn take_back(directory: &Path) -> io::Result<()> {
    let top = open_directory(CWD, directory)?;
    // In this order, because its owner could open it again.
    fchown(&top, Some(geteuid()), Some(getegid()))?;
    Ok(fchmod(&top, CLOSED)?)
}

/// Removes a directory with its content, however deep, without following links. Directories of this
/// user that are closed even to their owner are opened for that. Others may change it meanwhile;
/// entries that they add may remain, which is an error.
pub fn remove_tree(directory: &Path) -> io::Result<()> {
    remove_tree_at(CWD, directory)
}

/// Removes the directory of that name in an open directory, as [`remove_tree`] does. Others may change
/// the path of the open directory meanwhile: it is not used.
pub(crate) fn remove_tree_at(above: impl AsFd, name: &Path) -> io::Result<()> {
    let top = match open_removable(&above, name) {
        Err(Errno::NOENT) => return Ok(()),
        other => other?,
    };
    empty(&top)?;
    Ok(unlinkat(&above, name, AtFlags::REMOVEDIR)?)
}

/// Removes the content of a directory.
fn empty(top: &OwnedFd) -> io::Result<()> {
    let mut removal = Removal { top, n_lifted: 0 };
    loop {
        let before = removal.n_lifted;
        removal.empty(top, 1)?;
        if removal.n_lifted == before {
            return Ok(());
        }
    }
}

/// A tree that is being removed. A directory that is too deep for the stack and the open files is
/// moved to the top, to be removed from there.
struct Removal<'a> {
    top: &'a OwnedFd,
    n_lifted: u64,
}

impl Removal<'_> {
    fn empty(&mut self, directory: &OwnedFd, depth: usize) -> io::Result<()> {
        for entry in Dir::read_from(directory)? {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            match unlinkat(directory, name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(Errno::ISDIR) => self.remove_directory(directory, name, depth)?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn remove_directory(&mut self, above: &OwnedFd, name: &CStr, depth: usize) -> io::Result<()> {
        // A directory that is moved elsewhere has to be writable too: its `..` changes.
        let directory = open_removable(above, name)?;
        if depth == REMOVED_DEPTH_MAX {
            return self.lift(above, name);
        }
        self.empty(&directory, depth + 1)?;
        Ok(unlinkat(above, name, AtFlags::REMOVEDIR)?)
    }

    fn lift(&mut self, directory: &OwnedFd, name: &CStr) -> io::Result<()> {
        loop {
            self.n_lifted += 1;
            let to = format!(".lifted-{}", self.n_lifted);
            let flags = RenameFlags::NOREPLACE;
            match renameat_with(directory, name, self.top, to.as_str(), flags) {
                Err(Errno::EXIST) => {}
                other => return Ok(other?),
            }
        }
    }
}

/// The new owner of files.
struct Gift {
    user: Option<Uid>,
    group: Option<Gid>,
}

impl Gift {
    fn give_entries(
        &self,
        directory: &OwnedFd,
        path: &Path,
        depth: usize,
    ) -> Result<(), GiveError> {
        let failed = |error| GiveError::io(path, error);
        if depth > DEPTH_MAX {
            return Err(GiveError::Deep(path.to_owned()));
        }
        for entry in Dir::read_from(directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            if name != c"." && name != c".." {
                self.give_entry(directory, name, path, depth)?;
            }
        }
        Ok(())
    }

    fn give_entry(
        &self,
        directory: &OwnedFd,
        name: &CStr,
        above: &Path,
        depth: usize,
    ) -> Result<(), GiveError> {
        let path = above.join(name.to_string_lossy().as_ref());
        let failed = |error| GiveError::io(&path, error);
        // A link is opened itself, and then refused; nothing is read.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let found = openat(directory, name, flags, Mode::empty()).map_err(failed)?;
        let stat = fstat(&found).map_err(failed)?;
        if is_read_only_link(&stat) {
            return Ok(());
        }
        if !is_own(&stat) {
            return Err(GiveError::Foreign(path));
        }
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            let below = open_directory(&found, Path::new(".")).map_err(failed)?;
            self.give_entries(&below, &path, depth + 1)?;
        }
        chownat(&found, c"", self.user, self.group, AtFlags::EMPTY_PATH).map_err(failed)
    }
}

/// Returns true if it is an input that was placed as a hard link: it stays the manager's, so that the
/// account can read it and not write to it.
fn is_read_only_link(stat: &Stat) -> bool {
    let is_ours = stat.st_uid == geteuid().as_raw();
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    let is_mode = READ_ONLY.contains(&(stat.st_mode & 0o7777));
    is_ours && is_file && stat.st_nlink > 1 && is_mode
}

/// Returns true if it is the manager's own and has one hard link: a file that lay elsewhere before,
/// or any link, is never given away.
fn is_own(stat: &Stat) -> bool {
    let is_ours = stat.st_uid == geteuid().as_raw();
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => is_ours,
        FileType::RegularFile => is_ours && stat.st_nlink == 1,
        FileType::Symlink
        | FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => false,
    }
}

/// Opens a directory to remove its content. Other users than root need permission to read it and to
/// change it, which its owner takes first.
fn open_removable(at: impl AsFd, path: impl Arg) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = openat(at, path, flags, Mode::empty())?;
    let stat = fstat(&found)?;
    let is_ours = stat.st_uid == geteuid().as_raw();
    if is_ours && !Mode::from_raw_mode(stat.st_mode).contains(CLOSED) {
        // `fchmod` refuses a descriptor that was opened without permission to read; `chmod` takes its
        // name below `/proc`. Where that fails, so does one of the next steps, with the error to tell.
        let _ = chmod(format!("/proc/self/fd/{}", found.as_raw_fd()), CLOSED);
    }
    open_directory(&found, ".")
}

fn open_directory(at: impl AsFd, path: impl Arg) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(at, path, flags, Mode::empty())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{chown, symlink};

    use super::*;
    use crate::sys::user::as_user;

    /// An account that nobody has. Without root nothing can be given to it, and forbidden files are
    /// refused before that.
    const SOMEBODY: Numbers = Numbers {
        user: 70_000,
        group: 70_000,
        others: Vec::new(),
    };

    /// The user who acts in [`as_somebody`].
    fn somebody() -> Uid {
        match geteuid().is_root() {
            true => Uid::from_raw(SOMEBODY.user),
            false => geteuid(),
        }
    }

    /// Acts without the rights of root: as another user, where the tests run as root.
    fn as_somebody<T>(act: impl FnOnce() -> T) -> T {
        match geteuid().is_root() {
            true => as_user(SOMEBODY.user, act).unwrap(),
            false => act(),
        }
    }

    /// A directory that everybody may change. Others reach it by its descriptor alone: what is above
    /// may be closed to them.
    fn public() -> (tempfile::TempDir, OwnedFd) {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o777)).unwrap();
        let opened = open_directory(CWD, dir.path()).unwrap();
        (dir, opened)
    }

    fn closed() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let attempt = dir.path().join("1");
        fs::create_dir(&attempt).unwrap();
        fs::set_permissions(&attempt, Permissions::from_mode(0o700)).unwrap();
        (dir, attempt)
    }

    #[test]
    fn a_link_of_any_kind_is_not_given() {
        for hard in [true, false] {
            let (dir, attempt) = closed();
            let elsewhere = dir.path().join("elsewhere");
            fs::write(&elsewhere, "").unwrap();
            let link = attempt.join("link");
            let made = if hard {
                fs::hard_link(&elsewhere, &link)
            } else {
                symlink(&elsewhere, &link)
            };
            made.unwrap();
            let before = fs::metadata(&elsewhere).unwrap().uid();
            let refused = give(&attempt, &SOMEBODY).unwrap_err();
            assert!(matches!(refused, GiveError::Foreign(_)), "{refused}");
            assert_eq!(fs::metadata(&elsewhere).unwrap().uid(), before);
            assert_eq!(fs::metadata(&attempt).unwrap().uid(), before);
        }
    }

    #[test]
    fn a_read_only_link_stays_the_managers_own() {
        if !geteuid().is_root() {
            println!("skipped: needs root");
            return;
        }
        let (dir, attempt) = closed();
        let blob = dir.path().join("blob");
        fs::write(&blob, "content").unwrap();
        fs::set_permissions(&blob, Permissions::from_mode(READ_ONLY[0])).unwrap();
        fs::hard_link(&blob, attempt.join("input")).unwrap();
        fs::write(attempt.join("other"), "").unwrap();
        give(&attempt, &SOMEBODY).unwrap();
        assert_eq!(fs::metadata(&blob).unwrap().uid(), geteuid().as_raw());
        assert_eq!(fs::metadata(attempt.join("other")).unwrap().uid(), 70_000);
        // A link to a file that somebody may write to is refused.
        let (dir, attempt) = closed();
        let blob = dir.path().join("blob");
        fs::write(&blob, "content").unwrap();
        fs::set_permissions(&blob, Permissions::from_mode(0o644)).unwrap();
        fs::hard_link(&blob, attempt.join("input")).unwrap();
        assert!(matches!(
            give(&attempt, &SOMEBODY),
            Err(GiveError::Foreign(_))
        ));
    }

    #[test]
    fn a_directory_that_others_could_enter_is_not_given() {
        let (_dir, attempt) = closed();
        fs::set_permissions(&attempt, Permissions::from_mode(0o701)).unwrap();
        let refused = give(&attempt, &SOMEBODY).unwrap_err();
        assert!(matches!(refused, GiveError::Open(_)), "{refused}");
    }

    #[test]
    fn a_directory_is_given_whole_and_closed_again() {
        if !geteuid().is_root() {
            println!("skipped: needs root");
            return;
        }
        let (_dir, attempt) = closed();
        fs::create_dir_all(attempt.join("a/b")).unwrap();
        fs::write(attempt.join("a/b/c"), "").unwrap();
        give(&attempt, &SOMEBODY).unwrap();
        for path in ["", "a", "a/b", "a/b/c"] {
            let found = fs::metadata(attempt.join(path)).unwrap();
            assert_eq!((found.uid(), found.gid()), (70_000, 70_000), "{path}");
        }
        // A directory that an account has had is not given to it again.
        assert!(matches!(give(&attempt, &SOMEBODY), Err(GiveError::Open(_))));
    }

    #[test]
    fn a_tree_is_removed_however_deep_it_is_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let kept = dir.path().join("kept");
        fs::create_dir(&kept).unwrap();
        fs::write(kept.join("file"), "").unwrap();
        let tree = dir.path().join("tree");
        fs::create_dir(&tree).unwrap();
        symlink(&kept, tree.join("link")).unwrap();
        fs::create_dir(tree.join(".lifted-1")).unwrap();
        fs::write(tree.join(".lifted-1/file"), "").unwrap();
        // Deeper than the limits of a path, of recursion and of open files.
        let mut at = open_directory(CWD, &tree).unwrap();
        for _ in 0..20_000 {
            mkdirat(&at, "d", CLOSED).unwrap();
            at = open_directory(&at, Path::new("d")).unwrap();
        }
        drop(at);
        remove_tree(&tree).unwrap();
        assert!(!tree.exists() && kept.join("file").exists());
        remove_tree(&tree).unwrap();
    }

    #[test]
    fn a_tree_that_is_closed_to_its_owner_is_removed_without_root() {
        let (dir, above) = public();
        fs::create_dir_all(dir.path().join("top/d/e")).unwrap();
        fs::write(dir.path().join("top/d/e/file"), "").unwrap();
        // From below, since the modes bar the way.
        let modes = [
            ("top/d/e/file", 0o000),
            ("top/d/e", 0o600),
            ("top/d", 0o000),
            ("top", 0o555),
        ];
        for (path, mode) in modes {
            let path = dir.path().join(path);
            chown(&path, Some(somebody().as_raw()), None).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        }
        as_somebody(|| remove_tree_at(&above, Path::new("top"))).unwrap();
        assert!(!dir.path().join("top").exists());
    }

    #[test]
    fn read_only_directories_are_removed_without_root_however_deep_they_are() {
        let (dir, above) = public();
        mkdirat(&above, "top", CLOSED).unwrap();
        let mut at = open_directory(&above, "top").unwrap();
        for _ in 0..2 * REMOVED_DEPTH_MAX {
            mkdirat(&at, "d", CLOSED).unwrap();
            let below = open_directory(&at, "d").unwrap();
            fchown(&at, Some(somebody()), None).unwrap();
            fchmod(&at, Mode::from_raw_mode(0o555)).unwrap();
            at = below;
        }
        fchown(&at, Some(somebody()), None).unwrap();
        drop(at);
        as_somebody(|| remove_tree_at(&above, Path::new("top"))).unwrap();
        assert!(!dir.path().join("top").exists());
    }

    #[test]
    fn neither_a_link_nor_a_file_is_removed_as_a_tree() {
        let (dir, above) = public();
        fs::create_dir(dir.path().join("kept")).unwrap();
        fs::write(dir.path().join("kept/file"), "").unwrap();
        symlink("kept", dir.path().join("link")).unwrap();
        for name in ["link", "kept/file"] {
            let refused = remove_tree_at(&above, Path::new(name)).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::NotADirectory, "{name}");
        }
        assert!(dir.path().join("link").join("file").exists());
    }
}
