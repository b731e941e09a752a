//! Machines that come and go, and what is offered of them.

use wire::group::FromGroup;
use wire::resource::{CLOSED_BYTES_MAX, Facts};

use super::bench::{Bench, attach, claim, down, facts, register, register_in, show};
use crate::{Effect, Event, Input, Peer, Record, State};

#[test]
fn a_machine_keeps_its_number_under_its_name() {
    let mut bench = Bench::new();
    let log = bench.all([
        register(1, "a", 4),
        register(2, "b", 2),
        register(1, "a", 4),
        down(1),
        register(9, "a", 4),
    ]);
    let told = |to, id: u32, name| {
        format!("keep machine/{name}\nam{to}: registered r{id}\nam{to}: grants\n")
    };
    let repeat = "am1: registered r0\nam1: grants\n";
    assert_eq!(
        log,
        told(1, 0, "a") + &told(2, 1, "b") + repeat + &told(9, 0, "a")
    );
    bench.restart();
    assert_eq!(bench.all([register(3, "b", 2)]), told(3, 1, "b"));
    bench.check_replay();
}

#[test]
fn a_machine_is_reached_by_its_latest_connection() {
    let mut bench = Bench::ready();
    bench.all([
        register_in(2, 7, facts("a", 4)),
        register_in(1, 1, facts("a", 4)),
        down(1),
    ]);
    assert_eq!(
        show(&bench.feed(claim(1, 1, &[(0, 1)]))),
        "am7: grants p1:1\npm0: granted p1 #1 r0:1\n",
        "the end of an older connection, or what is late on it, changes nothing"
    );
    // One connection, one machine.
    bench.all([register_in(3, 7, facts("c", 1))]);
    assert_eq!(show(&bench.wait(50)), "pm0: offer e1 r1=b:2/2 r2=c:1/1\n");
}

#[test]
fn a_machine_that_has_lost_its_disk_joins_again_in_its_first_epoch() {
    let mut bench = Bench::ready();
    bench.all([register_in(5, 1, facts("a", 4)), claim(1, 1, &[(0, 1)])]);
    let anew = || register_in(1, 7, facts("a", 3));
    assert_eq!(bench.all([anew()]), "", "the old connection may still live");
    let log = bench.all([down(1), anew()]);
    assert_eq!(
        log,
        "keep machine/a\nam7: registered r0\nam7: grants p1:1\n"
    );
    let late = register_in(5, 1, facts("a", 4));
    assert_eq!(bench.all([late]), "", "its connection has ended");
    assert_eq!(show(&bench.wait(50)), "pm0: offer e1 r0=a:2/3 r1=b:2/2\n");
    bench.check_replay();
}

#[test]
fn a_connection_that_is_up_again_is_heard_again() {
    let mut bench = Bench::ready();
    let again = || register(1, "a", 4);
    assert_eq!(bench.all([down(1), again()]), "");
    let log = bench.all([Input::Up(Peer::Activity(1)), again()]);
    assert_eq!(log, "keep machine/a\nam1: registered r0\nam1: grants\n");
}

#[test]
fn changes_are_offered_together_and_said_again() {
    let mut bench = Bench::new();
    assert_eq!(bench.drive.next_wakeup(), None);
    assert_eq!(bench.all([attach(4)]), "pm0: offer e1\n");
    bench.wait(60);
    let log = bench.all([register(1, "a", 4), register(2, "b", 2)]);
    assert!(
        log.contains("pm0: offer e1 r0=a:4/4\n") && !log.contains("r1=b"),
        "{log}"
    );
    assert_eq!(show(&bench.wait(10)), "");
    assert_eq!(show(&bench.wait(40)), "pm0: offer e1 r0=a:4/4 r1=b:2/2\n");
    assert_eq!(show(&bench.wait(4_999)), "");
    assert_eq!(show(&bench.wait(1)), "pm0: offer e1 r0=a:4/4 r1=b:2/2\n");
    // Somebody of an earlier life is not answered, somebody who has gone is not told.
    assert_eq!(bench.all([attach(3), Input::Down(Peer::Process(0))]), "");
    assert_eq!(bench.drive.next_wakeup(), None);
    assert_eq!(bench.all([attach(4)]), "pm0: offer e1 r0=a:4/4 r1=b:2/2\n");
}

#[test]
fn what_was_kept_is_known_but_not_offered() {
    let mut bench = Bench::ready();
    let records = bench.records.clone();
    assert!(
        records
            .iter()
            .all(|record| record.key.len() + record.value.len() <= 4_096)
    );
    bench.restart();
    let odd = Record {
        key: b"machine/x".to_vec(),
        value: b"?".to_vec(),
    };
    bench.all([Input::Known([records, vec![odd]].concat()), attach(1)]);
    let names: Vec<String> = bench
        .drive
        .machine()
        .machines()
        .map(|(_, one)| one.facts.name.clone())
        .collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(show(&bench.wait(5_000)), "pm0: offer e2\n");
    bench.wait(50);
    let log = bench.all([register(1, "a", 4)]);
    assert!(log.ends_with("pm0: offer e2 r0=a:4/4\n"), "{log}");
}

