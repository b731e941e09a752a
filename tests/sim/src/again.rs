//! Processes that are run again: mended, changed, or only asked for once more.

use model::{ActivityId, Caching, Node, NodeKind, Template, Value, Work};
use simulator::generate::Generated;
use simulator::meaning::Term;
use simulator::{Random, Rate};

/// The share of processes that are run again on top of their outcomes.
const MENDED: Rate = Rate::percent(30);
/// The share of processes with a twin that knows nothing of them, and may take outcomes from anywhere.
const CACHED: Rate = Rate::percent(8);

/// Adds a process, and sometimes what is run after it on top of it, and once more on top of that.
pub(crate) fn follow(random: &mut Random, generated: Generated, all: &mut Vec<Generated>) {
    let mut last = generated;
    while random.happens(MENDED) && all.len() < 4 {
        let mut next = again(random, &last);
        next.submit.base = Some(last.submit.key.process());
        all.push(std::mem::replace(&mut last, next));
    }
    if random.happens(CACHED) {
        let mut twin = again(random, &last);
        for node in &mut twin.submit.draft.nodes {
            if let NodeKind::Activity(activity) = &mut node.kind {
                activity.cache = match random.happens(Rate::percent(80)) {
                    true => Caching::Always,
                    false => Caching::Never,
                };
            }
        }
        all.push(twin);
    }
    all.push(last);
}

/// The same process under another key: what never ended well mostly does, and something else may
/// have changed.
fn again(random: &mut Random, before: &Generated) -> Generated {
    let mut next = before.clone();
    next.submit.key = model::SubmitKey(random.draw());
    if random.happens(Rate::percent(70)) {
        next.behaviours
            .retain(|_, behaviour| behaviour.n_failing < u32::MAX);
    }
    for _ in 0..random.below(3) {
        let index = random.index(next.submit.draft.nodes.len());
        change(random, &mut next, index);
    }
    if random.happens(Rate::percent(10)) {
        next.meaning.input += 1;
        for (_, value) in &mut next.submit.inputs {
            if let Value::Int(number) = value {
                *number += 1;
            }
        }
    }
    next
}

/// Changes an activity: its command, or what does not decide its outcome.
fn change(random: &mut Random, next: &mut Generated, index: usize) {
    let Node { kind, .. } = &mut next.submit.draft.nodes[index];
    let NodeKind::Activity(activity) = kind else {
        return;
    };
    if random.happens(Rate::percent(40)) {
        activity.work = Some(Work(1 + random.below(5_000_000)));
        activity.retry.attempts += 1;
        return;
    }
    let number = random.below(1_000);
    let id = ActivityId(index as u32);
    let arguments = next.meaning.arguments.entry(id.node()).or_default();
    arguments.push(Term::Constant(number as i64));
    if let model::Command::List(words) = &mut activity.command {
        words.push(Template(number.to_string()));
    }
}
