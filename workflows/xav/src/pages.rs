//! `xav status --json --limit N`: some activities of a process, which a process manager tells in pages, so that a
//! script sees the first of many at once and nothing is sent that nobody reads.

use model::{ActivityId, ProcessId};
use serde_json::json;
use wire::client::{ActivitiesPage, ActivitiesWanted, Answer, ListedActivity, Request};

use crate::arguments::Status;
use crate::ask::{Source, unfit};
use crate::failure::{Failure, Outcome};
use crate::location::Location;
use crate::{json, screen};

/// Prints at most `limit` activities.
pub(crate) fn status(
    arguments: &Status,
    limit: u32,
    location: &Location,
    process: ProcessId,
    source: &mut Source,
) -> Outcome {
    let mut wanted = ActivitiesWanted {
        process,
        after: arguments.after.map(ActivityId),
        limit,
        phases: arguments
            .only()
            .map(|only| only.phases().to_vec())
            .unwrap_or_default(),
    };
    let mut listed = Vec::new();
    let mut last = ask(source, &wanted)?;
    loop {
        listed.append(&mut activities(&last));
        let end = last
            .activities
            .last()
            .map(|one: &ListedActivity| one.status.activity);
        wanted.after = end.or(wanted.after);
        wanted.limit = limit - listed.len() as u32;
        if !last.has_more || wanted.limit == 0 {
            break;
        }
        last = ask(source, &wanted)?;
    }
    let next = wanted.after.filter(|_| last.has_more);
    let mut document = json::summary(&last.summary, location);
    document["is_live"] = json!(source.is_live());
    document["activity_list"] = json!(listed);
    document["next"] = json!(next.map(|next| next.0));
    screen::json(&document)?;
    Ok(0)
}

fn ask(source: &mut Source, wanted: &ActivitiesWanted) -> Result<ActivitiesPage, Failure> {
    let answer = source.answer(Request::Activities(Box::new(wanted.clone())))?;
    if let Answer::Activities(page) = answer {
        Ok(*page)
    } else {
        Err(unfit(&answer))
    }
}

fn activities(page: &ActivitiesPage) -> Vec<serde_json::Value> {
    let machine = json::names_of(&page.machines);
    let listed = page.activities.iter();
    listed.map(|one| json::listed(one, &machine)).collect()
}
