//! Metrics and the audit log of real daemons: their form, the documents that name them, and what must
//! not be in them.

mod exposition;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use model::Role;
use serde_json::Value;

use super::world::World;
use crate::wait;
use exposition::{Exposition, Kind};

/// The daemons, with their columns in docs/metrics.md.
const ROLES: [(Role, &str); 3] = [(Role::Gm, "gm"), (Role::Pm, "pm"), (Role::Am, "am")];

fn document(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(name)).unwrap()
}

/// The metrics of all daemons, which fit the rules of Prometheus.
fn served(world: &World) -> BTreeMap<&'static str, Exposition> {
    let one = |(role, word)| {
        let text = world.metrics_of(role);
        let exposition = Exposition::read(&text);
        let exposition = exposition.unwrap_or_else(|problems| {
            panic!("{word}:\n{}\n{text}", problems.join("\n"));
        });
        promtool(word, &text);
        (word, exposition)
    };
    ROLES.into_iter().map(one).collect()
}

/// Checks a text by the tool of Prometheus, where it is on this machine.
fn promtool(of: &str, text: &str) {
    use std::io::Write;

    let tool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut tool) = tool else {
        println!("skipped: needs promtool");
        return;
    };
    let stdin = tool.stdin.take().unwrap();
    (&stdin).write_all(text.as_bytes()).unwrap();
    drop(stdin);
    let done = tool.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success() && said.is_empty(), "{of}: {said}");
}

/// The rows of the tables in docs/metrics.md: name, kind, labels, daemons.
fn documented() -> Vec<[String; 4]> {
    let text = document("docs/metrics.md");
    let rows = text.lines().filter(|line| line.starts_with("| `xavantes_"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let plain = |cell: &str| cell.replace('`', "");
        [cells[1], cells[2], cells[3], cells[4]].map(plain)
    };
    rows.map(row).collect()
}

fn kind(word: &str) -> Kind {
    match word {
        "counter" => Kind::Counter,
        "gauge" => Kind::Gauge,
        "histogram" => Kind::Histogram,
        _ => panic!("docs/metrics.md has the kind {word}"),
    }
}

#[test]
fn the_daemons_serve_what_the_document_and_the_alerts_name_and_count_what_is_done() {
    let world = World::with_metrics(1);
    let (sandbox, ana) = (&world.sandbox, world.user("ana"));
    let file = sandbox.file(
        "two.yaml",
        "xavantes: 1\nname: two\nbody:\n  sequence:\n    - activity: first\n      run: { shell: \"true\" }\n    - activity: second\n      run: { shell: \"exit 3\" }\n",
    );
    sandbox.xav(&["run", &file, "--grid", &ana]).expect(1);
    let value = |of: &str, name: &str, labels: &[(&str, &str)]| {
        let text = served(&world);
        text[of].value(name, labels)
    };
    wait::until("the ends to be counted", || {
        let ended = value(
            "pm",
            "xavantes_processes_ended_total",
            &[("phase", "faulted")],
        );
        (ended == Some(1.0)).then_some(())
    });
    let all = served(&world);
    let is = |of: &str, name: &str, labels: &[(&str, &str)], expected: f64| {
        let name = format!("xavantes_{name}");
        assert_eq!(all[of].value(&name, labels), Some(expected), "{of} {name}");
    };
    is("pm", "processes_submitted_total", &[], 1.0);
    is("pm", "processes", &[("phase", "faulted")], 1.0);
    is("pm", "attempts_sent_total", &[], 2.0);
    is(
        "pm",
        "attempts_ended_total",
        &[("result", "completed")],
        1.0,
    );
    is("pm", "faults_total", &[("name", "exit-code")], 1.0);
    is("pm", "activity_start_delay_seconds_count", &[], 2.0);
    is("pm", "machines", &[("state", "trusted")], 1.0);
    let made = &[("result", "made")];
    let n_made = all["pm"].value("xavantes_planning_seconds_count", made);
    assert!(n_made >= Some(1.0), "{n_made:?}");
    let granted = &[("result", "granted")];
    let n_granted = all["gm"].value("xavantes_claims_total", granted);
    assert!(n_granted >= Some(1.0), "{n_granted:?}");
    is("am", "commands_started_total", &[], 2.0);
    is("am", "commands_ended_total", &[("end", "well")], 1.0);
    is("am", "commands_ended_total", &[("end", "status")], 1.0);
    is("am", "command_seconds_count", &[], 2.0);
    is("gm", "machines", &[("state", "up")], 1.0);
    is("gm", "slots", &[("state", "free")], 2.0);
    is("am", "slots", &[("state", "lendable")], 2.0);
    is("gm", "links", &[("role", "am")], 1.0);

    // The document names what is served, as it is, and nothing else.
    let mut told = BTreeMap::new();
    for [name, word, labels, daemons] in documented() {
        for (_, daemon) in ROLES {
            let is_there = daemons == "all" || daemons.split(", ").any(|one| one == daemon);
            if is_there {
                let labels: BTreeSet<String> = labels
                    .split(", ")
                    .filter(|label| !label.is_empty())
                    .map(str::to_owned)
                    .collect();
                let before = told.insert((daemon, name.clone()), (kind(&word), labels));
                assert!(before.is_none(), "docs/metrics.md has {name} twice");
            }
        }
    }
    let mut seen = BTreeMap::new();
    for (daemon, exposition) in &all {
        for (name, family) in exposition.families() {
            let found = (family.kind, family.labels());
            seen.insert((*daemon, name.to_owned()), found);
        }
    }
    let missing: Vec<_> = seen.keys().filter(|key| !told.contains_key(*key)).collect();
    assert!(missing.is_empty(), "not in docs/metrics.md: {missing:?}");
    let gone: Vec<_> = told.keys().filter(|key| !seen.contains_key(*key)).collect();
    assert!(gone.is_empty(), "nobody serves: {gone:?}");
    for (key, (kind, labels)) in &told {
        let (found, with) = &seen[key];
        assert_eq!(kind, found, "{key:?}");
        // A family without samples has no labels yet: no owner holds slots.
        assert!(with == labels || with.is_empty(), "{key:?}: {with:?}");
    }
    let names: BTreeSet<&String> = seen.keys().map(|(_, name)| name).collect();
    assert!(names.len() >= 40, "{}", names.len());

    // The alerts do so too, with labels that are served.
    let alerts = document("packaging/alerts.yaml");
    let mut named = BTreeSet::new();
    for word in alerts.split(|letter: char| !letter.is_alphanumeric() && letter != '_') {
        if let Some(rest) = word.strip_prefix("xavantes_") {
            let base = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|suffix| rest.strip_suffix(suffix))
                .unwrap_or(rest);
            let name = format!("xavantes_{base}");
            assert!(names.contains(&name), "nobody serves {name} of the alerts");
            named.insert(name);
        }
    }
    assert!(named.len() >= 7, "{named:?}");
}

