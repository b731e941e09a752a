use history::{Observed, SizeClass};
use model::{Wall, Work};
use tempfile::TempDir;

use super::*;

fn seen(run: u32, seconds: u64) -> Observed {
    Observed::completed(run, Wall(u64::from(run)), Work::from_secs(seconds))
}

fn batch(definition: &str, run: u32, seconds: u64) -> Batch {
    let mut batch = Batch::new("", definition);
    batch.add("project", SizeClass(0), &seen(run, seconds));
    batch
}

fn work(file: &HistoryFile, definition: &str) -> Option<Work> {
    let store = file.of_definition(definition).unwrap();
    let known = store.of_activity(("", definition), "project")?;
    Some(known.of(None).work)
}

#[test]
fn runs_at_once_both_add_and_a_compaction_changes_no_forecast() {
    let directory = TempDir::new().unwrap();
    let one = HistoryFile::new(directory.path().join("history"));
    let other = one.clone();
    assert_eq!(work(&one, "mosaic"), None);
    assert!(one.add(&batch("mosaic", 1, 2)).unwrap());
    assert!(other.add(&batch("mosaic", 2, 4)).unwrap());
    assert!(other.add(&batch("survey", 3, 9)).unwrap());
    assert_eq!(work(&one, "mosaic"), Some(Work::from_secs(3)));
    one.file.compact(|all| sections(all, |_| true)).unwrap();
    assert_eq!(work(&one, "mosaic"), Some(Work::from_secs(3)));
    assert_eq!(one.all().unwrap().len(), 2);
    assert_eq!(one.forget(Some("mosaic")).unwrap(), 1);
    assert_eq!(work(&one, "mosaic"), None);
    assert_eq!(work(&one, "survey"), Some(Work::from_secs(9)));
    assert_eq!(one.forget(None).unwrap(), 1);
    assert!(one.all().unwrap().is_empty());
}

#[test]
fn a_long_tail_is_compacted() {
    let directory = TempDir::new().unwrap();
    let one = HistoryFile::new(directory.path().join("history"));
    let mut runs = 0..;
    while one.file.added_bytes().unwrap() < COMPACTED_FROM {
        one.compact_if_long().unwrap();
        let mut batch = Batch::new("", "mosaic");
        for run in runs.by_ref().take(1_000) {
            batch.add("project", SizeClass(0), &seen(run, 2));
        }
        assert!(one.add(&batch).unwrap());
    }
    one.compact_if_long().unwrap();
    assert_eq!(one.file.added_bytes().unwrap(), 0);
    assert_eq!(work(&one, "mosaic"), Some(Work::from_secs(2)));
}
