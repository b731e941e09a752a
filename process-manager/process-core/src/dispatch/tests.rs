//! Attempts by themselves: sent, repeated, compared with what machines hold, ended.

mod races;

use model::{
    ActivityId, Artifact, ArtifactKind, AttemptId, Bytes, Capture, Command, Draft, Epoch,
    FaultName, Hash, NodeId, NodeKind, Parse, Produced, ResourceId, Source, Span, Staged, Template,
    Type, Value, Variable, Wall,
};
use wire::attempt::{
    ATTEMPTS_MAX, Dispatch, End, Failure, INPUTS_MAX, Outcome, Started, ToActivity,
};
use wire::client::{RUN_AGAIN_SHOWN_MAX, RunAgain, RunAgainCause};
use wire::group::{Offer, Offered};

use super::send::parts;
use super::{Attempts, Grid};
use crate::Config;
use crate::budget::Turns;
use crate::enact::judge::Gone;
use crate::files::Files;
use crate::limits;
use crate::machines::Machines;
use crate::machines::tests::reachable;
use crate::market::Market;
use crate::record::{ActivityPhase, Event, Verdict};
use crate::tests::bench::{controller, draft, edit, ids, leaf};
use crate::tests::paper::{Bench, ID, attempt, outcome};
use crate::timer::Timer;

const FIRST: ResourceId = ResourceId::local(0);
const SECOND: ResourceId = ResourceId::local(1);

/// Other parts, as far as attempts read them.
struct Others {
    machines: Machines,
    market: Market,
    files: Files,
}

impl Others {
    fn grid(&self) -> Grid<'_> {
        Grid {
            machines: &self.machines,
            market: &self.market,
            files: &self.files,
        }
    }
}

/// p(a b): `a` on the first machine and `b` on the second; `a` is tried twice and may be repeated.
fn pair() -> Draft {
    let mut a = leaf("a");
    edit(&mut a, |activity| {
        activity.repeatable = true;
        activity.retry.attempts = 2;
        activity.retry.backoff = Span::from_secs(5);
    });
    let parallel = NodeKind::Parallel {
        children: ids(&[1, 2]),
        links: Vec::new(),
    };
    draft(vec![controller(parallel), a, leaf("b")])
}

fn bench(draft: Draft) -> (Bench, Attempts, Others) {
    let mut bench = Bench::new(Config::default());
    bench.found(draft);
    let mut attempts = Attempts::default();
    attempts.begin(&mut bench.step(), ID, true);
    let machines = reachable(&mut bench, &[FIRST, SECOND]);
    let resources = [FIRST, SECOND].map(|resource| Offered {
        resource,
        name: format!("m{resource}"),
        power: 1.0,
        slots: 4,
        free: 4,
        memory: Bytes(1),
        labels: Default::default(),
        bulk: None,
        yours: 0,
        shown: None,
    });
    let offer = Offer {
        epoch: Epoch(1),
        resources: resources.into(),
        leaving: Vec::new(),
        unavailable: Vec::new(),
        is_shared: false,
        n_revoked: 0,
        owners: None,
        takes_shown: false,
        policy: None,
        tuning: None,
    };
    let (mut files, mut market) = (Files::default(), Market::default());
    files.begin(bench.process(), true);
    files.learn(&offer);
    market.group_up(&mut bench.step(), FIRST.group);
    market.on_offer(&mut bench.step(), FIRST.group, offer);
    let others = Others {
        machines,
        market,
        files,
    };
    (bench, attempts, others)
}

/// The same, with a plan by which everything was sent.
fn sent() -> (Bench, Attempts, Others) {
    let (mut bench, mut attempts, others) = bench(pair());
    bench.plan(&[(1, FIRST), (2, SECOND)]);
    send(&mut bench, &mut attempts, &others);
    dispatched(&mut bench);
    (bench, attempts, others)
}

fn send(bench: &mut Bench, attempts: &mut Attempts, others: &Others) {
    let mut slice = Turns::default().slice(bench.now, ID);
    let has_faulted = attempts.send_ready(&mut bench.step(), others.grid(), ID, &mut slice);
    assert!(!has_faulted);
}

