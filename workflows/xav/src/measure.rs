//! CPU time and memory of this program and its executor, as the system counts them.

use std::fs;

use rustix::param::clock_ticks_per_second;
use rustix::time::{ClockId, clock_gettime};

/// CPU time and the most memory of an operating-system process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Usage {
    /// Seconds, in user mode and in the kernel.
    pub(crate) cpu_seconds: f64,
    /// Bytes that were resident at the same time.
    pub(crate) peak_memory_bytes: u64,
}

/// This program with all its threads. Its CPU time comes from its own clock: the one that others
/// see counts in ticks, which a short run may not fill.
pub(crate) fn own() -> Option<Usage> {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let cpu_seconds = time.tv_sec as f64 + time.tv_nsec as f64 / 1e9;
    of("self").map(|usage| Usage {
        cpu_seconds,
        ..usage
    })
}

/// Another program; none where it has ended.
pub(crate) fn other(pid: u32) -> Option<Usage> {
    of(&pid.to_string())
}

fn of(pid: &str) -> Option<Usage> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    parse(&stat, &status, clock_ticks_per_second())
}

fn parse(stat: &str, status: &str, ticks_per_second: u64) -> Option<Usage> {
    // The second field is the program's name in parentheses, with anything in it.
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = peak.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Usage {
        cpu_seconds: (user + system) as f64 / ticks_per_second as f64,
        peak_memory_bytes: kibibytes * 1_024,
    })
}

#[test]
fn the_systems_words_are_read() {
    let stat = "7 (a) b) S 1 7 7 0 -1 4194304 100 0 0 0 150 50 0 0 20 0 4 0 9 1 2";
    let usage = parse(stat, "Name:\ta\nVmHWM:\t    2048 kB\n", 100).unwrap();
    assert_eq!(
        usage,
        Usage {
            cpu_seconds: 2.0,
            peak_memory_bytes: 2 << 20
        }
    );
    assert!(own().unwrap().peak_memory_bytes > 0);
    let seen = other(std::process::id()).unwrap();
    assert!(seen.peak_memory_bytes > 0);
}
