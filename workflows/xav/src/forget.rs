//! `xav forget`, and the processes that each run forgets because their time is over.

pub(crate) mod in_grid;

use std::fs;
use std::path::{Path, PathBuf};

use journal::durable::Unflushed;
use model::{Bytes, ProcessId, Span, Wall};
use process_daemon::Offline;
use serde_json::json;
use shell::Client;
use wire::client::{Answer, Request, Summary};

use crate::arguments::{Following, Forget, State};
use crate::ask::{Source, unfit};
use crate::earlier::Earlier;
use crate::failure::{Failure, Outcome, status};
use crate::garbage::{self, Kept};
use crate::grid::Grid;
use crate::home::{self, Entry, Located, Scope, refused};
use crate::location::Location;
use crate::state::{Held, StateDirectory, StateError, Use, pause};
use crate::watch::Host;
use crate::{due, fault, machines, render, screen, sources, summary_file, text};

/// Processes that one run forgets: a run does not become a long one because of others. The next
/// run goes on.
const FORGOTTEN_MAX: usize = 50;

/// The time that a run may spend on forgetting.
const FORGETTING_TIME: Span = Span::from_secs(2);

/// The time in which an ended process gives its slots back: a few messages.
const RELEASE_PATIENCE: Span = Span::from_secs(5);

/// The prefix of a state directory that is being removed.
const REMOVED: &str = ".forgotten-";

/// The entries of a state directory, in the order of their removal: without the first it has no
/// processes, without the last it is no state directory.
const PARTS: [&str; 11] = [
    "pm",
    "gm",
    "results",
    sources::DIRECTORY,
    "garbage",
    "summary",
    "summary.next",
    "machines.yaml",
    "xav.log",
    "version",
    "lock",
];

/// `xav forget`
pub(crate) fn forget(arguments: &Forget) -> Outcome {
    let scope = Scope::of(&arguments.state)?;
    if let Scope::Grid(remote) = &scope {
        return in_grid::forget(remote, arguments);
    }
    if !arguments.dry_run {
        sweep();
    }
    let wanted = match arguments.older_than {
        Some(age) => older_than(&scope, age),
        None => named(&scope, &arguments.ids)?,
    };
    if arguments.dry_run {
        return foretell(&wanted, arguments.json);
    }
    let mut forgotten = Vec::new();
    let mut failures = Vec::new();
    let mut freed = Bytes::ZERO;
    for (directory, processes) in &wanted {
        let before = summary_file::disk_use(directory.path()).unwrap_or_default();
        match forget_in(directory, processes) {
            Ok(()) => forgotten.extend(processes),
            Err(failure) => failures.push(failure),
        }
        let after = summary_file::disk_use(directory.path()).unwrap_or_default();
        freed = freed + Bytes(before.0.saturating_sub(after.0));
    }
    if arguments.json {
        let names: Vec<String> = forgotten.iter().map(ToString::to_string).collect();
        screen::json(&json!({ "forgotten": names, "freed_bytes": freed.0 }))?;
    } else {
        screen::out(&said(&forgotten, Some(freed)))?;
    }
    let worst = failures.iter().map(|failure| failure.status).max();
    for failure in failures {
        failure.tell(false);
    }
    Ok(worst.unwrap_or(0))
}

/// Forgets what is over its time, after a run in the same scope; not the process of that run, whose
/// outputs somebody is about to read. It fails nothing.
pub(crate) fn what_is_over_its_time(state: &State, own: ProcessId, following: Following) {
    let give_up = shell::clock::mono() + FORGETTING_TIME;
    let now = shell::clock::wall();
    let is_of_all = state.dir.is_none();
    if is_of_all && !due::is_now(now) {
        return;
    }
    let Ok(scope) = Scope::of(state) else { return };
    if let Scope::Grid(_) = scope {
        return;
    }
    if is_of_all {
        due::begin_look(now);
        sweep();
    }
    let mut over = Vec::new();
    let mut next = None;
    // The oldest first, so that what is not reached in time is what will be over its own last.
    for directory in scope.directories().iter().rev() {
        if shell::clock::mono() >= give_up {
            next = Some(now);
            break;
        }
        // A directory without a summary is left for another time: its journal would have to be read.
        let Some(known) = summary_file::read(directory.path()) else {
            continue;
        };
        for summary in &known.processes {
            match due::over_at(summary) {
                Some(at) if at <= now && summary.process != own => {
                    over.push((directory, summary.process));
                }
                Some(at) => next = Some(next.map_or(at, |next: Wall| next.min(at))),
                None => {}
            }
        }
    }
    if over.len() > FORGOTTEN_MAX {
        next = Some(now);
    }
    let mut forgotten = Vec::new();
    let mut freed = Bytes::ZERO;
    for (directory, processes) in grouped(over.into_iter().take(FORGOTTEN_MAX)) {
        if shell::clock::mono() >= give_up {
            next = Some(now);
            break;
        }
        let before = summary_file::disk_use(directory.path()).unwrap_or_default();
        if forget_in(&directory, &processes).is_ok() {
            forgotten.extend(processes);
            let after = summary_file::disk_use(directory.path()).unwrap_or_default();
            freed = freed + Bytes(before.0.saturating_sub(after.0));
        } else {
            // Another run may have it just now: the next one finds it again.
            next = Some(now);
        }
    }
    if is_of_all && let Some(at) = next {
        due::by(at);
    }
    if !forgotten.is_empty() && !following.quiet && !following.json {
        let processes = text::count(forgotten.len() as u64, "process", "processes");
        screen::tell(&format!(
            "forgot {processes} whose time to be kept was over, {freed}\n"
        ));
    }
}

