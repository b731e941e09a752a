//! A machine that counts, driven by hand.

use super::*;

/// Adds its inputs, and reports the sum.
struct Counter;

impl Machine for Counter {
    type Stream = u8;
    type State = u64;
    type Snapshot = u64;
    type Chapter = ();
    type Event = u64;
    type Input = (u8, u64);
    type Effect = String;

    fn apply(state: &mut u64, event: &u64) {
        *state += event;
    }
    fn weight(_: &u64) -> usize {
        1
    }
    fn snapshot(state: &u64) -> u64 {
        *state
    }
    fn restore(_: u64, snapshot: u64, _: Vec<(u32, ())>) -> u64 {
        snapshot
    }
    fn step(&mut self, cx: &mut Context<'_, Self>, _: Now, (stream, amount): (u8, u64)) {
        if amount == 0 {
            cx.forget(stream);
        } else if amount < 1_000 {
            cx.record(stream, amount);
        }
        let sum = cx.state(stream).copied();
        cx.effect(format!("{stream}: {sum:?}"));
    }
    fn wake(&mut self, _: &mut Context<'_, Self>, _: Now) {}
    fn resume(&mut self, cx: &mut Context<'_, Self>, _: Now) {
        let sums: Vec<u64> = cx.states().iter().map(|(_, sum)| *sum).collect();
        cx.effect(format!("resumed with {sums:?}"));
    }
    fn next_wakeup(&self) -> Option<Mono> {
        None
    }
}

#[test]
fn effects_wait_for_their_own_and_all_earlier_batches() {
    let mut drive = Drive::start(Counter, Vec::new(), Now::default());
    drive.step(Now::default(), (1, 5));
    let first = drive.close();
    drive.step(Now::default(), (1, 2_000));
    let second = drive.close();
    assert_eq!(first.events, [(1, 5)]);
    assert!(second.is_empty());
    assert_eq!(drive.flushed(0), Vec::<String>::new());
    assert_eq!(
        drive.flushed(first.number),
        ["resumed with []", "1: Some(5)"]
    );
    assert_eq!(drive.flushed(second.number), ["1: Some(5)"]);
    assert_eq!(drive.flushed(second.number), Vec::<String>::new());
}

#[test]
fn replay_of_founding_snapshot_and_tail_gives_the_state_back() {
    let mut drive = Drive::start(Counter, Vec::new(), Now::default());
    let mut founding = None;
    let mut snapshot = None;
    let mut tail = Vec::new();
    let mut n_snapshots = 0;
    for amount in (1..900).cycle().take(5_000) {
        drive.step(Now::default(), (7, amount));
        let batch = drive.close();
        for (_, event) in batch.events {
            if founding.is_none() {
                founding = Some(event);
            } else {
                tail.push(event);
            }
        }
        for (_, taken) in batch.snapshots {
            snapshot = Some(taken);
            tail.clear();
            n_snapshots += 1;
        }
        drive.flushed(batch.number);
    }
    assert_eq!(n_snapshots, 4);
    assert!(tail.len() <= TAIL_EVENTS_MIN + 3);
    let history = History {
        stream: 7,
        founding: founding.unwrap(),
        snapshot,
        chapters: Vec::new(),
        tail,
    };
    let again = Drive::start(Counter, vec![history], Now::default());
    assert_eq!(again.states().get(7), drive.states().get(7));
}

#[test]
fn a_forgotten_stream_is_gone_from_states_and_named_in_the_batch() {
    let mut drive = Drive::start(Counter, Vec::new(), Now::default());
    drive.step(Now::default(), (1, 5));
    drive.step(Now::default(), (1, 0));
    let batch = drive.close();
    assert_eq!((batch.events, batch.forgotten), (vec![(1, 5)], vec![1]));
    assert_eq!(drive.states().get(1), None);
}
