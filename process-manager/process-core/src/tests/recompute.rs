//! Files that are gone, and are made again.

use model::{Bytes, Capture, Node, OnFault, Parse, ResourceId, SubmitKey};
use wire::attempt::{Holder, Sources};
use wire::client::Submit;
use wire::group::{Offered, ToGroup};

use super::*;
use crate::io::Effect;

type Answered = Option<(End, i32, String)>;

/// Answers as the function says, by command and number of the attempt, and else that all is well.
fn bench(odd: impl Fn(&str, u32) -> Option<Answered> + 'static) -> Bench {
    Bench::new(move |dispatch| {
        let (command, number) = (dispatch.command[0].as_str(), dispatch.attempt.number);
        odd(command, number).unwrap_or_else(|| well(dispatch))
    })
}

fn lacking(inputs: &[u32]) -> Option<Answered> {
    Some(Some((End::Lacking(inputs.to_vec()), 0, String::new())))
}

/// A leaf with a file for others and files of others.
pub(super) fn maker(name: &str, from: &[u32]) -> Node {
    let mut node = leaf(name);
    edit(&mut node, |activity| {
        activity.outputs = vec![Produced {
            name: "out".into(),
            path: "out".into(),
        }];
        activity.inputs = from
            .iter()
            .map(|&number| Staged {
                path: format!("in{number}"),
                source: Source::Output {
                    activity: NodeId(number),
                    output: 0,
                },
                gathers: false,
                carried: None,
            })
            .collect();
    });
    node
}

/// s(a b c), each given what those before have made; what `a` writes goes into a variable.
fn chain() -> Draft {
    let mut first = maker("a", &[]);
    edit(&mut first, |activity| {
        activity.stdout = Some(Capture {
            variable: 0,
            parse: Parse::Int,
        });
    });
    Draft {
        variables: vec![int("v", Value::Int(0))],
        ..draft(vec![
            controller(NodeKind::Sequence(ids(&[1, 2, 3]))),
            first,
            maker("b", &[1]),
            maker("c", &[1, 2]),
        ])
    }
}

fn count(bench: &Bench, name: &str) -> usize {
    bench.started.iter().filter(|one| *one == name).count()
}

#[test]
fn files_that_are_gone_are_made_again_and_the_recorded_outcome_stands() {
    let mut bench = bench(|command, number| match (command, number) {
        ("b", 1) => lacking(&[0]),
        // It writes something else this time.
        ("a", 2) => Some(Some((End::Completed, 0, "8\n".to_owned()))),
        ("c", _) => Some(None),
        _ => None,
    });
    bench.drifts = true;
    bench.submit(chain());
    assert_eq!(bench.started, ["a", "b", "a", "b", "c"]);
    let status = bench.status();
    let [a, b, _] = &status.activities[..] else {
        panic!("three activities")
    };
    let ends = |one: &wire::client::ActivityStatus| {
        let ends = one.attempts.iter().map(|attempt| {
            let end = attempt.end.clone().unwrap_or_default();
            format!("{} {end}", attempt.attempt.number)
        });
        ends.collect::<Vec<String>>().join(", ")
    };
    assert_eq!(a.phase, ActivityPhase::Completed);
    assert_eq!(ends(a), "1 completed, 2 made again, with other content");
    assert_eq!(ends(b), "1 lacking, 2 completed");
    // The next one is given what was made last.
    let (last, dispatch) = bench.held.iter().next().unwrap();
    assert_eq!(last.number, 1);
    assert_eq!(dispatch.inputs[0].1, a.outputs[0].1);
    let last = *last;
    bench.end(last, End::Completed, 0, "");
    assert_eq!(bench.end_line(), "completed v=Int(7)");
    assert_eq!(bench.status().summary.totals.completed, 3);
}

#[test]
fn what_is_needed_to_make_it_again_is_made_again_before() {
    let mut bench = bench(|command, number| match (command, number) {
        ("c", 1) => lacking(&[1]),
        ("b", 2) => lacking(&[0]),
        _ => None,
    });
    bench.submit(chain());
    assert_eq!(bench.started, ["a", "b", "c", "b", "a", "b", "c"]);
    assert_eq!(bench.end_line(), "completed v=Int(7)");
}

