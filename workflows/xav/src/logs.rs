//! `xav logs`: the output of the activities of a process, of running ones as far as it is written.

mod live;
mod parts;

use std::io::Read;
use std::path::PathBuf;

use activity_executor::Stream;
use model::{ActivityId, Definition, ProcessId, Wall};
use serde_json::json;
use wire::attempt::{Log, Tail};
use wire::client::{ActivityStatus, AttemptStatus, Status};
use wire::executor::Kept;

use crate::arguments::Logs;
use crate::ask::{Source, refuse_held};
use crate::chosen::{self, PAGE};
use crate::failure::{Failure, Outcome};
use crate::fault::short;
use crate::home::{self, Located};
use crate::json::machine_of;
use crate::location::Location;
use crate::render::{self, FOLDED_FROM};
use crate::state::StateDirectory;
use crate::{grid_admin, machines, screen, text, values};

use parts::Parts;

/// Bytes of one stream that go into JSON; the whole is printed without it.
const JSON_BYTES_MAX: u64 = 1 << 20;

/// An attempt whose output is wanted.
struct Wanted<'a> {
    name: String,
    attempt: &'a AttemptStatus,
    /// Where the manager of its machine keeps everything; none where that is not this machine.
    machine: Option<PathBuf>,
    /// The activity that it is an attempt at, or stands for.
    of: (ProcessId, ActivityId),
    /// Its output so far, while it runs.
    so_far: Option<Box<Tail>>,
}

/// `xav logs`
pub(crate) fn logs(arguments: &Logs) -> Outcome {
    if let Some(name) = &arguments.daemon {
        return grid_admin::log(arguments, name.as_deref());
    }
    let (Located { location, process }, activity) =
        chosen::find(&arguments.which, arguments.activity.as_deref())?;
    let mut source = Source::open(&location)?;
    let (known, definition) = source.known(process)?;
    refuse_held(&known.summary)?;
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
            location: &location,
            streams,
        };
        return follow.to_the_end(&mut source, process);
    }
    if let Some(name) = activity
        .as_deref()
        .filter(|_| !arguments.all && !arguments.json)
    {
        let items = chosen::named(name, &known, &definition)?;
        if let [one] = items[..]
            && one.is_folded()
        {
            screen::tell(&format!(
                "{name} has completed; of an iteration that ended so long ago no more is kept\n"
            ));
            return Ok(0);
        }
        if items.len() >= FOLDED_FROM {
            let first = listed_first(&items, &definition);
            screen::out(&list(&known, &definition, items))?;
            screen::tell(&format!(
                "xav logs {} {} prints what one of them wrote, --all what all of them wrote\n",
                short(process),
                text::quoted(&first)
            ));
            return Ok(0);
        }
    }
    let mut wanted = wanted(
        arguments,
        activity.as_deref(),
        &known,
        &definition,
        &location,
    )?;
    for one in &mut wanted {
        one.so_far = live::so_far(&mut source, one.attempt)?;
    }
    if arguments.json {
        let named: Vec<ActivityId> = match activity {
            Some(_) => wanted.iter().map(|one| one.of.1).collect(),
            None => Vec::new(),
        };
        let values = values::of(&mut source, process, &named)?;
        let documents: Result<Vec<serde_json::Value>, Failure> = wanted
            .iter()
            .map(|one| {
                let mut document = document(one, &mut source, streams)?;
                if let Some(told) = values.get(&one.of.1) {
                    document["values"] = values::document(told);
                }
                Ok(document)
            })
            .collect();
        screen::json(&json!(documents?))?;
        return Ok(0);
    }
    if let (Some(name), true) = (&activity, streams.len() > 1)
        && let [one] = chosen::named(name, &known, &definition)?[..]
        && let Some(told) = values::of_one(&mut source, process, one.activity)?
    {
        // Its output alone is for other programs.
        screen::tell(&values::lines(&told, one));
    }
    // One stream of one activity may be meant for other programs, so it gets no headings.
    let is_bare = activity.is_some() && (streams.len() == 1 || n_streams(&wanted) < 2);
    let mut has_said = false;
    for one in &wanted {
        for &stream in streams {
            if one.bytes(stream) == 0 {
                continue;
            }
            has_said = true;
            if !is_bare {
                screen::heading(&one.head(stream))?;
            }
            one.print(&mut source, stream, 0)?;
        }
    }
    if !has_said {
        screen::tell(&nothing(&wanted, activity.as_deref()));
    }
    Ok(0)
}

