//! Records of every release are read as they were written.
//!
//! `tests/*.txt` has the bytes of one record of each kind, a line each, as each release wrote them.
//! A line of a release never changes; a new variant or field gets a line in the file of the version
//! that brings it.

use machine::golden::{line, read};
use model::{ActivityId, AttemptId, Epoch, ProcessId, Produced};

use super::*;
use crate::io::Stream;

const FIRST: &str = include_str!("tests/0.1.txt");

fn attempt() -> AttemptId {
    AttemptId {
        process: ProcessId(77),
        activity: ActivityId(4),
        number: 2,
    }
}

/// One event of each variant.
fn events() -> Vec<Event> {
    let attempt = attempt();
    vec![
        Event::Epoch(Epoch(3)),
        Event::Starting { attempt, owner: 7 },
        Event::Settled(attempt),
        Event::Forgot,
        Event::Resolved(7),
    ]
}

/// Names each variant: one that is new must be in the list above.
fn name(event: &Event) -> &'static str {
    match event {
        Event::Epoch(_) => "epoch",
        Event::Starting { .. } => "starting",
        Event::Settled(_) => "settled",
        Event::Forgot => "forgot",
        Event::Resolved(_) => "resolved",
    }
}

fn snapshot() -> Snapshot {
    Snapshot {
        epoch: Epoch(3),
        starting: [(attempt(), 7)].into(),
        has_forgotten: true,
        resolved: [7].into(),
    }
}

fn note() -> Note {
    Note {
        owner: 7,
        cores: 2,
        directory: "/w/a4".to_owned(),
        outputs: vec![Produced {
            name: "sum".to_owned(),
            path: "sum.txt".to_owned(),
        }],
        wants_stdout: true,
        wants_stderr: true,
        memory: None,
    }
}

#[test]
fn records_of_the_first_release_are_written_and_read_as_ever() {
    let of_events = events();
    let mut written = line("stream", &Stream::Manager);
    for event in &of_events {
        written += &line(name(event), event);
    }
    written += &line("snapshot", &snapshot());
    written += &line("note", &note());
    assert!(
        written == FIRST,
        "records are written in another form:\n{written}"
    );
    let mut lines = FIRST.lines();
    assert_eq!(
        read::<Stream>(lines.next().unwrap()).unwrap(),
        Stream::Manager
    );
    for event in of_events {
        assert_eq!(read::<Event>(lines.next().unwrap()).unwrap(), event);
    }
    assert_eq!(read::<Snapshot>(lines.next().unwrap()).unwrap(), snapshot());
    assert_eq!(read::<Note>(lines.next().unwrap()).unwrap(), note());
    assert_eq!(lines.next(), None);
}
