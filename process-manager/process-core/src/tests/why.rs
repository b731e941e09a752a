//! Why activities are where they are.

use super::*;
use model::{ActivityId, Caching, OnFault, ProcessId, ResourceId};
use wire::client::{EachRun, Reason, Submit, WHY_ACTIVITIES_MAX, Why, WhyProcess};
use wire::group::Unavailable;

fn why(bench: &mut Bench, activity: u32) -> Why {
    let (process, activity) = (KEY.process(), ActivityId(activity));
    let answer = bench.answer(Request::Why { process, activity });
    let Answer::Why(live) = answer else {
        panic!("{answer:?}")
    };
    // Of an ended process, a running manager knows no more than its record.
    if bench.status().summary.phase.has_ended() {
        let states = bench.drive.states();
        let of = |id| states.get(Stream::Process(id))?.process();
        let known = of(process).unwrap();
        let base = known.base().and_then(of);
        let offline = crate::why(base, known, activity);
        assert_eq!(offline, Answer::Why(live.clone()));
    }
    *live
}

fn reasons(bench: &mut Bench, activity: u32) -> Vec<Reason> {
    why(bench, activity).reasons
}

fn after(activity: u32, phase: ActivityPhase) -> Reason {
    let activity = ActivityId(activity);
    Reason::After { activity, phase }
}

#[test]
fn what_waits_names_what_comes_before_the_nearest_first() {
    let mut bench = Bench::new(|_| None);
    bench.submit(diamond());
    assert_eq!(why(&mut bench, 1).phase, ActivityPhase::Sent);
    assert!(reasons(&mut bench, 1).is_empty());
    assert_eq!(reasons(&mut bench, 3), [after(1, ActivityPhase::Sent)]);
    assert_eq!(
        reasons(&mut bench, 5),
        [
            after(3, ActivityPhase::Waiting),
            after(4, ActivityPhase::Waiting)
        ]
    );
    let (process, activity) = (KEY.process(), ActivityId(0));
    let answer = bench.answer(Request::Why { process, activity });
    assert!(matches!(answer, Answer::Refused(_)));
}

#[test]
fn a_process_that_waits_since_the_group_manager_does_not_answer_says_so_after_some_seconds() {
    let mut bench = Bench::new(well);
    bench.give(Input::GroupDown(GROUP));
    bench.submit(diamond());
    bench.ask(Request::Watch(KEY.process()));
    let waits = |bench: &mut Bench| whole(bench).waiting_for.unwrap();
    bench.pass(2);
    assert!(!waits(&mut bench).contains("does not answer"));
    bench.answers.clear();
    bench.pass(2);
    let told = "the group manager, which does not answer";
    assert_eq!(waits(&mut bench), told);
    assert_eq!(bench.status().waiting_for.as_deref(), Some(told));
    let reasons = reasons(&mut bench, 1);
    let is_told =
        |reason: &Reason| matches!(reason, Reason::Machines(why) if why.starts_with(told));
    assert!(is_told(&reasons[0]), "{reasons:?}");
    // Whoever watches hears it without a question.
    let is_told = |answer: &Answer| matches!(answer, Answer::Progress(progress) if progress.waiting_for.as_deref() == Some(told));
    assert!(bench.answers.iter().any(is_told), "{:?}", bench.answers);
    bench.give(Input::GroupUp(GROUP));
    bench.run();
    assert_eq!(bench.status().waiting_for, None);
    assert_eq!(bench.status().summary.phase, Phase::Completed);
}

#[test]
fn a_process_that_waits_since_the_certificate_of_its_manager_is_revoked_says_so() {
    let mut bench = Bench::new(well);
    bench.give(Input::GroupDown(GROUP));
    bench.submit(diamond());
    bench.give(Input::Barred(true));
    let why = whole(&mut bench).waiting_for.unwrap();
    let told = "the group manager, which has revoked the certificate of the process manager";
    assert_eq!(why, told);
    bench.give(Input::Barred(false));
    bench.give(Input::GroupUp(GROUP));
    bench.run();
    assert_eq!(bench.status().summary.phase, Phase::Completed);
}

