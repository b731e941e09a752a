use model::{ActivityId, FaultName};

use super::*;

const FILE: &str = "\
xavantes: 1
name: faulty
body:
  sequence:
    - activity: write
      run: [true]
    - activity: check
      run: [awk, '{ exit 3 }', numbers.txt]
      retry: { attempts: 3 }
";

fn shown(fault: Fault) -> String {
    let definition = language::compile("faulty.yaml", FILE.as_bytes())
        .unwrap()
        .definition;
    let context = Context {
        process: "0abcdefgh1234".parse().unwrap(),
        definition: &definition,
        origin: "/x/my file.yaml",
        options: Some("--state s"),
    };
    anstream::adapter::strip_str(&all(&[fault], &context)).to_string()
}

fn check() -> ActivityId {
    ActivityId(2)
}

#[test]
fn a_fault_of_a_command_names_all_that_its_reader_needs() {
    let fault = Fault {
        attempt: 3,
        exit_code: Some(3),
        directory: Some("/s/work/2.3".to_owned()),
        command: ["awk", "{ exit 3 }", "numbers.txt"]
            .map(str::to_owned)
            .to_vec(),
        stderr_tail: "numbers.txt:3: not a number: three\n".to_owned(),
        ..Fault::new(FaultName::ExitCode, "exited with status 3").of(check())
    };
    assert_eq!(
        shown(fault),
        "\
fault: activity check: exited with status 3 (exit-code)
  activity   sequence/check, attempt 3 of 3
  command    awk '{ exit 3 }' numbers.txt
  exit code  3
  directory  /s/work/2.3 (kept)
  all output xav logs 0abcde check --state s
  stderr
    | numbers.txt:3: not a number: three

Mend it, and run again what that changes: xav rerun 0abcde --file '/x/my file.yaml' --state s
"
    );
}

#[test]
fn a_fault_without_a_command_is_short_and_does_not_name_its_activity_twice() {
    let fault = Fault::new(FaultName::Expression, "check: no such key").of(check());
    assert_eq!(
        shown(fault),
        "\
fault: activity check: no such key (expression)
  activity   sequence/check

Mend it, and run again what that changes: xav rerun 0abcde --file '/x/my file.yaml' --state s
"
    );
}

#[test]
fn a_long_stderr_shows_its_end_and_nothing_that_plays_with_the_terminal() {
    let lines: Vec<String> = (0..30).map(|n| format!("line\t{n}\x1b[2J")).collect();
    let text = shown(Fault {
        stderr_tail: lines.join("\n"),
        ..Fault::new(FaultName::Lost, "x")
    });
    assert!(
        text.contains("stderr, the last 20 lines\n    | line    10\\u{1b}[2J\n"),
        "{text}"
    );
    assert!(!text.contains("line    9"), "{text}");
}

#[test]
fn a_recording_is_not_read_again_without_its_scales() {
    let text = "\
xavantes: 1
name: recorded
body: { activity: check, run: [xav, tool, burn, --name=check, --cpu=1s, --threads=1] }
";
    let compiled = language::compile("x.yaml", text.as_bytes()).unwrap();
    let context = Context {
        process: "0abcdefgh1234".parse().unwrap(),
        definition: &compiled.definition,
        origin: "/x/run.json.gz",
        options: None,
    };
    let text = all(&[Fault::new(FaultName::Lost, "x")], &context);
    let advice =
        "xav rerun 0abcde\n  (a mended recording: --file /x/run.json.gz, scaled as it was)\n";
    assert!(text.ends_with(advice), "{text}");
}
