//! Bad recordings.

use std::collections::BTreeSet;
use std::io::Write;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Told, error, recording};
use crate::wfformat::{Burn, ImportError, Options, import};

/// A change that makes a sound recording a bad one.
type Spoil = Box<dyn Fn(&mut Value)>;

#[test]
fn bad_recordings_are_refused_with_the_reason() {
    let two = || recording(&[("a", &[], &[], &["f"]), ("b", &["a"], &["f"], &[])]);
    let cases: Vec<(&str, Spoil)> = vec![
        (
            "task `b` has the parent `c`, which is no task of the recording",
            Box::new(|json| {
                json["workflow"]["specification"]["tasks"][1]["parents"] = json!(["c"])
            }),
        ),
        (
            "task `b` has the child `any`, which is no task of the recording",
            Box::new(|json| {
                json["workflow"]["specification"]["tasks"][1]["children"] = json!(["any"]);
            }),
        ),
        (
            "the tasks wait for each other: `a` -> `b` -> `a`",
            Box::new(|json| {
                json["workflow"]["specification"]["tasks"][1]["children"] = json!(["a"])
            }),
        ),
        (
            "the tasks wait for each other: `a` -> `a`",
            Box::new(|json| {
                json["workflow"]["specification"]["tasks"][0]["parents"] = json!(["a"])
            }),
        ),
        (
            "two tasks have the id `a`",
            Box::new(|json| json["workflow"]["specification"]["tasks"][1]["id"] = json!("a")),
        ),
        (
            "task 2 of the recording, counted from 1, has no id",
            Box::new(|json| json["workflow"]["specification"]["tasks"][1]["id"] = Value::Null),
        ),
        (
            "an id of the recording is empty",
            Box::new(|json| json["workflow"]["specification"]["tasks"][1]["id"] = json!("")),
        ),
        (
            "an id of the recording has a NUL character in it",
            Box::new(|json| json["workflow"]["specification"]["tasks"][1]["id"] = json!("x\0")),
        ),
        (
            "an id of the recording has more than 4096 bytes",
            Box::new(|json| {
                json["workflow"]["specification"]["tasks"][1]["id"] = json!("x".repeat(4_097));
            }),
        ),
        (
            "the size of `f` is -1; bytes are 0 to 2^53",
            Box::new(|json| {
                json["workflow"]["specification"]["files"][0]["sizeInBytes"] = json!(-1)
            }),
        ),
        (
            "the size of `f` is 100000000000000000000; bytes are 0 to 2^53",
            Box::new(|json| {
                json["workflow"]["specification"]["files"][0]["sizeInBytes"] = json!(1e20);
            }),
        ),
        (
            "the runtime of `a` is -2.5; seconds are 0 to 10^12",
            Box::new(|json| {
                json["workflow"]["execution"]["tasks"][0]["runtimeInSeconds"] = json!(-2.5);
            }),
        ),
        (
            "the avgCPU of `b` is -1; percent are 0 to 6553600",
            Box::new(|json| json["workflow"]["execution"]["tasks"][1]["avgCPU"] = json!(-1)),
        ),
        (
            "the recording has no tasks",
            Box::new(|json| json["workflow"]["specification"]["tasks"] = json!([])),
        ),
        (
            "the file is not WfFormat: it has no `workflow` with `specification.tasks` or `tasks`",
            Box::new(|json| json["workflow"]["specification"] = json!({})),
        ),
        (
            "version `2.0` of WfFormat; 1.4, 1.5 and 1.6 are read",
            Box::new(|json| json["schemaVersion"] = json!("2.0")),
        ),
        (
            "line 1, column 208 of the recording: invalid type: map, expected a list of tasks",
            Box::new(|json| json["workflow"]["specification"]["tasks"] = json!({ "a": 1 })),
        ),
    ];
    for (expected, spoil) in cases {
        let mut json = two();
        spoil(&mut json);
        assert_eq!(error(&json), expected);
    }
    for text in ["", "\u{1}\u{2}garbage", "[1, 2]", "{} {}", "name: x"] {
        let error = import(text.as_bytes(), &Options::default()).unwrap_err();
        let told = matches!(
            error,
            ImportError::Json { .. } | ImportError::Truncated { line: 1 | 0 }
        );
        assert!(told, "{text}: {error}");
    }
    for written in ["NaN", "Infinity", "-Infinity"] {
        let text = two().to_string().replace("2.5", written);
        let error = import(text.as_bytes(), &Options::default()).unwrap_err();
        let told =
            matches!(error, ImportError::NotANumber { written: told, .. } if told == written);
        assert!(told, "{written}: {error}");
    }
    let deep = format!("{{\"x\": {}", "[".repeat(100_000));
    let error = import(deep.as_bytes(), &Options::default()).unwrap_err();
    assert!(matches!(error, ImportError::Truncated { .. }), "{error}");
}

