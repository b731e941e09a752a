//! Why an activity is where it is: read from the state alone, so that it can be told of a process
//! whose manager does not run.

use std::collections::{BTreeSet, VecDeque};

use expression::Programs;
use machine::{Context, States};
use model::{ActivityId, Artifact, Fault, FaultName, Join, NodeId, NodeKind, ProcessId};
use wire::client::{self, Answer, Change, REASONS_MAX, Reason, Recall, Why};

use crate::cache_key::taken;
use crate::dispatch::staged;
use crate::evaluate::Evaluator;
use crate::index::has_ended;
use crate::io::Stream;
use crate::manager::{Live, ProcessManager, State, process};
use crate::process::Process;
use crate::recall::{captured_is_missing, memo_of};
use crate::record::CacheKey;
use crate::record::{ActivityPhase, LinkState, NodeState};

/// What a process waits for where nobody has said.
const NO_PLAN: &str = "a plan";

impl ProcessManager {
    pub(crate) fn why(
        &self,
        cx: &Context<'_, Self>,
        id: ProcessId,
        activity: ActivityId,
    ) -> Answer {
        let Some(known) = process(cx, id) else {
            return Answer::Unknown(id);
        };
        let mut answer = answer(cx.states(), known, activity, self.live.get(&id));
        if let Answer::Why(why) = &mut answer
            && let Some(hindrance) = self.hindrance(known, activity)
        {
            why.reasons.push(Reason::Uncopied(hindrance));
        }
        answer
    }
}

/// Why an activity of a process is where it is, as far as it is recorded.
pub fn why(states: &States<ProcessManager>, process: &Process, activity: ActivityId) -> Answer {
    answer(states, process, activity, None)
}

fn answer(
    states: &States<ProcessManager>,
    process: &Process,
    activity: ActivityId,
    live: Option<&Live>,
) -> Answer {
    if process.definition().activity(activity).is_none() {
        let id = process.id();
        return Answer::Refused(vec![format!("process {id} has no activity {activity}")]);
    }
    let runs = live.is_some_and(|live| live.running.contains_key(&activity));
    let phase = process.activity(activity).phase;
    let mut reasons = reasons(process, activity, phase, live);
    let mut seen: Vec<Reason> = Vec::new();
    reasons.retain(|reason| {
        let is_first = !seen.contains(reason);
        if is_first {
            seen.push(reason.clone());
        }
        is_first
    });
    Answer::Why(Box::new(Why {
        activity,
        phase: if phase == ActivityPhase::Sent && runs {
            client::ActivityPhase::Running
        } else {
            phase.into()
        },
        reasons,
        recall: recall(states, process, activity),
    }))
}

/// The nearest first; whoever adds to them stops at [`REASONS_MAX`].
fn reasons(
    process: &Process,
    activity: ActivityId,
    phase: ActivityPhase,
    live: Option<&Live>,
) -> Vec<Reason> {
    match phase {
        ActivityPhase::Waiting => waiting(process, activity),
        ActivityPhase::Ready => vec![ready(process, activity, live)],
        ActivityPhase::Backoff => {
            let until = process.course.backoff.get(&activity);
            let backoff = until.map(|&until| Reason::Backoff { until });
            backoff.into_iter().collect()
        }
        ActivityPhase::Sent | ActivityPhase::Completed => Vec::new(),
        ActivityPhase::Faulted => vec![Reason::Fault(Box::new(fault(process, activity)))],
        ActivityPhase::Skipped => skipped(process, activity.node()),
        ActivityPhase::Stopped => vec![Reason::Ended(process.phase().into())],
    }
}

/// Nodes from a node up to the root.
fn upwards(process: &Process, node: NodeId) -> impl Iterator<Item = NodeId> {
    std::iter::successors(Some(node), |&at| process.definition().parent(at))
}

/// What must end before the activity's turn comes: along its links, and before it in the sequences
/// that it is in.
fn waiting(process: &Process, activity: ActivityId) -> Vec<Reason> {
    let definition = process.definition();
    let control = &process.course.control;
    let mut reasons = Vec::new();
    for node in upwards(process, activity.node()) {
        if control.node(node) == NodeState::Running {
            break;
        }
        for &number in definition.incoming(node) {
            if control.link(number) == LinkState::Unknown {
                let from = definition.links()[number as usize].1.from;
                open_below(process, from, &mut reasons);
            }
        }
        let Some(parent) = definition.parent(node) else {
            break;
        };
        if let NodeKind::Sequence(children) = &definition.node(parent).kind {
            let earlier = children.iter().take_while(|&&child| child != node);
            let earlier: Vec<NodeId> = earlier.copied().collect();
            let n_before = reasons.len();
            for &child in earlier.iter().rev() {
                if reasons.len() > n_before {
                    break;
                }
                open_below(process, child, &mut reasons);
            }
        }
    }
    reasons
}