/// The items of an activity and how much each wrote, those that failed first; a page of them.
fn list(status: &Status, definition: &Definition, items: Vec<&ActivityStatus>) -> String {
    let counts = render::counts(&items);
    let items = chosen::by_interest(items);
    let n_more = items.len().saturating_sub(PAGE);
    let heads = ["ACTIVITY", "STATE", "EXIT", "STDOUT", "STDERR"];
    let mut rows = vec![heads.map(screen::bold).to_vec()];
    for one in items.iter().take(PAGE) {
        let last = attempts(one).last();
        let log = last.and_then(|attempt| attempt.log.as_ref());
        let written =
            |stream| log.map_or_else(|| "-".to_owned(), |log| bytes(log, stream).to_string());
        rows.push(vec![
            definition.name_of(one.activity.node()),
            render::state_of(one),
            last.and_then(|attempt| attempt.exit_code)
                .map_or_else(|| "-".to_owned(), |code| code.to_string()),
            written(Stream::Stdout),
            written(Stream::Stderr),
        ]);
    }
    let mut text = text::table(&rows);
    if n_more > 0 {
        text.push_str(&format!("and {n_more} more\n"));
    }
    let name = &status.summary.name;
    text.push_str(&format!("{counts}, of {name}\n"));
    text
}

/// The name of the item that stands first in a list.
fn listed_first(items: &[&ActivityStatus], definition: &Definition) -> String {
    let first = chosen::by_interest(items.to_vec());
    let first = first.first().map(|one| one.activity.node());
    first.map_or_else(String::new, |node| definition.name_of(node))
}

/// The state directory that has the log of an attempt: that of the process that ran it, where its outcome was
/// recalled from another one.
fn has_log(directory: &StateDirectory, process: ProcessId, attempt: &AttemptStatus) -> PathBuf {
    let of = attempt.attempt.process;
    let other = home::run_directory(of).ok().filter(|_| of != process);
    let other = other.and_then(|path| path.canonicalize().ok());
    other.unwrap_or_else(|| directory.path().to_owned())
}

