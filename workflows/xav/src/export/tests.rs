//! The names of outputs that are written.

use model::{ArtifactKind, Bytes, Hash};

use super::*;

#[test]
fn outputs_end_as_the_files_that_are_staged_do() {
    let text = "xavantes: 1
name: x
outputs: { all: 'a[*].reads', one: b.reads, plain: b.plain, tree: b.tree }
body:
  - for-each:
      item: n
      in: [1, 2]
      do: { activity: a, run: [a], outputs: { reads: reads.fastq.gz } }
  - { activity: b, run: [b], outputs: { reads: out/.x.fastq.gz, plain: out.d/plain, tree: tree.d/ } }
";
    let compiled = language::compile("x.yaml", text.as_bytes()).unwrap();
    let artifact = |kind| {
        let artifact = Artifact {
            hash: Hash([1; 32]),
            bytes: Bytes(1),
            kind,
        };
        Value::Artifact(artifact, None)
    };
    let file = || artifact(ArtifactKind::File);
    let items = ["0", "1"].map(|item| (item.to_owned(), file()));
    let outputs = [
        ("all", Value::Map(items.into())),
        ("one", file()),
        ("plain", file()),
        ("tree", artifact(ArtifactKind::Directory)),
    ];
    let outputs = outputs.map(|(name, value)| (name.to_owned(), value));
    let places = places(&compiled.definition, &outputs, Path::new(""));
    let paths: Vec<String> = places
        .iter()
        .map(|place| place.path.display().to_string())
        .collect();
    assert_eq!(
        paths,
        [
            "all/0.fastq.gz",
            "all/1.fastq.gz",
            "one.fastq.gz",
            "plain",
            "tree"
        ]
    );
}
