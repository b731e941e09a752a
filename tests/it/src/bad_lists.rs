//! Lists that are too much: each of them is refused or is a fault that says what is wrong and how much may be.

use crate::sandbox::Sandbox;

/// Items of a list that is far too long.
const LONG: usize = 10_000_000;

/// Runs a for-each over a list, whose body does something with the item, and tells the fault.
fn fault(sandbox: &Sandbox, list: &str, [before, run]: [&str; 2], input: Option<&str>) -> String {
    let text = format!(
        "xavantes: 1\nname: long\ninputs: {{ data: {{ type: json, default: [] }} }}\nvariables: {{ found: json }}\n\
         body:\n  sequence:\n{before}    \
         - for-each: {{ item: n, in: '${{ {list} }}', do: {{ activity: one, run: {run} }} }}\n"
    );
    let file = sandbox.file("long.yaml", text);
    let mut arguments = vec!["run", &file, "--quiet"];
    arguments.extend(input.iter().flat_map(|input| ["--input", input]));
    sandbox.xav(&arguments).expect(1);
    let status = sandbox.json(&["status", "--json"]);
    let fault = &status["faults"][0];
    let word = |key: &str| fault[key].as_str().unwrap().to_owned();
    format!("{}: {}", word("fault"), word("message"))
}

/// An activity whose output is the list.
fn printing(command: &str) -> String {
    format!(
        "    - activity: large\n      run: {{ shell: \"{command}\" }}\n      stdout: {{ into: found, as: lines }}\n"
    )
}

#[track_caller]
fn assert_says(said: &str, words: &str) {
    assert!(said.contains(words), "{said}");
}

#[test]
fn a_list_of_ten_million_items_is_an_error_that_says_how_many_may_be() {
    let sandbox = Sandbox::new();
    let whole = ["", "['true']"];
    let said = fault(&sandbox, &format!("range({LONG})"), whole, None);
    assert_says(&said, "expression: ");
    assert_says(&said, "a `range` of 10000000 numbers; at most 200000");
    // Lines of a command.
    let lines = printing(&format!("yes | head -n {LONG}"));
    let said = fault(&sandbox, "found", [&lines, whole[1]], None);
    assert_says(&said, "too-large: wrote 20000000 bytes to stdout");
    // A value that a user gives: before anything is stored, or where the items are counted.
    let n_runs = sandbox.n_runs();
    let json = |n_items: usize| format!("[{}0]", "0,".repeat(n_items - 1));
    sandbox.file("many.json", json(LONG));
    let file = sandbox.path("long.yaml").display().to_string();
    sandbox
        .xav(&["run", &file, "--input", "data=@many.json"])
        .expect(2)
        .says("input `data`: many.json is larger than 16.0 MiB");
    assert_eq!(sandbox.n_runs(), n_runs);
    sandbox.file("some.json", json(300_000));
    let said = fault(&sandbox, "inputs.data", whole, Some("data=@some.json"));
    assert_says(&said, "too-large: ");
    assert_says(&said, "300000 items; at most 200000");
}

#[test]
fn an_item_of_ten_megabytes_is_an_error_that_says_how_large_it_may_be() {
    let sandbox = Sandbox::new();
    let large = printing("head -c 10000000 /dev/zero | tr '\\\\0' x");
    let said = fault(&sandbox, "found", [&large, "['true']"], None);
    assert_says(
        &said,
        "too-large: wrote 10000000 bytes to stdout; at most 1048576 (1.0 MiB)",
    );
    // It is within what the inputs may have, but not within what a command may.
    let large = format!("[\"{}\"]", "x".repeat(LONG));
    sandbox.file("large.json", large);
    let used = ["", "[echo, '${ n }']"];
    let said = fault(&sandbox, "inputs.data", used, Some("data=@large.json"));
    assert_says(&said, "too-large: ");
    assert_says(&said, "take 9.5 MiB; at most 8.0 MiB may be sent");
}

#[test]
fn a_pattern_that_matches_nothing_is_refused_before_anything_is_stored() {
    let sandbox = Sandbox::new();
    let text = "xavantes: 1\nname: none\ninputs: { texts: list of file }\nbody:\n  for-each: { item: t, in: '${ inputs.texts }', \
                do: { activity: one, run: ['true'] } }\n";
    let file = sandbox.file("none.yaml", text);
    sandbox
        .xav(&["run", &file, "--input", "texts=none/*.fastq"])
        .expect(2)
        .says("input `texts`: nothing matches none/*.fastq");
    assert_eq!(sandbox.n_runs(), 0);
}
