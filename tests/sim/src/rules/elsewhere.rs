//! The work of a lost machine starts elsewhere in time: it is given up as soon as its lease has
//! ended for certain, and sent to another machine as soon as that is planned.
//!
//! From the last message of a machine to its work being given up pass at most the patience of a lease
//! (a hundredth and half a second more than its length) and [`RECORDED`]; from there to its being sent
//! elsewhere [`SENT`], where a machine is free, and unless another one goes or comes in the same
//! seconds. So with leases of 10 s what ran on a machine that was cut off starts elsewhere within 11 s
//! of the last word from it.

use std::collections::{BTreeMap, BTreeSet};

use group_core::Event as GroupEvent;
use model::{ActivityId, AttemptId, GroupId, Mono, ProcessId, ResourceId, Span};
use process_core::{Event, Stream, Verdict};
use simulator::Seen;

use super::{Judged, Rule};
use crate::known::{Durable, Known};

/// From the end of a lease to the record that its attempts are lost: a turn and some flushes.
const RECORDED: Span = Span::from_millis(100);
/// Time that a machine has to come back where its lease may have ended while the process manager stood still...
const BACK: Span = Span::from_secs(2);
/// ...which it does where it runs nothing for as long as this.
const STOOD_STILL: Span = Span::from_secs(1);
/// From that record until what was lost is recorded as sent elsewhere: a plan, a claim and its answer,
/// some flushes...
const SENT: Span = Span::from_millis(300);
/// ...and where messages are lost, one in five times with their answer, each of them repeated every
/// second.
const SENT_LOSSY: Span = Span::from_secs(15);
/// The longest steps that these times take more where steps take time: a lease that has ended is
/// noticed between two steps...
const STEPS_RECORDED: u64 = 4;
/// ...and what was lost is planned, claimed and sent by some inputs, which take turns with those of
/// clients.
const STEPS_SENT: u64 = 40;
/// Time for which managers and a machine reach each other before everybody concerned knows it: offers
/// and registrations are repeated each five seconds.
const SETTLED: Span = Span::from_secs(15);
/// A machine that is heard as often as this is not suspect: it asks for its lease every two seconds.
const STEADY: Span = Span::from_millis(2_500);
/// A machine that was silent for so long takes nothing more.
const SUSPECT: Span = Span::from_secs(3);
/// Period of the checks.
const LOOK: Span = Span::from_millis(20);

/// The things that the process manager may wait for.
#[derive(Debug, Default)]
pub(super) struct Elsewhere {
    /// The process manager that is watched.
    manager: usize,
    /// True if messages are lost.
    is_lossy: bool,
    /// The longest step of the process manager.
    step_max: Span,
    /// The length of leases in this life; none where there are no leases.
    length: Option<Span>,
    /// The longest that an earlier life may have told of shortly before this one began.
    earlier: Span,
    /// When this life began.
    begun: Mono,
    /// Since when the process manager has run without a break.
    runs_since: Option<Mono>,
    /// When it was stopped.
    stopped: Option<Mono>,
    /// When it ran last before it died or was stopped.
    ran_until: Mono,
    /// Since when it and the group manager have reached each other.
    together_since: Option<Mono>,
    /// When each machine was heard last in this life.
    heard: BTreeMap<usize, Mono>,
    /// Since when each was never silent for so long that it may be suspect.
    steady: BTreeMap<usize, Mono>,
    /// When each attempt was sent that may be out.
    sent: BTreeMap<AttemptId, Mono>,
    /// Lost activities that are to be sent again, and since when.
    waiting: BTreeMap<(ProcessId, ActivityId), Mono>,
    /// Processes with a fault: what they had may be stopped, and is then not sent again.
    faulted: BTreeSet<ProcessId>,
    /// When slots of each machine were given back last, or an attempt of one of the processes ended there.
    freed: BTreeMap<ResourceId, Mono>,
    /// When another process manager told last that it waits: free slots are kept for it.
    other_waits: Option<Mono>,
    next: Mono,
}

