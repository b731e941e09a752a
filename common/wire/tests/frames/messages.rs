//! A message of each kind, as bytes, with what reads it.

use std::collections::BTreeMap;

use minicbor::{Decode, Encode};
use model::{
    ActivityId, Artifact, ArtifactKind, AttemptId, Bytes, Epoch, GrantId, Hash, Part, Policy,
    ProcessId, ResourceId, Span, Tuning, Wall,
};
use wire::admin::{
    self, Contact, Joined, Load, LogPart, LogRequest, Node, Presence, Present, Warning,
};
use wire::attempt::{
    Access, Checked, Copied, Copy, Discard, Dispatch, End, Failure, Fetched, FromActivity, Holder,
    Holds, Log, Outcome, ReadLog, Refusal, Sources, Started, Stdin, Stream, ToActivity,
};
use wire::client::{Answer, Phase, Progress, Request, Summary, Totals};
use wire::executor::Kept;
use wire::group::{
    FromGroup, Grant, Held, Need, Offer, Offered, OwnerUsage, Owners, Shown, ToGroup, Want,
};
use wire::hello::{Hello, PROTOCOLS};
use wire::resource::{Facts, FromResource, ProcessGrant, QuestionId, ToResource};
use wire::{Envelope, bulk};

/// Reads bytes as a message of one type, and compares it with the message after encoding and
/// decoding it.
pub(crate) type Reader = fn(&[u8]) -> bool;

fn reads<T: for<'b> Decode<'b, ()> + Encode<()>>(bytes: &[u8]) -> bool {
    let Ok(message) = wire::decode::<T>(bytes) else {
        return false;
    };
    // Compared as bytes: a NaN is not equal to itself.
    let sent = wire::encode(&message);
    let again = wire::decode::<T>(&sent).expect("what was read can be sent");
    assert_eq!(wire::encode(&again), sent);
    true
}

fn golden<T: for<'b> Decode<'b, ()> + Encode<()>>(messages: Vec<T>) -> Vec<(Vec<u8>, Reader)> {
    let bytes = messages.iter().map(wire::encode);
    bytes.map(|bytes| (bytes, reads::<T> as Reader)).collect()
}

fn attempt(number: u32) -> AttemptId {
    AttemptId {
        process: ProcessId(u64::MAX - 3),
        activity: ActivityId(12),
        number,
    }
}

fn artifact() -> Artifact {
    Artifact {
        kind: ArtifactKind::File,
        hash: Hash([7; 32]),
        bytes: Bytes(1 << 33),
    }
}

fn log() -> Log {
    Log {
        stdout_bytes: 9,
        stdout: Kept::File { bytes: 9 },
        stderr_bytes: 70_000,
        stderr: Kept::Log {
            segment: 3,
            offset: 1 << 20,
        },
    }
}

