//! Copies of what activities have produced: asked for when outcomes are recorded, used where the
//! machine that made them is gone.

mod loss;

use model::{Bytes, Node, ResourceId, Span};
use wire::attempt::{Copied, FromActivity};
use wire::client::{Answer, Reason};
use wire::group::Offered;

use super::*;
use crate::Stream;

type Answered = Option<(End, i32, String)>;

const STORE: ResourceId = ResourceId::local(7);
const OTHER_STORE: ResourceId = ResourceId::local(9);

/// A machine that only keeps files.
pub(super) fn store(resource: ResourceId) -> Offered {
    Offered {
        resource,
        name: format!("store{}", resource.number),
        power: 1.0,
        slots: 0,
        free: 0,
        memory: Bytes(1),
        labels: Default::default(),
        bulk: Some("store:1".into()),
        yours: 0,
        shown: None,
    }
}

/// With stores; answers as the function says, by command and number of the attempt, and else that
/// all is well.
fn bench(stores: &[ResourceId], odd: impl Fn(&str, u32) -> Option<Answered> + 'static) -> Bench {
    let mut bench = Bench::new(move |dispatch| {
        let (command, number) = (dispatch.command[0].as_str(), dispatch.attempt.number);
        odd(command, number).unwrap_or_else(|| well(dispatch))
    });
    bench.others = stores.iter().copied().map(store).collect();
    bench.keeps = true;
    bench.restart();
    bench
}

fn lacking() -> Option<Answered> {
    Some(Some((End::Lacking(vec![0]), 0, String::new())))
}

/// s(a b): `b` is given what `a` has made, and makes a file too.
fn pair() -> Draft {
    let maker = |name: &str| -> Node {
        let mut node = leaf(name);
        edit(&mut node, |activity| {
            activity.outputs = vec![Produced {
                name: "out".into(),
                path: "out".into(),
            }];
        });
        node
    };
    let mut second = maker("b");
    edit(&mut second, |activity| {
        activity.inputs = vec![Staged {
            path: "in".into(),
            source: Source::Output {
                activity: NodeId(1),
                output: 0,
            },
            gathers: false,
            carried: None,
        }];
    });
    Draft {
        copies: 1,
        ..draft(vec![
            controller(NodeKind::Sequence(ids(&[1, 2]))),
            maker("a"),
            second,
        ])
    }
}

/// The machines asked for copies since the last call and the activities, sorted.
fn asked(bench: &mut Bench) -> Vec<(u32, u32)> {
    let copies = std::mem::take(&mut bench.copies);
    let asked = copies
        .iter()
        .map(|(to, copied)| (to.number, copied.activity.0));
    let mut asked: Vec<(u32, u32)> = asked.collect();
    asked.sort_unstable();
    asked
}

/// The activities with a recorded copy, with the machines that keep it, sorted.
fn recorded(bench: &Bench) -> Vec<(u32, u32)> {
    let copied = bench.events.iter().filter_map(|(_, event)| {
        if let Event::Copied {
            activity, resource, ..
        } = event
        {
            return Some((activity.0, resource.number));
        }
        None
    });
    let mut recorded: Vec<(u32, u32)> = copied.collect();
    recorded.sort_unstable();
    recorded
}

/// The same under leases: machines are given up that are silent for long.
fn leased(stores: &[ResourceId], odd: impl Fn(&str, u32) -> Option<Answered> + 'static) -> Bench {
    let mut bench = bench(stores, odd);
    bench.config.lease = Some(Span::from_secs(10));
    bench.restart();
    bench
}

/// `b` goes on until it is told to end.
fn with_b_at_work(stores: &[ResourceId]) -> Bench {
    let mut bench = leased(stores, |command, _| (command == "b").then_some(None));
    bench.submit(pair());
    asked(&mut bench);
    bench
}

