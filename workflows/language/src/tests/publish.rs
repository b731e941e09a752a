//! Published results: what is read, and what is refused.

use model::{NodeId, PublishOf};

use super::{compiled, lines, refused};
use crate::export::yaml;
use crate::json;

const ALIGNED: &str = r#"
xavantes: 1
name: aligned
inputs: { reads: list of file }
outputs: { all: "align[*].bam", table: merge.table, n: "${ size(inputs.reads) }" }
publish: { all: results/all, table: "results/${ size(inputs.reads) }.tsv" }
body:
  sequence:
    - for-each:
        item: read
        index: i
        in: ${ inputs.reads }
        do:
          activity: align
          run: [./align.sh]
          inputs: { in.fastq: read }
          outputs: { bam: out.bam, logs: log/ }
          publish: { bam: "results/${ stem(read) }.bam", logs: "logs/${ i }/" }
    - activity: merge
      run: [./merge.sh]
      inputs: { parts/: "align[*].bam" }
      outputs: { table: all.tsv }
"#;

#[test]
fn published_results_are_read_and_written_again() {
    let compiled = compiled(ALIGNED);
    assert_eq!(compiled.warnings.list(), []);
    let draft = compiled.definition.draft();
    let found: Vec<(PublishOf, &str)> = draft
        .published()
        .iter()
        .map(|publish| (publish.of, publish.path.0.as_str()))
        .collect();
    let of_align = |output| PublishOf::Produced {
        activity: NodeId(2),
        output,
    };
    assert_eq!(
        found,
        [
            (PublishOf::Output(0), "results/all"),
            (PublishOf::Output(1), "results/${ size(inputs.reads) }.tsv"),
            (of_align(0), "results/${ stem(read) }.bam"),
            (of_align(1), "logs/${ i }/"),
        ]
    );
    let again = super::compiled(&yaml(&compiled.definition));
    assert_eq!(again.definition.draft(), draft);
    let shown = json(&compiled.definition);
    assert_eq!(shown["publish"]["all"], "results/all");
    let align = &shown["body"]["children"][0]["children"][0];
    assert_eq!(align["publish"]["logs"], "logs/${ i }/");
}

/// What is wrong when one text is another one.
fn changed(from: &str, to: &str) -> Vec<String> {
    assert!(ALIGNED.contains(from), "{from}");
    lines(&refused(ALIGNED.replacen(from, to, 1)))
}

#[test]
fn mistakes_in_what_is_published_are_told_at_their_place() {
    let cases = [
        (
            "publish: { all: results/all,",
            "publish: { al: results/all,",
            "6:12: there is no output `al` to publish (did you mean `all`?)",
        ),
        (
            "publish: { all: results/all,",
            "publish: { n: results/n,",
            "6:15: the output `n` is a value, not a file (a command can write it to a file, which is published)",
        ),
        (
            "results/all",
            "../all",
            "6:17: a path that leaves the directory: `../all` (results are published in the directory of the definition, or below it)",
        ),
        (
            "results/all",
            "/tmp/all",
            "6:17: an absolute path: `/tmp/all` (results are published in the directory of the definition, or below it)",
        ),
        (
            "\"results/${ size(inputs.reads) }.tsv\"",
            "results/all",
            "6:37: `results/all` is the path of the output `all` too (give each a name of its own)",
        ),
        (
            "\"results/${ size(inputs.reads) }.tsv\"",
            "results/",
            "6:37: a directory where a file is published: `results/` (say the name that the file gets there: `results/NAME`)",
        ),
        (
            "\"results/${ size(inputs.reads) }.tsv\"",
            "\"${ size(inputs.raeds) }.tsv\"",
            "6:53: no input is called `raeds` (did you mean `inputs.reads`?)",
        ),
        (
            "bam: \"results/${ stem(read) }.bam\"",
            "bam: results/out.bam",
            "18:27: the file of each item has this one path (name the item in it, as `results/${ i }`: its value, its index, or of a file `stem(...)`)",
        ),
        (
            "publish: { all: results/all, table: \"results/${ size(inputs.reads) }.tsv\" }",
            "publish: { table: results, all: results/all }",
            "6:33: `results` is a file, the output `table`: no other one lies below it",
        ),
    ];
    for (from, to, says) in cases {
        assert_eq!(changed(from, to), [says], "{to}");
    }
}

#[test]
fn the_last_iteration_of_a_loop_has_the_published_path() {
    let text = r#"
xavantes: 1
name: relaxed
body:
  while: ${ i < 3 }
  index: i
  do:
    - { activity: relax, run: [relax], outputs: { grid: g, log: l }, publish: { grid: g, log: "l/${ i }" } }
"#;
    assert_eq!(compiled(text).definition.draft().published().len(), 2);
}