/// Messages of all links between machines, with as much content as possible.
pub(crate) fn all() -> Vec<(Vec<u8>, Reader)> {
    let mut all = golden(vec![Hello {
        protocols: PROTOCOLS,
        identity: "xav://grid/lab/am/am1".to_owned(),
        epoch: Epoch(4),
        resource: Some(ResourceId::local(3)),
        program: "0.1.0".to_owned(),
    }]);
    all.extend(golden(to_activity()));
    all.extend(golden(from_activity()));
    all.extend(golden(vec![
        ToGroup::Attach { epoch: Epoch(2) },
        ToGroup::Claim {
            number: 3,
            process: ProcessId(9),
            wants: vec![Want {
                resource: ResourceId::local(1),
                slots: 4,
            }],
            epoch: Epoch(2),
            owner: Some("xav://grid/lab/user/ana".to_owned()),
        },
        ToGroup::Release(ProcessId(9)),
        ToGroup::Holds(vec![held()]),
        ToGroup::Confirm {
            epoch: Epoch(2),
            group: Epoch(3),
            number: 4,
            processes: vec![ProcessId(9)],
        },
        ToGroup::Return {
            number: 4,
            process: ProcessId(9),
            keep: vec![Want {
                resource: ResourceId::local(1),
                slots: 0,
            }],
            epoch: Epoch(2),
        },
        ToGroup::Waits {
            epoch: Epoch(2),
            process: ProcessId(9),
            owner: Some("xav://grid/lab/user/ana".to_owned()),
            waited: Span::from_secs(4),
            needs: vec![Need {
                cores: 2,
                memory: Some(Bytes(1 << 30)),
                labels: BTreeMap::from([("gpu".to_owned(), "a100".to_owned())]),
            }],
        },
        ToGroup::Shown {
            epoch: Epoch(2),
            machines: vec![Shown {
                resource: ResourceId::local(1),
                per_mille: 450,
            }],
        },
    ]));
    all.extend(golden(from_group()));
    all.extend(golden(vec![
        FromResource::Register {
            epoch: Epoch(5),
            facts: facts(),
        },
        FromResource::Unused {
            epoch: Epoch(5),
            question: QuestionId {
                epoch: Epoch(3),
                number: 5,
            },
            processes: vec![ProcessId(9)],
        },
        FromResource::Alive,
    ]));
    all.extend(golden(vec![
        ToResource::Registered(ResourceId::local(4)),
        ToResource::Grants(
            vec![ProcessGrant {
                id: GrantId(8),
                process: ProcessId(9),
                slots: 2,
            }],
            QuestionId {
                epoch: Epoch(3),
                number: 4,
            },
        ),
        ToResource::Inquire {
            question: QuestionId {
                epoch: Epoch(3),
                number: 5,
            },
            processes: vec![ProcessId(9)],
        },
    ]));
    all.extend(golden(vec![
        Envelope {
            number: 7,
            message: Some(Request::Status(ProcessId(9))),
        },
        Envelope {
            number: 8,
            message: Some(Request::Log {
                process: ProcessId(9),
                activity: ActivityId(3),
                attempt: attempt(2),
                stream: Stream::Stderr,
                offset: 1 << 40,
            }),
        },
    ]));
    all.extend(golden(answers()));
    all.extend(golden(vec![
        bulk::Request::Get {
            hash: Hash([9; 32]),
            offset: 1 << 30,
            of: Some(bulk::Belongs {
                process: model::ProcessId(u64::MAX),
                artifact: Hash([9; 32]),
            }),
        },
        bulk::Request::Put {
            hash: Hash([9; 32]),
            bytes: 1 << 30,
            of: None,
        },
    ]));
    all.extend(golden(vec![
        bulk::Answer::Refused(bulk::Refusal::TooLarge { bytes_max: 7 }),
        bulk::Answer::Refused(bulk::Refusal::Unclaimed {
            bytes_max: u64::MAX,
            minutes: 30,
        }),
    ]));
    all.extend(golden(vec![
        admin::Request::Present(Presence {
            program: "0.1.0".to_owned(),
            revision: 3,
            load: Some(Load {
                containment: Some("cgroup v2, memory by cgroup v1".into()),
                busy: 1.25,
                others: Some(0.5),
                others_expected: Some(0.75),
                ..Load::default()
            }),
            trouble: Some("its disk is full".to_owned()),
        }),
        admin::Request::Revoke {
            what: "am/node7".to_owned(),
        },
        admin::Request::NodeHistory {
            name: "am1".to_owned(),
        },
        admin::Request::Log {
            lines: 50,
            of: Some("am/node7".to_owned()),
            from: Some(1 << 33),
        },
        admin::Request::Written(LogPart {
            text: "a line\n".to_owned(),
            end: 7,
            trouble: Some("what follows is unreadable".to_owned()),
        }),
    ]));
    all.extend(golden(told()));
    all
}

fn facts() -> Facts {
    Facts {
        name: "am1".to_owned(),
        slots: 2,
        memory: Bytes(1 << 34),
        power: 0.75,
        labels: [("os".to_owned(), "linux".to_owned())].into(),
        bulk: Some("10.0.0.7:7500".to_owned()),
        is_store: true,
        closed: None,
    }
}

fn copied() -> Copied {
    Copied {
        process: ProcessId(5),
        activity: ActivityId(4),
        artifacts: vec![Artifact {
            hash: Hash([7; 32]),
            bytes: Bytes(9),
            kind: ArtifactKind::File,
        }],
    }
}

