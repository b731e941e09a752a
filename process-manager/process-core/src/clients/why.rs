//! Reasons for the phase of an activity: read from the state alone, so that they are known of a
//! process whose manager does not run.

use std::collections::{BTreeSet, VecDeque};

use expression::Programs;
use model::{
    ActivityId, AttemptId, Caching, Fault, FaultName, ForEach, Join, Node, NodeId, NodeKind,
    ProcessId,
};
use wire::client::{self, Answer, ItemsAhead, REASONS_MAX, RaceCause, Raced, Reason, Recall, Why};

use super::Shown;
use crate::dispatch::{Commands, FullLimit, Grid, command_of};
use crate::enact::compare::compared;
use crate::enact::evaluate::Evaluator;
use crate::enact::reuse::{memo_of, runs_each_time};
use crate::process::Process;
use crate::process::index::has_ended;
use crate::record::{ActivityPhase, LinkState, NodeState};
use crate::step::Step;

/// The object of a process's wait if no other is known.
const NO_PLAN: &str = "a plan";

/// Volatile state of a process, where its manager runs.
#[derive(Clone, Default)]
pub(super) struct Seen<'a> {
    pub(super) running: Option<&'a Commands>,
    pub(super) waiting_for: Option<String>,
}

/// The reasons for the phase of an activity, as a manager that runs knows them.
pub(super) fn answer_why(
    step: &Step<'_>,
    shown: Shown<'_>,
    id: ProcessId,
    activity: ActivityId,
) -> Answer {
    let Some(known) = step.cx.process(id) else {
        return Answer::Unknown(id);
    };
    let Grid {
        machines,
        market,
        files,
    } = shown.grid;
    let base = known.base.and_then(|base| step.cx.process(base));
    let turn = market.turn(step, (shown.grid.machines, shown.attempts), id);
    let turn = turn.map(|turn| turn.words(step.now.wall));
    let waiting_for = market.waiting_for(known).or(Some(NO_PLAN.to_owned()));
    let waiting_for = waiting_for.into_iter().chain(turn);
    let waiting_for = waiting_for.chain(market.all_unavailable());
    let seen = Seen {
        running: shown.attempts.running(id),
        waiting_for: Some(waiting_for.collect::<Vec<String>>().join("; ")),
    };
    let mut answer = answer(base, known, activity, seen);
    if let Answer::Why(told) = &mut answer
        && known.activity(activity).phase == ActivityPhase::Ready
    {
        let entry = known.state.plan.entry(activity);
        let unavailable = entry.and_then(|entry| market.unavailable(entry.resource));
        if let Some(why) = unavailable {
            // It goes elsewhere where another machine fits; until then this is what it waits for.
            let machine = Reason::Machines(format!("its machine: {why}"));
            told.reasons.insert(0, machine);
            told.reasons.truncate(REASONS_MAX);
        }
        if let Some(round) = market.later_round(known, activity) {
            // It stands in no queue before its round.
            let is_queue = |reason: &Reason| matches!(reason, Reason::Queue { .. });
            told.reasons.retain(|reason| !is_queue(reason));
            told.reasons.insert(0, Reason::Round(Box::new(round)));
            told.reasons.truncate(REASONS_MAX);
        }
        let awaited = files.awaited(machines, known, activity).into_iter();
        let passing = awaited.map(|(maker, resource)| Reason::Passing { maker, resource });
        let room = REASONS_MAX.saturating_sub(told.reasons.len());
        told.reasons.splice(0..0, passing.take(room));
        let full = shown.attempts.full_limits(step, known, activity);
        // They come before the queue that it stands in.
        let room = REASONS_MAX.saturating_sub(told.reasons.len());
        told.reasons
            .splice(0..0, full.into_iter().take(room).map(limit));
    }
    if let Answer::Why(why) = &mut answer {
        for reason in &mut why.reasons {
            let Reason::Tries { memory, .. } = reason else {
                continue;
            };
            let entry = known.state.plan.entry(activity);
            let there = entry.and_then(|entry| market.memory_of(entry.resource));
            if let (Some(memory), Some(there)) = (memory, there) {
                *memory = there.min(*memory);
            }
        }
    }
    if let Answer::Why(told) = &mut answer
        && known.activity(activity).phase == ActivityPhase::Sent
        && let Some((began, _)) = command_of(shown.attempts.running(id), known, activity)
    {
        let number = known.activity(activity).number;
        let attempt = AttemptId {
            process: id,
            activity,
            number,
        };
        let late = market.lateness(step, known, attempt, began);
        told.reasons.splice(0..0, late.map(Reason::Late));
        told.reasons.truncate(REASONS_MAX);
    }
    if let Answer::Why(why) = &mut answer
        && let Some(hindrance) = files.hindrance(step, machines, known, activity)
    {
        why.reasons.push(Reason::Uncopied(hindrance));
    }
    answer
}