impl Elsewhere {
    /// For a process manager, in a run of such messages.
    pub(super) fn new(manager: usize, is_lossy: bool, step_max: Span) -> Elsewhere {
        Elsewhere {
            manager,
            is_lossy,
            step_max,
            ..Elsewhere::default()
        }
    }

    fn begin(&mut self, at: Mono, length: Span) {
        // Attempts of earlier epochs have ended once this epoch has lasted for long enough, and it has
        // recorded that while it ran.
        let lasted = self.ran_until.since(self.begun);
        let has_outlived = lasted > slow(patience(self.earlier)) + LATE;
        self.earlier = match self.length {
            Some(before) if has_outlived => before,
            Some(before) => before.max(self.earlier),
            None => Span::ZERO,
        };
        self.length = Some(length);
        self.begun = at;
        self.heard.clear();
    }

    fn recorded(&mut self, at: Mono, process: ProcessId, event: &Event) {
        match event {
            Event::Sent(attempts, _) => {
                for &(activity, number, _) in attempts {
                    self.waiting.remove(&(process, activity));
                    let attempt = AttemptId {
                        process,
                        activity,
                        number,
                    };
                    self.sent.insert(attempt, at);
                }
            }
            Event::Ended(ended) => {
                let attempt = ended.outcome.attempt;
                self.sent.remove(&attempt);
                match ended.verdict {
                    Verdict::Again | Verdict::Moved => {
                        self.waiting.insert((process, attempt.activity), at);
                    }
                    Verdict::Faulted(_) | Verdict::Broke(_) => {
                        self.faulted.insert(process);
                    }
                    Verdict::Completed
                    | Verdict::Retry { .. }
                    | Verdict::Stopped
                    | Verdict::Lacking(_)
                    | Verdict::Dropped(_) => {}
                }
            }
            // A file is made again, perhaps by another attempt after one that has failed.
            Event::Recomputing(attempts) => {
                for (activity, ..) in attempts {
                    self.waiting.remove(&(process, *activity));
                }
            }
            Event::Closed { .. } => self.waiting.retain(|(of, _), _| *of != process),
            _ => {}
        }
    }

    /// Slots of machines are given back.
    fn group(&mut self, known: &Known, group: GroupId, event: &GroupEvent) {
        let (process, only) = match event {
            GroupEvent::Released { process, .. } | GroupEvent::Returned { process, .. } => {
                (*process, None)
            }
            GroupEvent::Revoked {
                process, resource, ..
            } => (*process, Some(resource.of(group))),
            _ => return,
        };
        let held = known.held.of(process, group).map(|(at, _)| at);
        let freed = held.filter(|at| only.is_none_or(|only| only == *at));
        self.freed
            .extend(freed.map(|resource| (resource, known.at)));
    }

    /// Attempts on a machine that was silent for longer than its lease are given up.
    fn is_given_up(&self, known: &Known, length: Span, judged: &mut Judged) -> Result<(), String> {
        let Some(runs_since) = self.runs_since else {
            return Ok(());
        };
        let earlier_leases_end = self.begun + slow(patience(self.earlier));
        let has_stood_still =
            runs_since > self.begun && runs_since.since(self.ran_until) >= STOOD_STILL;
        for (&attempt, &sent) in &self.sent {
            let process = known.processes.get(&attempt.process);
            let resource = process.and_then(|process| process.sent.get(&attempt));
            let Some(machine) = resource.and_then(|resource| known.machines.get(resource)) else {
                continue;
            };
            let heard = self.heard.get(machine).copied();
            let from = heard.unwrap_or(self.begun).max(sent);
            let end = (from + slow(patience(length))).max(earlier_leases_end);
            // The lease may have ended before, as it counts from the last answer to the machine and not from its last word.
            let excused = match has_stood_still && from < runs_since {
                true => runs_since + BACK,
                false => runs_since,
            };
            let late = known.at.since(end.max(excused));
            // Only where a lease has run out could the attempt have been kept for too long.
            if known.at.since(from.max(runs_since)) > length {
                judged.count();
            }
            if late > RECORDED + Span(self.step_max.0 * STEPS_RECORDED) {
                let told = known.at.since(from);
                return Err(format!(
                    "{attempt} is out on machine {machine}, {told} after a word from there"
                ));
            }
        }
        Ok(())
    }