/// The attempts in messages to machines since the last call.
fn dispatched(bench: &mut Bench) -> Vec<(ResourceId, AttemptId)> {
    let sent = bench.take_to_machines().into_iter();
    let sent = sent.flat_map(|(resource, message)| {
        let ToActivity::Dispatch { attempts, .. } = message else {
            return Vec::new();
        };
        let ids = attempts.iter().map(|one| (resource, one.attempt));
        ids.collect()
    });
    sent.collect()
}

fn phase(bench: &Bench, activity: u32) -> ActivityPhase {
    bench.process().activity(ActivityId(activity)).phase
}

#[test]
fn what_is_ready_goes_to_the_machine_of_the_plan_once() {
    let (mut bench, mut attempts, others) = bench(pair());
    send(&mut bench, &mut attempts, &others);
    assert_eq!(dispatched(&mut bench), [], "nothing is planned");
    bench.plan(&[(1, FIRST), (2, SECOND)]);
    send(&mut bench, &mut attempts, &others);
    let (a, b) = (attempt(1, 1), attempt(2, 1));
    assert_eq!(dispatched(&mut bench), [(FIRST, a), (SECOND, b)]);
    assert!(bench.process().is_out(a) && bench.process().is_out(b));
    // It is due to be repeated.
    let due = bench.now.mono + limits::REPEAT;
    assert_eq!(bench.shared.timers.next(), Some(due));
    send(&mut bench, &mut attempts, &others);
    assert_eq!(dispatched(&mut bench), []);
}

#[test]
fn an_activity_that_wants_more_cores_than_its_process_holds_slots_is_not_sent() {
    let mut wide = pair();
    edit(&mut wide.nodes[1], |activity| activity.cores = 5);
    let (mut bench, mut attempts, others) = bench(wide);
    // Each machine has granted four.
    bench.plan(&[(1, FIRST), (2, SECOND)]);
    send(&mut bench, &mut attempts, &others);
    assert_eq!(dispatched(&mut bench), [(SECOND, attempt(2, 1))]);
    assert!(bench.process().has_too_wide(FIRST));
    assert!(!bench.process().has_too_wide(SECOND));
}

#[test]
fn an_attempt_waits_for_a_machine_that_cannot_be_reached() {
    let (mut bench, mut attempts, mut others) = bench(pair());
    bench.plan(&[(1, FIRST), (2, SECOND)]);
    others.machines.down(&mut bench.step(), FIRST);
    send(&mut bench, &mut attempts, &others);
    assert_eq!(dispatched(&mut bench), [(SECOND, attempt(2, 1))]);
    assert_eq!(phase(&bench, 1), ActivityPhase::Ready);
}

#[test]
fn an_attempt_is_sent_again_until_it_was_heard_of() {
    let (mut bench, mut attempts, others) = sent();
    let repeat = |bench: &mut Bench, attempts: &mut Attempts| {
        attempts.repeat_unacknowledged(&mut bench.step(), others.grid(), ID, FIRST);
        dispatched(bench)
    };
    let a = attempt(1, 1);
    assert_eq!(repeat(&mut bench, &mut attempts), [(FIRST, a)]);
    attempts.heard(SECOND, [a].into_iter());
    assert_eq!(repeat(&mut bench, &mut attempts), [(FIRST, a)]);
    attempts.heard(FIRST, [a].into_iter());
    assert_eq!(repeat(&mut bench, &mut attempts), []);
}

#[test]
fn an_attempt_is_sent_again_as_it_was_recorded_whatever_its_variables_have_become() {
    let mut changing = pair();
    changing.variables = vec![Variable {
        of: None,
        name: "n".to_owned(),
        kind: Type::Int,
        initial: Value::Int(7),
    }];
    edit(&mut changing.nodes[1], |activity| {
        activity.command = Command::List(vec![Template("${n}".to_owned())]);
    });
    edit(&mut changing.nodes[2], |activity| {
        activity.stdout = Some(Capture {
            variable: 0,
            parse: Parse::Int,
        });
    });
    let (mut bench, mut attempts, others) = bench(changing);
    bench.plan(&[(1, FIRST), (2, SECOND)]);
    send(&mut bench, &mut attempts, &others);
    let said = |bench: &mut Bench| {
        let sent = bench.take_to_machines().into_iter();
        let to_first = sent.filter(|(resource, _)| *resource == FIRST);
        let messages = to_first.flat_map(|(_, message)| {
            let ToActivity::Dispatch { attempts, .. } = message else {
                panic!("{message:?}")
            };
            attempts
        });
        let words = messages.map(|message| (message.attempt, message.command));
        words.collect::<Vec<_>>()
    };
    let first = vec![(attempt(1, 1), vec!["7".to_owned()])];
    assert_eq!(said(&mut bench), first);
    let wrote = Outcome {
        stdout: Some(b"8".to_vec()),
        ..outcome(attempt(2, 1), End::Completed)
    };
    attempts.on_outcomes(&mut bench.step(), others.grid(), SECOND, vec![wrote]);
    assert_eq!(bench.process().state.variables, [Value::Int(8)]);
    bench.take_to_machines();
    attempts.repeat_unacknowledged(&mut bench.step(), others.grid(), ID, FIRST);
    assert_eq!(said(&mut bench), first);
    // Another attempt has the values of its own time.
    attempts.compare(&mut bench.step(), FIRST, &[].into(), Gone::NotHeld);
    send(&mut bench, &mut attempts, &others);
    let second = vec![(attempt(1, 2), vec!["8".to_owned()])];
    assert_eq!(said(&mut bench), second);
}