/// The reasons for the phase of an activity, as far as they are recorded. `base` is the process
/// whose outcomes it reuses, if that is known.
pub fn why(base: Option<&Process>, process: &Process, activity: ActivityId) -> Answer {
    answer(base, process, activity, Seen::default())
}

fn answer(
    base: Option<&Process>,
    process: &Process,
    activity: ActivityId,
    seen: Seen<'_>,
) -> Answer {
    if process.definition().activity_as_written(activity).is_none() {
        let id = process.id();
        return Answer::Refused(vec![format!("process {id} has no activity {activity}")]);
    }
    Answer::Why(Box::new(explain(base, process, activity, seen)))
}

/// The explanation of one of a process's activities.
pub(super) fn explain(
    base: Option<&Process>,
    process: &Process,
    activity: ActivityId,
    seen: Seen<'_>,
) -> Why {
    let runs = command_of(seen.running, process, activity).is_some();
    let phase = process.activity(activity).phase;
    let race = race(process, activity, seen.running);
    let mut reasons = reasons(process, activity, phase, seen);
    if reasons.len() < REASONS_MAX {
        reasons.extend(tries(process, activity, phase));
    }
    if reasons.len() < REASONS_MAX {
        reasons.extend(each_run(process, activity, phase));
    }
    if reasons.len() < REASONS_MAX {
        reasons.extend(race);
    }
    let mut seen: Vec<Reason> = Vec::new();
    reasons.retain(|reason| {
        let is_first = !seen.contains(reason);
        if is_first {
            seen.push(reason.clone());
        }
        is_first
    });
    let (moves, n_moves) = process.moves_of(activity);
    Why {
        activity,
        phase: if phase == ActivityPhase::Sent && runs {
            client::ActivityPhase::Running
        } else {
            phase.into()
        },
        reasons,
        recall: recall(base, process, activity),
        moves,
        n_moves,
    }
}

/// The attempts at an activity that run beside each other, or of which one has had the result before the others.
fn race(process: &Process, activity: ActivityId, running: Option<&Commands>) -> Option<Reason> {
    let declared = process.definition().activity_as_written(activity)?;
    if !declared.repeatable {
        return None;
    }
    let state = process.activity(activity);
    let has_result = match state.phase {
        ActivityPhase::Completed | ActivityPhase::Faulted => true,
        ActivityPhase::Waiting
        | ActivityPhase::Ready
        | ActivityPhase::Backoff
        | ActivityPhase::Sent
        | ActivityPhase::Skipped
        | ActivityPhase::Stopped => false,
    };
    let mut attempts = process.attempts(activity);
    attempts.sort_by_key(|one| one.attempt.number);
    // One that was lost or given back before the others began was not in the race.
    let raced = attempts.into_iter().filter(|one| match one.end.as_deref() {
        None => true,
        Some(end) => {
            let is_result = has_result && one.attempt.number == state.number;
            is_result || has_result && matches!(end, "stopped" | "too late")
        }
    });
    let raced = raced.map(|one| {
        let key = (activity, one.attempt.number);
        let starts = running.and_then(|running| running.get(&key));
        Raced {
            number: one.attempt.number,
            resource: one.resource,
            started: one.started.or(starts.map(|&(at, _)| at)),
            counts: has_result && one.attempt.number == state.number,
            end: one.end,
        }
    });
    let attempts: Vec<Raced> = raced.take(REASONS_MAX).collect();
    let cause = match declared.n_replicas() {
        1 => RaceCause::Straggler,
        n => RaceCause::Replicas(n),
    };
    (attempts.len() > 1).then_some(Reason::Race { cause, attempts })
}

/// The reason why a command that was run is run by each `xav run`, of a process without an owner: on a grid only
/// what says so recalls outcomes of other processes.
fn each_run(process: &Process, activity: ActivityId, phase: ActivityPhase) -> Option<Reason> {
    let was_run = phase == ActivityPhase::Completed && process.details(activity).reused.is_none();
    if !was_run || process.owner.is_some() || process.base.is_some() {
        return None;
    }
    runs_each_time(process, activity).map(Reason::EachRun)
}

