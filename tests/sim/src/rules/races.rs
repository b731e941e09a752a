//! Races: only what may run twice is raced, by one attempt on another machine. The first result counts; what has lost
//! is out until it is known not to run, and until then neither its slots nor its process are at an end.

use model::{AttemptId, ProcessId, ResourceId};
use process_core::record::{Holding, Verdict};
use process_core::{Event, Stream};
use simulator::Seen;

use super::{Judged, Rule};
use crate::known::{Durable, Known};

/// Remembers nothing: all it needs is known.
#[derive(Debug)]
pub(super) struct Races;

impl Rule for Races {
    fn see(&mut self, known: &Known, seen: &Seen<'_>, judged: &mut Judged) -> Result<(), String> {
        let Seen::ProcessDurable(Stream::Process(id), event) = seen else {
            return Ok(());
        };
        let Some(process) = known.processes.get(id) else {
            return Ok(());
        };
        match event {
            Event::Racing(attempts, _) => {
                for &(activity, number, resource) in attempts {
                    judged.count();
                    let attempt = AttemptId {
                        process: *id,
                        activity,
                        number,
                    };
                    may_race(known, process, (attempt, resource))?;
                }
                Ok(())
            }
            Event::Ended(ended) => {
                let attempt = ended.outcome.attempt;
                let Verdict::Dropped(_) = ended.verdict else {
                    return Ok(());
                };
                judged.count();
                let mut beside = process.beside.iter();
                if !beside.any(|one| one.activity == attempt.activity) {
                    return Err(format!("{attempt} is dropped, and no other one counts"));
                }
                if process.has_lost(attempt) && known.running.contains_key(&attempt) {
                    return Err(format!(
                        "{attempt} has lost, is taken for stopped, and runs"
                    ));
                }
                Ok(())
            }
            Event::Granted { group, holding } => {
                let losers = process.beside.iter().filter(|one| process.has_lost(**one));
                for &attempt in losers {
                    let place = process.sent.get(&attempt);
                    if let Some(&place) = place.filter(|place| place.group == *group) {
                        judged.count();
                        keeps_slots(known, process, (*id, place), holding)?;
                    }
                }
                Ok(())
            }
            Event::Closed { .. } | Event::Released => {
                judged.count_if(process.sent.len() > process.ended.len());
                match process.beside.iter().next() {
                    Some(attempt) => Err(format!("{id} is at an end, and {attempt} is out")),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

fn may_race(
    known: &Known,
    process: &Durable,
    (attempt, resource): (AttemptId, ResourceId),
) -> Result<(), String> {
    if !known.is_repeatable(attempt) {
        return Err(format!(
            "{attempt} is sent beside another one, and may not run twice"
        ));
    }
    let Some(first) = process.out.get(&attempt.activity) else {
        return Err(format!(
            "{attempt} is sent in a race, and no other one is out"
        ));
    };
    let others = process.beside.iter();
    let others = others.filter(|one| one.activity == attempt.activity);
    let others: Vec<&AttemptId> = others.chain([first]).collect();
    let replicas = known.replicas.get(&(attempt.process, attempt.activity));
    let most = replicas.map_or(2, |&n| n.max(2));
    if others.len() as u32 >= most {
        return Err(format!("{attempt} is one of more than {most} in a race"));
    }
    let here = |one: &&&AttemptId| process.sent.get(**one) == Some(&resource);
    if let Some(other) = others.iter().find(here) {
        return Err(format!("{attempt} is sent to the machine of {other}"));
    }
    if process.sent.contains_key(&attempt) {
        return Err(format!("{attempt} is sent a second time"));
    }
    Ok(())
}

/// A process with a loser on a machine keeps the slots that its commands use there.
fn keeps_slots(
    known: &Known,
    process: &Durable,
    (id, place): (ProcessId, ResourceId),
    holding: &Holding,
) -> Result<(), String> {
    let of_it = holding
        .grants
        .iter()
        .filter(|grant| grant.resource == place);
    let kept: u32 = of_it.map(|grant| grant.slots).sum();
    let running = known.running.iter().filter(|(attempt, _)| {
        attempt.process == id
            && process.is_out(**attempt)
            && process.sent.get(attempt) == Some(&place)
    });
    let used: u32 = running.map(|(_, (_, cores))| cores).sum();
    // A group manager may have revoked them, since the process manager was silent for long.
    match used > kept && kept > 0 {
        true => Err(format!(
            "{id} uses {used} slots of {place} and keeps {kept}"
        )),
        false => Ok(()),
    }
}
