//! Chapters of snapshots.

use super::*;

#[test]
fn the_last_chapter_of_each_number_stays_with_its_snapshot() {
    let dir = TempDir::new().unwrap();
    let with = |number: u32, bytes: Vec<u8>| Batch {
        chapters: vec![(key("p"), number, bytes)],
        ..snapshot("p", b"state")
    };
    let (mut journal, ..) = open(dir.path());
    let founding = events(1, &[("p", b"founding"), ("q", b"founding")]);
    let big = drawn(5, BIG_BYTES);
    journal.commit(&[founding, with(0, big)]).unwrap();
    journal.commit(&[with(7, b"seven".to_vec())]).unwrap();
    journal.settle(&[], 2).unwrap();
    // In the tail over the store, and then in the store.
    for is_settled in [false, true] {
        journal.commit(&[with(0, b"zero".to_vec())]).unwrap();
        if is_settled {
            let n_commits = journal.n_commits;
            journal.settle(&[], n_commits).unwrap();
        }
        drop(journal);
        let histories;
        (journal, histories, _) = open(dir.path());
        let expected = [(0, b"zero".to_vec()), (7, b"seven".to_vec())];
        assert_eq!(histories[0].chapters, BTreeMap::from(expected));
        assert!(histories[1].chapters.is_empty());
    }
    let gone = Batch {
        forgotten: vec![key("p")],
        ..Batch::default()
    };
    journal.commit(&[gone]).unwrap();
    let n_commits = journal.n_commits;
    journal.settle(&[], n_commits).unwrap();
    drop(journal);
    assert_eq!(open(dir.path()).1.len(), 1);
}

#[test]
fn a_chapter_of_an_unknown_stream_is_refused() {
    let dir = TempDir::new().unwrap();
    let (mut journal, ..) = open(dir.path());
    let stray = Batch {
        chapters: vec![(key("p"), 0, b"zero".to_vec())],
        ..Batch::default()
    };
    let refused = journal.commit(&[stray]);
    assert!(matches!(refused, Err(CommitError::NoFounding { .. })));
}
