//! Properties of this machine.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use model::{Bytes, CAPABLE, Capability};
use wire::resource::OWN_LABELS;

/// The assumed memory if the system does not tell it, in bytes.
const MEMORY_UNKNOWN: u64 = 1 << 30;

/// All memory of the machine.
pub fn memory() -> Bytes {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    Bytes(total_bytes(&text).unwrap_or(MEMORY_UNKNOWN))
}

fn total_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// The labels that this machine tells of itself: what it is, and what it can do by the programs that are
/// in the search path of this program. An administrator's label of the same name stands in place of the
/// latter.
pub fn labels() -> BTreeMap<String, String> {
    let values = [
        std::env::consts::OS.to_owned(),
        std::env::consts::ARCH.to_owned(),
        shell::environment::hostname(),
    ];
    let own = OWN_LABELS.map(str::to_owned).into_iter().zip(values);
    let capable = Capability::ALL.into_iter().filter(|one| can(*one));
    let capable = capable.map(|one| (one.label().to_owned(), CAPABLE.to_owned()));
    own.chain(capable).collect()
}

fn can(capability: Capability) -> bool {
    if capability == Capability::Bwrap && !has_user_namespaces() {
        return false;
    }
    let path = shell::environment::search_path();
    let mut places = std::env::split_paths(&path);
    places.any(|place| {
        let mut programs = capability.programs().iter();
        programs.any(|program| is_executable(&place.join(program)))
    })
}

/// Returns true if programs without rights may make user namespaces, as far as the system says. A system without
/// these settings lets them.
fn has_user_namespaces() -> bool {
    let settings = [
        "/proc/sys/user/max_user_namespaces",
        "/proc/sys/kernel/unprivileged_userns_clone",
    ];
    settings.iter().all(|setting| {
        let text = fs::read_to_string(setting);
        text.map_or(true, |text| text.trim() != "0")
    })
}

fn is_executable(path: &Path) -> bool {
    let metadata = path.metadata();
    metadata.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[test]
fn memory_is_read_from_the_systems_words() {
    let text = "MemTotal:       16384 kB\nMemFree:        1 kB\n";
    assert_eq!(total_bytes(text), Some(16_384 << 10));
    assert_eq!(total_bytes("nothing"), None);
    assert!(memory().0 > 0);
}
