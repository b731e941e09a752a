//! Events of every release are read as they were written.
//!
//! `tests/*.txt` has the bytes of one event of each variant, a line each, as each release wrote them.
//! A file of a release never changes. An event that changes within one is a mistake; a new variant or
//! field gets a line in the file of the version that brings it.

use machine::golden::{line, read};
use model::{
    ActivityId, Artifact, ArtifactKind, AttemptId, Bytes, Entry, Epoch, Fault, FaultName,
    Generation, GrantId, GroupId, Hash, NodeId, OnFault, Plan, ProcessId, ResourceId, Span,
    SubmitKey, Value, Wall,
};

use super::*;
use crate::process::{Process, ProcessState};
use crate::tests::bench::diamond;
use crate::{Chapter, Snapshot, State};

const FIRST: &str = include_str!("tests/0.1.txt");
/// Snapshots without chapters.
const SNAPSHOT: &str = include_str!("tests/0.1-snapshot.txt");
const CHAPTERS: &str = include_str!("tests/0.1-chapters.txt");

fn artifact() -> Artifact {
    Artifact {
        hash: Hash([5; 32]),
        bytes: Bytes(70_000),
        kind: ArtifactKind::File,
    }
}

fn fault() -> Box<Fault> {
    Box::new(Fault {
        attempt: 2,
        resource: Some(ResourceId::local(3)),
        exit_code: Some(7),
        directory: Some("/runs/a4".to_owned()),
        command: vec!["false".to_owned()],
        stderr_tail: "no".to_owned(),
        ..Fault::new(FaultName::ExitCode, "it failed").of(ActivityId(4))
    })
}

fn log() -> Log {
    Log {
        stdout_bytes: 12,
        stdout: Kept::Log {
            segment: 1,
            offset: 4_096,
        },
        stderr_bytes: 90_000,
        stderr: Kept::File { bytes: 80_000 },
    }
}

fn outcome(end: End) -> Outcome {
    Outcome {
        attempt: AttemptId {
            process: ProcessId(77),
            activity: ActivityId(4),
            number: 2,
        },
        end,
        started: Wall(1_700_000_000_000_000),
        wall: Span(1_000_000),
        cpu: Span(900_000),
        peak_memory: Bytes(1 << 20),
        exit_code: Some(0),
        pid: 4_711,
        outputs: vec![artifact()],
        log: Some(log()),
    }
}

fn ended(end: End, verdict: Verdict) -> Event {
    let writes = vec![(0, Value::Int(5)), (1, Value::Text("five".to_owned()))];
    Event::Ended(Box::new(Ended {
        outcome: outcome(end),
        verdict,
        writes,
        flow: flow(),
    }))
}

fn flow() -> Flow {
    let nodes = [
        (4, NodeState::Done),
        (5, NodeState::Running),
        (6, NodeState::Running),
    ];
    let links = [(0, LinkState::True), (2, LinkState::Broken)];
    let nodes = nodes.map(|(node, state)| (NodeId(node), state)).into();
    Flow::new(&nodes, &links.into())
}

fn cache_key() -> CacheKey {
    CacheKey {
        key: Hash([9; 32]),
        command: 1,
        environment: 2,
    }
}

fn founded() -> Founded {
    Founded {
        key: SubmitKey(77),
        draft: Accepted::Read(Box::new(diamond())),
        inputs: vec![Value::Bool(true)],
        files: vec![artifact()],
        origin: "test.yaml".to_owned(),
        at: Wall(1_700_000_000_000_000),
        base: Some(ProcessId(76)),
        on_fault: OnFault::Continue,
        keep: Some(Span::from_secs(60)),
        owner: Some("xav://grid/lab/user/ana".to_owned()),
        store: Some(ResourceId::local(3)),
        semantics: SEMANTICS,
        environment: None,
        flow: crate::tree::begin(&diamond().check().unwrap()),
    }
}

fn reused() -> Reused {
    Reused {
        activity: ActivityId(4),
        cache_key: cache_key(),
        of: outcome(End::Completed).attempt,
        resource: ResourceId::local(3),
        machine: "r3".to_owned(),
        started: Wall(1_700_000_000_000_000),
        wall: Span(1_000_000),
        cpu: Span(900_000),
        peak_memory: Bytes(1 << 20),
        exit_code: Some(0),
        pid: 4_711,
        slots: 2,
        log: Some(log()),
        outputs: vec![artifact()],
        writes: vec![(0, Value::Float(0.5))],
        copy: Some((ResourceId::local(1), "r1".to_owned())),
        holder: Some((ResourceId::local(2), "r2".to_owned())),
        flow: flow(),
    }
}

