//! `xav logs`: what the activities of a process wrote.

use std::io::Read;
use std::path::Path;

use activity_executor::Stream;
use model::{Definition, Wall};
use serde_json::json;
use wire::attempt::Log;
use wire::client::{AttemptStatus, Status};

use crate::arguments::Logs;
use crate::ask::Source;
use crate::failure::{Failure, Outcome, status};
use crate::home::{self, Found};
use crate::state::StateDirectory;
use crate::{screen, text};

/// Bytes of one stream that go into JSON; the whole is printed without it.
const JSON_BYTES_MAX: u64 = 1 << 20;

/// An attempt whose output is wanted.
struct Wanted<'a> {
    name: &'a str,
    attempt: &'a AttemptStatus,
}

/// `xav logs`
pub(crate) fn logs(arguments: &Logs) -> Outcome {
    let (Found { directory, process }, activity) = find(arguments)?;
    let mut source = Source::open(&directory)?;
    let definition = source.definition(process)?;
    let known = source.status(process)?;
    drop(source);
    let wanted = wanted(arguments, activity.as_deref(), &known, &definition)?;
    let streams: &[Stream] = match (arguments.stdout, arguments.stderr) {
        (true, _) => &[Stream::Stdout],
        (_, true) => &[Stream::Stderr],
        (false, false) => &[Stream::Stdout, Stream::Stderr],
    };
    if arguments.json {
        let documents: Result<Vec<serde_json::Value>, Failure> = wanted
            .iter()
            .map(|one| document(one, &directory, streams))
            .collect();
        screen::json(&json!(documents?))?;
        return Ok(0);
    }
    // What is asked for by attempt and stream is for other programs: nothing is put around it.
    let is_bare = activity.is_some() && (streams.len() == 1 || n_streams(&wanted) < 2);
    let mut has_said = false;
    for one in &wanted {
        for &stream in streams {
            if bytes(one.attempt.log.as_ref(), stream) == 0 {
                continue;
            }
            has_said = true;
            if !is_bare {
                screen::out(&head(one, stream))?;
            }
            print(one, stream, directory.path())?;
        }
    }
    if !has_said {
        screen::tell(&nothing(&wanted, activity.as_deref()));
    }
    Ok(0)
}

/// The process and the activity. A single word that is no process's name may be an activity's, of
/// the newest process.
fn find(arguments: &Logs) -> Result<(Found, Option<String>), Failure> {
    let found = home::find(&arguments.which);
    match (found, &arguments.which.id, &arguments.activity) {
        (Ok(found), _, activity) => Ok((found, activity.clone())),
        (Err(failure), Some(word), None) if failure.status == status::REFUSED => {
            let Ok(newest) = home::Scope::of(&arguments.which.state)?.find(None) else {
                return Err(failure);
            };
            let definition = Source::open(&newest.directory)?.definition(newest.process)?;
            let is_activity = definition
                .activities()
                .iter()
                .any(|activity| definition.node(activity.node()).name == *word);
            if is_activity {
                Ok((newest, Some(word.clone())))
            } else {
                Err(failure)
            }
        }
        (Err(failure), _, _) => Err(failure),
    }
}

