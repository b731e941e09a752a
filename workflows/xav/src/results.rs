//! `xav results`: where the outputs of a process are, and what it publishes.

use std::path::{Path, PathBuf};

use model::{Artifact, Definition, ProcessId, Value};
use wire::client::{Request, Status};

use crate::arguments::Results;
use crate::ask::{Source, refuse_held};
use crate::export::{self, Exported};
use crate::failure::{Failure, Outcome, status};
use crate::home::{self, Located};
use crate::location::Location;
use crate::publish::{Published, Subject};
use crate::sources::Sources;
use crate::state::StateDirectory;
use crate::watch::Host;
use crate::{json, machines, render, screen, submit, text};

/// `xav results`
pub(crate) fn results(arguments: &Results) -> Outcome {
    let Located { location, process } = home::find(&arguments.which)?;
    let mut source = Source::open(&location)?;
    let (status, definition) = source.known(process)?;
    let name = &status.summary.name;
    if status.summary.phase != wire::client::Phase::Completed {
        refuse_held(&status.summary)?;
        let word = render::state(&status.summary, source.is_live());
        let word = anstream::adapter::strip_str(&word).to_string();
        return Err(Failure::new(format!(
            "{name} {process} has no outputs: it is {word}, and outputs come at the end"
        )));
    }
    if (arguments.published || arguments.publish) && definition.draft().published().is_empty() {
        return Err(
            Failure::refused(format!("{name} {process} publishes nothing"))
                .help("`publish: { OUTPUT: PATH }` in the definition lays an output beside it"),
        );
    }
    if arguments.publish {
        return publish(arguments, &location, source, (&status, &definition));
    }
    let published = match arguments.to {
        Some(_) => Published::default(),
        None => look(&location, &mut source, &status, &definition)?,
    };
    if arguments.published {
        return show(arguments, &published);
    }
    drop(source);
    let others = published.others(&status.outputs);
    let exported = match (&location, &arguments.to) {
        (Location::Here(directory), Some(to)) => {
            write_to(directory, process, &definition, &others, to)?
        }
        (Location::Here(directory), None) => {
            Exported::found(&definition, &others, &directory.results(process))
        }
        (Location::Grid(home), Some(to)) => {
            submit::fetch_anew(home, process, &definition, &others, &absolute(to)?)?
        }
        (Location::Grid(home), None) => {
            let there = home::results(process)?;
            let found = Exported::found(&definition, &others, &there);
            match found.has_all(&others) {
                true => found,
                false => submit::fetch_anew(home, process, &definition, &others, &there)?,
            }
        }
    };
    let exported = exported.and(published.outputs());
    if arguments.json {
        let path_of = |name: &str| exported.path(name).map(|path| path.display().to_string());
        screen::json(&json::outputs(&status.outputs, path_of))?;
        return Ok(0);
    }
    let lines = status
        .outputs
        .iter()
        .map(|(name, value)| match exported.path(name) {
            Some(path) => format!("{name}: {}\n", path.display()),
            None => format!("{name}: {}\n", text::value(value)),
        });
    screen::out(&lines.collect::<String>())?;
    Ok(0)
}

/// The files that a process was given, which are known where it was submitted.
fn sources(location: &Location, process: ProcessId) -> Result<Option<Sources>, Failure> {
    let kept = match location {
        Location::Here(directory) => directory.path().to_owned(),
        Location::Grid(_) => home::of_user()?,
    };
    Ok(Sources::read(&kept, process))
}

/// What lies beside the definition of what a process publishes.
fn look(
    location: &Location,
    source: &mut Source,
    status: &Status,
    definition: &Definition,
) -> Result<Published, Failure> {
    let process = status.summary.process;
    let sources = sources(location, process)?;
    let subject = Subject {
        process,
        definition,
        outputs: &status.outputs,
        sources: sources.as_ref(),
    };
    Ok(subject.look(|request: Request| source.answer(request)))
}

/// Lays it there again.
fn publish(
    arguments: &Results,
    location: &Location,
    mut source: Source,
    (status, definition): (&Status, &Definition),
) -> Outcome {
    let process = status.summary.process;
    let published = match location {
        Location::Here(directory) => {
            let sources = sources(location, process)?;
            let blobs = blobs(directory)?;
            let subject = Subject {
                process,
                definition,
                outputs: &status.outputs,
                sources: sources.as_ref(),
            };
            let write = |artifact, path: &Path| export_to(&blobs, artifact, path);
            subject.publish(|request: Request| source.answer(request), write)
        }
        Location::Grid(home) => {
            drop(source);
            submit::publish(home, &mut home.client()?, (status, definition))?
        }
    };
    show(arguments, &published)
}

fn show(arguments: &Results, published: &Published) -> Outcome {
    if arguments.json {
        let mut document = serde_json::json!({});
        published.add_to(&mut document);
        screen::json(&document)?;
    } else {
        screen::out(&published.lines())?;
        published.tell_wrong();
    }
    Ok(if published.is_whole() {
        0
    } else {
        status::FAULTED
    })
}

/// The path that a user names, from anywhere.
pub(crate) fn absolute(to: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(to)
        .map_err(|error| Failure::refused(format!("could not use {}: {error}", to.display())))
}

fn write_to(
    directory: &StateDirectory,
    process: ProcessId,
    definition: &Definition,
    outputs: &[(String, Value)],
    to: &Path,
) -> Result<Exported, Failure> {
    let to = absolute(to)?;
    let blobs = blobs(directory)?;
    let write = |artifact, path: &Path| export_to(&blobs, artifact, path);
    let exported = export::all(write, definition, outputs, &to);
    exported.map_err(|failure| export::lost(failure, process))
}

/// The files of a state directory. Another run may have it: what this one reads is durable and stays.
fn blobs(directory: &StateDirectory) -> Result<activity_blobs::Reader, Failure> {
    let with_blobs = machines::directories(directory.path())
        .into_iter()
        .map(|machine| machine.join("blobs"))
        .find(|blobs| blobs.is_dir());
    let blobs = with_blobs.ok_or_else(|| {
        let shown = directory.path().display();
        Failure::new(format!("there are no files in {shown}"))
    })?;
    activity_blobs::Reader::open(&blobs).map_err(|error| Failure::because(&error))
}

fn export_to(
    blobs: &activity_blobs::Reader,
    artifact: Artifact,
    path: &Path,
) -> Result<(), Failure> {
    let exported = blobs.export(artifact, path);
    exported.map_err(|error| Failure::because(&error))
}
