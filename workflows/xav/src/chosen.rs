//! Activities as users choose them: by the name of one, by that of a body's activity for all of its
//! items, by where they are, and page by page.

use clap::ValueEnum;
use model::{ActivityId, Definition, ProcessId};
use wire::client::{ActivityPhase, ActivityStatus, Status};

use crate::arguments::Which;
use crate::ask::Source;
use crate::failure::{Failure, status};
use crate::home::{self, Located};
use crate::text;

/// Activities of a page: two screens.
pub(crate) const PAGE: usize = 100;

/// The state of an activity, as users ask for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Only {
    /// It waits for others
    Waiting,
    /// It may be sent, and was not yet
    Ready,
    /// It was sent or runs, or is tried again
    Running,
    /// It completed, or a recorded outcome stands for it
    Completed,
    /// It failed
    #[value(alias = "failed")]
    Faulted,
    /// It was not run, and will not
    Skipped,
    /// It was stopped
    Stopped,
}

impl Only {
    /// The states of a process manager that it stands for.
    pub(crate) fn phases(self) -> &'static [ActivityPhase] {
        match self {
            Only::Waiting => &[ActivityPhase::Waiting],
            Only::Ready => &[ActivityPhase::Ready],
            Only::Running => &[
                ActivityPhase::Sent,
                ActivityPhase::Running,
                ActivityPhase::Backoff,
            ],
            Only::Completed => &[ActivityPhase::Completed],
            Only::Faulted => &[ActivityPhase::Faulted],
            Only::Skipped => &[ActivityPhase::Skipped],
            Only::Stopped => &[ActivityPhase::Stopped],
        }
    }

    fn admits(self, phase: ActivityPhase) -> bool {
        self.phases().contains(&phase)
    }

    fn word(self) -> &'static str {
        match self {
            Only::Waiting => "waiting",
            Only::Ready => "ready",
            Only::Running => "running",
            Only::Completed => "completed",
            Only::Faulted => "faulted",
            Only::Skipped => "skipped",
            Only::Stopped => "stopped",
        }
    }
}

/// A choice among the activities of a process.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Choice<'a> {
    /// By this name.
    pub(crate) of: Option<&'a str>,
    /// The state that they are in.
    pub(crate) only: Option<Only>,
}

impl Choice<'_> {
    /// The chosen activities, in the order of the status.
    pub(crate) fn among<'s>(
        &self,
        status: &'s Status,
        definition: &Definition,
    ) -> Result<Vec<&'s ActivityStatus>, Failure> {
        let mut chosen = match self.of {
            Some(name) => named(name, status, definition)?,
            None => status.activities.iter().collect(),
        };
        if let Some(only) = self.only {
            chosen.retain(|one| only.admits(one.phase));
        }
        Ok(chosen)
    }

    /// The choice of so many in words: `of align that are faulted`.
    pub(crate) fn words(&self, n_chosen: usize) -> String {
        let of = self
            .of
            .map(|name| format!(" of {}", text::one_line(name, 60)));
        let are = if n_chosen == 1 { "is" } else { "are" };
        let only = self.only.map(|only| format!(" that {are} {}", only.word()));
        of.unwrap_or_default() + &only.unwrap_or_default()
    }
}

/// A page of what was chosen.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page<'a, T> {
    /// Its activities.
    pub(crate) shown: &'a [T],
    /// Its number, from 1.
    pub(crate) number: usize,
    /// Pages that there are; at least one.
    pub(crate) n_pages: usize,
}

/// A page, the first one where none is named.
pub(crate) fn page<T>(all: &[T], number: Option<u32>) -> Result<Page<'_, T>, Failure> {
    let n_pages = all.len().div_ceil(PAGE).max(1);
    let number = number.map_or(1, |number| number as usize).max(1);
    if number > n_pages {
        let pages = text::count(n_pages as u64, "page", "pages");
        return Err(Failure::refused(format!(
            "there is no page {number}: {} on {pages}",
            text::count(all.len() as u64, "activity is", "activities are")
        )));
    }
    let from = (number - 1) * PAGE;
    Ok(Page {
        shown: &all[from..all.len().min(from + PAGE)],
        number,
        n_pages,
    })
}

