use std::cell::Cell;

use super::*;

fn turn(activity: u32, start: u64) -> Turn {
    Turn::new(0, Span::from_millis(start), ActivityId(activity))
}

fn limit(name: &str) -> Limits {
    vec![(name.to_owned(), 1)]
}

fn numbers(activities: impl Iterator<Item = ActivityId>) -> Vec<u32> {
    activities.map(|activity| activity.0).collect()
}

#[test]
fn turns_go_across_lines_and_those_that_may_not_go_are_passed_over() {
    let mut queue = ReadyQueue::default();
    queue.insert(&[], turn(1, 1));
    queue.insert(&limit("a"), turn(2, 0));
    queue.insert(&[], turn(3, 3));
    queue.insert(&limit("b"), turn(4, 2));
    assert_eq!(numbers(queue.in_turn(|_| true, |_| true)), [2, 1, 4, 3]);
    assert_eq!(
        numbers(queue.in_turn(|one| one.0 != 1, |_| true)),
        [2, 4, 3]
    );
    assert_eq!((queue.len(), queue.n_before(ActivityId(4))), (4, 2));
    queue.remove(&limit("a"), &turn(2, 0));
    assert_eq!(numbers(queue.activities()), [1, 3, 4]);
    queue.remove(&[], &turn(1, 1));
    queue.remove(&[], &turn(3, 3));
    queue.remove(&limit("b"), &turn(4, 2));
    assert!(queue.is_empty());
}

#[test]
fn the_first_of_each_line_are_looked_at_however_long_the_others_are() {
    let mut queue = ReadyQueue::default();
    for number in 0..100_000 {
        queue.insert(&limit("a"), turn(number, 0));
    }
    for number in 0..3 {
        queue.insert(&[], turn(100_000 + number, 9));
    }
    let mut first = numbers(queue.first_of_lines(2));
    first.sort_unstable();
    assert_eq!(first, [0, 1, 100_000, 100_001]);
}

#[test]
fn a_line_without_room_is_asked_once_however_long_it_is() {
    let mut queue = ReadyQueue::default();
    for n in 0..1_000 {
        queue.insert(&limit("a"), turn(n, u64::from(n)));
    }
    queue.insert(&[], turn(5_000, 900_000));
    let n_asked = Cell::new(0);
    let has_room = |activity: ActivityId| {
        n_asked.set(n_asked.get() + 1);
        activity.0 >= 5_000
    };
    assert_eq!(numbers(queue.in_turn(|_| true, has_room)), [5_000]);
    assert_eq!(n_asked.get(), 2);
}