fn limit(full: FullLimit) -> Reason {
    let FullLimit {
        name,
        n_units,
        most,
        mut holders,
        n_others,
    } = full;
    holders.truncate(REASONS_MAX);
    Reason::Limit {
        name,
        n_units,
        most,
        holders,
        n_others,
    }
}

/// The tries of an activity that is tried again.
fn tries(process: &Process, activity: ActivityId, phase: ActivityPhase) -> Option<Reason> {
    let is_shown = match phase {
        ActivityPhase::Ready
        | ActivityPhase::Backoff
        | ActivityPhase::Sent
        | ActivityPhase::Faulted => true,
        ActivityPhase::Waiting
        | ActivityPhase::Completed
        | ActivityPhase::Skipped
        | ActivityPhase::Stopped => false,
    };
    let state = process.activity(activity);
    let declared = process.definition().activity_as_written(activity)?;
    let has_faulted = phase == ActivityPhase::Faulted;
    if !is_shown || state.n_failed == 0 && !(has_faulted && declared.retry.attempts > 1) {
        return None;
    }
    let details = process.details(activity);
    // The last try is among the earlier ones where another one follows.
    let last = has_faulted.then(|| fault(process, activity).name.to_string());
    let earlier = details.earlier.iter().map(|past| past.end.clone());
    let grows = declared.retry.memory_percent.is_some();
    Some(Reason::Tries {
        n_failed: u32::from(state.n_failed) + u32::from(has_faulted),
        most: declared.retry.attempts,
        ends: earlier.chain(last).take(REASONS_MAX).collect(),
        memory: process.memory_asked(activity).filter(|_| grows),
    })
}

/// The reasons for a phase, the nearest first. Functions that add reasons stop at [`REASONS_MAX`].
fn reasons(
    process: &Process,
    activity: ActivityId,
    phase: ActivityPhase,
    seen: Seen<'_>,
) -> Vec<Reason> {
    match phase {
        ActivityPhase::Waiting => waiting(process, activity),
        ActivityPhase::Ready => vec![ready(process, activity, seen)],
        ActivityPhase::Backoff => {
            let until = process.details(activity).backoff;
            let backoff = until.map(|until| Reason::Backoff { until });
            backoff.into_iter().collect()
        }
        ActivityPhase::Sent | ActivityPhase::Completed => Vec::new(),
        ActivityPhase::Faulted => vec![Reason::Fault(Box::new(fault(process, activity)))],
        ActivityPhase::Skipped => skipped(process, activity.node()),
        ActivityPhase::Stopped if !had_enough(process, activity.node()).is_empty() => {
            had_enough(process, activity.node())
        }
        ActivityPhase::Stopped => vec![Reason::Ended(process.phase().into())],
    }
}

/// Nodes from a node up to the root.
fn upwards(process: &Process, node: NodeId) -> impl Iterator<Item = NodeId> {
    std::iter::successors(Some(node), |&at| process.definition().parent(at))
}

