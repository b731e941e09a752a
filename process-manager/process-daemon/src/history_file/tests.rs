use history::{Observed, SizeClass};
use model::{Bytes, Span, Wall, Work};
use tempfile::TempDir;

use super::*;

fn seen(run: u32, seconds: u64) -> Observed {
    Observed {
        run,
        at: Wall(u64::from(run)),
        work: Work::from_secs(seconds),
        is_killed: false,
        cpu: Span::ZERO,
        wall: Span::from_secs(seconds),
        peak_memory: Bytes(1),
    }
}

fn batch(definition: &str, run: u32, seconds: u64) -> Batch {
    let mut batch = Batch::new(definition);
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
    let mut long = Batch::new("mosaic");
    for run in 0..20_000 {
        long.add("project", SizeClass(0), &seen(run, 2));
    }
    one.add(&long).unwrap();
    assert!(one.file.added_bytes().unwrap() >= COMPACTED_FROM);
    one.compact_if_long().unwrap();
    assert_eq!(one.file.added_bytes().unwrap(), 0);
    assert_eq!(work(&one, "mosaic"), Some(Work::from_secs(2)));
}

/// The cost of a full history: `cargo test -p process-daemon --release full_history -- --ignored --nocapture`.
#[test]
#[ignore = "measures, and judges nothing but memory"]
fn full_history() {
    let directory = TempDir::new().unwrap();
    let one = HistoryFile::new(directory.path().join("history"));
    for definition in 0..1_000 {
        let mut batch = Batch::new(&format!("definition-{definition}"));
        for activity in 0..100 {
            for run in 0..20 {
                batch.add(
                    &format!("activity-{activity}"),
                    SizeClass(20),
                    &seen(run, 2),
                );
            }
        }
        one.add(&batch).unwrap();
    }
    one.file.compact(|all| sections(all, |_| true)).unwrap();
    for run in 0..400 {
        one.add(&batch("definition-7", run, 2)).unwrap();
    }
    let memory = || -> u64 {
        let status = std::fs::read_to_string("/proc/self/statm").unwrap();
        let pages: u64 = status.split(' ').nth(1).unwrap().parse().unwrap();
        pages * 4096
    };
    let mut starts: Vec<u64> = (0..20)
        .map(|_| {
            let before = shell::clock::mono();
            assert!(!one.of_definition("definition-7").unwrap().is_empty());
            shell::clock::mono().0 - before.0
        })
        .collect();
    starts.sort_unstable();
    let before = memory();
    let store = one.all().unwrap();
    let after = memory();
    eprintln!(
        "{} templates: {} MB in memory, {} MB on disk, a start reads one definition in {} us (median of 20)",
        store.len(),
        after.saturating_sub(before) / 1_000_000,
        std::fs::metadata(directory.path().join("history"))
            .unwrap()
            .len()
            / 1_000_000,
        starts[10],
    );
    assert!(store.len() == 100_000 && after - before < 50_000_000);
}