/// The forgotten processes, and their disk use where it is known.
fn said(forgotten: &[ProcessId], freed: Option<Bytes>) -> String {
    let freed = freed.map_or_else(String::new, |freed| format!(", {freed}"));
    match forgotten {
        [] => "nothing was forgotten\n".to_owned(),
        [one] => format!("forgot {one}{freed}\n"),
        several => format!("forgot {} processes{freed}\n", several.len()),
    }
}

/// `xav forget --dry-run`: what would be forgotten, and how many bytes would be free.
fn foretell(wanted: &[(StateDirectory, Vec<ProcessId>)], as_json: bool) -> Outcome {
    let (mut foretold, mut failures) = (Vec::new(), Vec::new());
    for (directory, processes) in wanted {
        match foretold_in(directory, processes) {
            Ok(of_directory) => foretold.push(of_directory),
            Err(failure) => failures.push(failure),
        }
    }
    let freed = foretold.iter().fold(Bytes::ZERO, |sum, one| sum + one.0);
    let processes: Vec<Summary> = foretold.into_iter().flat_map(|one| one.1).collect();
    tell_foretold(&processes, Some(freed), as_json)?;
    let worst = failures.iter().map(|failure| failure.status).max();
    for failure in failures {
        failure.tell(false);
    }
    Ok(worst.unwrap_or(0))
}

/// The bytes that processes of a state directory would leave free, and what is known of them. The journal
/// is not counted where others stay in it: what they would leave of it is not known before.
fn foretold_in(
    directory: &StateDirectory,
    processes: &[ProcessId],
) -> Result<(Bytes, Vec<Summary>), Failure> {
    let mut source = Source::of(directory)?;
    let mut summaries = Vec::new();
    for &process in processes {
        let summary = source.status(process)?.summary;
        if !summary.phase.has_ended() {
            return Err(not_ended(&summary));
        }
        summaries.push(summary);
    }
    let is_live = source.is_live();
    let kept = Kept::without(|request| source.answer(request), processes)?;
    let bytes = match kept.is_empty() && !is_live {
        true => summary_file::disk_use(directory.path()).unwrap_or_default(),
        false => garbage::size(directory.path(), &kept),
    };
    Ok((bytes, summaries))
}

/// Says what would be forgotten, and what would be free where that is known.
fn tell_foretold(
    processes: &[Summary],
    freed: Option<Bytes>,
    as_json: bool,
) -> Result<(), Failure> {
    if as_json {
        let ids: Vec<String> = processes
            .iter()
            .map(|one| one.process.to_string())
            .collect();
        let freed = freed.map(|freed| freed.0);
        screen::json(&json!({ "would_forget": ids, "would_free_bytes": freed }))?;
        return Ok(());
    }
    let freed = freed.map_or_else(String::new, |freed| format!(", {freed}"));
    let rows = processes.iter().map(|one| {
        let ended = one.ended.map(text::moment).unwrap_or_default();
        let past = render::past(one.phase);
        format!("{} {} {past} {ended}\n", one.process, one.name)
    });
    let rows: String = rows.collect();
    let all = text::count(processes.len() as u64, "process", "processes");
    screen::out(&match processes {
        [] => "nothing would be forgotten\n".to_owned(),
        _ => format!("{rows}{all} would be forgotten{freed}\n"),
    })?;
    Ok(())
}

/// True if a process ended so long ago.
fn is_older(summary: &Summary, age: Span, now: Wall) -> bool {
    summary.ended.is_some_and(|ended| now.since(ended) >= age)
}

