use std::fs;

use model::{ActivityId, ProcessId};
use tempfile::TempDir;
use wire::attempt::Stream::{Stderr, Stdout};
use wire::executor::Kept;

use super::*;

fn attempt() -> AttemptId {
    AttemptId {
        process: ProcessId(7),
        activity: ActivityId(2),
        number: 1,
    }
}

#[test]
fn a_tail_has_the_part_in_memory_and_the_end_of_a_file() {
    let dir = TempDir::new().unwrap();
    let spilled: Vec<u8> = (0..TAIL_BYTES_MAX + 10).map(|n| n as u8).collect();
    let in_file = Captured {
        bytes: spilled.len() as u64,
        inline: Vec::new(),
        kept: Kept::File {
            bytes: spilled.len() as u64,
        },
    };
    let in_memory = Captured {
        bytes: 5,
        inline: b"hello".to_vec(),
        kept: Kept::Nowhere,
    };
    let written = Written {
        stdout: in_file,
        stderr: in_memory,
    };
    // The file is missing: only the lengths are reported.
    let told = tail(dir.path(), attempt(), &written);
    assert_eq!(
        (told.stdout_bytes, told.stdout.len()),
        (written.stdout.bytes, 0)
    );
    assert_eq!(
        (told.stderr_bytes, told.stderr.as_slice()),
        (5, &b"hello"[..])
    );

    // Written after the executor's report: it belongs to the next request.
    let mut more = spilled.clone();
    more.extend(b"more");
    let name = format!("{}-{}-1.stdout", attempt().process, attempt().activity);
    fs::write(dir.path().join(name), more).unwrap();
    let told = tail(dir.path(), attempt(), &written);
    assert!(told.stdout == spilled[10..]);
}

#[test]
fn parts_of_a_log_come_one_after_another_to_its_end() {
    let dir = TempDir::new().unwrap();
    let all: Vec<u8> = (0..TAIL_BYTES_MAX * 2 + 10).map(|n| n as u8).collect();
    let log = Log {
        stdout_bytes: all.len() as u64,
        stdout: Kept::File {
            bytes: all.len() as u64,
        },
        stderr_bytes: 0,
        stderr: Kept::Nowhere,
    };
    let part = |stream, offset| {
        let attempt = attempt();
        log_part(
            dir.path(),
            &ReadLog {
                attempt,
                log,
                stream,
                offset,
            },
        )
    };
    let trouble = part(Stdout, 0).trouble.unwrap();
    assert!(trouble.starts_with("could not open the log "), "{trouble}");
    let name = format!("{}-{}-1.stdout", attempt().process, attempt().activity);
    fs::write(dir.path().join(name), [&all[..], b"more"].concat()).unwrap();
    let mut read = Vec::new();
    loop {
        let got = part(Stdout, read.len() as u64);
        assert_eq!((got.trouble, got.offset), (None, read.len() as u64));
        if got.bytes.is_empty() {
            break;
        }
        read.extend(got.bytes);
    }
    assert!(read == all);
    assert_eq!(part(Stdout, u64::MAX >> 1).bytes, b"");
    assert_eq!(part(Stderr, 0).bytes, b"");
}
