//! Processes that a grid runs: `xav submit`, and what `xav run`, `xav resume` and `xav rerun` do
//! there.

use std::path::Path;

use model::{Definition, ProcessId, Value};
use serde_json::json;
use shell::{Client, Signal};
use wire::client::{Answer, Phase, Request, Status};

use crate::arguments::{Following, Run, Submit};
use crate::ask::{Source, understood};
use crate::export::{self, Exported};
use crate::failure::{Failure, Outcome, status};
use crate::follow;
use crate::forget::in_grid;
use crate::home;
use crate::location::Location;
use crate::order::Order;
use crate::progress::Display;
use crate::publish::{self, Published};
use crate::remote::{self, Home, Remote, Transfers};
use crate::run;
use crate::sources::{Intake, Sources};
use crate::watch::{End, Ended, Host, Watched, exit_status, left};
use crate::{fault, foresight, render, results, screen};

/// `xav submit`
pub(crate) fn submit(arguments: &Submit) -> Outcome {
    let Some(remote) = remote::chosen(&arguments.grid, None)? else {
        return Err(Failure::refused("xav submit gives a process to a grid, and none is named")
            .help("name it with --grid DIR|NAME or `xav grid use`; xav run FILE runs it on this machine"));
    };
    let submission = &arguments.submission;
    let mut source = run::compiled(submission, &arguments.recording, arguments.json)?;
    if let Some(priority) = arguments.priority {
        source.definition = source.definition.with_priority(priority);
    }
    let order = run::order(&source, submission)?;
    let (home, _) = give_to_first(&remote, &order)?;
    let process = order.key.process();
    if arguments.json {
        let mut document = json!({
            "process": process.to_string(),
            "name": source.definition.name(),
        });
        Location::Grid(home).add_to(&mut document);
        screen::json(&document)?;
    } else {
        tell_grid(&order, &remote);
        screen::out(&format!("{process}\n"))?;
    }
    Ok(0)
}

/// Says on which grid a process runs.
fn tell_grid(order: &Order<'_>, remote: &Remote) {
    let (name, process) = (order.definition.name(), order.key.process());
    let shown = remote.shown();
    screen::tell(&format!("{name} {process} runs on the grid {shown}\n"));
}

/// `xav run`, in a grid.
pub(crate) fn run(arguments: &Run, remote: &Remote) -> Outcome {
    let how = arguments.following;
    remote::only(how)?;
    if arguments.machines.is_some() {
        return Err(remote::of_this_machine("--machines"));
    }
    let submission = &arguments.submission;
    let source = run::compiled(submission, &arguments.recording, how.json)?;
    let order = run::order(&source, submission)?;
    if how.dry_run {
        let (_, client) = remote.first()?;
        let mut there = Source::Grid(Box::new(client));
        let foresight = foresight::of_submission(&mut there, order.identified()?, None)?;
        return foresight::show(&foresight, &source.definition, how);
    }
    let to = arguments.to.as_deref().map(results::absolute).transpose()?;
    let (home, mut client) = give_to_first(remote, &order)?;
    if !how.quiet && !how.json {
        tell_grid(&order, remote);
    }
    let options = arguments.grid.options();
    let process = order.key.process();
    let task = Task {
        home: &home,
        process,
        definition: &source.definition,
        origin: &order.origin,
        options: options.as_deref(),
        to: to.as_deref(),
    };
    let outcome = task.to_the_end(&mut client, how);
    in_grid::what_is_over_its_time(&home, &mut client, process, how);
    outcome
}

/// Gives a process to the first process manager that answers and takes it, and its files to a machine
/// before. Those that do not take it are told of.
fn give_to_first(remote: &Remote, order: &Order<'_>) -> Result<(Home, Client), Failure> {
    let (mut home, mut client) = remote.first()?;
    let mut request = None;
    let mut left: Vec<Home> = remote.homes().collect();
    let mut full: Vec<String> = Vec::new();
    loop {
        let answer = offered(&home, &mut client, order, &mut request)?;
        let Answer::NoRoom(why) = answer else {
            order.accepted(&answer)?;
            if !full.is_empty() {
                let (full, name) = (full.join("; "), home.name());
                screen::warn(&format!("{full}: {name} has taken the process"));
            }
            return Ok((home, client));
        };
        full.push(format!("pm {}: {why}", home.name()));
        left.retain(|other| other.name() != home.name());
        if left.is_empty() {
            return Err(order.refused(&full.join("; ")));
        }
        let next = remote.first_of(left.clone());
        (home, client) = next.map_err(|away| order.refused(&full.join("; ")).help(away.message))?;
    }
}

