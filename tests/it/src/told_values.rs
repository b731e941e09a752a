//! The values of each item: the command as it was sent, with its inputs, environment and captured values, in `xav status
//! --of`, `xav why` and `xav logs`, and on the page of `xav report`.

use serde_json::json;

use crate::report::data;
use crate::sandbox::Sandbox;

const ALIGN: &str = "\
xavantes: 1
name: values
inputs: { reads: list of file }
pass: [SECRET_TOKEN]
variables: { last: string }
body:
  sequence:
    - for-each:
        item: read
        index: n
        in: ${ inputs.reads }
        key: ${ stem(read) }
        parallel: false
        variables: { lines: int }
        do:
          activity: align
          run: { shell: \"wc -l < in.txt\" }
          env: { PLACE: 'number ${ n }' }
          inputs: { in.txt: read }
          stdout: { into: lines, as: int }
    - activity: number
      run: [echo, '${ 40 + 2 }', 'a b']
      stdout: { into: last, as: text }
";

#[test]
fn an_item_is_told_with_its_values_by_each_command_that_shows_one() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("values.yaml", ALIGN);
    let first = sandbox.file("sample-1.txt", "a\n");
    let second = sandbox.file("sample-2.txt", "a\nb\n");
    let run = [
        "run",
        &file,
        "-i",
        &format!("reads={first}"),
        "-i",
        &format!("reads={second}"),
    ];
    sandbox
        .xav_with(("SECRET_TOKEN", "not to be seen"), &run)
        .expect(0);
    let status = sandbox.json(&["status", "--of", "align[sample-2]", "--json"]);
    let told = &status["activity_list"][0]["values"];
    assert_eq!(told["command"], json!(["/bin/sh", "-c", "wc -l < in.txt"]));
    assert_eq!(told["command_is"], "as sent");
    assert_eq!(told["items"]["n"], 1);
    assert_eq!(told["items"]["read"]["name"], "sample-2.txt");
    assert_eq!(told["items"]["lines"], 2);
    assert_eq!(told["captured"], json!({ "lines": 2 }));
    assert_eq!(told["environment"]["PLACE"], "number 1");
    assert_eq!(told["environment"]["SECRET_TOKEN"], json!(null));
    assert!(
        told["environment"]
            .as_object()
            .unwrap()
            .contains_key("SECRET_TOKEN")
    );
    let input = &told["inputs"][0];
    let known = json!({
        "path": "in.txt", "name": "sample-2.txt", "bytes": 4, "kind": "file", "hash": input["hash"],
    });
    assert_eq!(input, &known);
    assert_eq!(told["inputs_all"], 1);
    // All items have theirs, and a status of everything has none.
    let all = sandbox.json(&["status", "--of", "align", "--json"]);
    assert_eq!(all["activity_list"][0]["values"]["items"]["lines"], 1);
    let whole = sandbox.json(&["status", "--json"]);
    assert!(whole["activity_list"][0].get("values").is_none());
    let text = sandbox.xav(&["status", "--of", "number"]).expect(0);
    text.shows("command")
        .shows("echo 42 'a b'")
        .shows("last = 42 a b");
    // The same stands in the answers to why, and to what it wrote.
    sandbox
        .xav(&["why", "number"])
        .expect(0)
        .shows("number completed")
        .shows("echo 42 'a b'")
        .shows("last = 42 a b");
    let why = sandbox.json(&["why", "align[sample-2]", "--json"]);
    assert_eq!(&why["values"], told);
    let logs = sandbox.xav(&["logs", "number"]).expect(0);
    let logs = logs.says("echo 42 'a b'").says("last = 42 a b");
    assert_eq!(logs.stdout, "42 a b\n", "it is for other programs");
    let alone = sandbox.xav(&["logs", "number", "--stdout"]).expect(0);
    assert!(!alone.stderr.contains("echo"), "{alone:?}");
    let logs = sandbox.json(&["logs", "align[sample-2]", "--json"]);
    assert_eq!(&logs[0]["values"], told);
    let whole = sandbox.json(&["logs", "--json"]);
    assert!(whole[0].get("values").is_none());
    let page = sandbox.xav(&["report", "--out", "-"]).expect(0).stdout;
    assert!(!page.contains("not to be seen"));
    let data = data(&page);
    let place = data["activities"]["told"][1].as_u64().unwrap() as usize;
    let texts = data["told"][place].to_string();
    for said in [
        "sample-2.txt",
        "n = 1",
        "PLACE=number 1",
        "lines = 2",
        "wc -l",
    ] {
        assert!(texts.contains(said), "{said}: {texts}");
    }
}
