//! The paths of results of small definitions.

use model::{ActivityId, ArtifactKind, Bytes, Expansion, Hash, NodeId};

use super::*;

fn artifact(letter: u8) -> Artifact {
    Artifact {
        hash: Hash([letter; 32]),
        bytes: Bytes(1),
        kind: ArtifactKind::File,
    }
}

/// A definition whose first controller, of node 0, has so many bodies of one activity.
fn grown(head: &str, n_items: u32) -> Definition {
    let text = format!(
        "xavantes: 1\nname: p\nbody:\n  {head}\n    activity: a\n    run: [a]\n    outputs: {{ o: o }}\n    publish: {{ o: '${{ i }}' }}\n"
    );
    let mut definition = language::compile("p.yaml", text.as_bytes())
        .unwrap()
        .definition;
    definition.expand(&Expansion {
        each: NodeId(0),
        n_items,
        ..Expansion::default()
    });
    definition
}

/// What the activities publish under these paths: the paths that are laid, with the artifact of the activity of
/// that place, and what is wrong.
fn paths(definition: &Definition, paths: &[&str]) -> (Vec<(String, u8)>, Vec<String>) {
    let mut all = Paths::new(definition, &[]);
    let instances = definition.instances(NodeId(1)).into_iter();
    for ((place, node), path) in instances.enumerate().zip(paths) {
        all.add(PublishedFile {
            of: PublishOf::Produced {
                activity: NodeId(1),
                output: 0,
            },
            produced: Some((ActivityId(node.0), artifact(place as u8))),
            path: (*path).to_owned(),
            wrong: None,
        });
    }
    let all = all.finish();
    let wanted = all.wanted.iter();
    let wanted = wanted.map(|one| (one.path.clone(), one.artifact.hash.0[0]));
    (wanted.collect(), all.wrong)
}

#[test]
fn items_of_one_path_are_both_left_and_named() {
    let items = grown(
        "for-each:\n   item: n\n   index: i\n   in: [1, 2, 3, 4]\n   do:",
        4,
    );
    let (laid, wrong) = paths(&items, &["x", "y", "x", "x"]);
    assert_eq!(laid, [("y".to_owned(), 1)]);
    let says = "a[0].o: `x` is the path of 2 others too, and neither was laid there";
    assert_eq!(wrong, [says]);
}

#[test]
fn the_last_iteration_has_the_path() {
    let loops = grown("while: ${ i < 3 }\n  index: i\n  do:", 3);
    let (laid, wrong) = paths(&loops, &["x", "x", "x"]);
    assert_eq!(laid, [("x".to_owned(), 2)]);
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn a_path_that_leads_out_is_no_path() {
    let items = grown(
        "for-each:\n   item: n\n   index: i\n   in: [1, 2, 3, 4]\n   do:",
        4,
    );
    let (laid, wrong) = paths(&items, &["../x", "/x", "a/../../x", "a/b"]);
    assert_eq!(laid, [("a/b".to_owned(), 3)]);
    assert_eq!(
        wrong,
        [
            "a[0].o: a path that leaves the directory: `../x`",
            "a[1].o: an absolute path: `/x`",
            "a[2].o: a path that leaves the directory: `a/../../x`",
        ]
    );
}
