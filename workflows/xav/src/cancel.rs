//! `xav cancel`, also of a process that no run has.

use model::ProcessId;
use shell::Client;
use wire::client::{Answer, Phase, Request};

use crate::arguments::{Cancel, Following};
use crate::ask::{Source, unfit};
use crate::failure::{Failure, Outcome};
use crate::home::{self, Located};
use crate::location::Location;
use crate::watch::Host;
use crate::{render, run, screen};

/// `xav cancel`
pub(crate) fn cancel(arguments: &Cancel) -> Outcome {
    let Located { location, process } = home::find(&arguments.which)?;
    let mut source = Source::open(&location)?;
    let before = source.status(process)?;
    if before.summary.phase.has_ended() {
        let (name, past) = (&before.summary.name, render::past(before.summary.phase));
        return Err(Failure::refused(format!("{name} {process} {past} already")));
    }
    let phase = match (source, &location) {
        (Source::Live(mut client, ..) | Source::Grid(mut client), _) => {
            cancel_by(&mut client, process)?
        }
        (Source::Offline(_) | Source::Nothing, Location::Grid(home)) => {
            return Err(Failure::new(format!("{} does not answer", home.shown())));
        }
        (source @ (Source::Offline(_) | Source::Nothing), Location::Here(directory)) => {
            drop(source);
            // Whoever ends a process must record it, so a grid does, for a moment.
            let grid = run::start(
                directory,
                Following {
                    slots: None,
                    scheduler: None,
                    quiet: true,
                    json: false,
                    dry_run: false,
                },
                None,
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
    // If the process is still being cancelled, its run ended meanwhile; the cancellation is recorded.
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
