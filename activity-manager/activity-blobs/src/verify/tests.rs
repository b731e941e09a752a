use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

use model::{Artifact, ArtifactKind, Bytes, Hash};

use super::{ALWAYS_VERIFIED_BYTES_MAX, Verified};
use crate::{Content, Item, Listing, PlaceError, Placement, Reader, Store};

struct Scene {
    dir: tempfile::TempDir,
    store: Store,
}

impl Scene {
    fn new() -> Scene {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("store")).unwrap();
        fs::create_dir(dir.path().join("work")).unwrap();
        Scene { dir, store }
    }

    fn blob(&self, hash: Hash) -> PathBuf {
        let name = hash.to_string();
        let blobs = self.dir.path().join("store/blobs");
        blobs.join(&name[..2]).join(name)
    }

    fn place(&self, artifact: Artifact, name: &str) -> Result<(), PlaceError> {
        let work = self.dir.path().join("work");
        self.store.place(artifact, &work, name, Placement::Copy)
    }

    /// A blob of so many bytes, nearly all of them in a hole.
    fn large(&self, bytes: u64) -> Artifact {
        let path = self.dir.path().join("large");
        let file = fs::File::create(&path).unwrap();
        file.set_len(bytes).unwrap();
        file.write_all_at(b"end", bytes - 3).unwrap();
        let artifact = self.store.add_file(&path).unwrap();
        self.store.flush().unwrap();
        artifact
    }
}

/// Changes one bit in the middle of a file.
fn flip(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
    let file = fs::File::options()
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    let middle = file.metadata().unwrap().len() / 2;
    let mut byte = [0];
    file.read_exact_at(&mut byte, middle).unwrap();
    file.write_all_at(&[byte[0] ^ 4], middle).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o444)).unwrap();
}

#[test]
fn a_flipped_bit_reaches_nobody_and_counts_as_gone() {
    for bytes in [1, 1_000, 64 << 10, (64 << 10) + 1, 3 << 20] {
        let scene = Scene::new();
        let content: Vec<u8> = (0..bytes).map(|at| (at % 251) as u8 + 1).collect();
        let blob = scene.store.add_bytes(&content).unwrap();
        scene.store.flush().unwrap();
        scene.place(blob, "sound").unwrap();
        flip(&scene.blob(blob.hash));
        let placed = scene.place(blob, "damaged");
        assert!(matches!(placed, Err(PlaceError::Missing { hash, .. }) if hash == blob.hash));
        assert!(!scene.dir.path().join("work/damaged").exists(), "{bytes}");
        assert!(!scene.store.contains(blob.hash));
        let aside = scene.dir.path().join("store/damaged");
        assert!(aside.join(blob.hash.to_string()).exists());
        // It may be received again.
        assert_eq!(scene.store.add_bytes(&content).unwrap(), blob);
        scene.place(blob, "again").unwrap();
        let again = fs::read(scene.dir.path().join("work/again")).unwrap();
        assert_eq!(again, content);
    }
}

#[test]
fn no_link_is_made_to_a_damaged_blob_and_nobody_is_given_it() {
    let scene = Scene::new();
    let blob = scene.store.add_bytes(&[7; 2 << 20]).unwrap();
    scene.store.flush().unwrap();
    flip(&scene.blob(blob.hash));
    let work = scene.dir.path().join("work");
    let linked = scene
        .store
        .place(blob, &work, "linked", Placement::ReadOnlyLink);
    assert!(matches!(linked, Err(PlaceError::Missing { .. })));
    let other = scene.store.add_bytes(&[8; 100_000]).unwrap();
    scene.store.open_sound(other.hash).unwrap();
    flip(&scene.blob(other.hash));
    scene.store.open_sound(other.hash).unwrap_err();
    assert!(!scene.store.contains(other.hash));
}

#[test]
fn an_export_does_not_replace_a_file_by_a_damaged_one() {
    let scene = Scene::new();
    let blob = scene.store.add_bytes(&[7; 100_000]).unwrap();
    let tree = Listing::new(vec![Item {
        path: "a".into(),
        content: Content::File(blob),
    }]);
    let tree = scene.store.add_listing(&tree.unwrap()).unwrap();
    scene.store.flush().unwrap();
    let out = scene.dir.path().join("out");
    scene.store.export(tree, &out).unwrap();
    flip(&scene.blob(blob.hash));
    // Another program may have the store open.
    let reader = Reader::open(&scene.dir.path().join("store")).unwrap();
    reader.export(tree, &out).unwrap_err();
    assert_eq!(fs::read(out.join("a")).unwrap(), [7; 100_000]);
    assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
    scene.store.export(tree, &out).unwrap_err();
    assert_eq!(fs::read(out.join("a")).unwrap(), [7; 100_000]);
}

#[test]
fn a_large_blob_is_hashed_again_where_its_inode_has_changed() {
    let scene = Scene::new();
    let bytes = ALWAYS_VERIFIED_BYTES_MAX + 1;
    let blob = scene.large(bytes);
    assert_eq!(blob.kind, ArtifactKind::File);
    let entry = scene.store.inner.index().get(blob.hash).unwrap();
    let needs_hash = || {
        let file = fs::File::open(scene.blob(blob.hash)).unwrap();
        let stamp = super::Stamp::of(&file).unwrap();
        scene.store.inner.needs_hash(blob.hash, entry, stamp)
    };
    // It was hashed while it was written.
    assert!(!needs_hash());
    scene.place(blob, "first").unwrap();
    assert!(!needs_hash());
    flip(&scene.blob(blob.hash));
    assert!(needs_hash());
    assert!(matches!(
        scene.place(blob, "second"),
        Err(PlaceError::Missing { .. })
    ));
}

#[test]
fn a_scrub_finds_large_blobs_that_are_damaged() {
    let scene = Scene::new();
    let small = scene.store.add_bytes(&[1; 100]).unwrap();
    let blob = scene.large(ALWAYS_VERIFIED_BYTES_MAX + 1);
    let next = scene.store.next_to_scrub(None);
    assert_eq!(next, Some((blob.hash, blob.bytes)));
    assert_eq!(scene.store.next_to_scrub(Some(blob.hash)), None);
    assert_eq!(scene.store.verify(blob.hash).unwrap(), Verified::Sound);
    let scrub = |goes_on| scene.store.scrub(blob.hash, &mut |_| goes_on).unwrap();
    assert_eq!(scrub(true), Some(Verified::Sound));
    flip(&scene.blob(blob.hash));
    assert_eq!(scrub(false), None);
    assert_eq!(scrub(true), Some(Verified::Damaged));
    assert_eq!(scrub(true), Some(Verified::Missing));
    assert_eq!(scene.store.size(), Bytes(100));
    assert!(scene.store.contains(small.hash));
}
