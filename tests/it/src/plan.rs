//! Plans without runs, and runs on machines of different speed.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use crate::sandbox::{Sandbox, root};

/// A shell that counts for a while: it needs a core all the time.
const BUSY: &str = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";

fn two_speeds() -> String {
    let path = root().join("workflows/samples/platforms/two-speeds.yaml");
    path.to_str().unwrap().to_owned()
}

/// The attempts of each activity of a process, by the name of the activity.
fn attempts(status: &Value, activity: &str) -> Vec<Value> {
    let all = status["activity_list"].as_array().unwrap();
    let one = all.iter().find(|one| one["activity"] == activity).unwrap();
    one["attempts"].as_array().unwrap().clone()
}

#[test]
fn a_plan_is_shown_and_nothing_is_stored() {
    let sandbox = Sandbox::new();
    let primes = root().join("workflows/samples/primes/primes.yaml");
    let primes = primes.to_str().unwrap();
    let done = sandbox.xav(&["plan", primes]).expect(0);
    assert_eq!(done.stderr, "");
    let done = done.shows("primes: 9 activities").shows("this machine");
    done.shows("makespan").shows("merge").shows("critical");
    let svg = sandbox.path("plan.svg");
    let plan = sandbox.json(&[
        "plan",
        primes,
        "--platform",
        &two_speeds(),
        "--json",
        "--svg",
        svg.to_str().unwrap(),
    ]);
    assert_eq!(plan["activities"].as_array().unwrap().len(), 9);
    assert_eq!(plan["machines"][1]["name"], "slow");
    assert!(plan["makespan"].as_f64() >= plan["bound"].as_f64());
    assert!(fs::read_to_string(svg).unwrap().starts_with("<svg "));
    // Two thirds of the work go to the machine that is twice as fast.
    let activities = plan["activities"].as_array().unwrap();
    let on_fast = activities.iter().filter(|one| one["machine"] == "fast");
    assert!(on_fast.count() >= 5, "{plan}");
    assert_eq!(sandbox.n_runs(), 0);
    assert!(!sandbox.path("data").exists());
}

#[test]
fn a_deadline_chooses_machines_and_a_late_one_is_refused() {
    let sandbox = Sandbox::new();
    let steps: String = (0..12)
        .map(|n| format!("    - {{ activity: a{n}, run: [x], work: 10m }}\n"))
        .collect();
    let bag = sandbox.path("bag.yaml");
    fs::write(
        &bag,
        format!("xavantes: 1\nname: bag\nbody:\n  parallel:\n{steps}"),
    )
    .unwrap();
    let cloud = sandbox.path("cloud.yaml");
    let machines = "machines:\n  - { name: small, count: 6, price: 0.1, idle-watts: 50, busy-watts: 90 }\n  \
                    - { name: large, power: 4, price: 2, idle-watts: 80, busy-watts: 200 }\n";
    fs::write(&cloud, machines).unwrap();
    let plan = |more: &[&str]| {
        let files = [bag.to_str().unwrap(), "--platform", cloud.to_str().unwrap()];
        let search = ["plan", "--plan-budget", "10ms"];
        sandbox.xav(&[&search[..], &files, more].concat())
    };
    plan(&["--deadline", "30m"])
        .expect(0)
        .shows("30m 00s held; fewer machines cannot hold it")
        .shows("0.5000 slot hours on 1 machine (1 slot), price 1.00, 0.1000 kWh");
    plan(&["--deadline", "40m", "--minimise", "money"])
        .expect(0)
        .shows("with the least money of ")
        .shows("2.00 slot hours on 6 machines (6 slots), price 0.20");
    plan(&["--within", "1.5", "--minimise", "slot-hours"])
        .expect(0)
        .shows("with the least slot-hours of ");
    plan(&["--compare"]).expect(0).shows("SLOT HOURS  PRICE");
    plan(&["--deadline", "11m"])
        .expect(1)
        .says("no plan that was found holds the deadline of 11m 00s: the best takes 15m 00s");
    plan(&["--minimise", "money"])
        .expect(2)
        .says("--minimise without a deadline");
    plan(&["--within", "0.9", "--minimise", "money"])
        .expect(2)
        .says("a factor is a number from 1");
}

