//! A foresight as people and programs read it.

use std::collections::BTreeMap;

use model::{ActivityId, Definition, NodeId};
use serde_json::{Value as Json, json};
use wire::client::{Change, Forecast, Foresight, Recall};

use crate::text;

/// Activities that are listed for people; `--json` lists all.
const LISTED_MAX: usize = 200;

/// Activities that are named as those that another one depends on.
const NAMED_MAX: usize = 3;

/// A foresight with the definition that it is about, grown as far as it is known.
pub(super) struct Shown<'a> {
    foresight: &'a Foresight,
    definition: Definition,
}

/// Numbers of activities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    runs: u64,
    depends: u64,
    stands: u64,
    unknown: u64,
    skipped: u64,
}

impl Counts {
    fn add(&mut self, forecast: &Forecast) {
        let counted = match forecast {
            Forecast::Stands(_) => &mut self.stands,
            Forecast::Runs(_) | Forecast::Lost(_) => &mut self.runs,
            Forecast::Depends(_) => &mut self.depends,
            Forecast::Unknown => &mut self.unknown,
            Forecast::Skipped => &mut self.skipped,
        };
        *counted += 1;
    }

    fn all(self) -> u64 {
        self.runs + self.depends + self.stands + self.unknown + self.skipped
    }
}

