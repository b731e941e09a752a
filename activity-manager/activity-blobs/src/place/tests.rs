use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use model::{Artifact, ArtifactKind, Bytes, Hash};
use proptest::prelude::*;

use super::{LINKED_BYTES_MIN, PlaceError, Placement};
use crate::{AddError, Content, Item, Listing, Store};

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

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn place(&self, artifact: Artifact, path: &str) -> Result<(), PlaceError> {
        self.store
            .place(artifact, &self.path("work"), path, Placement::Copy)
    }

    fn tree(&self, items: &[(&str, Artifact)]) -> Artifact {
        let items = items
            .iter()
            .map(|(path, file)| Item {
                path: (*path).into(),
                content: Content::File(*file),
            })
            .collect();
        self.store
            .add_listing(&Listing::new(items).unwrap())
            .unwrap()
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_placed_copy_is_its_own_file() {
    let scene = Scene::new();
    let large = vec![1; 200_000];
    for content in [b"small".as_slice(), &large, b""] {
        let blob = scene.store.add_bytes(content).unwrap();
        let name = format!("a/b {}/c", content.len());
        scene.place(blob, &name).unwrap();
        let placed = scene.path("work").join(&name);
        assert_eq!(fs::read(&placed).unwrap(), content);
        fs::write(&placed, "changed").unwrap();
        assert_eq!(scene.store.read(blob.hash, 1 << 20).unwrap(), content);
        assert!(matches!(
            scene.place(blob, &name),
            Err(PlaceError::Exists { .. })
        ));
        assert_eq!(fs::read(&placed).unwrap(), b"changed");
    }
}

#[test]
fn programs_stay_programs_and_share_their_blob_with_files() {
    let scene = Scene::new();
    let source = scene.path("run.sh");
    fs::write(&source, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&source, fs::Permissions::from_mode(0o755)).unwrap();
    let program = scene.store.add_file(&source).unwrap();
    let file = scene.store.add_bytes(b"#!/bin/sh\n").unwrap();
    assert_eq!(
        (program.kind, file.kind),
        (ArtifactKind::Program, ArtifactKind::File)
    );
    assert_eq!((program.hash, scene.store.n_blobs()), (file.hash, 1));
    scene.place(program, "program").unwrap();
    scene.place(file, "file").unwrap();
    scene
        .place(scene.tree(&[("bin/p", program), ("bin/f", file)]), "tree/")
        .unwrap();
    for (path, is_program) in [
        ("program", true),
        ("file", false),
        ("tree/bin/p", true),
        ("tree/bin/f", false),
    ] {
        assert_eq!(
            mode(&scene.path("work").join(path)) & 0o100 != 0,
            is_program,
            "{path}"
        );
    }
}

#[test]
fn a_read_only_link_is_the_blob_itself_flushed_or_not() {
    let scene = Scene::new();
    let whole = vec![7; LINKED_BYTES_MIN as usize];
    let blob = scene.store.add_bytes(&whole).unwrap();
    let small = scene.store.add_bytes(&whole[1..]).unwrap();
    let link = |name: &str, artifact| {
        let work = scene.path("work");
        scene
            .store
            .place(artifact, &work, name, Placement::ReadOnlyLink)
            .unwrap();
        fs::metadata(work.join(name)).unwrap().nlink()
    };
    assert_eq!(link("early", blob), 2);
    assert_eq!(mode(&scene.path("work/early")), 0o404);
    scene.store.flush().unwrap();
    assert_eq!(link("late", blob), 3);
    assert_eq!(link("small", small), 1);
    assert_eq!(mode(&scene.path("work/late")), 0o444);
    assert_eq!(
        link(
            "program",
            Artifact {
                kind: ArtifactKind::Program,
                ..blob
            }
        ),
        1
    );
}

#[test]
fn nothing_is_laid_outside() {
    let scene = Scene::new();
    let blob = scene.store.add_bytes(b"x").unwrap();
    for path in [
        "",
        "/etc/x",
        "../x",
        "a/../../x",
        "a//x",
        "./x",
        "x/",
        "a/\0",
    ] {
        let placed = scene.place(blob, path);
        assert!(
            matches!(placed, Err(PlaceError::Path { .. })),
            "{path}: {placed:?}"
        );
    }
    fs::create_dir(scene.path("outside")).unwrap();
    symlink("../outside", scene.path("work/link")).unwrap();
    symlink("../outside/new", scene.path("work/dangling")).unwrap();
    assert!(matches!(
        scene.place(blob, "link/x"),
        Err(PlaceError::Link { .. })
    ));
    assert!(matches!(
        scene.place(blob, "dangling"),
        Err(PlaceError::Exists { .. })
    ));
    let tree = scene.tree(&[("link/x", blob)]);
    assert!(matches!(
        scene.place(tree, ""),
        Err(PlaceError::Link { .. })
    ));
    assert_eq!(fs::read_dir(scene.path("outside")).unwrap().count(), 0);
}

#[test]
fn trees_are_laid_into_what_is_there_but_over_nothing() {
    let scene = Scene::new();
    let blob = scene.store.add_bytes(b"x").unwrap();
    let one = scene.tree(&[("parts/1", blob)]);
    let two = scene.tree(&[("parts/2", blob)]);
    scene.place(one, "in/").unwrap();
    scene.place(two, "in").unwrap();
    assert!(scene.path("work/in/parts/1").exists() && scene.path("work/in/parts/2").exists());
    assert!(matches!(
        scene.place(two, "in"),
        Err(PlaceError::Exists { .. })
    ));
    scene.place(two, "").unwrap();
    assert!(scene.path("work/parts/2").exists());

    let away = Artifact {
        hash: Hash([3; 32]),
        bytes: Bytes(1),
        kind: ArtifactKind::File,
    };
    let part = scene.tree(&[("a", blob), ("b", away)]);
    let placed = scene.place(part, "part/");
    assert!(matches!(placed, Err(PlaceError::Missing { hash, .. }) if hash == away.hash));
    let placed = scene.place(
        Artifact {
            kind: ArtifactKind::Directory,
            ..away
        },
        "whole/",
    );
    assert!(matches!(placed, Err(PlaceError::Missing { hash, .. }) if hash == away.hash));
    let placed = scene.place(
        Artifact {
            kind: ArtifactKind::Directory,
            ..blob
        },
        "odd/",
    );
    assert!(matches!(placed, Err(PlaceError::Listing { .. })));
}

#[test]
fn an_export_replaces_files_and_leaves_the_others() {
    let scene = Scene::new();
    let blob = scene.store.add_bytes(b"result").unwrap();
    let dest = scene.path("results/deep/out.txt");
    scene.store.export(blob, &dest).unwrap();
    fs::write(&dest, "edited").unwrap();
    scene.store.export(blob, &dest).unwrap();
    assert_eq!(fs::read(&dest).unwrap(), b"result");

    let tree = scene.tree(&[("out.txt", blob), ("more/x", blob)]);
    let results = scene.path("results/deep");
    fs::write(&dest, "edited").unwrap();
    fs::write(results.join("mine"), "mine").unwrap();
    scene.store.export(tree, &results).unwrap();
    assert_eq!(fs::read(&dest).unwrap(), b"result");
    assert_eq!(fs::read(results.join("more/x")).unwrap(), b"result");
    assert_eq!(fs::read(results.join("mine")).unwrap(), b"mine");
    let names = fs::read_dir(&results).unwrap().count();
    assert_eq!(names, 3, "nothing is left of the replacing");
    assert!(
        scene.store.export(blob, &results).is_err(),
        "a file does not replace a directory"
    );
    assert_eq!(fs::read_dir(scene.path("results")).unwrap().count(), 1);
}

#[test]
fn drafts_that_killed_programs_of_this_number_left_behind_are_passed_over() {
    let scene = Scene::new();
    let blob = scene.store.add_bytes(b"result").unwrap();
    let dest = scene.path("results/out.txt");
    scene.store.export(blob, &dest).unwrap();
    let left = |number: u32| format!("results/.xavantes-{}-{number}", std::process::id());
    for number in 0..1_000 {
        fs::write(scene.path(&left(number)), "half").unwrap();
    }
    fs::write(&dest, "edited").unwrap();
    scene.store.export(blob, &dest).unwrap();
    assert_eq!(fs::read(&dest).unwrap(), b"result");
    let halves = fs::read_dir(scene.path("results")).unwrap().count() - 1;
    assert_eq!(halves, 1_000, "nothing of others is touched");
}

#[test]
fn only_files_are_added() {
    let scene = Scene::new();
    let add = |name: &str| scene.store.add_file(&scene.path(name)).unwrap_err();
    assert!(matches!(add("work"), AddError::NotAFile { .. }));
    assert!(matches!(add("nothing"), AddError::Open { .. }));
    let null = scene.store.add_file(Path::new("/dev/null")).unwrap_err();
    assert!(matches!(null, AddError::Special { .. }));
    fs::write(scene.path("file"), "x").unwrap();
    let tree = scene.store.add_tree(&scene.path("file")).unwrap_err();
    assert!(matches!(tree, AddError::NotADirectory { .. }));
}

/// A tree as text: paths with content and permission to execute, or empty directories.
type Tree = BTreeMap<String, Option<(Vec<u8>, bool)>>;

fn tree_of(path: &Path, below: &str, tree: &mut Tree) {
    let mut is_empty = true;
    for entry in fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        is_empty = false;
        let name = entry.file_name().into_string().unwrap();
        let name = if below.is_empty() {
            name
        } else {
            format!("{below}/{name}")
        };
        if entry.file_type().unwrap().is_dir() {
            tree_of(&entry.path(), &name, tree);
        } else {
            let is_program = mode(&entry.path()) & 0o100 != 0;
            tree.insert(name, Some((fs::read(entry.path()).unwrap(), is_program)));
        }
    }
    if is_empty && !below.is_empty() {
        tree.insert(below.into(), None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_tree_comes_back_as_it_was(
        files in proptest::collection::btree_map(
            "([ab ü日]|\\\\|\n|-|\\*){1,3}(/[a-b .]{2,3}c){0,6}",
            (0_usize..5, any::<bool>()),
            0..10,
        )
    ) {
        let scene = Scene::new();
        let source = scene.path("source");
        fs::create_dir(&source).unwrap();
        for (path, (size, is_program)) in &files {
            let path = source.join(path);
            // Paths that need a file to be a directory are left out.
            if path.parent().is_some_and(|parent| fs::create_dir_all(parent).is_err())
                || path.is_dir()
            {
                continue;
            }
            if *size == 0 {
                fs::create_dir(&path).unwrap();
                continue;
            }
            fs::write(&path, vec![*size as u8; [1, 2, 65_536, 65_537][size - 1]]).unwrap();
            let mode = if *is_program { 0o755 } else { 0o644 };
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let (mut before, mut after, mut exported) = (Tree::new(), Tree::new(), Tree::new());
        tree_of(&source, "", &mut before);
        let artifact = scene.store.add_tree(&source).unwrap();
        scene.place(artifact, "deep/down/").unwrap();
        tree_of(&scene.path("work/deep/down"), "", &mut after);
        prop_assert_eq!(&before, &after);
        scene.store.export(artifact, &scene.path("exported")).unwrap();
        tree_of(&scene.path("exported"), "", &mut exported);
        prop_assert_eq!(&before, &exported);
        prop_assert_eq!(scene.store.add_tree(&scene.path("work/deep/down")).unwrap(), artifact);
    }
}
