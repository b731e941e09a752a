use tempfile::TempDir;

use super::*;
use crate::figures::Counts;

fn file(store: &Store, byte: u8) -> Artifact {
    store.add_bytes(&[byte; 1_000]).unwrap()
}

#[test]
fn blobs_of_live_processes_stay_and_others_are_evicted() {
    let dir = TempDir::new().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let pins = Pins::new(store.clone());
    let files: Vec<Artifact> = (0..10).map(|byte| file(&store, byte)).collect();
    let has = |number: usize| store.contains(files[number].hash);
    let mut evictor = Evictor::new(store.clone(), Bytes(10_000));
    evictor.look(&Counts::default());
    assert_eq!(store.n_blobs(), 10, "they fit");
    pins.keep(ProcessId(1), &files[..2]);
    pins.keep(ProcessId(2), &files[2..4]);
    let mut evictor = Evictor::new(store.clone(), Bytes(5_000));
    evictor.look(&Counts::default());
    // Four are pinned; with the most recently used ones that is nine tenths of the budget.
    assert_eq!(store.n_blobs(), 4);
    assert!((0..4).all(has));
    pins.release(ProcessId(1));
    let mut evictor = Evictor::new(store.clone(), Bytes(2_300));
    evictor.look(&Counts::default());
    assert_eq!((store.n_blobs(), has(2), has(3)), (2, true, true));
}

#[test]
fn where_nothing_may_go_it_is_not_tried_again_before_something_changes() {
    let dir = TempDir::new().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let pins = Pins::new(store.clone());
    let kept = file(&store, 1);
    pins.keep(ProcessId(1), &[kept]);
    let mut evictor = Evictor::new(store.clone(), Bytes(10));
    evictor.look(&Counts::default());
    assert_eq!(evictor.stuck_at, Some(Bytes(1_000)));
    let other = file(&store, 2);
    evictor.look(&Counts::default());
    assert!(store.contains(kept.hash) && !store.contains(other.hash));
}
