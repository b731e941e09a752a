//! The items of a for-each, as far as they are known before a process runs: those of a list that follows
//! from its inputs alone.

use std::borrow::Cow;
use std::collections::BTreeMap;

use expression::{Among, Bodies, Meter, PickError, ProcessScope, Program, Programs, pick};
use model::limits::{ITEMS_MAX, LIST_STEPS_MAX, PICK_STEPS_MAX};
use model::{
    Definition, Expansion, ForEach, NodeId, NodeKind, PickCase, PickSite, Picked, Place, Problem,
    Value,
};

/// Items of a list whose picks are looked at before a process runs: a validation takes no longer than reading
/// the definition.
const LOOKED_AT_MAX: usize = 1_000;

/// The variables of bodies before any of them has run.
#[derive(Debug)]
struct NotYet;

impl Bodies for NotYet {
    fn values(&self, name: &str) -> Result<Vec<Value>, String> {
        Err(format!("no body has written `{name}` yet"))
    }
}

/// Gives each for-each a body for each of its items, where its list follows from the inputs: numbers, items
/// that are written out, an input. A list that reads a variable is known when the step starts, and its body
/// stays as it is. `inputs` are in the order of the definition's, `Null` where nothing is given.
pub fn with_known_items(definition: Definition, inputs: &[Value]) -> Definition {
    expanded(definition, inputs, ITEMS_MAX, &mut |_, _| ())
}

/// Inputs that pick an item that is not there, whatever the inputs of the process are, each activity's once.
/// Lists of more than [`LOOKED_AT_MAX`] items are not looked at.
pub(crate) fn wrong_picks(definition: &Definition) -> Vec<Problem> {
    let draft = definition.draft();
    if draft.picks.is_none() {
        return Vec::new();
    }
    let mut found: BTreeMap<PickSite, String> = BTreeMap::new();
    let inputs = vec![Value::Null; draft.inputs.len()];
    let mut note = |site, message| {
        found.entry(site).or_insert(message);
    };
    expanded(definition.clone(), &inputs, LOOKED_AT_MAX, &mut note);
    let problem = |(site, message): (PickSite, String)| {
        let activity = draft.nodes[site.reader.index()].activity()?;
        let path = &activity.inputs.get(site.input as usize)?.path;
        Some(Problem {
            place: Place {
                node: Some(site.reader),
                field: format!("inputs.{path}"),
            },
            message,
            hint: None,
        })
    };
    found.into_iter().filter_map(problem).collect()
}

/// Tells of an input that picks no item, and why.
type Wrong<'a> = &'a mut dyn FnMut(PickSite, String);

fn expanded(
    mut definition: Definition,
    inputs: &[Value],
    n_items_max: usize,
    wrong: Wrong<'_>,
) -> Definition {
    let mut items = BTreeMap::new();
    let mut number = 0;
    // The copies of a for-each within another one have greater numbers.
    while definition.may_grow() && number < definition.n_nodes() {
        let each = NodeId(number as u32);
        number += 1;
        let list = list(&definition, each, inputs, &items);
        let Some(list) = list.filter(|list| list.len() <= n_items_max) else {
            continue;
        };
        let expansion = Expansion {
            each,
            n_items: list.len() as u32,
            keys: Vec::new(),
            n_enough: None,
            picks: picks(&definition, each, (inputs, &items), &list, wrong),
        };
        definition.expand(&expansion);
        items.insert(each, list);
    }
    definition
}

/// Returns true if a body is there once that may run for many items, or again and again.
pub fn has_unknown_items(definition: &Definition) -> bool {
    let mut nodes = (0..definition.n_nodes() as u32).map(NodeId);
    definition.may_grow()
        && nodes.any(|node| {
            definition.as_written(node).kind.has_bodies() && !definition.is_expanded(node)
        })
}

/// The list of a for-each; none where it is something else, or it is not known.
fn list(
    definition: &Definition,
    node: NodeId,
    inputs: &[Value],
    known: &BTreeMap<NodeId, Vec<Value>>,
) -> Option<Vec<Value>> {
    let NodeKind::ForEach(each) = &definition.as_written(node).kind else {
        return None;
    };
    let items = around(definition, node, known)?;
    let scope = scope(definition, inputs, &items);
    let program = Program::compile(&each.items).ok()?;
    let value = program.evaluate(&scope, &mut Meter::up_to(LIST_STEPS_MAX));
    let Ok(Value::List(list)) = value else {
        return None;
    };
    let fits = list.len() <= ITEMS_MAX && definition.may_expand(node, list.len()).is_ok();
    fits.then_some(list)
}

