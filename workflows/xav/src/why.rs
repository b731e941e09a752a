//! `xav why`: why an activity is where it is, or a process as a whole, in sentences.

mod items;
mod moves;
mod round;
mod whole;

use model::{ActivityId, Definition, NodeId, Wall};
use serde_json::{Value as Json, json};
use wire::client::{
    ActivityPhase, Answer, Change, EachRun, ItemsAhead, Lateness, Phase, RaceCause, Raced, Reason,
    Recall, Request, Status, Why as Answered,
};

use crate::arguments::Why;
use crate::ask::{Source, refuse_held, unfit};
use crate::failure::Outcome;
use crate::home::Located;
use crate::{chosen, fault, json, screen, text, values};

/// Paths of changed inputs that are named.
const PATHS_MAX: usize = 5;

/// `xav why`
pub(crate) fn why(arguments: &Why) -> Outcome {
    let (Located { location, process }, activity) =
        chosen::find(&arguments.which, arguments.activity.as_deref())?;
    let mut source = Source::open(&location)?;
    let (status, definition) = source.known(process)?;
    refuse_held(&status.summary)?;
    let named = match &activity {
        Some(wanted) => chosen::named(wanted, &status, &definition)?,
        None => Vec::new(),
    };
    let request = match named[..] {
        [] => Request::WhyProcess(process),
        [one, ..] => Request::Why {
            process,
            activity: one.activity,
        },
    };
    let explanation = Explanation {
        definition: &definition,
        status: &status,
        is_live: source.is_live(),
        now: shell::clock::wall(),
    };
    let options = arguments.which.state.options();
    if let (Some(name), true) = (&activity, named.len() > 1) {
        return items::why(&mut source, &explanation, (name, &named), arguments);
    }
    let answer = source.answer(request)?;
    let (document, sentences) = if let (Answer::Why(why), [one, ..]) = (&answer, &named[..]) {
        let mut sentences = explanation.sentences(why, options.as_deref());
        let mut document = explanation.document(why);
        let told = values::of_one(&mut source, process, one.activity)?;
        if let Some(told) = &told {
            sentences.push_str(&values::paragraph(told, one));
        }
        document["values"] = json!(told.as_ref().map(values::document));
        (document, sentences)
    } else if let Answer::WhyProcess(why) = &answer {
        let sentences = explanation.sentences_of_process(why, options.as_deref());
        (explanation.document_of_process(why), sentences)
    } else {
        return Err(unfit(&answer));
    };
    if arguments.json {
        screen::json(&document)?;
    } else {
        screen::out(&sentences)?;
    }
    Ok(0)
}

/// The data that the sentences of an answer are made from.
pub(crate) struct Explanation<'a> {
    /// The definition of the process.
    pub(crate) definition: &'a Definition,
    /// The status of the process.
    pub(crate) status: &'a Status,
    /// True if a run has it.
    pub(crate) is_live: bool,
    /// The present.
    pub(crate) now: Wall,
}

