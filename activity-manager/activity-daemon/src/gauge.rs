//! The load of this machine, of others' programs and of commands.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use model::Bytes;

/// The weight of the newest sample in the load of others, so that a burst of a second closes
/// nothing.
const NEWEST: f64 = 0.5;

/// Bytes of the system's files that are read: the first lines of each.
const FIRST_BYTES: usize = 512;

/// Samples the machine. The first sample has nothing to compare with.
#[derive(Debug)]
pub struct Gauge {
    directory: PathBuf,
    cores: f64,
    before: Option<Ticks>,
    others: Option<f64>,
}

/// The values of a sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// Cores that were busy since the last sample.
    pub busy: f64,
    /// Cores that programs other than this manager's commands use, smoothed over some samples.
    pub others: f64,
    /// Runnable processes, the system's average over a minute.
    pub queue: f64,
    /// Memory available without swapping.
    pub memory_free: Bytes,
    /// Free space on the disk of the manager's directory.
    pub disk_free: Bytes,
}

/// CPU times of all cores together, in the system's ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ticks {
    total: u64,
    busy: u64,
    /// Ticks of the executor and its commands.
    own: u64,
}

impl Gauge {
    /// A gauge of the machine, and of the disk with a directory.
    pub fn of(directory: &Path) -> Gauge {
        Gauge {
            directory: directory.to_owned(),
            cores: cores().into(),
            before: None,
            others: None,
        }
    }

    /// Cores of the machine that this program may use.
    pub fn cores(&self) -> f64 {
        self.cores
    }

    /// Samples. Commands are the processes below this executor; without one, everything counts as
    /// others'.
    pub fn read(&mut self, executor: Option<u32>) -> Reading {
        let stat = first_bytes("/proc/stat");
        let own = executor.map_or(0, ticks_of_commands);
        let now = total_and_busy(&stat).map(|(total, busy)| Ticks { total, busy, own });
        let (busy, others) = match (self.before, now) {
            (Some(before), Some(now)) => now.since(before, self.cores),
            (None, _) | (_, None) => (0.0, 0.0),
        };
        if let (Some(_), Some(_)) = (self.before, now) {
            let smoothed = self
                .others
                .map_or(others, |smoothed| smoothed + NEWEST * (others - smoothed));
            self.others = Some(smoothed);
        }
        self.before = now;
        let loads = first_bytes("/proc/loadavg");
        let memory = first_bytes("/proc/meminfo");
        Reading {
            busy,
            others: self.others.unwrap_or_default(),
            queue: first_number(&loads).unwrap_or_default(),
            memory_free: Bytes(available(&memory).unwrap_or_default()),
            disk_free: disk_free(&self.directory),
        }
    }
}

impl Ticks {
    /// Cores that were busy, and those that others used.
    fn since(self, before: Ticks, cores: f64) -> (f64, f64) {
        let total = self.total.saturating_sub(before.total);
        if total == 0 {
            return (0.0, 0.0);
        }
        let part = |now: u64, before: u64| {
            (now.saturating_sub(before) as f64 / total as f64 * cores).clamp(0.0, cores)
        };
        let busy = part(self.busy, before.busy);
        (busy, (busy - part(self.own, before.own)).max(0.0))
    }
}

/// The beginning of one of the system's files, by one read: what is needed comes first, and the
/// rest may be as long as the machine is large.
fn first_bytes(path: &str) -> String {
    let mut bytes = [0; FIRST_BYTES];
    let read = File::open(path).and_then(|mut file| file.read(&mut bytes));
    let read = bytes.get(..read.unwrap_or(0)).unwrap_or_default();
    String::from_utf8_lossy(read).into_owned()
}

/// Cores that this program may use.
pub fn cores() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    u32::try_from(cores).unwrap_or(u32::MAX)
}

/// From `/proc/stat`: total time, and the part that was neither idle nor waiting for a disk.
fn total_and_busy(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().find(|line| line.starts_with("cpu "))?;
    // user, nice, system, idle, iowait, irq, softirq, steal; the later fields are included in
    // these.
    let times: Vec<u64> = line
        .split_whitespace()
        .skip(1)
        .take(8)
        .map_while(|time| time.parse().ok())
        .collect();
    let total: u64 = times.iter().sum();
    let idle: u64 = times.get(3..5)?.iter().sum();
    Some((total, total - idle))
}

/// Times of the executor, of all processes below it, and of their ended children. What else runs on
/// the machine is not read, however much it is.
fn ticks_of_commands(executor: u32) -> u64 {
    let commands = activity_executor::descendants(executor);
    let all = std::iter::once(executor).chain(commands);
    all.filter_map(|pid| fs::read_to_string(format!("/proc/{pid}/stat")).ok())
        .filter_map(|stat| ticks_of(&stat))
        .sum()
}

/// From `/proc/PID/stat`: user and system time of the process and its ended children. The name, in
/// parentheses, may contain anything.
fn ticks_of(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // The times are fields 14 to 17; the first one here is field 3.
    let times = fields.get(11..15)?.iter();
    times.map(|time| time.parse::<u64>().ok()).sum()
}

fn first_number(loads: &str) -> Option<f64> {
    loads.split_whitespace().next()?.parse().ok()
}

fn available(meminfo: &str) -> Option<u64> {
    let mut lines = meminfo.lines();
    let line = lines.find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

fn disk_free(directory: &Path) -> Bytes {
    let found = rustix::fs::statvfs(directory);
    Bytes(found.map_or(0, |found| found.f_bavail.saturating_mul(found.f_frsize)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_words_are_read() {
        let stat = "cpu  100 20 30 800 50 1 2 7 90 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
        assert_eq!(total_and_busy(stat), Some((1_010, 160)));
        assert_eq!(total_and_busy("intr 1 2"), None);
        let of = "7 (a) b (c) S 1 7 42 0 -1 4194304 1 2 3 4 10 20 30 40 20 0 1 0 5 6 7";
        assert_eq!(ticks_of(of), Some(100));
        assert_eq!(ticks_of("7 (cut"), None);
        assert_eq!(first_number("0.52 0.58 0.59 1/977 3"), Some(0.52));
        let memory = "MemTotal: 8 kB\nMemAvailable:       2048 kB\n";
        assert_eq!(available(memory), Some(2 << 20));
    }

    #[test]
    fn cpu_time_of_commands_does_not_count_for_others() {
        let before = Ticks {
            total: 1_000,
            busy: 100,
            own: 50,
        };
        let after = Ticks {
            total: 1_200,
            busy: 250,
            own: 150,
        };
        assert_eq!(after.since(before, 4.0), (3.0, 1.0));
        assert_eq!(after.since(after, 4.0), (0.0, 0.0));
        // A new executor has used less.
        assert_eq!(before.since(after, 4.0), (0.0, 0.0));
    }

    #[test]
    fn this_machine_is_read() {
        let dir = tempfile::TempDir::new().unwrap();
        let mut gauge = Gauge::of(dir.path());
        gauge.read(None);
        let reading = gauge.read(Some(std::process::id()));
        assert!(reading.busy <= f64::from(cores()));
        assert!(reading.memory_free.0 > 0 && reading.disk_free.0 > 0);
        assert!(ticks_of_commands(std::process::id()) <= ticks_of_commands(1));
    }
}