#[test]
fn an_attempt_that_came_before_its_grant_is_sent_again_soon_and_less_soon_each_time() {
    let (mut bench, mut attempts, _) = sent();
    let a = attempt(1, 1);
    let mut waits = Vec::new();
    for _ in 0..9 {
        attempts.repeat_soon(&mut bench.step(), FIRST, &[a]);
        waits.extend(
            bench
                .shared
                .timers
                .next()
                .map(|at| at.since(bench.now.mono)),
        );
    }
    assert_eq!(waits[..3], [10, 20, 40].map(Span::from_millis));
    assert_eq!(waits[7..], [limits::REPEAT; 2]);
    // It was heard of meanwhile, and the next refusal is the first one again.
    attempts.heard(FIRST, [a].into_iter());
    attempts.repeat_soon(&mut bench.step(), FIRST, &[a]);
    let next = bench.shared.timers.next();
    assert_eq!(next, Some(bench.now.mono + Span::from_millis(10)));
}

#[test]
fn a_machine_that_lists_others_has_lost_what_it_was_sent_and_stops_what_nobody_wants() {
    let (mut bench, mut attempts, others) = sent();
    let unknown = attempt(2, 7);
    let step = &mut bench.step();
    let unwanted = attempts.compare(step, FIRST, &[unknown].into(), Gone::NotHeld);
    assert_eq!(unwanted, [unknown]);
    let stop = ToActivity::Stop(vec![unknown]);
    assert_eq!(bench.take_to_machines(), [(FIRST, stop)]);
    assert_eq!(phase(&bench, 1), ActivityPhase::Ready);
    assert_eq!(phase(&bench, 2), ActivityPhase::Sent);
    assert!(bench.shared.marks.processes.contains(&ID));
    send(&mut bench, &mut attempts, &others);
    assert_eq!(dispatched(&mut bench), [(FIRST, attempt(1, 2))]);
}

#[test]
fn an_outcome_is_recorded_once_and_acknowledged_each_time() {
    let (mut bench, mut attempts, others) = sent();
    let report = |bench: &mut Bench, attempts: &mut Attempts| {
        let outcomes = vec![outcome(attempt(2, 1), End::Completed)];
        attempts.on_outcomes(&mut bench.step(), others.grid(), SECOND, outcomes)
    };
    let acknowledge = || ToActivity::Acknowledge(vec![attempt(2, 1)]);
    assert_eq!(report(&mut bench, &mut attempts), [(ID, ActivityId(2))]);
    assert_eq!(bench.take_to_machines(), [(SECOND, acknowledge())]);
    let n_events = bench.paper.events.len();
    assert_eq!(report(&mut bench, &mut attempts), []);
    assert_eq!(bench.take_to_machines(), [(SECOND, acknowledge())]);
    assert_eq!(bench.paper.events.len(), n_events);
}

