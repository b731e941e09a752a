//! Tests of a process manager on a bench where all other managers behave as they should.

mod backfill;
pub(crate) mod bench;
mod chapters;
mod checks;
mod choice;
mod copies;
mod deeds;
mod depth;
mod discards;
mod enough;
mod expected_bodies;
mod expected_free;
mod folding;
mod for_each;
mod foresee;
mod groups;
mod growth;
mod held;
mod keep_going;
mod listed;
mod liveness;
mod many;
mod measured;
mod named_limits;
mod on_fault;
mod own_variables;
mod owners;
mod owners_share;
mod packing;
pub(crate) mod paper;
mod picks;
mod priority;
mod recall;
mod recompute;
mod repeat;
mod retries;
mod returns;
mod turns;
mod upkeep;
mod why;

use machine::Codec;
use model::{
    Command, Draft, Epoch, Expression, FaultName, Join, Link, NodeId, NodeKind, OnFault, Output,
    OutputSource, Produced, Retry, RetryOn, Source, Span, Staged, Template, Type, Value,
};
use schedule::SchedulerKind;
use wire::attempt::{Dispatch, End, FromActivity, Holds, Started};
use wire::client::{ActivityPhase, Answer, Phase, Request};

use self::bench::*;
use crate::record::Event;
use crate::{Caller, ClientId, Input, Room, Stream};
use crate::{ProcessManager, limits};

#[test]
fn a_sequence_with_a_parallel_runs_in_order_and_completes() {
    let mut bench = Bench::new(well);
    bench.submit(diamond());
    assert_eq!(bench.started, ["a", "b", "c", "d"]);
    assert_eq!(bench.end_line(), "completed");
    assert_eq!(bench.acknowledged.len(), 4);
    let status = bench.status();
    assert_eq!(status.summary.totals.completed, 4);
    assert!(
        status
            .activities
            .iter()
            .all(|one| one.phase == ActivityPhase::Completed)
    );
    assert!(status.activities.iter().all(|one| one.attempts.len() == 1));
}

fn working(work: u64) -> Draft {
    let mut draft = diamond();
    edit(&mut draft.nodes[1], |a| {
        a.work = Some(model::Work::from_secs(work))
    });
    draft
}

#[test]
fn a_plan_is_searched_for_where_work_is_given_and_nobody_waits() {
    let mut bench = Bench::new(well);
    bench.submit(diamond());
    assert_eq!(bench.planned_by, [SchedulerKind::Best]);
    bench.submit_as(submission(model::SubmitKey(78), working(3)));
    assert_eq!(bench.planned_by[1..], [SchedulerKind::Xavantes]);

    let mut bench = Bench::new(well);
    bench.give(Input::GroupDown(GROUP));
    for key in [1, 2] {
        bench.submit_as(submission(model::SubmitKey(key), working(3)));
    }
    assert_eq!(bench.planned_by, []);
    bench.give(Input::GroupUp(GROUP));
    let kinds = [SchedulerKind::Best, SchedulerKind::Xavantes];
    assert_eq!(bench.planned_by, kinds);
}

#[test]
fn a_process_is_refused_that_is_more_than_there_is_room_for() {
    let mut bench = Bench::new(well);
    bench.submit(diamond());
    let (_, founded) = bench
        .events
        .iter()
        .find(|(of, _)| *of != Stream::Manager)
        .unwrap();
    let mut bytes = Vec::new();
    founded.encode(&mut bytes);
    let bytes = bytes.len() as u64;
    // Keys of the same length.
    for (key, most, is_taken) in [(78, bytes - 1, false), (79, bytes, true)] {
        bench.give(Input::Room(Room::UpTo(model::Bytes(most))));
        let submit = submission(model::SubmitKey(key), diamond());
        let answer = bench.answer(Request::Submit(Box::new(submit)));
        assert_eq!(
            matches!(answer, Answer::Submitted(_)),
            is_taken,
            "{answer:?}"
        );
    }
}

