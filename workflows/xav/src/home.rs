//! The locations of this user's processes, and the choice of the one that a command is about.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use model::{Bytes, ProcessId};
use wire::client::Summary;

use crate::arguments::{State, Which};
use crate::ask::Source;
use crate::failure::{Failure, chain, status};
use crate::location::Location;
use crate::remote::{self, Home, Remote};
use crate::screen;
use crate::state::{StateDirectory, StateError};
use crate::summary_file::{self, Known};
use crate::text;

/// Processes that are named where a shortened name fits several.
const CANDIDATES_MAX: usize = 10;

/// Where a command looks.
pub(crate) enum Scope {
    /// One state directory, which the user named.
    One(StateDirectory),
    /// All state directories under the user's data directory. What cannot be read is told.
    All(Runs),
    /// A grid.
    Grid(Remote),
}

/// State directories under the user's data directory.
#[derive(Default)]
pub(crate) struct Runs {
    /// Each once, that which was made last first.
    directories: Vec<StateDirectory>,
    /// The process for which a directory was made, and those that were run in it again.
    names: Vec<(ProcessId, StateDirectory)>,
    /// Directories that may have processes and cannot be read: for which process each was made, and
    /// why it cannot be read.
    unread: Vec<(Option<ProcessId>, String)>,
}

/// A process and its location.
pub(crate) struct Located {
    /// Where it is kept.
    pub(crate) location: Location,
    /// Its name.
    pub(crate) process: ProcessId,
}

/// Where a process that is run without `--state` keeps everything.
pub(crate) fn run_directory(process: ProcessId) -> Result<PathBuf, Failure> {
    Ok(runs()?.join(process.to_string()))
}

/// The file of the outcomes of this user's embedded runs.
pub(crate) fn outcomes() -> Result<PathBuf, Failure> {
    Ok(home()?.join("outcomes"))
}

/// All runs that were not told where to be.
pub(crate) fn runs() -> Result<PathBuf, Failure> {
    Ok(home()?.join("runs"))
}

/// The directory of unfinished transfers to and from grids.
pub(crate) fn transfers() -> Result<PathBuf, Failure> {
    Ok(home()?.join("transfers"))
}

/// Where the outputs of a process of a grid are written that are files.
pub(crate) fn results(process: ProcessId) -> Result<PathBuf, Failure> {
    Ok(home()?.join("results").join(process.to_string()))
}

/// The file of what activities took in this user's embedded runs.
pub(crate) fn history() -> Result<PathBuf, Failure> {
    Ok(home()?.join("history"))
}

/// The directory of everything that is kept for this user.
pub(crate) fn of_user() -> Result<PathBuf, Failure> {
    home()
}

fn home() -> Result<PathBuf, Failure> {
    let data = shell::environment::data_directory().ok_or_else(|| {
        Failure::new("there is no place for processes: neither XDG_DATA_HOME nor HOME is set")
            .help("name a directory with --state DIR")
    })?;
    Ok(data.join("xavantes"))
}

/// Makes a process that is run in another one's state directory known by its own name. Nothing
/// rests on it: a process without a link is found by looking into all directories.
pub(crate) fn link(process: ProcessId, directory: &StateDirectory) {
    let Ok(runs) = runs() else { return };
    let own = fs::canonicalize(&runs).unwrap_or_else(|_| runs.clone());
    let target = match directory.path().strip_prefix(&own) {
        Ok(name) => name.to_owned(),
        Err(_) => match own.parent().map(|home| directory.path().strip_prefix(home)) {
            Some(Ok(name)) => PathBuf::from("..").join(name),
            Some(Err(_)) | None => return,
        },
    };
    let path = runs.join(process.to_string());
    let made = fs::create_dir_all(&runs).and_then(|()| symlink(target, &path));
    if let Err(error) = made {
        screen::warn(&format!("could not make {}: {error}", path.display()));
    }
}

/// Removes the link of a process, if it has one.
pub(crate) fn unlink(process: ProcessId) {
    if let Ok(path) = run_directory(process)
        && path.is_symlink()
    {
        let _ = fs::remove_file(path);
    }
}

