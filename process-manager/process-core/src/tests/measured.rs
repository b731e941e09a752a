//! The metrics of a manager.

use super::*;
use crate::{Measured, PROCESS_PHASES};

fn measured(bench: &mut Bench) -> Box<Measured> {
    let n_events = bench.events.len();
    bench.give(Input::Measure);
    assert_eq!(bench.events.len(), n_events, "to measure records nothing");
    bench.measured.take().unwrap()
}

fn n_in(measured: &Measured, phase: &str) -> u64 {
    let place = PROCESS_PHASES.iter().position(|one| *one == phase).unwrap();
    measured.processes[place]
}

#[test]
fn counts_follow_a_process_to_its_end_and_begin_again_with_an_epoch() {
    let mut n_failed = 0;
    let mut bench = Bench::new(move |dispatch| {
        n_failed += 1;
        match n_failed {
            1 => Some((failed(FaultName::ExitCode), 1, String::new())),
            _ => well(dispatch),
        }
    });
    let empty = measured(&mut bench);
    assert_eq!(empty.processes, [0; PROCESS_PHASES.len()]);
    assert_eq!(empty.market.slots_free, u64::from(bench.slots));
    assert_eq!((empty.n_trusted, empty.n_suspect), (1, 0));
    let mut draft = diamond();
    for node in &mut draft.nodes {
        if matches!(node.kind, NodeKind::Activity(_)) {
            edit(node, |activity| activity.retry.attempts = 3);
        }
    }
    bench.submit(draft);
    bench.pass(60);
    let after = measured(&mut bench);
    assert_eq!(bench.end_line(), "completed");
    assert_eq!(n_in(&after, "completed"), 1);
    assert_eq!(after.processes.iter().sum::<u64>(), 1);
    let tally = &after.tally;
    assert_eq!((tally.n_submitted, tally.n_completed), (1, 1));
    assert_eq!((tally.n_sent, tally.n_planned), (5, 1));
    assert_eq!(tally.verdicts.n_completed, 4);
    assert_eq!(tally.verdicts.n_retried, 1);
    assert_eq!(tally.faults.iter().sum::<u64>(), 1);
    assert_eq!(tally.run_times.count(), 4);
    // One of them started twice.
    assert_eq!(tally.start_delays.count(), 5);
    assert_eq!((after.n_out, after.totals.all()), (0, 0));
    bench.restart();
    let again = measured(&mut bench);
    assert_eq!(n_in(&again, "completed"), 1);
    assert_eq!((again.tally.n_submitted, again.tally.n_sent), (0, 0));
}
