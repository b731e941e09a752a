use super::*;

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
