use model::{ActivityId, AttemptId, ProcessId};
use wire::executor::{Captured, Exit};

use super::*;

fn outcomes(n: u32) -> Vec<Ended> {
    (0..n)
        .map(|number| Ended {
            attempt: AttemptId {
                process: ProcessId(9),
                activity: ActivityId(number),
                number,
            },
            exit: Exit::Exited { code: number as u8 },
            started: Wall(1),
            wall: Span(2),
            cpu_user: Span(3),
            cpu_system: Span(4),
            peak_memory_bytes: 5,
            stdout: Captured {
                bytes: 2,
                inline: b"hi".to_vec(),
                ..Captured::default()
            },
            stderr: Captured::default(),
            note: vec![6],
            pid: 7,
            user: None,
            limit: None,
        })
        .collect()
}

#[test]
fn outcomes_are_found_again_until_they_are_old() {
    let directory = tempfile::tempdir().unwrap();
    let now = Wall(1_000_000_000);
    assert_eq!(load(directory.path(), now).unwrap(), []);
    save(directory.path(), now, outcomes(50).iter()).unwrap();
    assert_eq!(load(directory.path(), now).unwrap(), outcomes(50));
    // The clock may have been set back meanwhile.
    assert_eq!(load(directory.path(), Wall(5)).unwrap(), outcomes(50));
    assert_eq!(load(directory.path(), now + KEEP).unwrap(), outcomes(50));
    assert_eq!(load(directory.path(), now + KEEP + Span(1)).unwrap(), []);
    assert!(!path(directory.path()).exists());

    save(directory.path(), now, outcomes(2).iter()).unwrap();
    save(directory.path(), now, [].iter()).unwrap();
    assert!(!path(directory.path()).exists());
}

#[test]
fn each_damaged_byte_is_seen_and_the_file_set_aside() {
    let directory = tempfile::tempdir().unwrap();
    let now = Wall(1_000_000_000);
    save(directory.path(), now, outcomes(2).iter()).unwrap();
    let bytes = fs::read(path(directory.path())).unwrap();
    for at in (0..4).chain(12..bytes.len()) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        assert!(parse(&damaged).is_none(), "byte {at}");
    }
    for length in 0..bytes.len() {
        assert!(parse(&bytes[..length]).is_none());
    }
    fs::write(path(directory.path()), &bytes[..40]).unwrap();
    assert!(matches!(
        load(directory.path(), now),
        Err(OutcomesError::Damaged { .. })
    ));
    assert_eq!(load(directory.path(), now).unwrap(), []);
    assert!(directory.path().join("outcomes.damaged").exists());
}
