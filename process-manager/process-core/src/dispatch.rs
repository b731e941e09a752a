//! Attempts: what is ready goes to the machine that the plan names, as far as its window allows;
//! what was not heard of goes again; what must stop is told so.

use std::collections::{BTreeMap, BTreeSet};

use expression::ExpressionError;
use machine::Context;
use model::{
    Activity, ActivityId, Artifact, AttemptId, Command, Epoch, Fault, FaultName, Now, ProcessId,
    ResourceId, Source, Stdin, Value,
};
use wire::attempt::{ATTEMPTS_MAX, Dispatch, Stdin as WireStdin, ToActivity};

use crate::evaluate::{Evaluator, fault_event, produced, scope};
use crate::io::{Effect, Stream};
use crate::manager::{ProcessManager, Timer, limits, process};
use crate::process::Process;
use crate::record::CacheKey;
use crate::record::{Event, Phase, Spot};
use crate::turns::{ATTEMPT_STEPS, OTHERS_STEPS, Slice};

/// The variable of the environment that tells a command its process...
pub(crate) const PROCESS_VARIABLE: &str = "XAVANTES_PROCESS";
/// ...its activity, by name...
pub(crate) const ACTIVITY_VARIABLE: &str = "XAVANTES_ACTIVITY";
/// ...and which attempt it is.
pub(crate) const ATTEMPT_VARIABLE: &str = "XAVANTES_ATTEMPT";

impl ProcessManager {
    /// Sends what is ready and has a place. Whether something has faulted by it.
    pub(crate) fn dispatch(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        id: ProcessId,
        slice: &mut Slice,
    ) -> bool {
        self.send_remakes(cx, now, id);
        let Some(known) = process(cx, id) else {
            return false;
        };
        if known.course.plan.generation.0 == 0 || known.index.ready.is_empty() {
            return false;
        }
        let mut chosen: Vec<(ResourceId, Epoch, Vec<ActivityId>)> = Vec::new();
        for (&place, queue) in &known.index.ready {
            // What a plan of an earlier definition left without a place runs where slots are held.
            // With leases it is planned again instead, since what was lost is without one too.
            let first = known.grants().next().map(|held| held.resource);
            let resource = place.or(first.filter(|_| self.config.lease.is_none()));
            let Some(resource) = resource else { continue };
            let slots = known.granted(resource);
            if !self.is_trusted(resource) {
                continue;
            }
            let Some(epoch) = self.machines.get(&resource).and_then(|link| link.epoch) else {
                continue;
            };
            let n_out = known.index.out.get(&resource).map_or(0, |out| out.len());
            let window = (slots * limits::WINDOW_PER_SLOT + limits::WINDOW_BASE) as usize;
            if slots == 0 || n_out >= window {
                continue;
            }
            let next = queue
                .iter()
                .map(|&(_, activity)| activity)
                .filter(|&activity| !known.awaits_remake(activity))
                .filter(|&activity| !self.is_held_back(id, activity))
                .take(window - n_out);
            chosen.push((resource, epoch, next.collect()));
        }
        let mut has_faulted = false;
        for (resource, epoch, activities) in chosen {
            has_faulted |= self.send(cx, now, id, (resource, epoch), activities, slice);
        }
        has_faulted
    }

    fn is_held_back(&self, id: ProcessId, activity: ActivityId) -> bool {
        let live = self.live.get(&id);
        live.is_some_and(|live| live.checks.hold_back(activity))
    }

    fn send(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        id: ProcessId,
        (resource, epoch): (ResourceId, Epoch),
        activities: Vec<ActivityId>,
        slice: &mut Slice,
    ) -> bool {
        let Some(known) = process(cx, id) else {
            return false;
        };
        let mut sent = Vec::with_capacity(activities.len());
        let mut messages = Vec::with_capacity(activities.len());
        let mut cache_keys = Vec::with_capacity(activities.len());
        let mut faults = Vec::new();
        let mut is_early = false;
        for activity in activities {
            if slice.is_used_up() {
                break;
            }
            let number = known.activity(activity).number + 1;
            let attempt = AttemptId {
                process: id,
                activity,
                number,
            };
            let mut evaluator = Evaluator::new(&mut self.programs);
            let message = resolve(known, attempt, &mut evaluator);
            slice.take(ATTEMPT_STEPS + evaluator.meter.steps());
            match message {
                Ok(mut message) => {
                    if !self.name_sources(now, known, resource, &mut message) {
                        is_early = true;
                        continue;
                    }
                    sent.push((activity, number, resource));
                    if let Some(declared) = known.definition().activity(activity) {
                        cache_keys.push(CacheKey::of(declared, &message));
                    }
                    messages.push(message);
                }
                Err(fault) => {
                    faults.push((activity, fault));
                    if !known.goes_on() {
                        break;
                    }
                }
            }
        }
        if !sent.is_empty() {
            if let Some(live) = self.live.get_mut(&id) {
                let unheard = live.unheard.entry(resource).or_default();
                unheard.extend(messages.iter().map(|message| message.attempt));
            }
            cx.record(Stream::Process(id), Event::Sent(sent, cache_keys));
            self.send_in_parts(cx, resource, epoch, messages);
            self.arm_once(Timer::Unheard(id, resource), now.mono + limits::REPEAT);
        }
        if is_early {
            self.arm_once(Timer::Recall(id), now.mono + limits::REPEAT);
        }
        let has_faulted = !faults.is_empty();
        for (activity, fault) in faults {
            // Each fault meets the controllers where the one before has left them.
            if let Some(known) = process(cx, id) {
                let event = fault_event(known, Some(Spot::Node(activity.node())), fault);
                cx.record(Stream::Process(id), event);
            }
        }
        has_faulted
    }

