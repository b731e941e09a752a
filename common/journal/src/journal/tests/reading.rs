//! Reading a journal that no program has open.

use std::ffi::OsString;
use std::time::SystemTime;

use super::*;

#[test]
fn reading_leaves_the_tail_as_it_is() {
    let dir = TempDir::new().unwrap();
    let (mut journal, ..) = open(dir.path());
    journal.commit(&[events(1, &[("p", b"founding")])]).unwrap();
    let killed = TempDir::new().unwrap();
    damage::copy_directory(dir.path(), killed.path());
    let tail = fs::read(killed.path().join(TAIL_FILE)).unwrap();
    for _ in 0..2 {
        let (histories, opened) = open_read(killed.path()).unwrap();
        assert_eq!((histories.len(), opened.n_commits), (1, 1));
        assert!(fs::read(killed.path().join(TAIL_FILE)).unwrap() == tail);
    }
    let (mut journal, ..) = open(killed.path());
    journal.commit(&[events(2, &[("p", b"event")])]).unwrap();
    drop(journal);
    assert_eq!(open(killed.path()).1[0].tail, [b"event"]);
}

/// The files of a directory with their contents and the times of their last changes.
fn files(dir: &Path) -> Vec<(OsString, Vec<u8>, SystemTime)> {
    let entries = fs::read_dir(dir).unwrap().map(Result::unwrap);
    let mut files: Vec<_> = entries
        .map(|entry| {
            let changed = entry.metadata().unwrap().modified().unwrap();
            (entry.file_name(), fs::read(entry.path()).unwrap(), changed)
        })
        .collect();
    files.sort();
    files
}

#[test]
fn reading_changes_nothing_whether_the_journal_was_closed_or_its_program_killed() {
    let dir = TempDir::new().unwrap();
    let (mut journal, ..) = open(dir.path());
    for number in 0..3 * TAIL_BYTES as u64 / 3000 {
        journal
            .commit(&[events(number, &[("p", &drawn(5, 3000))])])
            .unwrap();
    }
    assert!(dir.path().join(STORE_FILE).exists());
    let killed = TempDir::new().unwrap();
    damage::copy_directory(dir.path(), killed.path());
    journal.close().unwrap();
    for (dir, is_unclean) in [(&dir, false), (&killed, true)] {
        let before = files(dir.path());
        let (histories, opened) = open_read(dir.path()).unwrap();
        assert_eq!((histories.len(), opened.unclean), (1, is_unclean));
        assert!(files(dir.path()) == before);
        // The next program that writes finds the same.
        let (_, again, opened) = open(dir.path());
        assert_eq!((again, opened.unclean), (histories, is_unclean));
    }
}

#[test]
fn readers_keep_writers_out_and_not_each_other() {
    let dir = TempDir::new().unwrap();
    let (mut journal, ..) = open(dir.path());
    journal.commit(&[events(1, &[("p", b"founding")])]).unwrap();
    let pid = std::process::id();
    let said = open_read(dir.path()).unwrap_err().to_string();
    assert!(
        said.ends_with(&format!("is in use by process {pid}")),
        "{said}"
    );
    drop(journal);
    let (reader, _) = Lock::take_for_reading(dir.path()).unwrap();
    assert!(reader.is_some());
    assert_eq!(open_read(dir.path()).unwrap().0.len(), 1);
    let said = refusal(dir.path());
    assert!(said.ends_with("is in use by another process"), "{said}");
    drop(reader);
    drop(open(dir.path()));
}
