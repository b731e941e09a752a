//! Journals in which a snapshot stands for all events but the first of each stream, as it does in a long one.

use std::fs;
use std::path::Path;

use activity_core::ActivityManager;
use group_core::GroupManager;
use journal::{Batch, Journal, Options, StreamKey};
use machine::{Codec, Drive, Machine};
use process_core::ProcessManager;

use super::managers::machine;

/// Takes a snapshot of each stream of the three managers of a run that has ended.
pub(super) fn take(state: &Path) {
    let group = GroupManager::new(group_core::Config::default());
    of_manager(&state.join("gm/journal"), group);
    let process = ProcessManager::new(process_core::Config::default());
    of_manager(&state.join("pm/journal"), process);
    of_manager(&state.join("am/journal"), ActivityManager::new(machine()));
}

fn of_manager<M: Machine>(place: &Path, machine: M) {
    let drive = Drive::replay(machine, shell::read_only::<M>(place).unwrap());
    let (histories, _) = journal::open_read(place).unwrap();
    fs::remove_dir_all(place).unwrap();
    let options = Options::new(env!("CARGO_PKG_VERSION"));
    let (mut journal, _) = Journal::open_visiting(place, &options, |_| {}).unwrap();
    for (number, history) in (1..).zip(histories) {
        let stream = M::Stream::decode(&history.stream.0).unwrap();
        let mut snapshot = Vec::new();
        M::snapshot(drive.states().get(stream).unwrap()).encode(&mut snapshot);
        let key = |bytes: Vec<u8>| vec![(StreamKey(history.stream.0.clone()), bytes)];
        let batch = Batch {
            number,
            events: key(history.founding.clone()),
            snapshots: key(snapshot),
            forgotten: Vec::new(),
        };
        journal.commit(&[batch]).unwrap();
    }
    journal.close().unwrap();
}
