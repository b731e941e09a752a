//! `keep-intermediates: false` in docs/language.md, as a user sees it.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::sandbox::Sandbox;

const STAGES: u32 = 50;
const TEXTS: u32 = 20;
/// Bytes of each text, and about of what each stage makes of it.
const TEXT_BYTES: usize = 40_000;

/// A chain of stages for each of some texts: each writes its number before what it is given. It notes how
/// many files of the size of a text are in the store.
fn chain(sandbox: &Sandbox, middle: &str) -> String {
    let (runs, seen) = (sandbox.runs(), sandbox.path("seen"));
    let (runs, seen) = (runs.display(), seen.display());
    let mut text = "\
xavantes: 1
name: stages
keep-intermediates: false
inputs: { texts: list of file }
outputs: { ends: 's50[*].out' }
body:
  for-each:
    item: text
    in: ${ inputs.texts }
    at-most: 5
    do:
"
    .to_owned();
    for stage in 1..=STAGES {
        let (word, given) = match stage {
            1 => (stage.to_string(), "text".to_owned()),
            25 => (middle.to_owned(), "s24.out".to_owned()),
            _ => (stage.to_string(), format!("s{}.out", stage - 1)),
        };
        let large = format!("find {runs} -path '*/blobs/blobs/*' -type f -size +30k");
        let count = format!("{large} | wc -l >> {seen}");
        let _ = write!(
            text,
            "    - activity: s{stage}
      run: {{ shell: \"(echo {word}; cat in.txt) > out.txt; {count}\" }}
      inputs: {{ in.txt: {given} }}
      outputs: {{ out: out.txt }}
"
        );
    }
    sandbox.file("stages.yaml", text)
}

/// The most files that a command has seen, and the number of commands that have looked.
fn seen(sandbox: &Sandbox) -> (u32, usize) {
    let lines = sandbox.lines("seen");
    let numbers = lines.iter().map(|line| line.trim().parse().unwrap());
    let most = numbers.max().unwrap();
    fs::remove_file(sandbox.path("seen")).unwrap();
    (most, lines.len())
}

/// The results of the newest process, copied to a directory.
fn results(sandbox: &Sandbox, to: &str) -> PathBuf {
    let to = sandbox.path(to);
    let directory = to.display().to_string();
    sandbox.xav(&["results", "--to", &directory]).expect(0);
    to.join("ends")
}

/// The result for a text.
fn result(results: &Path, number: u32) -> String {
    fs::read_to_string(results.join(format!("{number:02}.txt"))).unwrap()
}

fn expected(text: &str, middle: &str) -> String {
    let mut expected = String::new();
    for stage in (1..=STAGES).rev() {
        let word = match stage {
            25 => middle.to_owned(),
            _ => stage.to_string(),
        };
        let _ = writeln!(expected, "{word}");
    }
    expected + text
}

#[test]
fn a_long_chain_takes_the_room_of_three_stages_and_is_made_again_where_it_changes() {
    let sandbox = Sandbox::new();
    let text = |number: u32| format!("{number:08}\n").repeat(TEXT_BYTES / 9);
    for number in 0..TEXTS {
        sandbox.file(&format!("text-{number:02}.txt"), text(number));
    }
    let texts = format!("texts={}", sandbox.path("text-*.txt").display());
    let file = chain(&sandbox, "25");
    sandbox
        .xav(&["run", &file, "--quiet", "--input", &texts])
        .expect(0);
    let all = (STAGES * TEXTS) as usize;
    let (most, n_looked) = seen(&sandbox);
    assert_eq!(n_looked, all);
    assert!(
        (TEXTS..=3 * TEXTS).contains(&most),
        "{most} files at once; a stage has {TEXTS}"
    );
    let first = results(&sandbox, "first");
    for number in [0, TEXTS - 1] {
        assert_eq!(result(&first, number), expected(&text(number), "25"));
    }
    // Nothing has changed, so nothing is made again, though most files are gone.
    sandbox.xav(&["rerun", "--quiet"]).expect(0);
    assert!(!sandbox.path("seen").exists());
    // The middle of the chain has changed, and what it is given is gone with all before.
    chain(&sandbox, "middle");
    sandbox
        .xav(&["rerun", "--quiet", "--file", &file])
        .expect(0);
    let (_, n_looked) = seen(&sandbox);
    assert_eq!(n_looked, all);
    let mended = results(&sandbox, "mended");
    for number in [0, TEXTS - 1] {
        assert_eq!(result(&mended, number), expected(&text(number), "middle"));
    }
}
