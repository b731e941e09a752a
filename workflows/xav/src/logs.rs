//! `xav logs`: what the activities of a process wrote, and what those that run have written so far.

mod live;

use std::io::Read;
use std::path::PathBuf;

use activity_executor::Stream;
use model::{Definition, Wall};
use serde_json::json;
use wire::attempt::{Log, Peeked};
use wire::client::{ActivityStatus, AttemptStatus, Status};

use crate::arguments::{Logs, Which};
use crate::ask::Source;
use crate::failure::{Failure, Outcome, status};
use crate::home::{self, Found};
use crate::json::machine_of;
use crate::state::StateDirectory;
use crate::{machines, screen, text};

/// Bytes of one stream that go into JSON; the whole is printed without it.
const JSON_BYTES_MAX: u64 = 1 << 20;

/// An attempt whose output is wanted.
struct Wanted<'a> {
    name: &'a str,
    attempt: &'a AttemptStatus,
    /// Where the manager of its machine keeps everything.
    machine: PathBuf,
    /// What it has written so far, where it runs.
    so_far: Option<Box<Peeked>>,
}

/// `xav logs`
pub(crate) fn logs(arguments: &Logs) -> Outcome {
    let (Found { directory, process }, activity) =
        find(&arguments.which, arguments.activity.as_deref())?;
    let mut source = Source::open(&directory)?;
    let definition = source.definition(process)?;
    let streams: &[Stream] = match (arguments.stdout, arguments.stderr) {
        (true, _) => &[Stream::Stdout],
        (_, true) => &[Stream::Stderr],
        (false, false) => &[Stream::Stdout, Stream::Stderr],
    };
    if arguments.follow {
        let follow = live::Follow {
            arguments,
            activity: activity.as_deref(),
            definition: &definition,
            directory: &directory,
            streams,
        };
        return follow.to_the_end(&mut source, process);
    }
    let known = source.status(process)?;
    let mut wanted = wanted(
        arguments,
        activity.as_deref(),
        &known,
        &definition,
        &directory,
    )?;
    for one in &mut wanted {
        one.so_far = live::so_far(&mut source, one.attempt)?;
    }
    drop(source);
    if arguments.json {
        let documents: Result<Vec<serde_json::Value>, Failure> =
            wanted.iter().map(|one| document(one, streams)).collect();
        screen::json(&json!(documents?))?;
        return Ok(0);
    }
    // What is asked for by attempt and stream is for other programs: nothing is put around it.
    let is_bare = activity.is_some() && (streams.len() == 1 || n_streams(&wanted) < 2);
    let mut has_said = false;
    for one in &wanted {
        for &stream in streams {
            if one.bytes(stream) == 0 {
                continue;
            }
            has_said = true;
            if !is_bare {
                screen::out(&one.head(stream))?;
            }
            one.print(stream, 0)?;
        }
    }
    if !has_said {
        screen::tell(&nothing(&wanted, activity.as_deref()));
    }
    Ok(0)
}

/// The process and the activity. A single word that is no process's name may be an activity's, of
/// the newest process.
pub(crate) fn find(
    which: &Which,
    activity: Option<&str>,
) -> Result<(Found, Option<String>), Failure> {
    let found = home::find(which);
    match (found, &which.id, activity) {
        (Ok(found), _, activity) => Ok((found, activity.map(str::to_owned))),
        (Err(failure), Some(word), None) if failure.status == status::REFUSED => {
            let Ok(newest) = home::Scope::of(&which.state)?.find(None) else {
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

/// The activity of that name.
pub(crate) fn activity<'a>(
    wanted: &str,
    status: &'a Status,
    definition: &Definition,
) -> Result<&'a ActivityStatus, Failure> {
    let name_of = |one: &ActivityStatus| definition.node(one.activity.node()).name.clone();
    let found = status.activities.iter().find(|one| name_of(one) == wanted);
    found.ok_or_else(|| {
        let names: Vec<String> = status.activities.iter().map(name_of).collect();
        let near = text::nearest(wanted, names.iter().map(String::as_str));
        let failure = Failure::refused(format!(
            "{} has no activity {}",
            status.summary.name,
            text::one_line(wanted, 60)
        ));
        match near {
            Some(near) => failure.help(format!("did you mean {near}?")),
            None => failure.help("xav status shows all activities"),
        }
    })
}

/// The attempts whose output is wanted, in the order in which they started.
fn wanted<'a>(
    arguments: &Logs,
    activity: Option<&str>,
    status: &'a Status,
    definition: &'a Definition,
    directory: &StateDirectory,
) -> Result<Vec<Wanted<'a>>, Failure> {
    let machine = machine_of(status);
    let wanted = |one: &ActivityStatus, attempt: &'a AttemptStatus| Wanted {
        name: definition.node(one.activity.node()).name.as_str(),
        attempt,
        machine: machines::directory(directory.path(), &machine(attempt.resource)),
        so_far: None,
    };
    let Some(activity) = activity else {
        let mut all: Vec<Wanted<'_>> = status
            .activities
            .iter()
            .flat_map(|one| attempts(one).map(move |attempt| wanted(one, attempt)))
            .collect();
        all.sort_by_key(|one| {
            (
                one.attempt.started.unwrap_or(Wall(u64::MAX)),
                one.attempt.attempt,
            )
        });
        return Ok(all);
    };
    let found = self::activity(activity, status, definition)?;
    let attempt = match arguments.attempt {
        None => attempts(found).last(),
        Some(number) => {
            let known = attempts(found).find(|one| one.attempt.number == number);
            if known.is_none() {
                let tries = text::count(found.attempts.len() as u64, "attempt", "attempts");
                return Err(Failure::refused(format!(
                    "{activity} has no attempt {number}: it has {tries}"
                )));
            }
            known
        }
    };
    Ok(attempt
        .map(|attempt| wanted(found, attempt))
        .into_iter()
        .collect())
}

