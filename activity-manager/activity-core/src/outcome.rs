//! Converts the executor's measurements into outcomes for the process manager.

use model::{Bytes, FaultName};
use wire::attempt::{CAPTURE_BYTES_MAX, End, Failure, Log, Outcome, STDERR_TAIL_BYTES_MAX};
use wire::executor::{Captured, Ended, Exit, SiteLimit};

use crate::record::Note;

/// The next step for an ended attempt.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// Report it.
    Report(Outcome),
    /// Report it as completed once its outputs are stored.
    Collect(Outcome),
}

/// Judges an end. Without its note nobody knows the attempt's wanted outputs: it is lost.
pub(crate) fn judge(ended: Ended, note: Option<&Note>) -> Verdict {
    let mut outcome = Outcome {
        attempt: ended.attempt,
        end: End::Lost,
        started: ended.started,
        wall: ended.wall,
        cpu: ended.cpu_user + ended.cpu_system,
        peak_memory: Bytes(ended.peak_memory_bytes),
        exit_code: None,
        pid: ended.pid,
        outputs: Vec::new(),
        stdout: None,
        stderr: None,
        log: log(&ended),
    };
    let Some(note) = note else {
        return Verdict::Report(outcome);
    };
    let fail = |name, message: String| {
        End::Failed(Box::new(Failure {
            name,
            message,
            directory: note.directory.clone(),
            stderr_tail: tail(&ended.stderr.inline),
        }))
    };
    outcome.end = match &ended.exit {
        Exit::Exited { code: 0 } => {
            outcome.exit_code = Some(0);
            let streams = [
                ("stdout", note.wants_stdout, &ended.stdout),
                ("stderr", note.wants_stderr, &ended.stderr),
            ];
            match streams
                .into_iter()
                .find(|(_, wanted, stream)| *wanted && is_cut(stream))
            {
                Some((name, _, stream)) => fail(
                    FaultName::TooLarge,
                    // Both rounded may be the same.
                    format!(
                        "wrote {} bytes to {name}; at most {CAPTURE_BYTES_MAX} ({}) can go into a variable",
                        stream.bytes,
                        Bytes(u64::from(CAPTURE_BYTES_MAX)),
                    ),
                ),
                None => End::Completed,
            }
        }
        Exit::Exited { code } => {
            outcome.exit_code = Some(i32::from(*code));
            fail(
                FaultName::ExitCode,
                within(ended.limit, format!("exited with status {code}")),
            )
        }
        Exit::Signaled { signal } => {
            let message = match signal_name(*signal) {
                Some(name) => format!("killed by signal {signal} ({name})"),
                None => format!("killed by signal {signal}"),
            };
            fail(FaultName::ExitCode, within(ended.limit, message))
        }
        Exit::TimedOut => fail(
            FaultName::Timeout,
            format!("ran longer than its timeout; killed after {}", ended.wall),
        ),
        Exit::OutOfMemory => fail(
            FaultName::OutOfMemory,
            "used more memory than it may; killed".to_owned(),
        ),
        Exit::NotStarted { message, .. } => fail(FaultName::NotStarted, message.clone()),
        // Its own executor ended it for lack of a daemon: the command is not to blame.
        Exit::Stopped | Exit::Abandoned | Exit::Expired => End::Stopped,
        Exit::Stuck => End::Lost,
    };
    if outcome.end != End::Completed {
        return Verdict::Report(outcome);
    }
    outcome.stdout = note.wants_stdout.then_some(ended.stdout.inline);
    outcome.stderr = note.wants_stderr.then_some(ended.stderr.inline);
    if note.outputs.is_empty() {
        Verdict::Report(outcome)
    } else {
        Verdict::Collect(outcome)
    }
}

/// Adds the machine's limit by which a command failed, if any.
fn within(limit: Option<SiteLimit>, message: String) -> String {
    match limit {
        Some(limit) => format!("{message}; {limit}"),
        None => message,
    }
}

/// Approximate bytes of an outcome.
pub(crate) fn weight(outcome: &Outcome) -> usize {
    let stream = |bytes: &Option<Vec<u8>>| bytes.as_ref().map_or(0, Vec::len);
    let failure = match &outcome.end {
        End::Failed(failure) => {
            failure.message.len() + failure.directory.len() + failure.stderr_tail.len()
        }
        End::Lacking(inputs) => inputs.len() * size_of::<u32>(),
        End::Completed | End::Stopped | End::Lost => 0,
    };
    size_of::<Outcome>()
        + stream(&outcome.stdout)
        + stream(&outcome.stderr)
        + failure
        + outcome.outputs.len() * size_of::<model::Artifact>()
}

fn is_cut(stream: &Captured) -> bool {
    stream.bytes > stream.inline.len() as u64
}

fn log(ended: &Ended) -> Option<Log> {
    let (stdout, stderr) = (&ended.stdout, &ended.stderr);
    (stdout.bytes > 0 || stderr.bytes > 0).then_some(Log {
        stdout_bytes: stdout.bytes,
        stdout: stdout.kept,
        stderr_bytes: stderr.bytes,
        stderr: stderr.kept,
    })
}

/// The end of stderr as text. A character that was cut is left out.
pub(crate) fn tail(stderr: &[u8]) -> String {
    let mut start = stderr.len().saturating_sub(STDERR_TAIL_BYTES_MAX as usize);
    if start > 0 {
        let is_continuation = |byte: &&u8| **byte & 0xc0 == 0x80;
        start += stderr[start..]
            .iter()
            .take(3)
            .take_while(is_continuation)
            .count();
    }
    String::from_utf8_lossy(&stderr[start..]).into_owned()
}

/// Names of the signals that kill, as Linux numbers them on x86 and ARM.
fn signal_name(signal: u32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        10 => "SIGUSR1",
        11 => "SIGSEGV",
        12 => "SIGUSR2",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => return None,
    })
}
