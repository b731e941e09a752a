use std::fs;
use std::os::unix::fs::MetadataExt;

use tempfile::TempDir;

use super::*;

#[test]
fn what_is_durable_elsewhere_is_taken_by_a_second_name_and_stays() {
    let dir = TempDir::new().unwrap();
    let source = dir.path().join("source");
    fs::create_dir_all(source.join("deep")).unwrap();
    fs::write(source.join("deep/a"), "a").unwrap();
    fs::write(source.join("b"), vec![7; 200_000]).unwrap();
    let (first, second) = (dir.path().join("first"), dir.path().join("second"));
    let store = Store::open(&first).unwrap();
    let tree = store.add_tree(&source).unwrap();
    store.flush().unwrap();
    let fresh = store.add_bytes(b"not flushed").unwrap();
    let other = Store::open(&second).unwrap();
    // While the first store is open.
    assert!(other.take_from(&first, tree).unwrap());
    assert!(other.missing(tree).unwrap().is_empty());
    assert!(!other.take_from(&first, fresh).unwrap());
    assert!(!other.take_from(&dir.path().join("none"), fresh).unwrap());
    let name = blob_name(tree.hash);
    let both =
        [&first, &second].map(|store| fs::metadata(store.join("blobs").join(&name)).unwrap());
    assert_eq!(both[0].ino(), both[1].ino());
    other.flush().unwrap();
    drop((store, other));
    fs::remove_dir_all(&first).unwrap();
    let other = Store::open(&second).unwrap();
    let to = dir.path().join("to");
    other.export(tree, &to).unwrap();
    assert_eq!(fs::read_to_string(to.join("deep/a")).unwrap(), "a");
}

#[test]
fn what_is_damaged_elsewhere_is_found_out_before_it_is_used() {
    let dir = TempDir::new().unwrap();
    let first = dir.path().join("first");
    let store = Store::open(&first).unwrap();
    let blob = store.add_bytes(b"sound").unwrap();
    store.flush().unwrap();
    drop(store);
    let path = first.join("blobs").join(blob_name(blob.hash));
    fs::remove_file(&path).unwrap();
    fs::write(&path, "wrong").unwrap();
    let sealed = std::os::unix::fs::PermissionsExt::from_mode(SEALED_MODE);
    fs::set_permissions(&path, sealed).unwrap();
    let other = Store::open(&dir.path().join("second")).unwrap();
    assert!(other.take_from(&first, blob).unwrap());
    assert!(other.open_sound(blob.hash).is_err());
}