/// Seconds pass, in which all machines ask for more that are not silent.
fn go_on(bench: &mut Bench, seconds: u64) {
    for number in 0..seconds {
        let others = bench
            .others
            .iter()
            .map(|one| (one.resource, bench.epoch_of_others));
        let all: Vec<(ResourceId, model::Epoch)> =
            [(MACHINE, bench.epoch)].into_iter().chain(others).collect();
        for (machine, epoch) in all {
            if !bench.silent.contains(&machine) {
                let number = number as u32;
                bench.give(Input::Activity(
                    machine,
                    FromActivity::Renew { epoch, number },
                ));
            }
        }
        bench.pass(1);
    }
}

/// One more machine keeps files.
fn join(bench: &mut Bench, resource: ResourceId) {
    bench.others.push(store(resource));
    bench.give(Input::GroupUp(GROUP));
    bench.give(Input::ActivityUp(resource));
}

fn n_lost(bench: &Bench) -> usize {
    let lost = |event: &&(Stream, Event)| matches!(event.1, Event::MachineLost { .. });
    bench.events.iter().filter(lost).count()
}

#[test]
fn everything_that_is_produced_is_copied_once_to_the_end() {
    let mut bench = bench(&[STORE], |_, _| None);
    bench.submit(pair());
    assert_eq!(bench.end_line(), "completed");
    assert_eq!(asked(&mut bench), [(7, 1), (7, 2)]);
    assert_eq!(recorded(&bench), [(1, 7), (2, 7)]);
    let status = bench.status();
    assert_eq!(status.activities[0].copy, Some(STORE));
    let name = (STORE, "store7".to_owned());
    assert!(status.machines.contains(&name), "{:?}", status.machines);
    bench.restart();
    bench.pass(5);
    assert_eq!(asked(&mut bench), []);
}

#[test]
fn what_stands_for_an_activity_of_another_process_has_its_copy_too() {
    let mut bench = bench(&[STORE], |_, _| None);
    bench.submit(pair());
    asked(&mut bench);
    let again = wire::client::Submit {
        base: Some(KEY.process()),
        ..submission(model::SubmitKey(78), pair())
    };
    bench.submit_as(again);
    let status = bench.status_of(model::SubmitKey(78));
    assert_eq!(status.summary.totals.reused, 2);
    assert_eq!(status.activities[0].copy, Some(STORE));
    assert_eq!(asked(&mut bench), []);
}

#[test]
fn what_was_sent_in_an_earlier_epoch_is_sent_again_where_there_is_a_copy() {
    let mut bench = bench(&[STORE], |command, number| match (command, number) {
        ("b", 1) => Some(None),
        ("b", 2) => lacking(),
        _ => None,
    });
    bench.submit(pair());
    bench.restart();
    let waiting = *bench.held.keys().next().unwrap();
    bench.end(waiting, End::Lacking(vec![0]), 0, "");
    // If the named copy is not there either, the file is recomputed.
    assert_eq!(bench.started, ["a", "b", "b", "a", "b"]);
    assert_eq!(bench.end_line(), "completed");
}

#[test]
fn what_lacks_its_inputs_before_it_is_known_who_keeps_copies_waits_for_that() {
    let mut bench = bench(&[STORE], |command, number| {
        ((command, number) == ("b", 1)).then_some(None)
    });
    bench.submit(pair());
    bench.is_alone = true;
    bench.restart();
    let waiting = *bench.held.keys().next().unwrap();
    bench.end(waiting, End::Lacking(vec![0]), 0, "");
    bench.pass(5);
    assert_eq!(bench.started, ["a", "b"]);
    bench.give(Input::GroupUp(GROUP));
    bench.pass(2);
    assert_eq!(bench.started, ["a", "b", "b"]);
    assert!(bench.end_line().starts_with("completed"));
}

#[test]
fn without_the_wish_for_copies_nothing_is_copied() {
    let mut bench = bench(&[STORE], |_, _| None);
    bench.submit(Draft {
        copies: 0,
        ..pair()
    });
    bench.pass(2);
    assert_eq!(asked(&mut bench), []);
}

#[test]
fn machines_that_share_a_store_are_not_asked() {
    let mut bench = bench(&[], |_, _| None);
    bench.submit(pair());
    bench.pass(2);
    assert_eq!(asked(&mut bench), []);
}

