//! The history of activities: it plans later runs, and is nobody else's.

use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::kills::{drawn, kills};
use crate::sandbox::Sandbox;
use crate::wait;

/// Items of the body.
pub(crate) const TILES: usize = 4;

/// Nobody says any work. `until` is a file that the last step waits for.
const MOSAIC: &str = "
xavantes: 1
name: mosaic
inputs:
  until: { type: string, default: '' }
body:
  sequence:
    - for-each:
        item: tile
        in: ${ range(4) }
        do:
          activity: expose
          run: { shell: 'i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done; true' }
    - activity: join
      env: { UNTIL: '${ inputs.until }' }
      run: { shell: 'while [ -n \"$UNTIL\" ] && [ ! -e \"$UNTIL\" ]; do sleep 0.01; done' }
";

pub(crate) fn mosaic(sandbox: &Sandbox) -> String {
    sandbox.file("mosaic.yaml", MOSAIC)
}

/// The record of an activity of mosaic in the history; null where there is none.
fn remembered(sandbox: &Sandbox, activity: &str) -> Value {
    let all = sandbox.json(&["history", "mosaic", "--json"]);
    let all = all["history"].as_array().unwrap().clone();
    let mut own = all.into_iter().filter(|one| one["activity"] == activity);
    own.next().unwrap_or_default()
}

fn n_completed(sandbox: &Sandbox, activity: &str) -> u64 {
    remembered(sandbox, activity)["completed"]
        .as_u64()
        .unwrap_or(0)
}

#[test]
fn a_second_run_is_planned_by_the_first_one_and_tells_the_time_left() {
    let sandbox = Sandbox::new();
    let file = mosaic(&sandbox);
    let first = sandbox.json(&["run", &file, "--json"]);
    assert_eq!(first["planned_makespan_seconds"], Value::Null, "{first}");
    assert_eq!(n_completed(&sandbox, "expose"), TILES as u64);
    assert_eq!(n_completed(&sandbox, "join"), 1);
    let plan = sandbox.json(&["plan", &file, "--json"]);
    let until = sandbox.path("until");
    let input = format!("until={}", until.display());
    let run = sandbox.start(&["run", &file, "--json", "--input", &input]);
    let status = wait::until("the last step runs", || {
        let done = sandbox.xav(&["status", "--json"]);
        let status: Value = serde_json::from_str(&done.stdout).ok()?;
        let is_second = status["process"] != first["process"];
        (is_second
            && status["activities"]["running"] == 1
            && status["activities"]["completed"] == 4)
            .then_some(status)
    });
    assert!(status["left_seconds"].is_number(), "{status}");
    assert!(status["left_seconds_p90"].as_f64() >= status["left_seconds"].as_f64());
    let id = status["process"].as_str().unwrap();
    sandbox.xav(&["status", id]).expect(0).shows(" left (p90 ");
    sandbox.file("until", "");
    let second: Value = serde_json::from_str(&run.end().expect(0).stdout).unwrap();
    let planned = second["planned_makespan_seconds"].as_f64().unwrap();
    // The items are known only while it runs; `xav plan` follows them from the definition.
    assert!(planned > 0.0 && planned <= plan["makespan"].as_f64().unwrap() * 10.0);
    assert_eq!(n_completed(&sandbox, "expose"), 2 * TILES as u64);
    sandbox
        .xav(&["history"])
        .expect(0)
        .shows("mosaic\n")
        .shows("expose");
    sandbox
        .xav(&["history", "mosaic", "--forget"])
        .expect(0)
        .shows("3 records forgotten");
    sandbox
        .xav(&["history"])
        .expect(0)
        .shows("nothing is remembered");
}

/// Nobody knows before how often it goes round.
const RELAX: &str = "
xavantes: 1
name: relax
body:
  while: ${ at < 5 }
  index: at
  do: { activity: sweep, run: [sleep, '0.2'] }
";

#[test]
fn a_second_run_expects_as_many_iterations_as_the_first_one_had() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("relax.yaml", RELAX);
    sandbox.json(&["run", &file, "--json"]);
    let all = sandbox.json(&["history", "relax", "--json"]);
    let all = all["history"].as_array().unwrap();
    let of = |key: &str, name: &str| all.iter().find(|one| one[key] == name).cloned();
    let loops = of("controller", "while sweep").expect("a record of the loop");
    assert_eq!((&loops["runs"], &loops["bodies"]), (&json!(1), &json!(5.0)));
    let sweep = of("activity", "sweep").expect("a record of the activity");
    let one = sweep["work_seconds"].as_f64().unwrap();
    let second = sandbox.json(&["run", &file, "--json"]);
    let planned = second["planned_makespan_seconds"].as_f64().unwrap();
    assert!(
        (planned / one - 5.0).abs() < 0.1,
        "{planned} of {one}: {second}"
    );
    let plan = sandbox.json(&["plan", &file, "--json"]);
    let [makespan, expected] =
        ["makespan", "expected_makespan"].map(|key| plan[key].as_f64().unwrap());
    assert!((expected / makespan - 5.0).abs() < 0.01, "{plan}");
    let plan = sandbox.xav(&["plan", &file]).expect(0);
    plan.shows("with as many items and iterations as in earlier runs");
    sandbox
        .xav(&["history", "relax"])
        .expect(0)
        .shows("5.0 times");
}

#[test]
fn runs_at_once_both_add_to_the_history() {
    let sandbox = Sandbox::new();
    let file = mosaic(&sandbox);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| sandbox.xav(&["run", &file]).expect(0));
        }
    });
    assert_eq!(n_completed(&sandbox, "expose"), 4 * TILES as u64);
    assert_eq!(n_completed(&sandbox, "join"), 4);
}

/// `XAVANTES_KILLS` says how many runs are killed; a few where it is not set.
#[test]
fn a_run_that_is_killed_harms_no_history() {
    let sandbox = Sandbox::new();
    let file = mosaic(&sandbox);
    sandbox.xav(&["run", &file]).expect(0);
    let mut least = n_completed(&sandbox, "expose");
    for seed in 0..kills() {
        let run = sandbox.start(&["run", &file, "--json"]);
        wait::moment(Duration::from_micros(drawn(seed) % 150_000));
        run.signal(Signal::KILL);
        drop(run.end());
        let after = n_completed(&sandbox, "expose");
        assert!(after >= least, "{after} after {least}, seed {seed}");
        least = after;
    }
    sandbox.xav(&["run", &file]).expect(0);
    assert!(n_completed(&sandbox, "expose") >= least + TILES as u64);
    assert!(remembered(&sandbox, "expose")["work_seconds"].as_f64() > Some(0.0));
}

#[test]
fn a_history_that_is_damaged_stops_no_run() {
    let sandbox = Sandbox::new();
    let file = mosaic(&sandbox);
    sandbox.xav(&["run", &file]).expect(0);
    let path = sandbox.path("data/xavantes/history");
    let mut bytes = std::fs::read(&path).unwrap();
    for byte in bytes.iter_mut().step_by(7) {
        *byte ^= 0x55;
    }
    std::fs::write(&path, bytes).unwrap();
    assert_eq!(n_completed(&sandbox, "expose"), 0);
    sandbox.xav(&["run", &file]).expect(0);
    assert_eq!(n_completed(&sandbox, "expose"), TILES as u64);
}
