use std::fs;

use model::Bytes;
use tempfile::TempDir;

use super::*;

fn large(letter: &str) -> String {
    letter.repeat(SMALL_BYTES_MAX + 1)
}

#[test]
fn large_files_that_nobody_needs_are_let_go_and_taken_again() {
    let dir = TempDir::new().unwrap();
    let store = Store::open(&dir.path().join("store")).unwrap();
    let tree = dir.path().join("tree");
    fs::create_dir(&tree).unwrap();
    for (name, text) in [("a", large("a")), ("b", large("b")), ("small", "s".into())] {
        fs::write(tree.join(name), text).unwrap();
    }
    let directory = store.add_tree(&tree).unwrap();
    let a = store.add_file(&tree.join("a")).unwrap();
    let b = store.add_file(&tree.join("b")).unwrap();
    assert_eq!(
        store.let_go(&[directory], &[]).unwrap().n_blobs,
        0,
        "none is durable"
    );
    store.flush().unwrap();
    let hold = store.hold();
    assert!(store.contains(a.hash) && store.missing(directory).unwrap().is_empty());
    assert!(store.read(a.hash, u64::MAX).is_ok());
    assert_eq!(
        store.let_go(&[a], &[]).unwrap().n_blobs,
        0,
        "it was used under a hold"
    );
    drop(hold);
    let gone = store.let_go(&[directory], &[b]).unwrap();
    assert_eq!((gone.n_blobs, store.contains(a.hash)), (1, false));
    assert!(gone.bytes >= a.bytes);
    assert_eq!(store.missing(directory).unwrap(), [a.hash]);
    assert_eq!(
        store.let_go(&[a, b], &[directory]).unwrap(),
        Evicted {
            bytes_left: store.size(),
            ..Evicted::default()
        }
    );
    // It is pinned, which does not matter.
    store.pin(1, &[directory]).unwrap();
    assert_eq!(store.let_go(&[directory], &[]).unwrap().n_blobs, 1);
    assert!(store.size() < Bytes(SMALL_BYTES_MAX as u64));
    assert!(store.take_again(&tree, directory).unwrap());
    assert!(store.missing(directory).unwrap().is_empty());
    fs::write(tree.join("a"), large("c")).unwrap();
    assert!(!store.take_again(&tree.join("a"), a).unwrap());
    assert!(store.take_again(&tree.join("none"), a).is_err());
}
