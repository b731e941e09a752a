//! Writes the golden directories of the present version.
//!
//! `XAVANTES_WRITE_JOURNALS=1 cargo test -p it journals::write` replaces `tests/journals/0.1` by what this version writes.

use std::fs;
use std::time::Duration;

use super::{copy, phases, process, snapshots};
use crate::sandbox::{Sandbox, root};
use crate::wait;

/// The directories of the version that is not released yet.
const PRESENT: &str = "tests/journals/0.1";

/// A process that ends broken before the other one begins. It has more than a hundred nodes, so that its snapshot has
/// several chapters. Commands find the log and the gate by their way from
/// the directory of an attempt, `am/work/PROCESS/N`.
const EARLIER: &str = "\
xavantes: 1
name: earlier
variables: { number: int, told: int }
outputs: { number: '${ number }' }
body:
  sequence:
    - activity: again
      run: { shell: 'if [ -e ../../../../again ]; then echo 3; else touch ../../../../again; exit 1; fi' }
      retry: { attempts: 2, backoff: 1ms }
      stdout: { into: number, as: int }
    - assign: { number: '${ number + 1 }' }
    - for-each:
        item: each
        in: '${ range(40) }'
        variables: { own: int }
        do:
          - activity: item
            run: { shell: 'echo ${ each } >> ../../../../items; echo ${ each } | tee file' }
            outputs: { file: file }
            stdout: { into: own, as: int }
          - assign: { own: '${ own + 1 }' }
    - activity: begin
      run: { shell: 'cat items/* > file' }
      inputs: { items/: 'item[*].file' }
      outputs: { file: file }
    - repeat-until: '${ at == 5 }'
      index: at
      do:
        activity: iteration
        run: { shell: 'echo ${ at } >> ../../../../items; cat before > file; echo ${ at } >> file' }
        inputs: { before: { first: begin.file, then: iteration.file } }
        outputs: { file: file }
    - parallel:
        - activity: told
          cache: true
          run: { shell: 'echo told >> ../../../../log; echo 20' }
          stdout: { into: told, as: int }
        - activity: picked
          run: ['true']
        - activity: left
          run: ['true']
        - activity: fails
          run: { shell: '[ -e ../../../../gate ]' }
        - activity: behind
          run: ['true']
      links:
        - { from: told, to: picked, when: '${ number > 3 }' }
        - { from: told, to: left, when: '${ number > 4 }' }
        - { from: fails, to: behind }
";

/// The process that is killed half done.
const DEFINITION: &str = "\
xavantes: 1
name: golden
variables: { number: int, other: int, sum: int }
outputs: { sum: '${ sum }', file: made.file }
body:
  sequence:
    - activity: made
      run: { shell: 'echo made >> ../../../../log; echo text > file' }
      outputs: { file: file }
    - activity: recalled
      cache: true
      run: { shell: 'echo told >> ../../../../log; echo 20' }
      stdout: { into: number, as: int }
    - parallel:
        - activity: halfway
          run: { shell: 'echo halfway >> ../../../../log; while [ ! -e ../../../../gate ]; do sleep 0.01; done' }
        - activity: once
          at-most-once: true
          run: { shell: 'while ! grep -q halfway ../../../../log; do sleep 0.01; done; echo once >> ../../../../log; echo 22' }
          stdout: { into: other, as: int }
    - activity: last
      run: { shell: 'grep -q text file && echo last >> ../../../../log && echo $((${ number } + ${ other }))' }
      inputs: { file: made.file }
      stdout: { into: sum, as: int }
";

/// Runs that are tried at most: ends of commands may share a flush or not, so that the number of a flush is
/// not always the same.
const TRIES_MAX: u64 = 100;

/// The time in which a run that is to crash does so after its third command has ended.
const A_WHILE: Duration = Duration::from_secs(2);

/// Lines of the log when `once` has ended.
const LINES: usize = 4;

/// A run that has killed itself at the flush after which the end of `once` is recorded.
fn killed() -> Sandbox {
    for number in 0..TRIES_MAX {
        let sandbox = Sandbox::new();
        let file = sandbox.file("golden.yaml", DEFINITION);
        // The same on every machine that writes it.
        fs::create_dir_all(sandbox.path("state/am")).unwrap();
        sandbox.file("state/am/name", "golden");
        let earlier = sandbox.file("earlier.yaml", EARLIER);
        let run = ["run", "--quiet", "--slots", "2", "--state", "state"];
        let with = |more: &[&'static str]| [&run, more].concat();
        let mut first = with(&["--keep-going"]);
        first.push(&earlier);
        sandbox.xav(&first).expect(1);
        let mut arguments = with(&[]);
        arguments.push(&file);
        let crash = format!("process:{}", 3 + number % 6);
        let mut run = sandbox.start_with(("XAVANTES_CRASH", &crash), &arguments);
        wait::until("a crash, or the third command", || {
            (run.has_ended() || sandbox.lines("state/log").len() == LINES).then_some(())
        });
        // A run that does not crash waits for its gate.
        wait::moment(A_WHILE);
        if run.has_ended() && sandbox.lines("state/log").len() == LINES {
            let phases = phases(&sandbox, &process(&sandbox, "golden"));
            if phases.contains(&("once".to_owned(), "completed".to_owned())) {
                return sandbox;
            }
        }
    }
    panic!("no run was killed where it should be");
}

#[test]
fn the_present_golden_directories_are_written_where_that_is_asked_for() {
    if std::env::var_os("XAVANTES_WRITE_JOURNALS").is_none() {
        return;
    }
    let sandbox = killed();
    let place = root().join(PRESENT);
    if place.exists() {
        fs::remove_dir_all(&place).unwrap();
    }
    let state = sandbox.path("state");
    copy::all(&state, &place.join("events"));
    snapshots::take(&state);
    copy::all(&state, &place.join("snapshots"));
}