impl Runs {
    /// Opens a directory, and notes it. One without processes is none of them: its run was interrupted
    /// before it was told of any, or they were forgotten.
    fn open(&mut self, path: &Path, of: Option<ProcessId>) -> Option<StateDirectory> {
        match StateDirectory::open(path) {
            Ok(directory) => {
                self.directories.push(directory.clone());
                Some(directory)
            }
            Err(StateError::Missing { .. }) => None,
            Err(StateError::Other { .. }) if !StateDirectory::may_have_processes(path) => None,
            Err(error) => {
                self.unread.push((of, chain(&error)));
                None
            }
        }
    }

    /// Why a process that a user names may be there and is not found; none where it is not.
    fn why_unread(&self, id: &str) -> Option<Failure> {
        let is_meant = |of: &Option<ProcessId>| of.is_some_and(|process| begins(process, id));
        let unread = self.unread.iter().find(|(of, _)| is_meant(of));
        unread.map(|(_, why)| Failure::new(why))
    }
}

impl Scope {
    /// The scope that `--state`, `--grid` and `--embedded` choose.
    pub(crate) fn of(state: &State) -> Result<Scope, Failure> {
        if let Some(remote) = remote::chosen(&state.grid, state.dir.as_deref())? {
            return Ok(Scope::Grid(remote));
        }
        if let Some(dir) = &state.dir {
            return Ok(Scope::One(StateDirectory::open(dir).map_err(refused)?));
        }
        let runs = runs()?;
        let entries: Vec<fs::DirEntry> = match fs::read_dir(&runs) {
            Ok(entries) => entries.filter_map(Result::ok).collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                return Err(Failure::new(format!(
                    "could not look into {}: {error}",
                    runs.display()
                )));
            }
        };
        let mut found = Runs::default();
        for entry in entries {
            let name = entry.file_name();
            let Some(process) = name.to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            if let Some(directory) = found.open(&entry.path(), Some(process)) {
                found.names.push((process, directory));
            }
        }
        let newest_first = |one: &StateDirectory| std::cmp::Reverse(one.made());
        found
            .directories
            .sort_by(|one, other| one.path().cmp(other.path()));
        found
            .directories
            .dedup_by(|one, other| one.path() == other.path());
        found.directories.sort_by_key(newest_first);
        found
            .names
            .sort_by_key(|(process, directory)| (newest_first(directory), *process));
        Ok(Scope::All(found))
    }

    /// The process that is meant: by the beginning of its ID, by its name, or the newest one.
    pub(crate) fn find(&self, id: Option<&str>) -> Result<Located, Failure> {
        if let (Scope::All(runs), Some(id)) = (self, id) {
            // Most have a name under which they are found without looking into any directory.
            let is_named = runs.names.iter().any(|(process, _)| begins(*process, id));
            if is_named {
                let names: Vec<(ProcessId, String)> = runs
                    .names
                    .iter()
                    .map(|(process, _)| (*process, String::new()))
                    .collect();
                let process = choose(Some(id), &names)?;
                self.refuse_namesake(id, process)?;
                let directory = runs.names.iter().find(|(known, _)| *known == process);
                let (_, directory) = directory.expect("it was chosen among these");
                let location = Location::Here(directory.clone());
                return Ok(Located { location, process });
            }
            if let Some(failure) = runs.why_unread(id) {
                return Err(failure);
            }
        }
        if let (Scope::Grid(remote), Some(process)) = (self, id.and_then(|id| id.parse().ok())) {
            return match remote.home_of(process) {
                Ok(home) => {
                    let location = Location::Grid(home);
                    Ok(Located { location, process })
                }
                // A manager that does not answer may have it.
                Err(failures) if !failures.is_empty() => {
                    Err(hidden(remote::several(failures), &process.to_string()))
                }
                Err(_) => Err(unknown(&process.to_string())),
            };
        }
        let (mut entries, warnings) = list(self);
        if let Some(warning) = warnings.first() {
            // A manager or directory that gives no answer may have the process that is meant.
            let is_meant = |entry: &Entry| match (self, id) {
                (_, Some(id)) => begins(entry.summary.process, id),
                // One of many directories that is damaged keeps nobody from the others.
                (Scope::All(_), None) => true,
                (Scope::One(_) | Scope::Grid(_), None) => false,
            };
            if !entries.iter().any(is_meant) {
                let failure = Failure::new(warnings.join("; "));
                return Err(match (self, id) {
                    (Scope::Grid(_), Some(id)) => hidden(failure, id),
                    (Scope::Grid(_), None) => {
                        failure.help("the newest process may be there; name the one you mean")
                    }
                    (Scope::One(_) | Scope::All(_), _) => failure,
                });
            }
            screen::warn(warning);
        }
        let names: Vec<(ProcessId, String)> = entries
            .iter()
            .map(|one| (one.summary.process, one.summary.name.clone()))
            .collect();
        let process = choose(id, &names)?;
        let at = entries
            .iter()
            .position(|one| one.summary.process == process);
        let entry = entries.swap_remove(at.expect("it was chosen among these"));
        Ok(Located {
            location: entry.location,
            process,
        })
    }

    /// Refuses a word that is the name of other processes too. Most words are no names, so the directories are
    /// seldom looked into for that.
    fn refuse_namesake(&self, word: &str, process: ProcessId) -> Result<(), Failure> {
        if !may_be_name(word) {
            return Ok(());
        }
        let (entries, _) = list(self);
        let names: Vec<(ProcessId, String)> = entries
            .into_iter()
            .map(|one| (one.summary.process, one.summary.name))
            .collect();
        namesake(word, process, &names).map_or(Ok(()), Err)
    }

    /// The state directories in it; a grid has none here.
    pub(crate) fn directories(&self) -> &[StateDirectory] {
        match self {
            Scope::One(directory) => std::slice::from_ref(directory),
            Scope::All(runs) => &runs.directories,
            Scope::Grid(_) => &[],
        }
    }
}

