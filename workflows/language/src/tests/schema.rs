//! The published schema: that it says what the reader reads.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use crate::keys::{self, Table};
use crate::schema;

/// The sample definitions beside this crate.
pub(super) fn samples() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples");
    let mut samples = Vec::new();
    let pipelines = std::fs::read_dir(folder.join("pipelines")).unwrap();
    for entry in std::fs::read_dir(folder).unwrap().chain(pipelines) {
        let folder = entry.unwrap().path();
        // Those are not definitions, and are read by tests of their own.
        if folder.ends_with("platforms") {
            continue;
        }
        let Ok(files) = std::fs::read_dir(folder) else {
            continue;
        };
        for file in files {
            let path = file.unwrap().path();
            if path
                .extension()
                .is_some_and(|extension| extension == "yaml")
            {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                samples.push((name, std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(samples.len() >= 3, "{samples:?}");
    samples
}

/// The file as JSON, which is what editors check.
fn as_json(text: &str) -> Value {
    let mut diagnostics = crate::Diagnostics::new("p.yaml");
    let tree = crate::tree::Tree::parse(text, &mut diagnostics).unwrap();
    expression::to_json(&tree.value(tree.root())).unwrap()
}

/// True if a value is valid: the keywords that the schema uses, patterns left out.
fn valid(root: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    let Value::Object(keywords) = schema else {
        return Ok(());
    };
    for (keyword, wanted) in keywords {
        let sound = match keyword.as_str() {
            "$ref" => {
                let pointer = wanted.as_str().unwrap().strip_prefix('#').unwrap();
                return valid(root, root.pointer(pointer).unwrap(), value);
            }
            "type" => {
                let one = vec![wanted.clone()];
                let kinds = wanted.as_array().unwrap_or(&one);
                kinds.iter().any(|kind| match kind.as_str().unwrap() {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "number" => value.is_number(),
                    "integer" => value.is_i64(),
                    "boolean" => value.is_boolean(),
                    "null" => value.is_null(),
                    other => panic!("{other}"),
                })
            }
            "const" => value == wanted,
            "enum" => wanted.as_array().unwrap().contains(value),
            "oneOf" | "anyOf" => {
                let all = wanted.as_array().unwrap();
                let n_valid = all
                    .iter()
                    .filter(|one| valid(root, one, value).is_ok())
                    .count();
                if keyword == "oneOf" {
                    n_valid == 1
                } else {
                    n_valid > 0
                }
            }
            "items" => {
                let mut items = value.as_array().into_iter().flatten();
                items.try_for_each(|item| valid(root, wanted, item))?;
                true
            }
            "properties" | "additionalProperties" => {
                let known = keywords.get("properties").and_then(Value::as_object);
                for (name, value) in value.as_object().into_iter().flatten() {
                    match known.and_then(|known| known.get(name)) {
                        Some(schema) => valid(root, schema, value)?,
                        None if keywords.get("additionalProperties") == Some(&json!(false)) => {
                            return Err(format!("unknown key {name}"));
                        }
                        None => {
                            let other = keywords.get("additionalProperties");
                            other.map_or(Ok(()), |schema| valid(root, schema, value))?;
                        }
                    }
                }
                true
            }
            "required" => value.as_object().is_none_or(|entries| {
                let mut names = wanted.as_array().unwrap().iter();
                names.all(|name| entries.contains_key(name.as_str().unwrap()))
            }),
            "minimum" => value
                .as_f64()
                .is_none_or(|number| number >= wanted.as_f64().unwrap()),
            "maximum" => value
                .as_f64()
                .is_none_or(|number| number <= wanted.as_f64().unwrap()),
            "minItems" => value
                .as_array()
                .is_none_or(|items| items.len() as u64 >= wanted.as_u64().unwrap()),
            "minProperties" => value
                .as_object()
                .is_none_or(|map| map.len() as u64 >= wanted.as_u64().unwrap()),
            "maxProperties" => value
                .as_object()
                .is_none_or(|map| map.len() as u64 <= wanted.as_u64().unwrap()),
            "pattern" | "title" | "description" | "examples" | "$schema" | "$defs" => true,
            other => panic!("the test does not know `{other}`"),
        };
        if !sound {
            return Err(format!("{keyword} {wanted}: {value}"));
        }
    }
    Ok(())
}

#[test]
fn samples_are_valid() {
    let schema = schema();
    for (name, text) in samples() {
        assert_eq!(valid(&schema, &schema, &as_json(&text)), Ok(()), "{name}");
    }
    let bad = json!({ "xavantes": 1, "name": "p", "body": { "activity": "a", "rum": [] } });
    assert!(valid(&schema, &schema, &bad).is_err());
}

/// A small definition that uses a key of a table, for every key that there is.
fn example(table: &Table, key: &str) -> String {
    let step = |text: &str| {
        format!(
            "xavantes: 1\nname: p\nvariables: {{ v: int }}\nfiles: [f]\nbody:\n  parallel:\n    - {{ activity: w, run: [x], stdout: {{ into: v, as: int }} }}\n    - {text}\n  links: [{{ from: w, to: x }}]\n"
        )
    };
    let activity = |more: &str| step(&format!("{{ activity: x, run: [x], {more} }}"));
    match (table.what, key) {
        ("a process", "outputs") => {
            format!("outputs: {{ o: \"${{ v }}\" }}\n{}", activity("cores: 1"))
        }
        ("a process", "publish") => {
            let body = activity("outputs: { o: o }");
            format!("outputs: {{ o: x.o }}\npublish: {{ o: results/o }}\n{body}")
        }
        ("a process", "inputs") => format!("inputs: {{ i: file }}\n{}", activity("cores: 1")),
        ("a process", "data") => format!("data: controllers\n{}", activity("cores: 1")),
        ("a process", "copies") => format!("copies: 1\n{}", activity("cores: 1")),
        ("a process", "keep-intermediates") => {
            format!("keep-intermediates: false\n{}", activity("cores: 1"))
        }
        ("a process", "cache") => format!("cache: false\n{}", activity("cores: 1")),
        ("a process", "on-fault") => format!("on-fault: stop\n{}", activity("cores: 1")),
        ("a process", "policy") => format!("policy: static\n{}", activity("cores: 1")),
        ("a process", "threshold") => {
            format!("policy: rounds:4\nthreshold: 0.25\n{}", activity("cores: 1"))
        }
        ("a process", "reward") => format!("reward: 0\n{}", activity("cores: 1")),
        ("a process", "priority") => format!("priority: -3\n{}", activity("cores: 1")),
        ("a process", "env") => format!("env: {{ A: b }}\n{}", activity("cores: 1")),
        ("a process", "pass") => format!("pass: [HOME, A]\n{}", activity("cores: 1")),
        ("a process", "env-file") => format!("env-file: .env\n{}", activity("cores: 1")),
        ("a process", "container") => format!("container: /opt/x\n{}", activity("cores: 1")),
        ("a process", "environment") => {
            format!("environment: {{ path: /opt/x }}\n{}", activity("cores: 1"))
        }
        ("a process", "limits") => format!("limits: {{ l: 2 }}\n{}", activity("cores: 1")),
        ("a process", _) => activity("cores: 1"),
        ("an input", _) => format!(
            "inputs: {{ i: {{ type: int, default: 3, minimum: 1, maximum: 5 }} }}\n{}",
            activity("cores: 1")
        ),
        ("a variable", _) => activity("cores: 1").replace("v: int", "v: { type: int, value: 1 }"),
        ("a sequence", "do") => step("{ sequence: { name: x, do: [{ empty: }] } }"),
        ("a sequence", _) => step("{ sequence: [{ empty: }], name: x, join: any }"),
        ("a parallel", "do") => step(
            "{ parallel: { name: x, do: [{ empty: , name: a }, { empty: , name: b }], links: [{ from: a, to: b }] } }",
        ),
        ("a parallel", _) => step(
            "{ parallel: [{ empty: , name: a }, { empty: , name: b }], links: [{ from: a, to: b }], name: x, join: all }",
        ),
        ("an if" | "a branch", _) => step(
            "{ name: x, join: any, if: '${ v > 1 }', then: { empty: }, elif: [{ if: '${ true }', then: { empty: } }], else: { empty: } }",
        ),
        ("a switch" | "a case" | "the last case", _) => step(
            "{ name: x, join: any, switch: [{ case: '${ v > 1 }', do: { empty: } }, { default: { empty: } }] }",
        ),
        ("a for-each", _) => step(
            "{ name: x, join: any, for-each: { item: n, index: i, in: [1], key: '${ string(i) }', parallel: true, at-most: 3, complete-when: 1, variables: { own: int }, do: [{ empty: }] } }",
        ),
        ("a while", _) => step(
            "{ name: x, join: any, while: '${ i < 3 }', index: i, max-iterations: 5, variables: { own: int }, do: [{ empty: }] }",
        ),
        ("a repeat-until", _) => step(
            "{ name: x, join: any, repeat-until: '${ i > 3 }', index: i, max-iterations: 5, variables: { own: int }, do: { empty: } }",
        ),
        ("a file that a loop carries", _) => step(
            "{ name: x, while: '${ true }', do: { activity: y, run: [y], inputs: { a: { first: w.o, then: y.o } }, outputs: { o: o } } }",
        )
        .replace("run: [x], stdout", "run: [x], outputs: { o: o }, stdout"),
        ("an assign", _) => step("{ assign: { v: 1 }, name: x, join: any }"),
        ("an empty step", _) => step("{ empty: , name: x, join: any }"),
        ("a link", _) => activity("cores: 1").replace("to: x }", "to: x, when: \"${ true }\" }"),
        ("a command", _) => step("{ activity: x, run: { shell: x } }"),
        ("a stdin", _) => activity("stdin: { file: f }"),
        ("a capture", _) => activity("stderr: { into: v, as: int }"),
        ("a retry", _) => activity(
            "memory: 1GiB, retry: { attempts: 2, backoff: 1s, on: [1, lost, exit, out-of-memory], memory: x1.5 }",
        ),
        ("an environment", "venv") => activity("environment: { venv: r.txt }"),
        ("an environment", "conda") => activity("environment: { conda: e.yaml }"),
        ("an environment", _) => activity("environment: { path: /opt/x }"),
        ("a container", _) => activity("container: { image: /opt/x, network: true }"),
        ("an activity", key) => match key {
            "container" => activity("container: docker.io/library/alpine:3.20"),
            "env" => activity("env: { A: b }"),
            "uses" => activity("uses: [own.sh]"),
            "environment" => activity("environment: { path: /opt/x }"),
            "uses-limit" => activity("uses-limit: { l: 2 }"),
            "publish" => activity("outputs: { o: o }, publish: { o: results/o }"),
            "stdin" => activity("stdin: text"),
            "inputs" => activity("inputs: { i: w.o }")
                .replace("run: [x], stdout", "run: [x], outputs: { o: o }, stdout"),
            "outputs" => activity("outputs: { o: o }"),
            "stdout" | "stderr" => activity(&format!("{key}: {{ into: v, as: int }}")),
            "work" | "timeout" => activity(&format!("{key}: 1s")),
            "cores" => activity("cores: 2"),
            "priority" => activity("priority: 2"),
            "memory" => activity("memory: 1MiB"),
            "labels" => activity("labels: { os: linux }"),
            "retry" => activity("retry: { attempts: 2 }"),
            "cache" | "repeatable" | "at-most-once" => activity(&format!("{key}: true")),
            "replicas" => activity("repeatable: true, replicas: 2"),
            "join" => activity("join: any"),
            _ => activity("cores: 1"),
        },
        (other, key) => panic!("no example of {key} in {other}"),
    }
}

#[test]
fn every_key_is_read_and_is_in_the_schema() {
    let schema = schema();
    let written = schema.to_string();
    let tables = [
        &keys::PROCESS,
        &keys::INPUT,
        &keys::VARIABLE,
        &keys::SEQUENCE,
        &keys::PARALLEL,
        &keys::SEQUENCE_FORM,
        &keys::PARALLEL_FORM,
        &keys::IF,
        &keys::BRANCH,
        &keys::SWITCH,
        &keys::CASE,
        &keys::DEFAULT,
        &keys::FOR_EACH,
        &keys::FOR_EACH_FORM,
        &keys::WHILE,
        &keys::REPEAT_UNTIL,
        &keys::CARRIED,
        &keys::ACTIVITY,
        &keys::ASSIGN,
        &keys::EMPTY,
        &keys::LINK,
        &keys::RUN,
        &keys::STDIN,
        &keys::CAPTURE,
        &keys::RETRY,
        &keys::ENVIRONMENT,
        &keys::CONTAINER,
    ];
    let mut names = BTreeSet::new();
    for table in tables {
        let later: BTreeSet<&str> = table.later.iter().copied().collect();
        for key in table.keys {
            assert!(
                !later.contains(key.name),
                "{} cannot come later too",
                key.name
            );
            names.insert(key.name);
            let text = example(table, key.name);
            assert!(
                text.contains(&format!("{}:", key.name)),
                "{} in {text}",
                key.name
            );
            super::compiled(&text);
            assert_eq!(valid(&schema, &schema, &as_json(&text)), Ok(()), "{text}");
        }
    }
    let mut published = BTreeSet::new();
    collect(&schema, &mut published);
    assert_eq!(
        published,
        names.iter().map(|name| (*name).to_owned()).collect(),
        "{written}"
    );
}

fn collect(schema: &Value, names: &mut BTreeSet<String>) {
    if let Value::Object(entries) = schema {
        if let Some(Value::Object(properties)) = entries.get("properties") {
            names.extend(properties.keys().cloned());
        }
        entries.values().for_each(|value| collect(value, names));
    }
    if let Value::Array(items) = schema {
        items.iter().for_each(|value| collect(value, names));
    }
}
