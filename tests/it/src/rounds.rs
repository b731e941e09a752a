//! Machines that turn out slower than planned: what has not started there goes elsewhere.

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

use crate::sandbox::Sandbox;
use crate::wait;

/// Twelve activities of half a second, two machines of one slot.
fn stalled(sandbox: &Sandbox, head: &str) -> (String, String) {
    let log = sandbox.path("log").display().to_string();
    let machines = "machines: [{ name: one }, { name: two }]\n";
    let machines = sandbox.file("machines.yaml", machines);
    let text = format!(
        "\
xavantes: 1
name: stalled
{head}
body:
  for-each:
    item: n
    in: ${{ range(0, 12) }}
    do:
      activity: nap
      run: {{ shell: 'echo $$ >> {log}; sleep 0.5' }}
      work: 500ms
"
    );
    (sandbox.file("stalled.yaml", &text), machines)
}

/// Activities that have completed on each of two machines.
fn completed(status: &Value) -> [usize; 2] {
    let all = status["activity_list"].as_array().unwrap();
    ["one", "two"].map(|name| {
        let there = all.iter().filter(|one| {
            let last = one["attempts"].as_array().and_then(|all| all.last());
            one["state"] == "completed" && last.is_some_and(|last| last["resource"] == name)
        });
        there.count()
    })
}

#[test]
fn what_waits_at_a_machine_that_stalls_runs_on_the_other_one() {
    let sandbox = Sandbox::new();
    let (file, machines) = stalled(&sandbox, "");
    let mut run = sandbox.start(&["run", &file, "--machines", &machines]);
    sandbox.wait_for_lines("log", 1);
    // One command stands still.
    let first: i32 = sandbox.lines("log")[0].parse().unwrap();
    let group = Pid::from_raw(first).unwrap();
    kill_process_group(group, Signal::STOP).unwrap();
    let status = wait::until("all others have completed", || {
        let status = sandbox.json(&["status", "--json"]);
        let completed = completed(&status);
        (completed[0] + completed[1] == 11).then_some(status)
    });
    assert!(!run.has_ended());
    let on = completed(&status);
    assert_eq!(on[0].min(on[1]), 0, "{on:?}");
    let slow = if on[0] == 0 { "one" } else { "two" };
    let why = &status["rescheduled"][0];
    assert_eq!(why["resource"], slow, "{why}");
    assert!(why["moved"].as_u64().unwrap() > 0, "{why}");
    assert!(why["power_part"].as_f64().unwrap() < 1.0, "{why}");
    assert!(
        why["seconds"].as_f64() < why["seconds_without"].as_f64(),
        "{why}"
    );
    sandbox
        .xav(&["status"])
        .expect(0)
        .shows("rescheduled")
        .shows(&format!("{slow} is "));
    let fast = if slow == "one" { "two" } else { "one" };
    let moved = format!(" to {fast}, the end comes ");
    let slower = format!("{slow} is ");
    sandbox
        .xav(&["why"])
        .expect(0)
        .shows(&slower)
        .shows(" times slower than expected: ")
        .shows(" earlier");
    sandbox
        .xav(&["report", "--out", "-"])
        .expect(0)
        .shows("<h2 id=\"rounds\">Rounds</h2>")
        .shows(" times slower than expected");
    kill_process_group(group, Signal::CONT).unwrap();
    let ended = run.end().expect(0);
    ended.says(" times slower than expected: ").says(&moved);
    // Nothing ran twice.
    assert_eq!(sandbox.lines("log").len(), 12);
}

#[test]
fn nothing_moves_where_the_user_wants_that() {
    let sandbox = Sandbox::new();
    let (file, machines) = stalled(&sandbox, "policy: static");
    let mut run = sandbox.start(&["run", &file, "--machines", &machines]);
    sandbox.wait_for_lines("log", 1);
    let first: i32 = sandbox.lines("log")[0].parse().unwrap();
    let group = Pid::from_raw(first).unwrap();
    kill_process_group(group, Signal::STOP).unwrap();
    let status = wait::until("one machine has run its part", || {
        let status = sandbox.json(&["status", "--json"]);
        let completed = completed(&status);
        (completed[0].max(completed[1]) == 6).then_some(status)
    });
    // Long enough for another plan, if one were made.
    wait::moment(std::time::Duration::from_secs(2));
    let later = sandbox.json(&["status", "--json"]);
    assert_eq!(completed(&later), completed(&status));
    assert_eq!(later["rescheduled_times"], 0);
    assert!(!run.has_ended());
    kill_process_group(group, Signal::CONT).unwrap();
    run.end().expect(0);

    let wrong = ["run", &file, "--machines", &machines, "--policy", "statik"];
    sandbox.xav(&wrong).expect(2).says("did you mean `static`?");
    let over = [
        "run",
        &file,
        "--machines",
        &machines,
        "--policy",
        "xavantes",
        "--quiet",
    ];
    sandbox.xav(&over).expect(0);
    let shown = sandbox.json(&["status", "--json"]);
    assert_eq!(shown["state"], "completed");
}