#[test]
fn slots_are_claimed_again_as_soon_as_a_group_manager_is_back() {
    let mut bench = Bench::new(well);
    bench.claims_lost = 1;
    bench.submit(diamond());
    bench.give(Input::GroupDown(GROUP));
    assert_eq!(bench.started.len(), 0);
    bench.give(Input::GroupUp(GROUP));
    assert_eq!(bench.started.len(), 4);
}

#[test]
fn without_room_no_process_is_taken_and_what_was_taken_goes_on() {
    let mut bench = Bench::new(|_| None);
    bench.submit(diamond());
    bench.give(Input::Room(Room::None("its disk is full".to_owned())));
    let second = model::SubmitKey(78);
    bench.submit_as(submission(second, diamond()));
    // The same again is not another one.
    bench.submit(diamond());
    let taken = Answer::Submitted(KEY.process());
    let why = "the process manager takes no process at the moment: its disk is full";
    let refused = Answer::NoRoom(why.to_owned());
    assert_eq!(bench.answers, [taken.clone(), refused, taken]);
    let attempt = *bench.held.keys().next().unwrap();
    bench.end(attempt, End::Completed, 0, "");
    assert!(bench.acknowledged.contains(&attempt));
    bench.give(Input::Room(Room::Any));
    bench.submit_as(submission(second, diamond()));
    assert_eq!(bench.answers[3], Answer::Submitted(second.process()));
}

#[test]
fn a_manager_whose_certificate_is_revoked_takes_no_process_until_it_is_let_in_again() {
    let mut bench = Bench::new(|_| None);
    bench.submit(diamond());
    bench.give(Input::Barred(true));
    let second = submission(model::SubmitKey(78), diamond());
    for request in [Request::Submit(Box::new(second.clone())), Request::Machines] {
        let answer = bench.answer(request);
        let Answer::NoRoom(why) = answer else {
            panic!("{answer:?}")
        };
        assert!(why.contains("its certificate was revoked"), "{why}");
    }
    // The same again is not another one.
    let first = Request::Submit(Box::new(submission(KEY, diamond())));
    assert_eq!(bench.answer(first), Answer::Submitted(KEY.process()));
    let attempt = *bench.held.keys().next().unwrap();
    bench.end(attempt, End::Completed, 0, "");
    assert!(bench.acknowledged.contains(&attempt));
    // A group manager that is away says nothing of certificates.
    bench.give(Input::GroupDown(GROUP));
    bench.give(Input::Barred(false));
    let answer = bench.answer(Request::Submit(Box::new(second)));
    assert_eq!(answer, Answer::Submitted(model::SubmitKey(78).process()));
}

#[test]
fn the_same_key_is_the_same_process() {
    let mut bench = Bench::new(well);
    bench.submit(diamond());
    bench.submit(diamond());
    assert_eq!(bench.started.len(), 4);
    let submitted = Answer::Submitted(KEY.process());
    assert_eq!(bench.answers, [submitted.clone(), submitted]);
}

#[test]
fn a_false_link_skips_what_depends_on_it_and_any_runs_by_one_true_link() {
    // p(a b c d | a>b when false, b>c, a>d, b>d any)
    let link = |from, to, when: Option<&str>| Link {
        from: NodeId(from),
        to: NodeId(to),
        when: when.map(|when| Expression(when.into())),
    };
    let links = vec![
        link(1, 2, Some("total > 5")),
        link(2, 3, None),
        link(1, 4, None),
        link(2, 4, None),
    ];
    let mut d = leaf("d");
    d.join = Join::Any;
    let mut draft = draft(vec![
        controller(NodeKind::Parallel {
            children: ids(&[1, 2, 3, 4]),
            links,
        }),
        leaf("a"),
        leaf("b"),
        leaf("c"),
        d,
    ]);
    draft.variables = vec![int("total", Value::Int(5))];
    let mut bench = Bench::new(well);
    bench.submit(draft);
    assert_eq!(bench.started, ["a", "d"]);
    assert_eq!(bench.status().summary.totals.skipped, 2);
    assert_eq!(bench.status().summary.phase, Phase::Completed);
}

