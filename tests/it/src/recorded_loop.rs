//! A recorded workflow in a loop: exported as a definition, put into the body of a `repeat-until`, with a
//! file that goes from each iteration to the next.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::recorded;
use crate::sandbox::{Sandbox, root};

/// Iterations.
const ROUNDS: usize = 3;

const LOOP: &str = "\
xavantes: 1
name: rounds
outputs: { image: OUTPUT }
body:
  sequence:
    - activity: begin
      run: { shell: 'echo begin > image' }
      outputs: { image: image }
    - repeat-until: ${ round == LAST }
      index: round
      do:
BODY
";

/// What a command has noted of itself.
struct Noted {
    /// Microseconds of the machine's clock.
    start: u64,
    end: u64,
    /// The hash of the file that it got from the iteration before, where it got one.
    carried: Option<String>,
}

/// The definition of a loop over what was exported. The activities of the recording that read nothing from
/// others read what `last` has made in the iteration before.
fn looped(exported: &str, last: &str) -> String {
    let body = exported.split_once("body:\n").unwrap().1;
    let mut steps: Vec<Vec<&str>> = vec![Vec::new()];
    for line in body.lines() {
        if line.trim_start().starts_with("- activity: ") {
            steps.push(Vec::new());
        }
        steps.last_mut().unwrap().push(line);
    }
    let own = steps.iter().find(|step| step[0].ends_with(last)).unwrap();
    let output = format!("{last}.{}", output_of(own));
    let mut lines = Vec::new();
    for step in &steps {
        let is_first =
            step[0].contains("- activity: ") && !step.iter().any(|one| has(one, "inputs:"));
        for line in step {
            let indent = &line[..line.len() - line.trim_start().len()];
            if is_first && has(line, "- \"--write\"") {
                lines.extend([format!("{indent}- \"--read\""), format!("{indent}- before")]);
            } else if is_first && has(line, "outputs:") {
                let carried = format!("{{ first: begin.image, then: {output} }}");
                lines.push(format!("{indent}inputs: {{ before: {carried} }}"));
            }
            lines.push((*line).to_owned());
        }
    }
    let inside: Vec<String> = lines.iter().map(|line| format!("      {line}")).collect();
    LOOP.replace("OUTPUT", &output)
        .replace("LAST", &(ROUNDS - 1).to_string())
        .replace("BODY", &inside.join("\n"))
}

fn has(line: &str, key: &str) -> bool {
    line.trim_start().starts_with(key)
}

/// The name of the first output of an activity.
fn output_of<'a>(step: &[&'a str]) -> &'a str {
    let at = step.iter().position(|line| has(line, "outputs:")).unwrap();
    let own = step[at]
        .split_once("outputs: { ")
        .map_or_else(|| step[at + 1], |(_, own)| own);
    let name = own.split(':').next().unwrap();
    name.trim().trim_matches('"')
}

/// By activity, what each of its commands has noted, the earliest first.
fn noted(log: &Path) -> BTreeMap<String, Vec<Noted>> {
    let mut noted: BTreeMap<String, Vec<Noted>> = BTreeMap::new();
    for line in fs::read_to_string(log).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let one = Noted {
            start: line["start"].as_u64().unwrap(),
            end: line["end"].as_u64().unwrap(),
            carried: line["inputs"]["before"].as_str().map(str::to_owned),
        };
        let name = line["name"].as_str().unwrap().to_owned();
        noted.entry(name).or_default().push(one);
    }
    for all in noted.values_mut() {
        all.sort_by_key(|one| one.start);
    }
    noted
}

/// The hash of the first output of an activity.
fn made_by(status: &Value, name: &str) -> String {
    let mut activities = status["activity_list"].as_array().unwrap().iter();
    let own = activities.find(|one| one["activity"] == name).unwrap();
    let outputs = own["outputs"].as_object().unwrap();
    let hash = outputs.values().next().unwrap()["hash"].as_str();
    hash.unwrap().to_owned()
}

/// Runs a recording in a loop; `last` is the activity that makes what the next iteration reads.
fn rounds_of(recording: &Path, last: &str, cpu_total: &str) {
    let sandbox = Sandbox::new();
    let log = sandbox.path("burns.log");
    let exported = sandbox.xav(&[
        "export",
        recording.to_str().unwrap(),
        &format!("--cpu-total={cpu_total}"),
        "--data-scale=0.0001",
        "--record",
        log.to_str().unwrap(),
    ]);
    let definition = looped(&exported.expect(0).stdout, last);
    let file = sandbox.file("rounds.yaml", definition);
    let json = sandbox.json(&["run", &file, "--json"]);
    assert_eq!(json["state"], "completed", "{json}");
    let tasks = recorded::tasks(recording);
    let noted = noted(&log);
    let status = sandbox.json(&["status", "--json"]);
    let made: Vec<String> = (0..ROUNDS)
        .map(|round| made_by(&status, &format!("{last}[{round}]")))
        .collect();
    assert_eq!(noted.len(), tasks.len());
    let end_of = |round: usize| noted.values().map(|all| all[round].end).max().unwrap();
    for (name, parents) in &tasks {
        let all = &noted[name];
        assert_eq!(all.len(), ROUNDS, "{name}");
        for (round, one) in all.iter().enumerate() {
            for parent in parents {
                assert!(noted[parent][round].end <= one.start, "{parent}, {name}");
            }
            let is_later = round == 0 || end_of(round - 1) <= one.start;
            assert!(is_later, "{name} in round {round}");
        }
        // Those that read nothing from others read what the round before has made.
        for (round, one) in all.iter().enumerate() {
            let carried = one.carried.as_ref();
            assert_eq!(carried.is_some(), parents.is_empty(), "{name}");
            if let (Some(carried), Some(before)) = (carried, round.checked_sub(1)) {
                assert_eq!(*carried, made[before], "{name} in round {round}");
            }
        }
    }
}

#[test]
fn a_recorded_workflow_runs_in_a_loop_with_files_from_one_round_to_the_next() {
    let file = root().join("workflows/samples/recorded/recorded.json");
    rounds_of(&file, "report_ID0000016", "1s");
}

#[test]
fn a_large_recorded_workflow_runs_in_a_loop() {
    let Some(file) = recorded::data("montage-chameleon-dss-10d-001.json") else {
        return;
    };
    rounds_of(&file, "mViewer_ID0000472", "4s");
}
