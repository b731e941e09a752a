//! Published results: what is published is there and is a file, and no two have one name.

use std::collections::BTreeMap;

use super::problems::Problems;
use super::words::{check_template, published_path, shorten};
use crate::NodeId;
use crate::definition::limits::DECLARED_MAX;
use crate::definition::{Draft, OutputSource, PublishOf};

/// Checks all that a draft publishes. O(published log published).
pub(super) fn check(draft: &Draft, problems: &mut Problems) {
    let mut n_of_process = 0;
    let mut paths: BTreeMap<&str, (PublishOf, bool)> = BTreeMap::new();
    for publish in draft.published() {
        let node = publish.of.activity();
        let Some(name) = draft.published_name(publish.of) else {
            problems.add(None, "publish", "an output is published that is not there");
            continue;
        };
        let field = format!("publish.{name}");
        if let PublishOf::Output(output) = publish.of {
            n_of_process += 1;
            if let OutputSource::Expression(_) = draft.outputs[output as usize].source {
                let message = format!("the output `{name}` is a value, not a file");
                let hint = "a command can write it to a file, which is published";
                problems.hint(None, &field, message, hint);
                continue;
            }
        }
        let is_directory = directory_of(draft, publish.of);
        check_template(&publish.path, node, &field, problems);
        let is_sound = published_path(&publish.path.0, is_directory, node, &field, problems);
        let path = publish.path.0.trim_end_matches('/');
        if !is_sound || path.contains("${") {
            continue;
        }
        if draft.files.iter().any(|file| file == path) {
            let message = format!("`{}` is a file of the definition", shorten(path));
            problems.hint(node, &field, message, "publish it under another path");
        }
        match paths.get(path) {
            Some(&(first, _)) => {
                let message = format!(
                    "`{}` is the path of {} too",
                    shorten(path),
                    named(draft, first)
                );
                problems.hint(node, &field, message, "give each a name of its own");
            }
            None => {
                paths.insert(path, (publish.of, is_directory));
            }
        }
    }
    if n_of_process > DECLARED_MAX {
        let message = format!("{n_of_process} entries; at most {DECLARED_MAX}");
        problems.add(None, "publish", message);
    }
    for (path, (of, _)) in &paths {
        let above = path.match_indices('/').map(|(at, _)| &path[..at]);
        let file = above
            .filter_map(|above| Some((above, paths.get(above)?)))
            .find(|(_, (_, is_directory))| !is_directory);
        if let Some((above, (file, _))) = file {
            let (node, name) = (of.activity(), draft.published_name(*of));
            let message = format!(
                "`{}` is a file, {}: no other one lies below it",
                shorten(above),
                named(draft, *file)
            );
            problems.add(
                node,
                format!("publish.{}", name.unwrap_or_default()),
                message,
            );
        }
    }
}

/// True if a directory is published: one that an activity has made, or one with a file for each item.
fn directory_of(draft: &Draft, of: PublishOf) -> bool {
    let made = |activity: NodeId, output: u32| {
        let activity = draft.nodes.get(activity.index());
        let activity = activity.and_then(|node| node.activity());
        let output = activity.and_then(|activity| activity.outputs.get(output as usize));
        output.is_some_and(|output| output.is_directory())
    };
    match of {
        PublishOf::Output(output) => {
            match draft.outputs.get(output as usize).map(|one| &one.source) {
                Some(OutputSource::Gathered(_)) => true,
                Some(OutputSource::Produced(crate::Source::Output { activity, output })) => {
                    made(*activity, *output)
                }
                Some(OutputSource::Produced(crate::Source::Pick(pick))) => {
                    let mut cases = draft.pick_cases(*pick).iter();
                    cases.any(|case| match case.source {
                        crate::Source::Output { activity, output } => made(activity, output),
                        crate::Source::Input(_) | crate::Source::Item(_) => true,
                        crate::Source::Pick(_) => false,
                    })
                }
                // An input may be either.
                Some(OutputSource::Produced(_)) => true,
                Some(OutputSource::Expression(_)) | None => false,
            }
        }
        PublishOf::Produced { activity, output } => made(activity, output),
    }
}

fn named(draft: &Draft, of: PublishOf) -> String {
    let name = draft.published_name(of).unwrap_or_default();
    match of.activity().and_then(|node| draft.nodes.get(node.index())) {
        Some(node) => format!("`{}.{name}`", node.name),
        None => format!("the output `{name}`"),
    }
}