/// The explanation of the process as a whole.
fn whole(bench: &mut Bench) -> WhyProcess {
    whole_of(bench, KEY.process())
}

fn whole_of(bench: &mut Bench, id: ProcessId) -> WhyProcess {
    let answer = bench.answer(Request::WhyProcess(id));
    let Answer::WhyProcess(why) = answer else {
        panic!("{answer:?}")
    };
    *why
}

#[test]
fn a_process_tells_what_it_waits_for_as_a_whole() {
    let mut bench = Bench::new(|_| None);
    bench.slots = 0;
    bench.restart();
    bench.submit(diamond());
    let why = whole(&mut bench);
    assert_eq!((why.phase, why.activities), (Phase::Running, Vec::new()));
    assert!(why.waiting_for.is_some());
    let turn = why.turn.unwrap();
    assert_eq!((turn.n_before, turn.last, turn.free_at), (0, None, None));
    assert_eq!(bench.status().turn, Some(turn));
    let mut bench = Bench::new(|_| None);
    bench.submit(diamond());
    let why = whole(&mut bench);
    assert_eq!((why.waiting_for, why.turn), (None, None));
    let told: Vec<_> = why
        .activities
        .iter()
        .map(|one| (one.activity.0, one.phase))
        .collect();
    assert_eq!(told, [(1, ActivityPhase::Sent)]);
    assert_eq!(why.n_more, 0);
    let mut bench = Bench::new(well);
    bench.submit(diamond());
    bench.run();
    let why = whole(&mut bench);
    assert_eq!((why.phase, why.activities), (Phase::Completed, Vec::new()));
    let states = bench.drive.states();
    let of = |id| states.get(Stream::Process(id))?.process();
    let known = of(KEY.process()).unwrap();
    assert_eq!(
        crate::why_process(None, known),
        bench.answer(Request::WhyProcess(KEY.process()))
    );
}

/// ```text
///   slots of the machine  |long        ?|       wide waits for both
///                         |       free  |
/// ```
#[test]
fn a_process_for_which_machines_are_only_busy_is_told_who_holds_them_and_for_how_long() {
    let mut bench = backfill::waiting(Some(60));
    let id = backfill::key(1).process();
    let why = whole_of(&mut bench, id);
    let held = format!(
        "2 slots of here for wide, held by process {}",
        backfill::key(0).process()
    );
    assert_eq!(why.waiting_for.as_deref(), Some(held.as_str()));
    let free_at = bench.now.wall + Span::from_secs(60);
    let turn = why.turn.unwrap();
    assert_eq!((turn.n_before, turn.free_at), (0, Some(free_at)));
    let activity = ActivityId(1);
    let answer = bench.answer(Request::Why {
        process: id,
        activity,
    });
    let Answer::Why(why) = answer else {
        panic!("{answer:?}")
    };
    let next = "it is the next one; machines are expected to be free for it in 1m 00s";
    let told = Reason::Machines(format!("{held}; {next}"));
    assert_eq!(why.reasons, [told]);
    // It has waited for longer than a process does that no machine fits.
    bench.pass(59);
    assert_eq!(whole_of(&mut bench, id).phase, Phase::Running);
    assert_eq!(whole_of(&mut bench, id).waiting_for, Some(held));
}

/// So many activities side by side.
fn side_by_side(n: u32) -> Draft {
    let children: Vec<u32> = (1..=n).collect();
    let mut nodes = vec![controller(NodeKind::Parallel {
        children: ids(&children),
        links: Vec::new(),
    })];
    nodes.extend(children.iter().map(|number| leaf(&format!("a{number}"))));
    draft(nodes)
}

#[test]
fn a_large_process_names_some_of_the_activities_that_it_waits_for() {
    let n = 100;
    let mut bench = Bench::new(|_| None);
    bench.submit(side_by_side(n));
    let why = whole(&mut bench);
    assert_eq!(why.activities.len(), WHY_ACTIVITIES_MAX);
    assert_eq!(why.activities.len() as u32 + why.n_more, n);
    assert_eq!(why.activities[0].phase, ActivityPhase::Sent);
}

