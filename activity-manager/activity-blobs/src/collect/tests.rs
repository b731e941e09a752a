use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use model::{Artifact, ArtifactKind, Bytes, Produced};

use super::{CollectError, CollectLimits};
use crate::{AddError, Content, Store};

struct Scene {
    dir: tempfile::TempDir,
    store: Store,
}

impl Scene {
    fn new(files: &[&str]) -> Scene {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("store")).unwrap();
        let scene = Scene { dir, store };
        fs::create_dir(scene.path("work")).unwrap();
        for file in files {
            let path = scene.path("work").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, file).unwrap();
        }
        scene
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }

    fn link(&self, target: impl AsRef<Path>, name: &str) {
        symlink(target, self.path("work").join(name)).unwrap();
    }

    fn collect(&self, path: &str) -> Result<Artifact, CollectError> {
        let output = Produced {
            name: "out".into(),
            path: path.into(),
        };
        let collected = self.store.collect(&self.path("work"), &[output])?;
        assert_eq!(collected.len(), 1);
        Ok(collected[0])
    }

    /// The listing of a directory, a word for each path; with the content where it differs from the
    /// path.
    fn listed(&self, path: &str) -> String {
        let artifact = self.collect(path).unwrap();
        assert_eq!(artifact.kind, ArtifactKind::Directory);
        let listing = self.store.listing(artifact.hash).unwrap();
        assert_eq!(listing.bytes(), artifact.bytes);
        let words: Vec<String> = listing
            .items()
            .iter()
            .map(|item| match item.content {
                Content::EmptyDirectory => format!("{}/", item.path),
                Content::File(file) => {
                    let said = self.store.read(file.hash, 1000).unwrap();
                    let said = String::from_utf8(said).unwrap();
                    let sign = if file.kind == ArtifactKind::Program {
                        "!"
                    } else {
                        ""
                    };
                    if said == item.path {
                        format!("{said}{sign}")
                    } else {
                        format!("{}={said}{sign}", item.path)
                    }
                }
            })
            .collect();
        words.join(" ")
    }

    fn refused(&self, path: &str) -> String {
        let error = self.collect(path).unwrap_err();
        match std::error::Error::source(&error) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        }
    }
}

#[test]
fn files_directories_and_programs_in_their_order() {
    let scene = Scene::new(&["a.txt", "out/z", "out/deep/er/y", "tool"]);
    fs::create_dir_all(scene.path("work/out/nothing/in")).unwrap();
    let tool = scene.path("work/tool");
    fs::set_permissions(tool, fs::Permissions::from_mode(0o755)).unwrap();
    let outputs = ["tool", "out/", "a.txt"].map(|path| Produced {
        name: path.into(),
        path: path.into(),
    });
    let collected = scene.store.collect(&scene.path("work"), &outputs).unwrap();
    assert_eq!(
        collected
            .iter()
            .map(|artifact| (artifact.kind, artifact.bytes))
            .collect::<Vec<_>>(),
        [
            (ArtifactKind::Program, Bytes(4)),
            (ArtifactKind::Directory, Bytes(18)),
            (ArtifactKind::File, Bytes(5)),
        ]
    );
    assert_eq!(
        scene.listed("out/"),
        "deep/er/y=out/deep/er/y nothing/in/ z=out/z"
    );
    fs::create_dir(scene.path("work/bare")).unwrap();
    assert_eq!(scene.listed("bare/"), "");
    assert_eq!(
        scene.store.add_tree(&scene.path("work/out")).unwrap(),
        collected[1]
    );
}