/// The process that a user names.
pub(crate) fn find(which: &Which) -> Result<Located, Failure> {
    Scope::of(&which.state)?.find(which.id.as_deref())
}

/// A process of a list.
pub(crate) struct Entry {
    /// The process.
    pub(crate) summary: Summary,
    /// Where it is kept.
    pub(crate) location: Location,
    /// True if a run has it at the moment.
    pub(crate) is_live: bool,
    /// The disk use of its state directory; `None` where it was not counted.
    pub(crate) disk: Option<Bytes>,
}

/// All processes of a scope, the newest first, and what could not be read.
pub(crate) fn list(scope: &Scope) -> (Vec<Entry>, Vec<String>) {
    listed(scope, Remote::list)
}

/// The same for somebody who only looks: process managers that cannot be reached are soon given up.
pub(crate) fn list_soon(scope: &Scope) -> (Vec<Entry>, Vec<String>) {
    listed(scope, Remote::list_soon)
}

fn listed(
    scope: &Scope,
    of_grid: impl Fn(&Remote) -> (Vec<(Home, Summary)>, Vec<Failure>),
) -> (Vec<Entry>, Vec<String>) {
    let mut all = Vec::new();
    let mut warnings = Vec::new();
    if let Scope::Grid(remote) = scope {
        let (known, failures) = of_grid(remote);
        all.extend(known.into_iter().map(|(home, summary)| Entry {
            summary,
            location: Location::Grid(home),
            is_live: true,
            disk: None,
        }));
        warnings.extend(failures.into_iter().map(|failure| failure.message));
    }
    if let Scope::All(runs) = scope {
        warnings.extend(runs.unread.iter().map(|(_, why)| why.clone()));
    }
    for directory in scope.directories() {
        match processes(directory) {
            Ok((Known { processes, disk }, is_live)) => {
                all.extend(processes.into_iter().map(|summary| Entry {
                    summary,
                    location: Location::Here(directory.clone()),
                    is_live,
                    disk,
                }));
            }
            Err(failure) => warnings.push(failure.message),
        }
    }
    all.sort_by_key(|entry| {
        (
            std::cmp::Reverse(entry.summary.submitted),
            entry.summary.process,
        )
    });
    (all, warnings)
}

/// The processes of a state directory, and whether a run has it.
fn processes(directory: &StateDirectory) -> Result<(Known, bool), Failure> {
    // In this order: what is read is true as long as nobody had the directory afterwards.
    if let Some(known) = summary_file::read(directory.path())
        && directory.user().is_ok_and(|user| user.is_none())
    {
        return Ok((known, false));
    }
    let mut source = Source::of(directory)?;
    let processes = source.list()?;
    let disk = summary_file::disk_use(directory.path());
    Ok((Known { processes, disk }, source.is_live()))
}

