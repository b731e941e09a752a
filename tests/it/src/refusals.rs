//! Mistakes of users: each gets a clear message and exit status 2, and nothing is stored or started.

use std::fmt::Write;
use std::fs::File;

use crate::sandbox::{Done, Sandbox};

/// A definition whose only activity leaves a file beside the sandbox's other files if it runs.
fn definition(sandbox: &Sandbox, head: &str) -> String {
    let ran = sandbox.path("ran").display().to_string();
    let only = format!("body: {{ activity: only, run: [touch, {ran}] }}\n");
    format!("xavantes: 1\nname: bad\n{head}{only}")
}

/// Runs a text as a definition and asserts that it was refused.
#[track_caller]
fn refused(sandbox: &Sandbox, text: impl AsRef<[u8]>, arguments: &[&str]) -> Done {
    let file = sandbox.file("bad.yaml", text);
    refused_file(sandbox, &file, arguments)
}

#[track_caller]
fn refused_file(sandbox: &Sandbox, file: &str, arguments: &[&str]) -> Done {
    let mut all = vec!["run", file];
    all.extend(arguments);
    let done = sandbox.xav(&all).expect(2);
    assert_eq!(done.stdout, "");
    assert!(!sandbox.path("data").exists(), "something was stored");
    assert!(!sandbox.path("ran").exists(), "something was started");
    done
}

#[test]
fn mistakes_in_a_definition_are_told_at_their_places_all_at_once() {
    let sandbox = Sandbox::new();
    let text = "\
xavantes: 1
name: bad
inputz: {}
body:
  sequence:
    - activity: a
      run: [echo, 1]
      work: 30
      retry: many
    - activity: a
      run: [echo, 2]
      inputs: { x: nobody.out }
";
    let done = refused(&sandbox, text, &[]);
    for words in [
        "bad.yaml:3:1",
        "inputz",
        "did you mean `inputs`?",
        "bad.yaml:8:",
        "work: 30",
        "retry: many",
    ] {
        assert!(
            done.stderr.contains(words),
            "does not say `{words}`:\n{}",
            done.stderr
        );
    }
    let json = sandbox.xav(&["run", "--json", sandbox.path("bad.yaml").to_str().unwrap()]);
    let json: serde_json::Value = serde_json::from_str(&json.expect(2).stdout).unwrap();
    assert_eq!(json["diagnostics"][0]["line"], 3, "{json}");
}

#[test]
fn a_key_that_stands_twice_is_refused() {
    let sandbox = Sandbox::new();
    let text = definition(&sandbox, "name: again\n");
    refused(&sandbox, text, &[])
        .says("bad.yaml:3:1")
        .says("name");
}

#[test]
fn a_cycle_of_links_is_told_by_its_path() {
    let sandbox = Sandbox::new();
    let text = "\
xavantes: 1
name: bad
body:
  parallel:
    - { activity: a, run: [echo] }
    - { activity: b, run: [echo] }
    - { activity: c, run: [echo] }
  links:
    - { from: a, to: b }
    - { from: b, to: c }
    - { from: c, to: a }
";
    let done = refused(&sandbox, text, &[]);
    assert!(done.stderr.contains("cycle"), "{}", done.stderr);
    let in_line = |line: &str| ["a", "b", "c"].iter().all(|name| line.contains(name));
    assert!(
        done.stderr
            .lines()
            .any(|line| line.contains("cycle") && in_line(line)),
        "{}",
        done.stderr
    );
}

#[test]
fn amounts_without_units_or_with_wrong_ones_are_refused() {
    let sandbox = Sandbox::new();
    let with = |key: &str| {
        format!("xavantes: 1\nname: bad\nbody: {{ activity: a, run: [echo], {key} }}\n")
    };
    refused(&sandbox, with("timeout: 30"), &[])
        .says("bad.yaml:3:")
        .says("30s");
    refused(&sandbox, with("memory: 2 apples"), &[]).says("bad.yaml:3:");
    refused(&sandbox, with("cores: 2GiB"), &[]).says("bad.yaml:3:");
}

#[test]
fn inputs_are_checked_before_anything_is_stored() {
    let sandbox = Sandbox::new();
    let head = "inputs: { limit: { type: int, minimum: 2 }, corpus: file }\n";
    let text = definition(&sandbox, head);
    refused(&sandbox, &text, &[])
        .says("error: input `limit` is missing: give it with --input limit=WHOLE-NUMBER\n")
        .says("  input `corpus` is missing: give it with --input corpus=FILE\n");
    refused(&sandbox, &text, &["-i", "limit=1", "-i", "corpus=none.txt"])
        .says("input `limit`: 1 is less than 2")
        .says("input `corpus`: could not look at none.txt: No such file or directory");
    refused(&sandbox, &text, &["-i", "limt=3", "-i", "corpus=."])
        .says("the process has no input `limt`; did you mean `limit`?")
        .says("input `corpus`: a file is wanted, and . is a directory");
}

