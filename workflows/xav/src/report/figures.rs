//! All numbers of the page, from what a process manager tells of a process. Pure: the same status
//! gives the same numbers. The page's script computes none of them, it draws.

use std::collections::BTreeMap;

use model::{ActivityId, Bytes, Definition, ResourceId, Span, Wall};
use wire::client::{ActivityPhase, AttemptStatus, Status};

use super::chain::{self, Reason, Step};
use super::controllers::{self, Controllers};
use super::escape::visible;
use super::fault_text::{self, FaultText};
use super::graph::Graph;
use super::groups::{self, Groups};
use super::items::Folded;
use super::lanes;
use super::rounds::Rounds;
use super::told::Told;
use super::usage::{self, Usage};
use super::written::Written;
use crate::json::{cpu, machine_of, makespan};
use crate::render;

/// When and how a process is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// The time.
    pub(crate) now: Wall,
    /// True if a run has the process.
    pub(crate) is_live: bool,
}

/// Everything that a page says of a process. Times are microseconds since its submission.
#[derive(Debug)]
pub(crate) struct Report {
    /// Where the process is, in a word.
    pub(crate) state: &'static str,
    /// Its makespan; `None` before its end.
    pub(crate) took: Option<Span>,
    /// Until when there is something to tell: its end, or the moment in which it was looked at.
    pub(crate) until: u64,
    /// The length of the time axis: plan and run fit.
    pub(crate) axis: u64,
    /// CPU time of all attempts.
    pub(crate) cpu: Span,
    /// The duration of all its commands one after another, divided by the actual duration.
    pub(crate) speedup: Option<f64>,
    /// All slots of the machines that were used, those included that nothing held.
    pub(crate) n_slots: u32,
    /// Busy time of all slots as a part of the time that they were there; none where nothing ran.
    pub(crate) utilisation: Option<f64>,
    /// Attempts that failed.
    pub(crate) n_failed: usize,
    /// Machines that are used or planned, in the order in which the process came to know them.
    pub(crate) machines: Vec<MachineFigures>,
    /// In the order of the definition.
    pub(crate) activities: Vec<Row>,
    /// Attempts that started, by their start.
    pub(crate) bars: Vec<Bar>,
    /// The plan in force.
    pub(crate) plan: Plan,
    /// Colours.
    pub(crate) groups: Groups,
    /// The activities of bodies with many items.
    pub(crate) folded: Folded,
    /// The graph of steps.
    pub(crate) graph: Graph,
    /// The use by each group, in the order of [`Groups::labels`].
    pub(crate) shares: Vec<Share>,
    /// The critical path of the run, the first step first.
    pub(crate) chain: Vec<Step>,
    /// The duration of the run if nothing had ever waited for a slot: the longest chain of dependent
    /// activities.
    pub(crate) longest: Span,
    /// The tree.
    pub(crate) controllers: Controllers,
    /// What was planned of machines against what they took, and what moved for that.
    pub(crate) rounds: Rounds,
    /// The faults, the cause first.
    pub(crate) faults: Vec<FaultText>,
    /// Activities as the definition has them.
    pub(crate) written: Written,
    /// Activities with their values, which are asked for apart.
    pub(crate) told: Told,
}

/// A machine.
#[derive(Debug)]
pub(crate) struct MachineFigures {
    /// Its name.
    pub(crate) name: String,
    /// Rows that it has in the chart of the plan: slots that are planned.
    pub(crate) n_planned: u32,
    /// Rows that it has in the chart of the run: slots that were held at the same time, and idle ones.
    pub(crate) n_ran: u32,
    /// All its slots, as far as they are known.
    pub(crate) n_slots: u32,
    /// Its use.
    pub(crate) usage: Usage,
}

/// An activity.
#[derive(Debug)]
pub(crate) struct Row {
    /// Its name.
    pub(crate) name: String,
    /// The place of its controller in [`Controllers::paths`].
    pub(crate) path: usize,
    /// Where it is, in a word.
    pub(crate) state: &'static str,
    /// Its entry of the plan, as the place in [`Plan::bars`].
    pub(crate) planned: Option<usize>,
    /// Its last attempt that started, as the place in [`Report::bars`].
    pub(crate) last: Option<usize>,
    /// Tries.
    pub(crate) n_attempts: usize,
    /// The recorded outcome that stands for it.
    pub(crate) reused: Option<Reused>,
}

