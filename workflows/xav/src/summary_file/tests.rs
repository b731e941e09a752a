use model::{ProcessId, Wall};
use wire::client::{Phase, Totals};

use super::*;

fn summary() -> Summary {
    Summary {
        process: ProcessId(9),
        name: "primes".to_owned(),
        origin: "/primes.yaml".to_owned(),
        submitted: Wall(5),
        ended: Some(Wall(7)),
        phase: Phase::Completed,
        totals: Totals::default(),
        base: None,
        keep: None,
        owner: None,
        held: None,
    }
}

fn directory() -> tempfile::TempDir {
    let dir = tempfile::TempDir::new().unwrap();
    fs::create_dir_all(dir.path().join("pm/journal")).unwrap();
    fs::write(dir.path().join("pm/journal/store"), "events").unwrap();
    dir
}

#[test]
fn what_was_written_is_read_until_a_run_begins() {
    let dir = directory();
    assert_eq!(read(dir.path()), None);
    let written = write(dir.path(), vec![summary()]).unwrap();
    assert_eq!(read(dir.path()), Some(written));
    invalidate(dir.path()).unwrap();
    invalidate(dir.path()).unwrap();
    assert_eq!(read(dir.path()), None);
}

#[test]
fn another_journal_or_a_damaged_file_is_not_relied_on() {
    let dir = directory();
    write(dir.path(), vec![summary()]).unwrap();
    // A reader locks the journal and changes nothing.
    fs::write(dir.path().join("pm/journal/lock"), "7").unwrap();
    assert!(read(dir.path()).is_some());
    fs::write(dir.path().join("pm/journal/store"), "more events").unwrap();
    assert_eq!(read(dir.path()), None);

    write(dir.path(), vec![summary()]).unwrap();
    let path = dir.path().join(NAME);
    let whole = fs::read(&path).unwrap();
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        assert_eq!(read(dir.path()), None, "cut at {length}");
    }
    let mut damaged = whole.clone();
    *damaged.last_mut().unwrap() ^= 1;
    fs::write(&path, damaged).unwrap();
    assert_eq!(read(dir.path()), None);
}

#[test]
fn disk_use_counts_what_is_below() {
    let dir = directory();
    let before = disk_use(dir.path()).unwrap();
    fs::write(dir.path().join("pm/large"), vec![1; 1 << 20]).unwrap();
    let after = disk_use(dir.path()).unwrap();
    assert!(after.0 >= before.0 + (1 << 20), "{before} {after}");
}
