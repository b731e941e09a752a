use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Barrier;

use model::{Artifact, ArtifactKind, Bytes, Hash};

use super::{OpenError, blob_name, is_full};
use crate::{Content, Item, Listing, ReadError, Store, Verified};

fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("store")).unwrap();
    (dir, store)
}

fn blob_path(store: &Store, hash: Hash) -> PathBuf {
    store.dir().join("blobs").join(blob_name(hash))
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn overwrite(path: &Path, content: &[u8]) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o444)).unwrap();
}

fn n_in(path: &Path) -> usize {
    fs::read_dir(path).unwrap().count()
}

#[test]
fn a_blob_is_named_by_its_hash_and_sealed_by_a_flush() {
    let (_dir, store) = store();
    let artifact = store.add_bytes(b"abc").unwrap();
    let name = "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85";
    assert_eq!(artifact.hash.to_string(), name);
    let path = store.dir().join("blobs/64").join(name);
    assert_eq!(mode(&path), 0o400);
    store.flush().unwrap();
    assert_eq!(mode(&path), 0o444);
    assert_eq!(store.read(artifact.hash, 3).unwrap(), b"abc");
    assert!(matches!(
        store.read(artifact.hash, 2),
        Err(ReadError::TooLarge { bytes: 3, .. })
    ));
    assert_eq!((store.size(), store.n_blobs()), (Bytes(3), 1));
    assert_eq!(store.verify(artifact.hash).unwrap(), Verified::Sound);
    assert_eq!(n_in(&store.dir().join("tmp")), 0);
}

#[test]
fn many_blobs_are_sealed_by_one_flush_and_again_by_the_next() {
    let (_dir, store) = store();
    for round in 0..2 {
        let added: Vec<Artifact> = (0..20)
            .map(|n| store.add_bytes(format!("{round} {n}").as_bytes()).unwrap())
            .collect();
        store.flush().unwrap();
        assert!(
            added
                .iter()
                .all(|blob| mode(&blob_path(&store, blob.hash)) == 0o444)
        );
    }
    store.flush().unwrap();
}

#[test]
fn the_same_content_from_eight_threads_is_one_blob() {
    let (dir, store) = store();
    let large = vec![7; 300_000];
    let file = dir.path().join("large");
    fs::write(&file, &large).unwrap();
    let start = Barrier::new(8);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (store, file, start, large) = (store.clone(), &file, &start, &large);
            scope.spawn(move || {
                start.wait();
                for n in 0..20 {
                    let small = store.add_bytes(format!("small {n}").as_bytes()).unwrap();
                    let big = store.add_file(file).unwrap();
                    if thread % 2 == 0 && n % 5 == 0 {
                        store.flush().unwrap();
                    }
                    assert_eq!(
                        store.read(small.hash, 100).unwrap().len(),
                        small.bytes.0 as usize
                    );
                    assert_eq!(&store.read(big.hash, 1 << 20).unwrap(), large);
                }
            });
        }
    });
    store.flush().unwrap();
    assert_eq!(store.n_blobs(), 21);
    assert_eq!(n_in(&store.dir().join("tmp")), 0);
    for n in 0..20 {
        let blob = store.add_bytes(format!("small {n}").as_bytes()).unwrap();
        assert_eq!(mode(&blob_path(&store, blob.hash)), 0o444);
    }
}

