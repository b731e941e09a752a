use std::fs;

use serde_json::Value;

use super::*;

const DIAMOND: &str = r#"
xavantes: 1
name: diamond
body:
  sequence:
    - { activity: first, run: ["true"], work: 2s }
    - parallel:
        - { activity: left, run: ["true"], work: 10s }
        - { activity: right, run: ["true"], work: 9s, cores: 2 }
    - { activity: last, run: ["true"], work: 3s }
"#;

const TWO: &str = "machines: [{name: fast, slots: 2, power: 2.0}, {name: slow, power: 0.5}]";

/// Two tasks in a row with 125 MB between them, and one beside.
const RECORDED: &str = r#"{"name": "two", "schemaVersion": "1.5", "workflow": {
    "specification": {
        "tasks": [
            {"id": "a", "name": "a", "parents": [], "children": ["b"], "inputFiles": [], "outputFiles": ["x"]},
            {"id": "b", "name": "b", "parents": ["a"], "children": [], "inputFiles": ["x"], "outputFiles": []},
            {"id": "c", "name": "c", "parents": [], "children": [], "inputFiles": [], "outputFiles": []}],
        "files": [{"id": "x", "sizeInBytes": 125000000}]},
    "execution": {"tasks": [
        {"id": "a", "runtimeInSeconds": 2, "avgCPU": 200},
        {"id": "b", "runtimeInSeconds": 4},
        {"id": "c", "runtimeInSeconds": 5}]}}}"#;

struct Bench {
    directory: tempfile::TempDir,
}