    /// Sends again what was sent and not heard of.
    pub(crate) fn repeat_unheard(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        id: ProcessId,
        resource: ResourceId,
    ) {
        let Some(live) = self.live.get_mut(&id) else {
            return;
        };
        let Some(known) = process(cx, id) else { return };
        let Some(unheard) = live.unheard.get_mut(&resource) else {
            return;
        };
        unheard.retain(|attempt| known.is_out(*attempt));
        if unheard.is_empty() {
            live.unheard.remove(&resource);
            return;
        }
        let Some(epoch) = self.machines.get(&resource).and_then(|link| link.epoch) else {
            return;
        };
        let unheard: Vec<AttemptId> = unheard.iter().copied().collect();
        let mut messages = Vec::new();
        let mut n_steps = 0;
        for attempt in unheard {
            let mut evaluator = Evaluator::new(&mut self.programs);
            let message = resolve(known, attempt, &mut evaluator);
            n_steps += ATTEMPT_STEPS + evaluator.meter.steps();
            if let Ok(mut message) = message
                && self.name_sources(now, known, resource, &mut message)
            {
                messages.push(message);
            }
            // The others follow when the first have been heard of.
            if n_steps > OTHERS_STEPS {
                break;
            }
        }
        self.send_in_parts(cx, resource, epoch, messages);
        self.arm(Timer::Unheard(id, resource), now.mono + limits::REPEAT);
    }

    /// An attempt was heard of: it need not be sent again.
    pub(crate) fn heard(
        &mut self,
        resource: ResourceId,
        attempts: impl Iterator<Item = AttemptId>,
    ) {
        for attempt in attempts {
            if let Some(live) = self.live.get_mut(&attempt.process)
                && let Some(unheard) = live.unheard.get_mut(&resource)
            {
                unheard.remove(&attempt);
            }
        }
    }

    /// Tells machines to stop what a process that ends still has out.
    pub(crate) fn stop_what_is_out(&mut self, cx: &mut Context<'_, Self>, now: Now, id: ProcessId) {
        let Some(known) = process(cx, id) else { return };
        match known.phase() {
            Phase::Faulting | Phase::Cancelling => {}
            Phase::Running | Phase::Completed | Phase::Faulted | Phase::Cancelled => return,
        }
        let mut by_machine: BTreeMap<ResourceId, Vec<AttemptId>> = BTreeMap::new();
        for (resource, attempt) in known.out() {
            by_machine.entry(resource).or_default().push(attempt);
        }
        for (resource, attempts) in by_machine {
            if self
                .machines
                .get(&resource)
                .is_some_and(|link| link.epoch.is_some())
            {
                for part in attempts.chunks(ATTEMPTS_MAX) {
                    cx.effect(Effect::ToActivity(
                        resource,
                        ToActivity::Stop(part.to_vec()),
                    ));
                }
            }
        }
        self.arm(Timer::Stop(id), now.mono + limits::REPEAT);
    }

    pub(crate) fn send_in_parts(
        &mut self,
        cx: &mut Context<'_, Self>,
        resource: ResourceId,
        epoch: Epoch,
        messages: Vec<Dispatch>,
    ) {
        let mut messages = messages.into_iter();
        loop {
            let attempts: Vec<Dispatch> = messages.by_ref().take(ATTEMPTS_MAX).collect();
            if attempts.is_empty() {
                return;
            }
            let message = ToActivity::Dispatch {
                meant_for: epoch,
                holders: self.holders(&attempts),
                attempts,
            };
            cx.effect(Effect::ToActivity(resource, message));
        }
    }
}

