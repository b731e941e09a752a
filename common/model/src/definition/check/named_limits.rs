//! Named limits: those of the process, and what activities take of them.

use std::collections::BTreeSet;

use super::problems::Problems;
use super::words::check_name;
use crate::NodeId;
use crate::definition::limits::{LIMIT_UNITS_MAX, NAMED_LIMITS_MAX};
use crate::definition::{Activity, Draft};

pub(super) fn check_named_limits(draft: &Draft, problems: &mut Problems) {
    let limits = draft.named_limits();
    check_entries(limits, (None, "limits"), problems);
}

/// A limit that the process does not have may be one of the process manager, which says so when the
/// process is submitted.
pub(super) fn check_used(draft: &Draft, activity: &Activity, id: NodeId, problems: &mut Problems) {
    let here = Some(id);
    check_entries(activity.used_limits(), (here, "uses-limit"), problems);
    if activity.repeatable && !activity.used_limits().is_empty() {
        let message = "an activity that takes of a limit cannot be repeatable";
        let hint = "two attempts could run at the same time, and both would need it";
        problems.hint(here, "repeatable", message, hint);
    }
    for (name, n_units) in activity.used_limits() {
        let Some(most) = draft.named_limit(name) else {
            continue;
        };
        if *n_units > most && most > 0 {
            let message = format!("{n_units} of `{name}`, of which there are {most}");
            let hint = "it could never run: take fewer, or raise the limit in `limits`";
            problems.hint(here, format!("uses-limit.{name}"), message, hint);
        }
    }
}

fn check_entries(
    entries: &[(String, u32)],
    (here, field): (Option<NodeId>, &str),
    problems: &mut Problems,
) {
    if entries.len() > NAMED_LIMITS_MAX {
        let n_entries = entries.len();
        let message = format!("{n_entries} entries; at most {NAMED_LIMITS_MAX}");
        problems.add(here, field, message);
        return;
    }
    let mut names = BTreeSet::new();
    for (name, n_units) in entries {
        let field = format!("{field}.{name}");
        check_name(name, here, &field, problems);
        if *n_units == 0 || *n_units > LIMIT_UNITS_MAX {
            problems.add(here, &field, format!("{n_units}; 1 to {LIMIT_UNITS_MAX}"));
        }
        if !names.insert(name) {
            problems.add(here, &field, format!("`{name}` is there twice"));
        }
    }
}
