use model::{ActivityId, ProcessId};

use super::*;

fn attempt(number: u32) -> AttemptId {
    AttemptId {
        process: ProcessId(u64::MAX - 3),
        activity: ActivityId(12),
        number,
    }
}

fn ended(exit: Exit, kept: Kept) -> Ended {
    Ended {
        attempt: attempt(1),
        exit,
        started: Wall(1_800_000_000_000_000),
        wall: Span(1_234),
        cpu_user: Span(400),
        cpu_system: Span(300),
        peak_memory_bytes: 5 << 20,
        stdout: Captured {
            bytes: 4_000_000_000_000,
            inline: vec![0, 255, 10],
            kept,
        },
        stderr: Captured::default(),
        note: vec![9, 8, 7],
        pid: 4_711,
        user: Some(70_000),
        limit: Some(SiteLimit::FileBytes(1 << 40)),
    }
}

#[test]
fn every_message_to_the_executor_comes_back() {
    let start = Start {
        attempt: attempt(2),
        program: vec!["sh".into(), "-c".into(), "echo grüße".into()],
        env: vec![
            ("PATH".into(), "/bin".into()),
            ("EMPTY".into(), String::new()),
        ],
        directory: "/tmp/a b".into(),
        stdin: Stdin::Bytes(vec![0, 1, 2]),
        cores: 3,
        memory_bytes_max: Some(1 << 33),
        timeout: Some(Span::from_secs(5)),
        stdout_inline_max: 65_536,
        stderr_inline_max: 8_192,
        note: vec![1; 40],
        nice: Some(-5),
        owner: Some(3),
        user: Some("ana".into()),
        needs: None,
        made: None,
        container: Some(Contained {
            kind: ContainerKind::Bwrap,
            image: "/images/a b".into(),
            has_network: true,
            read_only: vec!["in.txt".into()],
            search_path: "/usr/bin:/bin".into(),
            command: vec!["sh".into()],
            env: vec![("HOME".into(), "/h/ana".into())],
        }),
    };
    let hello = DaemonHello {
        protocol: PROTOCOL,
        cores: 8,
        linger: Some(Span::ZERO),
        kill_grace: None,
        pace_since: Some(Mono(1 << 50)),
    };
    let messages = [
        ToExecutor::Hello(hello),
        ToExecutor::Start(vec![
            start.clone(),
            Start {
                stdin: Stdin::Empty,
                ..start.clone()
            },
        ]),
        ToExecutor::Start(vec![Start {
            stdin: Stdin::Path("in.txt".into()),
            ..start
        }]),
        ToExecutor::Retract(vec![attempt(1), attempt(2)]),
        ToExecutor::Stop(vec![]),
        ToExecutor::Forget(vec![attempt(7)]),
        ToExecutor::Tail(attempt(8)),
        ToExecutor::Shutdown,
        ToExecutor::Ping(1 << 40),
        ToExecutor::Lease(Lease {
            owner: 3,
            until: Mono(8),
            dead_by: Mono(10),
        }),
    ];
    for message in messages {
        let mut out = Vec::new();
        message.append_frame(&mut out);
        assert_eq!(
            ToExecutor::decode(&out[frame::HEADER_BYTES..]).unwrap(),
            Some(message)
        );
    }
}

#[test]
fn every_message_from_the_executor_comes_back() {
    let started = Started {
        attempt: attempt(3),
        pid: 77,
        started: Wall(5),
    };
    let exits = [
        Exit::Exited { code: 255 },
        Exit::Signaled { signal: 11 },
        Exit::TimedOut,
        Exit::OutOfMemory,
        Exit::Stopped,
        Exit::Abandoned,
        Exit::NotStarted {
            errno: 2,
            message: "command not found: nosuch".into(),
        },
        Exit::Expired,
        Exit::Stuck,
    ];
    let places = [
        Kept::Nowhere,
        Kept::Log {
            segment: 3,
            offset: 1 << 40,
        },
        Kept::File { bytes: 1 << 41 },
    ];
    let outcomes: Vec<Ended> = exits
        .iter()
        .flat_map(|exit| places.iter().map(|&kept| ended(exit.clone(), kept)))
        .collect();
    let held = |phase| Held {
        attempt: attempt(3),
        note: vec![1],
        phase,
    };
    let messages = [
        FromExecutor::Hello(ExecutorHello {
            containment: Some(Containment {
                held_by: HeldBy::Cgroup,
                memory_by: MemoryBy::Counting,
            }),
            protocol: PROTOCOL,
            pid: 4,
            instance: u64::MAX,
        }),
        FromExecutor::Held(vec![
            held(Phase::Queued),
            held(Phase::Running(started)),
            held(Phase::Ended(outcomes[0].clone())),
        ]),
        FromExecutor::HeldEnd,
        FromExecutor::Started(vec![started]),
        FromExecutor::Ended(outcomes),
        FromExecutor::Retracted(vec![attempt(1)]),
        FromExecutor::Refused(vec![attempt(1)]),
        FromExecutor::Output {
            attempt: attempt(1),
            written: Some(Written::default()),
        },
        FromExecutor::Output {
            attempt: attempt(1),
            written: None,
        },
    ];
    for message in messages {
        let mut out = Vec::new();
        message.append_frame(&mut out);
        assert_eq!(
            FromExecutor::decode(&out[frame::HEADER_BYTES..]).unwrap(),
            Some(message)
        );
    }
}

#[test]
fn unknown_kinds_of_message_are_told_from_garbage() {
    // An envelope [[99, []]]: variant 99 without fields.
    assert_eq!(
        ToExecutor::decode(&[0x81, 0x82, 0x18, 99, 0x80]).unwrap(),
        None
    );
    assert!(ToExecutor::decode(&[0xff, 0x00]).is_err());
    assert!(FromExecutor::decode(&[]).is_err());
}
