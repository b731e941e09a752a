//! Machines that stand still for ever: a process of which everything that runs is on such machines never ends, and
//! whoever runs it is told so.

use model::{Definition, Mono, Span, Wall};
use wire::client::{ActivityPhase, ActivityStatus, Planned, Progress, Status, Totals};

use crate::failure::Failure;
use crate::machines::LocalMachine;
use crate::text;

/// The time for which nothing has to have happened before a process is looked at, and the pause between two looks.
pub(crate) const PATIENCE: Span = Span::from_secs(20);

/// So many times its expected time an activity may take before it is given up: if it could be started elsewhere, it
/// was by then.
const LATE: f64 = 2.0;

/// Activities that are named.
const NAMED_MAX: usize = 3;

/// The machines of a run that stand still for ever from some moment on.
pub(crate) struct Standstills {
    machines: Vec<Standstill>,
}

struct Standstill {
    name: String,
    /// The time since the start of the managers.
    after: Span,
    at: Mono,
}

/// The last change of a process, or the last look at it since.
pub(crate) struct Seen {
    totals: Totals,
    n_rescheduled: u32,
    since: Mono,
}

impl Seen {
    /// A process that is followed from now on.
    pub(crate) fn from(now: Mono) -> Seen {
        Seen {
            totals: Totals::default(),
            n_rescheduled: 0,
            since: now,
        }
    }

    /// Takes in how far the process is.
    pub(crate) fn note(&mut self, progress: &Progress, now: Mono) {
        let (totals, n_rescheduled) = (progress.totals, progress.n_rescheduled);
        if (totals, n_rescheduled) != (self.totals, self.n_rescheduled) {
            (self.totals, self.n_rescheduled, self.since) = (totals, n_rescheduled, now);
        }
    }
}

impl Standstills {
    /// Those of some machines.
    pub(crate) fn of(machines: &[LocalMachine]) -> Standstills {
        let machines = machines.iter().filter_map(|machine| {
            let profile = machine.profile.as_ref()?;
            let from = profile.pace.as_ref()?.shares().stands_still_from()?;
            let after = Span::from_seconds_up(from);
            Some(Standstill {
                name: machine.name.clone(),
                after,
                at: profile.pace_since + after,
            })
        });
        Standstills {
            machines: machines.collect(),
        }
    }

    /// True if a process is to be looked at now: a machine stands still, and nothing has happened for long. The next
    /// look is as long after this one.
    pub(crate) fn ask_for_a_look(&self, seen: &mut Seen, now: Mono) -> bool {
        let is_long = |since: Mono| now >= since + PATIENCE;
        let is_due = is_long(seen.since) && self.machines.iter().any(|one| is_long(one.at));
        if is_due {
            seen.since = now;
        }
        is_due
    }

    /// The verdict on a process in which nothing has happened for long: everything that runs stands still for ever,
    /// and nothing that is late is started elsewhere.
    pub(crate) fn verdict(
        &self,
        (status, definition): (&Status, &Definition),
        (now, time): (Mono, Wall),
    ) -> Option<Failure> {
        let stuck = self.stuck(status, definition, now);
        let is_over = stuck.iter().all(|(one, _)| may_be_given_up(one, time));
        (is_over && !stuck.is_empty()).then(|| failure(status, definition, &stuck))
    }

    /// The activities that run, with their machines, if all of these stand still and nothing else can go on.
    fn stuck<'a>(
        &'a self,
        status: &'a Status,
        definition: &Definition,
        now: Mono,
    ) -> Vec<(&'a ActivityStatus, &'a Standstill)> {
        let mut stuck = Vec::new();
        for one in &status.activities {
            match one.phase {
                ActivityPhase::Running | ActivityPhase::Sent => {}
                // It goes on by itself.
                ActivityPhase::Backoff => return Vec::new(),
                ActivityPhase::Waiting
                | ActivityPhase::Ready
                | ActivityPhase::Completed
                | ActivityPhase::Faulted
                | ActivityPhase::Skipped
                | ActivityPhase::Stopped => continue,
            }
            let ends_by_itself = definition
                .activity(one.activity)
                .is_some_and(|activity| activity.timeout.is_some());
            let open = one.attempts.iter().filter(|attempt| attempt.end.is_none());
            for attempt in open {
                let still = self.machine(status, attempt.resource, now);
                match still {
                    Some(still) if !ends_by_itself => stuck.push((one, still)),
                    Some(_) | None => return Vec::new(),
                }
            }
        }
        stuck
    }

    fn machine(&self, status: &Status, id: model::ResourceId, now: Mono) -> Option<&Standstill> {
        let (_, name) = status.machines.iter().find(|one| one.0 == id)?;
        let mut machines = self.machines.iter();
        machines.find(|machine| machine.name == *name && machine.at <= now)
    }
}

/// True if an activity is later than one that would have been moved.
fn may_be_given_up(one: &ActivityStatus, now: Wall) -> bool {
    let started = one.attempts.iter().filter_map(|attempt| attempt.started);
    let (Some(started), Some(Planned { start, finish, .. })) = (started.max(), one.planned) else {
        return true;
    };
    let expected = finish.saturating_sub(start).seconds();
    now.since(started).seconds() >= LATE * expected
}

fn failure(
    status: &Status,
    definition: &Definition,
    stuck: &[(&ActivityStatus, &Standstill)],
) -> Failure {
    let named = stuck.iter().take(NAMED_MAX).map(|(one, still)| {
        let Standstill { name, after, .. } = still;
        format!(
            "{} runs on {name}, which stands still for ever after {after}",
            definition.name_of(one.activity.node())
        )
    });
    let named: Vec<String> = named.collect();
    let others = stuck.len() - named.len();
    let more = match others {
        0 => String::new(),
        _ => format!(
            ", and {} like {}",
            others,
            if others == 1 { "it" } else { "them" }
        ),
    };
    let totals = &status.summary.totals;
    let waiting = match u64::from(totals.waiting) {
        0 => String::new(),
        n => format!(
            "; {} for that",
            text::count(n, "activity waits", "activities wait")
        ),
    };
    Failure::new(format!(
        "{} can never end: {}{more}{waiting}",
        definition.name(),
        named.join("; ")
    ))
}

#[cfg(test)]
mod tests;
