use tempfile::TempDir;

use super::*;

#[test]
fn the_last_records_are_there_after_close() {
    let dir = TempDir::new().unwrap();
    let (records, ..) = Records::open(dir.path()).unwrap();
    let committer = RecordsCommitter::start(records, |error| panic!("{error}")).unwrap();
    for value in 0..1000_u32 {
        let key = (value % 10).to_be_bytes().to_vec();
        committer
            .keep(key, Some(value.to_be_bytes().to_vec()))
            .unwrap();
    }
    committer.keep(0_u32.to_be_bytes().to_vec(), None).unwrap();
    let error = committer.keep(vec![0; 5000], None).unwrap_err();
    assert!(matches!(
        error,
        RecordsRefused::Unfit(RecordsError::TooLong { bytes: 5000 })
    ));
    committer.close();
    let (_, found, _) = Records::open(dir.path()).unwrap();
    let expected: Vec<_> = (1..10_u32)
        .map(|key| {
            (
                key.to_be_bytes().to_vec(),
                (990 + key).to_be_bytes().to_vec(),
            )
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn who_waits_for_the_disk_is_told_when_all_that_was_queued_before_is_there() {
    let dir = TempDir::new().unwrap();
    let (records, ..) = Records::open(dir.path()).unwrap();
    let committer = RecordsCommitter::start(records, |error| panic!("{error}")).unwrap();
    let key = |n: u32| n.to_be_bytes().to_vec();
    for n in 0..1_000 {
        committer.keep(key(n), Some(vec![1])).unwrap();
    }
    committer.remove((0..1_000).map(key));
    // The same key again, which is newer than its removal.
    let (told, tells) = std::sync::mpsc::sync_channel(2);
    let others = told.clone();
    committer.when_written(move |result| told.send(("removed", result.is_ok())).unwrap());
    committer.keep(key(7), Some(vec![2])).unwrap();
    committer.when_written(move |result| others.send(("kept", result.is_ok())).unwrap());
    assert_eq!(tells.recv().unwrap(), ("removed", true));
    assert_eq!(tells.recv().unwrap(), ("kept", true));
    // A copy of the files is what a kill at this moment would leave.
    let copy = TempDir::new().unwrap();
    copy_all(dir.path(), copy.path());
    let (_, found, _) = Records::open(copy.path()).unwrap();
    assert_eq!(found, [(key(7), vec![2])]);
    committer.close();
}

fn copy_all(from: &std::path::Path, to: &std::path::Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let copy = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir_all(&copy).unwrap();
            copy_all(&entry.path(), &copy);
        } else {
            std::fs::copy(entry.path(), copy).unwrap();
        }
    }
}

#[test]
fn one_write_is_bounded_and_takes_all_in_the_end() {
    let mut waiting: BTreeMap<_, _> = (0..600_u32)
        .map(|key| (key.to_be_bytes().to_vec(), Some(vec![0; 100])))
        .collect();
    let lengths: Vec<usize> =
        std::iter::from_fn(|| Some(take_changes(&mut waiting).len()).filter(|n| *n > 0)).collect();
    assert_eq!(lengths, [256, 256, 88]);
}

#[test]
fn a_write_waits_for_more_records_unless_somebody_waits_for_it() {
    let mut waiting = Waiting::default();
    let key = |n: usize| n.to_be_bytes().to_vec();
    for n in 0..WRITE_RECORDS_MAX - 1 {
        waiting.changes.insert(key(n), None);
    }
    assert!(!waiting.is_urgent() && !waiting.is_idle());
    waiting.changes.insert(key(WRITE_RECORDS_MAX), None);
    assert!(waiting.is_urgent(), "there is enough for a write");
    waiting.changes.clear();
    waiting.waiters.push(Box::new(|_| ()));
    assert!(waiting.is_urgent(), "somebody waits");
    waiting.waiters.clear();
    waiting.closing = true;
    assert!(waiting.is_urgent(), "the last records are written at once");
}
