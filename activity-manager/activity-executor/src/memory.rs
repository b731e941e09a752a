//! The memory of processes together, from /proc, for systems on which the kernel does not limit it.
//!
//! Resident pages are summed first, which is cheap and never too little. If that is above the
//! limit, pages may have been counted more than once; then each process's proportional share is
//! read (PSS), in which a page that n processes have mapped counts an n-th for each.
//!
//! Memory that no process has mapped is not counted, such as files in /dev/shm.

use std::fs;

use rustix::param::page_size;

/// The memory of processes in bytes: an upper bound if that is within the limit, and as exact as
/// the system tells otherwise.
pub(crate) fn held_bytes(pids: &[i32], bytes_max: u64) -> u64 {
    let resident: u64 = pids.iter().copied().map(resident_bytes).sum();
    if resident <= bytes_max || pids.len() < 2 {
        return resident;
    }
    let share = |&pid: &i32| proportional_bytes(pid).unwrap_or_else(|| resident_bytes(pid));
    pids.iter().map(share).sum()
}

fn resident_bytes(pid: i32) -> u64 {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    let pages: Option<u64> = statm
        .split_ascii_whitespace()
        .nth(1)
        .and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0) * page_size() as u64
}

/// None if the system does not tell, as for a process that has become another user.
fn proportional_bytes(pid: i32) -> Option<u64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1_024)
}