/// One event of each variant, with all its fields in use.
fn events() -> Vec<Event> {
    let (activity, resource) = (ActivityId(4), ResourceId::local(3));
    let of_a_grid = ResourceId::new(GroupId::new(0x1f0c_2a3b_4c5d_6e7f), 3);
    let entry = Entry {
        activity,
        resource,
        slot: 1,
        start: Span(5),
        finish: Span(9),
    };
    let retry = Verdict::Retry {
        at: Wall(1_700_000_000_000_000),
        fault: fault(),
    };
    let planned = |at| {
        Event::Planned(Box::new(Planned {
            plan: Plan {
                generation: Generation(1),
                entries: vec![entry],
                bound: Span(4),
            },
            machines: vec![(resource, "r3".to_owned())],
            is_estimate: true,
            at,
            expected: None,
            slots: None,
        }))
    };
    vec![
        Event::Epoch(Epoch(3)),
        Event::Founded(Box::new(founded())),
        planned(None),
        Event::Replanned(Box::new(Replanned {
            generation: Generation(2),
            bound: Span(4),
            entries: vec![entry],
            removed: vec![activity],
            machines: vec![(resource, "r3".to_owned())],
            is_estimate: false,
            why: None,
            slots: None,
        })),
        Event::Granted {
            group: GroupId::new(1),
            holding: Holding {
                number: 2,
                grants: vec![Grant {
                    id: GrantId(7),
                    resource,
                    slots: 4,
                }],
            },
        },
        Event::Sent(vec![(activity, 2, resource)], vec![cache_key()]),
        Event::Sent(vec![(activity, 2, of_a_grid)], Vec::new()),
        ended(End::Completed, Verdict::Completed),
        ended(End::Failed, retry),
        ended(End::Lost, Verdict::Again),
        ended(End::Stopped, Verdict::Moved),
        ended(End::Failed, Verdict::Faulted(fault())),
        ended(End::Failed, Verdict::Broke(fault())),
        ended(End::Stopped, Verdict::Stopped),
        ended(End::Lacking, Verdict::Lacking(vec![activity])),
        Event::Decided(flow()),
        Event::Assigned {
            writes: vec![(0, Value::List(vec![Value::Null, Value::Int(-1)]))],
            flow: flow(),
            node: None,
        },
        Event::Faulted(fault()),
        Event::CancelAsked,
        Event::Closed {
            phase: Phase::Completed,
            at: Wall(1_700_000_000_000_000),
            outputs: vec![("file".to_owned(), Value::from(artifact()))],
        },
        Event::Released,
        Event::Readied(vec![activity]),
        Event::Reused(Box::new(reused())),
        Event::Broke {
            fault: fault(),
            flow: flow(),
        },
        Event::Recomputing(vec![(activity, 3, resource)]),
        Event::Leased(Span::from_secs(30)),
        Event::Copied {
            activity,
            resource,
            machine: "r3".to_owned(),
            beside: Some(ResourceId::local(1)),
        },
        Event::MachineLost {
            resource,
            activities: vec![activity],
        },
        Event::FilesLost(vec![activity], resource),
        planned(Some(Wall(1_700_000_000_000_000))),
        Event::Replanned(Box::new(Replanned {
            generation: Generation(2),
            bound: Span(4),
            entries: Vec::new(),
            removed: Vec::new(),
            machines: vec![(resource, "r3".to_owned())],
            is_estimate: false,
            why: None,
            slots: Some(vec![8]),
        })),
        Event::Expanded(Box::new(Expanded {
            node: NodeId(2),
            items: vec![Value::Text("x".to_owned()), Value::from(artifact())],
            keys: vec!["one".to_owned(), "two".to_owned()],
            ..Expanded::default()
        })),
        Event::Expanded(Box::new(Expanded {
            node: NodeId(3),
            iterations: Some(Iterations {
                n_more: 1,
                entries: vec![entry],
                folded: None,
            }),
            ..Expanded::default()
        })),
        Event::Expanded(Box::new(Expanded {
            node: NodeId(3),
            iterations: Some(Iterations {
                n_more: 1,
                entries: vec![entry],
                folded: Some(vec![NodeId(5), NodeId(8)]),
            }),
            ..Expanded::default()
        })),
        Event::Expanded(Box::new(Expanded {
            node: NodeId(4),
            items: vec![Value::Int(7)],
            picks: Some(vec![model::Picked { case: 1, place: 3 }]),
            ..Expanded::default()
        })),
        Event::Racing(vec![(activity, 3, resource)], vec![cache_key()]),
        ended(End::Stopped, Verdict::Dropped(None)),
        ended(End::Failed, Verdict::Dropped(Some(fault()))),
    ]
}

