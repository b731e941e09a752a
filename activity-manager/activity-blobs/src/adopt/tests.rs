use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::PathBuf;

use model::{Artifact, ArtifactKind, Produced};

use crate::{ALWAYS_VERIFIED_BYTES_MAX, PlaceError, Placement, SMALL_BYTES_MAX, Store, Verified};

const LARGE_BYTES: usize = SMALL_BYTES_MAX + 1;

struct Scene {
    dir: tempfile::TempDir,
    store: Store,
}

impl Scene {
    /// A store without reflinks, as on most file systems, and a file that a command has left.
    fn new(content: &[u8]) -> Scene {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("store")).unwrap();
        store.inner.refuse_reflinks();
        let scene = Scene { dir, store };
        fs::create_dir(scene.path("work")).unwrap();
        fs::write(scene.left(), content).unwrap();
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn left(&self) -> PathBuf {
        self.path("work/left")
    }

    fn collect(&self) -> Artifact {
        let output = Produced {
            name: "out".into(),
            path: "left".into(),
        };
        let collected = self.store.collect(&self.path("work"), &[output]);
        collected.unwrap()[0]
    }

    fn blob(&self, artifact: Artifact) -> fs::Metadata {
        let name = artifact.hash.to_string();
        let path = self.path("store/blobs").join(&name[..2]).join(name);
        fs::metadata(path).unwrap()
    }

    fn place(&self, artifact: Artifact) -> Result<(), PlaceError> {
        let work = self.path("work");
        self.store.place(artifact, &work, "again", Placement::Copy)
    }
}

#[test]
fn a_large_output_is_not_written_again() {
    let content = vec![7; LARGE_BYTES];
    let scene = Scene::new(&content);
    fs::set_permissions(scene.left(), fs::Permissions::from_mode(0o666)).unwrap();
    let artifact = scene.collect();
    assert_eq!(scene.blob(artifact).permissions().mode() & 0o777, 0o400);
    scene.store.flush().unwrap();
    let left = fs::metadata(scene.left()).unwrap();
    assert_eq!(scene.blob(artifact).ino(), left.ino());
    assert_eq!(scene.blob(artifact).permissions().mode() & 0o777, 0o444);
    fs::remove_dir_all(scene.path("work")).unwrap();
    assert_eq!(scene.store.read(artifact.hash, 1 << 20).unwrap(), content);
    let reopened = scene.path("store");
    let Scene { dir, store } = scene;
    drop(store);
    let store = Store::open(&reopened).unwrap();
    assert_eq!(store.verify(artifact.hash).unwrap(), Verified::Sound);
    drop(dir);
}

#[test]
fn a_program_stays_one_however_often_it_is_collected() {
    let content = vec![7; LARGE_BYTES];
    let scene = Scene::new(&content);
    let program = fs::Permissions::from_mode(0o755);
    fs::set_permissions(scene.left(), program.clone()).unwrap();
    // A directory with another one, and a link to it that comes first in the listing.
    fs::create_dir(scene.path("work/all")).unwrap();
    fs::write(scene.path("work/all/tool"), &content).unwrap();
    fs::set_permissions(scene.path("work/all/tool"), program).unwrap();
    std::os::unix::fs::symlink("tool", scene.path("work/all/a-link")).unwrap();
    let all = Produced {
        name: "all".into(),
        path: "all/".into(),
    };
    for _ in 0..2 {
        let collected = scene
            .store
            .collect(&scene.path("work"), std::slice::from_ref(&all));
        let listing = scene.store.read(collected.unwrap()[0].hash, 1 << 20);
        let listing = String::from_utf8(listing.unwrap()).unwrap();
        let files: Vec<&str> = listing.lines().skip(1).collect();
        assert_eq!(files.len(), 2, "{listing}");
        assert!(files.iter().all(|line| line.starts_with("p ")), "{listing}");
        assert_eq!(scene.collect().kind, ArtifactKind::Program);
    }
    let mode = fs::metadata(scene.left()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
}

#[test]
fn an_output_with_another_name_is_copied() {
    let scene = Scene::new(&vec![7; LARGE_BYTES]);
    fs::hard_link(scene.left(), scene.path("other")).unwrap();
    let artifact = scene.collect();
    let left = fs::metadata(scene.left()).unwrap();
    assert_ne!(scene.blob(artifact).ino(), left.ino());
    assert_ne!(left.permissions().mode() & 0o777, 0o400);
}

#[test]
fn an_output_that_is_known_stays_what_it_was() {
    let scene = Scene::new(&vec![7; LARGE_BYTES]);
    let artifact = scene.store.add_bytes(&vec![7; LARGE_BYTES]).unwrap();
    let before = scene.blob(artifact).ino();
    assert_eq!(scene.collect(), artifact);
    assert_eq!(scene.blob(artifact).ino(), before);
    assert_eq!(fs::read_dir(scene.path("store/tmp")).unwrap().count(), 0);
}

#[test]
fn a_file_of_its_user_is_copied() {
    let scene = Scene::new(&vec![7; LARGE_BYTES]);
    let mode = fs::metadata(scene.left()).unwrap().permissions().mode();
    let artifact = scene.store.add_file(&scene.left()).unwrap();
    let left = fs::metadata(scene.left()).unwrap();
    assert_ne!(scene.blob(artifact).ino(), left.ino());
    assert_eq!(left.permissions().mode(), mode);
}

/// Bytes written after a file was hashed, by somebody who had it open.
fn written_late(when: impl Fn(&Scene, &fs::File)) {
    let scene = Scene::new(b"");
    let writer = fs::File::options().write(true).open(scene.left()).unwrap();
    writer.set_len(ALWAYS_VERIFIED_BYTES_MAX + 1).unwrap();
    let artifact = scene.collect();
    assert_eq!(scene.blob(artifact).ino(), writer.metadata().unwrap().ino());
    when(&scene, &writer);
    let placed = scene.place(artifact);
    assert!(
        matches!(placed, Err(PlaceError::Missing { .. })),
        "{placed:?}"
    );
}

#[test]
fn a_write_after_the_hash_is_found_before_and_after_the_flush() {
    let write = |writer: &fs::File| {
        // Later than the times of the file, whatever the clock of the file system counts in.
        let began = writer.metadata().unwrap().modified().unwrap();
        while writer.metadata().unwrap().modified().unwrap() == began {
            writer.write_all_at(b"late", 0).unwrap();
        }
    };
    written_late(|scene, writer| {
        write(writer);
        scene.store.flush().unwrap();
    });
    written_late(|scene, writer| {
        scene.store.flush().unwrap();
        write(writer);
    });
}
