//! Commands that run when another one fails.

use crate::sandbox::Sandbox;

/// `long` goes on for a second after `short` has failed, beside it; `after` comes after `long`.
fn night(sandbox: &Sandbox, head: &str, short: &str) -> String {
    let path = |name: &str| sandbox.path(name).display().to_string();
    let (log, begun) = (path("log"), path("begun"));
    let text = format!(
        "\
xavantes: 1
name: night
{head}
body:
  parallel:
    - sequence:
        - activity: long
          run: {{ shell: 'touch {begun}; sleep 1; echo long >> {log}; echo done > out' }}
          outputs: {{ out: out }}
        - activity: after
          run: {{ shell: 'echo after >> {log}; cat out' }}
          inputs: {{ out: long.out }}
    - activity: short
      run: {{ shell: 'until test -e {begun}; do sleep 0.01; done; echo short >> {log}; {short}' }}
"
    );
    sandbox.file("night.yaml", &text)
}

fn phases(sandbox: &Sandbox) -> Vec<String> {
    let status = sandbox.json(&["status", "--json"]);
    let all = status["activity_list"].as_array().unwrap();
    let phase = |one: &serde_json::Value| one["state"].as_str().unwrap().to_owned();
    all.iter().map(phase).collect()
}

#[test]
fn what_runs_goes_on_to_its_end_and_stands_for_a_rerun() {
    let sandbox = Sandbox::new();
    let file = night(&sandbox, "", "exit 3");
    let run = ["run", &file, "--slots", "2"];
    let failed = sandbox.xav(&run).expect(1);
    failed
        .says("nothing more starts; what runs (1 activity) goes on to its end: xav cancel ")
        .says("fault: activity short: exited with status 3");
    assert_eq!(sandbox.lines("log"), ["short", "long"]);
    assert_eq!(phases(&sandbox), ["completed", "skipped", "faulted"]);
    let mended = night(&sandbox, "", "exit 0");
    sandbox.xav(&["rerun", "--file", &mended]).expect(0);
    let mut ran = sandbox.lines("log").split_off(2);
    ran.sort();
    assert_eq!(ran, ["after", "short"]);
}

#[test]
fn a_definition_may_say_that_it_is_stopped_and_an_option_goes_before_it() {
    let sandbox = Sandbox::new();
    let file = night(&sandbox, "on-fault: stop", "exit 3");
    let run = ["run", &file, "--slots", "2", "--quiet"];
    sandbox.xav(&run).expect(1);
    assert_eq!(sandbox.lines("log"), ["short"]);
    assert_eq!(phases(&sandbox), ["stopped", "skipped", "faulted"]);

    let over = [&run[..], &["--on-fault", "continue"]].concat();
    sandbox.xav(&over).expect(1);
    assert_eq!(phases(&sandbox), ["completed", "completed", "faulted"]);
    let wrong = [&run[..], &["--on-fault", "finnish"]].concat();
    sandbox.xav(&wrong).expect(2).says("did you mean `finish`?");
}