#[test]
fn what_a_command_prints_reaches_variables_and_outputs() {
    let assign = NodeKind::Assign(vec![model::Assignment {
        variable: 1,
        value: Expression("total * 2".into()),
    }]);
    let mut draft = draft(vec![
        controller(NodeKind::Sequence(ids(&[1, 2, 3]))),
        leaf("a"),
        controller(assign),
        leaf("b"),
    ]);
    edit(&mut draft.nodes[1], |activity| {
        activity.stdout = Some(model::Capture {
            variable: 0,
            parse: model::Parse::Int,
        });
        activity.outputs = vec![Produced {
            name: "out".into(),
            path: "o.txt".into(),
        }];
    });
    edit(&mut draft.nodes[3], |activity| {
        activity.command = Command::Shell(Template("echo ${twice}".into()));
        let source = Source::Output {
            activity: NodeId(1),
            output: 0,
        };
        activity.inputs = vec![Staged {
            path: "i.txt".into(),
            source,
            gathers: false,
            carried: None,
        }];
    });
    draft.variables = vec![int("total", Value::Null), int("twice", Value::Null)];
    let source = OutputSource::Expression(Expression("twice + 1".into()));
    draft.outputs = vec![Output {
        name: "sum".into(),
        source,
    }];
    let mut bench = Bench::new(well);
    bench.submit(draft);
    assert_eq!(bench.started, ["a", "/bin/sh -c echo 14"]);
    assert_eq!(bench.status().outputs, [("sum".to_owned(), Value::Int(15))]);
}

#[test]
fn a_failing_command_is_tried_again_after_its_backoff_and_then_faults() {
    let mut draft = draft(vec![leaf("a")]);
    edit(&mut draft.nodes[0], |activity| {
        let on = vec![RetryOn::Exit(3)];
        activity.retry = Retry {
            attempts: 3,
            backoff: Span::from_secs(10),
            on,
            memory_percent: None,
        };
    });
    let mut bench = Bench::new(|_| Some((failed(FaultName::ExitCode), 3, String::new())));
    let begin = bench.now.mono;
    bench.submit(draft);
    assert_eq!(bench.started.len(), 1);
    bench.run();
    assert_eq!(bench.started.len(), 3);
    assert_eq!(bench.now.mono.since(begin), Span::from_secs(30));
    let status = bench.status();
    assert_eq!(status.summary.phase, Phase::Faulted);
    let ends: Vec<_> = status.activities[0]
        .attempts
        .iter()
        .map(|one| one.end.clone())
        .collect();
    assert_eq!(ends, vec![Some("exit-code".to_owned()); 3]);
    assert_eq!((status.faults.len(), status.faults[0].attempt), (1, 3));
    assert_eq!(status.faults[0].stderr_tail, "oh\n");
}

#[test]
fn an_exit_code_that_is_not_named_is_not_tried_again() {
    let mut draft = draft(vec![leaf("a")]);
    edit(&mut draft.nodes[0], |activity| {
        let on = vec![RetryOn::Exit(3)];
        activity.retry = Retry {
            attempts: 3,
            backoff: Span::ZERO,
            on,
            memory_percent: None,
        };
    });
    let mut bench = Bench::new(|_| Some((failed(FaultName::ExitCode), 4, String::new())));
    bench.submit(draft);
    bench.run();
    assert_eq!(bench.started.len(), 1);
    assert_eq!(bench.status().summary.phase, Phase::Faulted);
}

#[test]
fn a_fault_stops_what_runs_and_starts_nothing_more_where_that_is_said() {
    let mut bench = Bench::new(|dispatch| match dispatch.command[0].as_str() {
        "b" => None,
        "c" => Some((failed(FaultName::ExitCode), 1, String::new())),
        _ => Some((End::Completed, 0, String::new())),
    });
    let mut diamond = diamond();
    diamond.on_fault = Some(OnFault::Stop);
    bench.submit(diamond);
    bench.run();
    assert_eq!(bench.started, ["a", "b", "c"]);
    let phases: Vec<_> = bench
        .status()
        .activities
        .iter()
        .map(|one| one.phase.word())
        .collect();
    assert_eq!(phases, ["completed", "stopped", "faulted", "skipped"]);
    assert_eq!(bench.status().summary.phase, Phase::Faulted);
}

