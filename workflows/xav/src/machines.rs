//! The machines of a state directory: this one, or several of different power that it passes for
//! (`--machines`).
//!
//! Those of a directory are settled when the first process is run in it, and kept there: what was
//! planned for machines can only go on with them.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use activity_daemon::MachineProfile;
use activity_executor::{Pace, PaceError};
use language::platform::{self, PlatformFile, PlatformMachine};
use model::{Bytes, PowerSteps, Span};

use crate::failure::{Failure, status};
use crate::inputs::reason;
use crate::state::StateDirectory;
use crate::{screen, source_file, text};

/// Machines that this one may pass for: each is a manager with its threads and an executor.
const MACHINES_MAX: usize = 64;

/// Bytes of a platform file that is read: a hundred thousand machines with some words each.
pub(crate) const FILE_BYTES_MAX: u64 = 16 << 20;

/// Where the machines of a state directory are kept, as a platform file.
const KEPT: &str = "machines.yaml";

/// The manager of the machine that passes for nothing.
pub(crate) const OWN: &str = "am";

/// In the directory of that manager, the name of its machine.
const NAME: &str = "name";

/// A machine of a state directory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LocalMachine {
    /// Its name.
    pub(crate) name: String,
    /// Where its manager keeps everything.
    pub(crate) directory: PathBuf,
    /// Commands that may run on it at the same time.
    pub(crate) slots: u32,
    /// The profile that it simulates, if any.
    pub(crate) profile: Option<MachineProfile>,
    /// The power that this machine itself has beside the one that it passes for.
    pub(crate) own_power: f64,
}

impl LocalMachine {
    /// True if it passes for one whose power changes.
    pub(crate) fn changes_power(&self) -> bool {
        let pace = self.profile.as_ref().and_then(|one| one.pace.as_ref());
        pace.is_some_and(|pace| pace.shares().changes())
    }
}

/// True if a state directory passes for machines that a file describes.
pub(crate) fn are_described(state: &Path) -> bool {
    state.join(KEPT).exists()
}

/// Where the manager of a machine keeps everything.
pub(crate) fn directory(state: &Path, machine: &str) -> PathBuf {
    let own = state.join(format!("{OWN}-{machine}"));
    if own.is_dir() { own } else { state.join(OWN) }
}

/// Where all managers of machines keep everything. The first has the blobs.
pub(crate) fn directories(state: &Path) -> Vec<PathBuf> {
    let mut found = vec![state.join(OWN)];
    let entries = fs::read_dir(state).into_iter().flatten().flatten();
    let others = entries.map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with("am-")) && path.is_dir()
    });
    found.extend(others);
    found[1..].sort();
    found
}

/// Reads the file that `--machines` names; mistakes are shown.
pub(crate) fn read(path: &Path, as_json: bool) -> Result<PlatformFile, Failure> {
    let file = read_platform(path, as_json)?;
    let shown = text::quoted(&path.display().to_string());
    let n_machines = file.n_machines();
    if n_machines > MACHINES_MAX {
        return Err(Failure::refused(format!(
            "{shown} has {n_machines} machines; this one passes for {MACHINES_MAX} at most"
        ))
        .help(format!(
            "plan for them without running: xav plan FILE --platform {shown}"
        )));
    }
    let most = most_power(&file);
    for (_, name, machine) in file.machines() {
        if let Err(PaceError::Share { share }) = pace(&machine.power, most) {
            let least = share * most;
            return Err(Failure::refused(format!(
                "{shown} has machines of power {most} and {least}; one can be made a thousand times slower at most"
            )));
        }
        if let Some(last) = machine.power.stands_still_from() {
            let last = Span::from_seconds_up(last);
            screen::warn(&format!(
                "{name} stands still for ever after {last}: commands that run on it then do not end, and a run in which nothing else goes on is given up"
            ));
        }
    }
    let slots: u64 = file
        .machines()
        .map(|(_, _, one)| u64::from(one.slots))
        .sum();
    let cores = cores();
    if slots > u64::from(cores) {
        screen::warn(&format!(
            "the machines have {} together and this one has {}: commands will wait for each other",
            text::count(slots, "slot", "slots"),
            text::count(u64::from(cores), "core", "cores")
        ));
    }
    let says_links = file.inside != platform::LINK_DEFAULT
        || file.groups.len() > 1
        || file.groups.iter().any(|group| group.inside.is_some());
    if says_links {
        screen::warn(
            "groups and links are not imitated: what one machine writes is at once on all of them",
        );
    }
    Ok(file)
}

/// Reads a platform file; mistakes are shown, with `as_json` on standard output as well.
pub(crate) fn read_platform(path: &Path, as_json: bool) -> Result<PlatformFile, Failure> {
    let shown = path.display();
    let failed =
        |error: io::Error| Failure::refused(format!("could not read {shown}: {}", reason(&error)));
    let bytes = read_bounded(path).map_err(failed)?;
    let Some(bytes) = bytes else {
        let most = Bytes(FILE_BYTES_MAX);
        return Err(Failure::refused(format!(
            "{shown} is larger than {most}, the most that a platform file may have"
        )));
    };
    platform::compile(&shown.to_string(), &bytes).or_else(|diagnostics| {
        source_file::show(&diagnostics);
        if as_json {
            let error = format!("{shown} is not a platform");
            let reports = diagnostics.reports();
            screen::json(&serde_json::json!({ "error": error, "diagnostics": reports }))?;
        }
        Err(Failure::said(status::REFUSED))
    })
}