/// The process and the activity. A single word is an activity of the newest process, if there is one of that name,
/// and else the beginning of a process's ID.
pub(crate) fn find(
    which: &Which,
    activity: Option<&str>,
) -> Result<(Located, Option<String>), Failure> {
    let word = which.id.as_deref().filter(|_| activity.is_none());
    let word = word.filter(|word| word.parse::<ProcessId>().is_err());
    let mut newest = word.and_then(|_| newest(which));
    if let Some((_, definition)) = &newest
        && let Some(word) = word
        && definition
            .activities()
            .iter()
            .any(|activity| fit(definition, *activity, word) != Fit::None)
        && let Some((located, _)) = newest.take()
    {
        return Ok((located, Some(word.to_owned())));
    }
    let failure = match home::find(which) {
        Ok(found) => return Ok((found, activity.map(str::to_owned))),
        Err(failure) => failure,
    };
    let (Some(word), Some((_, definition))) = (word, newest) else {
        return Err(failure);
    };
    if failure.status != status::REFUSED {
        return Err(failure);
    }
    let all = definition.activities().iter();
    let names = all.map(|activity| definition.plain_name(activity.node()));
    Err(match text::nearest(word, names) {
        Some(meant) => failure.help(format!(
            "did you mean {meant}, an activity of the newest process?"
        )),
        None => failure,
    })
}

/// The newest process, where it can be read.
fn newest(which: &Which) -> Option<(Located, Definition)> {
    let newest = home::Scope::of(&which.state).ok()?.find(None).ok()?;
    let mut source = Source::open(&newest.location).ok()?;
    let (_, definition) = source.known(newest.process).ok()?;
    Some((newest, definition))
}

/// The fit of a name to an activity.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// It is its name.
    Whole,
    /// It is the name of many, and it is one of them: `align`, or `align[3]` for `align[3][7]`.
    Part,
    /// Not at all.
    None,
}

fn fit(definition: &Definition, activity: ActivityId, wanted: &str) -> Fit {
    let node = activity.node();
    let plain = definition.plain_name(node);
    let Some(items) = wanted.strip_prefix(plain) else {
        return Fit::None;
    };
    let own = definition.name_of(node);
    let is_of_item = items.ends_with(']')
        && own
            .strip_prefix(wanted)
            .is_some_and(|rest| rest.starts_with('['));
    if own == wanted {
        Fit::Whole
    } else if items.is_empty() || is_of_item {
        Fit::Part
    } else {
        Fit::None
    }
}

/// The activity of that name, or those that run for the items of a for-each under it; at least one.
pub(crate) fn named<'a>(
    wanted: &str,
    status: &'a Status,
    definition: &Definition,
) -> Result<Vec<&'a ActivityStatus>, Failure> {
    let mut parts = Vec::new();
    for one in &status.activities {
        match fit(definition, one.activity, wanted) {
            Fit::Whole => return Ok(vec![one]),
            Fit::Part => parts.push(one),
            Fit::None => {}
        }
    }
    if !parts.is_empty() {
        return Ok(parts);
    }
    let names = status.activities.iter();
    let names: Vec<String> = names
        .map(|one| definition.name_of(one.activity.node()))
        .collect();
    let near = text::nearest(wanted, names.iter().map(String::as_str));
    let failure = Failure::refused(format!(
        "{} has no activity {}",
        status.summary.name,
        text::one_line(wanted, 60)
    ));
    Err(match near {
        Some(near) => failure.help(format!("did you mean {near}?")),
        None => failure.help("xav status shows all activities"),
    })
}

/// Items in the order in which they are worth looking at: those that failed, those that are at work
/// or wait, those that have ended otherwise; each in the order of the status.
pub(crate) fn by_interest(mut items: Vec<&ActivityStatus>) -> Vec<&ActivityStatus> {
    items.sort_by_key(|one| match one.phase {
        ActivityPhase::Faulted => 0,
        ActivityPhase::Backoff => 1,
        ActivityPhase::Running | ActivityPhase::Sent => 2,
        ActivityPhase::Stopped => 3,
        ActivityPhase::Ready => 4,
        ActivityPhase::Waiting => 5,
        ActivityPhase::Skipped => 6,
        ActivityPhase::Completed => 7,
    });
    items
}

#[cfg(test)]
mod tests;