fn to_activity() -> Vec<ToActivity> {
    vec![
        ToActivity::Check {
            copies: vec![Copy {
                copied: copied(),
                holders: vec![ResourceId::local(2)],
                is_needed: false,
                number: None,
            }],
            holders: Vec::new(),
        },
        ToActivity::Access {
            number: 3,
            is_allowed: true,
        },
        ToActivity::Copy {
            copies: vec![Copy {
                copied: copied(),
                holders: vec![ResourceId::local(2)],
                is_needed: true,
                number: Some(2),
            }],
            holders: vec![Holder {
                resource: ResourceId::local(2),
                name: "am2".to_owned(),
                address: "10.0.0.7:7500".to_owned(),
            }],
            meant_for: Some(Epoch(6)),
        },
        ToActivity::Attach {
            epoch: Epoch(3),
            ask: 77,
            lease: Some(Span::from_secs(60)),
        },
        ToActivity::Dispatch {
            meant_for: Epoch(6),
            attempts: vec![Dispatch {
                attempt: attempt(1),
                command: vec!["sh".to_owned(), "-c".to_owned(), "echo grüße".to_owned()],
                env: vec![("A".to_owned(), "b".to_owned())],
                stdin: Stdin::Text("in".to_owned()),
                inputs: vec![("in/".to_owned(), artifact())],
                outputs: Vec::new(),
                wants_stdout: true,
                wants_stderr: false,
                cores: 2,
                memory: Some(Bytes(1 << 30)),
                timeout: Some(Span::from_secs(60)),
                sources: vec![Sources {
                    input: 0,
                    holders: vec![ResourceId::local(2)],
                }],
                at_most_once: true,
                user: Some("ana".to_owned()),
                discards: true,
                activation: Some(model::Activation::Path("/opt/x".to_owned())),
            }],
            holders: vec![Holder {
                resource: ResourceId::local(2),
                name: "am2".to_owned(),
                address: "10.0.0.8:7500".to_owned(),
            }],
            holds: Some(Holds {
                process: ProcessId(9),
                number: 3,
                slots: 2,
            }),
        },
        ToActivity::Discard(vec![Discard {
            made_by: attempt(2),
            artifacts: vec![artifact()],
        }]),
        ToActivity::Probe(vec![Holder {
            resource: ResourceId::local(3),
            name: "am3".to_owned(),
            address: "10.0.0.9:7500".to_owned(),
        }]),
        ToActivity::Acknowledge(vec![attempt(1), attempt(2)]),
        ToActivity::ReadLog(Box::new(ReadLog {
            attempt: attempt(1),
            log: log(),
            stream: Stream::Stdout,
            offset: 5,
        })),
        ToActivity::Renewed {
            epoch: Epoch(6),
            number: 9,
            keeps: vec![ProcessId(u64::MAX - 3), ProcessId(4)],
        },
    ]
}

fn from_activity() -> Vec<FromActivity> {
    let outcome = |end: End| Outcome {
        attempt: attempt(1),
        end,
        started: Wall(1_800_000_000_000_000),
        wall: Span(1_234),
        cpu: Span(700),
        peak_memory: Bytes(5 << 20),
        exit_code: Some(-1),
        pid: 4_711,
        outputs: vec![artifact()],
        stdout: Some(vec![0, 255, 10]),
        stderr: None,
        log: Some(log()),
    };
    let failure = Failure {
        name: model::FaultName::Expression,
        message: "it failed".to_owned(),
        directory: "/tmp/x".to_owned(),
        stderr_tail: "oh".to_owned(),
    };
    vec![
        FromActivity::Copied(vec![copied()]),
        FromActivity::Discarded(vec![attempt(2)]),
        FromActivity::Checked(vec![Checked {
            copied: copied(),
            is_sound: false,
        }]),
        FromActivity::Access {
            number: 3,
            access: Access {
                user: "xav://grid/group/user/ana".to_owned(),
                process: model::ProcessId(4),
                artifact: copied().artifacts[0].hash,
            },
        },
        FromActivity::Holding {
            epoch: Epoch(6),
            ask: 77,
            part: 0,
            n_parts: 1,
            attempts: vec![attempt(1)],
            lease: Some(Span::from_secs(60)),
            has_forgotten: true,
        },
        FromActivity::Started(vec![Started {
            attempt: attempt(1),
            pid: 7,
            at: Wall(5),
        }]),
        FromActivity::Fetched(vec![Fetched {
            from: ResourceId::default(),
            bytes: Bytes(5 << 20),
            took: Span::from_millis(40),
        }]),
        FromActivity::Outcomes(vec![
            outcome(End::Completed),
            outcome(End::Failed(Box::new(failure))),
            outcome(End::Lacking(vec![0, 3])),
        ]),
        FromActivity::Refused {
            attempts: vec![attempt(1)],
            why: Refusal::OtherEpoch { epoch: Epoch(7) },
        },
        FromActivity::LogPart(Box::new(wire::attempt::LogPart {
            attempt: attempt(1),
            stream: Stream::Stdout,
            offset: 0,
            bytes: vec![1, 2, 3],
            trouble: None,
        })),
        FromActivity::Renew {
            epoch: Epoch(6),
            number: 9,
        },
    ]
}

