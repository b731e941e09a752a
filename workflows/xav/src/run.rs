//! The commands that start a grid in this program: `xav run` and `xav resume`.

use std::path::Path;

use journal::durable::Unflushed;
use language::platform::PlatformFile;
use model::{Caching, Definition, NodeKind, ProcessId, Span, SubmitKey};
use shell::Client;
use wire::client::{Answer, Request, Summary};

use crate::arguments::{self, Ending, Following, Recording, Resume, Run, Submission};
use crate::ask::{Source, refuse_held, understood, unfit};
use crate::earlier::Earlier;
use crate::failure::{Failure, Outcome};
use crate::files_beside::FilesBeside;
use crate::follow::{self, Followed};
use crate::grid::Grid;
use crate::home::{self, Located, refused};
use crate::inputs::{self, InputValue};
use crate::location::Location;
use crate::order::{Files, Order};
use crate::source_file::{self, SourceFile};
use crate::sources::Sources;
use crate::state::{Held, StateDirectory, StateError, Use};
use crate::watch::Host;
use crate::{
    earlier, environment, fault, foresight, forget, machines, remote, render, results, screen,
    submit, text,
};

/// Unfinished processes of a state directory that are named.
const OTHERS_MAX: usize = 5;

/// `xav run`
pub(crate) fn run(arguments: &Run) -> Outcome {
    if let Some(remote) = remote::chosen(&arguments.grid, arguments.state.as_deref())? {
        return submit::run(arguments, &remote);
    }
    let (submission, how) = (&arguments.submission, arguments.following);
    let source = compiled(submission, &arguments.recording, how.json)?;
    let order = order(&source, submission)?;
    if how.dry_run {
        return dry_run(arguments, &source, &order);
    }
    let machines = match &arguments.machines {
        Some(path) => Some(machines::read(path, how.json)?),
        None => None,
    };
    let to = arguments.to.as_deref().map(results::absolute).transpose()?;
    warn_root();
    let signals = follow::signals()?;
    let mut taken = take(arguments, order.key)?;
    taken.machines = machines;
    taken.earlier = arguments.earlier(&source.definition);
    let directory = taken.directory.clone();
    let process = order.key.process();
    let (grid, client) = begin(taken, &order, how)?;
    if !how.quiet && !how.json {
        let slots = text::count(grid.n_slots().into(), "slot", "slots");
        let name = source.definition.name();
        screen::tell(&format!(
            "{name} {process} runs on this machine, on {slots}\n"
        ));
    }
    let followed = Followed {
        grid,
        directory: &directory,
        process,
        definition: &source.definition,
        options: arguments.state().options(),
        origin: order.origin,
        to,
    };
    let outcome = followed.finish(client, &signals, how);
    forget::what_is_over_its_time(&arguments.state(), process, how);
    earlier::tidy();
    outcome
}

/// The forecast of a process in the directory that it would be given.
fn dry_run(arguments: &Run, source: &SourceFile, order: &Order<'_>) -> Outcome {
    let how = arguments.following;
    let submit = order.identified()?;
    let directory = arguments.state.as_deref();
    let directory = directory.and_then(|path| StateDirectory::open(path).ok());
    let directory = directory.filter(|directory| {
        let user = directory.user();
        user.is_ok_and(|user| user.is_none())
    });
    let foresight = match &directory {
        Some(directory) => {
            let mut known = Source::of(directory)?;
            foresight::of_submission(&mut known, submit, Some(directory.path()))?
        }
        None => foresight::of_first(submit, &arguments.earlier(&source.definition))?,
    };
    foresight::show(&foresight, &source.definition, how)
}

/// A definition that is to be submitted, with the options that go before what it says.
pub(crate) fn compiled(
    submission: &Submission,
    recording: &Recording,
    is_json: bool,
) -> Result<SourceFile, Failure> {
    let mut source = source_file::compile(&submission.file, recording, is_json)?;
    source.definition = submission.adapting.applied(source.definition)?;
    if submission.no_cache {
        source.definition = without_cache(&source.definition);
    }
    Ok(source)
}

/// The definition without `cache: true`, of which nothing is recalled.
fn without_cache(definition: &Definition) -> Definition {
    let mut draft = definition.draft().clone();
    for node in &mut draft.nodes {
        if let NodeKind::Activity(activity) = &mut node.kind
            && activity.cache == Caching::Always
        {
            activity.cache = Caching::Unsaid;
        }
    }
    draft
        .check()
        .expect("it was checked, and what is recalled decides no rule")
}