#[test]
fn who_does_not_answer_is_asked_again_and_then_another_one() {
    let mut bench = bench(&[STORE, OTHER_STORE], |_, _| Some(None));
    bench.keeps = false;
    bench.submit(pair());
    let first = *bench.held.keys().next().unwrap();
    bench.end(first, End::Completed, 0, "");
    assert_eq!(asked(&mut bench), [(7, 1)]);
    bench.pass(8);
    assert_eq!(asked(&mut bench), [(7, 1); 8]);
    bench.pass(10);
    assert_eq!(asked(&mut bench), [(9, 1); 10]);
    // A restart forgets whom it has asked, and nobody is asked for what is there.
    bench.keeps = true;
    bench.restart();
    bench.pass(3);
    assert_eq!(asked(&mut bench), [(7, 1)]);
    assert_eq!(recorded(&bench), [(1, 7)]);
}

#[test]
fn nobody_is_asked_for_ever() {
    let mut bench = bench(&[STORE], |_, _| None);
    bench.keeps = false;
    bench.submit(pair());
    bench.pass(700);
    assert_eq!(asked(&mut bench).len(), 2 * 600);
    bench.pass(100);
    assert_eq!(asked(&mut bench), []);
}

#[test]
fn what_was_sent_before_there_was_a_copy_is_sent_again_and_told_of_it() {
    let seen: std::rc::Rc<std::cell::RefCell<Vec<Vec<u32>>>> = Default::default();
    let notes = std::rc::Rc::clone(&seen);
    let mut bench = Bench::new(move |dispatch| {
        let named = dispatch.sources.iter().flat_map(|one| &one.holders);
        notes
            .borrow_mut()
            .push(named.map(|one| one.number).collect());
        let name = dispatch.command[0].as_str();
        match (name, dispatch.attempt.number) {
            ("b", 1) => None,
            _ => well(dispatch),
        }
    });
    bench.others = vec![store(STORE)];
    bench.keeps = true;
    bench.restart();
    bench.submit(pair());
    let waiting = *bench.held.keys().next().unwrap();
    bench.end(waiting, End::Lacking(vec![0]), 0, "");
    assert_eq!(bench.started, ["a", "b", "b"]);
    assert_eq!(*seen.borrow(), [vec![], vec![], vec![7]]);
    assert_eq!(bench.end_line(), "completed");
}

#[test]
fn what_is_gone_with_its_copy_is_made_again_and_copied_again() {
    let mut bench = bench(&[STORE], |command, number| match (command, number) {
        ("b", 1) => Some(None),
        ("b", 2) => lacking(),
        _ => None,
    });
    bench.drifts = true;
    bench.submit(pair());
    let waiting = *bench.held.keys().next().unwrap();
    let (_, old) = bench.copies[0].clone();
    bench.end(waiting, End::Lacking(vec![0]), 0, "");
    assert_eq!(bench.started, ["a", "b", "b", "a", "b"]);
    assert_eq!(bench.end_line(), "completed");
    assert_eq!(asked(&mut bench), [(7, 1), (7, 1), (7, 2)]);
    assert_eq!(recorded(&bench), [(1, 7), (1, 7), (2, 7)]);
    // A late answer about what was made first changes nothing.
    let late = FromActivity::Copied(vec![old]);
    bench.give(Input::Activity(STORE, late));
    assert_eq!(recorded(&bench).len(), 3);
}

#[test]
fn a_copy_of_something_else_or_of_nothing_known_is_not_recorded() {
    let mut bench = bench(&[STORE], |_, _| None);
    bench.keeps = false;
    bench.submit(pair());
    let of_first = bench
        .copies
        .iter()
        .find(|(_, copied)| copied.activity.0 == 1);
    let (_, wanted) = of_first.unwrap().clone();
    let mut other = wanted.clone();
    other.artifacts[0].hash.0[0] ^= 1;
    let unknown = Copied {
        process: model::ProcessId(1),
        ..wanted.clone()
    };
    let nobody = Copied {
        activity: model::ActivityId(4_000_000),
        ..wanted.clone()
    };
    let message = FromActivity::Copied(vec![other, unknown, nobody]);
    bench.give(Input::Activity(STORE, message));
    // The machine that made it is none that keeps a copy of it.
    let own = FromActivity::Copied(vec![wanted.clone()]);
    bench.give(Input::Activity(MACHINE, own));
    assert_eq!(recorded(&bench), []);
    let message = FromActivity::Copied(vec![wanted.clone(), wanted]);
    bench.give(Input::Activity(STORE, message));
    assert_eq!(recorded(&bench), [(1, 7)]);
}

