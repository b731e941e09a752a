//! Files on other machines: the sources, and the answer if nobody has them.

use model::{Bytes, ResourceId, Span};
use wire::attempt::{Copied, Copy, Discard, Dispatch, Fetched, Holder, Sources, ToActivity};

use super::bench::{Bench, artifact, from_pm, grants, id, job, show, staged};
use crate::{Input, Workplace};

fn holder(number: u32, address: &str) -> Holder {
    Holder {
        resource: ResourceId::local(number),
        name: format!("am{number}"),
        address: address.to_owned(),
    }
}

/// An attempt that wants a file of machine 1 or 2, and another of machine 3.
fn wanting(index: u32) -> Dispatch {
    let sources = |input, machines: &[u32]| Sources {
        input,
        holders: machines.iter().copied().map(ResourceId::local).collect(),
    };
    Dispatch {
        inputs: vec![
            ("x".to_owned(), artifact()),
            ("y".to_owned(), artifact()),
            ("z".to_owned(), artifact()),
        ],
        sources: vec![sources(0, &[1, 2]), sources(2, &[3])],
        ..job(id(index))
    }
}

fn dispatch(attempts: Vec<Dispatch>, holders: Vec<Holder>) -> Input {
    from_pm(ToActivity::Dispatch {
        meant_for: model::Epoch(2),
        attempts,
        holders,
        holds: None,
    })
}

fn lacking(index: u32) -> Input {
    Input::Lacking {
        attempt: id(index),
        inputs: vec![0, 2],
        workplace: Workplace {
            directory: format!("/w/{index}"),
        },
    }
}

#[test]
fn the_last_word_about_where_a_machine_is_counts() {
    let mut bench = Bench::ready(1, 0);
    let all = [holder(1, "h:1"), holder(2, "h:2"), holder(3, "h:3")];
    let effects = bench.feed(dispatch(vec![wanting(1)], all.to_vec()));
    assert_eq!(
        show(&effects),
        "stage a1 x y z 0<-am1@h:1,am2@h:2 2<-am3@h:3\n"
    );
    // It waits for its turn, and machine 1 restarts meanwhile.
    bench.feed(dispatch(vec![wanting(2)], Vec::new()));
    bench.feed(dispatch(vec![job(id(3))], vec![holder(1, "h:9")]));
    let effects = bench.feed(lacking(1));
    assert_eq!(
        show(&effects),
        "stage a2 x y z 0<-am1@h:9,am2@h:2 2<-am3@h:3\npm0: outcomes a1 lacking [0, 2]\nclear a1 /w/1\n"
    );
}

#[test]
fn an_attempt_without_its_inputs_is_reported_until_it_is_acknowledged() {
    let mut bench = Bench::ready(1, 0);
    bench.feed(dispatch(vec![wanting(1)], Vec::new()));
    let told = "pm0: outcomes a1 lacking [0, 2]\n";
    assert_eq!(
        show(&bench.feed(lacking(1))),
        format!("{told}clear a1 /w/1\n")
    );
    assert_eq!(show(&bench.wait(1)), told);
    // A second answer of a worker changes nothing.
    assert_eq!(show(&bench.feed(lacking(1))), "clear a1 /w/1\n");
    bench.feed(from_pm(ToActivity::Acknowledge(vec![id(1)])));
    assert_eq!(show(&bench.wait(1)), "");
}

#[test]
fn an_attempt_that_was_taken_back_while_it_was_fetched_for_leaves_no_directory() {
    let mut bench = Bench::ready(1, 0);
    bench.feed(dispatch(vec![wanting(1)], Vec::new()));
    bench.feed(from_pm(ToActivity::Retract(vec![id(1)])));
    assert_eq!(show(&bench.feed(lacking(1))), "clear a1 /w/1\n");
    bench.feed(dispatch(vec![job(id(2))], Vec::new()));
    bench.feed(staged(id(2)));
    // It is ready already, so it lacks nothing.
    assert_eq!(show(&bench.feed(lacking(2))), "clear a2 /w/2\n");
}

#[test]
fn copies_are_fetched_pinned_where_the_process_has_a_grant_and_told() {
    let mut bench = Bench::ready(1, 0);
    let copied = |process| Copied {
        process: model::ProcessId(process),
        activity: model::ActivityId(4),
        artifacts: vec![artifact()],
    };
    let copy = |process| Copy {
        copied: copied(process),
        holders: vec![ResourceId::local(2), ResourceId::local(3)],
        is_needed: false,
        number: None,
    };
    bench.feed(grants(&[(1, 1)]));
    let ask = ToActivity::Copy {
        copies: vec![copy(1), copy(2)],
        holders: vec![holder(2, "h:2")],
        meant_for: None,
    };
    assert_eq!(
        show(&bench.feed(from_pm(ask.clone()))),
        "copy a4 of 1 for 0 from [\"am2\"] pinned\ncopy a4 of 2 for 0 from [\"am2\"]\n"
    );
    // A request that was sent to an earlier epoch of this machine comes too late.
    if let ToActivity::Copy {
        copies, holders, ..
    } = ask
    {
        let late = ToActivity::Copy {
            copies,
            holders,
            meant_for: Some(model::Epoch(99)),
        };
        assert_eq!(show(&bench.feed(from_pm(late))), "");
    }
    let here = Input::Copied {
        to: 0,
        copied: copied(2),
    };
    assert_eq!(show(&bench.feed(here.clone())), "pm0: copied a4\n");
    // A disconnected process manager asks again when it is back.
    bench.feed(Input::Down(crate::Peer::Process(0)));
    assert_eq!(show(&bench.feed(here)), "");
}