/// All bytes of a file; none where there are too many.
pub(crate) fn read_bounded(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let file = fs::File::open(path)?;
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= FILE_BYTES_MAX).then_some(bytes))
}

/// Settles which machines a state directory has. `wanted` is what the user asked for; without it
/// the directory's own stay.
pub(crate) fn settle(
    directory: &StateDirectory,
    wanted: Option<&PlatformFile>,
) -> Result<(), Failure> {
    let Some(wanted) = wanted else { return Ok(()) };
    let shown = text::quoted(&directory.path().display().to_string());
    let other = |why: &str| {
        Failure::refused(format!("{shown} {why}"))
            .help("give another directory with --state, or leave --machines out")
    };
    if let Some(kept) = kept(directory.path())? {
        return if kept == *wanted {
            Ok(())
        } else {
            Err(other("has other machines"))
        };
    }
    if directory.path().join("pm").exists() {
        return Err(other("has processes that were planned for this machine"));
    }
    keep(directory.path(), wanted)
        .map_err(|error| Failure::new(format!("could not write to {shown}: {}", reason(&error))))
}

/// The machines of a state directory, at least one.
pub(crate) fn of(state: &Path, slots: Option<u32>) -> Result<Vec<LocalMachine>, Failure> {
    let Some(file) = kept(state)? else {
        return Ok(vec![LocalMachine {
            name: own_name(state)?,
            directory: state.join(OWN),
            slots: slots.unwrap_or_else(cores),
            profile: None,
            own_power: 1.0,
        }]);
    };
    if slots.is_some() {
        let shown = text::quoted(&state.display().to_string());
        return Err(Failure::refused(format!(
            "the machines in {shown} have slots of their own: leave --slots out"
        )));
    }
    let own_power = most_power(&file);
    // All of them change with one clock, which begins anew with the managers.
    let pace_since = shell::clock::mono();
    let machine = |(_, name, machine): (usize, String, &PlatformMachine)| {
        let pace = pace(&machine.power, own_power).map_err(|error| Failure::because(&error))?;
        Ok(LocalMachine {
            directory: state.join(format!("{OWN}-{name}")),
            name,
            slots: machine.slots,
            profile: Some(MachineProfile {
                power: machine.power.at_start(),
                memory: machine.memory,
                labels: machine.labels.clone(),
                pace: Some(pace).filter(|pace| !pace.is_whole()),
                pace_since,
            }),
            own_power,
        })
    };
    file.machines().map(machine).collect()
}

/// The power of the fastest machine at its best, which this one takes for its own.
fn most_power(file: &PlatformFile) -> f64 {
    let powers = file.machines().map(|(_, _, machine)| machine.power.most());
    powers.fold(0.0, f64::max)
}

/// The parts of the time that commands get on a machine where this one has the power of the fastest.
fn pace(power: &PowerSteps, most: f64) -> Result<Pace, PaceError> {
    let steps = power.steps().iter();
    let shares = PowerSteps::new(steps.map(|step| (step.from, step.power / most)));
    Pace::new(shares.expect("no power is above the most, which is above 0"))
}

/// The name under which this machine is known in a state directory: the one that it had when the first
/// process was run there. What was recorded for it goes on where the directory is moved to another machine,
/// or this one gets another name.
fn own_name(state: &Path) -> Result<String, Failure> {
    let directory = state.join(OWN);
    let path = directory.join(NAME);
    // A power cut may leave an empty file: its machine has seldom another name since.
    if let Ok(Some(bytes)) = read_bounded(&path)
        && let Ok(name) = String::from_utf8(bytes)
        && !name.is_empty()
    {
        return Ok(name);
    }
    let name = shell::environment::hostname();
    // The start of the managers flushes its name.
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&directory)
        .and_then(|()| fs::write(&path, &name))
        .map_err(|error| {
            let shown = text::quoted(&path.display().to_string());
            Failure::new(format!("could not write {shown}: {}", reason(&error)))
        })?;
    Ok(name)
}

/// Cores that this program may use.
pub(crate) fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX))
}

fn kept(state: &Path) -> Result<Option<PlatformFile>, Failure> {
    let path = state.join(KEPT);
    let shown = path.display();
    let bytes = match read_bounded(&path) {
        Ok(bytes) => bytes.unwrap_or_default(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(Failure::new(format!(
                "could not read {shown}: {}",
                reason(&error)
            )));
        }
    };
    match platform::compile(&shown.to_string(), &bytes) {
        Ok(file) => Ok(Some(file)),
        Err(_) => Err(Failure::new(format!("{shown} is damaged"))),
    }
}

/// Writes the file whole or not at all, durably; one that came to be meanwhile stays.
fn keep(state: &Path, file: &PlatformFile) -> io::Result<()> {
    let path = state.join(KEPT);
    let draft = state.join(format!("{KEPT}.{}", std::process::id()));
    let mut written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&draft)?;
    written.write_all(file.yaml().as_bytes())?;
    written.sync_all()?;
    let linked = fs::hard_link(&draft, &path);
    fs::remove_file(&draft)?;
    linked?;
    fs::File::open(state)?.sync_all()
}

#[cfg(test)]
mod tests;
