//! Paths of the sockets of a state directory.

use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::environment;

/// Bytes of the longest path of a socket, without its closing zero.
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// The path of a socket of a state directory, always the same for the same directory: inside it if
/// that path is short enough for a socket, else in a directory of this user alone under the runtime
/// directory, which is created.
pub fn socket_path(directory: &Path, name: &str) -> io::Result<PathBuf> {
    let directory = directory.canonicalize()?;
    let near = directory.join(name);
    if near.as_os_str().len() <= SOCKET_PATH_BYTES_MAX {
        return Ok(near);
    }
    let user = rustix::process::geteuid().as_raw();
    let shared = environment::runtime_directory().join(format!("xavantes-{user}"));
    match DirBuilder::new().mode(0o700).create(&shared) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let metadata = fs::symlink_metadata(&shared)?;
    if !metadata.is_dir() || metadata.uid() != user || metadata.mode() & 0o022 != 0 {
        let message = format!("{} is not a directory of this user alone", shared.display());
        return Err(io::Error::new(ErrorKind::PermissionDenied, message));
    }
    let number = fnv(directory.as_os_str().as_encoded_bytes());
    Ok(shared.join(format!("{number:016x}-{name}")))
}

/// FNV-1a: the same number in every version of the program.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[test]
fn a_long_directory_has_its_socket_elsewhere_and_always_at_the_same_place() {
    let dir = tempfile::TempDir::new().unwrap();
    assert!(socket_path(dir.path(), "s").unwrap().ends_with("s"));
    let long = dir.path().join("x".repeat(120));
    fs::create_dir(&long).unwrap();
    let path = socket_path(&long, "s").unwrap();
    assert!(
        path.as_os_str().len() <= SOCKET_PATH_BYTES_MAX,
        "{}",
        path.display()
    );
    assert_eq!(path, socket_path(&long, "s").unwrap());
}
