//! The items of a for-each: its list and the names of the items, evaluated when it starts. The
//! iterations of a loop: whether there is another one.

use std::collections::BTreeSet;

use expression::Meter;
use model::limits::{ITEMS_MAX, KEY_BYTES_MAX, LIST_STEPS_MAX, PICK_STEPS_MAX, VALUE_DEPTH_MAX};
use model::{Bytes, Fault, FaultName, ForEach, NodeId, NodeKind, Now, Test, Value, with_article};

use crate::enact::evaluate::{Evaluator, expression_fault, scope};
use crate::enact::pick::picks;
use crate::limits;
use crate::process::Process;
use crate::process::items::Items;
use crate::record::{Event, Expanded, Iterations};

/// Items that are taken over in the time of one step.
const ITEMS_A_STEP: u64 = 4;

/// The items of a for-each that has started. A list that is no list, or too long, is a fault.
pub(crate) fn expand(
    process: &Process,
    node: NodeId,
    evaluator: &mut Evaluator<'_>,
) -> Result<Event, Box<Fault>> {
    let NodeKind::ForEach(each) = &process.definition.as_written(node).kind else {
        return Err(expression_fault(process, node, "it has no items"));
    };
    let of_picks = match process.definition.pick_sites(node).is_empty() {
        true => 0,
        false => PICK_STEPS_MAX,
    };
    evaluator.meter = Meter::up_to(LIST_STEPS_MAX + of_picks);
    let around = process.items(node);
    let list = evaluator.value(&each.items, &scope(process, &around));
    let list = list.map_err(|error| expression_fault(process, node, &error.to_string()))?;
    let Value::List(items) = list else {
        let message = format!("`in` is {}, not a list", with_article(&list.type_name()));
        return Err(expression_fault(process, node, &message));
    };
    if items.len() > ITEMS_MAX {
        let message = format!("{} items; at most {ITEMS_MAX}", items.len());
        return Err(too_large(process, node, &message));
    }
    let is_too_deep = |item: &Value| !item.is_within_depth(VALUE_DEPTH_MAX);
    if let Some(place) = items.iter().position(is_too_deep) {
        let message = format!(
            "item {place} has more than {VALUE_DEPTH_MAX} lists and maps within each other"
        );
        return Err(too_large(process, node, &message));
    }
    let definition = &process.definition;
    let may = definition.may_expand(node, items.len());
    may.map_err(|message| too_large(process, node, &message))?;
    let n_steps = items.len() as u64 / ITEMS_A_STEP;
    let used = evaluator.meter.use_steps(n_steps, 0);
    used.map_err(|error| expression_fault(process, node, &error.to_string()))?;
    let n_enough = n_enough(process, (node, each), items.len(), evaluator)?;
    let keys = keys(process, (node, each), &items, evaluator)?;
    let names_of = |place: u32| named(process, (node, each), (place as usize, &items));
    let picks = picks(process, node, 0..items.len() as u32, names_of, evaluator)?;
    let expanded = Expanded {
        node,
        items,
        keys,
        n_enough,
        picks,
        ..Expanded::default()
    };
    fits(process, &expanded)?;
    Ok(Event::Expanded(Box::new(expanded)))
}

/// A fault where the items of a process would take too much together.
fn fits(process: &Process, expanded: &Expanded) -> Result<(), Box<Fault>> {
    let n_bytes = process.index.items_bytes + expanded.size();
    if n_bytes <= limits::ITEMS_BYTES_MAX {
        return Ok(());
    }
    let bytes = |n: usize| Bytes(n as u64);
    let message = format!(
        "the items of the process, and the inputs that they pick, take {} together; at most {}",
        bytes(n_bytes),
        bytes(limits::ITEMS_BYTES_MAX)
    );
    Err(too_large(process, expanded.node, &message))
}

/// Another iteration of a loop, or its end. A condition that faults, or one iteration more than the loop
/// allows, is a fault.
pub(crate) fn repeat(
    process: &Process,
    node: NodeId,
    (now, n_kept): (Now, u32),
    evaluator: &mut Evaluator<'_>,
) -> Result<Event, Box<Fault>> {
    let definition = &process.definition;
    let NodeKind::Repeat(repeat) = &definition.as_written(node).kind else {
        return Err(expression_fault(process, node, "it is no loop"));
    };
    let n_before = definition.n_items(node).unwrap_or(0);
    let (goes_on, index) = match repeat.test {
        Test::While => (true, n_before),
        Test::Until => (false, n_before.saturating_sub(1)),
    };
    // A `repeat-until` has a first iteration whatever its condition says.
    if n_before > 0 || repeat.test == Test::While {
        let mut names = process.items(node);
        if let Some(name) = &repeat.index {
            names.push_number(name, i64::from(index));
        }
        let value = evaluator.condition(&repeat.condition, &scope(process, &names));
        let value = value.map_err(|error| {
            let message = format!("the condition `{}`: {error}", repeat.condition.0.trim());
            expression_fault(process, node, &message)
        })?;
        if value != goes_on {
            return Ok(Event::Decided(process.transition().end_loop(node)));
        }
    }
    let max = repeat.iterations_max();
    if n_before >= max {
        let path = definition.path(node);
        let message = format!("{path}: the loop has not ended after {max} iterations");
        return Err(Box::new(Fault::new(FaultName::TooManyIterations, message)));
    }
    let may = definition.may_expand(node, 1);
    may.map_err(|message| too_large(process, node, &message))?;
    let n_steps = u64::from(definition.n_body_nodes(node)) / ITEMS_A_STEP;
    let used = evaluator.meter.use_steps(n_steps, 0);
    used.map_err(|error| expression_fault(process, node, &error.to_string()))?;
    let entries = match n_before {
        0 => Vec::new(),
        _ => process.entries_again(node, now.wall),
    };
    let names_of = |place: u32| {
        let mut names = process.items(node);
        if let Some(name) = &repeat.index {
            names.push_number(name, i64::from(place));
        }
        names
    };
    let picks = picks(process, node, n_before..n_before + 1, names_of, evaluator)?;
    let folded = Some(process.foldable(node, n_kept));
    let folded = folded.filter(|folded| !folded.is_empty());
    let n_more = 1;
    let expanded = Expanded {
        node,
        iterations: Some(Iterations {
            n_more,
            entries,
            folded,
        }),
        picks,
        ..Expanded::default()
    };
    fits(process, &expanded)?;
    Ok(Event::Expanded(Box::new(expanded)))
}

