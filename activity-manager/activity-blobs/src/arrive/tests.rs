use std::fs;

use model::Hash;
use tempfile::TempDir;

use super::*;

fn hash_of(bytes: &[u8]) -> Hash {
    Hash(*blake3::hash(bytes).as_bytes())
}

fn n_drafts(dir: &TempDir) -> usize {
    fs::read_dir(dir.path().join("tmp")).unwrap().count()
}

#[test]
fn a_blob_is_seen_when_all_of_it_has_come() {
    let dir = TempDir::new().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let content: Vec<u8> = (0..300_000_u32).map(|n| (n * 7) as u8).collect();
    let hash = hash_of(&content);
    let mut arriving = store.receive(hash).unwrap();
    let (first, second) = content.split_at(100_001);
    arriving.write(first).unwrap();
    assert_eq!(arriving.bytes(), 100_001);
    assert!(!store.contains(hash));
    arriving.write(second).unwrap();
    arriving.finish().unwrap();
    assert_eq!(store.read(hash, 1 << 20).unwrap(), content);
    assert_eq!(n_drafts(&dir), 0);
    store.flush().unwrap();

    // It may be received twice.
    let mut again = store.receive(hash).unwrap();
    again.write(&content).unwrap();
    again.finish().unwrap();
    assert_eq!((store.n_blobs(), n_drafts(&dir)), (1, 0));
}

#[test]
fn content_that_does_not_match_its_hash_is_discarded() {
    let dir = TempDir::new().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let hash = hash_of(b"what was meant");
    let mut arriving = store.receive(hash).unwrap();
    arriving.write(b"what came").unwrap();
    let refused = arriving.finish().unwrap_err();
    assert!(matches!(refused, ArriveError::Corrupt { bytes: 9, .. }));
    let mut dropped = store.receive(hash).unwrap();
    dropped.write(b"what").unwrap();
    drop(dropped);
    assert!(!store.contains(hash));
    assert_eq!(n_drafts(&dir), 0);
}
