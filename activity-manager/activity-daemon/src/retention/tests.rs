use std::fs::File;
use std::time::SystemTime;

use tempfile::TempDir;

use super::*;

const DAY: u64 = 86_400;
/// Long after 1970.
const NOW: u64 = 1_000 * DAY;
const LIVE: ProcessId = ProcessId(1);
const DEAD: ProcessId = ProcessId(2);

struct Stage {
    _directory: TempDir,
    retention: RetentionThread,
}

impl Stage {
    /// A retention of ten days, with logs of a thousand bytes.
    fn new() -> Stage {
        let directory = tempfile::tempdir().unwrap();
        let retention = RetentionThread {
            work: directory.path().join("work"),
            logs: directory.path().join("log"),
            environments: directory.path().join("work/environments"),
            retention: Retention {
                keep: Span::from_secs(10 * DAY),
                log_bytes_max: 1_000,
            },
            users: ProcessUsers::default(),
        };
        fs::create_dir(&retention.work).unwrap();
        fs::create_dir(&retention.logs).unwrap();
        Stage {
            _directory: directory,
            retention,
        }
    }

    fn now() -> Wall {
        Wall(NOW * 1_000_000)
    }

    fn log(&self, name: &str, bytes: usize, days: u32) {
        let path = self.retention.logs.join(name);
        fs::write(&path, vec![b'x'; bytes]).unwrap();
        Stage::age(&path, days);
    }

    fn directory(&self, process: ProcessId, days: u32) {
        let path = self.retention.work.join(process.to_string());
        fs::create_dir_all(path.join("3")).unwrap();
        fs::write(path.join("3/left"), "x").unwrap();
        Stage::age(&path, days);
    }

    fn age(path: &Path, days: u32) {
        let file = File::open(path).unwrap();
        let age = Duration::from_secs(u64::from(days) * DAY);
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW);
        file.set_modified(now - age).unwrap();
    }

    /// The remaining files after a clean-up for which the manager reports one served process.
    fn cleared(&self) -> Vec<String> {
        let asked = self.retention.processes().unwrap();
        let over: Vec<ProcessId> = asked.into_iter().filter(|&id| id != LIVE).collect();
        self.retention.clear(&over, Stage::now()).unwrap();
        let all = read(&self.retention.work)
            .unwrap()
            .into_iter()
            .chain(read(&self.retention.logs).unwrap());
        let name = |one: Leaving| one.path.file_name().unwrap().to_str().unwrap().to_owned();
        let mut names: Vec<String> = all.map(name).collect();
        names.sort();
        names
    }
}

#[test]
fn old_files_are_removed_unless_their_process_is_served() {
    let stage = Stage::new();
    for (id, days) in [(LIVE, 30), (DEAD, 11), (ProcessId(3), 9)] {
        stage.directory(id, days);
        stage.log(&format!("{id}-4-1.stdout"), 10, days);
    }
    stage.log("segment-00000001", 10, 11);
    stage.log("segment-00000002", 10, 9);
    stage.log("somebody-elses", 10, 99);
    let young = ProcessId(3);
    let mut expected = vec![
        LIVE.to_string(),
        format!("{LIVE}-4-1.stdout"),
        young.to_string(),
        format!("{young}-4-1.stdout"),
        "segment-00000002".to_owned(),
        "somebody-elses".to_owned(),
    ];
    expected.sort();
    assert_eq!(stage.cleared(), expected);
}

#[test]
fn where_logs_are_too_large_the_oldest_go_and_never_the_one_that_is_written() {
    let stage = Stage::new();
    stage.log("segment-00000001", 400, 3);
    stage.log(&format!("{LIVE}-1-1.stdout"), 400, 3);
    stage.log(&format!("{DEAD}-1-1.stderr"), 400, 2);
    stage.log("segment-00000002", 400, 1);
    stage.log(&format!("{DEAD}-2-1.stderr"), 100, 0);
    let expected = [
        format!("{LIVE}-1-1.stdout"),
        format!("{DEAD}-2-1.stderr"),
        "segment-00000002".to_owned(),
    ];
    assert_eq!(stage.cleared(), expected);
    stage.log("segment-00000002", 4_000, 30);
    assert_eq!(
        stage.cleared(),
        [format!("{LIVE}-1-1.stdout"), "segment-00000002".to_owned()]
    );
}

#[test]
fn the_user_with_most_bytes_loses_the_oldest_logs_first() {
    let stage = Stage::new();
    let (ana, bo) = (ProcessId(3), ProcessId(4));
    for (process, user) in [(ana, "ana"), (bo, "bo")] {
        stage.retention.users.note(process, user);
        // The user is still known after the process has ended.
        stage.retention.users.release(process);
    }
    stage.log(&format!("{bo}-1-1.stdout"), 300, 9);
    for (activity, days) in [(1, 3), (2, 2), (3, 1)] {
        stage.log(&format!("{ana}-{activity}-1.stdout"), 350, days);
    }
    let expected = [
        format!("{ana}-2-1.stdout"),
        format!("{ana}-3-1.stdout"),
        format!("{bo}-1-1.stdout"),
    ];
    assert_eq!(stage.cleared(), expected);
}

#[test]
fn those_longest_unchanged_are_asked_about_first_and_nothing_is_asked_of_a_new_machine() {
    let stage = Stage::new();
    stage.directory(DEAD, 2);
    stage.log(&format!("{LIVE}-1-1.stdout"), 10, 3);
    stage.log(&format!("{DEAD}-1-1.stdout"), 10, 9);
    assert_eq!(stage.retention.processes().unwrap(), [LIVE, DEAD]);
    fs::remove_dir_all(&stage.retention.work).unwrap();
    fs::remove_dir_all(&stage.retention.logs).unwrap();
    assert_eq!(stage.retention.processes().unwrap(), []);
    stage.retention.clear(&[DEAD], Stage::now()).unwrap();
}

#[test]
fn one_that_cannot_be_removed_keeps_no_other_from_being_removed() {
    let stage = Stage::new();
    // Names of a directory and of logs at which there is something else, which even root cannot
    // remove as that.
    let odd = ProcessId(4);
    fs::write(stage.retention.work.join(odd.to_string()), "").unwrap();
    Stage::age(&stage.retention.work.join(odd.to_string()), 30);
    for (name, days) in [("1-1.stdout", 40), ("2-1.stdout", 5)] {
        let path = stage.retention.logs.join(format!("{odd}-{name}"));
        fs::create_dir(&path).unwrap();
        Stage::age(&path, days);
    }
    for process in [DEAD, ProcessId(3), ProcessId(5)] {
        stage.directory(process, 20);
        stage.log(&format!("{process}-1-1.stdout"), 10, 20);
    }
    stage.log(&format!("{DEAD}-2-1.stdout"), 2_000, 4);
    let expected = [
        odd.to_string(),
        format!("{odd}-1-1.stdout"),
        format!("{odd}-2-1.stdout"),
    ];
    assert_eq!(stage.cleared(), expected);
}
