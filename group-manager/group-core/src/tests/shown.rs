//! The powers that machines have shown to process managers, in offers and in the past of machines.

use model::{Epoch, ResourceId, Span};
use wire::group::{Shown, ToGroup};

use super::bench::{Bench, GROUP, attach, by, facts, register, register_in, show, survey};
use crate::shown::Load;
use crate::{Config, Input};

/// A watching group with a machine `a` of 4 slots and one `b` of 2, and process managers 0 and 1.
fn bench() -> Bench {
    let mut bench = Bench::configured(Config {
        lease: Some(wire::lease::LENGTH),
        ..Config::default()
    });
    let machines = [register(1, "a", 4), register(2, "b", 2)];
    bench.all(machines);
    bench.all([attach(1), by(1, attach(1))]);
    bench.wait(100);
    bench
}

fn shown(manager: u32, epoch: u64, parts: &[(u32, u32)]) -> Input {
    let machines = parts.iter().map(|&(number, per_mille)| Shown {
        resource: ResourceId::new(GROUP, number),
        per_mille,
    });
    let message = ToGroup::Shown {
        epoch: Epoch(epoch),
        machines: machines.collect(),
    };
    Input::Process(manager, message)
}

/// The offer to process manager 0 that follows an input, without its epoch.
fn offer_after(bench: &mut Bench, input: Input) -> String {
    let told = show(&bench.feed(input)) + &show(&bench.wait(100));
    let mut lines = told
        .lines()
        .filter_map(|line| line.strip_prefix("pm0: offer e"));
    let last = lines.next_back().expect("an offer");
    last.split_once(' ').unwrap().1.to_owned()
}

fn history(bench: &mut Bench, name: &str) -> String {
    show(&bench.feed(Input::History(1, name.to_owned())))
}

#[test]
fn all_process_managers_are_offered_the_median_of_what_each_has_seen() {
    let mut bench = bench();
    assert_eq!(
        offer_after(&mut bench, shown(1, 1, &[(0, 400)])),
        "r0=a:4/4*400 r1=b:2/2"
    );
    // The other one has seen nothing wrong, and gets the benefit of the doubt.
    assert_eq!(
        offer_after(&mut bench, shown(0, 1, &[(0, 1_000), (1, 300)])),
        "r0=a:4/4 r1=b:2/2*300"
    );
    assert_eq!(
        offer_after(&mut bench, shown(0, 1, &[(0, 500)])),
        "r0=a:4/4*500 r1=b:2/2*300"
    );
    bench.check_replay();
}

#[test]
fn late_words_and_unknown_machines_change_nothing() {
    let mut bench = bench();
    bench.feed(by(0, attach(2)));
    bench.wait(100);
    bench.feed(shown(0, 1, &[(0, 400)]));
    bench.feed(shown(0, 2, &[(9, 400)]));
    let foreign = ResourceId::local(0);
    let foreign = Shown {
        resource: foreign,
        per_mille: 400,
    };
    let message = ToGroup::Shown {
        epoch: Epoch(2),
        machines: vec![foreign],
    };
    assert!(show(&bench.feed(Input::Process(0, message))).contains("names"));
    bench.now.wall = bench.now.wall + Span::from_secs(5);
    assert_eq!(show(&bench.wait(100)), "");
    assert_eq!(history(&mut bench, "a"), "#1: 1*None\n");
    assert_eq!(history(&mut bench, "c"), "#1: no machine\n");
}

#[test]
fn a_machine_is_tried_again_after_a_while() {
    let mut bench = bench();
    assert_eq!(
        offer_after(&mut bench, shown(0, 1, &[(0, 250)])),
        "r0=a:4/4*250 r1=b:2/2"
    );
    let mut parts = Vec::new();
    for _ in 0..120 {
        bench.now.wall = bench.now.wall + Span::from_secs(60);
        let shown = survey(&mut bench)[0].shown;
        parts.push(shown.unwrap_or(1_000));
    }
    parts.dedup();
    assert!(parts.is_sorted() && parts.len() > 5, "{parts:?}");
    assert_eq!((parts[0], parts.last()), (250, Some(&1_000)));
}

#[test]
fn the_past_of_a_machine_outlives_its_manager() {
    let mut bench = bench();
    let keeps = show(&bench.feed(shown(0, 1, &[(0, 400)])));
    assert!(keeps.starts_with("keep history/a\n"), "{keeps}");
    bench.now.wall = bench.now.wall + Span::from_secs(20);
    let mut faster = facts("a", 4);
    faster.power = 2.0;
    bench.feed(register_in(1, 1, faster.clone()));
    assert_eq!(
        history(&mut bench, "a"),
        "#1: 1*Some(400) 2*Some(400) 2*Some(400)\n"
    );
    bench.restart_watching(Some(wire::lease::LENGTH));
    bench.feed(Input::Known(bench.records.clone()));
    bench.feed(register_in(1, 1, faster));
    assert_eq!(
        history(&mut bench, "a"),
        "#1: 1*Some(400) 2*Some(400) 2*Some(400)\n"
    );
    // One word counts more than what was known before.
    bench.feed(attach(2));
    bench.feed(shown(0, 2, &[(0, 1_000)]));
    assert!(history(&mut bench, "a").ends_with(" 2*None\n"));
}

#[test]
fn the_past_of_a_machine_begins_with_its_first_power() {
    let mut bench = bench();
    bench.now.wall = bench.now.wall + Span::from_secs(60);
    for power in [2.0, 2.0, 0.5] {
        let mut other = facts("a", 4);
        other.power = power;
        bench.feed(register_in(1, 1, other));
        bench.now.wall = bench.now.wall + Span::from_secs(20);
    }
    assert_eq!(
        history(&mut bench, "a"),
        "#1: 1*None 2*None 0.5*None 0.5*None\n"
    );
}

#[test]
fn moments_are_kept_in_time_and_are_bounded() {
    let mut bench = bench();
    let load = Load {
        cores: 4,
        others: Some(1.5),
        others_expected: Some(1.0),
    };
    bench.feed(Input::Load("a".to_owned(), load));
    bench.feed(Input::Load("nobody".to_owned(), load));
    for _ in 0..200 {
        for connection in [1, 2] {
            bench.feed(Input::Activity(
                connection,
                wire::resource::FromResource::Alive,
            ));
        }
        bench.wait(600_000);
    }
    let Some(crate::Effect::History(_, Some(moments))) =
        bench.feed(Input::History(1, "a".to_owned())).pop()
    else {
        panic!("an answer");
    };
    // Machines that are silent when it is time are left out, so these were heard.
    assert!(moments.len() <= wire::admin::MOMENTS_MAX);
    assert!(moments.iter().all(|one| one.others == Some(1.5)));
    let longest = bench
        .records
        .iter()
        .map(|one| one.key.len() + one.value.len());
    assert!(longest.max().unwrap() <= 4_096);
}