impl Bench {
    fn new() -> Bench {
        let directory = tempfile::tempdir().unwrap();
        Bench { directory }
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn source(&self, text: &str, recording: &Recording, mode: Mode) -> PlanSource {
        PlanSource::read(&self.file("definition", text), recording, mode, false).unwrap()
    }

    fn subject(&self, text: &str, platform: Option<&str>, mode: Mode) -> Result<Subject, Failure> {
        self.scaled(text, &Recording::default(), platform, mode)
    }

    fn scaled(
        &self,
        text: &str,
        recording: &Recording,
        platform: Option<&str>,
        mode: Mode,
    ) -> Result<Subject, Failure> {
        let source = self.source(text, recording, mode).with_known_items(&[]);
        let platform = platform.map(|platform| {
            if platform.contains("machines") || platform.contains("groups") {
                self.file("platform.yaml", platform).display().to_string()
            } else {
                platform.to_owned()
            }
        });
        Subject::new(source, recording, platform.as_deref(), mode, false)
    }
}

fn json(subject: &Subject, kind: SchedulerKind) -> Value {
    let made = PlanResult::new(subject, kind, None).unwrap();
    let chart = chart(subject, &made);
    serde_json::to_value(as_json::plan(subject, &made, chart.critical_path())).unwrap()
}

#[test]
fn a_plan_names_activities_machines_and_times() {
    let bench = Bench::new();
    let subject = bench.subject(DIAMOND, Some(TWO), Mode::Direct).unwrap();
    assert_eq!(subject.n_activities(), 4);
    assert!(
        subject
            .machines
            .ends_with("platform.yaml: 2 machines, 3 slots"),
        "{}",
        subject.machines
    );
    let plan = json(&subject, SchedulerKind::Heft);
    // Both cores of the fast one are for `right`; `left` waits for them, since the slow one would
    // take 20 s.
    let shown: Vec<String> = plan["activities"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            format!(
                "{} {} {} {}-{}",
                one["name"].as_str().unwrap(),
                one["machine"].as_str().unwrap(),
                one["cores"],
                one["start"],
                one["finish"]
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "first fast 1 0.0-1.0",
            "left fast 1 1.0-6.0",
            "right fast 2 6.0-10.5",
            "last fast 1 10.5-12.0",
        ]
    );
    assert_eq!(plan["makespan"], 12.0);
    assert_eq!(
        plan["critical_path"],
        serde_json::json!(["first", "left", "right", "last"])
    );
    assert_eq!(plan["controllers"], serde_json::json!([]));
}

#[test]
fn activities_whose_memory_does_not_fit_together_are_planned_one_after_another() {
    let bench = Bench::new();
    let large = |name: &str| {
        format!("        - {{ activity: {name}, run: [\"true\"], work: 10s, memory: 6GiB }}\n")
    };
    let both = [large("one"), large("other")].concat();
    let text = format!("xavantes: 1\nname: large\nbody:\n  parallel:\n{both}");
    let makespan = |memory: &str| {
        let machines = format!("machines: [{{name: m, slots: 4, memory: {memory}}}]");
        let subject = bench.subject(&text, Some(&machines), Mode::Direct).unwrap();
        let plan = json(&subject, SchedulerKind::Xavantes);
        (plan["makespan"].clone(), plan["critical_path"].clone())
    };
    let (alone, path) = makespan("8GiB");
    assert_eq!(alone, 20.0);
    assert_eq!(path.as_array().unwrap().len(), 2, "{path}");
    assert_eq!(makespan("12GiB").0, 10.0);
}

#[test]
fn a_plan_as_text_shows_everything_once() {
    let bench = Bench::new();
    let subject = bench
        .subject(DIAMOND, Some(TWO), Mode::Controllers)
        .unwrap();
    let made = PlanResult::new(&subject, SchedulerKind::Heft, None).unwrap();
    let chart = chart(&subject, &made);
    let text = show::plan(&subject, &made, &chart, false);
    for part in [
        "diamond",
        "right     fast     0 (of 2)",
        "sequence/parallel.2",
        "[left",
        "makespan",
        "12.0s",
        "on 3 slots",
        "by heft in",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(!text.contains("--all"), "{text}");
}

#[test]
fn a_plan_with_bodies_says_that_it_is_an_estimate() {
    let bench = Bench::new();
    let said = |step: &str| {
        let variables = "variables:\n  v: { type: list of int, value: [1] }";
        let text = format!("xavantes: 1\nname: p\n{variables}\nbody:\n  {step}");
        let subject = bench.subject(&text, Some(TWO), Mode::Direct).unwrap();
        let made = PlanResult::new(&subject, SchedulerKind::Heft, None).unwrap();
        let chart = chart(&subject, &made);
        show::plan(&subject, &made, &chart, false).contains("an estimate: the body")
    };
    let activity = "{ activity: a, run: [a] }";
    assert!(!said(activity));
    assert!(!said(&format!(
        "for-each: {{ item: i, in: [1, 2], do: {activity} }}"
    )));
    assert!(said(&format!(
        "for-each: {{ item: i, in: \"${{ v }}\", do: {activity} }}"
    )));
    assert!(said(&format!(
        "{{ while: \"${{ false }}\", do: {activity} }}"
    )));
}

#[test]
fn long_plans_say_how_many_activities_are_not_shown() {
    let bench = Bench::new();
    let mut text = String::from("xavantes: 1\nname: many\nbody:\n  parallel:\n");
    for number in 0..100 {
        text.push_str(&format!(
            "    - {{ activity: a{number}, run: [\"true\"] }}\n"
        ));
    }
    let subject = bench.subject(&text, None, Mode::Direct).unwrap();
    let made = PlanResult::new(&subject, SchedulerKind::Heft, None).unwrap();
    let chart = chart(&subject, &made);
    let shown = show::plan(&subject, &made, &chart, false);
    assert!(shown.contains("and 60 more, which --all shows"), "{shown}");
    assert!(
        shown.contains("every activity counts as a second"),
        "{shown}"
    );
    let all = show::plan(&subject, &made, &chart, true);
    assert!(!all.contains("--all") && all.contains("\na99 "), "{all}");
}

#[test]
fn recorded_workflows_are_planned_as_they_were_recorded() {
    let bench = Bench::new();
    // Where the data would cross a link, 1 s of it, both stay on one machine.
    let two = "machines: [{name: m1}, {name: m2}]";
    let subject = bench.subject(RECORDED, Some(two), Mode::Direct).unwrap();
    let plan = json(&subject, SchedulerKind::Heft);
    assert_eq!(plan["makespan"], 6.0);
    // Dealt out in turn, b waits for what a wrote.
    let made = PlanResult::new(&subject, SchedulerKind::RoundRobin, None).unwrap();
    assert!(
        (made.figures.makespan - 7.0001).abs() < 1e-9,
        "{}",
        made.figures.makespan
    );
    // Scaled, it is what the commands of a run would use: CPU time.
    let recording = Recording {
        time_scale: Some(0.5),
        ..Recording::default()
    };
    let scaled = bench
        .scaled(RECORDED, &recording, Some(two), Mode::Direct)
        .unwrap();
    let plan = json(&scaled, SchedulerKind::Heft);
    assert_eq!(plan["makespan"], 4.0);
}

#[test]
fn every_scheduler_is_compared() {
    let bench = Bench::new();
    for mode in [Mode::Direct, Mode::Controllers] {
        let subject = bench
            .subject(RECORDED, Some("reference:8:ccr1"), mode)
            .unwrap();
        for kind in SchedulerKind::ALL {
            let made = PlanResult::try_new(&subject, kind, None)
                .unwrap_or_else(|_| panic!("{kind:?} refused"));
            assert!(
                made.figures.makespan >= made.figures.bound - 1e-9,
                "{kind:?}"
            );
        }
        assert_eq!(compare::compare(&subject, None, true).unwrap(), 0);
        assert_eq!(compare::compare(&subject, None, false).unwrap(), 0);
    }
}

#[test]
fn what_fits_no_machine_is_refused_by_its_name() {
    let bench = Bench::new();
    let one = "machines: [{name: m1, slots: 1}]";
    let subject = bench.subject(DIAMOND, Some(one), Mode::Direct).unwrap();
    let Err(refused) = PlanResult::new(&subject, SchedulerKind::Best, None) else {
        panic!("planned")
    };
    assert_eq!(
        refused.message,
        "activity right needs 2 cores; the largest machine has 1"
    );
    assert!(compare::compare(&subject, None, false).is_err());
}

#[test]
fn platforms_that_are_none_are_refused() {
    let bench = Bench::new();
    let why = |platform: &str| {
        let Err(failure) = bench.subject(DIAMOND, Some(platform), Mode::Direct) else {
            panic!("{platform} is a platform")
        };
        failure
    };
    assert!(
        why("/nowhere/p.yaml")
            .message
            .starts_with("there is no platform file")
    );
    assert!(
        why("reference:7:lan")
            .message
            .contains("there are 8, 64 and 512")
    );
    assert!(why("reference:8:slow").message.contains("lan"));
    assert!(why("paper:x:1").message.contains("x"));
    // The mistakes have been shown.
    assert_eq!(why("machines: []").message, "");
}

#[test]
fn slips_in_inputs_are_told_and_missing_ones_are_not() {
    let bench = Bench::new();
    let text = DIAMOND.replace("body:", "inputs: { limit: int }\nbody:");
    let source = bench.source(&text, &Recording::default(), Mode::Direct);
    let check = |inputs: &[&str]| {
        let inputs: Vec<String> = inputs.iter().map(|&one| one.to_owned()).collect();
        check_inputs(&inputs, source.inputs()).map_err(|failure| failure.message)
    };
    assert_eq!(check(&[]), Ok(()));
    assert_eq!(check(&["limit=7"]), Ok(()));
    let error = check(&["limt=7"]).unwrap_err();
    assert!(error.contains("did you mean `limit`?"), "{error}");
    assert!(check(&["limit"]).unwrap_err().contains("NAME=VALUE"));
}

#[test]
fn a_mistake_in_a_recording_is_told_where_it_is_in_the_file() {
    let bench = Bench::new();
    let path = bench.file("recording.json", &RECORDED.replace("\"x\"]}", "\"x\"]!"));
    let read = PlanSource::read(&path, &Recording::default(), Mode::Direct, false);
    let message = read.err().unwrap().message;
    assert!(
        message.contains(": line 4, column 110 of the recording: "),
        "{message}"
    );
}

/// Twelve activities of 10 s, and machines of which the strong one is dear.
fn bag() -> (String, &'static str) {
    let steps: String = (0..12)
        .map(|n| format!("    - {{ activity: a{n}, run: [x], work: 10s }}\n"))
        .collect();
    let text = format!("xavantes: 1\nname: bag\nbody:\n  parallel:\n{steps}");
    let machines = "machines:\n  - { name: small, count: 6, price: 0.1, idle-watts: 5, busy-watts: 9 }\n  \
                    - { name: large, power: 4, price: 2, idle-watts: 5, busy-watts: 9 }";
    (text, machines)
}

#[test]
fn a_deadline_is_held_on_the_fewest_machines_or_at_the_least_cost() {
    let bench = Bench::new();
    let (text, machines) = bag();
    let subject = bench.subject(&text, Some(machines), Mode::Direct).unwrap();
    let plan = |deadline: Option<&str>, minimise, within| {
        let goal = Goal {
            deadline: deadline.map(|text| duration(text).unwrap()),
            minimise,
            within,
        };
        goal.plan(&subject, SchedulerKind::Xavantes, None)
    };
    let used = |made: Result<PlanResult, Failure>| {
        let made = made.unwrap_or_else(|failure| panic!("{}", failure.message));
        let json = serde_json::to_value(as_json::plan(&subject, &made, &[])).unwrap();
        assert_eq!(json["cost"]["machines"], made.cost.machines);
        assert_eq!(json["cost"]["money"], made.cost.money);
        assert!(json["deadline"]["makespan_max"].as_f64().unwrap() >= made.figures.makespan);
        let shown = show::plan(&subject, &made, &chart(&subject, &made), false);
        (made.cost.machines, shown)
    };
    let (n_machines, shown) = used(plan(Some("30s"), None, None));
    assert_eq!(n_machines, 1);
    assert!(
        shown.contains("30.0s held; fewer machines cannot hold it"),
        "{shown}"
    );
    assert!(
        shown.contains("0.0083 slot hours on 1 machine (1 slot), price 0.0167, 0.0001 kWh"),
        "{shown}"
    );
    let (n_machines, shown) = used(plan(Some("20s"), None, None));
    assert_eq!(n_machines, 3);
    assert!(shown.contains("and fewer than 3 cannot") || shown.contains("fewer machines cannot"));
    let (n_machines, shown) = used(plan(Some("40s"), Some(goal::Minimise::Money), None));
    // Three would cost as much, and take longer.
    assert_eq!(n_machines, 6);
    assert!(
        shown.contains("40.0s held, with the least money of "),
        "{shown}"
    );
    used(plan(None, Some(goal::Minimise::SlotHours), Some(1.0)));
    used(plan(None, Some(goal::Minimise::Energy), Some(2.0)));

    let late = plan(Some("12s"), None, None).err().unwrap();
    let best = "no plan that was found holds the deadline of 12.0s: the best takes 15.0s";
    assert_eq!(late.message, best);
    assert!(late.help.unwrap().contains("a plan takes at least 12.0s"));
    let late = plan(Some("11s"), None, None).err().unwrap();
    assert!(
        late.help
            .unwrap()
            .starts_with("no plan can: it takes at least 12.0s")
    );
    let endless = plan(None, Some(goal::Minimise::Machines), None)
        .err()
        .unwrap();
    assert_eq!(endless.message, "--minimise without a deadline");
}

#[test]
fn costs_that_no_machine_tells_cannot_be_least() {
    let bench = Bench::new();
    let plan = |mode, minimise| {
        let subject = bench.subject(DIAMOND, Some(TWO), mode).unwrap();
        let goal = Goal {
            deadline: Some(Span::from_secs(60)),
            minimise: Some(minimise),
            within: None,
        };
        let made = goal.plan(&subject, SchedulerKind::Best, None);
        made.err().map(|failure| failure.message)
    };
    let why = plan(Mode::Direct, goal::Minimise::Money).unwrap();
    assert_eq!(why, "no machine of the platform has a price");
    let why = plan(Mode::Direct, goal::Minimise::Energy).unwrap();
    assert_eq!(why, "no machine of the platform has its watts");
    let why = plan(Mode::Controllers, goal::Minimise::Machines).unwrap();
    assert_eq!(why, "deadlines are planned for in direct mode only");
    assert_eq!(plan(Mode::Direct, goal::Minimise::Machines), None);
}