#[test]
fn along_links_too() {
    let link = Link {
        from: NodeId(1),
        to: NodeId(2),
        when: None,
    };
    let kind = NodeKind::Parallel {
        children: ids(&[1, 2]),
        links: vec![link],
    };
    let mut bench = Bench::new(|_| None);
    bench.submit(draft(vec![controller(kind), leaf("a"), leaf("b")]));
    assert_eq!(reasons(&mut bench, 2), [after(1, ActivityPhase::Sent)]);
}

#[test]
fn what_is_ready_waits_for_machines_or_its_place_in_the_queue() {
    let mut bench = Bench::new(|_| None);
    bench.slots = 0;
    bench.restart();
    bench.submit(diamond());
    assert!(matches!(reasons(&mut bench, 1)[..], [Reason::Machines(_)]));
    let unavailable = |number: u32| Unavailable {
        resource: ResourceId::new(MACHINE.group, number),
        why: format!("am{number} is closed until 20:00"),
    };
    bench.unavailable = (70..77).map(unavailable).collect();
    bench.restart();
    let told = "am70 is closed until 20:00; am71 is closed until 20:00; am72 is closed until 20:00; \
         am73 is closed until 20:00; and 3 other machines take no work";
    let [Reason::Machines(what)] = &reasons(&mut bench, 1)[..] else {
        panic!("it waits for machines");
    };
    assert!(what.ends_with(told), "{what}");
    let process = whole(&mut bench).waiting_for.unwrap();
    assert!(process.ends_with(told), "{process}");
    let n = 100;
    let mut bench = Bench::new(|_| None);
    bench.unavailable = vec![Unavailable {
        resource: MACHINE,
        why: "am1 is drained".to_owned(),
    }];
    bench.restart();
    bench.submit(side_by_side(n));
    let status = bench.status();
    let ready: Vec<u32> = status
        .activities
        .iter()
        .filter(|one| one.phase == ActivityPhase::Ready)
        .map(|one| one.activity.0)
        .collect();
    let n_out = n - ready.len() as u32;
    let places: Vec<Reason> = ready
        .iter()
        .flat_map(|&id| reasons(&mut bench, id))
        .collect();
    assert!(n_out > 0 && !ready.is_empty());
    let machine = Reason::Machines("its machine: am1 is drained".to_owned());
    assert!(places.contains(&machine), "{places:?}");
    assert!(places.contains(&Reason::Queue {
        resource: MACHINE,
        n_before: 0,
        n_out,
    }));
}

#[test]
fn a_backoff_a_fault_and_what_comes_after_it() {
    let mut draft = diamond();
    draft.on_fault = Some(OnFault::Stop);
    edit(&mut draft.nodes[3], |activity| {
        activity.retry = Retry {
            attempts: 2,
            backoff: Span::from_secs(9),
            on: Vec::new(),
            memory_percent: None,
        };
    });
    let mut bench = Bench::new(|dispatch| match dispatch.command[0].as_str() {
        "b" => Some((failed(FaultName::ExitCode), 3, String::new())),
        "c" => None,
        _ => well(dispatch),
    });
    bench.submit(draft);
    let until = bench.now.wall + Span::from_secs(9);
    let tries = |n_failed, ends: &[&str]| Reason::Tries {
        n_failed,
        most: 2,
        ends: ends.iter().map(|end| (*end).to_owned()).collect(),
        memory: None,
    };
    let backoff = [Reason::Backoff { until }, tries(1, &["exit-code"])];
    assert_eq!(reasons(&mut bench, 3), backoff);
    // No less time is left than until the next attempt.
    let left = bench.status().left.expect("a plan is made");
    assert!(left >= Span::from_secs(9), "{left:?}");
    bench.run();
    let fault = reasons(&mut bench, 3);
    assert!(matches!(&fault[..], [Reason::Fault(fault), _] if fault.exit_code == Some(3)));
    assert_eq!(fault[1], tries(2, &["exit-code"; 2]));
    let totals = bench.status().summary.totals;
    assert_eq!((totals.stopped, totals.not_run()), (1, 1), "{totals:?}");
    let ended = [Reason::Ended(Phase::Faulted)];
    assert_eq!(reasons(&mut bench, 4), ended);
    assert_eq!(reasons(&mut bench, 5), ended);
}