/// Copies that these processes still need.
fn needed(processes: &[u64]) -> Input {
    let copies = processes.iter().map(|&process| Copy {
        copied: Copied {
            process: model::ProcessId(process),
            activity: model::ActivityId(4),
            artifacts: vec![artifact()],
        },
        holders: Vec::new(),
        is_needed: true,
        number: None,
    });
    from_pm(ToActivity::Copy {
        copies: copies.collect(),
        meant_for: None,
        holders: Vec::new(),
    })
}

fn renewed(keeps: &[u64]) -> Input {
    from_pm(ToActivity::Renewed {
        epoch: model::Epoch(2),
        number: 1,
        keeps: keeps.iter().copied().map(model::ProcessId).collect(),
    })
}

#[test]
fn copies_that_are_needed_stay_until_their_process_is_named_no_more() {
    let mut bench = Bench::ready(1, 0);
    let asked = show(&bench.feed(needed(&[1, 2, 3])));
    let pinned = |process| format!("copy a4 of {process} for 0 from [] pinned\n");
    assert_eq!(asked, [1, 2, 3].map(pinned).concat());
    assert_eq!(show(&bench.feed(renewed(&[1, 2, 3]))), "");
    // Process 1 has a grant as well, and keeps its files with either.
    assert_eq!(show(&bench.feed(renewed(&[2]))), "unneeded 3\n");
    assert_eq!(show(&bench.feed(grants(&[(2, 1)]))), "unneeded 1\n");
    assert_eq!(show(&bench.feed(grants(&[]))), "");
    assert_eq!(show(&bench.feed(renewed(&[]))), "unneeded 2\n");
    assert_eq!(show(&bench.feed(renewed(&[]))), "");
}

#[test]
fn a_machine_without_slots_keeps_copies_and_runs_nothing() {
    let mut bench = Bench::ready(0, 0);
    let asked = show(&bench.feed(needed(&[5])));
    assert_eq!(asked, "copy a4 of 5 for 0 from [] pinned\n");
    bench.feed(grants(&[]));
    let refused = show(&bench.feed(dispatch(vec![job(id(1))], Vec::new())));
    assert!(refused.contains("NoGrantYet"), "{refused}");
    // A late grant makes nothing run either.
    bench.feed(grants(&[(1, 1)]));
    let failed = show(&bench.feed(dispatch(vec![job(id(2))], Vec::new())));
    assert!(failed.contains("outcomes a2"), "{failed}");
    assert!(!failed.contains("stage"), "{failed}");
}

#[test]
fn what_an_attempt_is_still_to_be_given_is_not_discarded() {
    let mut bench = Bench::ready(1, 0);
    bench.feed(grants(&[(1, 1)]));
    let other = model::Artifact {
        hash: model::Hash([9; 32]),
        ..artifact()
    };
    let discard = || {
        let one = |made_by, file| Discard {
            made_by: id(made_by),
            artifacts: vec![file],
        };
        from_pm(ToActivity::Discard(vec![one(7, artifact()), one(8, other)]))
    };
    bench.feed(dispatch(vec![wanting(1)], Vec::new()));
    assert_eq!(show(&bench.feed(discard())), "discard a8 for 0\n");
    // It has its inputs in its directory.
    bench.feed(staged(id(1)));
    assert_eq!(show(&bench.feed(discard())), "discard a7 a8 for 0\n");
    let answer = Input::Discarded {
        to: 0,
        made_by: id(7),
    };
    assert_eq!(show(&bench.feed(answer.clone())), "pm0: discarded a7\n");
    // A disconnected process manager asks again when it is back.
    bench.feed(Input::Down(crate::Peer::Process(0)));
    assert_eq!(show(&bench.feed(answer)), "");
}

#[test]
fn the_files_of_a_process_without_a_grant_may_go() {
    let mut bench = Bench::ready(2, 0);
    assert_eq!(show(&bench.feed(grants(&[(1, 1), (2, 1)]))), "");
    assert_eq!(show(&bench.feed(grants(&[(2, 1)]))), "unneeded 1\n");
    assert_eq!(show(&bench.feed(grants(&[]))), "unneeded 2\n");
    assert_eq!(show(&bench.feed(grants(&[]))), "");
}

#[test]
fn a_process_manager_is_told_how_long_files_took() {
    let mut bench = Bench::ready(1, 0);
    let all = [holder(1, "h:1"), holder(2, "h:2"), holder(3, "h:3")];
    bench.feed(dispatch(vec![wanting(1)], all.to_vec()));
    let fetched = Fetched {
        from: ResourceId::local(3),
        bytes: Bytes(1 << 20),
        took: Span::from_millis(9),
    };
    let told = bench.feed(Input::Fetched(id(1), fetched));
    assert_eq!(show(&told), "pm0: fetched 1.0 MiB from r3\n");
    // Nobody waits for a file of an attempt that was taken back.
    assert_eq!(show(&bench.feed(Input::Fetched(id(7), fetched))), "");
}

#[test]
fn links_are_measured_for_the_process_manager_that_asks() {
    let mut bench = Bench::ready(1, 0);
    let holders = (2..9).map(|number| holder(number, "h:2")).collect();
    let asked = show(&bench.feed(from_pm(ToActivity::Probe(holders))));
    assert_eq!(
        asked.matches("am").count(),
        wire::attempt::PROBES_MAX,
        "{asked}"
    );
    let probed = Input::Probed {
        to: 0,
        fetched: wire::attempt::Fetched {
            from: model::ResourceId::local(2),
            bytes: model::Bytes(1 << 20),
            took: model::Span::from_millis(9),
        },
    };
    let told = show(&bench.feed(probed.clone()));
    assert!(told.starts_with("pm0: "), "{told}");
    bench.feed(Input::Down(crate::Peer::Process(0)));
    assert_eq!(show(&bench.feed(probed)), "");
}