#[test]
fn an_attempt_that_has_started_is_not_taken_back_and_one_that_may_be_repeated_moves() {
    let (mut bench, mut attempts, _) = sent();
    let at = bench.now.wall;
    let started = |activity| Started {
        attempt: attempt(activity, 1),
        at,
        pid: 9,
    };
    let (a, b) = (started(1), started(2));
    assert_eq!(attempts.on_started(&bench.step(), FIRST, &[a]), [ID]);
    let late = Started {
        attempt: attempt(1, 7),
        ..started(1)
    };
    assert_eq!(attempts.on_started(&bench.step(), FIRST, &[late]), []);
    assert!(attempts.unstarted_at(&bench.step(), FIRST).is_empty());
    let unstarted = attempts.unstarted_at(&bench.step(), SECOND);
    assert_eq!(unstarted, [b.attempt].into());
    assert_eq!(attempts.out_at(&bench.step(), SECOND), [b.attempt]);
    assert_eq!(attempts.repeatable_at(&bench.step(), FIRST), [a.attempt]);
    assert_eq!(attempts.repeatable_at(&bench.step(), SECOND), []);
    assert_eq!(attempts.running(ID).unwrap().len(), 1);
    attempts.end(ID);
    assert!(attempts.running(ID).is_none());
}

#[test]
fn an_attempt_that_has_failed_is_tried_again_after_its_backoff_and_after_a_restart() {
    let (mut bench, mut attempts, others) = sent();
    let failure = Failure {
        name: FaultName::ExitCode,
        message: "no".to_owned(),
        directory: String::new(),
        stderr_tail: String::new(),
    };
    let failed = outcome(attempt(1, 1), End::Failed(Box::new(failure)));
    attempts.on_outcomes(&mut bench.step(), others.grid(), FIRST, vec![failed]);
    assert_eq!(phase(&bench, 1), ActivityPhase::Backoff);
    let next = bench.now.wall + Span::from_secs(5);
    assert_eq!(
        attempts.run_again(ID),
        (
            vec![RunAgain {
                activity: ActivityId(1),
                name: None,
                cause: RunAgainCause::Failed {
                    fault: "exit-code".to_owned(),
                    exit_code: Some(0),
                    n_failed: 1,
                    most: 2,
                    next,
                },
            }],
            1
        )
    );
    let backoffs = |bench: &Bench| bench.process().index.backoffs.clone();
    assert_eq!(backoffs(&bench), [(next, ActivityId(1))].into());
    bench.shared.timers = Default::default();
    attempts.begin(&mut bench.step(), ID, false);
    let timer = Timer::Backoff(ID, ActivityId(1));
    let due = bench.shared.timers.next().unwrap();
    assert!(due > bench.now.mono && due <= bench.now.mono + Span::from_secs(5));
    assert_eq!(bench.shared.timers.take_due(due), Some(timer));
    attempts.try_again(&mut bench.step(), ID, ActivityId(1));
    assert_eq!(phase(&bench, 1), ActivityPhase::Ready);
    assert_eq!(backoffs(&bench), [].into());
    let n_events = bench.paper.events.len();
    attempts.try_again(&mut bench.step(), ID, ActivityId(1));
    assert_eq!(bench.paper.events.len(), n_events, "it waits no more");
}

#[test]
fn of_many_that_run_again_the_last_are_told_and_all_are_counted() {
    let (mut bench, mut attempts, others) = sent();
    let n = RUN_AGAIN_SHOWN_MAX as u32 + 3;
    let lost = |number: u32| outcome(attempt(2, number), End::Lost);
    // One that did not start is not told, and no limit of losses counts it.
    let unstarted = Outcome {
        started: Wall(0),
        ..lost(1)
    };
    attempts.on_outcomes(&mut bench.step(), others.grid(), SECOND, vec![unstarted]);
    assert_eq!(attempts.run_again(ID), (Vec::new(), 0));
    let note = |number| RunAgain {
        activity: ActivityId(2),
        name: None,
        cause: RunAgainCause::Lost {
            machine: format!("m{number}"),
        },
    };
    bench.record(Event::Sent(vec![(ActivityId(2), 2, SECOND)], Vec::new()));
    attempts.on_outcomes(&mut bench.step(), others.grid(), SECOND, vec![lost(2)]);
    let told = RunAgain {
        cause: RunAgainCause::Lost {
            machine: SECOND.to_string(),
        },
        ..note(0)
    };
    assert_eq!(attempts.run_again(ID), (vec![told], 1));
    let open = attempts.open.get_mut(&ID).unwrap();
    (1..=n).for_each(|number| open.run_again.note(note(number)));
    let last = (n - RUN_AGAIN_SHOWN_MAX as u32 + 1..=n).map(note).collect();
    assert_eq!(attempts.run_again(ID), (last, u64::from(n) + 1));
}