/// The items and indexes that an expression of a node can read; none where one of them is not known.
fn around<'a>(
    definition: &'a Definition,
    node: NodeId,
    known: &'a BTreeMap<NodeId, Vec<Value>>,
) -> Option<Vec<(&'a str, Cow<'a, Value>)>> {
    let mut items = Vec::new();
    for around in definition.enclosing(node) {
        let (NodeKind::ForEach(outer), Some(list)) = (
            &definition.as_written(around.each).kind,
            known.get(&around.each),
        ) else {
            continue;
        };
        let item = list.get(around.place as usize)?;
        push_item(&mut items, outer, (around.place, item));
    }
    Some(items)
}

fn push_item<'a>(
    items: &mut Vec<(&'a str, Cow<'a, Value>)>,
    each: &'a ForEach,
    (place, item): (u32, &'a Value),
) {
    items.push((each.item.as_str(), Cow::Borrowed(item)));
    let place = Value::Int(i64::from(place));
    let index = each.index.as_deref();
    items.extend(index.map(|name| (name, Cow::Owned(place))));
}

fn scope<'a>(
    definition: &'a Definition,
    inputs: &'a [Value],
    items: &'a [(&'a str, Cow<'a, Value>)],
) -> ProcessScope<'a> {
    ProcessScope {
        definition,
        variables: &[],
        inputs,
        items,
        links: &[],
        bodies: &NotYet,
    }
}

/// What the bodies of a for-each pick; none where they pick nothing or that is not known yet.
fn picks(
    definition: &Definition,
    each: NodeId,
    (inputs, known): (&[Value], &BTreeMap<NodeId, Vec<Value>>),
    list: &[Value],
    wrong: Wrong<'_>,
) -> Option<Vec<Picked>> {
    let (sites, written) = (
        definition.pick_sites(each),
        definition.as_written(each).for_each()?,
    );
    if sites.is_empty() {
        return None;
    }
    let (mut programs, mut meter) = (Programs::default(), Meter::up_to(PICK_STEPS_MAX));
    let mut is_known = true;
    let mut all = Vec::with_capacity(list.len() * sites.len());
    for (item, place) in list.iter().zip(0..) {
        let mut items = around(definition, each, known)?;
        push_item(&mut items, written, (place, item));
        let scope = scope(definition, inputs, &items);
        for site in sites {
            let among = |case: &PickCase| match definition.picked_among(Some(each), case) {
                Some(own) if own == each => Ok(Among::Before(place)),
                among => {
                    let n_items = among.and_then(|among| definition.n_items(among));
                    n_items.map(Among::All).ok_or_else(String::new)
                }
            };
            let cases = definition.draft().pick_cases(site.pick);
            let picked = pick(cases, &scope, (&mut programs, &mut meter), among);
            match picked {
                Ok(picked) => all.push(picked),
                Err(PickError::Unknown(_)) => is_known = false,
                Err(PickError::NoItem(message)) => {
                    wrong(*site, format!("item {place}: {message}"));
                    is_known = false;
                }
            }
        }
    }
    is_known.then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A for-each over this list, with one inside that is over the numbers up to the item, and a loop after
    /// them.
    fn activities(list: &str, inputs: &[Value]) -> (Vec<String>, bool) {
        let text = format!(
            "xavantes: 1\nname: known\ninputs:\n  n: int\nvariables:\n  v: {{ type: list of int, value: [7] }}\n\
             body:\n  sequence:\n    - for-each:\n        item: a\n        in: {list}\n        do:\n          for-each:\n            \
             item: b\n            in: ${{ range(a) }}\n            do: {{ activity: x, run: [x] }}\n"
        );
        let compiled = crate::compile("known.yaml", text.as_bytes());
        let definition = compiled.expect("it is sound").definition;
        let definition = with_known_items(definition, inputs);
        let activities = definition.in_order().into_iter();
        let names = activities.map(|activity| definition.name_of(activity.node()));
        (names.collect(), has_unknown_items(&definition))
    }

    #[test]
    fn lists_that_follow_from_inputs_are_known_and_others_are_not() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let written: (Vec<String>, bool) = (names(&["x[0][0]", "x[1][0]", "x[1][1]"]), false);
        assert_eq!(activities("[1, 2]", &[Value::Null]), written);
        let input = "${ [1, inputs.n] }";
        assert_eq!(activities(input, &[Value::Int(2)]), written);
        let once: (Vec<String>, bool) = (names(&["x"]), true);
        assert_eq!(activities("${ v }", &[Value::Int(2)]), once);
        assert_eq!(activities("${ range(inputs.n) }", &[Value::Null]), once);
    }
}