impl Explanation<'_> {
    /// The answer for people: a line for each reason.
    pub(crate) fn sentences(&self, why: &Answered, options: Option<&str>) -> String {
        let mut text = format!("{}\n", self.first(why));
        for reason in &why.reasons {
            if let Some(line) = self.reason(why, reason) {
                text.push_str(&format!("  {line}\n"));
            }
        }
        for line in self.moves(why) {
            text.push_str(&format!("  {line}\n"));
        }
        if let Some(recall) = &why.recall {
            text.push_str(&format!("  {}\n", self.recall(why, recall)));
        }
        if let Some(Reason::Fault(cause)) = why.reasons.first() {
            let context = fault::Context {
                process: self.status.summary.process,
                definition: self.definition,
                origin: "",
                options,
            };
            text.push('\n');
            text.push_str(fault::all(std::slice::from_ref(cause), &context).trim_end());
            text.push('\n');
        }
        text
    }

    /// Where it is.
    fn first(&self, why: &Answered) -> String {
        let name = screen::bold(&self.name(why.activity.node()));
        let is_interrupted = !self.status.summary.phase.has_ended() && !self.is_live;
        let said = match why.phase {
            ActivityPhase::Waiting => "waits",
            ActivityPhase::Ready => "is ready, and was not sent yet",
            ActivityPhase::Sent if is_interrupted => "was at work",
            ActivityPhase::Sent => "was sent to its machine, and has not started",
            ActivityPhase::Running => "runs",
            ActivityPhase::Backoff => "failed, and is tried again",
            ActivityPhase::Completed => match &why.recall {
                Some(Recall::Stands(_)) => "was not run: a recorded outcome stands for it",
                Some(
                    Recall::Absent
                    | Recall::NotCompleted(_)
                    | Recall::Changed(_)
                    | Recall::Nothing
                    | Recall::TooLong,
                ) => "was run, and completed",
                None => "completed",
            },
            ActivityPhase::Faulted => "failed",
            ActivityPhase::Skipped => "was not run, and will not",
            ActivityPhase::Stopped => "was stopped",
        };
        if is_interrupted && !is_over(why.phase) {
            let id = fault::short(self.status.summary.process);
            return format!(
                "{name} {said}; nothing runs the process at the moment (xav resume {id} goes on)"
            );
        }
        format!("{name} {said}")
    }

    /// A reason; none where it has been said already.
    fn reason(&self, why: &Answered, reason: &Reason) -> Option<String> {
        Some(match reason {
            Reason::After { activity, phase } => {
                let name = self.name(activity.node());
                let phase = self.phase_of(*activity, *phase);
                let is = match phase == ActivityPhase::Sent && !self.is_live {
                    true => "was at work",
                    false => standing(phase),
                };
                format!("after {name}, which {is}")
            }
            Reason::Machines(what) => format!("for {what}"),
            Reason::Queue {
                resource,
                n_before,
                n_out,
            } => {
                let machine = json::machine_of(self.status)(*resource);
                let out = text::count(u64::from(*n_out), "activity is", "activities are");
                match n_before {
                    0 => format!("it is the next one for {machine}, where {out} at work"),
                    n_before => {
                        format!("{n_before} come before it on {machine}, where {out} at work")
                    }
                }
            }
            Reason::Passing { maker, resource } => {
                let (name, machine) = (
                    self.name(maker.node()),
                    json::machine_of(self.status)(*resource),
                );
                format!("what {name} made is not on {machine} yet, where its controller keeps it")
            }
            Reason::Backoff { until } => {
                let left = until.since(self.now);
                format!("the next attempt begins in {left}")
            }
            // All of it follows below.
            Reason::Fault(_) if why.phase == ActivityPhase::Faulted => return None,
            Reason::Fault(cause) => {
                format!("the last attempt: {}", text::one_line(&cause.message, 200))
            }
            Reason::Link { from, to } => format!(
                "the link from {} to {} is false",
                self.name(*from),
                self.name(*to)
            ),
            Reason::Join(node) => format!("the join condition of {} is false", self.name(*node)),
            Reason::Branch { of, taken } => match taken {
                Some(taken) => format!(
                    "{} took another branch, {}",
                    self.name(*of),
                    self.name(*taken)
                ),
                None => format!("no branch of {} ran", self.name(*of)),
            },
            Reason::Enough(node) => format!(
                "{} has completed with enough of its other items",
                self.name(*node)
            ),
            Reason::Limit {
                name,
                n_units,
                most,
                holders,
                n_others,
            } => self.limit((name, *n_units, *most), holders, *n_others),
            Reason::Tries {
                n_failed,
                most,
                ends,
                memory,
            } => {
                let memory = memory.map_or(String::new(), |memory| {
                    format!("; the memory of a try is {memory} by now")
                });
                let ends = match ends.is_empty() {
                    true => String::new(),
                    false => format!(": {}", ends.join(", ")),
                };
                format!("{n_failed} of {most} tries failed{ends}{memory}")
            }
            Reason::Race { cause, attempts } => self.race(*cause, attempts),
            Reason::Round(round) => self.round(round),
            Reason::Late(late) => self.late(why.activity, late),
            Reason::Items(ahead) => self.items_ahead(ahead),
            Reason::EachRun(why) => format!("each `xav run` runs it: {}", each_run(why)),
            Reason::Broken(node) => format!("it depends on {}, which failed", self.name(*node)),
            Reason::Uncopied(why) => {
                format!("no other machine keeps a copy of what it made: {why}")
            }
            Reason::Ended(phase) => match phase {
                Phase::Running => "the process goes on".to_owned(),
                Phase::Faulting | Phase::Faulted => {
                    let fault = self.status.faults.first();
                    let by = fault.and_then(|fault| fault.activity).map_or_else(
                        || "a fault".to_owned(),
                        |activity| format!("the fault of {}", self.name(activity.node())),
                    );
                    format!("{by} ended the process before its turn")
                }
                Phase::Cancelling | Phase::Cancelled => {
                    "the process was cancelled before its turn".to_owned()
                }
                Phase::Completed => "the process completed without it".to_owned(),
            },
        })
    }

    /// Attempts at the same time, and which one counts.
    fn race(&self, cause: RaceCause, attempts: &[Raced]) -> String {
        let machine_of = json::machine_of(self.status);
        let is_decided = attempts.iter().any(|one| one.counts);
        let told = attempts.iter().map(|one| {
            let (number, machine) = (one.number, machine_of(one.resource));
            match (one.end.as_deref(), one.started) {
                (Some(_), _) if one.counts => {
                    format!("attempt {number} on {machine}, whose result counts")
                }
                (Some(end), _) => format!("attempt {number} on {machine}: {end}"),
                (None, _) if is_decided => {
                    format!("attempt {number} on {machine}, which is being stopped")
                }
                (None, Some(at)) => {
                    format!("attempt {number} on {machine} since {}", text::moment(at))
                }
                (None, None) => format!("attempt {number}, sent to {machine}"),
            }
        });
        let told: Vec<String> = told.collect();
        let why = match cause {
            RaceCause::Straggler => "the first one took far longer than runs of it take".to_owned(),
            RaceCause::Replicas(n) => format!("the definition says `replicas: {n}`"),
        };
        let is = if is_decided { "ran" } else { "run" };
        format!(
            "{} attempts {is} at the same time, since {why}: {}",
            attempts.len(),
            told.join("; ")
        )
    }

    /// The lateness of a running attempt, and the reason why no other one is started.
    fn late(&self, activity: ActivityId, late: &Lateness) -> String {
        let machine = json::machine_of(self.status)(late.resource);
        let declared = self.definition.activity_as_written(activity);
        let second = match declared.is_some_and(|declared| declared.repeatable) {
            true => "",
            false => "; it is not `repeatable`, so no second attempt is started elsewhere",
        };
        format!(
            "it has run for {} on {machine}, where {} were expected{second}",
            late.elapsed, late.expected
        )
    }

    /// The items that come first, of a for-each that does so many at a time.
    fn items_ahead(&self, ahead: &ItemsAhead) -> String {
        let each = self.name(ahead.each);
        let begun: Vec<String> = ahead.begun.iter().map(|&body| self.name(body)).collect();
        let items = text::count(u64::from(ahead.at_most), "item", "items");
        let before = match ahead.n_before {
            0 => "it is the next one".to_owned(),
            n_before => format!("{n_before} come before it"),
        };
        let now = match begun.is_empty() {
            true => String::new(),
            false => format!("now {}, and ", listed(&begun)),
        };
        format!("{each} does {items} at a time: {now}{before}")
    }

    /// A limit that is taken, and by whom.
    fn limit(
        &self,
        (name, n_units, most): (&str, u32, u32),
        holders: &[ActivityId],
        n_others: u32,
    ) -> String {
        let own = holders.iter().map(|holder| self.name(holder.node()));
        let others = (n_others > 0).then(|| {
            let what = text::count(u64::from(n_others), "activity", "activities");
            format!("{what} of other processes")
        });
        let by: Vec<String> = own.chain(others).collect();
        let by = match by.is_empty() {
            true => "more than there are".to_owned(),
            false => format!("held by {}", listed(&by)),
        };
        format!("for {n_units} of the limit {name}, of which there are {most}: {by}")
    }

    /// Where another activity is. Reasons are explanation from what is recorded, and that it runs is not.
    fn phase_of(&self, activity: ActivityId, explanation: ActivityPhase) -> ActivityPhase {
        let mut known = self.status.activities.iter();
        let known = known.find(|one| one.activity == activity);
        let runs = known.is_some_and(|one| one.phase == ActivityPhase::Running);
        if runs && explanation == ActivityPhase::Sent {
            ActivityPhase::Running
        } else {
            explanation
        }
    }

    /// The result of the search for a recorded outcome.
    fn recall(&self, why: &Answered, recall: &Recall) -> String {
        match recall {
            Recall::Stands(attempt) => {
                let id = fault::short(attempt.process);
                let number = match attempt.number {
                    1 => String::new(),
                    number => format!(", attempt {number}"),
                };
                // The other process may have another definition, so its names are not known here.
                format!(
                    "command, environment and inputs are those of its run in process {id}{number}"
                )
            }
            Recall::Absent => {
                format!("{} has no activity of that name", self.base())
            }
            Recall::NotCompleted(phase) => {
                format!("in {} it {}", self.base(), ended_as(*phase))
            }
            Recall::Changed(changes) => {
                let changes: Vec<String> = changes.iter().map(change).collect();
                let since = match self.status.summary.base {
                    Some(base) => format!("since {}", fault::short(base)),
                    None => "since its outcome was recorded".to_owned(),
                };
                format!("{since} {} changed", listed(&changes))
            }
            Recall::Nothing => {
                let name = self.name(why.activity.node());
                format!(
                    "no outcome of the same command, environment and inputs as {name} has is recorded"
                )
            }
            Recall::TooLong => "what it wrote was too long to be kept for a rerun".to_owned(),
        }
    }

    fn base(&self) -> String {
        self.status.summary.base.map_or_else(
            || "the process before".to_owned(),
            |base| format!("process {}", fault::short(base)),
        )
    }

    fn name(&self, node: NodeId) -> String {
        let known = self.definition.node(node);
        if known.name.is_empty() {
            self.definition.path(node)
        } else {
            known.name.clone()
        }
    }

    /// The answer for programs.
    pub(crate) fn document(&self, why: &Answered) -> Json {
        let reasons: Json = why
            .reasons
            .iter()
            .map(|reason| self.reason_document(reason))
            .collect();
        json!({
            "process": self.status.summary.process.to_string(),
            "activity": self.name(why.activity.node()),
            "path": self.definition.path(why.activity.node()),
            "state": why.phase.word(),
            "is_live": self.is_live,
            "reasons": reasons,
            "moves": self.moves_document(why),
            "moves_times": why.n_moves,
            "recall": why.recall.as_ref().map(recall_document),
        })
    }

    fn reason_document(&self, reason: &Reason) -> Json {
        match reason {
            Reason::After { activity, phase } => json!({
                "reason": "after",
                "activity": self.name(activity.node()),
                "state": self.phase_of(*activity, *phase).word(),
            }),
            Reason::Machines(what) => json!({ "reason": "machines", "for": what }),
            Reason::Queue {
                resource,
                n_before,
                n_out,
            } => json!({
                "reason": "queue",
                "resource": json::machine_of(self.status)(*resource),
                "before": n_before,
                "at_work": n_out,
            }),
            Reason::Passing { maker, resource } => json!({
                "reason": "passing",
                "producer": self.name(maker.node()),
                "resource": json::machine_of(self.status)(*resource),
            }),
            Reason::Backoff { until } => json!({
                "reason": "backoff",
                "until": text::moment_for_programs(*until),
            }),
            Reason::Fault(fault) => json!({
                "reason": "fault",
                "fault": fault.name.to_string(),
                "message": fault.message,
            }),
            Reason::Link { from, to } => json!({
                "reason": "link",
                "from": self.name(*from),
                "to": self.name(*to),
            }),
            Reason::Join(node) => json!({ "reason": "join", "of": self.name(*node) }),
            Reason::Branch { of, taken } => json!({
                "reason": "branch",
                "of": self.name(*of),
                "taken": taken.map(|taken| self.name(taken)),
            }),
            Reason::Enough(node) => json!({ "reason": "enough", "of": self.name(*node) }),
            Reason::Limit {
                name,
                n_units,
                most,
                holders,
                n_others,
            } => {
                let holders = holders.iter().map(|holder| self.name(holder.node()));
                json!({
                    "reason": "limit",
                    "limit": name,
                    "wanted": n_units,
                    "units": most,
                    "held_by": holders.collect::<Vec<String>>(),
                    "held_by_others": n_others,
                })
            }
            Reason::Tries {
                n_failed,
                most,
                ends,
                memory,
            } => json!({
                "reason": "tries",
                "failed": n_failed,
                "attempts": most,
                "ends": ends,
                "memory_bytes": memory.map(|memory| memory.0),
            }),
            Reason::Round(round) => self.round_document(round),
            Reason::Late(late) => json!({
                "reason": "late",
                "resource": json::machine_of(self.status)(late.resource),
                "elapsed_seconds": late.elapsed.seconds(),
                "expected_seconds": late.expected.seconds(),
            }),
            Reason::EachRun(why) => {
                let (cause, named) = match why {
                    EachRun::Said => ("said", None),
                    EachRun::MakesNothing => ("makes-nothing", None),
                    EachRun::AtMostOnce => ("at-most-once", None),
                    EachRun::NamesOutside(word) => ("names-outside", Some(word)),
                };
                json!({ "reason": "each-run", "cause": cause, "named": named })
            }
            Reason::Race { cause, attempts } => {
                let (cause, replicas) = match cause {
                    RaceCause::Straggler => ("straggler", None),
                    RaceCause::Replicas(n) => ("replicas", Some(n)),
                };
                let attempts = attempts.iter().map(|one| {
                    json!({
                        "attempt": one.number,
                        "resource": json::machine_of(self.status)(one.resource),
                        "started": one.started.map(text::moment_for_programs),
                        "state": one.end,
                        "counts": one.counts,
                    })
                });
                json!({
                    "reason": "race",
                    "cause": cause,
                    "replicas": replicas,
                    "attempts": attempts.collect::<Vec<Json>>(),
                })
            }
            Reason::Items(ahead) => json!({
                "reason": "items",
                "of": self.name(ahead.each),
                "at_most": ahead.at_most,
                "begun": ahead.begun.iter().map(|&body| self.name(body)).collect::<Vec<_>>(),
                "before": ahead.n_before,
            }),
            Reason::Broken(node) => json!({ "reason": "broken", "by": self.name(*node) }),
            Reason::Ended(phase) => json!({ "reason": "ended", "state": phase.word() }),
            Reason::Uncopied(why) => json!({ "reason": "uncopied", "why": why }),
        }
    }
}

