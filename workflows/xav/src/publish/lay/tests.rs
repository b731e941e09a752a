//! Files and directories that a process was given stay as they are, wherever results go.

use model::{ActivityId, Bytes, Hash, NodeId, PublishOf};
use tempfile::TempDir;
use wire::client::PublishedFile;

use super::*;
use crate::publish::paths::Paths;

/// A directory with the definition of a process, which publishes a file and a directory, and with what it is given.
struct Bench {
    directory: TempDir,
    definition: Definition,
    sources: Sources,
}

const DEFINITION: &str = "xavantes: 1
name: p
inputs: { tree: directory, j: json }
env-file: settings.env
body:
  activity: a
  run: [a]
  outputs: { o: o, d: d/ }
  publish: { o: '${ inputs.j.o }', d: '${ inputs.j.d }' }
";

impl Bench {
    fn new() -> Bench {
        let directory = TempDir::new().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir_all(at("data/tree/sub")).unwrap();
        for name in [
            "p.yaml",
            "params.json",
            "settings.env",
            "other.txt",
            "data/tree/a.txt",
            "data/tree/sub/b.txt",
        ] {
            fs::write(at(name), "given").unwrap();
        }
        std::os::unix::fs::symlink("data/tree", at("link")).unwrap();
        let compiled = language::compile("p.yaml", DEFINITION.as_bytes()).unwrap();
        let definition = compiled.definition;
        let given = [
            format!("tree={}", at("link").display()),
            format!("j=@{}", at("params.json").display()),
        ];
        let declared = &definition.draft().inputs;
        let sources = Sources::of(&at("p.yaml"), directory.path(), &given, declared);
        Bench {
            definition,
            sources,
            directory,
        }
    }

    /// What became of a result with this path.
    fn lay(&self, path: &str, kind: ArtifactKind) -> Result<Laid, String> {
        let artifact = Artifact {
            hash: Hash([1; 32]),
            bytes: Bytes(4),
            kind,
        };
        let mut paths = Paths::new(&self.definition, &[]);
        paths.add(PublishedFile {
            of: PublishOf::Produced {
                activity: NodeId(0),
                output: u32::from(kind == ArtifactKind::Directory),
            },
            produced: Some((ActivityId(0), artifact)),
            path: path.to_owned(),
            wrong: None,
        });
        let wanted = paths.finish().wanted;
        let project = Project::new(&self.sources, &self.definition).unwrap();
        let write = |_: Artifact, to: &Path| {
            let to = match kind {
                ArtifactKind::Directory => to.join("made"),
                ArtifactKind::File | ArtifactKind::Program => to.to_owned(),
            };
            fs::write(to, "made").map_err(|error| Failure::because(&error))
        };
        project.lay(&wanted[0], &write)
    }
}

#[test]
fn files_that_a_process_was_given_are_not_replaced() {
    let bench = Bench::new();
    for name in ["p.yaml", "params.json", "settings.env", "link"] {
        let why = bench.lay(name, ArtifactKind::File).unwrap_err();
        let says =
            format!("`{name}` is a file that the process was given: publish under another path");
        assert_eq!(why, says);
    }
    assert_eq!(bench.lay("other.txt", ArtifactKind::File), Ok(Laid::New));
    for name in ["p.yaml", "params.json", "settings.env"] {
        let there = fs::read(bench.directory.path().join(name)).unwrap();
        assert_eq!(there, b"given", "{name}");
    }
}

#[test]
fn nothing_is_laid_in_a_directory_that_a_process_was_given_nor_around_it() {
    let bench = Bench::new();
    for (path, kind) in [
        ("data/tree/a.txt", ArtifactKind::File),
        ("data/tree/more/c.txt", ArtifactKind::File),
        ("link/c.txt", ArtifactKind::File),
        ("data/tree", ArtifactKind::Directory),
        ("data/tree/sub", ArtifactKind::Directory),
        ("link/sub/more", ArtifactKind::Directory),
    ] {
        let says = format!(
            "`{path}` lies in a directory that the process was given: publish under another path"
        );
        assert_eq!(bench.lay(path, kind), Err(says));
    }
    let around = bench.lay("data", ArtifactKind::Directory).unwrap_err();
    let says = "`data` has `tree`, a directory that the process was given, in it: publish under another path";
    assert_eq!(around, says);
    assert!(!bench.directory.path().join("data/tree/more").exists());
    assert_eq!(bench.lay("data/c.txt", ArtifactKind::File), Ok(Laid::New));
    assert_eq!(bench.lay("d", ArtifactKind::Directory), Ok(Laid::New));
}
