//! A for-each that completes with some of its items does so when these have completed: not before, and
//! nothing of the others is sent after.

use model::ActivityId;
use process_core::{Event, Stream};
use simulator::Seen;
use wire::client::Phase;

use super::{Judged, Rule};
use crate::known::{Durable, Known};
use crate::reference::Expected;

/// Remembers nothing: all it needs is known.
#[derive(Debug)]
pub(super) struct Enough;

impl Rule for Enough {
    fn see(&mut self, known: &Known, seen: &Seen<'_>, judged: &mut Judged) -> Result<(), String> {
        let Seen::ProcessDurable(Stream::Process(id), event) = seen else {
            return Ok(());
        };
        let (Some(expected), Some(process)) = (known.expected.get(id), known.processes.get(id))
        else {
            return Ok(());
        };
        let Some((bodies, n_enough)) = &expected.enough else {
            return Ok(());
        };
        // A body of which nothing runs completes at once, which nobody sees.
        if bodies.iter().any(|body| body.is_empty()) {
            return Ok(());
        }
        if let Event::Sent(attempts, _) = event {
            judged.count();
            let n_done = n_done(expected, process);
            let sent = attempts.iter().map(|&(activity, ..)| activity);
            let mut late = sent.filter(|activity| is_open(expected, process, *activity));
            if let Some(activity) = late.next().filter(|_| n_done >= *n_enough) {
                return Err(format!(
                    "{id}: {activity} is sent, and {n_done} bodies have completed of {n_enough}"
                ));
            }
            return Ok(());
        }
        let Event::Closed { phase, .. } = event else {
            return Ok(());
        };
        judged.count();
        let n_done = n_done(expected, process);
        if Phase::from(*phase) == Phase::Completed && n_done < *n_enough {
            return Err(format!(
                "{id} has completed with {n_done} bodies, and {n_enough} are enough"
            ));
        }
        Ok(())
    }
}

/// The bodies of which all that runs has completed.
fn n_done(expected: &Expected, process: &Durable) -> usize {
    let bodies = expected.enough.iter().flat_map(|(bodies, _)| bodies);
    let done = bodies.filter(|body| body.is_subset(&process.completed));
    done.count()
}

/// True if it lies in one of the bodies and has not completed: what has may be made again.
fn is_open(expected: &Expected, process: &Durable, activity: ActivityId) -> bool {
    expected.may_be_missed(activity) && !process.completed.contains(&activity)
}
