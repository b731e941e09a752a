//! Machines that are lost with one of two copies, under leases.

use super::*;

#[test]
fn a_lost_copy_is_made_again_elsewhere_while_somebody_may_need_it() {
    let mut bench = with_b_at_work(&[STORE, OTHER_STORE]);
    bench.silent.insert(STORE);
    go_on(&mut bench, 9);
    assert_eq!(asked(&mut bench), [], "it may come back");
    go_on(&mut bench, 5);
    assert_eq!(asked(&mut bench), [(9, 1)]);
    assert_eq!(recorded(&bench), [(1, 7), (1, 9)]);
    assert_eq!(bench.copied_from.last().unwrap().0, [MACHINE]);
    assert_eq!(bench.status().activities[0].copy, Some(OTHER_STORE));
    go_on(&mut bench, 30);
    assert_eq!((asked(&mut bench), n_lost(&bench)), (vec![], 1));
}

#[test]
fn what_a_lost_machine_made_is_copied_again_from_its_copy() {
    let mut bench = with_b_at_work(&[STORE, OTHER_STORE]);
    bench.silent.insert(MACHINE);
    go_on(&mut bench, 14);
    assert_eq!(asked(&mut bench), [(9, 1)]);
    assert_eq!(bench.copied_from.last().unwrap().0, [STORE]);
    // The next one to be lost is that, and the last copy is all that there is.
    bench.silent.insert(STORE);
    bench.keeps = false;
    join(&mut bench, ResourceId::local(11));
    go_on(&mut bench, 14);
    let status = bench.status();
    assert_eq!(status.activities[0].copy, Some(OTHER_STORE));
    assert_eq!(bench.copied_from.last().unwrap().0, [OTHER_STORE]);
    // In another epoch of the manager the copy is requested all the same.
    bench.keeps = true;
    asked(&mut bench);
    bench.restart();
    go_on(&mut bench, 2);
    // The one that is left is told that its copy is to stay.
    assert_eq!(asked(&mut bench), [(9, 1), (11, 1)]);
    // This epoch does not know yet that the other one is lost as well.
    let from = &bench.copied_from.last().unwrap().0;
    assert_eq!(*from, [OTHER_STORE, STORE]);
    assert_eq!(n_lost(&bench), 2);
}

#[test]
fn who_does_not_come_back_after_a_restart_is_lost() {
    let mut bench = with_b_at_work(&[STORE, OTHER_STORE]);
    bench.silent.insert(STORE);
    go_on(&mut bench, 5);
    bench.restart();
    go_on(&mut bench, 14);
    assert_eq!(asked(&mut bench), [(9, 1)]);
}

#[test]
fn a_machine_that_is_lost_before_the_copy_of_what_it_made_is_told_is_not_counted() {
    let mut bench = leased(&[STORE], |command, _| (command == "b").then_some(None));
    bench.keeps = false;
    bench.submit(pair());
    let (_, wanted) = bench.copies.last().unwrap().clone();
    bench.silent.insert(MACHINE);
    go_on(&mut bench, 14);
    join(&mut bench, OTHER_STORE);
    bench.give(Input::Activity(STORE, FromActivity::Copied(vec![wanted])));
    let (to, again) = bench.copies.last().unwrap();
    assert_eq!((*to, again.activity.0), (OTHER_STORE, 1));
    assert_eq!(bench.copied_from.last().unwrap().0, [STORE]);
}

#[test]
fn what_nobody_may_need_any_more_is_not_copied_again() {
    for with_output in [false, true] {
        let mut bench = leased(&[STORE, OTHER_STORE], |_, _| None);
        let mut wanted = pair();
        if with_output {
            wanted.outputs = vec![model::Output {
                name: "all".into(),
                source: model::OutputSource::Produced(Source::Output {
                    activity: NodeId(2),
                    output: 0,
                }),
            }];
        }
        bench.submit(wanted);
        assert!(bench.end_line().starts_with("completed"));
        asked(&mut bench);
        bench.silent.insert(STORE);
        go_on(&mut bench, 14);
        let expected: &[(u32, u32)] = if with_output { &[(9, 2)] } else { &[] };
        assert_eq!(asked(&mut bench), expected);
        // After its end nothing is pinned.
        let (_, is_needed) = bench.copied_from.last().unwrap();
        assert!(!with_output || !is_needed);
    }
}

#[test]
fn a_machine_that_comes_back_empty_is_lost_with_what_it_had() {
    let mut bench = with_b_at_work(&[STORE]);
    // Its epochs begin anew, since its disk is another one.
    bench.epoch_of_others = model::Epoch(2);
    bench.give(Input::ActivityUp(STORE));
    assert_eq!((asked(&mut bench), n_lost(&bench)), (vec![(7, 1)], 1));
    // While its disk is there they go on, and it is told again what is to stay.
    bench.epoch_of_others = model::Epoch(3);
    bench.give(Input::ActivityUp(STORE));
    assert_eq!((asked(&mut bench), n_lost(&bench)), (vec![(7, 1)], 1));
    assert_eq!(recorded(&bench).len(), 2);
    assert!(bench.copied_from.last().unwrap().1);
}