    /// A lost activity is sent to a machine that has room for it.
    fn is_sent(&self, known: &Known, judged: &mut Judged) -> Result<(), String> {
        let Some(together) = self.together_since else {
            return Ok(());
        };
        let sent = if self.is_lossy { SENT_LOSSY } else { SENT };
        let sent = sent + Span(self.step_max.0 * STEPS_SENT);
        for (&(id, activity), &since) in &self.waiting {
            let since = since.max(self.astray(known));
            if known.at.since(since) <= sent || known.at.since(together) <= SETTLED {
                continue;
            }
            let Some(process) = known.processes.get(&id) else {
                continue;
            };
            // Where its owner holds all that it may, no machine is free for it.
            let is_limited = known.slots_max(id).is_some();
            let waits = self.other_waits;
            // Slots that were kept are offered then, and claimed in the same time as free ones.
            let is_kept = waits.is_some_and(|told| known.at.since(told) < KEPT_FOR_OTHERS + sent);
            if is_ending(process) || self.faulted.contains(&id) || is_limited || is_kept {
                continue;
            }
            judged.count();
            if let Some(machine) = self.with_room(known, id, sent) {
                let waits = known.at.since(since);
                return Err(format!(
                    "{activity} of {id} was lost {waits} ago, and machine {machine} is free"
                ));
            }
        }
        Ok(())
    }

    /// Until when something may be planned on a machine that has gone in turn, since it is not suspect
    /// yet; on one that comes and goes; or on one that its group has told of and that has not come yet.
    fn astray(&self, known: &Known) -> Mono {
        let at = known.at;
        let mut machines = known.machines.values();
        if machines.any(|machine| !self.heard.contains_key(machine)) {
            return at;
        }
        let is_settled = |machine: &usize| {
            let steady = self.steady.get(machine);
            steady.is_some_and(|steady| at.since(*steady) > SETTLED)
        };
        let is_reached = |machine: &usize| {
            let times = known.reached.get(&(self.manager, *machine));
            let last = times.and_then(|times| times.last());
            last.is_some_and(|(_, to)| to.is_none())
        };
        let is_there =
            |machine: &usize, heard: Mono| is_reached(machine) && at.since(heard) < STEADY;
        let gone = self.heard.iter();
        let gone =
            gone.filter(|&(machine, &heard)| !is_settled(machine) || !is_there(machine, heard));
        let until = gone.map(|(_, &heard)| heard + SUSPECT);
        until.max().unwrap_or_default()
    }

