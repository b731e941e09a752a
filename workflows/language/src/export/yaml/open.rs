//! The parts of controllers that are written around their children.

use model::{Draft, Expression, ForEach, NodeId, Repeat, Variable};

use super::values::{expression, of_variable, scalar};

/// A part of the document that is not written yet: a step with its level and whether it is an item
/// of a list, the links of a parallel, or a line between the branches of an `if`.
pub(super) enum Open {
    Step(NodeId, usize, bool),
    Links(NodeId, usize),
    Line(usize, String),
}

/// The parts of an `if` after its first condition; the keys of the `if` have this level.
pub(super) fn branches(
    conditions: &[Expression],
    children: &[NodeId],
    level: usize,
) -> impl DoubleEndedIterator<Item = Open> {
    let mut parts = Vec::new();
    for (number, &child) in children.iter().enumerate() {
        let (lines, deeper) = match (number, conditions.get(number)) {
            (0, _) => (vec![(0, "then:".to_owned())], 1),
            (_, Some(condition)) => {
                let elif = (number == 1).then(|| (0, "elif:".to_owned()));
                let item = (1, format!("- if: {}", expression(condition)));
                let lines = elif.into_iter().chain([item, (2, "then:".to_owned())]);
                (lines.collect(), 3)
            }
            (_, None) => (vec![(0, "else:".to_owned())], 1),
        };
        let lines = lines.into_iter();
        parts.extend(lines.map(|(more, line)| Open::Line(level + more, line)));
        parts.push(Open::Step(child, level + deeper, false));
    }
    parts.into_iter()
}

/// The lines that declare the variables of each body of a controller.
pub(super) fn own_variables(draft: &Draft, of: NodeId) -> Vec<String> {
    let variables = draft.variables.iter();
    let own = variables.filter(|variable| variable.of == Some(of));
    let line =
        |variable: &Variable| format!("  {}: {}", scalar(&variable.name), of_variable(variable));
    let mut lines: Vec<String> = own.map(line).collect();
    if !lines.is_empty() {
        lines.insert(0, "variables:".to_owned());
    }
    lines
}

/// The keys of a for-each, which have this level, and its body.
pub(super) fn for_each(
    each: &ForEach,
    variables: Vec<String>,
    level: usize,
) -> impl DoubleEndedIterator<Item = Open> {
    let mut lines = vec![format!("item: {}", scalar(&each.item))];
    lines.extend(
        each.index
            .iter()
            .map(|index| format!("index: {}", scalar(index))),
    );
    lines.push(format!("in: {}", expression(&each.items)));
    lines.extend(
        each.key
            .iter()
            .map(|key| format!("key: {}", expression(key))),
    );
    lines.extend(each.at_most.map(|at_most| match at_most {
        1 => "parallel: false".to_owned(),
        at_most => format!("at-most: {at_most}"),
    }));
    lines.extend(each.complete_when.iter().map(|enough| {
        let number = enough.0.parse::<u32>().ok();
        let number = number.filter(|number| number.to_string() == enough.0);
        let written = number.map_or_else(|| expression(enough), |number| number.to_string());
        format!("complete-when: {written}")
    }));
    lines.extend(variables);
    lines.push("do:".to_owned());
    let lines = lines.into_iter().map(move |line| Open::Line(level, line));
    let body = each.children.iter();
    let body = body.map(move |&body| Open::Step(body, level + 1, false));
    lines.chain(body)
}

/// The keys of a loop after its condition, which have this level, and its body.
pub(super) fn repeat(
    repeat: &Repeat,
    variables: Vec<String>,
    level: usize,
) -> impl DoubleEndedIterator<Item = Open> {
    let index = repeat.index.iter();
    let mut lines: Vec<String> = index
        .map(|index| format!("index: {}", scalar(index)))
        .collect();
    let max = repeat.max_iterations;
    lines.extend(max.map(|max| format!("max-iterations: {max}")));
    lines.extend(variables);
    lines.push("do:".to_owned());
    let lines = lines.into_iter().map(move |line| Open::Line(level, line));
    let body = repeat.children.iter();
    let body = body.map(move |&body| Open::Step(body, level + 1, false));
    lines.chain(body)
}