#[test]
fn what_was_skipped_names_the_link_or_the_join_above_it() {
    let link = |from, to, when: Option<&str>| Link {
        from: NodeId(from),
        to: NodeId(to),
        when: when.map(|when| Expression(when.into())),
    };
    // a>s(b) is false; c wants b's link and does not get it.
    let mut c = leaf("c");
    c.join = Join::When(Expression("links.b".into()));
    let links = vec![link(1, 2, Some("1 > 2")), link(3, 4, None)];
    let draft = draft(vec![
        controller(NodeKind::Parallel {
            children: ids(&[1, 2, 4]),
            links,
        }),
        leaf("a"),
        controller(NodeKind::Sequence(ids(&[3]))),
        leaf("b"),
        c,
    ]);
    let mut bench = Bench::new(well);
    bench.submit(draft);
    let (from, to) = (NodeId(1), NodeId(2));
    assert_eq!(reasons(&mut bench, 3), [Reason::Link { from, to }]);
    assert_eq!(reasons(&mut bench, 4), [Reason::Join(NodeId(4))]);
}

#[test]
fn what_is_broken_names_the_faults_that_it_follows_from() {
    // s(p(a b) c), with a faulting, and d after c by a link from around.
    let draft = draft(vec![
        controller(NodeKind::Parallel {
            children: ids(&[1, 6]),
            links: vec![Link {
                from: NodeId(5),
                to: NodeId(6),
                when: None,
            }],
        }),
        controller(NodeKind::Sequence(ids(&[2, 5]))),
        controller(NodeKind::Parallel {
            children: ids(&[3, 4]),
            links: Vec::new(),
        }),
        leaf("a"),
        leaf("b"),
        leaf("c"),
        leaf("d"),
    ]);
    let mut bench = Bench::new(|dispatch| match dispatch.command[0].as_str() {
        "a" => Some((failed(FaultName::ExitCode), 1, String::new())),
        _ => well(dispatch),
    });
    bench.submit_as(Submit {
        on_fault: Some(OnFault::Continue),
        ..submission(KEY, draft)
    });
    bench.run();
    assert_eq!(
        bench.phases(KEY),
        ["faulted", "completed", "skipped", "skipped"]
    );
    for skipped in [5, 6] {
        assert_eq!(reasons(&mut bench, skipped), [Reason::Broken(NodeId(3))]);
    }
}

#[test]
fn what_each_run_runs_says_why() {
    // a makes nothing, b names a place, c says so, d runs at most once, e may be recalled.
    let mut draft = draft(vec![
        controller(NodeKind::Parallel {
            children: ids(&[1, 2, 3, 4, 5]),
            links: Vec::new(),
        }),
        leaf("a"),
        leaf("b"),
        leaf("c"),
        leaf("d"),
        leaf("e"),
    ]);
    for node in 2..=5 {
        edit(&mut draft.nodes[node], |activity| {
            activity.outputs = vec![Produced {
                name: "o".to_owned(),
                path: "o".to_owned(),
            }];
        });
    }
    edit(&mut draft.nodes[2], |activity| {
        let words = ["cat", "/data/x"].map(|word| Template(word.to_owned()));
        activity.command = Command::List(words.into());
    });
    edit(&mut draft.nodes[3], |activity| {
        activity.cache = Caching::Never
    });
    edit(&mut draft.nodes[4], |activity| activity.at_most_once = true);
    let mut bench = Bench::new(well);
    bench.submit(draft);
    let said = [
        EachRun::MakesNothing,
        EachRun::NamesOutside("/data/x".to_owned()),
        EachRun::Said,
        EachRun::AtMostOnce,
    ];
    for (node, why) in (1..).zip(said) {
        assert_eq!(reasons(&mut bench, node), [Reason::EachRun(why)]);
    }
    assert_eq!(reasons(&mut bench, 5), []);
}
