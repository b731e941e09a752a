//! Events of every release are read as they were written.
//!
//! `tests/*.txt` has the bytes of one event of each variant, a line each, as each release wrote them.
//! A file of a release never changes. An event that changes within one is a mistake; a new variant or
//! field gets a line in the file of the version that brings it.

use model::{
    ActivityId, Artifact, ArtifactKind, AttemptId, Bytes, Entry, Epoch, Fault, FaultName,
    Generation, GrantId, GroupId, Hash, NodeId, Plan, ProcessId, ResourceId, Span, SubmitKey,
    Value, Wall,
};

use super::*;
use crate::tests::bench::diamond;

const FIRST: &str = include_str!("tests/0.1.txt");

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
        resource: Some(ResourceId(3)),
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
        keep_going: true,
        keep: Some(Span::from_secs(60)),
        owner: Some("xav://grid/lab/user/ana".to_owned()),
        store: Some(ResourceId(3)),
        semantics: SEMANTICS,
        flow: crate::flow::begin(&diamond().check().unwrap()),
    }
}

fn reused() -> Reused {
    Reused {
        activity: ActivityId(4),
        cache_key: cache_key(),
        of: outcome(End::Completed).attempt,
        resource: ResourceId(3),
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
        copy: Some((ResourceId(1), "r1".to_owned())),
        holder: Some((ResourceId(2), "r2".to_owned())),
        flow: flow(),
    }
}

/// One event of each variant, with all its fields in use.
fn events() -> Vec<Event> {
    let (activity, resource) = (ActivityId(4), ResourceId(3));
    let retry = Verdict::Retry {
        at: Wall(1_700_000_000_000_000),
        fault: fault(),
    };
    vec![
        Event::Epoch(Epoch(3)),
        Event::Founded(Box::new(founded())),
        Event::Planned {
            plan: Plan {
                generation: Generation(1),
                entries: vec![Entry {
                    activity,
                    resource,
                    slot: 1,
                    start: Span(5),
                    finish: Span(9),
                }],
                bound: Span(4),
            },
            machines: vec![(resource, "r3".to_owned())],
            is_estimate: true,
        },
        Event::Granted {
            group: GroupId(1),
            number: 2,
            grants: vec![Grant {
                id: GrantId(7),
                resource,
                slots: 4,
            }],
        },
        Event::Sent(vec![(activity, 2, resource)], vec![cache_key()]),
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
            node: NodeId(4),
            writes: vec![(0, Value::List(vec![Value::Null, Value::Int(-1)]))],
            flow: flow(),
        },
        Event::Faulted(fault()),
        Event::CancelAsked,
        Event::Closed {
            phase: Phase::Completed,
            at: Wall(1_700_000_000_000_000),
            outputs: vec![("file".to_owned(), Value::Artifact(artifact()))],
        },
        Event::Released,
        Event::Readied(vec![activity]),
        Event::Reused(Box::new(reused())),
        Event::Broke {
            at: Spot::Link(2),
            fault: fault(),
            flow: flow(),
        },
        Event::Remaking(vec![(activity, 3, resource)]),
        Event::Leased(Span::from_secs(30)),
        Event::Copied {
            activity,
            resource,
            machine: "r3".to_owned(),
            beside: Some(ResourceId(1)),
        },
        Event::MachineLost {
            resource,
            activities: vec![activity],
        },
        Event::FilesLost(vec![activity], resource),
    ]
}

/// Names each variant: one that is new must be in the list above.
fn name(event: &Event) -> &'static str {
    match event {
        Event::Epoch(_) => "epoch",
        Event::Founded(_) => "founded",
        Event::Planned { .. } => "planned",
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
        Event::Remaking(_) => "remaking",
        Event::Leased(_) => "leased",
        Event::Copied { .. } => "copied",
        Event::MachineLost { .. } => "machine lost",
        Event::FilesLost(..) => "files lost",
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    let texts = digits.map(|pair| str::from_utf8(pair).unwrap());
    texts
        .map(|pair| u8::from_str_radix(pair, 16).unwrap())
        .collect()
}

#[test]
fn events_of_the_first_release_are_written_and_read_as_ever() {
    let lines = events().into_iter().map(|event| {
        let bytes = minicbor::to_vec(&event).unwrap();
        format!("{}: {}\n", name(&event), hex(&bytes))
    });
    let written: String = lines.collect();
    assert!(
        written == FIRST,
        "events are written in another form:\n{written}"
    );
    for (line, event) in FIRST.lines().zip(events()) {
        let (_, encoded) = line.split_once(": ").unwrap();
        let read: Event = minicbor::decode(&bytes(encoded)).unwrap();
        assert_eq!(read, event, "{line}");
    }
}
