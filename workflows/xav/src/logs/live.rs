//! The output of a running attempt.

use std::collections::BTreeMap;
use std::time::Duration;

use activity_executor::Stream;
use model::{AttemptId, Definition, ProcessId};
use wire::attempt::Tail;
use wire::client::{Answer, AttemptStatus, Request, Status};

use super::wanted;
use crate::arguments::Logs;
use crate::ask::{Source, unfit};
use crate::failure::{Failure, Outcome};
use crate::location::Location;
use crate::{chosen, screen, why};

/// The pause between two requests for more output.
const LOOK: Duration = Duration::from_millis(200);

/// The output of an attempt so far; `None` if it does not run.
pub(super) fn so_far(
    source: &mut Source,
    attempt: &AttemptStatus,
) -> Result<Option<Box<Tail>>, Failure> {
    if attempt.end.is_some() || attempt.started.is_none() || !source.is_live() {
        return Ok(None);
    }
    let answer = source.answer(Request::Tail(attempt.attempt))?;
    if let Answer::Tail(tail) = answer {
        return Ok(Some(tail));
    }
    // It has ended meanwhile, or its machine does not answer.
    if let Answer::Refused(_) = answer {
        return Ok(None);
    }
    Err(unfit(&answer))
}

/// `xav logs --follow`
pub(super) struct Follow<'a> {
    pub(super) arguments: &'a Logs,
    pub(super) activity: Option<&'a str>,
    pub(super) definition: &'a Definition,
    pub(super) location: &'a Location,
    pub(super) streams: &'a [Stream],
}

/// The bytes that have been printed.
#[derive(Default)]
struct Printed {
    bytes: BTreeMap<(AttemptId, bool), u64>,
    last: Option<(AttemptId, Stream)>,
}

impl Follow<'_> {
    /// Prints what is there and what comes, until nothing comes any more.
    pub(super) fn to_the_end(&self, source: &mut Source, process: ProcessId) -> Outcome {
        let mut printed = Printed::default();
        loop {
            // In this order: what is written before the end that is seen is read after it.
            let status = source.status(process)?;
            let is_over = self.is_over(&status)?;
            self.print(source, &status, &mut printed)?;
            if is_over {
                return Ok(0);
            }
            if !source.is_live() {
                screen::tell(
                    "nothing runs it at the moment: what else it writes comes when it is resumed\n",
                );
                return Ok(0);
            }
            pause();
        }
    }

    /// True if nothing more will be written.
    fn is_over(&self, status: &Status) -> Result<bool, Failure> {
        if status.summary.phase.has_ended() {
            return Ok(true);
        }
        let Some(name) = self.activity else {
            return Ok(false);
        };
        let all = chosen::named(name, status, self.definition)?;
        Ok(all.iter().all(|activity| why::is_over(activity.phase)))
    }

    fn print(
        &self,
        source: &mut Source,
        status: &Status,
        printed: &mut Printed,
    ) -> Result<(), Failure> {
        let all = wanted(
            self.arguments,
            self.activity,
            status,
            self.definition,
            self.location,
        )?;
        for mut one in all {
            one.so_far = so_far(source, one.attempt)?;
            for &stream in self.streams {
                let id = one.attempt.attempt;
                let of = (id, stream == Stream::Stderr);
                let n_printed = printed.bytes.get(&of).copied().unwrap_or(0);
                let n_bytes = one.bytes(stream);
                if n_bytes <= n_printed {
                    continue;
                }
                // One activity that writes to one stream needs no words around it.
                let is_same = printed.last == Some((id, stream));
                let is_first_of_one = printed.last.is_none() && self.activity.is_some();
                if !is_same && !is_first_of_one {
                    screen::heading(&one.head(stream))?;
                }
                one.print(source, stream, n_printed)?;
                printed.bytes.insert(of, n_bytes);
                printed.last = Some((id, stream));
            }
        }
        Ok(())
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "what a command writes gives no event to a client; the loop ends with the process"
)]
fn pause() {
    std::thread::sleep(LOOK);
}