#[test]
fn an_interrupted_epoch_leaves_whole_blobs_only() {
    let (dir, store) = store();
    let sealed = store.add_bytes(b"sealed").unwrap();
    store.flush().unwrap();
    let whole = store.add_bytes(b"whole but not flushed").unwrap();
    let torn = store.add_bytes(b"torn by a loss of power").unwrap();
    let lost = store.add_bytes(b"empty after a loss of power").unwrap();
    let path = store.dir().to_path_buf();
    drop(store);
    for (blob, len) in [(torn, 5), (lost, 0)] {
        let name = path.join("blobs").join(blob_name(blob.hash));
        fs::set_permissions(&name, fs::Permissions::from_mode(0o600)).unwrap();
        fs::File::options()
            .write(true)
            .open(&name)
            .unwrap()
            .set_len(len)
            .unwrap();
        fs::set_permissions(&name, fs::Permissions::from_mode(0o400)).unwrap();
    }
    fs::write(path.join("tmp/17"), b"was being written").unwrap();
    fs::write(path.join("blobs/notes.txt"), b"somebody else's").unwrap();

    let store = Store::open(&dir.path().join("store")).unwrap();
    assert_eq!(n_in(&path.join("tmp")), 0);
    assert_eq!(store.n_blobs(), 2);
    assert_eq!(store.read(sealed.hash, 100).unwrap(), b"sealed");
    assert_eq!(
        store.read(whole.hash, 100).unwrap(),
        b"whole but not flushed"
    );
    assert!(!store.contains(torn.hash) && !store.contains(lost.hash));
    assert_eq!(store.add_bytes(b"torn by a loss of power").unwrap(), torn);
    store.flush().unwrap();
    for blob in [sealed, whole, torn] {
        assert_eq!(mode(&blob_path(&store, blob.hash)), 0o444);
    }
}

#[test]
fn an_unsealed_blob_that_the_disk_cannot_read_is_moved_aside_at_the_opening() {
    let (dir, store) = store();
    let kept = store.add_bytes(b"kept").unwrap().hash;
    let unreadable = store.add_bytes(b"unreadable").unwrap().hash;
    let path = blob_path(&store, unreadable);
    drop(store);
    fs::remove_file(&path).unwrap();
    // Its first page is not mapped: to read it is an error of input and output.
    std::os::unix::fs::symlink("/proc/self/mem", &path).unwrap();
    let store = Store::open(&dir.path().join("store")).unwrap();
    assert!(store.contains(kept) && !store.contains(unreadable));
    let aside = store.dir().join("damaged").join(unreadable.to_string());
    assert!(aside.is_symlink());
}

#[test]
fn a_store_is_open_once() {
    let (dir, store) = store();
    let path = dir.path().join("store");
    assert!(matches!(Store::open(&path), Err(OpenError::InUse { path: named }) if named == path));
    drop(store);
    Store::open(&path).unwrap();
}

#[test]
fn a_damaged_blob_is_moved_aside_and_missing() {
    let (_dir, store) = store();
    let flipped = store.add_bytes(b"flipped").unwrap();
    let also = store.add_bytes(b"read flipped").unwrap();
    let short = store.add_bytes(b"shortened").unwrap();
    let gone = store.add_bytes(b"gone").unwrap();
    store.flush().unwrap();
    overwrite(&blob_path(&store, flipped.hash), b"fl1pped");
    overwrite(&blob_path(&store, also.hash), b"read fl1pped");
    overwrite(&blob_path(&store, short.hash), b"short");
    fs::remove_file(blob_path(&store, gone.hash)).unwrap();

    assert_eq!(store.verify(flipped.hash).unwrap(), Verified::Damaged);
    assert_eq!(store.verify(flipped.hash).unwrap(), Verified::Missing);
    assert!(matches!(
        store.read(also.hash, 99),
        Err(ReadError::Missing { .. })
    ));
    assert_eq!(
        fs::read(store.dir().join(format!("damaged/{}", also.hash)))
            .unwrap()
            .len(),
        12
    );
    // An add repairs damage that the size reveals.
    assert_eq!(store.add_bytes(b"shortened").unwrap(), short);
    assert_eq!(store.add_bytes(b"gone").unwrap(), gone);
    store.flush().unwrap();
    assert_eq!(store.read(short.hash, 99).unwrap(), b"shortened");
    assert_eq!(store.read(gone.hash, 99).unwrap(), b"gone");
    assert_eq!(store.n_blobs(), 2);
}

