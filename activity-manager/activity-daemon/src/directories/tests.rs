use std::os::unix::fs::PermissionsExt;

use model::ActivityId;
use tempfile::TempDir;

use super::*;

fn attempt(process: u64, activity: u32, number: u32) -> AttemptId {
    AttemptId {
        process: ProcessId(process),
        activity: ActivityId(activity),
        number,
    }
}

fn process_path(dir: &TempDir, process: u64) -> PathBuf {
    work_directory(dir.path()).join(ProcessId(process).to_string())
}

fn n_entries(path: impl AsRef<Path>) -> usize {
    fs::read_dir(path).unwrap().count()
}

#[test]
fn a_directory_is_used_again_only_if_nothing_has_happened_in_it() {
    let dir = TempDir::new().unwrap();
    let mut places = Directories::open(dir.path(), Untouched::Again).unwrap();
    let first = places.give(attempt(5, 1, 1)).unwrap().directory;
    assert_eq!(Path::new(&first).parent().unwrap(), process_path(&dir, 5));
    let second = places.give(attempt(5, 1, 2)).unwrap().directory;
    assert_ne!(first, second);
    assert!(places.take_back(ProcessId(5), &first));
    assert_eq!(places.give(attempt(5, 2, 1)).unwrap().directory, first);

    fs::write(format!("{first}/file"), "x").unwrap();
    assert!(!places.take_back(ProcessId(5), &first));
    fs::create_dir(format!("{second}/gone")).unwrap();
    fs::remove_dir(format!("{second}/gone")).unwrap();
    assert!(!places.take_back(ProcessId(5), &second));
    let third = places.give(attempt(5, 3, 1)).unwrap().directory;
    fs::set_permissions(&third, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(!places.take_back(ProcessId(5), &third));
    for foreign in ["", "/", "/tmp", "/tmp/1", &format!("{first}/../1")] {
        assert!(!places.take_back(ProcessId(5), foreign), "{foreign}");
    }
}

#[test]
fn a_directory_that_another_account_had_is_never_used_again() {
    let dir = TempDir::new().unwrap();
    let mut places = Directories::open(dir.path(), Untouched::Removed).unwrap();
    let first = places.give(attempt(5, 1, 1)).unwrap().directory;
    assert!(!places.take_back(ProcessId(5), &first));
    assert_ne!(places.give(attempt(5, 1, 2)).unwrap().directory, first);
}

#[test]
fn directories_of_an_earlier_epoch_are_not_reused() {
    let dir = TempDir::new().unwrap();
    let mut places = Directories::open(dir.path(), Untouched::Again).unwrap();
    let failed = places.give(attempt(5, 1, 1)).unwrap().directory;
    let spare = places.give(attempt(5, 2, 1)).unwrap().directory;
    assert!(places.take_back(ProcessId(5), &spare));
    drop(places);
    assert!(Path::new(&failed).is_dir() && !Path::new(&spare).exists());
    let mut places = Directories::open(dir.path(), Untouched::Again).unwrap();
    assert_ne!(places.give(attempt(5, 1, 2)).unwrap().directory, failed);
}

#[test]
fn a_process_directory_that_was_removed_is_made_again() {
    let dir = TempDir::new().unwrap();
    let mut places = Directories::open(dir.path(), Untouched::Again).unwrap();
    places.give(attempt(5, 1, 1)).unwrap();
    fs::remove_dir_all(process_path(&dir, 5)).unwrap();
    let again = places.give(attempt(5, 2, 1)).unwrap().directory;
    assert!(Path::new(&again).is_dir());
}

#[test]
fn more_processes_than_stay_open_are_served() {
    let dir = TempDir::new().unwrap();
    let mut places = Directories::open(dir.path(), Untouched::Again).unwrap();
    for round in 1..=2 {
        for process in 0..2 * OPEN_PROCESSES_MAX as u64 {
            let made = places.give(attempt(process, 0, round)).unwrap();
            assert!(Path::new(&made.directory).is_dir());
            assert_eq!(n_entries(process_path(&dir, process)), round as usize);
        }
    }
    assert!(places.processes.len() <= OPEN_PROCESSES_MAX);
}

#[test]
fn a_start_removes_what_is_empty_and_nothing_else() {
    let dir = TempDir::new().unwrap();
    let mut places = Directories::open(dir.path(), Untouched::Again).unwrap();
    places.give(attempt(1, 1, 1)).unwrap();
    fs::create_dir(places.root().join("empty")).unwrap();
    drop(places);
    let places = Directories::open(dir.path(), Untouched::Again).unwrap();
    assert_eq!(n_entries(places.root()), 1);
}