/// The nodes that must end before the activity can run: sources of its links, and earlier nodes in
/// the sequences that it is in.
fn waiting(process: &Process, activity: ActivityId) -> Vec<Reason> {
    let definition = process.definition();
    let frame = &process.state.frame;
    let mut reasons = Vec::new();
    for node in upwards(process, activity.node()) {
        if frame.node(node) == NodeState::Running {
            break;
        }
        for &number in definition.incoming(node) {
            if frame.link(number) == LinkState::Unknown {
                let from = definition.links()[number as usize].1.from;
                open_below(process, from, &mut reasons);
            }
        }
        let Some(parent) = definition.parent(node) else {
            break;
        };
        match &definition.node(parent).kind {
            NodeKind::Sequence(children) => {
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
            NodeKind::ForEach(each) => {
                reasons.extend(items_ahead(process, parent, each, node).map(Reason::Items));
            }
            NodeKind::Activity(_)
            | NodeKind::Assign(_)
            | NodeKind::Empty
            | NodeKind::If { .. }
            | NodeKind::Parallel { .. }
            | NodeKind::Repeat(_) => {}
        }
    }
    reasons.truncate(REASONS_MAX);
    reasons
}

/// The items that the body of one waits for, where its for-each runs and has begun as many as it does at a time.
fn items_ahead(process: &Process, id: NodeId, each: &ForEach, body: NodeId) -> Option<ItemsAhead> {
    let frame = &process.state.frame;
    let at_most = each.at_most?;
    let has_begun = |&child: &NodeId| frame.node(child) != NodeState::Idle;
    if frame.node(id) != NodeState::Running || has_begun(&body) {
        return None;
    }
    let n_begun = each.children.partition_point(has_begun);
    let place = each.children.iter().position(|&child| child == body)?;
    let goes_on =
        |child: &NodeId| matches!(frame.node(*child), NodeState::Enabled | NodeState::Running);
    // As many as it does at a time are open at most; they need not be the last ones that began.
    let open = each.children[..n_begun].iter().copied().filter(goes_on);
    Some(ItemsAhead {
        each: id,
        at_most,
        begun: open.take(REASONS_MAX).collect(),
        n_before: u32::try_from(place.checked_sub(n_begun)?).unwrap_or(u32::MAX),
    })
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

fn ready(process: &Process, activity: ActivityId, seen: Seen<'_>) -> Reason {
    let entry = process.state.plan.entry(activity);
    let resource = entry
        .map(|entry| entry.resource)
        .or_else(|| process.grants().next().map(|grant| grant.resource));
    let (Some(resource), true) = (resource, process.state.plan.generation.0 > 0) else {
        let waiting_for = seen.waiting_for;
        return Reason::Machines(waiting_for.unwrap_or_else(|| NO_PLAN.to_owned()));
    };
    let queue = process.index.ready.get(&entry.map(|entry| entry.resource));
    let n_before = queue.map_or(0, |queue| queue.n_before(activity) as u32);
    Reason::Queue {
        resource,
        n_before,
        n_out: process.n_out_at(resource) as u32,
    }
}

/// The fault of an activity: only so many are kept with all that is known of them.
fn fault(process: &Process, activity: ActivityId) -> Fault {
    let faults = &process.state.faults;
    let of = |of: ActivityId| faults.iter().find(move |fault| fault.activity == Some(of));
    // Where files could not be made again, the fault is of whoever had made them.
    let kept = of(activity).or_else(|| process.makers(activity).find_map(of));
    let state = process.activity(activity);
    kept.cloned().unwrap_or_else(|| Fault {
        attempt: state.number,
        resource: (state.number > 0).then_some(state.resource),
        exit_code: state.details().exit_code,
        ..Fault::new(FaultName::ExitCode, "it failed; what it said is not kept").of(activity)
    })
}

fn skipped(process: &Process, node: NodeId) -> Vec<Reason> {
    let frame = &process.state.frame;
    match frame.node(node) {
        NodeState::Skipped => {
            // All nodes below a skipped node are skipped with it.
            let top = upwards(process, node)
                .take_while(|&at| frame.node(at) == NodeState::Skipped)
                .last()
                .unwrap_or(node);
            let enough = had_enough(process, top);
            if !enough.is_empty() {
                return enough;
            }
            match branch_not_taken(process, top) {
                Some(reason) => vec![reason],
                None => false_join(process, top),
            }
        }
        NodeState::Broken => broken(process, node),
        NodeState::Idle | NodeState::Enabled | NodeState::Running | NodeState::Done => {
            vec![Reason::Ended(process.phase().into())]
        }
    }
}

/// The for-each that has ended without the body that a skipped node lies in, if there is one.
fn had_enough(process: &Process, node: NodeId) -> Vec<Reason> {
    let frame = &process.state.frame;
    let enclosing = process.definition().enclosing(node);
    let without = enclosing
        .filter(|around| frame.node(around.body) == NodeState::Skipped)
        .map(|around| around.each)
        .filter(|&each| process.definition().n_enough(each).is_some())
        .filter(|&each| matches!(frame.node(each), NodeState::Done | NodeState::Broken));
    without.last().map(Reason::Enough).into_iter().collect()
}

/// The `if` that a skipped node is a branch of, where not its own join kept it from running.
fn branch_not_taken(process: &Process, node: NodeId) -> Option<Reason> {
    let definition = process.definition();
    let frame = &process.state.frame;
    let of = definition.parent(node)?;
    let NodeKind::If { children, .. } = &definition.node(of).kind else {
        return None;
    };
    let ran = |child: &&NodeId| frame.node(**child) != NodeState::Skipped;
    let taken = children.iter().find(ran).copied();
    // If no branch ran, this one may have been taken and then skipped for its links.
    let has_false_link = !false_join(process, node).is_empty();
    (taken.is_some() || !has_false_link).then_some(Reason::Branch { of, taken })
}

fn false_join(process: &Process, node: NodeId) -> Vec<Reason> {
    let definition = process.definition();
    if let Join::When(_) = definition.as_written(node).join {
        return vec![Reason::Join(node)];
    }
    let incoming = definition.incoming(node).iter();
    incoming
        .filter(|&&number| process.state.frame.link(number) == LinkState::False)
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
        let causes = causes(process, at);
        if causes.is_empty() {
            reasons.push(Reason::Broken(condition_around(process, at)));
        }
        for cause in causes {
            faults_below(process, cause, &mut seen, &mut open, &mut reasons);
        }
    }
    reasons
}

/// The node with a condition that faulted, where nothing else broke this one: its own join, the join
/// of a controller around it, or an `if`.
fn condition_around(process: &Process, node: NodeId) -> NodeId {
    let mut above = upwards(process, node).take_while(|&above| is_broken(process, above));
    let has_condition = |&above: &NodeId| {
        let Node { kind, join, .. } = process.definition().node(above);
        matches!(kind, NodeKind::If { .. }) || matches!(join, Join::When(_))
    };
    above.find(has_condition).unwrap_or(node)
}

fn is_broken(process: &Process, node: NodeId) -> bool {
    process.state.frame.node(node) == NodeState::Broken
}

/// The nodes for which a broken node does not run: the sources of broken links to it or to what is
/// around it, and what came before in its sequences. None where it faulted itself.
fn causes(process: &Process, node: NodeId) -> Vec<NodeId> {
    let definition = process.definition();
    let mut causes = Vec::new();
    for above in upwards(process, node).take_while(|&above| is_broken(process, above)) {
        let incoming = definition.incoming(above).iter();
        let broken =
            incoming.filter(|&&number| process.state.frame.link(number) == LinkState::Broken);
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

/// The nodes below a broken node that faulted themselves; a node that only depends on a fault goes
/// to `open`, to be examined later.
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
            NodeKind::If { .. } | NodeKind::ForEach(_) | NodeKind::Repeat(_) => {
                if is_condition_broken(process, at) {
                    reasons.push(Reason::Broken(at));
                    continue;
                }
                false
            }
            NodeKind::Sequence(_) | NodeKind::Parallel { .. } => false,
        };
        if has_faulted {
            reasons.push(Reason::Broken(at));
        } else if definition.children(at).is_empty() {
            open.push_back(at);
        }
        below.extend(definition.children(at).iter().rev());
    }
}

