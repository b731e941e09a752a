//! Expressions of a process: the names that they can read, the bound on what each decision may use, the
//! values that variables take, and the faults.

use expression::{ExpressionError, Meter, ProcessScope, Programs};
use model::limits::{VALUE_DEPTH_MAX, VALUES_BYTES_MAX};
use model::{Expression, Fault, FaultName, NodeId, Source, Template, Value, with_article};

use crate::process::Process;
use crate::process::items::Items;
use crate::record::Event;

/// Bytes of one variable: they are in the memory of the manager, and in each snapshot.
const VALUE_BYTES_MAX: usize = 4 << 20;

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
        scope: &ProcessScope<'_>,
    ) -> Result<String, ExpressionError> {
        let text = self.programs.text(template)?;
        text.render(scope, &mut self.meter)
    }

    pub(crate) fn value(
        &mut self,
        expression: &Expression,
        scope: &ProcessScope<'_>,
    ) -> Result<Value, ExpressionError> {
        let program = self.programs.of(expression)?;
        program.evaluate(scope, &mut self.meter)
    }

    pub(crate) fn condition(
        &mut self,
        expression: &Expression,
        scope: &ProcessScope<'_>,
    ) -> Result<bool, ExpressionError> {
        let program = self.programs.of(expression)?;
        program.evaluate_bool(scope, &mut self.meter)
    }
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

/// The names that expressions of a process can read, outside of joins, with the items that they are
/// evaluated for.
pub(crate) fn scope<'a>(process: &'a Process, items: &'a Items<'a>) -> ProcessScope<'a> {
    ProcessScope {
        items: items.values(),
        bodies: items,
        definition: &process.definition,
        variables: &process.state.variables,
        inputs: &process.inputs,
        links: &[],
    }
}

/// The value as the variable keeps it; the error says why it cannot.
pub(crate) fn admit(process: &Process, variable: u32, value: Value) -> Result<Value, String> {
    let Some(declared) = process.definition.draft().variables.get(variable as usize) else {
        return Err("there is no such variable".to_owned());
    };
    if !declared.kind.admits(&value) {
        return Err(format!(
            "variable `{}` is {}, not {}",
            declared.name,
            with_article(&declared.kind),
            with_article(&value.type_name())
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
    Ok(declared.kind.converted(value))
}

/// Checks that a process can keep all its variables after these writes; the error says why not.
pub(crate) fn has_room(
    process: &Process,
    writes: &[(u32, Value)],
    node: NodeId,
) -> Result<(), String> {
    let before = |variable: u32| process.kept(variable, Some(node)).map_or(0, Value::size);
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

/// The current value of a source.
pub(crate) fn produced(process: &Process, source: Source) -> Option<Value> {
    match source {
        Source::Output { activity, output } => {
            let artifact = process.output_of(model::ActivityId(activity.0), output);
            artifact.map(Value::from)
        }
        Source::Input(input) => match process.inputs.get(input as usize) {
            Some(Value::Null) | None => None,
            Some(value) => Some(value.clone()),
        },
        Source::Item(body) => process.item_of(body).cloned(),
        // Another source stands in its place before anybody reads it.
        Source::Pick(_) => None,
    }
}

pub(crate) fn expression_fault(process: &Process, node: NodeId, message: &str) -> Box<Fault> {
    let path = process.definition.path(node);
    Box::new(Fault::new(
        FaultName::Expression,
        format!("{path}: {message}"),
    ))
}