impl Shown<'_> {
    pub(super) fn of<'a>(foresight: &'a Foresight, definition: &Definition) -> Shown<'a> {
        let mut definition = definition.clone();
        for expansion in &foresight.expansions {
            definition.expand(expansion);
        }
        Shown {
            foresight,
            definition,
        }
    }

    /// All in a line: `12 of 60 run: 3 changed inputs, 9 depend on them; 48 stand`.
    pub(super) fn line(&self) -> String {
        let mut counts = Counts::default();
        let mut reasons: Vec<(InShort, u64)> = Vec::new();
        for (_, forecast) in &self.foresight.activities {
            counts.add(forecast);
            let Some(word) = reason_in_short(forecast) else {
                continue;
            };
            match reasons.iter_mut().find(|(known, _)| *known == word) {
                Some((_, n)) => *n += 1,
                None => reasons.push((word, 1)),
            }
        }
        let n_run = counts.runs + counts.depends;
        let runs = match n_run {
            0 => format!("none of {} runs", counts.all()),
            1 => format!("1 of {} runs", counts.all()),
            n => format!("{n} of {} run", counts.all()),
        };
        let mut parts: Vec<String> = Vec::new();
        for ((of_one, of_many), n) in reasons {
            let word = if n == 1 { of_one } else { of_many };
            parts.push(format!("{n} {word}"));
        }
        match (counts.depends, counts.runs) {
            (0, _) => {}
            (n, 1) => parts.push(format!("{n} {} on it", depend(n))),
            (n, _) => parts.push(format!("{n} {} on them", depend(n))),
        }
        let mut line = runs;
        if !parts.is_empty() {
            line = format!("{line}: {}", parts.join(", "));
        }
        if counts.unknown > 0 {
            line.push_str(&format!("; {} not known before", counts.unknown));
        }
        if counts.skipped > 0 {
            line.push_str(&format!("; {} skipped", counts.skipped));
        }
        match counts.stands {
            1 => line.push_str("; 1 stands"),
            n => line.push_str(&format!("; {n} stand")),
        }
        line
    }

    /// The line, the numbers for each template, and each activity that runs, with its reason.
    pub(super) fn text(&self, is_short: bool) -> String {
        let mut text = format!("{}\n", self.line());
        if is_short {
            return text;
        }
        let mut rows = Vec::new();
        for (name, counts) in self.templates() {
            // Most of them stand as a whole.
            if counts.stands == counts.all() {
                continue;
            }
            let n_run = counts.runs + counts.depends;
            let mut words = vec![match n_run {
                1 => "1 runs".to_owned(),
                n => format!("{n} run"),
            }];
            let others = [
                (
                    counts.stands,
                    if counts.stands == 1 {
                        "stands"
                    } else {
                        "stand"
                    },
                ),
                (counts.unknown, "not known"),
                (counts.skipped, "skipped"),
            ];
            let others = others.into_iter().filter(|(n, _)| *n > 0);
            words.extend(others.map(|(n, word)| format!("{n} {word}")));
            rows.push(vec![format!("  {name}"), words.join(", ")]);
        }
        if !rows.is_empty() {
            text.push('\n');
            text.push_str(&text::table(&rows));
        }
        let mut rows = Vec::new();
        let mut n_more = 0;
        for (activity, forecast) in &self.foresight.activities {
            let Some(reason) = self.reason(forecast) else {
                continue;
            };
            if rows.len() == LISTED_MAX {
                n_more += 1;
                continue;
            }
            rows.push(vec![format!("  {}", self.name(*activity)), reason]);
        }
        if !rows.is_empty() {
            text.push('\n');
            text.push_str(&text::table(&rows));
        }
        if n_more > 0 {
            text.push_str(&format!("  and {n_more} more (--json lists all)\n"));
        }
        for node in &self.foresight.undecided {
            let path = self.definition.path(*node);
            text.push_str(&format!(
                "{path} decides by what is not known before something has run\n"
            ));
        }
        if let Some(fault) = &self.foresight.fault {
            text.push_str(&format!("it will fault: {fault}\n"));
        }
        if self.foresight.is_partial {
            text.push_str("it is too large to be followed to its end: the rest is not known\n");
        }
        text
    }

    /// The document of `--json`.
    pub(super) fn json(&self) -> Json {
        let mut counts = Counts::default();
        let mut activities = Vec::new();
        for (activity, forecast) in &self.foresight.activities {
            counts.add(forecast);
            activities.push(self.activity_json(*activity, forecast));
        }
        let templates = self.templates().into_iter().map(|(name, counts)| {
            let mut entry = counts_json(counts);
            entry["template"] = name.into();
            entry
        });
        let undecided = self.foresight.undecided.iter();
        let undecided = undecided.map(|node| self.definition.path(*node));
        json!({
            "name": self.definition.name(),
            "activities": counts_json(counts),
            "templates": templates.collect::<Vec<Json>>(),
            "activity_list": activities,
            "undecided": undecided.collect::<Vec<String>>(),
            "fault": self.foresight.fault,
            "is_partial": self.foresight.is_partial,
        })
    }

    fn activity_json(&self, activity: ActivityId, forecast: &Forecast) -> Json {
        let mut entry = json!({
            "activity": self.name(activity),
            "path": self.definition.path(activity.node()),
            "forecast": word(forecast),
        });
        match forecast {
            Forecast::Stands(attempt) | Forecast::Lost(attempt) => {
                entry["process"] = attempt.process.to_string().into();
                entry["attempt"] = attempt.number.into();
            }
            Forecast::Runs(recall) => entry["recall"] = crate::why::recall_document(recall),
            Forecast::Depends(on) => {
                let names = on.iter().map(|one| self.name(*one));
                entry["on"] = names.collect::<Vec<String>>().into();
            }
            Forecast::Unknown | Forecast::Skipped => {}
        }
        entry
    }

    /// The numbers of activities by their names without items, in the order of the definition.
    fn templates(&self) -> Vec<(String, Counts)> {
        let mut places: BTreeMap<NodeId, usize> = BTreeMap::new();
        let mut templates: Vec<(String, Counts)> = Vec::new();
        for (activity, forecast) in &self.foresight.activities {
            let origin = self.definition.origin(activity.node());
            let place = *places.entry(origin).or_insert_with(|| {
                let name = self.definition.plain_name(origin).to_owned();
                templates.push((name, Counts::default()));
                templates.len() - 1
            });
            templates[place].1.add(forecast);
        }
        templates
    }

    fn name(&self, activity: ActivityId) -> String {
        self.definition.name_of(activity.node())
    }

    /// The reason for which an activity runs, or why that is not known; none if it does not run.
    fn reason(&self, forecast: &Forecast) -> Option<String> {
        Some(match forecast {
            Forecast::Stands(_) | Forecast::Skipped => return None,
            Forecast::Lost(_) => "the files of its recorded outcome are gone".to_owned(),
            Forecast::Runs(recall) => match recall {
                Recall::Stands(_) => return None,
                Recall::Absent => "the earlier process has no activity of that name".to_owned(),
                Recall::NotCompleted(phase) => format!("it was {} before", phase.word()),
                Recall::Nothing => "no outcome is recorded".to_owned(),
                Recall::TooLong => "what it wrote was too long to be kept".to_owned(),
                Recall::Changed(changes) => {
                    let changes: Vec<String> = changes.iter().map(changed).collect();
                    format!("changed: {}", changes.join(", "))
                }
            },
            Forecast::Depends(on) => {
                let names = on.iter().take(NAMED_MAX).map(|one| self.name(*one));
                let mut names = names.collect::<Vec<String>>().join(", ");
                if on.len() > NAMED_MAX {
                    names.push_str(" and others");
                }
                format!("depends on {names}")
            }
            Forecast::Unknown => "not known before something else has run".to_owned(),
        })
    }
}