/// An outcome of another process.
#[derive(Debug)]
pub(crate) struct Reused {
    /// The process and the number of the attempt, in words.
    pub(crate) of: String,
    /// Its wall time.
    pub(crate) wall: Span,
    /// CPU time that it used.
    pub(crate) cpu: Span,
    /// The most memory that it used.
    pub(crate) peak_memory: Bytes,
    /// Its exit status.
    pub(crate) exit_code: Option<i32>,
}

/// An attempt that started.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Bar {
    /// The place in [`Report::activities`].
    pub(crate) activity: usize,
    /// Its number.
    pub(crate) number: u32,
    /// The place in [`Report::machines`].
    pub(crate) machine: usize,
    /// Slots that it held, by packing.
    pub(crate) slots: Vec<u32>,
    /// When it started.
    pub(crate) start: u64,
    /// When it ended; the moment of looking where it has not.
    pub(crate) end: u64,
    /// Its end, in a word.
    pub(crate) state: String,
    /// True if it still runs, as far as is known.
    pub(crate) is_running: bool,
    /// CPU time that it used.
    pub(crate) cpu: Span,
    /// The most memory that it used.
    pub(crate) peak_memory: Bytes,
    /// Its exit status.
    pub(crate) exit_code: Option<i32>,
    /// The command's process id, 0 where unknown.
    pub(crate) pid: u32,
}

/// The plan as it is drawn.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// One for each activity in it.
    pub(crate) bars: Vec<PlanBar>,
    /// The number of the plan; 0 without one.
    pub(crate) generation: u32,
    /// The makespan by the first plan.
    pub(crate) makespan: Option<Span>,
    /// True if no work was known, so that only the order in it means something: it is drawn as long as the run.
    pub(crate) is_order_only: bool,
    /// When the first plan was put in force, from which planned times count.
    pub(crate) origin: u64,
}

/// A place in the plan.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PlanBar {
    /// The place in [`Report::activities`].
    pub(crate) activity: usize,
    /// The place in [`Report::machines`].
    pub(crate) machine: usize,
    /// Slots.
    pub(crate) slots: Vec<u32>,
    /// Estimated start.
    pub(crate) start: u64,
    /// Estimated end.
    pub(crate) end: u64,
}

/// The use by the activities of one colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share {
    /// Their number.
    pub(crate) n_activities: usize,
    /// Time in which they ran, added up.
    pub(crate) busy: Span,
    /// CPU time.
    pub(crate) cpu: Span,
    /// Time of theirs on the critical path.
    pub(crate) critical: Span,
}

