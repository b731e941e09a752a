use std::fs::{self, File};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::*;
use crate::store::blob_name;

#[test]
fn pins_do_not_wait_for_the_listings_that_an_eviction_reads() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("store")).unwrap();
    let file = store.add_bytes(b"file").unwrap();
    let listing = Artifact {
        kind: ArtifactKind::Directory,
        ..store.add_bytes(b"").unwrap()
    };
    store.flush().unwrap();
    store.pin(1, &[listing]).unwrap();
    // Whoever reads a pipe waits until its writer is gone.
    let pipe = store.dir().join("blobs").join(blob_name(listing.hash));
    fs::remove_file(&pipe).unwrap();
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| store.evict(Bytes(0)).unwrap());
        // This waits for the reader.
        let writer = File::options().write(true).open(&pipe).unwrap();
        let (pinned, is_pinned) = mpsc::sync_channel(1);
        let pinning = store.clone();
        scope.spawn(move || pinned.send(pinning.pin(2, &[file])));
        let answer = is_pinned.recv_timeout(Duration::from_secs(20));
        drop(writer);
        answer.unwrap().unwrap();
    });
    assert!(store.contains(file.hash));
}