#[test]
fn a_restart_goes_on_with_what_is_being_made_again() {
    let mut bench = bench(|command, number| match (command, number) {
        ("c", 1) => lacking(&[0, 1]),
        ("a" | "b", 2) => Some(None),
        _ => None,
    });
    bench.submit(chain());
    let held: Vec<_> = bench.held.keys().copied().collect();
    assert_eq!(held.len(), 1, "what `b` is given comes first");
    bench.restart();
    assert_eq!(bench.held.keys().copied().collect::<Vec<_>>(), held);
    bench.end(held[0], End::Completed, 0, "");
    let held = *bench.held.keys().next().unwrap();
    bench.restart();
    bench.end(held, End::Completed, 0, "");
    assert_eq!(bench.started, ["a", "b", "c", "a", "b", "c"]);
    bench.restart();
    assert_eq!(bench.end_line(), "completed v=Int(7)");
}

#[test]
fn a_lost_attempt_to_make_it_again_is_followed_by_another() {
    let mut bench = bench(|command, number| match (command, number) {
        ("b", 1) => lacking(&[0]),
        ("a", 2) => Some(Some((End::Lost, 0, String::new()))),
        _ => None,
    });
    bench.submit(chain());
    assert_eq!(bench.started, ["a", "b", "a", "a", "b", "c"]);
    assert_eq!(bench.end_line(), "completed v=Int(7)");
}

#[test]
fn a_failed_attempt_to_make_it_again_ends_the_process() {
    let mut bench = bench(|command, number| match (command, number) {
        ("b", 1) => lacking(&[0]),
        ("a", 2) => Some(Some((failed(FaultName::ExitCode), 1, String::new()))),
        _ => None,
    });
    bench.submit(chain());
    let status = bench.status();
    assert_eq!(status.summary.phase, Phase::Faulted);
    assert_eq!(status.faults[0].name, FaultName::Lost);
    assert_eq!(
        status.faults[0].message,
        "what `a` had produced is damaged or gone, and making it again failed: it did not go well"
    );
}

#[test]
fn others_go_on_where_it_cannot_be_made_again() {
    let mut bench = bench(|command, number| match (command, number) {
        ("b", 1) => lacking(&[0]),
        ("a", 2) => Some(Some((failed(FaultName::ExitCode), 1, String::new()))),
        _ => None,
    });
    let both = draft(vec![
        controller(NodeKind::Parallel {
            children: ids(&[1, 4]),
            links: Vec::new(),
        }),
        controller(NodeKind::Sequence(ids(&[2, 3]))),
        maker("a", &[]),
        maker("b", &[2]),
        leaf("d"),
    ]);
    bench.submit_as(Submit {
        on_fault: Some(OnFault::Continue),
        ..submission(KEY, both)
    });
    bench.run();
    assert_eq!(bench.phases(KEY), ["completed", "faulted", "completed"]);
    assert_eq!(bench.status().summary.phase, Phase::Faulted);
}

#[test]
fn it_is_not_made_again_for_ever() {
    let mut bench = bench(|command, _| match command {
        "b" => lacking(&[0]),
        _ => None,
    });
    bench.submit(chain());
    let status = bench.status();
    assert_eq!(status.faults[0].name, FaultName::Lost);
    assert_eq!(count(&bench, "a"), 11);
}

#[test]
fn one_that_was_sent_before_is_only_sent_again() {
    let mut bench = bench(|command, number| match (command, number) {
        ("b" | "c", 1) => Some(None),
        _ => None,
    });
    bench.submit(draft(vec![
        controller(NodeKind::Sequence(ids(&[1, 2]))),
        maker("a", &[]),
        controller(NodeKind::Parallel {
            children: ids(&[3, 4]),
            links: Vec::new(),
        }),
        maker("b", &[1]),
        maker("c", &[1]),
    ]));
    let held: Vec<_> = bench.held.keys().copied().collect();
    for attempt in held {
        bench.end(attempt, End::Lacking(vec![0]), 0, "");
    }
    assert_eq!(bench.started, ["a", "b", "c", "a", "b", "c"]);
    assert_eq!(bench.end_line(), "completed");
}

/// [`chain`], of which `c` lacks what `a` had made when the variable that `a` was run with is another one.
fn with_other_variables() -> (Bench, Draft) {
    let bench = bench(|command, number| match (command, number) {
        ("c", 1) => lacking(&[0]),
        _ => None,
    });
    let mut chain = chain();
    edit(&mut chain.nodes[1], |activity| {
        activity.env = vec![("N".into(), Template("${v}".into()))];
    });
    (bench, chain)
}