/// The process that is to be submitted. Everything that the user may have got wrong in it is told before
/// anything is stored or sent.
pub(crate) fn order<'a>(
    source: &'a SourceFile,
    submission: &Submission,
) -> Result<Order<'a>, Failure> {
    let materials = materials(source, &submission.inputs)?;
    let keep = keep(submission.ending)?;
    Ok(Order {
        key: draw_key()?,
        definition: &source.definition,
        inputs: materials.inputs,
        files: Files::Beside(materials.files),
        environment: materials.environment,
        origin: source.path.display().to_string(),
        base: None,
        on_fault: submission.ending.on_fault(),
        keep,
        store: None,
        sources: Sources::of(
            &source.path,
            source.directory(),
            &submission.inputs,
            &source.definition.draft().inputs,
        ),
    })
}

/// Starts the managers and gives them a process. The client that did so may follow it.
pub(crate) fn begin(
    taken: Taken,
    order: &Order<'_>,
    following: Following,
) -> Result<(Grid, Client), Failure> {
    let Taken {
        directory,
        held,
        made,
        machines,
        earlier,
    } = taken;
    let is_made = made.is_some();
    let process = order.key.process();
    let settled = machines::settle(&directory, machines.as_ref());
    let started = settled.and_then(|()| {
        let made = made.unwrap_or_default();
        let (slots, scheduler) = (following.slots, following.scheduler);
        let known = (Some(order.definition), earlier);
        let grid = Grid::start(&directory, held, made, slots, scheduler, known)?;
        let submitted = grid.client().and_then(|mut client| {
            // A directory that was just made has no other processes.
            if !is_made {
                tell_others(&mut client, process, following)?;
            }
            order.submit(&grid, &mut client, &directory, following)?;
            Ok(client)
        });
        match submitted {
            Ok(client) => Ok((grid, client)),
            Err(failure) => {
                grid.stop();
                Err(failure)
            }
        }
    });
    if started.is_err() {
        home::unlink(process);
        if is_made {
            directory.remove();
        }
    }
    started
}

/// A state directory that is taken for a run.
pub(crate) struct Taken {
    pub(crate) directory: StateDirectory,
    held: Held,
    /// There where it was made.
    made: Option<Unflushed>,
    /// The machines that the directory is to imitate; none leaves it as it is.
    machines: Option<PlatformFile>,
    /// Outcomes of earlier runs for its process.
    earlier: Earlier,
}

impl Taken {
    /// Takes a directory that is there.
    pub(crate) fn existing(directory: StateDirectory) -> Result<Taken, StateError> {
        let held = directory.hold(Use::Run)?;
        let earlier = Earlier::nothing(directory.path());
        Ok(Taken {
            directory,
            held,
            made: None,
            machines: None,
            earlier,
        })
    }

    /// Takes a directory, and makes it where there is none.
    fn made(path: &Path) -> Result<Taken, StateError> {
        let (directory, made) = StateDirectory::open_or_make(path)?;
        let held = directory.hold(Use::Run)?;
        Ok(Taken {
            directory,
            held,
            made,
            machines: None,
            earlier: Earlier::default(),
        })
    }
}

/// The directory of a process that is run: the one that was named, or one of its own.
fn take(arguments: &Run, key: SubmitKey) -> Result<Taken, Failure> {
    let path = match &arguments.state {
        Some(path) => path.clone(),
        None => home::run_directory(key.process())?,
    };
    Taken::made(&path).map_err(refused)
}

impl Run {
    /// Outcomes of earlier runs for its process. A directory that was named and machines that are described stand
    /// by themselves.
    fn earlier(&self, definition: &Definition) -> Earlier {
        if self.state.is_some() || self.machines.is_some() {
            return Earlier::default();
        }
        match self.submission.no_cache {
            false => Earlier::of(definition),
            true => Earlier::to_come(),
        }
    }
}

/// Names the processes of an earlier run that continue beside the submitted one.
fn tell_others(client: &mut Client, own: ProcessId, following: Following) -> Result<(), Failure> {
    let answer = client
        .ask(Request::List)
        .map_err(|error| Failure::because(&error))?;
    let Answer::Processes(processes) = answer else {
        return Err(unfit(&answer));
    };
    let others: Vec<String> = processes
        .iter()
        .filter(|one| one.process != own && !one.phase.has_ended())
        .take(OTHERS_MAX)
        .map(|one| format!("{} {}", one.name, one.process))
        .collect();
    if !others.is_empty() && !following.quiet && !following.json {
        let goes_on = match others.len() {
            1 => "it goes on",
            _ => "they go on",
        };
        screen::tell(&format!(
            "{} had not ended in this state directory: {goes_on} beside this one\n",
            others.join(", ")
        ));
    }
    Ok(())
}