/// All that ended so long ago.
fn older_than(scope: &Scope, age: Span) -> Vec<(StateDirectory, Vec<ProcessId>)> {
    let (entries, warnings) = home::list(scope);
    for warning in warnings {
        screen::warn(&warning);
    }
    let now = shell::clock::wall();
    let is_old = |entry: &&Entry| is_older(&entry.summary, age, now);
    let old = entries.iter().filter(is_old);
    grouped(old.filter_map(|entry| here(&entry.location, entry.summary.process)))
}

fn named(scope: &Scope, ids: &[String]) -> Result<Vec<(StateDirectory, Vec<ProcessId>)>, Failure> {
    let found: Result<Vec<Located>, Failure> = ids.iter().map(|id| scope.find(Some(id))).collect();
    let found = found?;
    let found = found.iter();
    Ok(grouped(
        found.filter_map(|found| here(&found.location, found.process)),
    ))
}

/// A process that is kept on this machine.
fn here(location: &Location, process: ProcessId) -> Option<(&StateDirectory, ProcessId)> {
    match location {
        Location::Here(directory) => Some((directory, process)),
        Location::Grid(_) => None,
    }
}

/// Processes by their state directories, each once.
fn grouped<'a>(
    found: impl Iterator<Item = (&'a StateDirectory, ProcessId)>,
) -> Vec<(StateDirectory, Vec<ProcessId>)> {
    let mut groups: Vec<(StateDirectory, Vec<ProcessId>)> = Vec::new();
    for (directory, process) in found {
        let known = groups
            .iter_mut()
            .find(|(known, _)| known.path() == directory.path());
        match known {
            Some((_, processes)) if processes.contains(&process) => {}
            Some((_, processes)) => processes.push(process),
            None => groups.push((directory.clone(), vec![process])),
        }
    }
    groups
}

/// Forgets processes of a state directory; all of it where no others are in it.
fn forget_in(directory: &StateDirectory, processes: &[ProcessId]) -> Result<(), Failure> {
    match directory.hold(Use::Run) {
        Ok(held) => forget_held(directory, held, processes),
        Err(StateError::InUse { .. }) => forget_live(directory, processes),
        Err(error) => Err(refused(error)),
    }
}

/// With the managers of the run that has the directory. What becomes garbage is collected when that
/// run ends.
fn forget_live(directory: &StateDirectory, processes: &[ProcessId]) -> Result<(), Failure> {
    let Some(user) = directory.user().map_err(refused)? else {
        return forget_in(directory, processes);
    };
    let mut client = user.connect().map_err(|error| Failure::because(&error))?;
    for &process in processes {
        let answer = client
            .ask(Request::Status(process))
            .map_err(|error| Failure::because(&error))?;
        let Answer::Status(status) = answer else {
            return Err(unfit(&answer));
        };
        if !status.summary.phase.has_ended() {
            return Err(not_ended(&status.summary));
        }
    }
    garbage::mark(directory.path()).map_err(|error| cannot_write(directory, &error))?;
    forget_by(&mut client, processes)
}

fn forget_held(
    directory: &StateDirectory,
    held: Held,
    processes: &[ProcessId],
) -> Result<(), Failure> {
    let manager = directory.path().join("pm");
    let offline = Offline::open(&manager).map_err(|error| Failure::because(&error))?;
    for &process in processes {
        let Some(status) = offline.status(process) else {
            return Err(unfit(&Answer::Unknown(process)));
        };
        if !status.summary.phase.has_ended() {
            return Err(not_ended(&status.summary));
        }
    }
    let kept = Kept::without(|request| Ok(offline.answer(&request)), processes)?;
    let is_quiet = offline.list().iter().all(|one| one.phase.has_ended());
    drop(offline);
    if kept.is_empty() {
        for process in processes {
            home::unlink(*process);
        }
        return remove(directory, held);
    }
    garbage::mark(directory.path()).map_err(|error| cannot_write(directory, &error))?;
    // Whoever forgets must record it. A process manager does, alone: nothing else shall run for it.
    // Only a process that ended when its run was killed still has machines to give back, so where
    // nothing would run anyway all managers are started.
    let held = if is_quiet {
        let grid = Grid::start(
            directory,
            held,
            Unflushed::default(),
            None,
            None,
            (None, Earlier::default()),
        )?;
        let forgotten = grid
            .client()
            .and_then(|mut client| forget_by(&mut client, processes));
        let (failed, held) = grid.stop_and_hold();
        forgotten?;
        if let Some(failed) = failed {
            return Err(failed);
        }
        held
    } else {
        forget_alone(&manager, processes)?;
        held
    };
    garbage::collect(directory.path(), &kept)?;
    drop(held);
    Ok(())
}

