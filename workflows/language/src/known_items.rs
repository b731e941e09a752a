//! The items of a for-each, as far as they are known before a process runs: those of a list that follows
//! from its inputs alone.

use std::borrow::Cow;
use std::collections::BTreeMap;

use expression::{Bodies, Meter, ProcessScope, Program};
use model::limits::ITEMS_MAX;
use model::{Definition, Expansion, NodeId, NodeKind, Value};

/// Steps of the evaluation of one list, as in a run.
const STEPS_MAX: u64 = 20 * ITEMS_MAX as u64;

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
pub fn with_known_items(mut definition: Definition, inputs: &[Value]) -> Definition {
    let mut items = BTreeMap::new();
    let mut number = 0;
    // The copies of a for-each within another one have greater numbers.
    while definition.may_grow() && number < definition.n_nodes() {
        let each = NodeId(number as u32);
        number += 1;
        let Some(list) = list(&definition, each, inputs, &items) else {
            continue;
        };
        let expansion = Expansion {
            each,
            n_items: list.len() as u32,
            keys: Vec::new(),
            n_enough: None,
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
    let mut items = Vec::new();
    for around in definition.enclosing(node) {
        let (NodeKind::ForEach(outer), Some(list)) = (
            &definition.as_written(around.each).kind,
            known.get(&around.each),
        ) else {
            continue;
        };
        let place = Value::Int(i64::from(around.place));
        let item = list.get(around.place as usize)?;
        items.push((outer.item.as_str(), Cow::Borrowed(item)));
        let index = outer.index.as_deref();
        items.extend(index.map(|name| (name, Cow::Owned(place))));
    }
    let scope = ProcessScope {
        definition,
        variables: &[],
        inputs,
        items: &items,
        links: &[],
        bodies: &NotYet,
    };
    let program = Program::compile(&each.items).ok()?;
    let value = program.evaluate(&scope, &mut Meter::up_to(STEPS_MAX));
    let Ok(Value::List(list)) = value else {
        return None;
    };
    let fits = list.len() <= ITEMS_MAX && definition.may_expand(node, list.len()).is_ok();
    fits.then_some(list)
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