/// `xav resume`
pub(crate) fn resume(arguments: &Resume) -> Outcome {
    let Located { location, process } = home::find(&arguments.which)?;
    let options = arguments.which.state.options();
    let directory = match location {
        Location::Here(directory) => directory,
        Location::Grid(home) => {
            let options = options.as_deref();
            return submit::resume(&home, process, options, arguments.following);
        }
    };
    let mut source = Source::of(&directory)?;
    if let Source::Live(_, user, _) = &source {
        let id = fault::short(process);
        return Err(
            Failure::new(format!("{process} is running, in process {}", user.pid))
                .help(format!("xav status {id} shows how far it is")),
        );
    }
    let (status, definition) = source.known(process)?;
    refuse_ended(&status.summary)?;
    if let Source::Offline(offline) = &source
        && arguments.following.dry_run
    {
        let foresight = foresight::of_resumed(offline, process, directory.path())?;
        let written = understood(definition.draft().clone())?;
        return foresight::show(&foresight, &written, arguments.following);
    }
    drop(source);
    warn_root();
    let signals = follow::signals()?;
    let grid = start(&directory, arguments.following, Some(&definition))?;
    let mut client = grid.client()?;
    tell_others(&mut client, process, arguments.following)?;
    let followed = Followed {
        grid,
        directory: &directory,
        process,
        definition: &definition,
        options,
        origin: status.summary.origin,
        to: None,
    };
    followed.finish(client, &signals, arguments.following)
}

/// Refuses to resume a process that has ended.
pub(crate) fn refuse_ended(summary: &Summary) -> Result<(), Failure> {
    refuse_held(summary)?;
    if !summary.phase.has_ended() {
        return Ok(());
    }
    let (name, process, past) = (&summary.name, summary.process, render::past(summary.phase));
    Err(Failure::refused(format!(
        "{name} {process} {past}: there is nothing to go on with"
    )))
}

/// A definition and the user's inputs for it, all checked.
struct Materials {
    inputs: Vec<(String, InputValue)>,
    files: FilesBeside,
    environment: Option<Vec<(String, String)>>,
}

/// Looks at the inputs and files of a definition.
fn materials(source: &SourceFile, arguments: &[String]) -> Result<Materials, Failure> {
    let declared = &source.definition.draft().inputs;
    let inputs = inputs::read(arguments, declared, &[]).and_then(|mut inputs| {
        inputs::add_beside(source.directory(), declared, &mut inputs)?;
        Ok(inputs)
    });
    let files = source.files();
    let environment = environment::read(source.directory(), source.definition.draft());
    match (inputs, files, environment) {
        (Ok(inputs), Ok(files), Ok(environment)) => Ok(Materials {
            inputs,
            files,
            environment,
        }),
        (inputs, files, environment) => {
            let mistakes = [inputs.err(), files.err(), environment.err()];
            Err(wrong(mistakes.into_iter().flatten().flatten().collect()))
        }
    }
}

/// Everything that is wrong with what a user gave.
pub(crate) fn wrong(mistakes: Vec<String>) -> Failure {
    let (first, others) = mistakes.split_first().expect("there is a mistake");
    let failure = Failure::refused(first);
    if others.is_empty() {
        failure
    } else {
        failure.help(others.join("\n  "))
    }
}

pub(crate) fn start(
    directory: &StateDirectory,
    following: Following,
    definition: Option<&Definition>,
) -> Result<Grid, Failure> {
    let held = directory.hold(Use::Run).map_err(refused)?;
    let unflushed = Unflushed::default();
    Grid::start(
        directory,
        held,
        unflushed,
        following.slots,
        following.scheduler,
        (definition, Earlier::nothing(directory.path())),
    )
}

/// The time for which a process is kept: by the command line, or by the environment.
pub(crate) fn keep(ending: Ending) -> Result<Option<Span>, Failure> {
    if ending.keep.is_some() {
        return Ok(ending.keep);
    }
    shell::environment::text("XAVANTES_KEEP")
        .map(|text| {
            arguments::duration(&text)
                .map_err(|why| Failure::refused(format!("XAVANTES_KEEP={text}: {why}")))
        })
        .transpose()
}

pub(crate) fn draw_key() -> Result<SubmitKey, Failure> {
    let drawn = getrandom::u64();
    drawn
        .map(SubmitKey)
        .map_err(|error| Failure::new(format!("could not draw a name: {error}")))
}

/// Commands run as whoever calls this program.
pub(crate) fn warn_root() {
    if rustix::process::geteuid().is_root() {
        screen::warn("running as root: so do the commands of the process");
    }
}
