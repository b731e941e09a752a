use std::fs;

use model::{ActivityId, ProcessId};
use tempfile::TempDir;
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
fn what_is_in_memory_and_the_end_of_what_is_in_a_file_are_told() {
    let dir = TempDir::new().unwrap();
    let spilled: Vec<u8> = (0..PEEK_BYTES_MAX + 10).map(|n| n as u8).collect();
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
    // Not there: nothing but the numbers.
    let told = peeked(dir.path(), attempt(), &written);
    assert_eq!(
        (told.stdout_bytes, told.stdout.len()),
        (written.stdout.bytes, 0)
    );
    assert_eq!(
        (told.stderr_bytes, told.stderr.as_slice()),
        (5, &b"hello"[..])
    );

    // Written after the executor told how much there is: that is for the next peek.
    let mut more = spilled.clone();
    more.extend(b"more");
    let name = format!("{}-{}-1.stdout", attempt().process, attempt().activity);
    fs::write(dir.path().join(name), more).unwrap();
    let told = peeked(dir.path(), attempt(), &written);
    assert!(told.stdout == spilled[10..]);
}