#[test]
fn the_machine_beside_the_manager_is_asked_first() {
    let mut bench = bench(&[STORE, OTHER_STORE], |_, _| None);
    bench.config.keeper = Some("store9".to_owned());
    bench.restart();
    bench.submit(pair());
    assert_eq!(asked(&mut bench), [(9, 1), (9, 2)]);
    // A machine that is not there or cannot keep copies is passed over.
    bench.config.keeper = Some("nowhere".to_owned());
    bench.restart();
    bench.submit_as(submission(model::SubmitKey(78), pair()));
    assert_eq!(asked(&mut bench), [(7, 1), (7, 2)]);
    bench.config.keeper = Some("store9".to_owned());
    bench.keeps = false;
    bench.restart();
    bench.submit_as(submission(model::SubmitKey(79), pair()));
    bench.pass(9);
    let asked = asked(&mut bench);
    assert!(
        asked.contains(&(9, 1)) && asked.contains(&(7, 1)),
        "{asked:?}"
    );
}

#[test]
fn copies_stay_where_they_are_until_their_process_has_ended() {
    let mut bench = with_b_at_work(&[STORE, OTHER_STORE]);
    let process = KEY.process();
    go_on(&mut bench, 1);
    assert_eq!(bench.kept[&STORE], [process]);
    assert_eq!(bench.kept[&OTHER_STORE], []);
    bench.restart();
    go_on(&mut bench, 1);
    assert_eq!(bench.kept[&STORE], [process]);
    let waiting = *bench.held.keys().next().unwrap();
    bench.end(waiting, End::Completed, 0, "");
    assert!(bench.end_line().starts_with("completed"));
    go_on(&mut bench, 1);
    assert_eq!(bench.kept[&STORE], []);
}

#[test]
fn why_there_is_no_copy_is_told() {
    let mut bench = with_b_at_work(&[STORE]);
    assert_eq!(bench.status().copies, None);
    bench.silent.insert(STORE);
    go_on(&mut bench, 14);
    let nobody = "none of what a has made: no other machine is there that could keep it";
    assert_eq!(bench.status().copies.as_deref(), Some(nobody));
    let why = bench.answer(Request::Why {
        process: KEY.process(),
        activity: model::ActivityId(1),
    });
    let Answer::Why(why) = why else {
        panic!("no reason but {why:?}")
    };
    let nobody = "no other machine is there that could keep it".to_owned();
    assert_eq!(why.reasons, [Reason::Uncopied(nobody)]);
    // It is looked for one for as long as that takes, and then asked again and again.
    go_on(&mut bench, 700);
    bench.keeps = false;
    join(&mut bench, OTHER_STORE);
    go_on(&mut bench, 10);
    let vain = "none of what a has made: asked 11 times in vain, store9 last, whose log says why";
    assert_eq!(bench.status().copies.as_deref(), Some(vain));
    bench.silent.insert(MACHINE);
    go_on(&mut bench, 14);
    let alone = "none of what a has made: here has it and cannot be reached";
    assert_eq!(bench.status().copies.as_deref(), Some(alone));
}

#[test]
fn whoever_was_asked_in_vain_to_the_end_is_asked_again_when_a_machine_begins_an_epoch() {
    let mut bench = bench(&[STORE], |_, _| None);
    bench.keeps = false;
    bench.submit(pair());
    bench.pass(700);
    asked(&mut bench);
    bench.keeps = true;
    bench.epoch_of_others = model::Epoch(5);
    bench.give(Input::ActivityUp(STORE));
    bench.pass(3);
    assert_eq!(asked(&mut bench), [(7, 1), (7, 2)]);
}
