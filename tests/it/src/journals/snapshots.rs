//! Journals in which a snapshot stands for all events but the first of each stream, as it does in a long one.

use std::fs;
use std::path::Path;

use activity_core::ActivityManager;
use group_core::GroupManager;
use journal::{Batch, Journal, Options, StreamKey};
use machine::{Codec, History, Machine};
use process_core::ProcessManager;

/// Takes a snapshot of each stream of the three managers of a run that has ended.
pub(super) fn take(state: &Path) {
    of_manager::<GroupManager>(&state.join("gm/journal"));
    of_manager::<ProcessManager>(&state.join("pm/journal"));
    of_manager::<ActivityManager>(&state.join("am/journal"));
}

fn of_manager<M: Machine>(place: &Path) {
    let read = shell::read_only::<M>(place).unwrap();
    let (histories, _) = journal::open_read(place).unwrap();
    fs::remove_dir_all(place).unwrap();
    let options = Options::new(env!("CARGO_PKG_VERSION"));
    let (mut journal, _) = Journal::open_visiting(place, &options, |_| {}).unwrap();
    for (number, (mut history, read)) in (1..).zip(histories.into_iter().zip(read)) {
        let mut state = state_of(read);
        let mut snapshot = Vec::new();
        M::snapshot(&state).encode(&mut snapshot);
        for (number, chapter) in M::take_chapters(&mut state) {
            let mut bytes = Vec::new();
            chapter.encode(&mut bytes);
            history.chapters.insert(number, bytes);
        }
        let chapters = history.chapters.iter();
        let chapters = chapters.map(|(&at, bytes)| (history.stream.clone(), at, bytes.clone()));
        let key = |bytes: Vec<u8>| vec![(StreamKey(history.stream.0.clone()), bytes)];
        let batch = Batch {
            number,
            events: key(history.founding.clone()),
            snapshots: key(snapshot),
            chapters: chapters.collect(),
            forgotten: Vec::new(),
        };
        journal.commit(&[batch]).unwrap();
    }
    journal.close().unwrap();
}

fn state_of<M: Machine>(history: History<M>) -> M::State {
    let mut state = M::State::default();
    M::apply(&mut state, &history.founding);
    if let Some(snapshot) = history.snapshot {
        state = M::restore(state, snapshot, history.chapters);
    }
    for event in &history.tail {
        M::apply(&mut state, event);
    }
    state
}

#[test]
fn a_process_of_the_present_golden_snapshots_has_several_chapters() {
    let (_, golden) = super::releases().pop().unwrap();
    let (histories, _) = journal::open_read(&golden.join("pm/journal")).unwrap();
    let most = histories.iter().map(|history| history.chapters.len()).max();
    assert!(most >= Some(3), "{}: {most:?}", golden.display());
}
