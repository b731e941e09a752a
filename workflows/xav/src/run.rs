//! What starts a grid in this program: `xav run`, `xav resume`, and `xav cancel` of a process that
//! no run has.

use std::path::{Path, PathBuf};

use model::{ProcessId, SubmitKey};
use shell::Client;
use wire::client::{Answer, Phase, Request, Submit};

use crate::arguments::{Cancel, Following, Resume, Run};
use crate::ask::{Source, unfit};
use crate::failure::{Failure, Outcome};
use crate::follow::{self, Followed};
use crate::given::{self, Given};
use crate::grid::Grid;
use crate::home::{self, Found, refused};
use crate::source_file::{self, SourceFile};
use crate::state::{StateDirectory, Use};
use crate::{fault, screen, tell, text};

/// `xav run`
pub(crate) fn run(arguments: &Run) -> Outcome {
    let source = source_file::compile(
        &arguments.file,
        &arguments.recording,
        arguments.following.json,
    )?;
    // Everything that the user may have got wrong is told before anything is stored.
    let materials = materials(&source, &arguments.inputs)?;
    warn_root();
    let key = draw_key()?;
    let path = match &arguments.state {
        Some(path) => path.clone(),
        None => home::run_directory(key.process())?,
    };
    let signals = follow::signals()?;
    let (directory, is_made) = StateDirectory::open_or_make(&path).map_err(refused)?;
    let started = start(&directory, arguments.following).and_then(|grid| {
        let submitted = submit(&grid, &source, key, &materials);
        match submitted {
            Ok(()) => Ok(grid),
            Err(failure) => {
                grid.stop();
                Err(failure)
            }
        }
    });
    let grid = match started {
        Ok(grid) => grid,
        Err(failure) => {
            if is_made {
                directory.remove();
            }
            return Err(failure);
        }
    };
    let followed = Followed {
        grid,
        directory: &directory,
        process: key.process(),
        definition: &source.definition,
        state: arguments
            .state
            .as_ref()
            .map(|path| path.display().to_string()),
        origin: source.path.display().to_string(),
    };
    followed.finish(&signals, arguments.following)
}

/// `xav resume`
pub(crate) fn resume(arguments: &Resume) -> Outcome {
    let Found { directory, process } = home::find(&arguments.which)?;
    let mut source = Source::open(&directory)?;
    if let Source::Live(_, user, _) = &source {
        let id = fault::short(process);
        return Err(
            Failure::new(format!("{process} is running, in process {}", user.pid))
                .help(format!("xav status {id} shows how far it is")),
        );
    }
    let definition = source.definition(process)?;
    let status = source.status(process)?;
    drop(source);
    if status.summary.phase.has_ended() {
        let (name, past) = (definition.name(), tell::past(status.summary.phase));
        return Err(Failure::refused(format!(
            "{name} {process} {past}: there is nothing to go on with"
        )));
    }
    warn_root();
    let signals = follow::signals()?;
    let grid = start(&directory, arguments.following)?;
    let followed = Followed {
        grid,
        directory: &directory,
        process,
        definition: &definition,
        state: arguments
            .which
            .state
            .dir
            .as_ref()
            .map(|path| path.display().to_string()),
        origin: status.summary.origin,
    };
    followed.finish(&signals, arguments.following)
}

/// `xav cancel`
pub(crate) fn cancel(arguments: &Cancel) -> Outcome {
    let Found { directory, process } = home::find(&arguments.which)?;
    let mut source = Source::open(&directory)?;
    let before = source.status(process)?;
    if before.summary.phase.has_ended() {
        let (name, past) = (&before.summary.name, tell::past(before.summary.phase));
        return Err(Failure::refused(format!("{name} {process} {past} already")));
    }
    let phase = match source {
        Source::Live(mut client, ..) => cancel_by(&mut client, process)?,
        Source::Offline(_) | Source::Nothing => {
            drop(source);
            // Whoever ends a process must record it, so a grid does, for a moment.
            let grid = start(
                &directory,
                Following {
                    slots: None,
                    quiet: true,
                    json: false,
                },
            )?;
            let cancelled = grid
                .client()
                .and_then(|mut client| cancel_by(&mut client, process));
            let failed = grid.stop();
            let phase = cancelled?;
            if let Some(failed) = failed {
                screen::warn(&failed.to_string());
            }
            phase
        }
    };
    let (name, word) = (&before.summary.name, phase.word());
    if arguments.json {
        let process = process.to_string();
        screen::json(&serde_json::json!({ "process": process, "name": name, "state": word }))?;
    } else {
        screen::out(&format!("{name} {process} {word}\n"))?;
    }
    // One that is still being cancelled lost its run meanwhile; that it is to end is recorded.
    if matches!(phase, Phase::Cancelled | Phase::Cancelling) {
        return Ok(0);
    }
    Err(Failure::new(format!(
        "{name} {process} {word} before it could be cancelled"
    )))
}

