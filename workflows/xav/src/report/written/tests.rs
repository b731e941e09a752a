use super::*;

#[test]
fn the_items_of_a_list_have_one_text_with_command_files_and_variables() {
    let text = "\
xavantes: 1
name: p
inputs: { reads: list of file }
variables: { n: int }
body:
  sequence:
    - for-each:
        item: read
        in: ${ inputs.reads }
        do: { activity: align, run: [align, \"a b\"], inputs: { in.fq: read }, outputs: { bam: out.bam } }
    - activity: merge
      run: { shell: \"cat p/* | wc -l\" }
      env: { LC_ALL: C }
      container: { image: /opt/images/a, network: true }
      inputs: { p/: 'align[*].bam' }
      stdout: { into: n, as: int }
";
    let mut definition = language::compile("p.yaml", text.as_bytes())
        .unwrap()
        .definition;
    definition.expand(&model::Expansion {
        each: NodeId(1),
        n_items: 3,
        ..model::Expansion::default()
    });
    let written = Written::of(&definition, definition.in_order().into_iter());
    assert_eq!(written.of, [Some(0), Some(0), Some(0), Some(1)]);
    let told = |place: usize| -> Vec<String> {
        let texts = written.texts[place].iter();
        texts
            .map(|(label, text)| format!("{label}: {text}"))
            .collect()
    };
    assert_eq!(
        told(0),
        [
            "Command: align a b",
            "Inputs: in.fq from read",
            "Outputs: bam in out.bam"
        ]
    );
    assert_eq!(
        told(1),
        [
            "Command: cat p/* | wc -l",
            "Runs in: the container /opt/images/a, with the network",
            "Inputs: p/ from align[*].bam",
            "Environment: LC_ALL=C",
            "Variables: stdout into n",
        ]
    );
}

#[test]
fn what_an_item_has_picked_is_told_of_each_item() {
    let text = "\
xavantes: 1
name: p
body:
  - for-each: { item: a, in: [1, 2], do: { activity: make, run: [touch, o], outputs: { o: o } } }
  - for-each: { item: b, in: [1, 0], do: { activity: read, run: [cat, i], inputs: { i: 'make[b].o' } } }
";
    let compiled = language::compile("p.yaml", text.as_bytes()).unwrap();
    let inputs = |definition: &Definition| -> Vec<String> {
        let written = Written::of(definition, definition.in_order().into_iter());
        let texts = written
            .of
            .iter()
            .flatten()
            .map(|&place| &written.texts[place]);
        let told = texts.flatten().filter(|(label, _)| *label == "Inputs");
        told.map(|(_, text)| text.clone()).collect()
    };
    assert_eq!(inputs(&compiled.definition), ["i from make[b].o"]);
    let known = language::with_known_items(compiled.definition, &[]);
    assert_eq!(inputs(&known), ["i from make[1].o", "i from make[0].o"]);
}
