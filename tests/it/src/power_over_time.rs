//! Machines whose power changes while a process runs, as a platform file says.

use std::fs;

use rustix::process::Signal;

use crate::sandbox::Sandbox;
use crate::wait;

/// A machine that stands still after three seconds, for a day.
const STALLS: &str =
    "machines: [{name: stalls, power: [{from: 0s, is: 1}, {from: 3s, is: 0}, {from: 1d, is: 1}]}]";

#[test]
fn a_machine_stands_still_as_its_file_says_and_its_time_begins_anew_with_the_managers() {
    let sandbox = Sandbox::new();
    let machines = sandbox.file("machines.yaml", STALLS);
    // A command that needs a core until somebody lets it go.
    let (pid, go) = (sandbox.path("pid"), sandbox.path("go"));
    let definition = sandbox.file(
        "waits.yaml",
        format!(
            "xavantes: 1\nname: waits\nbody:\n  sequence:\n    - activity: one\n      work: 1s\n      run: {{ shell: \"echo $$ >> {}; until [ -e {} ]; do :; done\" }}\n",
            pid.display(),
            go.display()
        ),
    );
    let state = sandbox.path("state").display().to_string();
    let run = sandbox.start(&[
        "run",
        &definition,
        "--machines",
        &machines,
        "--state",
        &state,
    ]);
    sandbox.wait_for_lines("pid", 1);
    // It is stopped, and nothing but the standstill stops it: until then it has all of the machine.
    let pid = sandbox.lines("pid")[0].clone();
    wait::until("a command that stands still", || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.contains(") T ").then_some(())
    });
    run.signal(Signal::KILL);
    run.end();
    fs::write(go, "").unwrap();
    // The executor has outlived the run, and hears that the time of its machine begins anew.
    sandbox
        .xav(&["resume", "--state", &state, "--quiet"])
        .expect(0);
    let status = sandbox.json(&["status", "--state", &state, "--json"]);
    assert_eq!(status["state"], "completed", "{status}");
}

#[test]
fn a_plan_for_changing_machines_says_that_it_knows_the_start_alone() {
    let sandbox = Sandbox::new();
    let machines = sandbox.file("machines.yaml", STALLS);
    let definition = sandbox.file(
        "one.yaml",
        "xavantes: 1\nname: one\nbody:\n  sequence:\n    - { activity: one, work: 10s, run: [x] }\n",
    );
    let plan = ["plan", &definition, "--platform", &machines];
    sandbox
        .xav(&plan)
        .expect(0)
        .shows("the power of 1 machine changes later, and the plan has that of the start");
    let plan = sandbox.json(&["plan", &definition, "--platform", &machines, "--json"]);
    assert_eq!(plan["makespan"], 10.0);
    assert_eq!(plan["machines"][0]["changes_power"], true);
}

#[test]
fn a_machine_that_stops_for_ever_is_warned_of_and_its_works_are_not_remembered() {
    let sandbox = Sandbox::new();
    let machines = sandbox.file(
        "machines.yaml",
        "machines: [{name: dies, power: [{from: 0s, is: 1}, {from: 10m, is: 0}]}]",
    );
    let definition = sandbox.file(
        "short.yaml",
        "xavantes: 1\nname: short\nbody:\n  sequence:\n    - { activity: one, run: [\"true\"] }\n",
    );
    sandbox
        .xav(&["run", &definition, "--machines", &machines])
        .expect(0)
        .says("dies stands still for ever after 10m 00s");
    let history = sandbox.json(&["history", "--json"]);
    assert!(!history.to_string().contains("short"), "{history}");
    sandbox.xav(&["run", &definition]).expect(0);
    let history = sandbox.json(&["history", "--json"]);
    assert!(history.to_string().contains("short"), "{history}");
}

#[test]
fn a_run_whose_machine_has_stopped_for_ever_is_given_up_with_the_reason_and_can_be_resumed() {
    let sandbox = Sandbox::new();
    let machines = sandbox.file(
        "machines.yaml",
        "machines: [{name: dies, power: [{from: 0s, is: 1}, {from: 1s, is: 0}]}]",
    );
    let go = sandbox.path("go");
    let definition = sandbox.file(
        "stuck.yaml",
        format!(
            "xavantes: 1\nname: stuck\nbody:\n  sequence:\n    - {{ activity: one, run: {{ shell: \"until [ -e {} ]; do :; done\" }} }}\n    - {{ activity: two, run: [\"true\"] }}\n",
            go.display()
        ),
    );
    let state = sandbox.path("state").display().to_string();
    let run = [
        "run",
        &definition,
        "--machines",
        &machines,
        "--state",
        &state,
    ];
    sandbox
        .xav(&run)
        .expect(1)
        .says("stuck can never end: one runs on dies, which stands still for ever after 1.0s; 1 activity waits for that")
        .says("what was recorded is safe: mend the cause, then xav resume");
    fs::write(go, "").unwrap();
    sandbox
        .xav(&["resume", "--state", &state, "--quiet"])
        .expect(0);
}