#[test]
fn a_machine_that_cannot_be_is_not_registered() {
    let mut bench = Bench::new();
    let label = ("x".repeat(4_000), String::new());
    let address = |bytes: usize| "h".repeat(bytes - 6) + ":65535";
    let odd = [
        facts("", 1),
        facts(&"n".repeat(256), 1),
        facts("slots", 1 << 20),
        Facts {
            power: 0.0,
            ..facts("power", 1)
        },
        Facts {
            power: f64::NAN,
            ..facts("power", 1)
        },
        Facts {
            labels: [label].into(),
            ..facts("labels", 1)
        },
        Facts {
            bulk: Some(address(260)),
            ..facts("address", 1)
        },
    ];
    for facts in odd {
        assert_eq!(bench.all([register_in(1, 1, facts)]), "");
    }
    assert!(
        bench
            .all([register(1, "none", 0)])
            .contains("registered r0")
    );
    let mut most = facts(&"n".repeat(255), 65_536);
    most.bulk = Some(address(259));
    most.labels = (0..30)
        .map(|index| (format!("{index:090}"), String::new()))
        .collect();
    bench.all([register_in(1, 2, most)]);
    let record = bench.records.last().unwrap();
    assert!(record.key.len() + record.value.len() <= 4_096);
}

#[test]
fn a_drained_machine_is_offered_no_more_and_keeps_what_is_held() {
    let drain = |name: &str, is_drained| Input::Drain {
        question: 7,
        name: name.to_owned(),
        is_drained,
    };
    let mut bench = Bench::ready();
    bench.all([claim(5, 1, &[(0, 1)])]);
    assert_eq!(bench.all([drain("c", true)]), "#7: false\n");
    assert_eq!(
        bench.all([drain("a", true), drain("a", true)]),
        "#7: true\n#7: true\n"
    );
    assert_eq!(show(&bench.wait(50)), "pm0: offer e1 r1=b:2/2 -r0\n");
    assert_eq!(bench.all([claim(6, 1, &[(0, 1)])]), "pm0: refused p6 #1\n");
    assert_eq!(
        bench.all([Input::Down(Peer::Activity(2)), Input::Survey(8, None)]),
        "#8: a:1/4 well drained; b:0/2 its manager cannot be reached;\n"
    );
    // It is so in another life as well, and from a snapshot.
    let snapshot = bench.state().snapshot();
    assert_eq!(State::restore(snapshot), *bench.state());
    bench.restart();
    bench.all([attach(1), register(1, "a", 4)]);
    assert_eq!(show(&bench.wait(50)), "pm0: offer e2 -r0\n");
    assert_eq!(bench.all([drain("a", false)]), "#7: true\n");
    assert_eq!(show(&bench.wait(50)), "pm0: offer e2 r0=a:3/4\n");
    let n_drained = |event: &&Event| matches!(event, Event::Drained { .. });
    assert_eq!(bench.events.iter().filter(n_drained).count(), 2);
}

#[test]
fn a_machine_that_lends_nothing_is_to_be_emptied_until_it_comes_back_with_something() {
    let mut bench = Bench::ready();
    bench.all([register(1, "a", 0)]);
    assert_eq!(show(&bench.wait(50)), "pm0: offer e1 r1=b:2/2 -r0\n");
    bench.all([down(1)]);
    assert_eq!(show(&bench.wait(5_000)), "pm0: offer e1 r1=b:2/2 -r0\n");
    bench.all([register(9, "a", 4)]);
    assert_eq!(show(&bench.wait(50)), "pm0: offer e1 r0=a:4/4 r1=b:2/2\n");
}

#[test]
fn machines_that_take_no_work_are_offered_with_the_reasons() {
    let mut bench = Bench::ready();
    let closed = Facts {
        closed: Some("closed until 20:00".to_owned()),
        ..facts("a", 0)
    };
    let drain = Input::Drain {
        question: 1,
        name: "b".to_owned(),
        is_drained: true,
    };
    bench.all([register_in(1, 1, closed), drain]);
    let offers = bench.wait(50).into_iter().filter_map(|effect| {
        let Effect::ToProcess(_, FromGroup::Offer(offer)) = effect else {
            return None;
        };
        Some(offer.unavailable)
    });
    let told: Vec<String> = offers.flatten().map(|one| one.why).collect();
    let drained = "b is drained until an administrator ends that (xav undrain b)";
    assert_eq!(told, ["a is closed until 20:00", drained]);
    let too_long = Facts {
        closed: Some("x".repeat(CLOSED_BYTES_MAX + 1)),
        ..facts("c", 1)
    };
    assert_eq!(bench.all([register_in(1, 9, too_long)]), "");
}

#[test]
fn a_machine_that_only_keeps_files_is_offered_without_slots_and_one_that_has_none_now_is_not() {
    let mut bench = Bench::ready();
    let store = Facts {
        is_store: true,
        ..facts("store", 0)
    };
    bench.all([register_in(1, 3, store), register(2, "b", 0)]);
    assert_eq!(
        show(&bench.wait(50)),
        "pm0: offer e1 r0=a:4/4 r2=store:0/0 -r1\n"
    );
    assert_eq!(bench.all([claim(5, 1, &[(2, 1)])]), "pm0: refused p5 #1\n");
}

#[test]
fn a_machine_registers_under_the_name_of_its_certificate_alone() {
    let mut bench = Bench::new();
    bench.all([Input::Introduced(1, "a".to_owned())]);
    assert_eq!(bench.all([register(1, "b", 4)]), "");
    assert!(
        bench
            .all([register(1, "a", 4)])
            .contains("am1: registered r0")
    );
    // The next connection of this number is somebody else's.
    bench.all([down(1), Input::Introduced(1, "b".to_owned())]);
    assert_eq!(bench.all([register(1, "a", 4)]), "");
    assert!(
        bench
            .all([register(1, "b", 4)])
            .contains("am1: registered r1")
    );
}