pub(crate) fn recall_document(recall: &Recall) -> Json {
    match recall {
        Recall::Stands(attempt) => json!({
            "recall": "stands",
            "process": attempt.process.to_string(),
            "attempt": attempt.number,
        }),
        Recall::Absent => json!({ "recall": "absent" }),
        Recall::NotCompleted(phase) => json!({
            "recall": "not-completed",
            "state": phase.word(),
        }),
        Recall::Changed(changes) => {
            let words: Vec<&str> = changes
                .iter()
                .map(|change| match change {
                    Change::Command => "command",
                    Change::Environment => "environment",
                    Change::Inputs(_) => "inputs",
                    Change::Outputs => "outputs",
                })
                .collect();
            let paths: Vec<&String> = changes
                .iter()
                .flat_map(|change| match change {
                    Change::Inputs(paths) => paths.as_slice(),
                    Change::Command | Change::Environment | Change::Outputs => &[],
                })
                .collect();
            json!({ "recall": "changed", "changed": words, "inputs": paths })
        }
        Recall::Nothing => json!({ "recall": "nothing" }),
        Recall::TooLong => json!({ "recall": "too-long" }),
    }
}

/// Why no outcome of an earlier run stands for an activity.
fn each_run(why: &EachRun) -> String {
    match why {
        EachRun::Said => "`cache: false` says so".to_owned(),
        EachRun::MakesNothing => {
            "it has no outputs and captures nothing, so its effect is the point".to_owned()
        }
        EachRun::AtMostOnce => "`at-most-once` does more than its outputs".to_owned(),
        EachRun::NamesOutside(word) => {
            let word = text::one_line(word, 80);
            format!(
                "`{word}` lies outside of its directory (`cache: true` recalls it all the same)"
            )
        }
    }
}

