use std::fs;
use std::os::unix::fs::symlink;

use super::FlushError;
use crate::Store;
use crate::store::blob_name;

#[test]
fn a_flush_that_failed_before_it_wrote_is_tried_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let hash = store.add_bytes(b"content").unwrap().hash;
    let path = dir.path().join("blobs").join(blob_name(hash));
    let aside = dir.path().join("aside");
    fs::rename(&path, &aside).unwrap();
    // It is not followed.
    symlink(&aside, &path).unwrap();
    for _ in 0..2 {
        let error = store.flush().unwrap_err();
        assert!(matches!(error, FlushError::Open { .. }), "{error}");
    }
    assert!(!store.is_broken());
    fs::rename(&aside, &path).unwrap();
    store.flush().unwrap();
    assert!(fs::metadata(&path).unwrap().permissions().readonly());
    // It is durable, so it may be evicted.
    assert_eq!(store.evict(model::Bytes(0)).unwrap().n_blobs, 1);
}