impl Report {
    /// Computes everything.
    pub(crate) fn of(status: &Status, definition: &Definition, look: Look) -> Report {
        let origin = status.summary.submitted;
        let controllers = controllers::tree(status, definition);
        let mut bars = attempts(status, origin);
        let until = until(status, &bars, look);
        for bar in bars.iter_mut().filter(|bar| bar.is_running) {
            bar.end = bar.start.max(until);
        }
        let resources = lanes::resources(status);
        let mut plan = plan(status, until);
        let (machines, freed_by) =
            lanes::pack(status, definition, &resources, &mut bars, &mut plan);
        let activities = rows(status, definition, look, &controllers, &bars, &plan);
        let last_planned = plan.bars.iter().map(|bar| bar.end).max();
        let last_run = bars.iter().map(|bar| bar.end).max();
        let axis = until
            .max(last_planned.unwrap_or(0))
            .max(last_run.unwrap_or(0));
        let machines: Vec<MachineFigures> = machines
            .into_iter()
            .map(|used| {
                let own = used.bars.iter().map(|&bar| &bars[bar]);
                MachineFigures {
                    usage: usage::usage(own, used.n_slots, until),
                    name: used.name,
                    n_planned: used.n_planned,
                    n_ran: used.n_ran,
                    n_slots: used.n_slots,
                }
            })
            .collect();
        let n_slots: u32 = machines
            .iter()
            .filter(|machine| machine.usage.n_attempts > 0)
            .map(|machine| machine.n_slots)
            .sum();
        let held: u64 = machines.iter().map(|machine| machine.usage.held.0).sum();
        // Their order is that of the tree, in which the copies of a body stand together.
        let places = status.activities.iter().zip(0..);
        let places: BTreeMap<ActivityId, usize> =
            places.map(|(one, place)| (one.activity, place)).collect();
        let known = chain::Known {
            graph: definition.graph(),
            bars: &bars,
            place_of: &|id| places.get(&id).copied(),
            n_activities: activities.len(),
            freed_by: &freed_by,
        };
        let (chain, longest) = (chain::chain(&known), chain::longest(&known));
        let ids: Vec<ActivityId> = (status.activities.iter()).map(|one| one.activity).collect();
        let groups = groups::group(definition, &ids);
        Report {
            state: state(status, look),
            took: makespan(&status.summary),
            until,
            axis: axis.max(1),
            cpu: cpu(status),
            speedup: render::speedup(status),
            n_slots,
            utilisation: (held > 0 && until > 0)
                .then(|| held as f64 / (u64::from(n_slots) as f64 * until as f64)),
            n_failed: bars.iter().filter(|bar| bar.has_failed()).count(),
            shares: shares(&groups, &bars, &chain),
            written: Written::of(definition, ids.iter().copied()),
            told: Told::default(),
            graph: Graph::of(status, definition, &groups.of),
            folded: Folded::of(status, definition, &bars, &groups.of, until),
            rounds: Rounds::of(status, (&activities, &bars, &plan), &machines, until),
            machines,
            activities,
            bars,
            plan,
            groups,
            chain,
            longest,
            controllers,
            faults: fault_text::faults(status, definition),
        }
    }

    /// Time of the critical path in which its commands ran, and time between them.
    pub(crate) fn critical(&self) -> (Span, Span) {
        let ran = self.chain.iter().map(|step| self.bars[step.bar].length());
        let waited = self.chain.iter().map(|step| step.wait);
        (Span(ran.sum()), Span(waited.sum()))
    }
}

impl Bar {
    /// Its wall time so far.
    pub(crate) fn length(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// True if it ended by itself, and not well.
    pub(crate) fn has_failed(&self) -> bool {
        !self.is_running && !["completed", "stopped"].contains(&self.state.as_str())
    }

    /// True if it was stopped because the process ended.
    pub(crate) fn was_stopped(&self) -> bool {
        self.state == "stopped"
    }
}

fn state(status: &Status, look: Look) -> &'static str {
    let phase = status.summary.phase;
    if phase.has_ended() || look.is_live {
        phase.word()
    } else {
        "interrupted"
    }
}

/// Everything that started, by its start. Machines and slots are not known yet.
fn attempts(status: &Status, origin: Wall) -> Vec<Bar> {
    let mut bars: Vec<Bar> = Vec::new();
    for (activity, one) in status.activities.iter().enumerate() {
        for attempt in &one.attempts {
            let Some(started) = attempt.started else {
                continue;
            };
            let start = started.since(origin).0;
            bars.push(Bar {
                activity,
                number: attempt.attempt.number,
                machine: 0,
                slots: Vec::new(),
                start,
                end: start.saturating_add(attempt.wall.0),
                state: visible(attempt.end.as_deref().unwrap_or("running")),
                is_running: attempt.end.is_none(),
                cpu: attempt.cpu,
                peak_memory: attempt.peak_memory,
                exit_code: attempt.exit_code,
                pid: attempt.pid,
            });
        }
    }
    bars.sort_by_key(|bar| (bar.start, bar.end, bar.activity, bar.number));
    bars
}

/// Until when there is something to tell.
fn until(status: &Status, bars: &[Bar], look: Look) -> u64 {
    let submitted = status.summary.submitted;
    match status.summary.ended {
        Some(ended) => ended.since(submitted).0,
        None if look.is_live => look.now.since(submitted).0,
        // Nobody knows what happened after the last thing that was recorded.
        None => bars.iter().map(|bar| bar.end).max().unwrap_or(0),
    }
}