/// The attempt as it is sent: every expression evaluated, all of them within one meter.
pub(crate) fn resolve(
    process: &Process,
    attempt: AttemptId,
    evaluator: &mut Evaluator<'_>,
) -> Result<Dispatch, Box<Fault>> {
    let definition = process.definition();
    let activity_id = attempt.activity;
    let Some(activity) = definition.activity(activity_id) else {
        let message = format!("{activity_id} is no activity");
        return Err(Box::new(Fault::new(FaultName::Expression, message)));
    };
    let fault = |error: ExpressionError| {
        let name = &definition.node(activity_id.node()).name;
        Box::new(Fault::new(FaultName::Expression, format!("{name}: {error}")).of(activity_id))
    };
    let name = definition.node(activity_id.node()).name.clone();
    let mut env = vec![
        (PROCESS_VARIABLE.to_owned(), attempt.process.to_string()),
        (ACTIVITY_VARIABLE.to_owned(), name),
        (ATTEMPT_VARIABLE.to_owned(), attempt.number.to_string()),
    ];
    for (name, value) in &activity.env {
        let value = evaluator.text(value, process);
        env.push((name.clone(), value.map_err(fault)?));
    }
    let stdin = match &activity.stdin {
        None => WireStdin::Empty,
        Some(Stdin::File(path)) => WireStdin::File(path.clone()),
        Some(Stdin::Text(text)) => WireStdin::Text(evaluator.text(text, process).map_err(fault)?),
    };
    Ok(Dispatch {
        attempt,
        command: command(process, activity, evaluator).map_err(fault)?,
        env,
        stdin,
        inputs: staged(process, activity_id, activity)?,
        outputs: activity.outputs.clone(),
        wants_stdout: activity.stdout.is_some(),
        wants_stderr: activity.stderr.is_some(),
        cores: activity.cores,
        memory: activity.memory,
        timeout: activity.timeout,
        sources: Vec::new(),
        at_most_once: activity.at_most_once,
        user: process.user(),
    })
}

pub(crate) fn command(
    process: &Process,
    activity: &Activity,
    evaluator: &mut Evaluator<'_>,
) -> Result<Vec<String>, ExpressionError> {
    let Evaluator { programs, meter } = evaluator;
    match &activity.command {
        Command::List(parts) => {
            let mut words = Vec::with_capacity(parts.len());
            for part in parts {
                if part.0.contains("${") {
                    let text = programs.text(part)?;
                    words.extend(text.render_words(&scope(process), meter)?);
                } else {
                    meter.pass_bytes(part.0.len(), 0)?;
                    words.push(part.0.clone());
                }
            }
            Ok(words)
        }
        Command::Shell(line) => {
            let line = programs.text(line)?.render_shell(&scope(process), meter)?;
            Ok(vec!["/bin/sh".to_owned(), "-c".to_owned(), line])
        }
    }
}

/// What is laid into the directory of an attempt.
pub(crate) fn staged(
    process: &Process,
    id: ActivityId,
    activity: &Activity,
) -> Result<Vec<(String, Artifact)>, Box<Fault>> {
    let laid = laid(process, id, activity)?.into_iter();
    Ok(laid.map(|one| (one.path, one.artifact)).collect())
}

/// A file or directory that is laid into the directory of an attempt.
#[derive(Debug)]
pub(crate) struct Laid {
    pub(crate) path: String,
    pub(crate) artifact: Artifact,
    /// Where it comes from; none where it lay beside the definition.
    pub(crate) source: Option<Source>,
}

pub(crate) fn laid(
    process: &Process,
    id: ActivityId,
    activity: &Activity,
) -> Result<Vec<Laid>, Box<Fault>> {
    let files = process.definition().draft().files.iter();
    // An input lies over a file of the definition with its name.
    let inputs = activity.inputs.iter().filter(|_| !process.files.is_empty());
    let covered: BTreeSet<&str> = inputs
        .map(|input| input.path.trim_end_matches('/'))
        .collect();
    let mut laid: Vec<Laid> = files
        .zip(&process.files)
        .filter(|(path, _)| !covered.contains(path.as_str()))
        .map(|(path, &artifact)| Laid {
            path: path.clone(),
            artifact,
            source: None,
        })
        .collect();
    for input in &activity.inputs {
        match produced(process, input.source) {
            Some(Value::Artifact(artifact)) => {
                laid.push(Laid {
                    path: input.path.clone(),
                    artifact,
                    source: Some(input.source),
                });
            }
            Some(_) | None => return Err(missing(process, id, &input.path, input.source)),
        }
    }
    Ok(laid)
}

fn missing(process: &Process, id: ActivityId, path: &str, source: Source) -> Box<Fault> {
    let definition = process.definition();
    let name = &definition.node(id.node()).name;
    let message = match source {
        Source::Output { activity, .. } => {
            let producer = &definition.node(activity).name;
            format!("{name}: input `{path}` is not there, because `{producer}` was skipped")
        }
        Source::Input(input) => {
            let input = &definition.draft().inputs[input as usize].name;
            format!("{name}: input `{path}` is not there, because nothing was given for `{input}`")
        }
    };
    Box::new(Fault::new(FaultName::MissingOutput, message).of(id))
}