/// Has a process cancelled, waits for its end, and says how it ended.
fn cancel_by(client: &mut Client, process: ProcessId) -> Result<Phase, Failure> {
    let answer = client
        .ask(Request::Cancel(process))
        .map_err(|error| Failure::because(&error))?;
    if let Answer::Status(status) = &answer {
        return Ok(status.summary.phase);
    }
    if !matches!(answer, Answer::Cancelling(_)) {
        return Err(unfit(&answer));
    }
    let watch = client
        .watch(process)
        .map_err(|error| Failure::because(&error))?;
    let mut phase = Phase::Cancelling;
    for progress in watch {
        match progress {
            Ok(progress) => phase = progress.phase,
            // The run that had it has ended; what it was asked for is recorded.
            Err(shell::ClientError::Closed) => break,
            Err(error) => return Err(Failure::because(&error)),
        }
    }
    Ok(phase)
}

/// What a user gives with a definition, all of it looked at.
struct Materials {
    inputs: Vec<(String, Given)>,
    files: Vec<PathBuf>,
}

fn materials(source: &SourceFile, arguments: &[String]) -> Result<Materials, Failure> {
    let inputs = given::read(arguments, &source.definition.draft().inputs);
    let files = source.files();
    match (inputs, files) {
        (Ok(inputs), Ok(files)) => Ok(Materials { inputs, files }),
        (inputs, files) => {
            let mistakes: Vec<String> = [inputs.err(), files.err()]
                .into_iter()
                .flatten()
                .flatten()
                .collect();
            let (first, others) = mistakes.split_first().expect("one of the two is an error");
            let failure = Failure::refused(first);
            Err(if others.is_empty() {
                failure
            } else {
                failure.help(others.join("\n  "))
            })
        }
    }
}

fn start(directory: &StateDirectory, following: Following) -> Result<Grid, Failure> {
    let held = directory.hold(Use::Run).map_err(refused)?;
    Grid::start(directory, held, following.slots)
}

fn submit(
    grid: &Grid,
    source: &SourceFile,
    key: SubmitKey,
    materials: &Materials,
) -> Result<(), Failure> {
    let mut values = Vec::new();
    let mut add = |path: &Path, is_directory| grid.add(path, is_directory);
    for (name, given) in &materials.inputs {
        values.push((name.clone(), given.resolve(&mut add)?));
    }
    let files = grid.add_files(&materials.files)?;
    grid.flush()?;
    let request = Request::Submit(Box::new(Submit {
        key,
        draft: source.definition.draft().clone(),
        inputs: values,
        files,
        origin: source.path.display().to_string(),
    }));
    let mut client = grid.client()?;
    match client
        .ask(request)
        .map_err(|error| Failure::because(&error))?
    {
        Answer::Submitted(_) => Ok(()),
        Answer::Refused(reasons) => {
            let shown = text::quoted(&source.path.display().to_string());
            Err(Failure::refused(format!(
                "{shown} was refused: {}",
                reasons.join("; ")
            )))
        }
        Answer::Processes(_)
        | Answer::Status(_)
        | Answer::Unknown(_)
        | Answer::Cancelling(_)
        | Answer::Progress(_)
        | Answer::Definition(_) => Err(Failure::new("the process manager did not understand it")),
    }
}

fn draw_key() -> Result<SubmitKey, Failure> {
    let drawn = getrandom::u64();
    drawn
        .map(SubmitKey)
        .map_err(|error| Failure::new(format!("could not draw a name: {error}")))
}

/// Commands run as whoever calls this program.
fn warn_root() {
    if rustix::process::geteuid().is_root() {
        screen::warn("running as root: so do the commands of the process");
    }
}
