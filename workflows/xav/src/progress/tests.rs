use model::{ActivityId, ResourceId};
use wire::client::{Phase, Running, Totals};

use super::*;

const FILE: &str = "\
xavantes: 1
name: primes
body:
  sequence:
    - { activity: range, run: [a] }
    - { activity: merge, run: [b] }
";

fn progress(n_running: u32) -> Progress {
    let one = |id: u32, since: u64| Running {
        activity: ActivityId(id),
        number: 1,
        resource: ResourceId::local(0),
        since: Wall(since),
        name: None,
    };
    Progress {
        process: ProcessId(1),
        revision: 1,
        phase: Phase::Running,
        totals: Totals {
            waiting: 10,
            running: n_running,
            completed: 3,
            ..Totals::default()
        },
        controllers: Vec::new(),
        running: vec![
            one(2, 2_000_000),
            one(1, 1_000_000),
            one(2, 4),
            one(2, 3),
            one(2, 2),
        ],
        left: Some(Span::from_secs(90)),
        waiting_for: None,
        left_p90: None,
        rescheduled: None,
        n_rescheduled: 0,
    }
}

#[test]
fn a_line_tells_how_far_it_is_and_what_runs_the_longest_first() {
    let definition = language::compile("primes.yaml", FILE.as_bytes())
        .unwrap()
        .definition;
    assert_eq!(
        line(&progress(5), &definition, Wall(3_000_000)),
        "3 of 18 completed, 5 running (merge 3.0s, merge 3.0s, merge 3.0s, range 2.0s, and 1 more), about 1m 30s left"
    );
    let waiting = Progress {
        running: Vec::new(),
        left: None,
        waiting_for: Some("a machine with 8 cores".to_owned()),
        ..progress(0)
    };
    assert_eq!(
        line(&waiting, &definition, Wall(3_000_000)),
        "3 of 13 completed, waits for a machine with 8 cores"
    );
}
