use std::sync::mpsc::sync_channel;

use tempfile::TempDir;

use super::*;
use crate::journal::{Options, open_read};
use crate::layout::StreamKey;

fn batch(number: u64) -> Batch {
    let events = vec![(StreamKey(b"p".to_vec()), number.to_be_bytes().to_vec())];
    Batch {
        number,
        events,
        ..Batch::default()
    }
}

fn journal(dir: &TempDir) -> Journal {
    Journal::open(dir.path(), &Options::new("0.1.0")).unwrap().0
}

#[test]
fn waiting_batches_are_flushed_together() {
    let dir = TempDir::new().unwrap();
    let (told, reports) = sync_channel(2);
    let (gate, opened) = sync_channel::<()>(2);
    let committer = Committer::start(journal(&dir), move |report| {
        told.send(report).unwrap();
        // The first report is delayed until the other batches wait.
        opened.recv().unwrap();
    })
    .unwrap();
    committer.commit(batch(1)).unwrap();
    assert!(matches!(reports.recv().unwrap(), Report::Flushed(1)));
    for number in 2..=20 {
        committer.try_commit(batch(number)).unwrap();
    }
    gate.send(()).unwrap();
    gate.send(()).unwrap();
    assert!(matches!(reports.recv().unwrap(), Report::Flushed(20)));
    committer.close().unwrap().close().unwrap();
    let (histories, opened) = open_read(dir.path()).unwrap();
    assert_eq!((opened.n_commits, histories[0].tail.len()), (2, 19));
}

#[test]
fn a_full_queue_gives_the_batch_back() {
    let dir = TempDir::new().unwrap();
    let (told, reports) = sync_channel(2);
    let (gate, opened) = sync_channel::<()>(2);
    let committer = Committer::start(journal(&dir), move |report| {
        told.send(report).unwrap();
        let _ = opened.recv();
    })
    .unwrap();
    committer.commit(batch(1)).unwrap();
    assert!(matches!(reports.recv().unwrap(), Report::Flushed(1)));
    let n_max = QUEUE_BATCHES_MAX as u64;
    for number in 2..n_max + 2 {
        committer.try_commit(batch(number)).unwrap();
    }
    let Err(Refused::Full(refused)) = committer.try_commit(batch(n_max + 2)) else {
        panic!()
    };
    assert_eq!(refused, batch(n_max + 2));
    drop(gate);
    drop(committer);
    assert_eq!(open_read(dir.path()).unwrap().0[0].tail.len() as u64, n_max);
}

#[test]
fn a_failed_commit_is_told_once_and_nothing_is_taken_after_it() {
    let dir = TempDir::new().unwrap();
    let (told, reports) = sync_channel(2);
    let committer =
        Committer::start(journal(&dir), move |report| told.send(report).unwrap()).unwrap();
    let unfounded = vec![(StreamKey(b"q".to_vec()), Vec::new())];
    committer
        .commit(Batch {
            number: 1,
            snapshots: unfounded,
            ..Batch::default()
        })
        .unwrap();
    assert!(matches!(
        reports.recv().unwrap(),
        Report::Failed(CommitError::NoFounding { .. })
    ));
    // The thread ends: the channel of reports closes with it.
    assert!(reports.recv().is_err());
    while committer.commit(batch(2)).is_ok() {}
    assert!(matches!(
        committer.try_commit(batch(3)),
        Err(Refused::Stopped)
    ));
    committer.close();
    assert!(open_read(dir.path()).unwrap().0.is_empty());
}

#[test]
fn an_empty_batch_is_reported_without_a_commit() {
    let dir = TempDir::new().unwrap();
    let (told, reports) = sync_channel(2);
    let committer =
        Committer::start(journal(&dir), move |report| told.send(report).unwrap()).unwrap();
    committer
        .commit(Batch {
            number: 5,
            ..Batch::default()
        })
        .unwrap();
    assert!(matches!(reports.recv().unwrap(), Report::Flushed(5)));
    drop(committer);
    assert_eq!(open_read(dir.path()).unwrap().1.n_commits, 0);
}
