use model::Span;

use super::*;

fn machine(number: u32) -> ResourceId {
    ResourceId::local(number)
}

fn at(seconds: u64) -> Mono {
    Mono(0) + Span::from_secs(seconds)
}

fn take(telling: &mut Telling, now: Mono) -> Vec<(u32, u32)> {
    let messages = telling.take(now).into_values().flatten();
    messages
        .map(|one| (one.resource.number, one.per_mille))
        .collect()
}

#[test]
fn only_changes_are_told_and_what_lasts_is_told_again() {
    let mut telling = Telling::default();
    assert!(telling.note(machine(1), 0.4, at(0)));
    assert_eq!(take(&mut telling, at(0)), [(1, 400)]);
    // No more than by chance.
    assert!(!telling.note(machine(1), 0.41, at(1)));
    assert_eq!(take(&mut telling, at(1)), []);
    assert!(telling.note(machine(1), 0.5, at(2)));
    // It has changed back before that was told.
    assert!(!telling.note(machine(1), 0.4, at(3)));
    let later = at(0) + limits::SHOWN_AGAIN;
    assert!(telling.note(machine(1), 0.4, later));
    assert_eq!(take(&mut telling, later), [(1, 400)]);
}

#[test]
fn messages_are_bounded_and_the_rest_follows() {
    let mut telling = Telling::default();
    for number in 0..SHOWN_MAX as u32 + 5 {
        telling.note(machine(number), 0.0, at(0));
    }
    assert_eq!(take(&mut telling, at(0)).len(), SHOWN_MAX);
    let rest = take(&mut telling, at(5));
    assert_eq!(rest.len(), 5);
    // Nobody is told that a machine does nothing.
    assert!(rest.iter().all(|one| one.1 == *SHOWN_RANGE.start()));
    assert!(telling.wanted.is_empty());
    // Words that are told again anyway take no memory.
    take(&mut telling, at(5) + limits::SHOWN_AGAIN);
    assert!(telling.told.is_empty());
}
