//! Processes that use more slots than were free when they were planned.

use model::{Bytes, SubmitKey, Work};

use super::*;

/// Processes in the order in which they are submitted.
fn key(number: u64) -> SubmitKey {
    SubmitKey(100 + number)
}

/// Activities side by side, of a work in milliseconds each.
fn wide(names: &[&str], work: u64) -> Draft {
    let children = (1..).take(names.len()).map(NodeId).collect();
    let links = Vec::new();
    let mut nodes = vec![controller(NodeKind::Parallel { children, links })];
    for name in names {
        let mut node = leaf(name);
        edit(&mut node, |activity| {
            activity.work = Some(Work(work * 1_000))
        });
        nodes.push(node);
    }
    draft(nodes)
}

/// A machine of two slots, of which a command uses one, and a process of activities side by side that is
/// planned on the other.
fn crowded(work: u64) -> Bench {
    let mut bench = Bench::new(|_| None);
    bench.submit_as(submission(key(0), wide(&["long"], 600_000)));
    bench.submit_as(submission(key(1), wide(&["a", "b", "c", "d"], work)));
    bench
}

impl Bench {
    fn has_ended(&mut self, name: &str) {
        self.end(self.attempt_of(name), End::Completed, 0, "");
    }

    fn slots_of(&self, number: u64) -> u32 {
        let process = Stream::Process(key(number).process());
        let known = self.drive.states().get(process);
        let known = known.and_then(|state| state.process());
        known.map_or(0, |known| known.granted(MACHINE))
    }
}

#[test]
fn a_process_whose_long_activities_wait_uses_a_slot_that_becomes_free() {
    let mut bench = crowded(10_000);
    assert_eq!(bench.started, ["long", "a"]);
    assert_eq!(bench.slots_of(1), 1);
    bench.has_ended("long");
    assert_eq!(bench.slots_of(1), 2);
    assert_eq!(bench.started, ["long", "a", "b"]);
    bench.has_ended("a");
    assert_eq!(bench.started[3..], ["c"]);
}

#[test]
fn a_process_that_waits_for_its_first_plan_comes_first() {
    let mut bench = crowded(10_000);
    bench.submit_as(submission(key(2), wide(&["x"], 10_000)));
    bench.has_ended("long");
    assert_eq!(bench.started, ["long", "a", "x"]);
    assert_eq!(bench.slots_of(1), 1);
    bench.has_ended("x");
    assert_eq!(bench.slots_of(1), 2);
}

/// An activity on two cores.
fn both() -> Draft {
    let mut both = wide(&["both"], 10_000);
    edit(&mut both.nodes[1], |activity| activity.cores = 2);
    both
}

#[test]
fn a_process_uses_slots_that_the_first_one_cannot_use_before_it_has_ended() {
    let mut bench = crowded(10_000);
    bench.submit_as(submission(key(2), both()));
    bench.start("a");
    bench.has_ended("long");
    assert_eq!(bench.slots_of(1), 2);
    assert_eq!(bench.started, ["long", "a", "b"]);
    for name in ["a", "b", "c", "d"] {
        bench.has_ended(name);
    }
    assert_eq!(bench.started[3..], ["c", "d", "both"]);
}

#[test]
fn a_process_leaves_slots_to_the_first_one_that_it_would_keep_waiting() {
    let mut bench = Bench::new(|_| None);
    bench.slots = 3;
    bench.connect();
    bench.submit_as(submission(key(0), wide(&["long"], 600_000)));
    bench.submit_as(submission(key(3), wide(&["soon"], 5_000)));
    bench.submit_as(submission(key(1), wide(&["a", "b", "c", "d"], 10_000)));
    bench.submit_as(submission(key(2), both()));
    for name in ["long", "soon", "a"] {
        bench.start(name);
    }
    bench.has_ended("long");
    assert_eq!(bench.slots_of(1), 1);
    bench.has_ended("soon");
    assert_eq!(bench.started, ["long", "soon", "a", "both"]);
}

#[test]
fn short_activities_are_all_sent_and_need_no_further_slot() {
    let mut bench = crowded(10);
    assert_eq!(bench.started, ["long", "a", "b", "c", "d"]);
    let n_plans = bench.planned_for.len();
    bench.has_ended("long");
    assert_eq!(bench.slots_of(1), 1);
    assert_eq!(bench.planned_for.len(), n_plans);
}

#[test]
fn a_process_that_would_use_no_more_slots_keeps_its_plan() {
    let mut bench = Bench::new(|_| None);
    bench.submit_as(submission(key(0), wide(&["long"], 600_000)));
    let mut large = wide(&["a", "b", "c"], 10_000);
    for node in &mut large.nodes[1..] {
        // All the memory of the machine.
        edit(node, |activity| activity.memory = Some(Bytes(1 << 30)));
    }
    bench.submit_as(submission(key(1), large));
    let n_plans = bench.planned_for.len();
    bench.has_ended("long");
    assert_eq!(bench.planned_for.len(), n_plans + 1, "it was tried");
    assert_eq!(bench.slots_of(1), 1);
    let mut events = bench.events.iter();
    assert!(!events.any(|(_, event)| matches!(event, Event::Replanned(_))));
}