/// Activities below a node that have not ended.
fn open_below(process: &Process, node: NodeId, reasons: &mut Vec<Reason>) {
    let mut open = vec![node];
    while let Some(below) = open.pop() {
        if reasons.len() >= REASONS_MAX {
            return;
        }
        let node = process.definition().node(below);
        if let NodeKind::Activity(_) = &node.kind {
            let activity = ActivityId(below.0);
            let phase = process.activity(activity).phase;
            if !has_ended(phase) {
                let phase = phase.into();
                reasons.push(Reason::After { activity, phase });
            }
        }
        open.extend(node.children().iter().rev());
    }
}

fn ready(process: &Process, activity: ActivityId, live: Option<&Live>) -> Reason {
    let entry = process.course.plan.entry(activity);
    let resource = entry
        .map(|entry| entry.resource)
        .or_else(|| process.grants().next().map(|grant| grant.resource));
    let (Some(resource), true) = (resource, process.course.plan.generation.0 > 0) else {
        let waiting_for = live.and_then(|live| live.waiting_for.clone());
        return Reason::Machines(waiting_for.unwrap_or_else(|| NO_PLAN.to_owned()));
    };
    let queue = process.index.ready.get(&entry.map(|entry| entry.resource));
    let n_before = queue.map_or(0, |queue| {
        let before = queue.iter().take_while(|(_, other)| *other != activity);
        before.count() as u32
    });
    let out = process.index.out.get(&resource);
    Reason::Queue {
        resource,
        n_before,
        n_out: out.map_or(0, |out| out.len() as u32),
    }
}

/// The fault of an activity: only so many are kept with all that is known of them.
fn fault(process: &Process, activity: ActivityId) -> Fault {
    let faults = &process.course.faults;
    let kept = faults.iter().find(|fault| fault.activity == Some(activity));
    let state = process.activity(activity);
    kept.cloned().unwrap_or_else(|| Fault {
        attempt: state.number,
        resource: (state.number > 0).then_some(state.resource),
        exit_code: state.has_exit_code.then_some(state.exit_code),
        ..Fault::new(FaultName::ExitCode, "it failed; what it said is not kept").of(activity)
    })
}

fn skipped(process: &Process, node: NodeId) -> Vec<Reason> {
    let control = &process.course.control;
    match control.node(node) {
        NodeState::Skipped => {
            // Whatever is below a node that is skipped is skipped with it.
            let top = upwards(process, node)
                .take_while(|&at| control.node(at) == NodeState::Skipped)
                .last()
                .unwrap_or(node);
            false_join(process, top)
        }
        NodeState::Broken => broken(process, node),
        NodeState::Idle | NodeState::Enabled | NodeState::Running | NodeState::Done => {
            vec![Reason::Ended(process.phase().into())]
        }
    }
}

fn false_join(process: &Process, node: NodeId) -> Vec<Reason> {
    let definition = process.definition();
    if let Join::When(_) = definition.node(node).join {
        return vec![Reason::Join(node)];
    }
    let incoming = definition.incoming(node).iter();
    incoming
        .filter(|&&number| process.course.control.link(number) == LinkState::False)
        .map(|&number| Reason::Link {
            from: definition.links()[number as usize].1.from,
            to: node,
        })
        .take(REASONS_MAX)
        .collect()
}

/// The faults for which a node does not run: whatever is broken that it waits for, followed back to
/// where it began.
fn broken(process: &Process, node: NodeId) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let mut seen = BTreeSet::from([node]);
    let mut open = VecDeque::from([node]);
    while let Some(at) = open.pop_front() {
        if reasons.len() >= REASONS_MAX {
            break;
        }
        for cause in causes(process, at) {
            faults_below(process, cause, &mut seen, &mut open, &mut reasons);
        }
    }
    if reasons.is_empty() {
        // The fault is of its own join.
        reasons.push(Reason::Broken(node));
    }
    reasons
}

fn is_broken(process: &Process, node: NodeId) -> bool {
    process.course.control.node(node) == NodeState::Broken
}

/// The nodes for which a broken node does not run: the sources of broken links to it or to what is
/// around it, and what came before in its sequences. None where it faulted itself.
fn causes(process: &Process, node: NodeId) -> Vec<NodeId> {
    let definition = process.definition();
    let mut causes = Vec::new();
    for above in upwards(process, node).take_while(|&above| is_broken(process, above)) {
        let incoming = definition.incoming(above).iter();
        let broken =
            incoming.filter(|&&number| process.course.control.link(number) == LinkState::Broken);
        causes.extend(broken.map(|&number| definition.links()[number as usize].1.from));
        let parent = definition
            .parent(above)
            .map(|parent| definition.node(parent));
        if let Some(NodeKind::Sequence(children)) = parent.map(|parent| &parent.kind) {
            let before = children.iter().take_while(|&&child| child != above);
            let broken = before.copied().find(|&child| is_broken(process, child));
            causes.extend(broken);
        }
    }
    causes
}

