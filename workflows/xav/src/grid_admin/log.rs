//! `xav logs --daemon`: what a daemon of a grid has logged. Whoever asks needs to reach the group
//! manager only, to which the others tell it.

use std::time::Duration;

use model::Span;
use shell::clock;
use wire::admin::{LogPart, Request, Response};

use super::admin_context::{AdminContext, unfit};
use crate::arguments::Logs;
use crate::failure::{Failure, Outcome};
use crate::remote;
use crate::{screen, text};

/// Lines that are printed where nobody says how many.
const LINES: u32 = 50;

/// The pause between two requests while the log is on its way. Daemons report each second, and learn
/// with the answer that their log is wanted.
const LOOK: Duration = Duration::from_millis(200);

/// The pause between two requests for a log that is followed.
const FOLLOW: Duration = Duration::from_secs(1);

/// The time limit for a log: the time after which a daemon counts as unreachable, and some more.
const PATIENCE: Span = Span::from_secs(10);

/// `xav logs --daemon`; without a name, the group manager's.
pub(crate) fn log(arguments: &Logs, name: Option<&str>) -> Outcome {
    let state = &arguments.which.state;
    let Some(remote) = remote::chosen(&state.grid, state.dir.as_deref())? else {
        let failure = Failure::refused("no grid was given, and only a grid has daemons");
        return Err(failure.help("give one with --grid"));
    };
    let admin = AdminContext::in_directory(remote.directory())?;
    let mut question = Question {
        admin,
        of: name.map(str::to_owned),
        lines: arguments.lines.unwrap_or(LINES),
    };
    let mut part = question.ask(None)?;
    screen::out(&text::harmless(&part.text))?;
    if !arguments.follow {
        return Ok(0);
    }
    // A daemon that ends may be started again, so the log is followed until the user interrupts.
    let mut reason = String::new();
    loop {
        pause(FOLLOW);
        match question.ask(Some(part.end)) {
            Ok(next) => {
                part = next;
                reason.clear();
                screen::out(&text::harmless(&part.text))?;
            }
            Err(failure) if failure.message == reason => {}
            Err(failure) => {
                screen::warn(&failure.to_string());
                reason = failure.message;
            }
        }
    }
}

/// A request for a daemon's log.
struct Question {
    admin: AdminContext,
    of: Option<String>,
    lines: u32,
}

impl Question {
    fn ask(&mut self, from: Option<u64>) -> Result<LogPart, Failure> {
        let until = clock::mono() + PATIENCE;
        loop {
            let ask = Request::Log {
                lines: self.lines,
                of: self.of.clone(),
                from,
            };
            let told = self.admin.ask(&ask)?;
            if let Response::Log(part) = told {
                return Ok(part);
            }
            let Response::Awaited = told else {
                return Err(unfit());
            };
            if clock::mono() >= until {
                let of = self.of.as_deref().unwrap_or_default();
                return Err(Failure::new(format!(
                    "could not wait longer for the log of {of}: it is there, and does not tell it"
                )));
            }
            pause(LOOK);
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "what is on its way to the group manager gives no event to a client; the loop has a deadline"
)]
fn pause(time: Duration) {
    std::thread::sleep(time);
}