#[test]
fn globs_find_files_and_name_them_below_their_fixed_part() {
    let scene = Scene::new(&[
        "b.txt", "a.txt", "c.csv", ".hid.txt", "s/d.txt", "s/t/x", "s/t/u/x", "x", "r-1/o",
        "r-2/p/o",
    ]);
    scene.link("a.txt", "link.txt");
    scene.link("s", "dirlink");
    scene.link("/etc/passwd", "unasked");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        scene.path("work/pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    assert_eq!(scene.listed("*.txt"), ".hid.txt a.txt b.txt link.txt=a.txt");
    assert_eq!(scene.listed("?.txt"), "a.txt b.txt");
    assert_eq!(scene.listed("[bc].*"), "b.txt c.csv");
    assert_eq!(scene.listed("*.{csv,tsv}"), "c.csv");
    assert_eq!(scene.listed("**/x"), "s/t/u/x s/t/x x");
    assert_eq!(scene.listed("s/**/x"), "t/u/x=s/t/u/x t/x=s/t/x");
    assert_eq!(scene.listed("s/t/*"), "x=s/t/x");
    assert_eq!(scene.listed("*/*/x"), "s/t/x");
    assert_eq!(scene.listed("dirlink/*.txt"), "d.txt=s/d.txt");
    assert_eq!(scene.listed("r-*/"), "r-1/o r-2/p/o");
    assert_eq!(
        scene.refused("una*"),
        "could not collect output `out`: could not add `unasked`: it leads out of its directory"
    );
    assert_eq!(
        scene.refused("pip?"),
        "could not collect output `out`: could not add `pipe`: it is neither a file nor a directory"
    );
    for nothing in ["*.md", "none/*", "a.txt/*", "s/*/nothing"] {
        assert!(
            matches!(scene.collect(nothing), Err(CollectError::Missing { .. })),
            "{nothing}"
        );
    }
    assert!(matches!(
        scene.collect("[z-a]"),
        Err(CollectError::Pattern { .. })
    ));
    for outside in ["../*", "/etc/*", "s/../*"] {
        assert!(
            matches!(scene.collect(outside), Err(CollectError::Path { .. })),
            "{outside}"
        );
    }
}

#[test]
fn missing_or_differently_declared_outputs_are_reported() {
    let scene = Scene::new(&["file", "dir/x"]);
    assert_eq!(
        scene.refused("nothing"),
        "output `out` is missing: there is no `nothing`"
    );
    assert_eq!(
        scene.refused("nothing/"),
        "output `out` is missing: there is no `nothing/`"
    );
    assert_eq!(
        scene.refused("file/x"),
        "output `out` is missing: there is no `file/x`"
    );
    assert_eq!(
        scene.refused("file/"),
        "output `out` is declared as a directory, but `file` is a file"
    );
    assert_eq!(
        scene.refused("dir"),
        "output `out` is declared as a file, but `dir` is a directory (declare `dir/`)"
    );
    for outside in [
        "../work/file",
        "/etc/passwd",
        "dir/../../x",
        "",
        "/",
        "./file",
        "dir//x",
    ] {
        assert!(
            matches!(scene.collect(outside), Err(CollectError::Path { .. })),
            "{outside}"
        );
    }
    let gone = scene.store.collect(&scene.path("gone"), &[]).unwrap();
    assert_eq!(gone, []);
    let output = Produced {
        name: "out".into(),
        path: "file".into(),
    };
    let failed = scene.store.collect(&scene.path("gone"), &[output]);
    assert!(matches!(failed, Err(CollectError::Open { .. })));
}

#[test]
fn links_are_resolved_inside_and_refused_outside() {
    let scene = Scene::new(&["data/real", "out/own"]);
    fs::write(scene.path("secret"), "secret").unwrap();
    fs::create_dir(scene.path("vault")).unwrap();
    fs::write(scene.path("vault/x"), "secret").unwrap();
    scene.link("../data/real", "out/near");
    scene.link(scene.path("work/data/real"), "out/absolute");
    scene.link("../data", "out/whole");
    scene.link("out", "alias");
    let wanted = "absolute=data/real near=data/real own=out/own whole/real=data/real";
    assert_eq!(scene.listed("out/"), wanted);
    assert_eq!(scene.listed("alias/"), wanted);
    assert_eq!(scene.collect("alias/near").unwrap().bytes, Bytes(9));

    let outside = |path: &str| {
        let error = scene.collect(path).unwrap_err();
        let CollectError::Add {
            source: AddError::Outside { .. },
            ..
        } = error
        else {
            panic!("{path}: {error:?}")
        };
    };
    scene.link("../secret", "escape");
    scene.link(scene.path("secret"), "absolute-escape");
    scene.link("../vault", "vault");
    scene.link("escape", "twice");
    for path in [
        "escape",
        "absolute-escape",
        "vault/",
        "vault/x",
        "twice",
        "vault/*",
    ] {
        outside(path);
    }
    scene.link("../../secret", "data/escape");
    outside("data/");
    fs::remove_file(scene.path("work/data/escape")).unwrap();

    scene.link("nowhere", "dangling");
    assert!(matches!(
        scene.collect("dangling"),
        Err(CollectError::Missing { .. })
    ));
    scene.link(".", "data/self");
    let refused = scene.refused("data/");
    assert_eq!(
        refused,
        "could not collect output `out`: could not add `data`: a link leads back to it"
    );
    scene.link("self", "self");
    assert!(scene.collect("self").is_err());
}

#[test]
fn a_tree_without_end_is_refused() {
    let scene = Scene::new(&[]);
    let mut path = scene.path("work/out");
    for _ in 0..130 {
        path.push("d");
    }
    fs::create_dir_all(&path).unwrap();
    let error = scene.collect("out/").unwrap_err();
    assert!(
        matches!(
            error,
            CollectError::Add {
                source: AddError::TooDeep { .. },
                ..
            }
        ),
        "{error:?}"
    );
}

#[test]
fn a_name_that_is_no_text_is_refused() {
    use std::os::unix::ffi::OsStrExt;
    let scene = Scene::new(&["out/fine"]);
    let name = std::ffi::OsStr::from_bytes(b"out/\xff");
    fs::write(scene.path("work").join(name), "x").unwrap();
    let error = scene.collect("out/").unwrap_err();
    assert!(
        matches!(
            error,
            CollectError::Add {
                source: AddError::Name { .. },
                ..
            }
        ),
        "{error:?}"
    );
}

#[test]
fn files_of_other_users_are_refused_if_owners_are_given() {
    use std::collections::BTreeSet;
    use std::os::unix::fs::MetadataExt;

    let scene = Scene::new(&["own", "below/foreign"]);
    let me = fs::metadata(scene.path("work")).unwrap().uid();
    let of = |owner: u32, path: &str| {
        let output = Produced {
            name: "out".into(),
            path: path.into(),
        };
        let owners = BTreeSet::from([owner]);
        let work = scene.path("work");
        scene
            .store
            .collect_within(&owners, CollectLimits::NONE, &work, &[output])
    };
    for path in ["own", "below/", "*"] {
        of(me, path).unwrap();
        let refused = of(me + 1, path).unwrap_err();
        let source = std::error::Error::source(&refused).unwrap().to_string();
        assert!(
            source.contains("does not belong to the account"),
            "{source}"
        );
    }
}

#[test]
fn a_placed_link_is_collected_as_the_blob_that_it_is_whoever_the_command_was() {
    use std::collections::BTreeSet;
    use std::os::unix::fs::MetadataExt;

    use crate::{LINKED_BYTES_MIN, Placement};

    let scene = Scene::new(&["other"]);
    let blob = scene
        .store
        .add_bytes(&vec![7; LINKED_BYTES_MIN as usize])
        .unwrap();
    scene.store.flush().unwrap();
    let work = scene.path("work");
    let placed = scene
        .store
        .place(blob, &work, "in", Placement::ReadOnlyLink);
    placed.unwrap();
    let me = fs::metadata(&work).unwrap().uid();
    let of_another = |path: &str| {
        let output = Produced {
            name: "out".into(),
            path: path.into(),
        };
        let owners = BTreeSet::from([me + 1]);
        let limits = CollectLimits::NONE;
        scene
            .store
            .collect_within(&owners, limits, &work, &[output])
    };
    assert_eq!(of_another("in").unwrap()[0].hash, blob.hash);
    // Nothing was copied for it, and nothing but a link is taken.
    assert_eq!(fs::metadata(work.join("in")).unwrap().nlink(), 2);
    fs::set_permissions(work.join("other"), fs::Permissions::from_mode(0o444)).unwrap();
    of_another("other").unwrap_err();
    // A link that does not match is no blob.
    let outside = scene.path("outside");
    fs::write(&outside, vec![8; 2 * LINKED_BYTES_MIN as usize]).unwrap();
    fs::set_permissions(&outside, fs::Permissions::from_mode(0o444)).unwrap();
    fs::hard_link(&outside, work.join("foreign")).unwrap();
    let taken = of_another("foreign").unwrap()[0];
    assert_eq!(taken.bytes, Bytes(2 * LINKED_BYTES_MIN));
    assert_ne!(taken.hash, blob.hash);
}
