use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use model::Bytes;
use proptest::prelude::*;

use super::{copy, copy_hashed, hash, write_sparse};
use crate::{Placement, Store};

/// Bytes of a file on the disk.
fn taken(path: &Path) -> u64 {
    fs::metadata(path).unwrap().blocks() * 512
}

/// A file of three GiB with some words in it.
fn holey(path: &Path) -> File {
    let file = File::create(path).unwrap();
    file.set_len(3 << 30).unwrap();
    file.write_all_at(b"begin", 0).unwrap();
    file.write_all_at(b"middle", 1 << 30).unwrap();
    file
}

#[test]
fn a_hole_takes_no_room_on_its_way_through_the_store() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("source");
    holey(&source);
    let store = Store::open(&dir.path().join("store")).unwrap();
    let blob = store.add_file(&source).unwrap();
    assert_eq!(blob.bytes, Bytes(3 << 30));
    store.flush().unwrap();
    assert!(store.size() < Bytes(1 << 20), "{}", store.size());
    store
        .place(blob, dir.path(), "placed", Placement::Copy)
        .unwrap();
    let placed = dir.path().join("placed");
    assert!(taken(&placed) < 1 << 20, "{}", taken(&placed));
    assert_eq!(fs::metadata(&placed).unwrap().len(), 3 << 30);
    drop(store);
    let store = Store::open(&dir.path().join("store")).unwrap();
    assert!(store.size() < Bytes(1 << 20), "{}", store.size());
}

#[test]
fn zeros_that_arrive_become_holes() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("store")).unwrap();
    let mut content = vec![0; 2 << 20];
    content[1 << 20] = 1;
    let name = model::Hash(*blake3::hash(&content).as_bytes());
    let mut arriving = store.receive(name).unwrap();
    for piece in content.chunks(100_000) {
        arriving.write(piece).unwrap();
    }
    arriving.finish().unwrap();
    assert!(store.size() < Bytes(64 << 10), "{}", store.size());
    assert_eq!(store.read(name, 4 << 20).unwrap(), content);
}

#[derive(Clone, Debug)]
enum Part {
    Data(Vec<u8>),
    Hole(u64),
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let data = prop::collection::vec(any::<u8>(), 1..9_000).prop_map(Part::Data);
    let hole = (1..40_000_u64).prop_map(Part::Hole);
    prop::collection::vec(prop_oneof![data, hole], 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_copy_has_the_content_and_the_hash_of_what_it_is_a_copy_of(parts in parts()) {
        let dir = tempfile::tempdir().unwrap();
        let made = |name: &str| {
            let path = dir.path().join(name);
            let file = File::options()
                .read(true)
                .write(true)
                .create_new(true)
                .open(&path);
            (file.unwrap(), path)
        };
        let (source, from) = made("source");
        let mut at = 0;
        for part in &parts {
            match part {
                Part::Data(data) => {
                    source.write_all_at(data, at).unwrap();
                    at += data.len() as u64;
                }
                Part::Hole(bytes) => at += bytes,
            }
        }
        source.set_len(at).unwrap();
        let content = fs::read(&from).unwrap();
        let expected = model::Hash(*blake3::hash(&content).as_bytes());
        let (hashed, path) = made("hashed");
        prop_assert_eq!(copy_hashed(&source, &hashed).unwrap(), (expected, at));
        prop_assert_eq!(&fs::read(path).unwrap(), &content);
        prop_assert_eq!(hash(&source).unwrap(), (expected, at));
        let (copied, path) = made("copied");
        copy(&source, &copied, at).unwrap();
        prop_assert_eq!(&fs::read(path).unwrap(), &content);
        let (written, path) = made("written");
        let mut at = 0;
        for piece in content.chunks(5_000) {
            write_sparse(&written, piece, at).unwrap();
            at += piece.len() as u64;
        }
        written.set_len(at).unwrap();
        prop_assert_eq!(&fs::read(path).unwrap(), &content);
    }
}