/// The answer of a process manager to a process, whose files are on a machine of the grid as soon as there is a
/// request. One that takes none may know of no machine.
fn offered(
    home: &Home,
    client: &mut Client,
    order: &Order<'_>,
    request: &mut Option<wire::client::Submit>,
) -> Result<Answer, Failure> {
    let submit = match request {
        Some(submit) => submit.clone(),
        None => match with_files(home, client, order) {
            Ok(submit) => request.insert(submit).clone(),
            Err(failure) => {
                return match client.ask(Request::Machines) {
                    Ok(answer @ Answer::NoRoom(_)) => Ok(answer),
                    Ok(_) | Err(_) => Err(failure),
                };
            }
        },
    };
    ask(home, client, submit, order)
}

/// Gives a process to a process manager, and its files to a machine before.
pub(crate) fn give(
    home: &Home,
    client: &mut Client,
    order: &Order<'_>,
    how: Following,
) -> Result<(), Failure> {
    let request = with_files(home, client, order)?;
    if !how.quiet
        && !how.json
        && let Some(foresight) = foresight::of_rerun(client, order.definition, &request)?
    {
        foresight::tell(&foresight, order.definition, how);
    }
    order.accepted(&ask(home, client, request, order)?)
}

/// Submits a process. What is lost on the way is sent again, with the same key.
fn ask(
    home: &Home,
    client: &mut Client,
    request: wire::client::Submit,
    order: &Order<'_>,
) -> Result<Answer, Failure> {
    let answer = client.ask(Request::Submit(Box::new(request)));
    answer.map_err(|error| {
        let process = order.key.process();
        Failure::because(&error).help(format!(
            "whether {} has it is not known: xav status {process} tells",
            home.shown()
        ))
    })
}

/// The submission, after a machine has the files that it names. What is known of these is written for this
/// user.
fn with_files(
    home: &Home,
    client: &mut Client,
    order: &Order<'_>,
) -> Result<wire::client::Submit, Failure> {
    let unchanged_stand = order.store.is_some();
    let (request, sources) = match given(home, client, order, unchanged_stand)? {
        // The machine that has those that have not changed takes no others: another one gets all of them.
        (request, _) if unchanged_stand && request.store != order.store => {
            given(home, client, order, false)?
        }
        given => given,
    };
    sources.write(&home::of_user()?, order.key.process())?;
    Ok(request)
}

/// The submission, after a machine has the files that were added; those that have not changed since they
/// were given to the machine of `order.store` are there, where they stand.
fn given(
    home: &Home,
    client: &mut Client,
    order: &Order<'_>,
    unchanged_stand: bool,
) -> Result<(wire::client::Submit, Sources), Failure> {
    let mut transfers = None;
    let mut added = Vec::new();
    let mut add = |path: &Path, is_directory| {
        let transfers = match &mut transfers {
            Some(transfers) => transfers,
            none => none.insert(Transfers::begin(home, client)?),
        };
        let artifact = transfers.add(path, is_directory)?;
        added.push(artifact);
        Ok(artifact)
    };
    let has = |_| unchanged_stand;
    let intake = Intake::new(&order.sources, &has, &mut add);
    let (mut request, sources) = order.resolved(order.definition.draft().clone(), intake)?;
    if let Some(transfers) = transfers {
        request.store = Some(transfers.give(order.key.process(), &added, order.store)?);
    }
    request.store = request.store.or(order.store);
    Ok((request, sources))
}

/// [`fetch`] over a connection of its own.
pub(crate) fn fetch_anew(
    home: &Home,
    process: ProcessId,
    definition: &Definition,
    outputs: &[(String, Value)],
    to: &Path,
) -> Result<Exported, Failure> {
    match export::has_files(outputs) {
        true => fetch(
            (home, &mut home.client()?),
            process,
            definition,
            outputs,
            to,
        ),
        false => Ok(Exported::default()),
    }
}

/// Fetches what the definition of a process publishes, and lays it beside the definition.
pub(crate) fn publish(
    home: &Home,
    client: &mut Client,
    (status, definition): (&Status, &Definition),
) -> Result<Published, Failure> {
    if definition.draft().published().is_empty() {
        return Ok(Published::default());
    }
    let transfers = Transfers::begin(home, client)?;
    let process = status.summary.process;
    let sources = Sources::read(&home::of_user()?, process);
    let subject = publish::Subject {
        process,
        definition,
        outputs: &status.outputs,
        sources: sources.as_ref(),
    };
    let ask = |request| {
        let answer = client.ask(request);
        answer.map_err(|error| Failure::because(&error))
    };
    let write = |artifact, path: &Path| transfers.fetch(process, artifact, path);
    Ok(subject.publish(ask, write))
}

/// Fetches the outputs that are files or directories, and writes them below a directory.
fn fetch(
    (home, client): (&Home, &mut Client),
    process: ProcessId,
    definition: &Definition,
    outputs: &[(String, Value)],
    to: &Path,
) -> Result<Exported, Failure> {
    if !export::has_files(outputs) {
        return Ok(Exported::default());
    }
    let transfers = Transfers::begin(home, client)?;
    let exported = export::all(
        |artifact, path| transfers.fetch(process, artifact, path),
        definition,
        outputs,
        to,
    );
    exported.map_err(|failure| export::lost(failure, process))
}