#[test]
fn what_a_cancelled_process_has_out_is_stopped() {
    let (mut bench, attempts, mut others) = sent();
    let stop = |bench: &mut Bench, machines: &Machines| {
        attempts.stop_what_is_out(&mut bench.step(), machines, ID);
        bench.take_to_machines()
    };
    assert_eq!(stop(&mut bench, &others.machines), [], "it goes on");
    bench.record(Event::CancelAsked);
    others.machines.down(&mut bench.step(), FIRST);
    let b = ToActivity::Stop(vec![attempt(2, 1)]);
    assert_eq!(stop(&mut bench, &others.machines), [(SECOND, b)]);
}

/// s(a b): `b` reads a file that `a` makes.
fn chain() -> Draft {
    let (mut maker, mut reader) = (leaf("a"), leaf("b"));
    edit(&mut maker, |activity| {
        activity.outputs = vec![Produced {
            name: "out".to_owned(),
            path: "out".to_owned(),
        }];
    });
    edit(&mut reader, |activity| {
        activity.inputs = vec![Staged {
            path: "in".to_owned(),
            source: Source::Output {
                activity: NodeId(1),
                output: 0,
            },
            gathers: false,
            carried: None,
        }];
    });
    let sequence = NodeKind::Sequence(ids(&[1, 2]));
    draft(vec![controller(sequence), maker, reader])
}

#[test]
fn files_that_are_gone_are_made_again_before_the_activity_that_lacked_them_is_sent() {
    let (mut bench, mut attempts, others) = bench(chain());
    bench.plan(&[(1, FIRST), (2, SECOND)]);
    bench.complete(1, FIRST, vec![crate::tests::bench::artifact()]);
    send(&mut bench, &mut attempts, &others);
    assert_eq!(dispatched(&mut bench), [(SECOND, attempt(2, 1))]);
    let lacking = outcome(attempt(2, 1), End::Lacking(vec![0]));
    attempts.on_outcomes(&mut bench.step(), others.grid(), SECOND, vec![lacking]);
    let verdict = bench.paper.events.iter().rev().find_map(|(_, event)| {
        let Event::Ended(ended) = event else {
            return None;
        };
        Some(&ended.verdict)
    });
    assert_eq!(verdict, Some(&Verdict::Lacking(vec![ActivityId(1)])));
    bench.take_to_machines();
    send(&mut bench, &mut attempts, &others);
    assert_eq!(dispatched(&mut bench), [(SECOND, attempt(1, 2))]);
    let files_gone = RunAgain {
        activity: ActivityId(1),
        name: None,
        cause: RunAgainCause::FilesGone {
            machine: SECOND.to_string(),
        },
    };
    assert_eq!(attempts.run_again(ID), (vec![files_gone], 1));
    send(&mut bench, &mut attempts, &others);
    assert_eq!(dispatched(&mut bench), []);
    let mut made = outcome(attempt(1, 2), End::Completed);
    made.outputs = vec![crate::tests::bench::artifact()];
    attempts.on_outcomes(&mut bench.step(), others.grid(), SECOND, vec![made]);
    bench.take_to_machines();
    send(&mut bench, &mut attempts, &others);
    assert_eq!(dispatched(&mut bench), [(SECOND, attempt(2, 2))]);
}

#[test]
fn attempts_with_many_inputs_go_in_messages_of_bounded_size() {
    let with = |number: u32, n_inputs: usize| {
        let artifact = Artifact {
            hash: Hash([0; 32]),
            bytes: Bytes(0),
            kind: ArtifactKind::File,
        };
        let mut dispatch = Dispatch::new(attempt(number, 1), vec!["a".to_owned()]);
        dispatch.inputs = vec![("in".to_owned(), artifact); n_inputs];
        dispatch
    };
    let sizes = |wanted: &[usize]| -> Vec<usize> {
        let messages = (1..).zip(wanted).map(|(number, &size)| with(number, size));
        parts(messages.collect()).iter().map(Vec::len).collect()
    };
    assert_eq!(sizes(&[]), [0; 0]);
    assert_eq!(sizes(&[1, INPUTS_MAX - 1, 1]), [2, 1]);
    // One that is larger goes alone.
    assert_eq!(sizes(&[1, 3 * INPUTS_MAX, 1, 1]), [1, 1, 2]);
    assert_eq!(sizes(&vec![0; ATTEMPTS_MAX + 2]), [ATTEMPTS_MAX, 2]);
}
