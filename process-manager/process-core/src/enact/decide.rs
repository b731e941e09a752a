//! The decisions of a process that an expression makes: what is written, which links are true, what
//! runs, what a body is run for, what the process gives.

use std::collections::{BTreeMap, BTreeSet};

use expression::{ExpressionError, Meter, ProcessScope, Programs};
use model::limits::{LIST_STEPS_MAX, VALUE_DEPTH_MAX};
use model::{
    Assignment, Bytes, Fault, FaultName, Join, NodeId, NodeKind, Now, Output, OutputSource, Source,
    Value,
};

use crate::budget::DECISION_STEPS;
use crate::enact::evaluate::{
    Evaluator, Spot, admit, expression_fault, fault_event, has_room, produced, scope,
};
use crate::enact::expand::{expand, repeat};
use crate::enact::pick::picked_output;
use crate::limits;
use crate::process::Process;
use crate::record::{Event, Phase};
use crate::tree::Decision;

/// Links that are passed in the time of one step.
const LINKS_A_STEP: u64 = 64;

/// The next event that an expression decides and the steps that this took; none if no decision is
/// pending.
pub(crate) fn decide(
    process: &Process,
    (now, n_kept): (Now, u32),
    programs: &mut Programs,
) -> Option<(Event, u64)> {
    if process.phase() != Phase::Running {
        return None;
    }
    let decision = process.state.frame.next_decision()?;
    Some(decide_one(process, decision, (now, n_kept), programs))
}

/// The event that the expressions of this decision decide and the steps that this took.
pub(crate) fn decide_one(
    process: &Process,
    decision: Decision,
    (now, n_kept): (Now, u32),
    programs: &mut Programs,
) -> (Event, u64) {
    let mut evaluator = Evaluator::new(programs);
    let (at, event) = match decision {
        Decision::Assign(node) => {
            let event = assign(process, node, &mut evaluator);
            (Some(Spot::Node(node)), event)
        }
        Decision::Link(link) => {
            let value = link_value(process, link, &mut evaluator);
            let event = value.map(|value| Event::Decided(process.transition().link(link, value)));
            (Some(Spot::Link(link)), event)
        }
        Decision::Choose(node) => {
            let event = choose(process, node, &mut evaluator);
            (Some(Spot::Node(node)), event)
        }
        Decision::Expand(node) => {
            let event = expand(process, node, &mut evaluator);
            (Some(Spot::Node(node)), event)
        }
        Decision::Spread(node) => {
            let flow = process.transition().spread(node);
            (None, Ok(Event::Decided(flow)))
        }
        Decision::Repeat(node) => {
            let event = repeat(process, node, (now, n_kept), &mut evaluator);
            (Some(Spot::Node(node)), event)
        }
        Decision::Join(node) => (Some(Spot::Node(node)), join(process, node, &mut evaluator)),
        Decision::Close => {
            let at = now.wall;
            let (phase, outputs) = if process.state.faults.is_empty() {
                (Phase::Completed, close(process, &mut evaluator))
            } else {
                // It went on without the activities that depend on its faults.
                (Phase::Faulted, Ok(Vec::new()))
            };
            let event = outputs.map(|outputs| Event::Closed { phase, at, outputs });
            (None, event)
        }
    };
    let event = event.unwrap_or_else(|fault| fault_event(process, at, fault));
    (event, DECISION_STEPS + evaluator.meter.steps())
}

/// The variables that an `assign` writes, with their expressions; none of any other node.
pub(crate) fn assignments(process: &Process, node: NodeId) -> &[Assignment] {
    match &process.definition.as_written(node).kind {
        NodeKind::Assign(assignments) => assignments,
        NodeKind::Sequence(_)
        | NodeKind::Parallel { .. }
        | NodeKind::If { .. }
        | NodeKind::ForEach(_)
        | NodeKind::Repeat(_)
        | NodeKind::Activity(_)
        | NodeKind::Empty => &[],
    }
}

fn assign(
    process: &Process,
    node: NodeId,
    evaluator: &mut Evaluator<'_>,
) -> Result<Event, Box<Fault>> {
    let assignments = assignments(process, node);
    let mut writes = Vec::new();
    let items = process.items(node);
    for assignment in assignments {
        let value = evaluator
            .value(&assignment.value, &scope(process, &items))
            .map_err(|error| expression_fault(process, node, &error.to_string()))?;
        let value = admit(process, assignment.variable, value)
            .map_err(|message| expression_fault(process, node, &message))?;
        writes.push((assignment.variable, value));
    }
    has_room(process, &writes, node)
        .map_err(|message| expression_fault(process, node, &message))?;
    let flow = process.transition().finish(node);
    let is_own = |(variable, _): &(u32, Value)| {
        let body = process.definition.body_of(*variable as usize, node);
        body.is_some()
    };
    let node = writes.iter().any(is_own).then_some(node);
    Ok(Event::Assigned { writes, flow, node })
}

fn link_value(
    process: &Process,
    number: u32,
    evaluator: &mut Evaluator<'_>,
) -> Result<bool, Box<Fault>> {
    let (_, link) = &process.definition.links()[number as usize];
    let Some(when) = &link.when else {
        return Ok(true);
    };
    let items = process.items(link.from);
    evaluator
        .condition(when, &scope(process, &items))
        .map_err(|error| expression_fault(process, link.from, &error.to_string()))
}

