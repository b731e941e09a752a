//! Records of every release are read as they were written.
//!
//! `tests/*.txt` has the bytes of one record of each kind, a line each, as each release wrote them.
//! A line of a release never changes; a new variant or field gets a line in the file of the version
//! that brings it.

use machine::golden::{line, read};
use model::{Bytes, Epoch, GrantId, ProcessId, Span, Wall};

use super::*;
use crate::io::Stream;

const FIRST: &str = include_str!("tests/0.1.txt");

fn grants() -> Vec<Grant> {
    vec![Grant {
        id: GrantId(7),
        resource: MachineNumber(3),
        slots: 4,
    }]
}

/// One event of each variant, with all its fields in use.
fn events() -> Vec<Event> {
    let process = ProcessId(77);
    vec![
        Event::Epoch(Epoch(3)),
        Event::Named {
            resource: MachineNumber(3),
            name: "r3".to_owned(),
        },
        Event::Granted {
            process,
            number: 2,
            grants: grants(),
            manager: None,
            owner: None,
        },
        Event::Released {
            process,
            forgets: Some(ProcessId(76)),
        },
        Event::Drained {
            name: "r3".to_owned(),
            is_drained: true,
        },
        Event::Granted {
            process,
            number: 2,
            grants: grants(),
            manager: Some(5),
            owner: None,
        },
        Event::Revoked {
            process,
            resource: MachineNumber(3),
            forgets: Some(ProcessId(76)),
        },
        Event::Granted {
            process,
            number: 2,
            grants: grants(),
            manager: Some(5),
            owner: owner(),
        },
        Event::Charged {
            elapsed: Span::from_secs(60),
            half_life: Span::from_secs(86_400),
            at: Wall(1_700_000_000_000_000),
        },
        Event::Returned {
            process,
            number: 3,
            grants: vec![Grant {
                slots: 0,
                ..grants()[0]
            }],
        },
        Event::Forgotten {
            resource: MachineNumber(3),
        },
        Event::GivenUp {
            processes: vec![process],
            is_given_up: true,
        },
    ]
}

/// Names each variant: one that is new must be in the list above.
fn name(event: &Event) -> &'static str {
    match event {
        Event::Epoch(_) => "epoch",
        Event::Named { .. } => "named",
        Event::Granted { .. } => "granted",
        Event::Released { .. } => "released",
        Event::Drained { .. } => "drained",
        Event::Revoked { .. } => "revoked",
        Event::Charged { .. } => "charged",
        Event::Returned { .. } => "returned",
        Event::Forgotten { .. } => "forgotten",
        Event::GivenUp { .. } => "given_up",
    }
}

fn owner() -> Option<String> {
    Some("xav://grid/lab/user/ana".to_owned())
}

/// The snapshots of all versions so far, the earliest first.
fn snapshots() -> [Snapshot; 5] {
    let used = Used {
        at: Wall(1_700_000_000_000_000),
        owners: vec![("ana".to_owned(), 2.5)],
    };
    let of_users = Snapshot {
        used: Some(used),
        ..snapshot(Some(5), owner())
    };
    let of_forgotten = Snapshot {
        forgotten: Some(vec![MachineNumber(2)]),
        ..of_users.clone()
    };
    let last = Snapshot {
        given_up: Some(vec![ProcessId(77)]),
        ..of_forgotten.clone()
    };
    [
        snapshot(None, None),
        snapshot(Some(5), None),
        of_users,
        of_forgotten,
        last,
    ]
}

fn snapshot(manager: Option<u32>, owner: Option<String>) -> Snapshot {
    let holding = Holding {
        number: 2,
        grants: grants(),
        manager,
        owner,
    };
    Snapshot {
        epoch: Epoch(3),
        names: [("r3".to_owned(), MachineNumber(3))].into(),
        holdings: [(ProcessId(77), holding)].into(),
        released: vec![(ProcessId(76), 1)],
        n_grants: 7,
        drained: vec!["r3".to_owned()],
        used: None,
        forgotten: None,
        given_up: None,
    }
}

fn seen() -> Seen {
    let facts = Facts {
        name: "r3".to_owned(),
        slots: 4,
        memory: Bytes(1 << 30),
        power: 1.5,
        labels: [("os".to_owned(), "linux".to_owned())].into(),
        bulk: Some("r3:7".to_owned()),
        is_store: true,
    };
    Seen {
        facts,
        seen: Wall(1_700_000_000_000_000),
    }
}

/// The past of a machine, of all versions so far.
fn histories() -> [History; 1] {
    let moment = Moment {
        at: Wall(1_700_000_000_000_000),
        power: 1.5,
        shown: Some(450),
        others: Some(0.5),
        others_expected: Some(0.75),
    };
    [History {
        name: "r3".to_owned(),
        moments: vec![moment],
    }]
}

#[test]
fn records_of_the_first_release_are_written_and_read_as_ever() {
    let of_events = events();
    let mut written = line("stream", &Stream::Manager);
    for event in &of_events {
        written += &line(name(event), event);
    }
    for snapshot in snapshots() {
        written += &line("snapshot", &snapshot);
    }
    written += &line("seen", &seen());
    for history in histories() {
        written += &line("history", &history);
    }
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
    for snapshot in snapshots() {
        let line = lines.next().unwrap();
        assert_eq!(read::<Snapshot>(line).unwrap(), snapshot);
    }
    assert_eq!(read::<Seen>(lines.next().unwrap()).unwrap(), seen());
    for history in histories() {
        let line = lines.next().unwrap();
        assert_eq!(read::<History>(line).unwrap(), history);
    }
    assert_eq!(lines.next(), None);
}