/// A process of a grid that somebody waits for.
pub(crate) struct Task<'a> {
    /// The process manager that has it.
    pub(crate) home: &'a Home,
    /// Which.
    pub(crate) process: ProcessId,
    /// Its definition.
    pub(crate) definition: &'a Definition,
    /// The definition's file.
    pub(crate) origin: &'a str,
    /// The options that advices repeat.
    pub(crate) options: Option<&'a str>,
    /// Where its outputs are written; none where they lie among those of this user, or are published.
    pub(crate) to: Option<&'a Path>,
}

impl Task<'_> {
    /// Watches it to its end, and tells how it went and what it gave. A signal ends that, and not
    /// the process.
    pub(crate) fn to_the_end(&self, client: &mut Client, how: Following) -> Outcome {
        let signals = follow::signals()?;
        let quietly = how.quiet || how.json;
        let watched = Watched {
            host: self.home,
            process: self.process,
            definition: self.definition,
            origin: self.origin,
            options: self.options,
        };
        let mut display = Display::begin(self.definition, self.process, quietly);
        let followed = watched.follow(client, &signals, &mut display, quietly);
        display.end();
        match followed {
            Ok((End::Process(last), told_faults)) => {
                let Ended { status, definition } = &*last;
                if !told_faults && !how.json {
                    screen::tell(&watched.faults(status, definition));
                }
                self.ended(client, (status, definition), how)
            }
            Ok((End::Signal(signal), _)) => self.left(&watched, signal, how),
            Err(failure) if failure.help.is_none() => {
                let watch = watched.command("watch");
                Err(failure.help(format!("the process goes on: {watch}")))
            }
            Err(failure) => Err(failure),
        }
    }

    fn ended(
        &self,
        client: &mut Client,
        (ended, definition): (&Status, &Definition),
        how: Following,
    ) -> Outcome {
        let published = match ended.summary.phase == Phase::Completed {
            true => publish(self.home, client, (ended, definition))?,
            false => Published::default(),
        };
        let mut fetch = |outputs: &[(String, Value)], to: &Path| {
            let whose = (self.home, &mut *client);
            fetch(whose, self.process, self.definition, outputs, to)
        };
        let exported = match self.to {
            Some(to) => fetch(&ended.outputs, to)?,
            None => {
                let others = published.others(&ended.outputs);
                fetch(&others, &home::results(self.process)?)?.and(published.outputs())
            }
        };
        if how.json {
            let location = Location::Grid(self.home.clone());
            let mut document = follow::document(ended, definition, &location, &exported, None);
            published.add_to(&mut document);
            screen::json(&document)?;
        } else {
            if !how.quiet {
                screen::tell(&render::ending(ended, n_slots(client, ended)));
            }
            screen::out(&follow::outputs(&ended.outputs, &exported, how.quiet))?;
        }
        published.tell(self.process, how.quiet || how.json);
        Ok(match published.is_whole() {
            true => exit_status(ended),
            false => status::FAULTED,
        })
    }

    fn left(&self, watched: &Watched<'_>, signal: Signal, how: Following) -> Outcome {
        let status = left(watched, signal);
        if how.json {
            let mut document = json!({
                "process": self.process.to_string(),
                "state": Phase::Running.word(),
                "name": self.definition.name(),
            });
            Location::Grid(self.home.clone()).add_to(&mut document);
            screen::json(&document)?;
        }
        Ok(status)
    }
}

/// Slots of the machines that a process has used; none where those are not known any more.
fn n_slots(client: &mut Client, status: &Status) -> Option<u32> {
    let answer = client.ask(Request::Machines).ok()?;
    let Answer::Machines(machines) = answer else {
        return None;
    };
    let used = status.machines.iter().map(|(resource, _)| {
        let known = machines.iter().find(|one| one.resource == *resource);
        known.map(|one| one.slots)
    });
    used.sum()
}

/// Goes on waiting for a process of a grid, which goes on by itself.
pub(crate) fn resume(
    home: &Home,
    process: ProcessId,
    options: Option<&str>,
    how: Following,
) -> Outcome {
    remote::only(how)?;
    if how.dry_run {
        return Err(Failure::refused("a process of a grid goes on by itself")
            .help("xav status shows how far it is"));
    }
    let mut source = Source::open(&Location::Grid(home.clone()))?;
    let submit = source.submission(process)?;
    let status = source.status(process)?;
    drop(source);
    let origin = submit.origin;
    let definition = understood(submit.draft)?;
    run::refuse_ended(&status.summary)?;
    if !how.quiet && !how.json {
        let id = fault::short(process);
        screen::tell(&format!("{id} goes on in the grid by itself\n"));
    }
    Task {
        home,
        process,
        definition: &definition,
        origin: &origin,
        options,
        to: None,
    }
    .to_the_end(&mut home.client()?, how)
}
