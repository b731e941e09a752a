//! Silent machines that do not come back.

use model::Span;

use super::bench::{Bench, attach, claim, down, facts, keep, register, register_in, show, survey};
use crate::io::Record;
use crate::{Config, Effect, Event, Input};

const DAY: u64 = 86_400_000;

fn bench() -> Bench {
    let mut bench = Bench::configured(config());
    bench.all([register(1, "a", 4), register(2, "b", 2), attach(1)]);
    bench
}

fn config() -> Config {
    Config {
        lease: Some(wire::lease::LENGTH),
        forget_machines: Some(Span::from_millis(DAY)),
        ..Config::default()
    }
}

/// Lets time pass in steps in which machines are looked at. Returns the names of those that were forgotten, and the
/// keys that the repository lets go of.
fn pass(bench: &mut Bench, millis: u64) -> (Vec<String>, Vec<String>) {
    let (mut forgotten, mut dropped) = (Vec::new(), Vec::new());
    for _ in 0..millis.div_ceil(60_000) {
        for effect in bench.wait(60_000) {
            if let Effect::Forgotten { name, .. } = effect {
                forgotten.push(name);
            } else if let Effect::Drop(key) = effect {
                dropped.push(String::from_utf8(key).unwrap());
            }
        }
    }
    (forgotten, dropped)
}

/// The machines that are told, and when they are forgotten.
fn told(bench: &mut Bench) -> Vec<(String, Option<Span>)> {
    let nodes = survey(bench).into_iter();
    nodes.map(|node| (node.name, node.forgotten_in)).collect()
}

#[test]
fn a_machine_that_does_not_come_back_is_forgotten_after_a_while() {
    let mut bench = bench();
    bench.all([down(1)]);
    let left = |span| vec![("a".to_owned(), Some(span)), ("b".to_owned(), None)];
    assert_eq!(told(&mut bench), left(Span::from_millis(DAY)));
    assert_eq!(pass(&mut bench, DAY - 60_000), (vec![], vec![]));
    assert_eq!(told(&mut bench), left(Span::from_secs(60)));
    let (forgotten, dropped) = pass(&mut bench, 60_000);
    assert_eq!(
        (forgotten, dropped),
        (vec!["a".to_owned()], vec!["machine/a".to_owned()])
    );
    assert_eq!(told(&mut bench), [("b".to_owned(), None)]);
    // The other one is silent for as long, but connected.
    assert_eq!(pass(&mut bench, 3 * DAY), (vec![], vec![]));
    bench.check_replay();
}

#[test]
fn a_forgotten_machine_that_comes_back_joins_in_any_epoch_and_has_its_number() {
    let mut bench = bench();
    bench.all([register_in(9, 1, facts("a", 4)), down(1)]);
    pass(&mut bench, DAY);
    let log = bench.all([register_in(1, 7, facts("a", 3))]);
    assert_eq!(log, "keep machine/a\nam7: registered r0\nam7: grants\n");
    assert_eq!(told(&mut bench).len(), 2);
    let named = |event: &&Event| matches!(event, Event::Named { name, .. } if name == "a");
    assert_eq!(bench.events.iter().filter(named).count(), 2);
    bench.all([down(7)]);
    assert_eq!(pass(&mut bench, DAY).0, ["a"], "it may be forgotten again");
    // A machine that nobody knew has a number that nobody had.
    assert!(bench.all([register(8, "c", 1)]).contains("registered r2\n"));
    bench.check_replay();
}

#[test]
fn a_machine_stays_where_a_process_holds_slots_or_has_files() {
    let mut bench = bench();
    bench.all([claim(1, 1, &[(0, 2)]), down(1)]);
    assert_eq!(pass(&mut bench, 2 * DAY).0, [""; 0]);
    assert_eq!(told(&mut bench)[0], ("a".to_owned(), None));
    // Only its files are left there.
    bench.all([keep(1, 2, &[(0, 0)])]);
    assert_eq!(pass(&mut bench, 2 * DAY).0, [""; 0]);
    bench.all([keep(1, 3, &[])]);
    assert_eq!(pass(&mut bench, 60_000).0, ["a"]);
    bench.check_replay();
}

#[test]
fn a_machine_has_time_to_come_back_after_a_start_of_the_manager() {
    let mut bench = bench();
    bench.all([down(1), down(2)]);
    let records = bench.records.clone();
    let known = |bench: &mut Bench, records: &[Record]| bench.feed(Input::Known(records.to_vec()));
    // The manager is down for longer than machines are remembered.
    bench.now.wall = bench.now.wall + Span::from_millis(5 * DAY);
    bench.restart_configured(config());
    known(&mut bench, &records);
    let ten_minutes = Some(Span::from_secs(600));
    assert_eq!(told(&mut bench)[0].1, ten_minutes);
    assert_eq!(pass(&mut bench, 300_000).0, [""; 0]);
    bench.all([register_in(2, 5, facts("a", 4))]);
    assert_eq!(pass(&mut bench, 360_000).0, ["b"]);
    assert_eq!(told(&mut bench), [("a".to_owned(), None)]);
    // The manager ended before the repository let go of it.
    bench.restart_configured(config());
    let again = known(&mut bench, &records);
    assert_eq!(again, [Effect::Drop(b"machine/b".to_vec())]);
    assert_eq!(told(&mut bench).len(), 1);
    bench.check_replay();
}

#[test]
fn nothing_is_forgotten_where_nobody_wants_it() {
    for config in [
        Config {
            forget_machines: None,
            ..config()
        },
        Config {
            lease: None,
            ..config()
        },
    ] {
        let mut bench = Bench::configured(config);
        bench.all([register(1, "a", 4), down(1)]);
        assert_eq!(pass(&mut bench, 10 * DAY), (vec![], vec![]));
        assert_eq!(told(&mut bench), [("a".to_owned(), None)]);
        assert_eq!(show(&bench.feed(down(1))), "");
    }
}
