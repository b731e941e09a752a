use model::{
    ActivityId, AttemptId, Bytes, Fault, FaultName, Mono, NodeId, ProcessId, ResourceId, Span, Wall,
};
use std::collections::BTreeMap;
use wire::attempt::Started;

use super::*;
use crate::record::{End, Flow, NodeState, Outcome};

const ID: ProcessId = ProcessId(7);

fn at(milliseconds: u64) -> Mono {
    Mono(1_000 * milliseconds)
}

fn running(nodes: &[u32]) -> Event {
    let nodes: BTreeMap<NodeId, NodeState> = nodes
        .iter()
        .map(|&node| (NodeId(node), NodeState::Running))
        .collect();
    Event::Decided(Flow::new(&nodes, &BTreeMap::new()))
}

fn attempt(activity: u32, number: u32) -> AttemptId {
    AttemptId {
        process: ID,
        activity: ActivityId(activity),
        number,
    }
}

fn ended(attempt: AttemptId, wall: Span, verdict: Verdict) -> Event {
    let outcome = Outcome {
        attempt,
        end: End::Completed,
        started: Wall(1),
        wall,
        cpu: Span::ZERO,
        peak_memory: Bytes::ZERO,
        exit_code: Some(0),
        pid: 1,
        outputs: Vec::new(),
        log: None,
    };
    Event::Ended(Box::new(Ended {
        outcome,
        verdict,
        writes: Vec::new(),
        flow: Flow::default(),
    }))
}

/// The sum and the number of the measured delays, in milliseconds.
fn delays(counter: &Counter) -> (u64, u64) {
    let delays = &counter.tally.start_delays;
    (delays.sum() / 1_000, delays.count())
}

#[test]
fn the_time_from_ready_to_start_ends_where_the_start_is_heard_of() {
    let mut counter = Counter::default();
    counter.note(ID, &running(&[0, 1, 2]), at(100));
    let sent = vec![(ActivityId(1), 1, ResourceId::default())];
    counter.note(ID, &Event::Sent(sent, Vec::new()), at(110));
    let started = Started {
        attempt: attempt(1, 1),
        at: Wall(1),
        pid: 7,
    };
    counter.started(ID, &started, at(150));
    assert_eq!(delays(&counter), (50, 1));
    // Its end says nothing more of that.
    let completed = ended(attempt(1, 1), Span::from_millis(20), Verdict::Completed);
    counter.note(ID, &completed, at(170));
    assert_eq!(delays(&counter), (50, 1));
    // A short one is heard of at its end alone: it started that much before.
    let completed = ended(attempt(2, 1), Span::from_millis(30), Verdict::Completed);
    counter.note(ID, &completed, at(200));
    assert_eq!(delays(&counter), (50 + 70, 2));
    assert_eq!(counter.tally.n_sent, 1);
    assert_eq!(counter.tally.verdicts.n_completed, 2);
    assert_eq!(counter.tally.run_times.sum(), 50_000);
}

#[test]
fn a_lost_attempt_makes_its_activity_ready_again() {
    let mut counter = Counter::default();
    counter.note(ID, &running(&[1]), at(0));
    let lost = ended(attempt(1, 1), Span::ZERO, Verdict::Again);
    counter.note(ID, &lost, at(500));
    let completed = ended(attempt(1, 2), Span::ZERO, Verdict::Completed);
    counter.note(ID, &completed, at(600));
    assert_eq!(delays(&counter), (100, 1));
    assert_eq!(counter.tally.verdicts.n_lost, 1);
}

#[test]
fn faults_count_by_name_and_those_that_users_name_together() {
    let mut counter = Counter::default();
    let fault = |name| Box::new(Fault::new(name, "it failed"));
    for name in ["first", "second"] {
        let thrown = FaultName::Thrown(name.to_owned());
        counter.note(ID, &Event::Faulted(fault(thrown)), at(1));
    }
    let verdict = Verdict::Retry {
        at: Wall(9),
        fault: fault(FaultName::ExitCode),
    };
    counter.note(ID, &ended(attempt(1, 1), Span::ZERO, verdict), at(1));
    let counted = |label: &str| {
        let place = FAULTS.iter().position(|one| *one == label).unwrap();
        counter.tally.faults[place]
    };
    assert_eq!((counted("thrown"), counted("exit-code")), (2, 1));
    assert_eq!(counter.tally.faults.iter().sum::<u64>(), 3);
}

#[test]
fn nothing_is_kept_of_a_process_that_has_ended() {
    let mut counter = Counter::default();
    counter.note(ID, &running(&[0, 1, 2]), at(1));
    counter.note(ProcessId(8), &running(&[0]), at(1));
    let closed = Event::Closed {
        phase: Phase::Completed,
        at: Wall(2),
        outputs: Vec::new(),
    };
    counter.note(ID, &closed, at(2));
    assert_eq!(counter.ready.len(), 1);
    assert_eq!(counter.tally.n_completed, 1);
}