/// Where another activity is, as the end of a sentence.
fn standing(phase: ActivityPhase) -> &'static str {
    match phase {
        ActivityPhase::Waiting => "waits itself",
        ActivityPhase::Ready => "is ready",
        ActivityPhase::Sent => "is about to start",
        ActivityPhase::Running => "runs",
        ActivityPhase::Backoff => "failed and is tried again",
        ActivityPhase::Completed => "has completed",
        ActivityPhase::Faulted => "failed",
        ActivityPhase::Skipped => "was not run",
        ActivityPhase::Stopped => "was stopped",
    }
}

/// The words for the end of an activity without an outcome that could be reused.
fn ended_as(phase: ActivityPhase) -> &'static str {
    match phase {
        ActivityPhase::Faulted => "failed",
        ActivityPhase::Skipped => "was not run",
        ActivityPhase::Stopped => "was stopped",
        ActivityPhase::Waiting
        | ActivityPhase::Ready
        | ActivityPhase::Sent
        | ActivityPhase::Running
        | ActivityPhase::Backoff => "did not end",
        ActivityPhase::Completed => "completed",
    }
}

fn change(change: &Change) -> String {
    match change {
        Change::Command => "its command line".to_owned(),
        Change::Environment => "its environment or stdin".to_owned(),
        Change::Inputs(paths) if paths.is_empty() => "its inputs".to_owned(),
        Change::Inputs(paths) => {
            let shown: Vec<String> = paths
                .iter()
                .take(PATHS_MAX)
                .map(|path| text::one_line(path, 80))
                .collect();
            let more = match paths.len().saturating_sub(PATHS_MAX) {
                0 => String::new(),
                n => format!(" and {n} more"),
            };
            let inputs = if paths.len() == 1 { "input" } else { "inputs" };
            format!("its {inputs} {}{more}", shown.join(", "))
        }
        Change::Outputs => "what is taken out of its directory".to_owned(),
    }
}

/// `a`, `a and b`, `a, b and c`.
fn listed(items: &[String]) -> String {
    match items {
        [] => "something".to_owned(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// True if an activity's state is its last one.
pub(crate) fn is_over(phase: ActivityPhase) -> bool {
    matches!(
        phase,
        ActivityPhase::Completed | ActivityPhase::Faulted | ActivityPhase::Skipped
    )
}

#[cfg(test)]
mod tests;
