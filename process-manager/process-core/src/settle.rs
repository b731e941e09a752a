//! What follows of itself once a fact is recorded: decisions are evaluated, machines are planned
//! and claimed, what is ready is sent, what must stop is stopped, what is done is closed.

use expression::{ProcessScope, Program};
use machine::Context;
use model::{
    Fault, FaultName, Join, NodeId, NodeKind, Now, OutputSource, ProcessId, ResourceId, Source,
    Span, Value,
};
use wire::client::Phase;

use crate::alphabet::Stream;
use crate::control::Decision;
use crate::event::{Event, Spot};
use crate::manager::{ProcessManager, Stage, Timer, limits, process};
use crate::process::Process;
use crate::recall::Looked;

impl ProcessManager {
    /// Does all that can be done for a process at this moment.
    pub(crate) fn settle(&mut self, cx: &mut Context<'_, Self>, now: Now, id: ProcessId) {
        let stream = Stream::Process(id);
        let is_advanced = self.advance(cx, now, id);
        self.touch(id);
        let Some(known) = process(cx, id) else { return };
        match known.phase() {
            // The rest comes in a moment; nothing is planned or sent before.
            Phase::Running if !is_advanced => {}
            Phase::Running => {
                let is_idle =
                    |place: &Option<ResourceId>| place.is_none_or(|place| !self.is_trusted(place));
                if self.config.lease.is_some() && known.index.ready.keys().any(is_idle) {
                    self.plan_again(cx, id);
                }
                if self
                    .live
                    .get(&id)
                    .is_some_and(|live| matches!(live.stage, Stage::Wanting))
                {
                    self.plan_next(cx);
                }
                self.dispatch(cx, now, id);
            }
            Phase::Faulting | Phase::Cancelling => {
                if known.index.out.is_empty() {
                    let phase = match known.phase() {
                        Phase::Cancelling => Phase::Cancelled,
                        Phase::Running
                        | Phase::Faulting
                        | Phase::Completed
                        | Phase::Faulted
                        | Phase::Cancelled => Phase::Faulted,
                    };
                    cx.record(
                        stream,
                        Event::Closed {
                            phase,
                            at: now.wall,
                            outputs: Vec::new(),
                        },
                    );
                    self.close(cx, now, id);
                } else {
                    self.arm_once(Timer::Stop(id), now.mono);
                }
            }
            Phase::Completed | Phase::Faulted | Phase::Cancelled => self.close(cx, now, id),
        }
        self.ask_for_copies(cx, now, id);
        self.notify_watchers(cx, now, id);
    }

    /// Evaluates what is to be decided, and lets recorded outcomes stand for what becomes ready by
    /// it. Whether that is all.
    fn advance(&mut self, cx: &mut Context<'_, Self>, now: Now, id: ProcessId) -> bool {
        let stream = Stream::Process(id);
        for _ in 0..limits::RECALLS_MAX {
            while let Some(event) = process(cx, id).and_then(|process| decide(process, now)) {
                cx.record(stream, event);
            }
            match self.recall(cx, id) {
                Looked::Found(reused) => {
                    let activity = reused.activity;
                    cx.record(stream, Event::Reused(reused));
                    self.remember(cx, id, activity);
                    self.miss_lost(cx, now, id, activity);
                }
                Looked::Missed => {}
                Looked::Nothing => return true,
            }
        }
        self.arm(Timer::Recall(id), now.mono + Span(1));
        false
    }

    fn close(&mut self, cx: &mut Context<'_, Self>, now: Now, id: ProcessId) {
        self.disarm(Timer::Stop(id));
        self.disarm(Timer::Claim(id));
        self.disarm(Timer::Recall(id));
        self.set_stage(id, Stage::Settled);
        self.release(cx, now, id);
    }
}

