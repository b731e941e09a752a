use model::{AttemptId, Bytes, Value, Wall};
use tempfile::TempDir;

use super::*;

/// An outcome of this key, whose files this process has, with so much captured text.
fn outcome(key: u8, holder: u64, n_text: usize) -> SharedOutcome {
    SharedOutcome {
        key: Hash([key; 32]),
        of: AttemptId::default(),
        holder: ProcessId(holder),
        machine: "host".to_owned(),
        started: Wall(1),
        wall: Span(2),
        cpu: Span(3),
        peak_memory: Bytes(4),
        exit_code: Some(0),
        pid: 5,
        slots: 1,
        log: None,
        outputs: Vec::new(),
        captured: vec![Value::Text("x".repeat(n_text))],
        is_for_all: false,
        programs: Vec::new(),
    }
}

fn to_share(definition: &str, outcome: SharedOutcome) -> ToShare {
    ToShare {
        definition: definition.to_owned(),
        outcome,
        words: Vec::new(),
    }
}

fn file(dir: &TempDir) -> OutcomeFile {
    OutcomeFile::new(dir.path().join("outcomes"), "here".to_owned())
}

fn keys(outcomes: &[SharedOutcome]) -> Vec<(u8, u64)> {
    let all = outcomes.iter();
    all.map(|one| (one.key.0[0], one.holder.0)).collect()
}

#[test]
fn outcomes_are_read_by_definition_in_the_order_in_which_they_were_kept() {
    let dir = TempDir::new().unwrap();
    let file = file(&dir);
    assert_eq!(file.of_definition("align").unwrap(), []);
    // Two runs at once.
    let mut keepers = [0, 1].map(|_| OutcomeKeeper::new(Some(file.clone())));
    for (number, keeper) in (0..).zip(&mut keepers) {
        keeper.keep(to_share("align", outcome(number, 7, 10)));
        keeper.keep(to_share("other", outcome(9, 8, 10)));
        assert!(keeper.next_wakeup().is_some());
    }
    drop(keepers);
    assert_eq!(
        keys(&file.of_definition("align").unwrap()),
        [(0, 7), (1, 7)]
    );
    assert_eq!(
        keys(&file.of_definition("other").unwrap()),
        [(9, 8), (9, 8)]
    );
    assert_eq!(file.of_all().unwrap(), []);
    drop(OutcomeKeeper::new(None));
}

#[test]
fn an_outcome_of_another_setting_stands_only_where_any_definition_may_recall_it() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("outcomes");
    let [here, there] = ["here", "there"].map(|setting| {
        let setting = setting.to_owned();
        OutcomeFile::new(path.clone(), setting)
    });
    let mut keeper = OutcomeKeeper::new(Some(here.clone()));
    keeper.keep(to_share("align", outcome(1, 7, 10)));
    let for_all = SharedOutcome {
        is_for_all: true,
        ..outcome(2, 7, 10)
    };
    keeper.keep(to_share("align", for_all));
    drop(keeper);
    assert_eq!(
        keys(&here.of_definition("align").unwrap()),
        [(1, 7), (2, 7)]
    );
    assert_eq!(keys(&there.of_definition("align").unwrap()), []);
    assert_eq!(keys(&there.of_all().unwrap()), [(2, 7)]);
}

#[test]
fn an_outcome_of_a_program_that_was_replaced_meanwhile_is_not_kept() {
    let dir = TempDir::new().unwrap();
    let file = file(&dir);
    let kept = |started: u64| {
        let mut keeper = OutcomeKeeper::new(Some(file.clone()));
        let outcome = SharedOutcome {
            started: Wall(started),
            ..outcome(1, 7, 10)
        };
        keeper.keep(ToShare {
            words: vec!["/bin/sh".to_owned()],
            ..to_share("align", outcome)
        });
        drop(keeper);
        file.of_definition("align").unwrap().len()
    };
    assert_eq!(kept(1), 0);
    assert_eq!(kept(1 << 52), 1);
}

#[test]
fn a_file_that_cannot_be_written_hinders_nothing() {
    let dir = TempDir::new().unwrap();
    // A directory cannot be written to, whoever tries it.
    let file = OutcomeFile::new(dir.path().to_path_buf(), String::new());
    let mut keeper = OutcomeKeeper::new(Some(file));
    keeper.keep(to_share("align", outcome(1, 7, 10)));
    drop(keeper);
}

#[test]
fn a_long_outcome_is_not_kept_and_many_take_several_records() {
    let dir = TempDir::new().unwrap();
    let file = file(&dir);
    let mut all = vec![outcome(0, 1, OUTCOME_BYTES_MAX)];
    all.extend((1..60).map(|key| outcome(key, 1, OUTCOME_BYTES_MAX - 500)));
    assert!(file.add(file.group_of("align"), &all).unwrap());
    let read = file.of_definition("align").unwrap();
    assert_eq!(read, all[1..]);
}

#[test]
fn a_compaction_leaves_the_newest_whose_files_are_there() {
    let dir = TempDir::new().unwrap();
    let file = file(&dir);
    for holder in 1..=8 {
        let of_run: Vec<SharedOutcome> = (1..=3)
            .map(|key| outcome(key, holder, OUTCOME_BYTES_MAX - 500))
            .collect();
        file.add(file.group_of("align"), &of_run).unwrap();
    }
    let is_there = |process: ProcessId| process.0 != 7;
    file.compact_if_long(is_there).unwrap();
    let left = keys(&file.of_definition("align").unwrap());
    let expected = [5, 6, 8].map(|holder| [1, 2, 3].map(|key| (key, holder)));
    assert_eq!(left, expected.concat());
    // It is short now, and stays as it is.
    file.compact_if_long(|_| false).unwrap();
    assert_eq!(keys(&file.of_definition("align").unwrap()), left);
}

#[test]
fn a_compaction_leaves_an_outcome_for_each_of_several_activities_with_the_same_key() {
    let dir = TempDir::new().unwrap();
    let file = file(&dir);
    let of_activity = |activity: u32| SharedOutcome {
        of: AttemptId {
            activity: ActivityId(activity),
            ..AttemptId::default()
        },
        ..outcome(1, 7, OUTCOME_BYTES_MAX - 500)
    };
    let of_run: Vec<SharedOutcome> = (0..10).map(of_activity).collect();
    for _ in 0..2 {
        file.add(file.group_of("align"), &of_run).unwrap();
    }
    file.compact_if_long(|_| true).unwrap();
    let left = file.of_definition("align").unwrap();
    assert_eq!(left, [of_run.clone(), of_run].concat());
}

#[test]
fn a_compaction_leaves_so_many_outcomes_of_a_definition() {
    let dir = TempDir::new().unwrap();
    let file = file(&dir);
    let of_run: Vec<SharedOutcome> = (0..OUTCOMES_MAX as u64 + 10)
        .map(|number| SharedOutcome {
            of: AttemptId {
                activity: ActivityId(number as u32),
                ..AttemptId::default()
            },
            ..outcome(1, number, 10)
        })
        .collect();
    file.add(file.group_of("align"), &of_run).unwrap();
    file.compact_if_long(|_| true).unwrap();
    let left = keys(&file.of_definition("align").unwrap());
    assert_eq!(left, keys(&of_run[10..]));
}