#[test]
fn samples_of_platforms_are_planned_for_and_passed_for() {
    let sandbox = Sandbox::new();
    let primes = root().join("workflows/samples/primes/primes.yaml");
    let primes = primes.to_str().unwrap();
    let sites = root().join("workflows/samples/platforms/two-sites.yaml");
    let done = sandbox.xav(&["plan", primes, "--platform", sites.to_str().unwrap()]);
    done.expect(0)
        .shows("15 machines in 3 groups")
        .shows("rack-1");
    let done = sandbox
        .xav(&["run", primes, "--machines", &two_speeds()])
        .expect(0);
    assert_eq!(done.stdout, "count: 148933\n");
    done.says("2 slots of fast, slow");
}

#[test]
fn schedulers_are_compared_by_their_names() {
    let sandbox = Sandbox::new();
    let recorded = root().join("workflows/samples/recorded/recorded.json");
    let compared = sandbox.json(&[
        "plan",
        recorded.to_str().unwrap(),
        "--platform",
        "reference:64:ccr1",
        "--compare",
        "--json",
    ]);
    let bound = compared["bound"].as_f64().unwrap();
    for name in [
        "heft",
        "heft-b",
        "cpop",
        "pch",
        "peft",
        "ippts",
        "lookahead",
    ] {
        let one = &compared["schedulers"][name];
        assert!(
            one["makespan"].as_f64().unwrap() >= bound * (1.0 - 1e-9),
            "{name}: {one}"
        );
        assert!(one["seconds"].as_f64().unwrap() >= 0.0, "{name}: {one}");
    }
}

#[test]
fn what_is_wrong_with_a_platform_is_shown_at_its_place() {
    let sandbox = Sandbox::new();
    let primes = root().join("workflows/samples/primes/primes.yaml");
    let primes = primes.to_str().unwrap();
    let bad = sandbox.file(
        "bad.yaml",
        "machines:\n  - { name: a, powr: 1 }\n  - { name: b, power: 0 }\n",
    );
    for arguments in [
        ["plan", primes, "--platform", &bad],
        ["run", primes, "--machines", &bad],
    ] {
        let done = sandbox.xav(&arguments).expect(2);
        let done = done
            .says("did you mean `power`?")
            .says("it is a number above 0");
        done.says("bad.yaml:2:");
    }
    let none = sandbox.xav(&["plan", primes, "--platform", "reference:9:lan"]);
    none.expect(2).says("there are 8, 64 and 512");
    let none = sandbox.xav(&["run", primes, "--scheduler", "hefd"]);
    none.expect(2).says("did you mean `heft`?");
    assert_eq!(sandbox.n_runs(), 0);
}

#[test]
fn tables_become_a_platform_that_is_planned_for() {
    let sandbox = Sandbox::new();
    sandbox.file("small-nodes.csv", "node,worker_nodes\n0,2\n1,0\n2,1\n");
    sandbox.file("small-links.csv", "a,b,mbit_s\n0,1,10\n1,2,100\n");
    sandbox
        .xav(&["platform", "import", ".", "--out", "small.yaml"])
        .expect(0);
    let primes = root().join("workflows/samples/primes/primes.yaml");
    let plan = sandbox.json(&[
        "plan",
        primes.to_str().unwrap(),
        "-p",
        "small.yaml",
        "--json",
    ]);
    let machines = plan["machines"].as_array().unwrap();
    let names: Vec<&str> = machines
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["site-0-1", "site-0-2", "site-2"]);
    sandbox.xav(&["platform", "import", "data"]).expect(2);
}