#[test]
fn with_other_variables_it_cannot_be_made_again() {
    let (mut bench, chain) = with_other_variables();
    bench.submit(chain);
    let status = bench.status();
    assert_eq!(status.faults[0].name, FaultName::Lost);
    assert!(status.faults[0].message.contains("variables"));
    assert_eq!(count(&bench, "a"), 1);
}

#[test]
fn with_other_variables_others_go_on_and_what_waits_for_it_does_not() {
    let (mut bench, chain) = with_other_variables();
    bench.submit_as(Submit {
        on_fault: Some(OnFault::Continue),
        ..submission(KEY, chain)
    });
    bench.run();
    let status = bench.status();
    assert_eq!(status.summary.phase, Phase::Faulted);
    assert_eq!(bench.phases(KEY), ["completed", "completed", "faulted"]);
    assert_eq!(status.faults.len(), 1);
    assert!(status.faults[0].message.contains("variables"));
    assert_eq!(count(&bench, "a"), 1);
    // Whoever asks why learns what was lost, though it did not fail itself.
    let of_c = Request::Why {
        process: KEY.process(),
        activity: status.activities[2].activity,
    };
    let Answer::Why(why) = bench.answer(of_c) else {
        panic!("it is not told");
    };
    let told = matches!(&why.reasons[0], wire::client::Reason::Fault(fault) if fault.name == FaultName::Lost);
    assert!(told, "{:?}", why.reasons);
}

const OTHER: ResourceId = ResourceId::local(77);

