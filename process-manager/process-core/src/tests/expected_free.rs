//! When machines are expected to be free for a process that waits: the machine has two slots.

use model::{ProcessId, Work};

use super::backfill::{key, one};
use super::*;

/// The time after which machines are expected to be free for a process; none where that is not known.
fn free_after(bench: &mut Bench, number: u64) -> Option<Span> {
    let turn = bench.status_of(key(number)).turn.expect("it waits");
    Some(turn.free_at?.since(bench.now.wall))
}

fn submit(bench: &mut Bench, number: u64, draft: Draft) -> ProcessId {
    bench.submit_as(submission(key(number), draft));
    key(number).process()
}

/// Activities one after another of these works in seconds.
fn row(works: &[(&str, Option<u64>)]) -> Draft {
    let numbers: Vec<u32> = (1..=works.len() as u32).collect();
    let root = controller(NodeKind::Sequence(ids(&numbers)));
    let leaves = works.iter().map(|&(name, work)| {
        let mut node = leaf(name);
        edit(&mut node, |activity| {
            activity.work = work.map(Work::from_secs)
        });
        node
    });
    draft(std::iter::once(root).chain(leaves).collect())
}

fn secs(seconds: u64) -> Option<Span> {
    Some(Span::from_secs(seconds))
}

/// ```text
///   slot 0  |short  10|
///   slot 1  |long                  60|        wide (2 slots) | narrow (1 slot)
/// ```
#[test]
fn so_many_slots_are_free_when_the_last_of_them_is() {
    let mut bench = Bench::new(|_| None);
    for (number, name, work) in [(0, "short", 10), (1, "long", 60)] {
        submit(&mut bench, number, one(name, Some(work), 1));
        bench.start(name);
    }
    submit(&mut bench, 2, one("wide", Some(30), 2));
    submit(&mut bench, 3, one("narrow", Some(30), 1));
    bench.pass(5);
    assert_eq!(free_after(&mut bench, 2), secs(55));
    // The wide one is before it, and takes both.
    assert_eq!(free_after(&mut bench, 3), secs(55 + 30));
    // An activity that takes longer than planned may go on for ever.
    bench.pass(7);
    assert_eq!(free_after(&mut bench, 2), None);
    assert_eq!(free_after(&mut bench, 3), None);
}

/// ```text
///   slot 0  |overdue  10| ?
///   slot 1  |long                  60|        narrow | next
/// ```
#[test]
fn what_is_overdue_hides_no_slot_that_is_known() {
    let mut bench = Bench::new(|_| None);
    for (number, name, work) in [(0, "overdue", 10), (1, "long", 60)] {
        submit(&mut bench, number, one(name, Some(work), 1));
        bench.start(name);
    }
    submit(&mut bench, 2, one("narrow", Some(30), 1));
    submit(&mut bench, 3, one("next", None, 1));
    submit(&mut bench, 4, one("last", Some(30), 1));
    bench.pass(20);
    assert_eq!(free_after(&mut bench, 2), secs(40));
    assert_eq!(free_after(&mut bench, 3), secs(70));
    // Nobody knows how long the one before it takes.
    assert_eq!(free_after(&mut bench, 4), None);
}

#[test]
fn the_rest_of_a_process_begins_when_what_is_before_it_has_ended() {
    let mut bench = Bench::new(|_| None);
    submit(&mut bench, 0, row(&[("a", Some(10)), ("b", Some(20))]));
    submit(&mut bench, 1, one("wide", Some(30), 2));
    // It has not been seen to run.
    bench.pass(5);
    assert_eq!(free_after(&mut bench, 1), secs(30));
    bench.start("a");
    bench.pass(4);
    assert_eq!(free_after(&mut bench, 1), secs(26));
    // With an end that nobody foresees, nobody foresees what comes after it.
    bench.pass(7);
    assert_eq!(free_after(&mut bench, 1), None);
    bench.finish("a");
    bench.start("b");
    bench.pass(5);
    assert_eq!(free_after(&mut bench, 1), secs(15));
}

#[test]
fn no_time_is_told_where_some_of_the_works_are_not_known() {
    let mut bench = Bench::new(|_| None);
    submit(&mut bench, 0, row(&[("a", Some(10)), ("b", None)]));
    bench.start("a");
    submit(&mut bench, 1, one("wide", Some(30), 2));
    bench.pass(5);
    assert_eq!(free_after(&mut bench, 1), None);
    // From here on others of its process have told what one takes.
    bench.finish("a");
    bench.start("b");
    assert!(free_after(&mut bench, 1).is_some());
}

#[test]
fn no_time_is_told_while_something_waits_to_be_tried_again() {
    let mut bench = Bench::new(|dispatch| match dispatch.command[0].as_str() {
        "a" => Some((failed(FaultName::ExitCode), 1, String::new())),
        _ => None,
    });
    let mut draft = row(&[("a", Some(10))]);
    edit(&mut draft.nodes[1], |activity| {
        activity.retry.attempts = 2;
        activity.retry.backoff = Span::from_secs(100);
    });
    submit(&mut bench, 0, draft);
    submit(&mut bench, 1, one("wide", Some(30), 2));
    assert_eq!(free_after(&mut bench, 1), None);
}
