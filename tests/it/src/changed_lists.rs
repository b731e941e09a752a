//! A rerun over a list that has changed: only the items that are other or new run again, and whoever
//! gathers from them, wherever they are in the list.

use std::fs;

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// Items of the first list.
const ITEMS: u32 = 1_000;
/// Items that the second list has no more...
const REMOVED: [u32; 5] = [0, 7, 500, 998, 999];
/// ...the one that it has with another content...
const CHANGED: u32 = 321;
/// ...and those that are new in it.
const ADDED: std::ops::Range<u32> = 5_000..5_010;

/// The numbers of the second list, in an order that has nothing of the first one's.
fn changed() -> Vec<u32> {
    let kept = (0..ITEMS).filter(|number| !REMOVED.contains(number));
    let mut numbers: Vec<u32> = kept.chain(ADDED).collect();
    // 7919 is a prime, so no two places are the same.
    numbers.sort_by_key(|number| number * 7_919 % 10_007);
    assert!(!numbers.is_sorted());
    numbers
}

/// The content of an item of the second list.
fn content(number: u32) -> u32 {
    match number {
        CHANGED => 1_000_000,
        _ => number,
    }
}

/// The activities of the newest process that ran in it.
fn ran(status: &Value) -> Vec<String> {
    let activities = status["activity_list"].as_array().unwrap().iter();
    let ran = activities.filter(|one| one["reused"].is_null());
    ran.map(|one| one["activity"].as_str().unwrap().to_owned())
        .collect()
}

/// The items of the second list by which it differs from the first one, as they are there.
fn other() -> impl Iterator<Item = (usize, u32)> {
    let numbers = changed().into_iter().enumerate();
    numbers.filter(|&(_, number)| number == CHANGED || ADDED.contains(&number))
}

/// The sum that the second list gives.
fn sum() -> u64 {
    changed()
        .into_iter()
        .map(|number| u64::from(content(number)))
        .sum()
}

/// A definition with a body for each item, and a sum of what all of them made.
fn definition(input: &str, each: &str) -> String {
    format!(
        "\
xavantes: 1
name: changed
inputs: {{ {input} }}
variables: {{ sum: int }}
outputs: {{ sum: '${{ sum }}' }}
body:
  sequence:
    - for-each:
        {each}    - activity: sum
      run: {{ shell: \"cat parts/* | awk '{{ s += $1 }} END {{ print s }}'\" }}
      inputs: {{ parts/: 'one[*].out' }}
      stdout: {{ into: sum, as: int }}
"
    )
}

/// Runs a definition over the first list and again over the second: the items by which that is another
/// run, which are named here, and the sum.
fn rerun(
    sandbox: &Sandbox,
    definition: &str,
    [first, second]: [&str; 2],
    other: impl Iterator<Item = String>,
) {
    let file = sandbox.file("changed.yaml", definition);
    sandbox
        .xav(&["run", &file, "--quiet", "--input", first])
        .expect(0);
    sandbox
        .xav(&["rerun", "--quiet", "--input", second])
        .expect(0);
    let status = sandbox.json(&["status", "--json"]);
    let expected: Vec<String> = other.chain(["sum".to_owned()]).collect();
    assert_eq!(expected.len(), 12);
    assert_eq!(ran(&status), expected);
    assert_eq!(status["outputs"]["sum"], sum());
}

#[test]
fn of_a_thousand_files_those_run_again_that_are_other_whatever_their_place_and_name() {
    let sandbox = Sandbox::new();
    let each = "\
        item: text
        in: ${ inputs.texts }
        do:
          activity: one
          run: [cp, in.txt, out.txt]
          inputs: { in.txt: text }
          outputs: { out: out.txt }
";
    let write = |directory: &str, place: usize, content: u32| {
        sandbox.file(
            &format!("{directory}/{place:05}.txt"),
            format!("{content}\n"),
        );
    };
    for directory in ["first", "second"] {
        fs::create_dir(sandbox.path(directory)).unwrap();
    }
    (0..ITEMS).for_each(|number| write("first", number as usize, number));
    for (place, number) in changed().into_iter().enumerate() {
        write("second", place, content(number));
    }
    let copies = other().map(|(place, _)| format!("one[{place}]"));
    let definition = definition("texts: list of file", each);
    rerun(
        &sandbox,
        &definition,
        ["texts=first/*", "texts=second/*"],
        copies,
    );
}

#[test]
fn of_a_thousand_keyed_items_those_run_again_whose_value_is_other_or_new() {
    let sandbox = Sandbox::new();
    let each = "\
        item: sample
        in: ${ inputs.samples }
        key: ${ sample.id }
        do:
          activity: one
          run: { shell: 'echo ${ sample.content } > out.txt' }
          outputs: { out: out.txt }
";
    let sample =
        |number: u32, content: u32| json!({ "id": format!("s-{number}"), "content": content });
    let first: Vec<Value> = (0..ITEMS).map(|number| sample(number, number)).collect();
    let second = changed().into_iter();
    let second: Vec<Value> = second
        .map(|number| sample(number, content(number)))
        .collect();
    let input = |samples: Vec<Value>| format!("samples={}", Value::Array(samples));
    let written = other().map(|(_, number)| format!("one[s-{number}]"));
    let definition = definition("samples: list of json", each);
    let (first, second) = (input(first), input(second));
    rerun(&sandbox, &definition, [&first, &second], written);
}