/// What faulted itself below a broken node; what only depends on a fault is looked at in its turn.
fn faults_below(
    process: &Process,
    node: NodeId,
    seen: &mut BTreeSet<NodeId>,
    open: &mut VecDeque<NodeId>,
    reasons: &mut Vec<Reason>,
) {
    if !is_broken(process, node) {
        // It ended well; the condition of its link faulted.
        reasons.push(Reason::Broken(node));
        return;
    }
    let definition = process.definition();
    let mut below = vec![node];
    while let Some(at) = below.pop() {
        if !is_broken(process, at) || !seen.insert(at) {
            continue;
        }
        let has_faulted = match &definition.node(at).kind {
            NodeKind::Activity(_) => {
                process.activity(ActivityId(at.0)).phase == ActivityPhase::Faulted
            }
            NodeKind::Assign(_) | NodeKind::Empty => causes(process, at).is_empty(),
            NodeKind::Sequence(_) | NodeKind::Parallel { .. } => false,
        };
        if has_faulted {
            reasons.push(Reason::Broken(at));
        } else if definition.node(at).children().is_empty() {
            open.push_back(at);
        }
        below.extend(definition.node(at).children().iter().rev());
    }
}

/// Whether a recorded outcome stands for an activity or could have; none where it has not come to
/// that, or nobody asked for it.
fn recall(
    states: &States<ProcessManager>,
    process: &Process,
    activity: ActivityId,
) -> Option<Recall> {
    if let Some(recalled) = process.course.reused.get(&activity) {
        return Some(Recall::Stands(recalled.of));
    }
    let node = process.definition().node(activity.node());
    let declared = process.definition().activity(activity)?;
    if process.base.is_none() && !declared.cache {
        return None;
    }
    let phase = process.activity(activity).phase;
    let cache_key = match process.course.cache_keys.get(&activity) {
        Some(cache_key) => *cache_key,
        None if phase == ActivityPhase::Ready => {
            let mut programs = Programs::default();
            memo_of(process, activity, &mut Evaluator::new(&mut programs))?
        }
        None => return None,
    };
    let Some(base) = process.base else {
        return Some(Recall::Nothing);
    };
    let Some(State::Process(base)) = states.get(Stream::Process(base)) else {
        return Some(Recall::Absent);
    };
    let ids = base.definition().activities().iter();
    let same_name = |id: &&ActivityId| base.definition().node(id.node()).name == node.name;
    let Some(&source) = ids.clone().find(same_name) else {
        return Some(Recall::Absent);
    };
    let there = base.activity(source).phase;
    if there != ActivityPhase::Completed {
        return Some(Recall::NotCompleted(there.into()));
    }
    let Some(before) = base.course.cache_keys.get(&source) else {
        return Some(Recall::Nothing);
    };
    if before.key == cache_key.key && captured_is_missing(base, source) {
        return Some(Recall::TooLong);
    }
    Some(Recall::Changed(changes(
        (base, source, before),
        (process, activity, &cache_key),
    )))
}

/// What decides an outcome, of one process and of another.
type Decided<'a> = (&'a Process, ActivityId, &'a CacheKey);

fn changes(before: Decided<'_>, after: Decided<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    if before.2.command != after.2.command {
        changes.push(Change::Command);
    }
    if before.2.environment != after.2.environment {
        changes.push(Change::Environment);
    }
    let laid = |(process, id, _): Decided<'_>| -> Vec<(String, Artifact)> {
        let activity = process.definition().activity(id);
        let staged = activity.and_then(|activity| staged(process, id, activity).ok());
        staged.unwrap_or_default()
    };
    let (old, new) = (laid(before), laid(after));
    let gone = old.iter().filter(|one| !new.contains(one));
    let come = new.iter().filter(|one| !old.contains(one));
    let paths: BTreeSet<&String> = gone.chain(come).map(|(path, _)| path).collect();
    if !paths.is_empty() {
        let paths = paths.into_iter().take(REASONS_MAX).cloned();
        changes.push(Change::Inputs(paths.collect()));
    }
    let of = |(process, id, _): Decided<'_>| {
        let activity = process.definition().activity(id);
        activity.map(|activity| {
            let (outputs, stdout, stderr) = taken(activity);
            (outputs.to_vec(), stdout, stderr)
        })
    };
    if of(before) != of(after) || changes.is_empty() {
        changes.push(Change::Outputs);
    }
    changes
}