/// Names each variant: one that is new must be in the list above.
fn name(event: &Event) -> &'static str {
    match event {
        Event::Epoch(_) => "epoch",
        Event::Founded(_) => "founded",
        Event::Planned(_) => "planned",
        Event::Replanned(_) => "replanned",
        Event::Granted { .. } => "granted",
        Event::Sent(..) => "sent",
        Event::Ended(ended) => match ended.verdict {
            Verdict::Completed => "ended completed",
            Verdict::Retry { .. } => "ended retry",
            Verdict::Again => "ended again",
            Verdict::Moved => "ended moved",
            Verdict::Faulted(_) => "ended faulted",
            Verdict::Broke(_) => "ended broke",
            Verdict::Stopped => "ended stopped",
            Verdict::Lacking(_) => "ended lacking",
            Verdict::Dropped(_) => "ended dropped",
        },
        Event::Decided(_) => "decided",
        Event::Assigned { .. } => "assigned",
        Event::Faulted(_) => "faulted",
        Event::CancelAsked => "cancel asked",
        Event::Closed { .. } => "closed",
        Event::Released => "released",
        Event::Readied(_) => "readied",
        Event::Reused(_) => "reused",
        Event::Broke { .. } => "broke",
        Event::Recomputing(_) => "remaking",
        Event::Leased(_) => "leased",
        Event::Copied { .. } => "copied",
        Event::MachineLost { .. } => "machine lost",
        Event::FilesLost(..) => "files lost",
        Event::Expanded(_) => "expanded",
        Event::Racing(..) => "racing",
    }
}

#[test]
fn events_of_the_first_release_are_written_and_read_as_ever() {
    let written: String = events().iter().map(|one| line(name(one), one)).collect();
    assert!(
        written == FIRST,
        "events are written in another form:\n{written}"
    );
    for (line, event) in FIRST.lines().zip(events()) {
        assert_eq!(read::<Event>(line).unwrap(), event, "{line}");
    }
}

#[test]
fn a_plan_is_the_plan_before_with_its_difference() {
    let entry = |activity: u32, start: u64| Entry {
        activity: ActivityId(activity),
        resource: ResourceId::local(1),
        slot: 0,
        start: Span(start),
        finish: Span(start + 5),
    };
    let plan = |generation, entries| Plan {
        generation: Generation(generation),
        entries,
        bound: Span(u64::from(generation)),
    };
    let before = plan(1, vec![entry(1, 0), entry(2, 5), entry(4, 10)]);
    let after = plan(2, vec![entry(2, 7), entry(4, 10)]);
    let difference = Replanned::new(&before, &after, Vec::new(), true);
    assert_eq!(difference.entries, [entry(2, 7)]);
    assert_eq!(difference.removed, [ActivityId(1)]);
    assert_eq!(difference.plan(&before), after);
}

/// A process whose state has every field in use.
fn process() -> Process {
    let mut process = Process::found(&founded()).unwrap();
    let of = |event: &Event| {
        matches!(
            event,
            Event::Planned(_)
                | Event::Granted { .. }
                | Event::Sent(..)
                | Event::Ended(_)
                | Event::Decided(_)
                | Event::Assigned { .. }
                | Event::Copied { .. }
                | Event::MachineLost { .. }
                | Event::FilesLost(..)
                | Event::Recomputing(_)
                | Event::CancelAsked
                | Event::Closed { .. }
        )
    };
    for event in events().iter().filter(|event| of(event)) {
        process.apply(event);
    }
    process
}

#[test]
fn a_snapshot_and_its_chapters_are_written_and_read_as_ever() {
    let mut state = State::Process(Box::new(process()));
    let chapters = state.take_chapters().into_iter();
    let mut written = line("snapshot", &state.snapshot());
    written.extend(chapters.map(|(number, chapter)| line(&number.to_string(), &chapter)));
    assert!(
        written == CHAPTERS,
        "a snapshot is written in another form:\n{written}"
    );
    let (head, chapters) = CHAPTERS.split_once('\n').unwrap();
    let chapters = chapters.lines().map(|line| {
        let (number, _) = line.split_once(':').unwrap();
        (number.parse().unwrap(), read(line).unwrap())
    });
    assert_eq!(restored(head, chapters.collect()), process().state);
}

#[test]
fn a_snapshot_that_has_everything_in_itself_is_read() {
    let whole = SNAPSHOT.lines().last().unwrap();
    assert_eq!(restored(whole, Vec::new()), process().state);
}

#[test]
fn a_snapshot_that_does_not_say_when_the_first_plan_was_put_in_force_is_read() {
    let first = SNAPSHOT.lines().next().unwrap();
    let state = ProcessState {
        planned_from: None,
        ..process().state
    };
    assert_eq!(restored(first, Vec::new()), state);
}

fn restored(snapshot: &str, chapters: Vec<(u32, Chapter)>) -> ProcessState {
    let snapshot = snapshot.rsplit(' ').next().unwrap();
    let Snapshot::Process(read) = read(&format!("snapshot: {snapshot}")).unwrap() else {
        panic!("{snapshot}")
    };
    let kept = State::Process(Box::new(Process::found(&founded()).unwrap()));
    let State::Process(restored) = kept.restore(Snapshot::Process(read), chapters) else {
        panic!()
    };
    restored.state
}
