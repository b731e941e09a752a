//! Properties of this machine.

use std::collections::BTreeMap;
use std::fs;

use model::Bytes;
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

/// The labels that this machine tells of itself.
pub fn labels() -> BTreeMap<String, String> {
    let values = [
        std::env::consts::OS.to_owned(),
        std::env::consts::ARCH.to_owned(),
        shell::environment::hostname(),
    ];
    OWN_LABELS
        .map(str::to_owned)
        .into_iter()
        .zip(values)
        .collect()
}

#[test]
fn memory_is_read_from_the_systems_words() {
    let text = "MemTotal:       16384 kB\nMemFree:        1 kB\n";
    assert_eq!(total_bytes(text), Some(16_384 << 10));
    assert_eq!(total_bytes("nothing"), None);
    assert!(memory().0 > 0);
}
