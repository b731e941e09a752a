use std::fs;

use tempfile::TempDir;

use super::*;

#[test]
fn durable_blobs_are_read_beside_the_owner_without_changes() {
    let dir = TempDir::new().unwrap();
    let store = Store::open(&dir.path().join("store")).unwrap();
    let source = dir.path().join("source");
    fs::create_dir_all(source.join("deep")).unwrap();
    fs::write(source.join("deep/a"), "a").unwrap();
    fs::write(source.join("b"), vec![7; 200_000]).unwrap();
    let tree = store.add_tree(&source).unwrap();
    store.flush().unwrap();
    let fresh = dir.path().join("fresh");
    fs::write(&fresh, "not flushed").unwrap();
    let fresh = store.add_file(&fresh).unwrap();

    let reader = Reader::open(&dir.path().join("store")).unwrap();
    // What is not durable is not seen, and the listing of a directory and its files count once each.
    let durable = Bytes(store.size().0 - fresh.bytes.0);
    assert_eq!(reader.size_without(&[]), durable);
    assert_eq!(reader.size_without(&[tree, tree]), Bytes::ZERO);
    let to = dir.path().join("to");
    reader.export(tree, &to).unwrap();
    assert_eq!(fs::read_to_string(to.join("deep/a")).unwrap(), "a");
    assert_eq!(fs::read(to.join("b")).unwrap(), vec![7; 200_000]);
    let error = reader.export(fresh, &dir.path().join("x")).unwrap_err();
    assert!(matches!(error, PlaceError::Missing { .. }), "{error:?}");

    // An evicted blob is missing, and nothing is set aside.
    let n_blobs = store.n_blobs();
    drop(store);
    let name = tree.hash.to_string();
    fs::remove_file(dir.path().join("store/blobs").join(&name[..2]).join(&name)).unwrap();
    let error = reader.export(tree, &dir.path().join("y")).unwrap_err();
    assert!(error.to_string().contains("damaged or gone"), "{error}");
    assert!(!dir.path().join("store/damaged").exists());
    let store = Store::open(&dir.path().join("store")).unwrap();
    assert_eq!(store.n_blobs(), n_blobs - 1);
}