#[test]
fn a_cancelled_process_stops_and_ends_once() {
    let mut bench = Bench::new(|_| None);
    bench.submit(diamond());
    let cancel = Request::Cancel(KEY.process());
    bench.give(Input::Request(ClientId(1), Caller::Local, 2, cancel));
    assert_eq!(bench.answers.pop(), Some(Answer::Cancelling(KEY.process())));
    bench.run();
    assert_eq!(bench.status().summary.phase, Phase::Cancelled);
    let closed = bench
        .events
        .iter()
        .filter(|(_, event)| matches!(event, Event::Closed { .. }));
    assert_eq!(closed.count(), 1);
}

#[test]
fn after_a_restart_what_still_runs_is_not_started_again() {
    let mut bench = Bench::new(|_| None);
    bench.submit(diamond());
    assert_eq!(bench.started, ["a"]);
    bench.restart();
    bench.run();
    assert_eq!(bench.started, ["a"]);
    // The group is told what it may have lost.
    let [held] = bench.told_held.as_slice() else {
        panic!("{:?}", bench.told_held)
    };
    assert_eq!((held.process, held.number), (KEY.process(), 1));
    assert!(
        held.grants
            .iter()
            .all(|grant| grant.resource == MACHINE && grant.slots > 0)
    );
    assert!(!held.grants.is_empty());
    let attempt = *bench.held.keys().next().unwrap();
    bench.end(attempt, End::Completed, 0, "");
    assert_eq!(bench.started, ["a", "b", "c"]);
}

#[test]
fn after_a_restart_what_the_machine_does_not_hold_is_made_again() {
    let mut bench = Bench::new(|_| None);
    bench.submit(diamond());
    let first = *bench.held.keys().next().unwrap();
    bench.held.clear();
    bench.epoch = Epoch(5);
    bench.restart();
    assert_eq!(bench.started, ["a", "a"]);
    let second = *bench.held.keys().next().unwrap();
    assert_eq!((first.number, second.number), (1, 2));
    // The first one's outcome comes late: it is acknowledged and changes nothing.
    let dispatch = bench.held[&second].clone();
    bench.held.insert(
        first,
        Dispatch {
            attempt: first,
            ..dispatch
        },
    );
    let n_events = bench.events.len();
    bench.end(first, failed(FaultName::ExitCode), 1, "");
    assert_eq!(bench.events.len(), n_events);
    assert!(bench.acknowledged.contains(&first));
    bench.script = Box::new(well);
    bench.end(second, End::Completed, 0, "");
    assert_eq!(bench.end_line(), "completed");
}

#[test]
fn a_second_report_of_an_outcome_changes_nothing_and_is_acknowledged() {
    let mut bench = Bench::new(|_| None);
    bench.submit(diamond());
    let attempt = *bench.held.keys().next().unwrap();
    let dispatch = bench.held[&attempt].clone();
    bench.end(attempt, End::Completed, 0, "");
    let before = bench.status();
    let n_events = bench.events.len();
    bench.acknowledged.clear();
    bench.held.insert(attempt, dispatch);
    bench.end(attempt, failed(FaultName::ExitCode), 1, "");
    assert_eq!(bench.events.len(), n_events);
    assert_eq!(bench.status(), before);
    assert!(bench.acknowledged.contains(&attempt));
}

#[test]
fn a_command_that_is_lost_again_and_again_while_it_runs_is_given_up() {
    let mut bench = Bench::new(|_| Some((End::Lost, 0, String::new())));
    bench.submit(draft(vec![leaf("a")]));
    bench.run();
    let status = bench.status();
    assert_eq!(status.summary.phase, Phase::Faulted);
    assert_eq!(status.faults[0].name, FaultName::Lost);
    assert_eq!(bench.started.len(), usize::from(limits::LOSSES_MAX));
}