/// A machine that only gives files.
fn store() -> Offered {
    Offered {
        resource: OTHER,
        name: "store".into(),
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

fn with_file(key: u64, store: Option<ResourceId>) -> Submit {
    let draft = Draft {
        files: vec!["x.sh".into()],
        ..draft(vec![leaf("a")])
    };
    Submit {
        files: vec![artifact()],
        store,
        ..submission(SubmitKey(key), draft)
    }
}

#[test]
fn who_has_a_file_is_named_where_machines_do_not_share_a_store() {
    let seen: std::rc::Rc<std::cell::RefCell<Vec<Vec<Sources>>>> = Default::default();
    let notes = std::rc::Rc::clone(&seen);
    let mut bench = Bench::new(move |dispatch| {
        notes.borrow_mut().push(dispatch.sources.clone());
        well(dispatch)
    });
    bench.submit_as(with_file(1, None));
    assert_eq!(seen.borrow_mut().split_off(0), [vec![]]);
    assert_eq!(bench.holders, []);

    bench.others = vec![store()];
    bench.restart();
    bench.submit_as(with_file(2, None));
    bench.submit_as(with_file(3, Some(OTHER)));
    // A file on the machine itself has no other sources named.
    bench.submit_as(with_file(4, Some(MACHINE)));
    let named = vec![Sources {
        input: 0,
        holders: vec![OTHER],
    }];
    assert_eq!(*seen.borrow(), [named.clone(), named, vec![]]);
    let holder = Holder {
        resource: OTHER,
        name: "store".into(),
        address: "store:1".into(),
    };
    assert_eq!(bench.holders, [holder.clone(), holder]);
}

#[test]
fn a_file_of_a_user_that_nobody_has_is_a_fault() {
    let mut bench = bench(|_, _| lacking(&[0]));
    bench.submit_as(with_file(1, Some(OTHER)));
    let status = bench.status_of(SubmitKey(1));
    assert_eq!(status.faults[0].name, FaultName::Staging);
    assert_eq!(
        status.faults[0].message,
        "a: the file `x.sh` that was given with the process is damaged or gone on every machine that \
         had it, and nothing can make it again: submit the process again with it"
    );
}

/// Numbers that look drawn, the same for the same seed.
struct Drawn(u64);

impl Drawn {
    fn below(&mut self, bound: u64) -> u64 {
        // Knuth's multiplier; the high bits are the good ones.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % bound
    }
}

/// Activities one after another, each given files of some of those before.
fn random_chain(drawn: &mut Drawn) -> (Draft, u32) {
    let n_activities = 3 + drawn.below(5) as u32;
    let numbers: Vec<u32> = (1..=n_activities).collect();
    let mut nodes = vec![controller(NodeKind::Sequence(ids(&numbers)))];
    for number in numbers {
        let from: Vec<u32> = (1..number).filter(|_| drawn.below(2) == 0).collect();
        nodes.push(maker(&format!("a{number}"), &from));
    }
    (draft(nodes), n_activities)
}

#[test]
fn whatever_is_lost_and_whoever_is_killed_each_outcome_is_recorded_once_and_all_ends_well() {
    for seed in 0..300 {
        let mut drawn = Drawn(seed);
        let (chain, n_activities) = random_chain(&mut drawn);
        let mut luck = Drawn(seed ^ 0x5eed);
        let mut n_bad = 8;
        let mut bench = Bench::new(move |dispatch| {
            let inputs = dispatch.inputs.len() as u64;
            match luck.below(10) {
                0..=3 if n_bad > 0 && inputs > 0 => {
                    n_bad -= 1;
                    let lacked = luck.below(inputs) as u32;
                    Some((End::Lacking(vec![lacked]), 0, String::new()))
                }
                4 if n_bad > 0 => {
                    n_bad -= 1;
                    Some((End::Lost, 0, String::new()))
                }
                5 | 6 => None,
                _ => well(dispatch),
            }
        });
        bench.drifts = drawn.below(2) == 0;
        // Every third process has copies of its files, as far as the other machine keeps them.
        bench.others = vec![store()];
        bench.keeps = !seed.is_multiple_of(2);
        let copies = u32::from(seed.is_multiple_of(3));
        bench.restart();
        bench.submit(Draft { copies, ..chain });
        for _ in 0..200 {
            if bench.status().summary.phase.has_ended() {
                break;
            }
            let held: Vec<_> = bench.held.keys().copied().collect();
            match (drawn.below(3), held.first()) {
                (0, _) => bench.restart(),
                (_, Some(&attempt)) => bench.end(attempt, End::Completed, 0, ""),
                (_, None) => bench.run(),
            }
        }
        assert_eq!(bench.end_line(), "completed", "seed {seed}");
        let recomputed = bench.events.iter().filter_map(|(_, event)| {
            if let Event::Recomputing(sent) = event {
                return sent
                    .first()
                    .map(|&(activity, number, _)| (activity, number));
            }
            None
        });
        let recomputed: Vec<_> = recomputed.collect();
        let is_outcome_of = |event: &Event, activity: u32| {
            let Event::Ended(ended) = event else {
                return false;
            };
            let attempt = ended.outcome.attempt;
            attempt.activity.0 == activity
                && ended.verdict == crate::record::Verdict::Completed
                && !recomputed.contains(&(attempt.activity, attempt.number))
        };
        for number in 1..=n_activities {
            let events = bench.events.iter();
            let recorded = events
                .filter(|(_, event)| is_outcome_of(event, number))
                .count();
            assert_eq!(recorded, 1, "seed {seed}, a{number}");
        }
    }
}

#[test]
fn a_machine_that_is_found_elsewhere_is_asked_again_first() {
    let mut bench = bench(|_, _| Some(None));
    bench.others = vec![store()];
    bench.restart();
    bench.submit_as(with_file(1, Some(OTHER)));
    let moved = Offered {
        bulk: Some("store:2".into()),
        ..store()
    };
    bench.others = vec![moved];
    bench.play(Effect::ToGroup(GROUP, ToGroup::Attach { epoch: Epoch(1) }));
    let held = *bench.held.keys().next().unwrap();
    bench.end(held, End::Lacking(vec![0]), 0, "");
    assert_eq!(bench.started, ["a", "a"]);
    assert_eq!(bench.holders.last().unwrap().address, "store:2");
    // It is where it was said to be, and does not have it.
    let held = *bench.held.keys().next().unwrap();
    bench.end(held, End::Lacking(vec![0]), 0, "");
    let status = bench.status_of(SubmitKey(1));
    assert_eq!(status.faults[0].name, FaultName::Staging);
}

#[test]
fn what_an_earlier_epoch_had_sent_is_sent_again_before_files_count_as_gone() {
    let mut bench = bench(|_, _| Some(None));
    bench.others = vec![store()];
    bench.restart();
    bench.submit_as(with_file(1, Some(OTHER)));
    bench.restart();
    for n_sent in 1..=2 {
        assert_eq!(count(&bench, "a"), n_sent);
        let held = *bench.held.keys().next().unwrap();
        bench.end(held, End::Lacking(vec![0]), 0, "");
    }
    let status = bench.status_of(SubmitKey(1));
    assert_eq!(status.faults[0].name, FaultName::Staging);
}
