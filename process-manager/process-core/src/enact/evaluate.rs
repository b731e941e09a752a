//! The decisions of a process that an expression makes: what is written, which links are true, what
//! runs, what the process gives. Each has a bound of its own on what it may use.

use std::collections::BTreeSet;

use expression::{ExpressionError, Meter, ProcessScope, Programs};
use model::limits::{VALUE_DEPTH_MAX, VALUES_BYTES_MAX};
use model::{
    Expression, Fault, FaultName, Join, NodeId, NodeKind, Now, OutputSource, Source, Template,
    Value,
};

use crate::budget::DECISION_STEPS;
use crate::process::Process;
use crate::record::{Event, Phase};
use crate::tree::Decision;

/// Bytes of one variable: they are in the memory of the manager, and in each snapshot.
const VALUE_BYTES_MAX: usize = 4 << 20;
/// Links that are passed in the time of one step.
const LINKS_A_STEP: u64 = 64;

/// The place of a fault in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spot {
    Node(NodeId),
    /// A link, by its number.
    Link(u32),
}

/// The compiler and the meter of one decision.
pub(crate) struct Evaluator<'a> {
    pub(crate) programs: &'a mut Programs,
    pub(crate) meter: Meter,
}

impl<'a> Evaluator<'a> {
    pub(crate) fn new(programs: &'a mut Programs) -> Evaluator<'a> {
        let meter = Meter::new();
        Evaluator { programs, meter }
    }

    /// A text of a process with the values in it.
    pub(crate) fn text(
        &mut self,
        template: &Template,
        process: &Process,
    ) -> Result<String, ExpressionError> {
        let text = self.programs.text(template)?;
        text.render(&scope(process), &mut self.meter)
    }

    fn value(
        &mut self,
        expression: &Expression,
        scope: &ProcessScope<'_>,
    ) -> Result<Value, ExpressionError> {
        let program = self.programs.of(expression)?;
        program.evaluate(scope, &mut self.meter)
    }

    fn condition(
        &mut self,
        expression: &Expression,
        scope: &ProcessScope<'_>,
    ) -> Result<bool, ExpressionError> {
        let program = self.programs.of(expression)?;
        program.evaluate_bool(scope, &mut self.meter)
    }
}

/// The next event that an expression decides and the steps that this took; none if no decision is
/// pending.
pub(crate) fn decide(process: &Process, now: Now, programs: &mut Programs) -> Option<(Event, u64)> {
    if process.phase() != Phase::Running {
        return None;
    }
    let decision = process.state.frame.next_decision()?;
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
    Some((event, DECISION_STEPS + evaluator.meter.steps()))
}

/// The event for a fault that no attempt reported: it ends the process, or breaks only the nodes
/// that depend on the place where it happened.
pub(crate) fn fault_event(process: &Process, at: Option<Spot>, fault: Box<Fault>) -> Event {
    match at {
        Some(at) if process.goes_on() => {
            let flow = match at {
                Spot::Node(node) => process.transition().break_nodes([node]),
                Spot::Link(link) => process.transition().break_link(link),
            };
            Event::Broke { fault, flow }
        }
        Some(_) | None => Event::Faulted(fault),
    }
}

/// The names that expressions of a process can read, outside of joins.
pub(crate) fn scope(process: &Process) -> ProcessScope<'_> {
    ProcessScope {
        definition: &process.definition,
        variables: &process.state.variables,
        inputs: &process.inputs,
        links: &[],
    }
}

fn assign(
    process: &Process,
    node: NodeId,
    evaluator: &mut Evaluator<'_>,
) -> Result<Event, Box<Fault>> {
    let assignments = match &process.definition.node(node).kind {
        NodeKind::Assign(assignments) => assignments.as_slice(),
        NodeKind::Sequence(_)
        | NodeKind::Parallel { .. }
        | NodeKind::If { .. }
        | NodeKind::Activity(_)
        | NodeKind::Empty => &[],
    };
    let mut writes = Vec::new();
    for assignment in assignments {
        let value = evaluator
            .value(&assignment.value, &scope(process))
            .map_err(|error| expression_fault(process, node, &error.to_string()))?;
        let value = admit(process, assignment.variable, value)
            .map_err(|message| expression_fault(process, node, &message))?;
        writes.push((assignment.variable, value));
    }
    has_room(process, &writes).map_err(|message| expression_fault(process, node, &message))?;
    let flow = process.transition().finish(node);
    Ok(Event::Assigned { writes, flow })
}

