//! The choice of the grid for a command: the one that the command line names, that of the environment, the
//! one that was chosen for good, or none.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::Args;

use super::Remote;
use crate::arguments::{Following, GridChoice};
use crate::failure::{Failure, Outcome, status};
use crate::{screen, text};

/// The environment variable that names a grid where the command line does not.
const VARIABLE: &str = "XAVANTES_GRID";

/// Where the user's grids are, and what names the one that was chosen.
const GRIDS: &str = "grids";
const CHOSEN: &str = "grid";

/// `xav grid use`
#[derive(Args, Debug)]
pub(crate) struct Use {
    /// The grid: a directory, or a name of one of the user's grids; which one is chosen is told
    /// where left out
    #[arg(value_name = "DIR|NAME")]
    grid: Option<String>,
    /// Choose none: processes run on this machine
    #[arg(long, conflicts_with = "grid")]
    none: bool,
}

/// `xav grid use`
pub(crate) fn choose(arguments: &Use) -> Outcome {
    let file = home()?.join(CHOSEN);
    match (&arguments.grid, arguments.none) {
        (Some(word), _) => {
            let directory = find(word)?;
            let remote = Remote::open(&directory)?;
            // A grid below the user's grids is remembered by name, so that they can be moved.
            let kept = match is_path(word) || directory == Path::new(word) {
                true => remote.directory().display().to_string(),
                false => word.clone(),
            };
            write(&file, &format!("{kept}\n"))?;
            screen::out(&format!(
                "{} is used from here on, as {}\n",
                remote.directory().display(),
                remote.identity()
            ))?;
        }
        (None, true) => {
            match fs::remove_file(&file) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(cannot("remove", &file, &error));
                }
                Ok(()) | Err(_) => {}
            }
            screen::out("no grid is used: processes run on this machine\n")?;
        }
        (None, false) => match default()? {
            Some(remote) => screen::out(&format!(
                "{} is used, as {}\n",
                remote.directory().display(),
                remote.identity()
            ))?,
            None => screen::out("no grid is used: processes run on this machine\n")?,
        },
    }
    Ok(0)
}

/// The grid that a command is about; none where it is about this machine.
pub(crate) fn chosen(choice: &GridChoice, state: Option<&Path>) -> Result<Option<Remote>, Failure> {
    match (&choice.grid, state.is_some() || choice.embedded) {
        (Some(_), true) => Err(Failure::refused(
            "--grid is for processes of a grid, --state and --embedded are for those of this machine: give one of them",
        )),
        (None, true) => Ok(None),
        (Some(word), false) => Remote::open(&find(word)?).map(Some),
        (None, false) => default(),
    }
}

/// The directory of the grid that an administrator's command is about: the one that was given, by its path or
/// its name, else that of the environment or the one that was chosen for good; none where none is.
pub(crate) fn directory(given: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
    let named = given.map(Path::to_owned);
    let named = named.or_else(|| shell::environment::text(VARIABLE).map(PathBuf::from));
    let Some(named) = named else {
        return chosen_for_good()?.map(|word| find(&word)).transpose();
    };
    let by_name = named
        .to_str()
        .filter(|word| !Remote::is_at(&named) && !is_path(word))
        .and_then(|word| Some(home().ok()?.join(GRIDS).join(word)))
        .filter(|directory| Remote::is_at(directory));
    Ok(Some(by_name.unwrap_or(named)))
}

/// Refuses what can only be said of this machine, where a grid is used.
pub(crate) fn only(following: Following) -> Result<(), Failure> {
    let option = match (following.slots, following.scheduler) {
        (Some(_), _) => "--slots",
        (None, Some(_)) => "--scheduler",
        (None, None) => return Ok(()),
    };
    Err(of_this_machine(option))
}

/// The failure when an option for this machine is given with a grid.
pub(crate) fn of_this_machine(option: &str) -> Failure {
    Failure::refused(format!(
        "{option} is for processes that run on this machine; a grid has machines of its own"
    ))
    .help("with --embedded it runs on this machine")
}

/// The grid that is used where none is named.
fn default() -> Result<Option<Remote>, Failure> {
    if let Some(word) = shell::environment::text(VARIABLE) {
        let named = |failure: Failure| Failure {
            message: format!("{VARIABLE}={word}: {}", failure.message),
            ..failure
        };
        let directory = find(&word).map_err(named)?;
        return Remote::open(&directory).map(Some).map_err(named);
    }
    let Some(word) = chosen_for_good()? else {
        return Ok(None);
    };
    let unusable = |failure: Failure| Failure {
        help: Some("`xav grid use` chooses another one, --embedded uses this machine".to_owned()),
        ..failure
    };
    let directory = find(&word).map_err(unusable)?;
    Remote::open(&directory).map(Some).map_err(unusable)
}

/// The path or name of the grid that `xav grid use` has chosen; none where it has chosen none.
fn chosen_for_good() -> Result<Option<String>, Failure> {
    let Ok(home) = home() else { return Ok(None) };
    let file = home.join(CHOSEN);
    match fs::read_to_string(&file) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot("read", &file, &error)),
    }
}

/// The directory of a grid, by its path or its name.
fn find(word: &str) -> Result<PathBuf, Failure> {
    let path = Path::new(word);
    if is_path(word) {
        return match (Remote::is_at(path), path.is_dir()) {
            (true, _) => Ok(path.to_owned()),
            (false, true) => Err(Failure::refused(format!(
                "{word} is not the directory of a grid: there is no grid.toml in it"
            ))),
            (false, false) => Err(Failure::refused(format!("there is no directory {word}"))),
        };
    }
    let grids = home().map(|home| home.join(GRIDS));
    if let Ok(grids) = &grids
        && Remote::is_at(&grids.join(word))
    {
        return Ok(grids.join(word));
    }
    if Remote::is_at(path) {
        return Ok(path.to_owned());
    }
    let known = grids.map(|grids| names(&grids)).unwrap_or_default();
    let failure = Failure::refused(format!("there is no grid {}", text::one_line(word, 60)));
    let near = text::nearest(word, known.iter().map(String::as_str));
    Err(match (near, known.is_empty()) {
        (Some(near), _) => failure.help(format!("did you mean {near}?")),
        (None, false) => failure.help(format!("there are {}", known.join(", "))),
        (None, true) => failure.help("give the directory that has its grid.toml"),
    })
}

/// True if a word is a path and not a name.
fn is_path(word: &str) -> bool {
    word.contains('/') || word.starts_with('.')
}

/// The names of the user's grids.
fn names(grids: &Path) -> Vec<String> {
    let entries = fs::read_dir(grids).into_iter().flatten();
    let mut names: Vec<String> = entries
        .filter_map(Result::ok)
        .filter(|entry| Remote::is_at(&entry.path()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

fn home() -> Result<PathBuf, Failure> {
    let config = shell::environment::config_directory().ok_or_else(|| {
        Failure::new("there is no place for grids: neither XDG_CONFIG_HOME nor HOME is set")
            .help("name a directory with --grid DIR")
    })?;
    Ok(config.join("xavantes"))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let parent = path.parent().unwrap_or(Path::new("."));
    let beside = path.with_extension("next");
    fs::create_dir_all(parent)
        .and_then(|()| fs::write(&beside, text))
        .and_then(|()| fs::rename(&beside, path))
        .map_err(|error| cannot("write", path, &error))
}

fn cannot(action: &str, path: &Path, error: &std::io::Error) -> Failure {
    let reason = crate::inputs::reason(error);
    Failure {
        status: status::FAULTED,
        ..Failure::new(format!("could not {action} {}: {reason}", path.display()))
    }
}