#[test]
fn a_million_tasks_are_refused_by_a_limit_that_is_named() {
    let mut text = String::from(r#"{"workflow": {"specification": {"tasks": ["#);
    for task in 0..1_000_000 {
        text.push_str(&format!("{{\"id\":\"t{task}\"}},"));
    }
    text.pop();
    text.push_str("]}}}");
    let error = import(text.as_bytes(), &Options::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the recording has more than 200000 tasks"
    );
}

#[test]
fn what_is_said_of_bad_recordings_names_the_place() {
    let cut = br#"{"schemaVersion": "1.5", "workflow": {
        "specification": { "tasks": [ { "id": "a","#;
    let error = import(cut, &Options::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the recording ends in the middle, in line 2"
    );
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(cut).unwrap();
    let packed = packer.finish().unwrap();
    for (bytes, expected) in [
        (
            &packed[..packed.len() - 9],
            "could not decompress the recording: its gzip data ends in the middle",
        ),
        (&packed[..], "the recording ends in the middle, in line 2"),
        (
            b"{\"workflow\": {\n\"tasks\": 1}}",
            "line 2, column 10 of the recording: invalid type: integer `1`, expected a list of tasks",
        ),
        (
            b"{\"workflow\":\n {,}}",
            "line 2, column 3 of the recording: key must be a string",
        ),
    ] {
        let error = import(bytes, &Options::default()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn two_producers_two_sizes_and_no_runtime_are_taken_with_a_warning() {
    let mut json = recording(&[("a", &[], &[], &["f"]), ("b", &["a"], &["f"], &["f", "g"])]);
    json["workflow"]["execution"]["tasks"] = json!([]);
    let files = &mut json["workflow"]["specification"]["files"];
    files
        .as_array_mut()
        .unwrap()
        .push(json!({ "id": "g", "sizeInBytes": 3 }));
    let imported = super::import_json(&json).unwrap();
    assert_eq!(
        imported.warnings,
        [
            "2 tasks without a runtime (the first: `a`): no CPU time is used for it",
            "a file has a second producer (`f`, `b`): a file belongs to the first task listed, the others do not write it",
            "a file has two sizes (`g`): the first counts",
        ]
    );
    assert!(imported.draft.check().is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever tasks and files are called, no path has a directory in it, begins with a dot or a
    /// dash, or is that of another file of the activity.
    #[test]
    fn no_name_leaves_the_directory(
        name in "\\PC{0,8}|[./-]{0,6}",
        tasks in prop::collection::btree_set("[./\\\\a-]{1,6}|\\PC{1,5}", 1..5),
        files in prop::collection::btree_set("[./\\\\a-]{1,6}|\\PC{1,5}", 1..8),
    ) {
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let (inputs, outputs) = files.split_at(files.len() / 2);
        let tasks: Vec<Told<'_>> = tasks
            .iter()
            .enumerate()
            .map(|(at, id)| (id.as_str(), &[][..], inputs, if at == 0 { outputs } else { &[] }))
            .collect();
        let mut json = recording(&tasks);
        json["name"] = name.into();
        let definition = super::import_json(&json).unwrap().draft.check().unwrap();
        for &id in definition.activities() {
            let activity = definition.activity(id).unwrap();
            let burn = Burn::of_command(&activity.command).unwrap();
            let made = burn.sources.iter().chain(&burn.writes).map(|file| file.path.as_str());
            let paths: Vec<&str> = made.chain(burn.reads.iter().map(String::as_str)).collect();
            for path in &paths {
                prop_assert!(!path.contains('/') && !path.starts_with(['.', '-']), "{path}");
            }
            prop_assert_eq!(BTreeSet::from_iter(&paths).len(), paths.len());
            let known = |path: &str| paths.contains(&path);
            prop_assert!(activity.outputs.iter().all(|output| known(&output.path)));
            prop_assert!(activity.inputs.iter().all(|staged| known(&staged.path)));
        }
    }
}

#[test]
fn a_task_with_more_files_than_a_command_line_takes_is_refused() {
    let outputs: Vec<String> = (0..66_000).map(|file| format!("f{file}")).collect();
    let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
    let json = recording(&[("wide", &[], &[], &outputs)]);
    assert_eq!(error(&json), "task `wide` has 66000 files; at most 65536");
}