#[test]
fn an_input_that_cannot_be_taken_is_refused_by_its_name() {
    let sandbox = Sandbox::new();
    let text = definition(&sandbox, "inputs: { sample: { type: directory } }\n");
    let file = sandbox.file("bad.yaml", text);
    std::fs::create_dir(sandbox.path("samples")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", sandbox.path("samples/out")).unwrap();
    let given = format!("sample={}", sandbox.path("samples").display());
    let done = sandbox.xav(&["run", &file, "--input", &given]).expect(2);
    done.says("error: input `sample`: could not add `")
        .says("out`: it leads out of its directory");
    assert!(!sandbox.path("ran").exists(), "something was started");
}

#[test]
fn files_beside_the_definition_must_be_there() {
    let sandbox = Sandbox::new();
    let text = definition(&sandbox, "files: [primes.sh, tools/x]\n");
    let done = refused(&sandbox, text, &[]);
    done.says("could not open `primes.sh` of `files`: ")
        .says("`tools/x`");
}

#[test]
fn validate_finds_files_that_are_not_there() {
    let sandbox = Sandbox::new();
    let head = "files: [primes.sh]\ninputs: { genome: { type: file, default: genome.fa } }\n";
    let file = sandbox.file("absent.yaml", definition(&sandbox, head));
    let done = sandbox.xav(&["validate", &file]).expect(2);
    assert_eq!(done.stdout, "");
    done.says("absent.yaml: could not open `primes.sh` of `files`: ")
        .says("absent.yaml: input `genome`: could not open `genome.fa`");
    let json = sandbox.xav(&["validate", "--json", &file]).expect(2);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json[0]["severity"], "error", "{json}");
    sandbox.file("primes.sh", "echo 2\n");
    sandbox.file("genome.fa", "ACGT\n");
    sandbox
        .xav(&["validate", &file])
        .expect(0)
        .shows("absent.yaml: bad is valid, 1 activity\n");
}