#[test]
fn eviction_takes_the_least_recently_used_and_leaves_what_is_needed() {
    let (dir, store) = store();
    let blobs: Vec<Artifact> = (0..6)
        .map(|n| store.add_bytes(format!("content {n}").as_bytes()).unwrap())
        .collect();
    let has = |store: &Store| {
        blobs
            .iter()
            .map(|blob| if store.contains(blob.hash) { 'x' } else { '-' })
            .collect::<String>()
    };
    assert_eq!(
        store.evict(Bytes(0)).unwrap().n_blobs,
        0,
        "nothing is flushed"
    );
    store.flush().unwrap();

    let tree = Listing::new(vec![
        Item {
            path: "a/b".into(),
            content: Content::File(blobs[1]),
        },
        Item {
            path: "c".into(),
            content: Content::EmptyDirectory,
        },
    ]);
    let tree = store.add_listing(&tree.unwrap()).unwrap();
    assert_eq!((tree.bytes, tree.kind), (Bytes(9), ArtifactKind::Directory));
    store.flush().unwrap();
    store.pin(1, &[tree]).unwrap();
    store.pin(2, &[blobs[2]]).unwrap();
    store.read(blobs[0].hash, 99).unwrap();

    let evicted = store.evict(Bytes(store.size().0 - 10)).unwrap();
    assert_eq!(
        (evicted.n_blobs, evicted.bytes, evicted.bytes_left),
        (2, Bytes(18), store.size())
    );
    assert_eq!(has(&store), "xxx--x");
    let hold = store.hold();
    store.read(blobs[5].hash, 99).unwrap();
    assert_eq!(store.evict(Bytes(0)).unwrap().n_blobs, 1);
    assert_eq!(has(&store), "-xx--x");
    drop(hold);
    store.unpin(2);
    assert_eq!(store.evict(Bytes(0)).unwrap().n_blobs, 2);
    assert_eq!(has(&store), "-x----");
    assert_eq!(store.missing(tree).unwrap(), []);
    store.replace_pins(1, &[blobs[0]]).unwrap();
    assert_eq!(store.evict(Bytes(0)).unwrap().bytes_left, Bytes(0));
    assert_eq!(n_in(&store.dir().join("tmp")), 0);

    // The order survives the store, approximately: by the times of the files.
    let old = store.add_bytes(b"old").unwrap();
    let young = store.add_bytes(b"young").unwrap();
    store.flush().unwrap();
    let long_ago = std::time::SystemTime::UNIX_EPOCH;
    fs::File::open(blob_path(&store, young.hash))
        .unwrap()
        .set_modified(long_ago)
        .unwrap();
    drop(store);
    let store = Store::open(&dir.path().join("store")).unwrap();
    store.evict(Bytes(4)).unwrap();
    assert!(store.contains(old.hash) && !store.contains(young.hash));
}

#[test]
fn missing_blobs_of_a_tree_are_reported() {
    let (_dir, store) = store();
    let here = store.add_bytes(b"here").unwrap();
    let away = Artifact {
        hash: Hash([9; 32]),
        bytes: Bytes(1),
        kind: ArtifactKind::File,
    };
    let items = [("x", here), ("y", away), ("z", away)].map(|(path, file)| Item {
        path: path.into(),
        content: Content::File(file),
    });
    let tree = store
        .add_listing(&Listing::new(items.to_vec()).unwrap())
        .unwrap();
    assert_eq!(store.missing(tree).unwrap(), [away.hash]);
    assert_eq!(store.missing(away).unwrap(), [away.hash]);
    assert_eq!(store.missing(here).unwrap(), []);
    let not_a_tree = Artifact {
        kind: ArtifactKind::Directory,
        ..here
    };
    assert!(matches!(
        store.missing(not_a_tree),
        Err(ReadError::Listing { .. })
    ));
}

#[test]
fn a_full_disk_is_told_from_other_failures() {
    let error = |code| std::io::Error::from_raw_os_error(code);
    let [no_space, over_quota, no_access] = [28, 122, 13].map(error);
    assert!(is_full(&no_space) && is_full(&over_quota) && !is_full(&no_access));
}