/// The plan on the axis of the run. Machines and slots are not known yet.
fn plan(status: &Status, until: u64) -> Plan {
    let submitted = status.summary.submitted;
    let mut plan = Plan {
        origin: status.planned_from.map_or(0, |at| at.since(submitted).0),
        generation: status.generation.0,
        makespan: status.planned,
        is_order_only: status.planned.is_none(),
        ..Plan::default()
    };
    for (activity, one) in status.activities.iter().enumerate() {
        if let Some(planned) = &one.planned {
            plan.bars.push(PlanBar {
                activity,
                machine: 0,
                slots: Vec::new(),
                start: planned.start.0,
                end: planned.finish.0,
            });
        }
    }
    let length = plan.bars.iter().map(|bar| bar.end).max().unwrap_or(0);
    let room = until.saturating_sub(plan.origin);
    let is_scaled = plan.is_order_only && length > 0 && room > 0;
    for bar in &mut plan.bars {
        for time in [&mut bar.start, &mut bar.end] {
            if is_scaled {
                *time = (u128::from(*time) * u128::from(room) / u128::from(length)) as u64;
            }
            *time = time.saturating_add(plan.origin);
        }
    }
    plan
}

fn rows(
    status: &Status,
    definition: &Definition,
    look: Look,
    controllers: &Controllers,
    bars: &[Bar],
    plan: &Plan,
) -> Vec<Row> {
    let machine = machine_of(status);
    let mut rows: Vec<Row> = status
        .activities
        .iter()
        .map(|one| Row {
            name: visible(&definition.name_of(one.activity.node())),
            path: controllers.path_of(definition, one.activity),
            state: word(one.phase, one.reused.is_some(), status, look),
            planned: None,
            last: None,
            n_attempts: one.attempts.len(),
            reused: one.reused.as_ref().map(|attempt| reused(attempt, &machine)),
        })
        .collect();
    for (index, bar) in bars.iter().enumerate() {
        let row = &mut rows[bar.activity];
        let is_later = |last: usize| bars[last].number <= bar.number;
        if row.last.is_none_or(is_later) {
            row.last = Some(index);
        }
    }
    for (index, bar) in plan.bars.iter().enumerate() {
        rows[bar.activity].planned = Some(index);
    }
    rows
}

fn word(phase: ActivityPhase, is_reused: bool, status: &Status, look: Look) -> &'static str {
    let is_interrupted = !look.is_live && !status.summary.phase.has_ended();
    let runs = matches!(phase, ActivityPhase::Sent | ActivityPhase::Running);
    if runs && is_interrupted {
        "interrupted"
    } else if phase == ActivityPhase::Completed && is_reused {
        "reused"
    } else if phase == ActivityPhase::Skipped {
        "not run"
    } else {
        phase.word()
    }
}

fn reused(attempt: &AttemptStatus, machine: &impl Fn(ResourceId) -> String) -> Reused {
    let id = attempt.attempt;
    Reused {
        of: format!(
            "process {}, attempt {}, on {}",
            id.process,
            id.number,
            visible(&machine(attempt.resource))
        ),
        wall: attempt.wall,
        cpu: attempt.cpu,
        peak_memory: attempt.peak_memory,
        exit_code: attempt.exit_code,
    }
}

fn shares(groups: &Groups, bars: &[Bar], chain: &[Step]) -> Vec<Share> {
    let mut shares = vec![Share::default(); groups.labels.len()];
    for &group in &groups.of {
        shares[group].n_activities += 1;
    }
    for bar in bars {
        let share = &mut shares[groups.of[bar.activity]];
        share.busy = share.busy + Span(bar.length());
        share.cpu = share.cpu + bar.cpu;
    }
    for step in chain {
        let bar = &bars[step.bar];
        let share = &mut shares[groups.of[bar.activity]];
        share.critical = share.critical + Span(bar.length());
    }
    shares
}

/// The critical path in one word each: what a step waited for.
pub(crate) fn reason_code(reason: Reason) -> (u8, Option<usize>) {
    match reason {
        Reason::First => (0, None),
        Reason::After(bar) => (1, Some(bar)),
        Reason::Slot(bar) => (2, Some(bar)),
        Reason::Retry(bar) => (3, Some(bar)),
    }
}

#[cfg(test)]
mod tests;