/// One of these, the newest first: by the beginning of its ID, else the newest of a name, or the newest of
/// all where no word is given. A word that is both is refused: what is cancelled or forgotten is gone.
pub(crate) fn choose(
    id: Option<&str>,
    known: &[(ProcessId, String)],
) -> Result<ProcessId, Failure> {
    let Some(id) = id else {
        let newest = known.first().map(|(process, _)| *process);
        return newest.ok_or_else(|| {
            Failure::refused("there is no process yet").help("start one: xav run FILE")
        });
    };
    let wanted = id.to_ascii_lowercase();
    let fits: Vec<&(ProcessId, String)> = known
        .iter()
        .filter(|(process, _)| begins(*process, id))
        .collect();
    let mut named = known.iter().filter(|(_, name)| name == id);
    match fits.as_slice() {
        [] => match named.next() {
            Some((process, _)) => Ok(*process),
            None => {
                let names = known.iter().map(|(_, name)| name.as_str());
                let near = text::nearest(id, names.filter(|name| !name.is_empty()));
                Err(match near {
                    Some(near) => unknown(id)
                        .help(format!("did you mean {near}? xav list shows all processes")),
                    None => unknown(id),
                })
            }
        },
        [(process, _)] => match namesake(id, *process, known) {
            None => Ok(*process),
            Some(doubt) => Err(doubt),
        },
        several => {
            let mut lines: Vec<String> = several
                .iter()
                .take(CANDIDATES_MAX)
                .map(|(process, name)| format!("{process} {name}").trim_end().to_owned())
                .collect();
            if several.len() > CANDIDATES_MAX {
                lines.push(format!("and {} more", several.len() - CANDIDATES_MAX));
            }
            if let Some((newest, _)) = named.next() {
                lines.push(format!("the newest process of the name {id} is {newest}"));
            }
            Err(
                Failure::refused(format!("{} processes begin with {wanted}", several.len()))
                    .help(lines.join("\n  ")),
            )
        }
    }
}

/// The doubt where a word, the beginning of a process's ID, is the name of another process; of these, the
/// newest first.
fn namesake(word: &str, chosen: ProcessId, known: &[(ProcessId, String)]) -> Option<Failure> {
    let mut named = known.iter().filter(|(_, name)| name == word);
    let (newest, _) = named.next().filter(|(newest, _)| *newest != chosen)?;
    let doubt =
        format!("{word} is the beginning of the ID {chosen}, and the name of other processes");
    let help = format!(
        "say more of the ID that you mean; the newest process of the name {word} is {newest}"
    );
    Some(Failure::refused(doubt).help(help))
}

/// True if a word is written as the names of definitions are, and no ID.
fn may_be_name(word: &str) -> bool {
    word.starts_with(|letter: char| letter.is_ascii_lowercase())
        && word.parse::<ProcessId>().is_err()
}

fn unknown(id: &str) -> Failure {
    let id = text::one_line(id, 40);
    Failure::refused(format!("there is no process {id}")).help("xav list shows all processes")
}

/// The failure when the process may be at a manager that does not answer.
fn hidden(failure: Failure, id: &str) -> Failure {
    let others = failure.help.clone().map(|help| format!("{help}\n  "));
    let (others, id) = (others.unwrap_or_default(), text::one_line(id, 40));
    failure.help(format!(
        "{others}it may have the process {id}; those that answer do not"
    ))
}

/// True if the ID of a process begins so.
pub(crate) fn begins(process: ProcessId, id: &str) -> bool {
    process.to_string().starts_with(&id.to_ascii_lowercase())
}

/// A state directory that the user named and that cannot be used.
pub(crate) fn refused(error: StateError) -> Failure {
    let failure = Failure::because(&error);
    match &error {
        StateError::Missing { .. } | StateError::Other { .. } => Failure {
            status: status::REFUSED,
            ..failure
        },
        StateError::Newer { .. } => failure.help("use that version of xav, or another directory"),
        StateError::InUse { .. } => {
            failure.help("wait for its end, or give another directory with --state")
        }
        StateError::Io { .. } => failure,
    }
}

#[cfg(test)]
mod tests;