/// Returns true if a condition of a broken `if` or loop, or the list of a broken `for-each`, faulted: then
/// all nodes below it are broken, and none of them ran, but for the earlier iterations of a loop.
fn is_condition_broken(process: &Process, node: NodeId) -> bool {
    let definition = process.definition();
    if let NodeKind::Repeat(repeat) = &definition.node(node).kind
        && definition.is_expanded(node)
    {
        return !repeat.children.iter().any(|&body| is_broken(process, body));
    }
    let mut open = process.definition().children(node).to_vec();
    while let Some(below) = open.pop() {
        let has_run = process
            .definition()
            .activity_as_written(ActivityId(below.0))
            .is_some()
            && process.activity(ActivityId(below.0)).phase != ActivityPhase::Skipped;
        if has_run || !is_broken(process, below) {
            return false;
        }
        open.extend(process.definition().children(below));
    }
    causes(process, node).is_empty()
}

/// The result of the cache lookup for an activity; none if it has not come to that, or no reuse was
/// asked for.
fn recall(base: Option<&Process>, process: &Process, activity: ActivityId) -> Option<Recall> {
    if let Some(recalled) = process.details(activity).reused {
        return Some(Recall::Stands(recalled.of));
    }
    let node = process.definition().node(activity.node());
    let declared = process.definition().activity_as_written(activity)?;
    if process.base.is_none() && declared.cache != Caching::Always {
        return None;
    }
    let phase = process.activity(activity).phase;
    let cache_key = match process.details(activity).cache_key {
        Some(cache_key) => cache_key,
        None if phase == ActivityPhase::Ready => {
            let mut programs = Programs::default();
            memo_of(process, activity, &mut Evaluator::new(&mut programs))?
        }
        None => return None,
    };
    if process.base.is_none() {
        return Some(Recall::Nothing);
    }
    let Some(base) = base else {
        return Some(Recall::Absent);
    };
    let ids = base.definition().activities().iter();
    let same_name = |id: &&ActivityId| base.definition().name_of(id.node()) == node.name;
    let Some(&source) = ids.clone().find(same_name) else {
        return Some(Recall::Absent);
    };
    Some(compared((base, source), (process, activity), &cache_key))
}