/// Bodies after whose success a for-each completes, as its `complete-when` says.
fn n_enough(
    process: &Process,
    (node, each): (NodeId, &ForEach),
    n_items: usize,
    evaluator: &mut Evaluator<'_>,
) -> Result<Option<u32>, Box<Fault>> {
    let Some(complete_when) = &each.complete_when else {
        return Ok(None);
    };
    let fault = |message: &str| {
        let message = format!("`complete-when`: {message}");
        expression_fault(process, node, &message)
    };
    let around = process.items(node);
    let value = evaluator.value(complete_when, &scope(process, &around));
    let n_enough = match value.map_err(|error| fault(&error.to_string()))? {
        Value::Int(number) => u32::try_from(number).ok().filter(|&number| number > 0),
        other @ (Value::Null
        | Value::Bool(_)
        | Value::Float(_)
        | Value::Text(_)
        | Value::List(_)
        | Value::Map(_)
        | Value::Artifact(..)) => {
            let message = format!("a {}, not a whole number", other.type_name());
            return Err(fault(&message));
        }
    };
    let Some(n_enough) = n_enough else {
        return Err(fault("less than 1 item, or more than any list has"));
    };
    if n_enough as usize <= n_items {
        return Ok(Some(n_enough));
    }
    let path = process.definition.path(node);
    let message =
        format!("{path}: `complete-when` waits for {n_enough} items, and the list has {n_items}");
    Err(Box::new(Fault::new(FaultName::TooFewItems, message)))
}

/// The names of the items; none where they are numbered.
fn keys(
    process: &Process,
    (node, each): (NodeId, &ForEach),
    items: &[Value],
    evaluator: &mut Evaluator<'_>,
) -> Result<Vec<String>, Box<Fault>> {
    let Some(key) = &each.key else {
        return Ok(Vec::new());
    };
    let mut keys = Vec::with_capacity(items.len());
    let mut seen = BTreeSet::new();
    for place in 0..items.len() {
        let fault = |message: &str| {
            let message = format!("the key of item {place}: {message}");
            expression_fault(process, node, &message)
        };
        let names = named(process, (node, each), (place, items));
        let value = evaluator.value(key, &scope(process, &names));
        let key = match value.map_err(|error| fault(&error.to_string()))? {
            Value::Text(text) => text,
            Value::Int(number) => number.to_string(),
            other @ (Value::Null
            | Value::Bool(_)
            | Value::Float(_)
            | Value::List(_)
            | Value::Map(_)
            | Value::Artifact(..)) => {
                let message = format!("a {}; text or a whole number", other.type_name());
                return Err(fault(&message));
            }
        };
        if !is_name(&key) {
            let wanted = "letters, digits, `_`, `-` and `.`, not beginning with `-` or `.`";
            let shown: String = key.chars().take(60).collect();
            return Err(fault(&format!("`{shown}` cannot be a name; {wanted}")));
        }
        if !seen.insert(key.clone()) {
            return Err(fault(&format!("another item is called `{key}` too")));
        }
        keys.push(key);
    }
    Ok(keys)
}

/// The names that the body of an item can read: those around, the item and its place.
fn named<'a>(
    process: &'a Process,
    (node, each): (NodeId, &'a ForEach),
    (place, items): (usize, &'a [Value]),
) -> Items<'a> {
    let mut names = process.items(node);
    names.push_borrowed(&each.item, &items[place]);
    if let Some(index) = &each.index {
        names.push_number(index, place as i64);
    }
    names
}

/// Returns true if a text can be part of the names of activities and files.
fn is_name(key: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    (1..=KEY_BYTES_MAX).contains(&key.len())
        && key.bytes().all(is_letter)
        && !key.starts_with(['-', '.'])
}

fn too_large(process: &Process, node: NodeId, message: &str) -> Box<Fault> {
    let path = process.definition.path(node);
    let message = format!("{path}: {message}");
    Box::new(Fault::new(FaultName::TooLarge, message))
}
