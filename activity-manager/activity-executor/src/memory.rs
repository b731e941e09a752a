//! How much memory a command and its descendants hold: resident bytes out of /proc, summed over the
//! tree of children. Pages that several of them share count for each. A descendant whose parent has
//! ended is not found; where the kernel does not list children, only the first process counts.
//!
//! Why not the kernel's own limits: RLIMIT_AS counts addresses and is per process, and a cgroup with a
//! memory controller is seldom ours to write.

use std::fs;

use rustix::param::page_size;
use rustix::process::Pid;

/// Processes of one command that are looked at; the rest of a larger tree is not counted.
const PROCESSES_MAX: usize = 4_096;

/// Resident bytes of `leader` and its descendants; 0 when it has gone.
pub(crate) fn resident_bytes(leader: Pid) -> u64 {
    let mut processes = vec![leader.as_raw_pid()];
    let mut pages = 0;
    let mut next = 0;
    while let Some(&pid) = processes.get(next) {
        next += 1;
        pages += resident_pages(pid);
        if processes.len() < PROCESSES_MAX {
            add_children(pid, &mut processes);
        }
    }
    pages * page_size() as u64
}

fn resident_pages(pid: i32) -> u64 {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    statm
        .split_ascii_whitespace()
        .nth(1)
        .and_then(|pages| pages.parse().ok())
        .unwrap_or(0)
}

fn add_children(pid: i32, processes: &mut Vec<i32>) {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return;
    };
    for thread in threads.flatten() {
        let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        processes.extend(
            children
                .split_ascii_whitespace()
                .filter_map(|pid| pid.parse::<i32>().ok()),
        );
    }
}