/// With a process manager that knows no machines.
fn forget_alone(manager: &Path, processes: &[ProcessId]) -> Result<(), Failure> {
    let manager = process_daemon::start(process_daemon::Config {
        directory: manager.to_owned(),
        scheduler: schedule::SchedulerKind::default(),
        link: None,
        lease: None,
        keeper: None,
        keep: None,
        quota: process_daemon::Quota::default(),
        limits: std::collections::BTreeMap::new(),
        reserve: model::Bytes::ZERO,
        socket: None,
        links_epoch: model::Epoch(0),
        history: process_daemon::HistoryPlace::Nowhere,
        outcomes: None,
        earlier: Vec::new(),
        failed: Box::new(|_| {}),
    });
    let manager = manager.map_err(|error| Failure::because(&error))?;
    let forgotten = manager
        .client()
        .map_err(|error| Failure::new(format!("could not ask the process manager: {error}")))
        .and_then(|mut client| forget_by(&mut client, processes));
    let stopped = manager.stop().map_err(|error| Failure::because(&error));
    forgotten.and(stopped)
}

fn forget_by(client: &mut Client, processes: &[ProcessId]) -> Result<(), Failure> {
    for &process in processes {
        forget_one(client, process)?;
        home::unlink(process);
    }
    Ok(())
}

/// Has a process manager forget a process, whose machines it may have to give back first.
fn forget_one(client: &mut Client, process: ProcessId) -> Result<(), Failure> {
    let give_up = shell::clock::mono() + RELEASE_PATIENCE;
    loop {
        let answer = client
            .ask(Request::Forget(process))
            .map_err(|error| Failure::because(&error))?;
        if let Answer::Forgotten(_) = answer {
            return Ok(());
        }
        // Its machines may be on their way back.
        let is_early = matches!(answer, Answer::Refused(_)) && shell::clock::mono() < give_up;
        if !is_early {
            return Err(unfit(&answer));
        }
        pause();
    }
}

fn not_ended(summary: &Summary) -> Failure {
    let (name, process) = (&summary.name, summary.process);
    let past = render::past(summary.phase);
    let id = fault::short(process);
    Failure::refused(format!("{name} {process} {past}: it is not forgotten"))
        .help(format!("xav cancel {id} ends it for good"))
}

fn cannot_write(directory: &StateDirectory, error: &std::io::Error) -> Failure {
    Failure::new(format!(
        "could not write to {}: {error}",
        directory.path().display()
    ))
}

/// Removes a state directory with everything that is its own. It is held, so nobody uses it; who
/// waits for it finds that it is gone.
fn remove(directory: &StateDirectory, held: Held) -> Result<(), Failure> {
    let path = directory.path();
    let removed = match aside(path) {
        Some(aside) => fs::rename(path, &aside).and_then(|()| fs::remove_dir_all(&aside)),
        None => remove_parts(path),
    };
    drop(held);
    removed.map_err(|error| {
        let status = status::FAULTED;
        let message = format!("could not remove {}: {error}", path.display());
        Failure {
            status,
            ..Failure::new(message)
        }
    })
}

/// Where a directory of the user's own data directory is moved to before it is removed, so that it
/// is gone at once. One that the user named elsewhere stays where it is: there may be other things
/// in it.
fn aside(path: &Path) -> Option<PathBuf> {
    let runs = home::runs().ok()?;
    let runs = fs::canonicalize(&runs).unwrap_or(runs);
    let parent = path.parent()?;
    let is_own = parent == runs || Some(parent) == runs.parent();
    let name = path.file_name()?.to_str()?;
    is_own.then(|| runs.join(format!("{REMOVED}{name}-{}", std::process::id())))
}

fn remove_parts(path: &Path) -> std::io::Result<()> {
    let machines = machines::directories(path);
    let (first, others) = PARTS.split_first().expect("it has parts");
    let others = others.iter().map(|name| path.join(name));
    let all = [path.join(first)].into_iter().chain(machines).chain(others);
    for part in all {
        let removed = match part.symlink_metadata() {
            Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(&part),
            Ok(_) => fs::remove_file(&part),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        };
        removed?;
    }
    // Other entries are not ours, so only an empty directory goes.
    let _ = fs::remove_dir(path);
    Ok(())
}

/// Goes on with what was being removed when somebody was killed.
fn sweep() {
    let Ok(entries) = home::runs()
        .and_then(|runs| fs::read_dir(runs).map_err(|error| Failure::new(error.to_string())))
    else {
        return;
    };
    for entry in entries.filter_map(Result::ok) {
        let (name, path) = (entry.file_name(), entry.path());
        if name.to_str().is_some_and(|name| name.starts_with(REMOVED)) {
            // Another may be at it too, which is well.
            let _ = fs::remove_dir_all(path);
        } else if path.is_symlink() && !path.exists() {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests;
