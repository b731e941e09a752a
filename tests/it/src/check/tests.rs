use serde_json::json;

use super::*;

const ASKED: Expected = Expected {
    cpu_seconds: 2.0,
    data_scale: 0.5,
    slots: 1,
    cpu_margin: 0.1,
};

fn recording() -> Value {
    json!({ "workflow": { "specification": {
        "files": [{ "id": "in", "sizeInBytes": 10 }, { "id": "a.txt", "sizeInBytes": 9 }],
        "tasks": [
            { "id": "a", "parents": [], "inputFiles": ["in"], "outputFiles": ["a.txt"] },
            { "id": "b", "parents": [], "inputFiles": ["a.txt"] },
        ],
    } } })
}

fn attempt(pid: u64, start: &str, end: &str) -> Value {
    json!([{
        "pid": pid, "start": start, "end": end, "slots": 1, "exit_code": 0, "cpu_seconds": 1.01,
    }])
}

fn status() -> Value {
    let second = "2026-01-01T00:00:01Z";
    json!({ "activity_list": [
        {
            "activity": "a", "recorded": "a", "state": "completed",
            "attempts": attempt(7, "2026-01-01T00:00:00.5Z", second),
            "outputs": { "a_txt": { "hash": "h1", "bytes": 5 } },
        },
        {
            "activity": "b", "recorded": "b", "state": "completed",
            "attempts": attempt(8, second, "2026-01-01T00:00:01.25Z"),
            "outputs": {},
        },
    ] })
}

fn log() -> String {
    let a = json!({
        "name": "a", "pid": 7, "start": 1, "end": 2, "cpu": 1_000_000,
        "inputs": { "in": "h0" }, "bytes": { "in": 5, "a.txt": 5 },
    });
    let b = json!({
        "name": "b", "pid": 8, "start": 2, "end": 3, "cpu": 1_000_000,
        "inputs": { "a.txt": "h1" }, "bytes": { "a.txt": 5 },
    });
    format!("{a}\n{b}\n")
}

#[test]
fn what_fits_is_counted() {
    let found = compare(&recording(), &status(), &log(), &ASKED).unwrap();
    let Comparison {
        n_activities,
        n_dependencies,
        n_files,
        slots_used_max,
        ..
    } = found;
    assert_eq!(
        (n_activities, n_dependencies, n_files, slots_used_max),
        (2, 1, 3, 1)
    );
}

#[track_caller]
fn differs(status: &Value, log: &str, words: &str) {
    let told = compare(&recording(), status, log, &ASKED).unwrap_err();
    assert!(told.contains(words), "does not say `{words}`: {told}");
}

#[test]
fn what_differs_is_told() {
    let second = &log().lines().nth(1).unwrap().to_owned();
    differs(
        &status(),
        &(log() + second),
        "b has 1 attempts and ran 2 times",
    );
    differs(
        &status(),
        &log().replace("\"pid\":8", "\"pid\":9"),
        "b: pid 8",
    );
    differs(
        &status(),
        &log().replace("\"start\":2", "\"start\":1"),
        "a ended at 2 (log)",
    );
    differs(
        &status(),
        &log().replace("\"a.txt\":5", "\"a.txt\":6"),
        "b read and wrote",
    );
    differs(
        &status(),
        &log().replace("h1", "h2"),
        "b read another a.txt",
    );
    differs(
        &status(),
        &log().replace("1000000", "800000"),
        "by the log, 20.0 %",
    );
    let mut early = status();
    early["activity_list"][1]["attempts"][0]["start"] = "2026-01-01T00:00:00.99Z".into();
    differs(&early, &log(), "(status)");
    differs(&early, &log(), "2 slots were in use");
    let mut large = status();
    large["activity_list"][0]["outputs"]["a_txt"]["bytes"] = 6.into();
    differs(&large, &log(), "a gave files of [6] bytes");
}
