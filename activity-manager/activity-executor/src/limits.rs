//! The site's limits for every command, whatever its definition says. The child of a command sets
//! most of them for itself before it executes the program; processes are counted by a control group
//! if there is a controller for that.

use rustix::process::{Resource, Rlimit, getrlimit};
use wire::executor::{Ended, Exit, SiteLimit};

/// Number of the signal that ends a process that writes beyond the limit of a file's size.
const FILE_SIZE_SIGNAL: u32 = 25;

/// A shell's exit status is this plus the number of the signal that ended its command.
const SHELL_SIGNALS: u32 = 128;

/// The classes of ioprio_set(2), above the bits of the level.
const BEST_EFFORT: i32 = 2;
const IDLE: i32 = 3;
const CLASS_SHIFT: u32 = 13;

/// The level if only the class is named, which is the system's default.
const LEVEL: u8 = 4;

/// The last level, which is served after the others.
const LEVEL_MAX: u8 = 7;

/// Limits of every command; none leaves the executor's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Concurrent processes and threads of an attempt.
    pub processes_max: Option<u32>,
    /// Open files of each process.
    pub open_files_max: Option<u32>,
    /// Bytes of the largest file that a process may write.
    pub file_bytes_max: Option<u64>,
    /// The I/O priority.
    pub io: Option<IoClass>,
    /// True if a command is bound to as many CPUs as it has cores, which no other command has.
    pub binds_cores: bool,
}

/// The I/O priority of a process, if the disk's scheduler supports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoClass {
    /// In turn with others, by a level from 0 (first) to 7.
    BestEffort(u8),
    /// When nobody else uses the disk.
    Idle,
}

impl IoClass {
    /// Parses `idle`, `best-effort` or `best-effort-0` to `-7`.
    pub fn parse(text: &str) -> Option<IoClass> {
        match text {
            "idle" => Some(IoClass::Idle),
            "best-effort" => Some(IoClass::BestEffort(LEVEL)),
            _ => {
                let level = text.strip_prefix("best-effort-")?.parse().ok()?;
                (level <= LEVEL_MAX).then_some(IoClass::BestEffort(level))
            }
        }
    }

    fn name(self) -> String {
        match self {
            IoClass::Idle => "idle".to_owned(),
            IoClass::BestEffort(level) => format!("best-effort-{level}"),
        }
    }

    /// The number for the system call.
    pub(crate) fn number(self) -> i32 {
        match self {
            IoClass::BestEffort(level) => BEST_EFFORT << CLASS_SHIFT | i32::from(level),
            IoClass::Idle => IDLE << CLASS_SHIFT,
        }
    }
}

