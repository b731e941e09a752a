//! The limits of a site for commands: the settings of `am.toml` that begin with `command-`, and
//! `bind-cores`.

use std::error::Error;
use std::ops::RangeInclusive;

use activity_executor::{IoClass, Limits};
use model::Bytes;
use rustix::process::{Resource, getrlimit};
use shell::config::Config;

/// Processes and threads of a command: fewer than a shell pipeline needs make no sense, and no
/// system has more.
const PROCESSES: RangeInclusive<u32> = 8..=4_194_304;

/// Open files of a process: with fewer no program starts, and the kernel permits no more by
/// default.
const OPEN_FILES: RangeInclusive<u32> = 16..=1_048_576;

/// The smallest limit of a file's size.
const FILE_SIZE_LEAST: Bytes = Bytes(1 << 20);

/// Priorities of commands: none precedes the owner's own programs.
const NICE: RangeInclusive<u32> = 0..=19;

/// The settings; see the module.
#[derive(Debug)]
pub(crate) struct CommandSettings {
    processes_max: Option<u32>,
    open_files_max: Option<u32>,
    file_size_max: Option<Bytes>,
    pub(crate) nice: Option<i32>,
    io: Option<IoClass>,
    binds_cores: Option<bool>,
}

impl CommandSettings {
    pub(crate) fn ask(config: &mut Config<'_>) -> CommandSettings {
        let nice = config.optional_number("command-nice", NICE);
        CommandSettings {
            processes_max: config.optional_number("command-processes-max", PROCESSES),
            open_files_max: config.optional_number("command-open-files-max", OPEN_FILES),
            file_size_max: config.optional_bytes("command-file-size-max"),
            nice: nice.and_then(|nice| i32::try_from(nice).ok()),
            io: config.optional(
                "command-io",
                "\"idle\", \"best-effort\" or \"best-effort-0\" (first) to \"best-effort-7\" (last)",
                IoClass::parse,
            ),
            binds_cores: config.optional_flag("bind-cores"),
        }
    }

    /// Refuses limits under which no command could run, or that cannot be set here.
    pub(crate) fn approve(&self) -> Result<(), Box<dyn Error>> {
        if let Some(size) = self.file_size_max.filter(|&size| size < FILE_SIZE_LEAST) {
            return Err(format!(
                "command-file-size-max = {size} lets commands write next to nothing: \
                 {FILE_SIZE_LEAST} is the least"
            )
            .into());
        }
        let most = getrlimit(Resource::Nofile).maximum;
        if let (Some(wanted), Some(most)) = (self.open_files_max, most)
            && u64::from(wanted) > most
        {
            return Err(format!(
                "command-open-files-max = {wanted} is more than this manager may have itself, {most}: \
                 raise that (LimitNOFILE in its unit, or ulimit -Hn)"
            )
            .into());
        }
        Ok(())
    }

    /// The limits on a machine with so many slots and CPUs.
    pub(crate) fn limits(&self, n_slots: u32, n_cpus: u32) -> Limits {
        let has_cpus = n_slots <= n_cpus;
        if !has_cpus && self.binds_cores != Some(false) {
            tracing::warn!(
                slots = n_slots,
                cpus = n_cpus,
                "commands are not bound to CPUs: there are more slots than CPUs"
            );
        }
        Limits {
            processes_max: self.processes_max,
            open_files_max: self.open_files_max,
            file_bytes_max: self.file_size_max.map(|size| size.0),
            io: self.io,
            binds_cores: has_cpus && self.binds_cores != Some(false),
        }
    }
}