fn depend(n: u64) -> &'static str {
    if n == 1 { "depends" } else { "depend" }
}

fn counts_json(counts: Counts) -> Json {
    json!({
        "runs": counts.runs,
        "depends": counts.depends,
        "stands": counts.stands,
        "unknown": counts.unknown,
        "skipped": counts.skipped,
        "all": counts.all(),
    })
}

fn word(forecast: &Forecast) -> &'static str {
    match forecast {
        Forecast::Stands(_) => "stands",
        Forecast::Runs(_) => "runs",
        Forecast::Lost(_) => "lost",
        Forecast::Depends(_) => "depends",
        Forecast::Unknown => "unknown",
        Forecast::Skipped => "skipped",
    }
}

fn changed(change: &Change) -> String {
    match change {
        Change::Command => "the command".to_owned(),
        Change::Environment => "the environment or stdin".to_owned(),
        Change::Inputs(paths) => {
            let few = paths.iter().take(NAMED_MAX).cloned();
            let few = few.collect::<Vec<String>>().join(", ");
            let more = if paths.len() > NAMED_MAX { ", ..." } else { "" };
            format!("inputs {few}{more}")
        }
        Change::Outputs => "the outputs".to_owned(),
    }
}

/// A reason in the words of the line, after the number 1 and after others.
type InShort = (&'static str, &'static str);

/// The reason why an activity runs.
fn reason_in_short(forecast: &Forecast) -> Option<InShort> {
    Some(match forecast {
        Forecast::Stands(_)
        | Forecast::Depends(_)
        | Forecast::Unknown
        | Forecast::Skipped
        | Forecast::Runs(Recall::Stands(_)) => return None,
        Forecast::Lost(_) => ("lost its files", "lost their files"),
        Forecast::Runs(Recall::Absent) => ("new", "new"),
        Forecast::Runs(Recall::NotCompleted(_)) => ("not completed before", "not completed before"),
        Forecast::Runs(Recall::Nothing | Recall::TooLong) => {
            ("without a recorded outcome", "without a recorded outcome")
        }
        Forecast::Runs(Recall::Changed(changes)) => match changes.first() {
            Some(Change::Command) => ("changed command", "changed commands"),
            Some(Change::Environment) => ("changed environment", "changed environments"),
            Some(Change::Inputs(_)) => ("changed input", "changed inputs"),
            Some(Change::Outputs) | None => ("changed output", "changed outputs"),
        },
    })
}

#[cfg(test)]
mod tests;