fn from_group() -> Vec<FromGroup> {
    vec![
        FromGroup::Offer(Offer {
            epoch: Epoch(2),
            resources: vec![Offered {
                resource: ResourceId::local(1),
                name: "am1".to_owned(),
                power: 1.5,
                slots: 8,
                free: 3,
                memory: Bytes(1 << 34),
                labels: facts().labels,
                bulk: None,
                yours: 0,
                shown: Some(400),
            }],
            leaving: vec![ResourceId::local(2)],
            unavailable: Vec::new(),
            is_shared: true,
            n_revoked: 1,
            owners: Some(owners()),
            takes_shown: true,
            policy: Some(Policy::Rounds(4)),
            tuning: Some(Tuning {
                threshold: Some(Part(200)),
                reward: None,
            }),
        }),
        FromGroup::Granted {
            number: 3,
            process: ProcessId(9),
            grants: vec![Grant {
                id: GrantId(8),
                resource: ResourceId::local(1),
                slots: 2,
            }],
            is_at_limit: true,
        },
        FromGroup::Refused {
            number: 3,
            process: ProcessId(9),
            is_at_limit: true,
        },
        FromGroup::Holdings {
            epoch: Epoch(2),
            number: 4,
            held: vec![held()],
            n_revoked: 1,
        },
    ]
}

fn owners() -> Owners {
    let ana = OwnerUsage {
        name: "ana".to_owned(),
        share: 2,
        usage: Span(1 << 40),
        held: 7,
        yours: 3,
        slots_max: Some(9),
    };
    Owners {
        is_fair: true,
        slots_max: Some(4),
        owners: vec![ana],
    }
}

fn held() -> Held {
    Held {
        process: ProcessId(9),
        number: 2,
        grants: vec![Grant {
            id: GrantId(8),
            resource: ResourceId::local(1),
            slots: 2,
        }],
    }
}

fn answers() -> Vec<Envelope<Answer>> {
    let totals = Totals {
        completed: 3,
        ..Totals::default()
    };
    let summary = Summary {
        process: ProcessId(9),
        name: "work".to_owned(),
        origin: "work.yaml".to_owned(),
        phase: Phase::Running,
        submitted: Wall(1_800_000_000_000_000),
        ended: None,
        totals,
        base: None,
        keep: Some(Span::from_secs(60)),
        owner: Some("xav://grid/lab/user/ana".to_owned()),
        held: None,
    };
    let progress = Progress {
        process: ProcessId(9),
        revision: 12,
        phase: Phase::Running,
        totals,
        controllers: Vec::new(),
        running: Vec::new(),
        left: Some(Span::from_secs(3)),
        waiting_for: None,
        left_p90: None,
        rescheduled: None,
        n_rescheduled: 0,
        run_again: Vec::new(),
        n_run_again: 0,
        backoff: None,
        machines: Vec::new(),
    };
    let messages = [
        Answer::Processes(vec![summary]),
        Answer::Progress(Box::new(progress)),
        Answer::Refused(vec!["no".to_owned()]),
        Answer::Queued(3),
    ];
    let message = |message| Envelope {
        number: 7,
        message: Some(message),
    };
    messages.map(message).into()
}

fn told() -> Vec<admin::Response> {
    vec![
        admin::Response::Joined(Joined {
            certificate: "-----".to_owned(),
            authority: "-----".to_owned(),
            group_manager: Contact {
                name: "gm".to_owned(),
                address: "10.0.0.1:7400".to_owned(),
            },
            process_managers: Vec::new(),
        }),
        admin::Response::Nodes(
            vec![Node {
                name: "am1".to_owned(),
                power: 1.0,
                holders: vec![admin::Holder {
                    process: ProcessId(9),
                    owner: None,
                    slots: 2,
                }],
                shown: Some(450),
                ..Node::default()
            }],
            vec![Warning {
                daemon: "pm pm1".to_owned(),
                why: "its disk is full".to_owned(),
            }],
            Some(owners()),
        ),
        admin::Response::NodeHistory(vec![admin::Moment {
            at: Wall(1 << 50),
            power: 1.5,
            shown: Some(450),
            others: Some(0.5),
            others_expected: Some(0.75),
        }]),
        admin::Response::Present(Present {
            log: Some(LogRequest {
                lines: 50,
                from: None,
            }),
            ..Present::default()
        }),
        admin::Response::Awaited,
    ]
}
