//! Groups of activities with one colour: those below one controller, or, where controllers have no names
//! and so say nothing, those whose names differ in a number only.

use std::collections::{BTreeMap, BTreeSet};

use model::{ActivityId, Definition, NodeId};

use super::escape::visible;

/// Groups with a colour of their own; one more holds all others.
pub(crate) const GROUPS_MAX: usize = 8;

/// The kind of the groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// Controllers.
    Controller,
    /// Names of activities without their numbers.
    Name,
}

/// Activities by colour.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Groups {
    /// Their kind.
    pub(crate) by: By,
    /// Their names for people.
    pub(crate) labels: Vec<String>,
    /// The group of each activity, in the order in which they were given.
    pub(crate) of: Vec<usize>,
    /// True if the last group is all that has no colour of its own.
    pub(crate) has_others: bool,
}

/// The key by which activities are grouped, in the order of the definition.
type Key = (u32, String);

/// Groups the activities of a definition, which are given in the order of [`Groups::of`].
pub(crate) fn group(definition: &Definition, activities: &[ActivityId]) -> Groups {
    // All items of an activity have one colour, so each is looked at as it is written.
    let origins: Vec<NodeId> = (activities.iter())
        .map(|activity| definition.origin(activity.node()))
        .collect();
    let written: BTreeSet<NodeId> = origins.iter().copied().collect();
    let written: Vec<NodeId> = written.into_iter().collect();
    let place = |node: &NodeId| written.binary_search(node).unwrap_or(0);
    let name_of_all = || visible(definition.name());
    let (by, keys) = match by_controller(definition, &written) {
        Some(keys) if keys.iter().any(|key| *key != keys[0]) => (By::Controller, keys),
        Some(_) | None => {
            let name = |node: &NodeId| (0, visible(stem(definition.plain_name(*node))));
            (By::Name, written.iter().map(name).collect())
        }
    };
    let of_each: Vec<&Key> = origins.iter().map(|node| &keys[place(node)]).collect();
    gather(by, &of_each, name_of_all)
}

/// Groups activities of which only the names are known.
pub(crate) fn group_names<'a>(names: impl Iterator<Item = &'a str>, process: &str) -> Groups {
    let keys: Vec<Key> = names.map(|name| (0, visible(stem(name)))).collect();
    let of_each: Vec<&Key> = keys.iter().collect();
    gather(By::Name, &of_each, || visible(process))
}

/// The named controller of each activity, as near as the number of colours allows; none where no
/// controller but the root has a name.
fn by_controller(definition: &Definition, activities: &[NodeId]) -> Option<Vec<Key>> {
    let lines: Vec<Vec<NodeId>> = activities
        .iter()
        .map(|activity| named_above(definition, *activity))
        .collect();
    let deepest = lines
        .iter()
        .map(Vec::len)
        .max()
        .filter(|&depth| depth > 0)?;
    let at_depth = |depth: usize| -> Vec<Key> {
        let key = |line: &Vec<NodeId>| match line.get(..depth.min(line.len())) {
            Some([.., node]) => (node.0, visible(definition.as_written(*node).label())),
            Some([]) | None => (0, visible(definition.name())),
        };
        lines.iter().map(key).collect()
    };
    let n_groups = |keys: &[Key]| keys.iter().collect::<std::collections::BTreeSet<_>>().len();
    let fits = (1..=deepest)
        .rev()
        .map(at_depth)
        .find(|keys| n_groups(keys) <= GROUPS_MAX);
    Some(fits.unwrap_or_else(|| at_depth(1)))
}

/// The named controllers around an activity but the root, from the root down.
pub(super) fn named_above(definition: &Definition, activity: NodeId) -> Vec<NodeId> {
    let mut above = Vec::new();
    let mut at = definition.parent(activity);
    while let Some(node) = at {
        at = definition.parent(node);
        if at.is_some() && !definition.as_written(node).name.is_empty() {
            above.push(node);
        }
    }
    above.reverse();
    above
}

/// A name without the number at its end: `mProject` for `mProject_ID0000012`.
pub(super) fn stem(name: &str) -> &str {
    let is_digit = |character: char| character.is_ascii_digit();
    let is_joint = |character: char| "-_.".contains(character);
    let mut rest = name;
    loop {
        let cut = rest.trim_end_matches(is_digit);
        if cut.len() == rest.len() {
            break;
        }
        let cut = cut.strip_suffix("ID").unwrap_or(cut);
        rest = cut.trim_end_matches(is_joint);
    }
    if rest.is_empty() { name } else { rest }
}

/// Gives the largest groups colours, in the order in which they stand in the definition.
fn gather(by: By, keys: &[&Key], name_of_all: impl FnOnce() -> String) -> Groups {
    let mut sizes: BTreeMap<&Key, (usize, usize)> = BTreeMap::new();
    for (index, &key) in keys.iter().enumerate() {
        sizes.entry(key).or_insert((index, 0)).1 += 1;
    }
    // The first place of each, its size, and what it is.
    let mut all: Vec<(usize, usize, &Key)> = sizes
        .into_iter()
        .map(|(key, (first, size))| (first, size, key))
        .collect();
    let has_others = all.len() > GROUPS_MAX;
    if has_others {
        all.sort_by_key(|&(first, size, _)| (std::cmp::Reverse(size), first));
        all.truncate(GROUPS_MAX);
    }
    all.sort_unstable();
    let place: BTreeMap<&Key, usize> = all
        .iter()
        .enumerate()
        .map(|(place, &(_, _, key))| (key, place))
        .collect();
    let mut labels: Vec<String> = all.iter().map(|(_, _, key)| key.1.clone()).collect();
    if has_others {
        labels.push("others".to_owned());
    }
    if labels.is_empty() {
        labels.push(name_of_all());
    }
    Groups {
        by,
        labels,
        of: keys
            .iter()
            .map(|&key| place.get(key).copied().unwrap_or(GROUPS_MAX))
            .collect(),
        has_others,
    }
}

#[cfg(test)]
mod tests;