fn join(
    process: &Process,
    node: NodeId,
    evaluator: &mut Evaluator<'_>,
) -> Result<Event, Box<Fault>> {
    let definition = &process.definition;
    let Join::When(condition) = &definition.as_written(node).join else {
        return Ok(Event::Decided(process.transition().join(node, true)));
    };
    let fault = |error: ExpressionError| expression_fault(process, node, &error.to_string());
    let program = evaluator.programs.of(condition).map_err(fault)?;
    // Many links may end there; the scope needs only those that the condition reads.
    let read: BTreeSet<&str> = program.links().collect();
    let incoming = definition.incoming(node);
    let links: Vec<(&str, bool)> = incoming
        .iter()
        .filter_map(|&number| {
            let from = definition.links()[number as usize].1.from;
            let name = read.get(definition.plain_name(from))?;
            let value = process.state.frame.link_value(number).unwrap_or(false);
            Some((*name, value))
        })
        .collect();
    let items = process.items(node);
    let scope = ProcessScope {
        links: &links,
        ..scope(process, &items)
    };
    let n_passed = incoming.len() as u64 / LINKS_A_STEP;
    evaluator.meter.use_steps(n_passed, 0).map_err(fault)?;
    let runs = program
        .evaluate_bool(&scope, &mut evaluator.meter)
        .map_err(fault)?;
    Ok(Event::Decided(process.transition().join(node, runs)))
}

/// The first branch of an `if` whose condition is true, else the one that has no condition.
fn choose(
    process: &Process,
    node: NodeId,
    evaluator: &mut Evaluator<'_>,
) -> Result<Event, Box<Fault>> {
    let conditions = match &process.definition.as_written(node).kind {
        NodeKind::If { conditions, .. } => conditions.as_slice(),
        NodeKind::Sequence(_)
        | NodeKind::Parallel { .. }
        | NodeKind::ForEach(_)
        | NodeKind::Repeat(_)
        | NodeKind::Activity(_)
        | NodeKind::Assign(_)
        | NodeKind::Empty => &[],
    };
    let items = process.items(node);
    let mut branch = conditions.len();
    for (number, condition) in conditions.iter().enumerate() {
        let holds = evaluator.condition(condition, &scope(process, &items));
        let holds = holds.map_err(|error| {
            let message = format!("the condition `{}`: {error}", condition.0.trim());
            expression_fault(process, node, &message)
        })?;
        if holds {
            branch = number;
            break;
        }
    }
    let flow = process.transition().choose(node, branch);
    Ok(Event::Decided(flow))
}

fn close(
    process: &Process,
    evaluator: &mut Evaluator<'_>,
) -> Result<Vec<(String, Value)>, Box<Fault>> {
    // A list that a variable may have can be an output.
    evaluator.meter = Meter::up_to(LIST_STEPS_MAX);
    let mut outputs = Vec::new();
    let mut n_bytes = 0;
    for output in &process.definition.draft().outputs {
        let value = match &output.source {
            OutputSource::Expression(expression) => evaluator
                .value(expression, &scope(process, &process.items(NodeId(0))))
                .map_err(|error| {
                    let message = format!("output `{}`: {error}", output.name);
                    Box::new(Fault::new(FaultName::Expression, message))
                })?,
            OutputSource::Produced(source) => match ended(process, output, *source, evaluator)? {
                Some(value) => value,
                None => {
                    let message = format!(
                        "output `{}` was not produced, because its activity was skipped",
                        output.name
                    );
                    return Err(Box::new(Fault::new(FaultName::MissingOutput, message)));
                }
            },
            OutputSource::Gathered(source) => gathered(process, *source),
        };
        if !value.is_within_depth(VALUE_DEPTH_MAX) {
            let message = format!(
                "output `{}` has more than {VALUE_DEPTH_MAX} lists and maps within each other",
                output.name
            );
            return Err(Box::new(Fault::new(FaultName::TooLarge, message)));
        }
        n_bytes += output.name.len() + value.size();
        if n_bytes > limits::OUTPUTS_BYTES_MAX {
            let message = format!(
                "the outputs take more than {} together, with output `{}`: gather fewer files, or have an activity \
                 make one of them",
                Bytes(limits::OUTPUTS_BYTES_MAX as u64),
                output.name
            );
            return Err(Box::new(Fault::new(FaultName::TooLarge, message)));
        }
        outputs.push((output.name.clone(), value));
    }
    Ok(outputs)
}

/// The value of an output of the process: that of the last iteration, where it lies in a loop, or that of the item
/// that is picked.
fn ended(
    process: &Process,
    output: &Output,
    source: Source,
    evaluator: &mut Evaluator<'_>,
) -> Result<Option<Value>, Box<Fault>> {
    let source = match source {
        Source::Output { activity, output } => Source::Output {
            activity: process.definition.last_instance(activity),
            output,
        },
        Source::Pick(pick) => picked_output(process, (&output.name, pick), evaluator)?,
        Source::Input(_) | Source::Item(_) => source,
    };
    Ok(produced(process, source))
}

/// What an activity has produced for each item, by the item's name, without those for which it was
/// skipped.
fn gathered(process: &Process, source: Source) -> Value {
    let Source::Output { activity, output } = source else {
        return Value::Map(BTreeMap::new());
    };
    let definition = &process.definition;
    let instances = definition.instances(activity).into_iter();
    let produced = instances.filter_map(|activity| {
        let artifact = process.output_of(model::ActivityId(activity.0), output)?;
        let item = definition.item_path(activity, NodeId(0));
        Some((item, Value::from(artifact)))
    });
    Value::Map(produced.collect())
}
