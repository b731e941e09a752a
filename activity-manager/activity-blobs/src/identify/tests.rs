use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::Store;

#[test]
fn a_file_is_identified_as_a_store_would_keep_it() {
    let dir = tempfile::TempDir::new().unwrap();
    let store = Store::open(&dir.path().join("store")).unwrap();
    for n_bytes in [0, 3, 64 << 10, (64 << 10) + 1, 300_000] {
        let path = dir.path().join("file");
        fs::write(&path, vec![7; n_bytes]).unwrap();
        for mode in [0o644, 0o755] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let identified = identify_file(&path).unwrap();
            assert_eq!(identified, store.add_file(&path).unwrap(), "{n_bytes}");
        }
    }
    assert!(identify_file(dir.path()).is_err());
}

#[test]
fn a_directory_is_identified_as_a_store_would_keep_it() {
    let dir = tempfile::TempDir::new().unwrap();
    let store = Store::open(&dir.path().join("store")).unwrap();
    let tree = dir.path().join("tree");
    fs::create_dir_all(tree.join("a/empty")).unwrap();
    fs::write(tree.join("a/b"), "b").unwrap();
    fs::write(tree.join("c"), vec![1; 100_000]).unwrap();
    assert_eq!(
        identify_tree(&tree).unwrap(),
        store.add_tree(&tree).unwrap()
    );
    assert!(identify_tree(&tree.join("c")).is_err());
}