#[test]
fn an_activity_that_no_machine_can_run_faults_with_the_nearest_misfit() {
    let mut draft = draft(vec![leaf("a")]);
    edit(&mut draft.nodes[0], |activity| activity.cores = 8);
    let mut bench = Bench::new(well);
    bench.submit(draft);
    let status = bench.status();
    assert_eq!(status.summary.phase, Phase::Faulted);
    assert_eq!(status.faults[0].name, FaultName::NoResource);
    assert!(
        status.faults[0].message.contains("8 cores"),
        "{}",
        status.faults[0].message
    );
}

#[test]
fn bad_submissions_are_refused_and_change_nothing() {
    let mut bench = Bench::new(well);
    let n_events = bench.events.len();
    bench.submit(Draft::default());
    let mut unknown = draft(vec![leaf("a")]);
    edit(&mut unknown.nodes[0], |activity| {
        activity.command = Command::List(vec![Template("${ nobody }".into())]);
    });
    bench.submit(unknown);
    let mut wants = draft(vec![leaf("a")]);
    let (kind, default) = (Type::Int, None);
    let input = model::Input {
        name: "n".into(),
        kind,
        default,
        minimum: None,
        maximum: None,
    };
    wants.inputs.push(input);
    bench.submit(wants);
    assert!(
        bench
            .answers
            .iter()
            .all(|answer| matches!(answer, Answer::Refused(_)))
    );
    assert_eq!((bench.answers.len(), bench.events.len()), (3, n_events));
}

#[test]
fn a_fault_of_an_expression_while_it_runs_ends_the_process() {
    let mut draft = diamond();
    draft.variables = vec![int("zero", Value::Int(0))];
    edit(&mut draft.nodes[5], |activity| {
        activity.command = Command::List(vec![Template("${ 1 / zero }".into())]);
    });
    let mut bench = Bench::new(well);
    bench.submit(draft);
    bench.run();
    let status = bench.status();
    assert_eq!(bench.started, ["a", "b", "c"]);
    assert_eq!(status.summary.phase, Phase::Faulted);
    assert_eq!(status.faults[0].name, FaultName::Expression);
    // Its command was never started; it failed all the same.
    assert_eq!(
        status.activities[3].phase,
        wire::client::ActivityPhase::Faulted
    );
    assert_eq!(status.summary.totals.faulted, 1);
    assert!(status.activities[3].attempts.is_empty());
}

#[test]
fn a_snapshot_gives_the_same_state_back_at_every_point() {
    let mut bench = Bench::new(well);
    bench.submit(diamond());
    snapshots_hold(&bench, KEY);
}

/// A snapshot of a process gives the same state back wherever it is taken.
fn snapshots_hold(bench: &Bench, key: model::SubmitKey) {
    let stream = Stream::Process(key.process());
    let events: Vec<Event> = bench
        .events
        .iter()
        .filter(|(of, _)| *of == stream)
        .map(|(_, event)| event.clone())
        .collect();
    use machine::Machine;
    let replay = |events: &[Event]| {
        let mut state = crate::State::default();
        for event in events {
            ProcessManager::apply(&mut state, event);
        }
        state
    };
    let whole = format!("{:?}", replay(&events));
    for cut in 1..=events.len() {
        let (mut bytes, mut taken) = (Vec::new(), replay(&events[..cut]));
        ProcessManager::snapshot(&taken).encode(&mut bytes);
        let snapshot = crate::Snapshot::decode(&bytes).unwrap();
        let chapters = ProcessManager::take_chapters(&mut taken);
        let mut state = ProcessManager::restore(replay(&events[..1]), snapshot, chapters);
        for event in &events[cut..] {
            ProcessManager::apply(&mut state, event);
        }
        assert_eq!(format!("{state:?}"), whole, "after {cut} events");
    }
}