/// The value as the variable keeps it; the error says why it cannot.
pub(crate) fn admit(process: &Process, variable: u32, value: Value) -> Result<Value, String> {
    let Some(declared) = process.definition.draft().variables.get(variable as usize) else {
        return Err("there is no such variable".to_owned());
    };
    if !declared.kind.admits(&value) {
        return Err(format!(
            "variable `{}` is a {}, not a {}",
            declared.name,
            declared.kind,
            value.type_name()
        ));
    }
    if !value.is_within_depth(VALUE_DEPTH_MAX) {
        return Err(format!(
            "the value for variable `{}` has more than {VALUE_DEPTH_MAX} lists and maps within each other",
            declared.name
        ));
    }
    let size = value.size();
    if size > VALUE_BYTES_MAX {
        return Err(format!(
            "the value for variable `{}` takes {size} bytes; at most {VALUE_BYTES_MAX}",
            declared.name
        ));
    }
    Ok(value)
}

/// Checks that a process can keep all its variables after these writes; the error says why not.
pub(crate) fn has_room(process: &Process, writes: &[(u32, Value)]) -> Result<(), String> {
    let variables = &process.state.variables;
    let before = |variable: u32| variables.get(variable as usize).map_or(0, Value::size);
    let freed: usize = writes.iter().map(|&(variable, _)| before(variable)).sum();
    let taken: usize = writes.iter().map(|(_, value)| value.size()).sum();
    let all = (process.index.variables_bytes + taken).saturating_sub(freed);
    if taken <= freed || all <= VALUES_BYTES_MAX {
        return Ok(());
    }
    Err(format!(
        "the variables of the process take {all} bytes together; at most {VALUES_BYTES_MAX}"
    ))
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
    evaluator
        .condition(when, &scope(process))
        .map_err(|error| expression_fault(process, link.from, &error.to_string()))
}

fn join(
    process: &Process,
    node: NodeId,
    evaluator: &mut Evaluator<'_>,
) -> Result<Event, Box<Fault>> {
    let definition = &process.definition;
    let Join::When(condition) = &definition.node(node).join else {
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
            let name = read.get(definition.node(from).name.as_str())?;
            let value = process.state.frame.link_value(number).unwrap_or(false);
            Some((*name, value))
        })
        .collect();
    let scope = ProcessScope {
        links: &links,
        ..scope(process)
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
    let conditions = match &process.definition.node(node).kind {
        NodeKind::If { conditions, .. } => conditions.as_slice(),
        NodeKind::Sequence(_)
        | NodeKind::Parallel { .. }
        | NodeKind::Activity(_)
        | NodeKind::Assign(_)
        | NodeKind::Empty => &[],
    };
    let mut branch = conditions.len();
    for (number, condition) in conditions.iter().enumerate() {
        let holds = evaluator.condition(condition, &scope(process));
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
    let mut outputs = Vec::new();
    for output in &process.definition.draft().outputs {
        let value = match &output.source {
            OutputSource::Expression(expression) => evaluator
                .value(expression, &scope(process))
                .map_err(|error| {
                    let message = format!("output `{}`: {error}", output.name);
                    Box::new(Fault::new(FaultName::Expression, message))
                })?,
            OutputSource::Produced(source) => match produced(process, *source) {
                Some(value) => value,
                None => {
                    let message = format!(
                        "output `{}` was not produced, because its activity was skipped",
                        output.name
                    );
                    return Err(Box::new(Fault::new(FaultName::MissingOutput, message)));
                }
            },
        };
        outputs.push((output.name.clone(), value));
    }
    Ok(outputs)
}

/// The current value of a source.
pub(crate) fn produced(process: &Process, source: Source) -> Option<Value> {
    match source {
        Source::Output { activity, output } => {
            let artifact = process.output_of(model::ActivityId(activity.0), output);
            artifact.map(Value::Artifact)
        }
        Source::Input(input) => match process.inputs.get(input as usize) {
            Some(Value::Null) | None => None,
            Some(value) => Some(value.clone()),
        },
    }
}

fn expression_fault(process: &Process, node: NodeId, message: &str) -> Box<Fault> {
    let path = process.definition.path(node);
    Box::new(Fault::new(
        FaultName::Expression,
        format!("{path}: {message}"),
    ))
}