#[test]
fn a_machine_of_half_the_power_takes_twice_as_long() {
    let sandbox = Sandbox::new();
    let machines = sandbox.file(
        "machines.yaml",
        "machines: [{name: fast, labels: {speed: full}}, {name: slow, power: 0.5, labels: {speed: half}}]",
    );
    let mut text = String::from("xavantes: 1\nname: speeds\nbody:\n  parallel:\n");
    for speed in ["full", "half"] {
        text.push_str(&format!(
            "    - activity: {speed}\n      run: {{ shell: \"{BUSY}; echo {speed} > out\" }}\n      \
             labels: {{ speed: {speed} }}\n      outputs: {{ out: out }}\n      work: 1s\n"
        ));
    }
    // Each reads the other machine's file.
    let definition = sandbox.file(
        "speeds.yaml",
        format!(
            "{}    - activity: both\n      run: {{ shell: 'cat one two' }}\n      labels: {{ speed: half }}\n      \
             inputs: {{ one: full.out, two: half.out }}\n      stdout: {{ into: both }}\n      work: 10ms\n  links:\n    - {{ from: full, to: both }}\n    - {{ from: half, to: both }}\n",
            text.replace("body:", "variables: { both: string }\noutputs: { both: \"${both}\" }\nbody:")
        ),
    );
    let ran = sandbox.json(&["run", &definition, "--machines", &machines, "--json"]);
    assert_eq!(ran["outputs"]["both"], "full\nhalf", "{ran}");
    let status = sandbox.json(&["status", "--json"]);
    let half = &attempts(&status, "half")[0];
    assert_eq!(half["resource"], "slow");
    assert_eq!(attempts(&status, "full")[0]["resource"], "fast");
    let (wall, cpu) = (
        half["wall_seconds"].as_f64().unwrap(),
        half["cpu_seconds"].as_f64().unwrap(),
    );
    // The first turn is free; what other programs take makes it longer, never shorter.
    assert!(wall >= 1.7 * (cpu - 0.02), "{cpu} s of CPU in {wall} s");
    let logs = sandbox.xav(&["logs", "both"]).expect(0);
    assert!(logs.stdout.contains("full\nhalf\n"), "{logs:?}");
}

#[test]
fn a_killed_run_goes_on_with_its_machines() {
    let sandbox = Sandbox::new();
    let log = sandbox.path("log").display().to_string();
    let mut text = String::from("xavantes: 1\nname: chain\nbody:\n  sequence:\n");
    for step in 0..6 {
        text.push_str(&format!(
            "    - parallel:\n        - {{ activity: a{step}, work: 1s, run: {{ shell: \"echo a >> {log}; sleep 0.1\" }} }}\n        - {{ activity: b{step}, work: 1s, run: {{ shell: \"echo b >> {log}; sleep 0.1\" }} }}\n        - {{ activity: c{step}, work: 1s, run: {{ shell: \"echo c >> {log}; sleep 0.1\" }} }}\n"
        ));
    }
    let definition = sandbox.file("chain.yaml", text);
    let state = sandbox.path("state").display().to_string();
    let run = sandbox.start(&[
        "run",
        &definition,
        "--machines",
        &two_speeds(),
        "--state",
        &state,
        "--quiet",
    ]);
    sandbox.wait_for_lines("log", 4);
    run.signal(Signal::KILL);
    run.end();
    // Neither fewer nor other machines, nor other slots.
    let other = sandbox.file("other.yaml", "machines: [{name: fast}]");
    let refused = sandbox.xav(&["run", &definition, "--machines", &other, "--state", &state]);
    refused.expect(2).says("has other machines");
    let refused = sandbox.xav(&["resume", "--state", &state, "--slots", "2"]);
    refused.expect(2).says("leave --slots out");
    sandbox
        .xav(&["resume", "--state", &state, "--quiet"])
        .expect(0);
    let status = sandbox.json(&["status", "--state", &state, "--json"]);
    assert_eq!(status["state"], "completed");
    let mut on = std::collections::BTreeSet::new();
    for step in 0..6 {
        for name in ["a", "b", "c"] {
            let last = attempts(&status, &format!("{name}{step}")).pop().unwrap();
            on.insert(last["resource"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(on.into_iter().collect::<Vec<_>>(), ["fast", "slow"]);
}