/// The attempts whose output is wanted, in the order in which they started.
fn wanted<'a>(
    arguments: &Logs,
    activity: Option<&str>,
    status: &'a Status,
    definition: &Definition,
    location: &Location,
) -> Result<Vec<Wanted<'a>>, Failure> {
    let machine = machine_of(status);
    let process = status.summary.process;
    let wanted = |one: &ActivityStatus, attempt: &'a AttemptStatus| Wanted {
        name: definition.name_of(one.activity.node()),
        attempt,
        machine: match location {
            Location::Here(directory) => {
                let name = machine(attempt.resource);
                Some(machines::directory(
                    &has_log(directory, process, attempt),
                    &name,
                ))
            }
            Location::Grid(_) => None,
        },
        of: (process, one.activity),
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
    let all = chosen::named(activity, status, definition)?;
    let [found] = all[..] else {
        let last = all
            .iter()
            .filter_map(|one| Some((one, attempts(one).last()?)));
        return Ok(last.map(|(one, attempt)| wanted(one, attempt)).collect());
    };
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
    /// The bytes of its output, so far while it runs.
    fn bytes(&self, stream: Stream) -> u64 {
        match (&self.attempt.log, &self.so_far) {
            (Some(log), _) => bytes(log, stream),
            (None, Some(tail)) => match stream {
                Stream::Stdout => tail.stdout_bytes,
                Stream::Stderr => tail.stderr_bytes,
            },
            (None, None) => 0,
        }
    }

    fn head(&self, stream: Stream) -> String {
        let (name, number) = (&self.name, self.attempt.attempt.number);
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
    fn print(&self, source: &mut Source, stream: Stream, n_printed: u64) -> Result<(), Failure> {
        match self.open(source, stream, n_printed)? {
            Some(mut reader) => {
                let mut reader = Tried::new(&mut reader);
                let printed = screen::out_bytes(&mut reader);
                if let Some(error) = reader.failed {
                    return Err(self.unreadable(&error));
                }
                printed?;
                let n_dropped = self.attempt.log.map_or(0, |log| dropped(&log, stream));
                if n_dropped > 0 {
                    screen::tell(&format!(
                        "({n_dropped} bytes more were written and not kept: stream-mebibytes-max of \
                         the machine says how many are)\n"
                    ));
                }
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

    /// The number of bytes written so far, and the last of them.
    fn end(&self, stream: Stream) -> (u64, &[u8]) {
        match (&self.so_far, stream) {
            (Some(tail), Stream::Stdout) => (tail.stdout_bytes, &tail.stdout),
            (Some(tail), Stream::Stderr) => (tail.stderr_bytes, &tail.stderr),
            (None, _) => (0, &[]),
        }
    }

    /// The stream from a byte on; none while the activity runs.
    fn open<'s>(
        &self,
        source: &'s mut Source,
        stream: Stream,
        offset: u64,
    ) -> Result<Option<Box<dyn Read + 's>>, Failure> {
        let Some(log) = &self.attempt.log else {
            return Ok(None);
        };
        let attempt = self.attempt.attempt;
        let Some(machine) = &self.machine else {
            return Ok(Some(Box::new(Parts {
                source,
                of: self.of,
                attempt,
                stream: match stream {
                    Stream::Stdout => wire::attempt::Stream::Stdout,
                    Stream::Stderr => wire::attempt::Stream::Stderr,
                },
                offset,
                held: (Vec::new(), 0),
            })));
        };
        let mut reader = match activity_daemon::open_log(machine, attempt, stream, log) {
            Ok(reader) => reader,
            // An outcome stands for its activity also when the process that made it is forgotten.
            Err(_) if attempt.process != self.of.0 => {
                screen::tell(&format!(
                    "(what {} wrote is gone: {}, which ran it, is forgotten)\n",
                    self.name,
                    short(attempt.process)
                ));
                return Ok(Some(Box::new(std::io::empty())));
            }
            Err(error) => return Err(Failure::because(&error)),
        };
        let skipped = std::io::copy(&mut (&mut reader).take(offset), &mut std::io::sink());
        skipped.map_err(|error| self.unreadable(&error))?;
        Ok(Some(Box::new(reader)))
    }

    fn unreadable(&self, error: &std::io::Error) -> Failure {
        Failure::new(format!("could not read what {} wrote: {error}", self.name))
    }
}

/// A reader that remembers why it could not be read, so that this is not taken for a trouble with
/// what is written to.
struct Tried<'a> {
    reader: &'a mut dyn Read,
    failed: Option<std::io::Error>,
}

impl<'a> Tried<'a> {
    fn new(reader: &'a mut dyn Read) -> Tried<'a> {
        Tried {
            reader,
            failed: None,
        }
    }
}

impl Read for Tried<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.reader.read(buffer).inspect_err(|error| {
            let kind = error.kind();
            self.failed = Some(std::io::Error::new(kind, error.to_string()));
        })
    }
}

fn document(
    one: &Wanted<'_>,
    source: &mut Source,
    streams: &[Stream],
) -> Result<serde_json::Value, Failure> {
    let mut document = json!({
        "activity": one.name,
        "attempt": one.attempt.attempt.number,
        "state": one.attempt.end.as_deref().unwrap_or("running"),
    });
    for &stream in streams {
        let mut content = Vec::new();
        match one.open(source, stream, 0)? {
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

/// Bytes that an attempt wrote to a stream beyond those that its machine keeps of one.
fn dropped(log: &Log, stream: Stream) -> u64 {
    let (bytes, kept) = match stream {
        Stream::Stdout => (log.stdout_bytes, log.stdout),
        Stream::Stderr => (log.stderr_bytes, log.stderr),
    };
    match kept {
        Kept::File { bytes: kept } => bytes.saturating_sub(kept),
        Kept::Nowhere | Kept::Log { .. } => 0,
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
