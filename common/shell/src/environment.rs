//! Everything that a program reads from its environment.

use std::env;
use std::path::PathBuf;

/// Variables of the machine that every activity gets. All others of the daemon's environment are
/// left out, so that a process runs alike whoever starts the daemon.
const BASE: [&str; 7] = [
    "PATH", "HOME", "LANG", "LC_ALL", "USER", "LOGNAME", "TMPDIR",
];

/// The search path for commands if the daemon itself has none.
const PATH_DEFAULT: &str = "/usr/local/bin:/usr/bin:/bin";

/// The environment that activities start from. Values that are not text are left out.
pub fn base() -> Vec<(String, String)> {
    let mut base: Vec<(String, String)> = BASE
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), env::var(name).ok()?)))
        .collect();
    if base.iter().all(|(name, _)| name != "PATH") {
        base.push(("PATH".to_owned(), PATH_DEFAULT.to_owned()));
    }
    base
}

/// The directories in which programs are looked up.
pub fn search_path() -> std::ffi::OsString {
    env::var_os("PATH").unwrap_or_else(|| PATH_DEFAULT.into())
}

/// A variable's value as text; `None` where it is not set, empty, or not text.
pub fn text(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// A variable's value exactly as it is, for whoever passes it on.
///
/// # Errors
/// Says whether it is not set, or not text.
pub fn variable(name: &str) -> Result<String, env::VarError> {
    env::var(name)
}

/// The directory for sockets of this user, by `XDG_RUNTIME_DIR`; the directory for temporary files
/// where that is not set.
pub fn runtime_directory() -> PathBuf {
    text("XDG_RUNTIME_DIR").map_or_else(env::temp_dir, PathBuf::from)
}

/// The directory for this user's data, by `XDG_DATA_HOME` or `HOME`.
pub fn data_directory() -> Option<PathBuf> {
    text("XDG_DATA_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| text("HOME").map(|home| PathBuf::from(home).join(".local/share")))
}

/// The directory for this user's configuration, by `XDG_CONFIG_HOME` or `HOME`.
pub fn config_directory() -> Option<PathBuf> {
    text("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| text("HOME").map(|home| PathBuf::from(home).join(".config")))
}

/// The directory of the secrets that systemd gives to a service, by `CREDENTIALS_DIRECTORY`.
pub fn credentials_directory() -> Option<PathBuf> {
    text("CREDENTIALS_DIRECTORY").map(PathBuf::from)
}

/// This machine's name in its network.
pub fn hostname() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

/// Returns true if a file or directory belongs to the account that runs this program.
pub fn is_own(path: &std::path::Path) -> std::io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let owner = path.metadata()?.uid();
    Ok(owner == rustix::process::geteuid().as_raw())
}
