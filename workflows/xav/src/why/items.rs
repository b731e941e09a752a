//! `xav why` of an activity that runs for many items: how many are where, and why, by one of each.

use std::collections::BTreeMap;

use serde_json::json;
use wire::client::{ActivityPhase, ActivityStatus, Answer, Request};

use super::Explanation;
use crate::arguments::Why;
use crate::ask::{Source, unfit};
use crate::failure::Outcome;
use crate::{chosen, render, screen};

/// Items that are explained, one of each state: of the others as many lines would say the same.
const EXPLAINED_MAX: usize = 4;

/// Explains the items of an activity.
pub(super) fn why(
    source: &mut Source,
    explanation: &Explanation<'_>,
    (name, items): (&str, &[&ActivityStatus]),
    arguments: &Why,
) -> Outcome {
    let process = explanation.status.summary.process;
    let options = arguments.which.state.options();
    let mut sentences = format!("{}: {}\n", screen::bold(name), render::counts(items));
    let mut explained = Vec::new();
    for one in examples(items) {
        let activity = one.activity;
        let answer = source.answer(Request::Why { process, activity })?;
        let Answer::Why(why) = &answer else {
            return Err(unfit(&answer));
        };
        sentences.push('\n');
        sentences.push_str(&explanation.sentences(why, options.as_deref()));
        explained.push(explanation.document(why));
    }
    if arguments.json {
        let mut states: BTreeMap<&str, usize> = BTreeMap::new();
        for one in items {
            *states.entry(one.phase.word()).or_default() += 1;
        }
        screen::json(&json!({
            "process": process.to_string(),
            "activity": name,
            "items": items.len(),
            "states": states,
            "is_live": explanation.is_live,
            "explained": explained,
        }))?;
    } else {
        screen::out(&sentences)?;
    }
    Ok(0)
}

/// The first item of each state, those that failed first. Completed ones need no reason where there
/// are others.
fn examples<'a>(items: &[&'a ActivityStatus]) -> Vec<&'a ActivityStatus> {
    let mut examples: Vec<&ActivityStatus> = Vec::new();
    for one in chosen::by_interest(items.to_vec()) {
        let is_known = examples.iter().any(|other| other.phase == one.phase);
        let is_needless = one.phase == ActivityPhase::Completed && !examples.is_empty();
        if !is_known && !is_needless && examples.len() < EXPLAINED_MAX {
            examples.push(one);
        }
    }
    examples
}
