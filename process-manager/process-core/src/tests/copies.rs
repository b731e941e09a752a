//! Copies of what activities have produced: asked for when outcomes are recorded, used where the
//! machine that made them is gone.

use model::{Bytes, Node, ResourceId, Span};
use wire::attempt::{Copied, FromActivity};
use wire::group::Offered;

use super::*;

type Answered = Option<(End, i32, String)>;

const STORE: ResourceId = ResourceId(7);
const OTHER_STORE: ResourceId = ResourceId(9);

/// A machine that only keeps files.
fn store(resource: ResourceId) -> Offered {
    Offered {
        resource,
        name: format!("store{}", resource.0),
        power: 1.0,
        slots: 0,
        free: 0,
        memory: Bytes(1),
        labels: Default::default(),
        bulk: Some("store:1".into()),
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

/// Who was asked for copies of which activities since this was asked last, in no order.
fn asked(bench: &mut Bench) -> Vec<(u32, u32)> {
    let copies = std::mem::take(&mut bench.copies);
    let asked = copies.iter().map(|(to, copied)| (to.0, copied.activity.0));
    let mut asked: Vec<(u32, u32)> = asked.collect();
    asked.sort_unstable();
    asked
}

/// Lets seconds pass.
fn pass(bench: &mut Bench, seconds: u64) {
    for _ in 0..seconds {
        bench.now.mono = bench.now.mono + Span::from_secs(1);
        bench.drive.wake(bench.now);
        bench.carry_out();
    }
}

/// Which machine keeps copies of which activities, in no order.
fn recorded(bench: &Bench) -> Vec<(u32, u32)> {
    let copied = bench.events.iter().filter_map(|(_, event)| {
        if let Event::Copied {
            activity, resource, ..
        } = event
        {
            return Some((activity.0, resource.0));
        }
        None
    });
    let mut recorded: Vec<(u32, u32)> = copied.collect();
    recorded.sort_unstable();
    recorded
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
    pass(&mut bench, 5);
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
fn what_was_sent_in_an_earlier_life_is_sent_again_where_there_is_a_copy() {
    let mut bench = bench(&[STORE], |command, number| match (command, number) {
        ("b", 1) => Some(None),
        ("b", 2) => lacking(),
        _ => None,
    });
    bench.submit(pair());
    bench.restart();
    let waiting = *bench.held.keys().next().unwrap();
    bench.end(waiting, End::Lacking(vec![0]), 0, "");
    // Where the copy that it was told of is not there either, the file is made again.
    assert_eq!(bench.started, ["a", "b", "b", "a", "b"]);
    assert_eq!(bench.end_line(), "completed");
}

#[test]
fn without_the_wish_for_copies_nothing_is_copied() {
    let mut bench = bench(&[STORE], |_, _| None);
    bench.submit(Draft {
        copies: 0,
        ..pair()
    });
    pass(&mut bench, 2);
    assert_eq!(asked(&mut bench), []);
}

#[test]
fn machines_that_share_a_store_are_not_asked() {
    let mut bench = bench(&[], |_, _| None);
    bench.submit(pair());
    pass(&mut bench, 2);
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
    pass(&mut bench, 8);
    assert_eq!(asked(&mut bench), [(7, 1); 8]);
    pass(&mut bench, 10);
    assert_eq!(asked(&mut bench), [(9, 1); 10]);
    // A restart forgets whom it has asked, and nobody is asked for what is there.
    bench.keeps = true;
    bench.restart();
    pass(&mut bench, 3);
    assert_eq!(asked(&mut bench), [(7, 1)]);
    assert_eq!(recorded(&bench), [(1, 7)]);
}

#[test]
fn nobody_is_asked_for_ever() {
    let mut bench = bench(&[STORE], |_, _| None);
    bench.keeps = false;
    bench.submit(pair());
    pass(&mut bench, 700);
    assert_eq!(asked(&mut bench).len(), 2 * 600);
    pass(&mut bench, 100);
    assert_eq!(asked(&mut bench), []);
}

#[test]
fn what_was_sent_before_there_was_a_copy_is_sent_again_and_told_of_it() {
    let seen: std::rc::Rc<std::cell::RefCell<Vec<Vec<u32>>>> = Default::default();
    let notes = std::rc::Rc::clone(&seen);
    let mut bench = Bench::new(move |dispatch| {
        let named = dispatch.sources.iter().flat_map(|one| &one.holders);
        notes.borrow_mut().push(named.map(|one| one.0).collect());
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