/// The attempts whose output is wanted, in the order in which they started.
fn wanted<'a>(
    arguments: &Logs,
    activity: Option<&str>,
    status: &'a Status,
    definition: &'a Definition,
) -> Result<Vec<Wanted<'a>>, Failure> {
    let name_of = |activity: model::ActivityId| definition.node(activity.node()).name.as_str();
    let Some(activity) = activity else {
        let mut all: Vec<Wanted<'_>> = status
            .activities
            .iter()
            .flat_map(|one| {
                let name = name_of(one.activity);
                one.attempts
                    .iter()
                    .map(move |attempt| Wanted { name, attempt })
            })
            .collect();
        all.sort_by_key(|one| {
            (
                one.attempt.started.unwrap_or(Wall(u64::MAX)),
                one.attempt.attempt,
            )
        });
        return Ok(all);
    };
    let found = status
        .activities
        .iter()
        .find(|one| name_of(one.activity) == activity);
    let Some(found) = found else {
        let names = status.activities.iter().map(|one| name_of(one.activity));
        let near = text::nearest(activity, names);
        let failure = Failure::refused(format!(
            "{} has no activity {}",
            status.summary.name,
            text::one_line(activity, 60)
        ));
        return Err(match near {
            Some(near) => failure.help(format!("did you mean {near}?")),
            None => failure.help("xav status shows all activities"),
        });
    };
    let name = name_of(found.activity);
    let attempt = match arguments.attempt {
        None => found.attempts.last(),
        Some(number) => {
            let known = found
                .attempts
                .iter()
                .find(|one| one.attempt.number == number);
            if known.is_none() {
                let tries = text::count(found.attempts.len() as u64, "attempt", "attempts");
                return Err(Failure::refused(format!(
                    "{name} has no attempt {number}: it has {tries}"
                )));
            }
            known
        }
    };
    Ok(attempt
        .map(|attempt| Wanted { name, attempt })
        .into_iter()
        .collect())
}

fn n_streams(wanted: &[Wanted<'_>]) -> usize {
    let count = |one: &Wanted<'_>| {
        let log = one.attempt.log.as_ref();
        usize::from(bytes(log, Stream::Stdout) > 0) + usize::from(bytes(log, Stream::Stderr) > 0)
    };
    wanted.iter().map(count).sum()
}

fn head(one: &Wanted<'_>, stream: Stream) -> String {
    let (name, number) = (one.name, one.attempt.attempt.number);
    let attempt = if number > 1 {
        format!(", attempt {number}")
    } else {
        String::new()
    };
    format!(
        "{}\n",
        screen::bold(&format!("==> {name}{attempt}, {} <==", word(stream)))
    )
}

fn print(one: &Wanted<'_>, stream: Stream, directory: &Path) -> Result<(), Failure> {
    let Some(mut reader) = open(one, stream, directory)? else {
        return Ok(());
    };
    screen::out_bytes(&mut reader)?;
    Ok(())
}

fn open(one: &Wanted<'_>, stream: Stream, directory: &Path) -> Result<Option<impl Read>, Failure> {
    let Some(log) = &one.attempt.log else {
        return Ok(None);
    };
    let opened = activity_daemon::open_log(&directory.join("am"), one.attempt.attempt, stream, log);
    opened.map(Some).map_err(|error| Failure::because(&error))
}

fn document(
    one: &Wanted<'_>,
    directory: &StateDirectory,
    streams: &[Stream],
) -> Result<serde_json::Value, Failure> {
    let mut document = json!({
        "activity": one.name,
        "attempt": one.attempt.attempt.number,
        "state": one.attempt.end.as_deref().unwrap_or("running"),
    });
    for &stream in streams {
        let mut content = Vec::new();
        if let Some(reader) = open(one, stream, directory.path())? {
            reader
                .take(JSON_BYTES_MAX)
                .read_to_end(&mut content)
                .map_err(|error| {
                    Failure::new(format!("could not read what {} wrote: {error}", one.name))
                })?;
        }
        let n_bytes = bytes(one.attempt.log.as_ref(), stream);
        document[word(stream)] = json!(String::from_utf8_lossy(&content));
        document[format!("{}_bytes", word(stream))] = json!(n_bytes);
    }
    Ok(document)
}

fn nothing(wanted: &[Wanted<'_>], activity: Option<&str>) -> String {
    let of = activity.unwrap_or("the process");
    let is_running = wanted.iter().any(|one| one.attempt.end.is_none());
    match (wanted.is_empty(), is_running) {
        (true, _) => format!("{of} has not started\n"),
        (false, true) => format!("{of} has not ended: what it writes can be read at its end\n"),
        (false, false) => format!("{of} wrote nothing\n"),
    }
}

fn bytes(log: Option<&Log>, stream: Stream) -> u64 {
    log.map_or(0, |log| match stream {
        Stream::Stdout => log.stdout_bytes,
        Stream::Stderr => log.stderr_bytes,
    })
}

fn word(stream: Stream) -> &'static str {
    match stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
    }
}