    /// A machine on which all of a process fits and that nobody else has had for so long, nor anything of
    /// this process, which may come first in its plan; and which is known to all.
    fn with_room(&self, known: &Known, id: ProcessId, free_for: Span) -> Option<usize> {
        let expected = known.expected.get(&id)?;
        let fits = |machine: &usize| {
            let slots = known.slots.get(machine);
            slots.is_some_and(|slots| *slots >= expected.cores_max)
        };
        let is_known = |machine: &usize| {
            let times = known
                .reached
                .get(&(self.manager, *machine))
                .into_iter()
                .flatten();
            let last = times.last();
            let reached = last.filter(|(_, to)| to.is_none()).map(|&(from, _)| from);
            let heard = self.heard.get(machine);
            let is_there = heard.is_some_and(|heard| known.at.since(*heard) < STEADY);
            let steady = self.steady.get(machine).filter(|_| is_there);
            let is_settled = |since: &Mono| known.at.since(*since) > SETTLED;
            reached.as_ref().is_some_and(is_settled) && steady.is_some_and(is_settled)
        };
        let durable = known.processes.get(&id)?;
        let is_idle = |resource: &ResourceId| {
            let mut out = durable.out.values().chain(&durable.beside);
            out.all(|attempt| durable.sent.get(attempt) != Some(resource))
        };
        let is_free = |resource: &ResourceId| {
            let mut holders = known.held.at(*resource);
            let freed = self.freed.get(resource);
            holders.all(|(holder, _)| holder == id)
                && is_idle(resource)
                && freed.is_none_or(|freed| known.at.since(*freed) > free_for)
        };
        let mut machines = known.machines.iter();
        let found = machines
            .find(|(resource, machine)| is_free(resource) && fits(machine) && is_known(machine));
        found.map(|(_, &machine)| machine)
    }
}

/// Time for which slots may be kept for another process manager after it told that it waits: it tells
/// that each second.
const KEPT_FOR_OTHERS: Span = Span::from_secs(3);

/// Delay with which an epoch notices that the leases before it have ended.
const LATE: Span = Span::from_secs(1);

/// A hundredth and half a second more than the length, by no arithmetic but this one.
fn patience(length: Span) -> Span {
    length + Span(length.0 / 100) + Span::from_millis(500)
}

/// So long takes it by a clock that is half a hundredth slow, as none is.
fn slow(span: Span) -> Span {
    span + Span(span.0 / 200)
}

fn is_ending(process: &Durable) -> bool {
    process.closed.is_some() || process.is_cancelling || process.is_faulting
}

impl Rule for Elsewhere {
    fn see(&mut self, known: &Known, seen: &Seen<'_>, judged: &mut Judged) -> Result<(), String> {
        let at = known.at;
        if let Seen::Leases(manager, length) = seen
            && *manager == self.manager
        {
            self.begin(at, *length);
        }
        let Some(length) = self.length else {
            return Ok(());
        };
        if let Seen::Heard(manager, machine) = seen
            && *manager == self.manager
        {
            let before = self.heard.insert(*machine, at);
            if before.is_none_or(|before| at.since(before) >= STEADY) {
                self.steady.insert(*machine, at);
            }
        }
        if let Seen::Managers {
            manager,
            process,
            both,
        } = seen
            && *manager == self.manager
        {
            let since = |is: bool, since: Option<Mono>| is.then(|| since.unwrap_or(at));
            if *process && let Some(stopped) = self.stopped.take() {
                // Messages that came while it was stopped are read when it goes on.
                let heard = self.heard.values_mut();
                for heard in heard.filter(|heard| **heard >= stopped) {
                    *heard = at;
                }
            } else if !process && self.runs_since.is_some() {
                self.stopped = Some(at);
                self.ran_until = at;
            }
            self.runs_since = since(*process, self.runs_since);
            self.together_since = since(*both, self.together_since);
        }
        if let Seen::ProcessDurable(Stream::Process(id), event) = seen
            && known.manager_of(*id) == self.manager
        {
            if let Event::Ended(ended) = event
                && let Some(durable) = known.processes.get(id)
                && let Some(resource) = durable.sent.get(&ended.outcome.attempt)
            {
                self.freed.insert(*resource, at);
            }
            self.recorded(at, *id, event);
        }
        if let Seen::GroupDurable(group, event) = seen {
            self.group(known, *group, event);
        }
        if let Seen::Waits(process, ..) = seen
            && known.manager_of(*process) != self.manager
        {
            self.other_waits = Some(at);
        }
        if at < self.next {
            return Ok(());
        }
        self.next = at + LOOK;
        self.is_given_up(known, length, judged)?;
        self.is_sent(known, judged)
    }
}
