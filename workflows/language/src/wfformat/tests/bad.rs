//! Bad recordings.

use serde_json::{Value, json};

use super::{error, recording};
use crate::wfformat::{ImportError, Options, import};

/// What makes a sound recording a bad one.
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
            "could not read the recording as WfFormat JSON",
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
            ImportError::Json(_) | ImportError::Truncated { line: 1 | 0 }
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
fn a_task_with_more_files_than_a_command_line_takes_is_refused() {
    let outputs: Vec<String> = (0..66_000).map(|file| format!("f{file}")).collect();
    let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
    let json = recording(&[("wide", &[], &[], &outputs)]);
    assert_eq!(error(&json), "task `wide` has 66000 files; at most 65536");
}
