use model::ProcessId;
use wire::client::{Phase, Totals};

use super::*;

fn summary(ended: Option<u64>, keep: Option<u64>) -> Summary {
    Summary {
        process: ProcessId(1),
        name: "primes".to_owned(),
        origin: String::new(),
        submitted: Wall(0),
        ended: ended.map(Wall),
        phase: Phase::Completed,
        totals: Totals::default(),
        base: None,
        keep: keep.map(Span),
        owner: None,
        held: None,
    }
}

#[test]
fn only_what_has_ended_and_has_a_time_is_over_it() {
    assert!(is_over(&summary(Some(10), Some(5)), Wall(15)));
    assert!(!is_over(&summary(Some(10), Some(5)), Wall(14)));
    assert!(!is_over(&summary(None, Some(5)), Wall(100)));
    assert!(!is_over(&summary(Some(10), None), Wall(100)));
}

#[test]
fn a_directory_of_the_user_keeps_what_is_not_ours() {
    let dir = tempfile::TempDir::new().unwrap();
    let path = dir.path().join("s");
    let (directory, _) = StateDirectory::open_or_make(&path).unwrap();
    for part in ["pm/journal", "gm", "am/blobs", "am-fast", "results"] {
        fs::create_dir_all(path.join(part)).unwrap();
    }
    fs::write(path.join("letter"), "dear").unwrap();
    let held = directory.hold(Use::Run).unwrap();
    remove(&directory, held).unwrap();
    let left: Vec<_> = fs::read_dir(&path)
        .unwrap()
        .map(|one| one.unwrap().file_name())
        .collect();
    assert_eq!(left, ["letter"]);

    fs::remove_file(path.join("letter")).unwrap();
    let (directory, made) = StateDirectory::open_or_make(&path).unwrap();
    assert!(made.is_some());
    let held = directory.hold(Use::Run).unwrap();
    remove(&directory, held).unwrap();
    assert!(!path.exists());
}

#[test]
fn whoever_waits_for_a_directory_that_goes_is_told() {
    let dir = tempfile::TempDir::new().unwrap();
    let (directory, _) = StateDirectory::open_or_make(&dir.path().join("s")).unwrap();
    let held = directory.hold(Use::Read).unwrap();
    let theirs = directory.clone();
    let waiting = std::thread::scope(|scope| {
        let waiting = scope.spawn(move || theirs.hold(Use::Run));
        remove(&directory, held).unwrap();
        waiting.join().unwrap()
    });
    // It either waited for the lock, or came when there was nothing any more.
    assert!(waiting.is_err(), "{waiting:?}");
    assert!(!directory.path().exists());
}