impl Limits {
    /// The limits as arguments of the executor, which [`Limits::parse`] reads.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let mut arguments = Vec::new();
        let mut add = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                arguments.extend([name.to_owned(), value]);
            }
        };
        add("--processes-max", self.processes_max.map(|n| n.to_string()));
        add(
            "--open-files-max",
            self.open_files_max.map(|n| n.to_string()),
        );
        add(
            "--file-bytes-max",
            self.file_bytes_max.map(|n| n.to_string()),
        );
        add("--io", self.io.map(IoClass::name));
        add("--bind-cores", self.binds_cores.then(|| "yes".to_owned()));
        arguments
    }

    /// Parses one of these arguments. Returns false if it is unknown or its value is invalid.
    pub(crate) fn parse(&mut self, name: &str, value: &str) -> bool {
        match name {
            "--processes-max" => self.processes_max = value.parse().ok(),
            "--open-files-max" => self.open_files_max = value.parse().ok(),
            "--file-bytes-max" => self.file_bytes_max = value.parse().ok(),
            "--io" => self.io = IoClass::parse(value),
            "--bind-cores" => self.binds_cores = value == "yes",
            _ => return false,
        }
        match name {
            "--processes-max" => self.processes_max.is_some(),
            "--open-files-max" => self.open_files_max.is_some(),
            "--file-bytes-max" => self.file_bytes_max.is_some(),
            "--io" => self.io.is_some(),
            _ => self.binds_cores,
        }
    }

    /// The resource limits of each process. `files` is the default number of open files;
    /// `counts_users` is true if a command's account runs nothing else than that command.
    pub(crate) fn of_processes(
        &self,
        files: Option<Rlimit>,
        counts_users: bool,
    ) -> Vec<(Resource, Rlimit)> {
        let at_most = |resource, most: u64| {
            // Only root could raise these limits.
            let most = getrlimit(resource)
                .maximum
                .map_or(most, |all| all.min(most));
            let limit = Rlimit {
                current: Some(most),
                maximum: Some(most),
            };
            (resource, limit)
        };
        let files = match self.open_files_max {
            Some(n) => Some(at_most(Resource::Nofile, n.into())),
            None => files.map(|files| (Resource::Nofile, files)),
        };
        let size = self.file_bytes_max;
        let size = size.map(|bytes| at_most(Resource::Fsize, bytes));
        let processes = self.processes_max.filter(|_| counts_users);
        let processes = processes.map(|n| at_most(Resource::Nproc, n.into()));
        files.into_iter().chain(size).chain(processes).collect()
    }

    /// The limit that a command has probably failed by; `was_refused` tells whether its control group
    /// refused a process, and is asked only of one that has failed.
    pub(crate) fn met_by(
        &self,
        ended: &Ended,
        was_refused: impl FnOnce() -> bool,
    ) -> Option<SiteLimit> {
        let is_signalled = match ended.exit {
            Exit::Exited { code: 0 } => return None,
            Exit::Exited { code } => u32::from(code) == SHELL_SIGNALS + FILE_SIZE_SIGNAL,
            Exit::Signaled { signal } => signal == FILE_SIZE_SIGNAL,
            Exit::TimedOut
            | Exit::OutOfMemory
            | Exit::Stopped
            | Exit::Abandoned
            | Exit::NotStarted { .. }
            | Exit::Expired
            | Exit::Stuck => return None,
        };
        let says = |words: &[&str]| {
            let said = String::from_utf8_lossy(&ended.stderr.inline);
            words.iter().any(|words| said.contains(words))
        };
        // A program may handle the signal and report the system's error instead.
        let file = self.file_bytes_max.map(SiteLimit::FileBytes);
        let file = file.filter(|_| is_signalled || says(&["File too large"]));
        let processes = self.processes_max.map(SiteLimit::Processes);
        let processes = processes
            .filter(|_| was_refused() || says(&["Resource temporarily unavailable", "annot fork"]));
        let files = self.open_files_max.map(SiteLimit::OpenFiles);
        let files = files.filter(|_| says(&["Too many open files"]));
        file.or(processes).or(files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_come_through_the_arguments() {
        let all = Limits {
            processes_max: Some(100),
            open_files_max: Some(64),
            file_bytes_max: Some(1 << 40),
            io: Some(IoClass::BestEffort(7)),
            binds_cores: true,
        };
        for limits in [all, Limits::default()] {
            let mut read = Limits::default();
            for pair in limits.arguments().chunks(2) {
                assert!(read.parse(&pair[0], &pair[1]), "{pair:?}");
            }
            assert_eq!(read, limits);
        }
        let mut limits = Limits::default();
        for (name, value) in [
            ("--io", "first"),
            ("--open-files-max", "-1"),
            ("--what", "1"),
        ] {
            assert!(!limits.parse(name, value), "{name} {value}");
        }
    }

    #[test]
    fn classes_are_read_as_they_are_written() {
        for text in ["idle", "best-effort-0", "best-effort-7"] {
            assert_eq!(IoClass::parse(text).unwrap().name(), text);
        }
        assert_eq!(
            IoClass::parse("best-effort"),
            IoClass::parse("best-effort-4")
        );
        for odd in ["", "realtime", "best-effort-8", "best-effort-"] {
            assert_eq!(IoClass::parse(odd), None, "{odd}");
        }
    }
}