/// The audit lines of a daemon.
fn audited(world: &World, role: Role) -> Vec<Value> {
    let log = fs::read_to_string(world.state_of(role).join("log")).unwrap();
    let lines = log.lines().map(|line| serde_json::from_str(line).unwrap());
    lines
        .filter(|line: &Value| line["target"] == "audit")
        .collect()
}

/// The line of an action.
#[track_caller]
fn line(lines: &[Value], action: &str, result: &str) -> Value {
    let is_meant = |line: &&Value| line["action"] == action && line["result"] == result;
    let found = lines.iter().find(is_meant);
    found
        .unwrap_or_else(|| panic!("{action} is not told: {lines:#?}"))
        .clone()
}

#[test]
fn the_audit_log_tells_who_has_done_what_and_no_secret() {
    let world = World::with_metrics(1);
    let (sandbox, ana) = (&world.sandbox, world.user("ana"));
    let eve = world.admin("eve");
    let file = sandbox.file(
        "secret.yaml",
        "xavantes: 1\nname: secret\ninputs:\n  word: string\nbody:\n  sequence:\n    - activity: first\n      env: { PASSWORD: sesame-in-environment }\n      run: { shell: \"sleep 600 # ${inputs.word}\" }\n",
    );
    let given = ["-i", "word=sesame-in-input", "--grid", &ana];
    let submitted = sandbox.xav(&[&["submit", &file][..], &given].concat());
    let id = submitted.expect(0).stdout.trim_end().to_owned();
    sandbox.xav(&["cancel", &id, "--grid", &eve]).expect(0);
    wait::until("the process to be forgotten", || {
        let done = sandbox.xav(&["forget", &id, "--grid", &ana]);
        (done.status == Some(0)).then_some(())
    });
    let pm = audited(&world, Role::Pm);
    let submit = line(&pm, "submit", "done");
    assert_eq!(submit["by"], "xav://grid/lab/user/ana");
    assert_eq!(submit["address"], "127.0.0.1");
    assert_eq!(submit["process"], id.as_str());
    let cancel = line(&pm, "cancel", "done");
    assert_eq!(cancel["by"], "xav://grid/lab/admin/eve");
    assert_eq!(cancel["owner"], "xav://grid/lab/user/ana");
    assert_eq!(line(&pm, "forget", "done")["by"], "xav://grid/lab/user/ana");

    let token = sandbox.xav(&["token", "create", "--role", "am", "--grid", &eve]);
    let token = token.expect(0).stdout.trim_end().to_owned();
    sandbox
        .xav(&["token", "create", "--role", "am", "--grid", &ana])
        .expect(1);
    sandbox.xav(&["drain", "am1", "--grid", &eve]).expect(0);
    sandbox.xav(&["undrain", "am1", "--grid", &eve]).expect(0);
    let gm = audited(&world, Role::Gm);
    for action in ["create-token", "drain", "undrain"] {
        let told = line(&gm, action, "done");
        assert_eq!(told["by"], "xav://grid/lab/admin/eve", "{told}");
        assert_eq!(told["address"], "127.0.0.1");
    }
    let made = line(&gm, "create-token", "done");
    let made = made["subject"].as_str().unwrap().to_owned();
    assert!(made.starts_with("am/*: token "), "{made}");
    let refused = line(&gm, "create-token", "refused");
    assert_eq!(refused["by"], "xav://grid/lab/user/ana");
    assert_eq!(line(&gm, "drain", "done")["subject"], "am/am1");

    for (role, word) in ROLES {
        let log = fs::read(world.state_of(role).join("log")).unwrap();
        let text = String::from_utf8(log).unwrap();
        for secret in ["sesame", "PASSWORD", token.as_str()] {
            assert!(!text.contains(secret), "{word} logs {secret}");
        }
        assert!(!text.contains('\u{1b}'), "{word} logs an escape sequence");
    }
}