#[test]
fn values_of_the_wrong_kind_are_told_by_every_command_before_anything_runs() {
    let sandbox = Sandbox::new();
    let ran = sandbox.path("ran").display().to_string();
    let text = format!(
        "\
xavantes: 1
name: bad
variables: {{ total: int }}
outputs: {{ half: \"${{ total / 2.0 }}\" }}
body: {{ activity: only, run: [touch, {ran}], stdout: {{ into: total, as: int }} }}
"
    );
    let file = sandbox.file("bad.yaml", &text);
    let text = text.replace(", as: int", "");
    let captured = sandbox.file("captured.yaml", &text);
    for command in ["validate", "run", "plan"] {
        let done = sandbox.xav(&[command, &file]).expect(2);
        done.says("bad.yaml:4:28")
            .says("`/` cannot take int and float")
            .says("write `double(total)` for the whole number");
        let done = sandbox.xav(&[command, &captured]).expect(2);
        done.says("captured.yaml:5:")
            .says("text is captured into `total`, which is declared as int")
            .says("write `as: int` beside `into: total`");
    }
    assert!(!sandbox.path("ran").exists(), "something was started");
}

#[test]
fn a_link_out_of_the_definitions_directory_is_refused() {
    let sandbox = Sandbox::new();
    let (inside, outside) = (sandbox.path("inside"), sandbox.path("secret"));
    std::fs::create_dir(&inside).unwrap();
    std::fs::write(&outside, "secret").unwrap();
    std::fs::write(inside.join("here"), "").unwrap();
    std::os::unix::fs::symlink(&outside, inside.join("link")).unwrap();
    std::os::unix::fs::symlink("here", inside.join("alias")).unwrap();
    let text = definition(&sandbox, "files: [link, alias]\n");
    std::fs::write(inside.join("bad.yaml"), &text).unwrap();
    let done = refused_file(&sandbox, "inside/bad.yaml", &[]);
    let target = outside.canonicalize().unwrap();
    assert!(!done.stderr.contains("alias"), "{}", done.stderr);
    done.says(&format!(
        "`link` of `files` leads out of the definition's directory, to {}: copy the file there, or declare an \
         input of type file",
        target.display()
    ));

    let good = text.replace("[link, alias]", "[alias]");
    std::fs::write(inside.join("good.yaml"), good).unwrap();
    let done = sandbox.xav(&["run", "inside/good.yaml"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
}

#[test]
fn a_file_that_is_no_definition_is_refused() {
    let sandbox = Sandbox::new();
    refused_file(&sandbox, "none.yaml", &[])
        .says("error: could not read none.yaml: No such file or directory\n");
    refused_file(&sandbox, ".", &[]).says("error: . is a directory, not a definition\n");
    let garbage: Vec<u8> = (0..4_096_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    refused(&sandbox, &garbage, &[]).says("bad.yaml");
    refused(&sandbox, "", &[]).says("bad.yaml");
    refused(&sandbox, "- just\n- a list\n", &[]).says("bad.yaml");
}

#[test]
fn a_file_that_is_too_large_is_refused_by_the_limit() {
    let sandbox = Sandbox::new();
    let path = sandbox.path("large.yaml");
    File::create(&path).unwrap().set_len(300 << 20).unwrap();
    refused_file(&sandbox, path.to_str().unwrap(), &[])
        .says("large.yaml has 300.0 MiB; a definition may have at most 128.0 MiB\n");
}

#[test]
fn bombs_and_abysses_are_refused() {
    let sandbox = Sandbox::new();
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for n in 1..10 {
        writeln!(
            bomb,
            "a{n}: &a{n} [*a{0}, *a{0}, *a{0}, *a{0}, *a{0}, *a{0}]",
            n - 1
        )
        .unwrap();
    }
    refused(&sandbox, bomb, &[]).says("bad.yaml:1:");
    let deep = format!(
        "xavantes: 1\nname: bad\nbody: {}{}\n",
        "[".repeat(10_000),
        "]".repeat(10_000)
    );
    refused(&sandbox, deep, &[]).says("bad.yaml:3:");
    let mut blocks = String::from("xavantes: 1\nname: bad\nbody:\n");
    for depth in 1..10_000 {
        writeln!(blocks, "{}- sequence:", " ".repeat(depth)).unwrap();
    }
    refused(&sandbox, blocks, &[]).says("bad.yaml:");
}

#[test]
fn a_state_directory_that_is_something_else_is_left_alone() {
    let sandbox = Sandbox::new();
    let text = definition(&sandbox, "");
    std::fs::create_dir(sandbox.path("mine")).unwrap();
    sandbox.file("mine/letter", "dear");
    refused(&sandbox, &text, &["--state", "mine"]).says("mine is not a state directory of xav");
    refused(&sandbox, &text, &["--state", "mine/letter"]).says("is not a state directory of xav");
    assert_eq!(std::fs::read_dir(sandbox.path("mine")).unwrap().count(), 1);
    sandbox
        .xav(&["status", "--state", "none"])
        .expect(2)
        .says("there is no state directory none");
}

#[test]
fn a_wrong_command_line_is_refused_with_what_was_meant() {
    let sandbox = Sandbox::new();
    sandbox.xav(&["rum"]).expect(2).says("run");
    for (written, meant) in [("rnu", "run"), ("lgos", "logs"), ("validte", "validate")] {
        let said = format!("'{meant}'");
        sandbox
            .xav(&[written])
            .expect(2)
            .says("similar subcommand")
            .says(&said);
    }
    sandbox.xav(&["run"]).expect(2).says("<FILE>");
    sandbox
        .xav(&["run", "x.yaml", "--slots", "0"])
        .expect(2)
        .says("--slots");
    sandbox.xav(&["--help"]).expect(0).shows("Examples:");
    sandbox.xav(&["--version"]).expect(0).shows("xav 0.");
}

#[test]
fn what_cannot_be_run_again_explained_or_forgotten_is_refused_with_a_reason() {
    let sandbox = Sandbox::new();
    sandbox
        .xav(&["rerun"])
        .expect(2)
        .says("there is no process yet");
    sandbox.xav(&["forget"]).expect(2).says("<ID|--older-than");
    sandbox
        .xav(&["forget", "zzz"])
        .expect(2)
        .says("there is no process zzz");
    sandbox
        .xav(&["forget", "--older-than", "7"])
        .expect(2)
        .says("durations are written with a unit");
    let file = sandbox.file(
        "two.yaml",
        "xavantes: 1\nname: two\ninputs: { n: int }\nbody: { activity: only, run: ['true'] }\n",
    );
    let kept = sandbox.start_with(("XAVANTES_KEEP", "soon"), &["run", &file, "-i", "n=1"]);
    kept.end().expect(2).says("XAVANTES_KEEP=soon: ");
    assert_eq!(sandbox.n_runs(), 0);

    sandbox.xav(&["run", &file, "-i", "n=1"]).expect(0);
    let n_runs = sandbox.n_runs();
    sandbox.xav(&["why"]).expect(0).shows("two completed\n");
    for command in ["why", "logs"] {
        let done = sandbox.xav(&[command, "onli"]).expect(2);
        done.says("did you mean only, an activity of the newest process?");
    }
    let id = sandbox.json(&["list", "--json"])[0]["process"].clone();
    let id = id.as_str().unwrap();
    sandbox
        .xav(&["why", id, "onli"])
        .expect(2)
        .says("did you mean only?");
    sandbox
        .xav(&["rerun", "--cpu-total", "2s"])
        .expect(2)
        .says("give it with --file FILE");
    sandbox
        .xav(&["rerun", "--input", "m=1"])
        .expect(2)
        .says("the process has no input `m`; did you mean `n`?");
    sandbox
        .xav(&["rerun", "--file", "none.yaml"])
        .expect(2)
        .says("could not read none.yaml");
    // A definition with an input that the earlier process did not have.
    let other = sandbox.file(
        "other.yaml",
        "xavantes: 1\nname: two\ninputs: { n: int, m: int }\nbody: { activity: only, run: ['true'] }\n",
    );
    sandbox
        .xav(&["rerun", "--file", &other])
        .expect(2)
        .says("input `m` is missing");
    assert_eq!(sandbox.n_runs(), n_runs, "nothing was stored");
}