/// The next event that an expression decides, or none where nothing is to be decided.
fn decide(process: &Process, now: Now) -> Option<Event> {
    if process.phase() != Phase::Running {
        return None;
    }
    let (at, event) = match process.course.control.next_decision()? {
        Decision::Assign(node) => (Some(Spot::Node(node)), assign(process, node)),
        Decision::Link(link) => {
            let value = link_value(process, link);
            let event = value.map(|value| Event::Linked(vec![(link, value)]));
            (Some(Spot::Link(link)), event)
        }
        Decision::Join(node) => (Some(Spot::Node(node)), join(process, node)),
        Decision::Close => {
            let at = now.wall;
            let (phase, outputs) = if process.course.faults.is_empty() {
                (Phase::Completed, close(process))
            } else {
                // It went on without what depends on its faults.
                (Phase::Faulted, Ok(Vec::new()))
            };
            let event = outputs.map(|outputs| Event::Closed { phase, at, outputs });
            (None, event)
        }
    };
    Some(event.unwrap_or_else(|fault| fault_event(process, at, fault)))
}

/// What a fault does that no attempt reported: it ends the process, or only what depends on the
/// place where it happened.
pub(crate) fn fault_event(process: &Process, at: Option<Spot>, fault: Box<Fault>) -> Event {
    match at {
        Some(at) if process.goes_on() => Event::Broke { at, fault },
        Some(_) | None => Event::Faulted(fault),
    }
}

/// What expressions of a process can read, outside of joins.
pub(crate) fn scope(process: &Process) -> ProcessScope<'_> {
    ProcessScope {
        definition: &process.definition,
        variables: &process.course.variables,
        inputs: &process.inputs,
        links: &[],
    }
}

fn assign(process: &Process, node: NodeId) -> Result<Event, Box<Fault>> {
    let NodeKind::Assign(assignments) = &process.definition.node(node).kind else {
        return Ok(Event::Assigned {
            node,
            writes: Vec::new(),
        });
    };
    let mut writes = Vec::new();
    for assignment in assignments {
        let value = Program::compile(&assignment.value)
            .and_then(|program| program.evaluate(&scope(process)))
            .map_err(|error| expression_fault(process, node, &error.to_string()))?;
        let value = admit(process, assignment.variable, value)
            .map_err(|message| expression_fault(process, node, &message))?;
        writes.push((assignment.variable, value));
    }
    Ok(Event::Assigned { node, writes })
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
    let size = value.size();
    if size > VALUE_BYTES_MAX {
        return Err(format!(
            "the value for variable `{}` takes {size} bytes; at most {VALUE_BYTES_MAX}",
            declared.name
        ));
    }
    Ok(value)
}

/// Bytes of one variable: they are in the memory of the controller, and in each snapshot.
const VALUE_BYTES_MAX: usize = 4 << 20;

fn link_value(process: &Process, number: u32) -> Result<bool, Box<Fault>> {
    let (_, link) = &process.definition.links()[number as usize];
    let Some(when) = &link.when else {
        return Ok(true);
    };
    Program::compile(when)
        .and_then(|program| program.evaluate_bool(&scope(process)))
        .map_err(|error| expression_fault(process, link.from, &error.to_string()))
}

fn join(process: &Process, node: NodeId) -> Result<Event, Box<Fault>> {
    let definition = &process.definition;
    let Join::When(condition) = &definition.node(node).join else {
        return Ok(Event::Joined { node, runs: true });
    };
    let links: Vec<(&str, bool)> = definition
        .incoming(node)
        .iter()
        .map(|&number| {
            let from = definition.links()[number as usize].1.from;
            let value = process.course.control.link_value(number).unwrap_or(false);
            (definition.node(from).name.as_str(), value)
        })
        .collect();
    let scope = ProcessScope {
        links: &links,
        ..scope(process)
    };
    let runs = Program::compile(condition)
        .and_then(|program| program.evaluate_bool(&scope))
        .map_err(|error| expression_fault(process, node, &error.to_string()))?;
    Ok(Event::Joined { node, runs })
}

fn close(process: &Process) -> Result<Vec<(String, Value)>, Box<Fault>> {
    let mut outputs = Vec::new();
    for output in &process.definition.draft().outputs {
        let value = match &output.source {
            OutputSource::Expression(expression) => Program::compile(expression)
                .and_then(|program| program.evaluate(&scope(process)))
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

/// What a source stands for at this moment.
pub(crate) fn produced(process: &Process, source: Source) -> Option<Value> {
    match source {
        Source::Output { activity, output } => {
            let key = (model::ActivityId(activity.0), output);
            process
                .course
                .produced
                .get(&key)
                .map(|artifact| Value::Artifact(*artifact))
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