/// The attempts of an activity, or the one whose outcome stands for it.
fn attempts(one: &ActivityStatus) -> impl Iterator<Item = &AttemptStatus> {
    one.reused.iter().chain(&one.attempts)
}

fn n_streams(wanted: &[Wanted<'_>]) -> usize {
    let count = |one: &Wanted<'_>| {
        let both = [Stream::Stdout, Stream::Stderr];
        both.iter().filter(|stream| one.bytes(**stream) > 0).count()
    };
    wanted.iter().map(count).sum()
}

impl Wanted<'_> {
    /// How much it wrote, or has written so far.
    fn bytes(&self, stream: Stream) -> u64 {
        match (&self.attempt.log, &self.so_far) {
            (Some(log), _) => bytes(log, stream),
            (None, Some(peeked)) => match stream {
                Stream::Stdout => peeked.stdout_bytes,
                Stream::Stderr => peeked.stderr_bytes,
            },
            (None, None) => 0,
        }
    }

    fn head(&self, stream: Stream) -> String {
        let (name, number) = (self.name, self.attempt.attempt.number);
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

    /// Prints what it wrote to a stream but so many bytes at the beginning.
    fn print(&self, stream: Stream, n_printed: u64) -> Result<(), Failure> {
        match self.open(stream)? {
            Some(mut reader) => {
                let skipped =
                    std::io::copy(&mut (&mut reader).take(n_printed), &mut std::io::sink());
                skipped.map_err(|error| self.unreadable(&error))?;
                screen::out_bytes(&mut reader)?;
            }
            None => {
                let (all, end) = self.end(stream);
                let n_skipped = all.saturating_sub(n_printed + end.len() as u64);
                if n_skipped > 0 {
                    screen::tell(&format!(
                        "({n_skipped} bytes before this can be read when {} has ended)\n",
                        self.name
                    ));
                }
                let n_new = usize::try_from(all.saturating_sub(n_printed)).unwrap_or(usize::MAX);
                let mut new = &end[end.len().saturating_sub(n_new)..];
                screen::out_bytes(&mut new)?;
            }
        }
        Ok(())
    }

    /// How much it has written so far, and the end of that.
    fn end(&self, stream: Stream) -> (u64, &[u8]) {
        match (&self.so_far, stream) {
            (Some(peeked), Stream::Stdout) => (peeked.stdout_bytes, &peeked.stdout),
            (Some(peeked), Stream::Stderr) => (peeked.stderr_bytes, &peeked.stderr),
            (None, _) => (0, &[]),
        }
    }

    /// All that it wrote; none while it runs.
    fn open(&self, stream: Stream) -> Result<Option<impl Read>, Failure> {
        let Some(log) = &self.attempt.log else {
            return Ok(None);
        };
        let opened = activity_daemon::open_log(&self.machine, self.attempt.attempt, stream, log);
        opened.map(Some).map_err(|error| Failure::because(&error))
    }

    fn unreadable(&self, error: &std::io::Error) -> Failure {
        Failure::new(format!("could not read what {} wrote: {error}", self.name))
    }
}

fn document(one: &Wanted<'_>, streams: &[Stream]) -> Result<serde_json::Value, Failure> {
    let mut document = json!({
        "activity": one.name,
        "attempt": one.attempt.attempt.number,
        "state": one.attempt.end.as_deref().unwrap_or("running"),
    });
    for &stream in streams {
        let mut content = Vec::new();
        match one.open(stream)? {
            Some(reader) => {
                let read = reader.take(JSON_BYTES_MAX).read_to_end(&mut content);
                read.map_err(|error| one.unreadable(&error))?;
            }
            None => content.extend_from_slice(one.end(stream).1),
        }
        document[word(stream)] = json!(String::from_utf8_lossy(&content));
        document[format!("{}_bytes", word(stream))] = json!(one.bytes(stream));
    }
    Ok(document)
}

fn nothing(wanted: &[Wanted<'_>], activity: Option<&str>) -> String {
    let of = activity.unwrap_or("the process");
    let is_running = wanted.iter().any(|one| one.attempt.end.is_none());
    match (wanted.is_empty(), is_running) {
        (true, _) => format!("{of} has not started\n"),
        (false, true) => format!("{of} has written nothing yet\n"),
        (false, false) => format!("{of} wrote nothing\n"),
    }
}

fn bytes(log: &Log, stream: Stream) -> u64 {
    match stream {
        Stream::Stdout => log.stdout_bytes,
        Stream::Stderr => log.stderr_bytes,
    }
}

fn word(stream: Stream) -> &'static str {
    match stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
    }
}
