use std::thread::ThreadId;

use super::*;

/// Takes inputs once there is something to do.
fn take(receiver: &mut InputReceiver<u64>, n_inputs_max: usize, until: Until) -> Vec<u64> {
    let mut inputs = Lanes::default();
    let condition = WaitCondition {
        n_inputs_max,
        until,
    };
    if receiver.take(condition, &mut inputs, &mut None) == Taken::Nothing {
        Inbox(Arc::clone(&receiver.shared)).enter();
        receiver.take(condition, &mut inputs, &mut None);
    }
    std::iter::from_fn(|| inputs.pop().map(|(_, input)| input)).collect()
}

#[test]
fn inputs_come_in_order_and_no_more_than_wished_for() {
    let (inbox, mut receiver) = inbox();
    inbox.send_all(0..5).unwrap();
    assert_eq!(take(&mut receiver, 3, Until::Something), [0, 1, 2]);
    assert_eq!(take(&mut receiver, 3, Until::Something), [3, 4]);
    assert!(take(&mut receiver, 3, Until::Awake).is_empty());
    let soon = clock::mono() + Span::from_millis(1);
    assert!(take(&mut receiver, 3, Until::At(soon)).is_empty());
    assert!(clock::mono() >= soon);
}

#[test]
fn what_a_core_must_know_first_comes_before_a_client_that_asked_meanwhile() {
    let (inbox, mut receiver) = inbox();
    inbox.tell(1);
    inbox.send_all([10, 11]).unwrap();
    inbox.tell_first(2);
    inbox.tell_first(3);
    assert_eq!(take(&mut receiver, 9, Until::Something), [2, 3, 1, 10, 11]);
}

#[test]
fn a_full_queue_refuses_and_a_reader_waits_for_room() {
    const N: u64 = 3 * INBOX_INPUTS_MAX as u64;
    let (inbox, mut receiver) = inbox();
    let theirs = inbox.clone();
    let reader = std::thread::spawn(move || theirs.send_all(0..N));
    let mut inputs = Vec::new();
    while inputs.len() < N as usize {
        inputs.extend(take(&mut receiver, 100, Until::Something));
    }
    assert!(inputs.into_iter().eq(0..N));
    reader.join().unwrap().unwrap();
    inbox.send_all(0..INBOX_INPUTS_MAX as u64).unwrap();
    // A peer is not kept out by clients, nor an urgent message by other peers.
    while inbox.try_send(7) != Err(Refused::Full) {}
    let open: Opener<u64> = Arc::new(|_| Some(8));
    inbox.offer(Lane::Urgent, vec![0], &open).unwrap();
    assert_eq!(take(&mut receiver, 3, Until::Awake), [8, 7, 0, 7]);
}

#[test]
fn bytes_are_bounded_but_for_a_single_message() {
    let (inbox, mut receiver) = inbox();
    let open: Opener<u64> = Arc::new(|bytes| Some(bytes.len() as u64));
    // Zeroed pages that are never touched cost no memory.
    inbox
        .offer(Lane::Peers, vec![0; INBOX_BYTES_MAX + 1], &open)
        .unwrap();
    assert_eq!(inbox.offer(Lane::Peers, vec![0], &open), Err(Refused::Full));
    assert_eq!(
        take(&mut receiver, 9, Until::Something),
        [INBOX_BYTES_MAX as u64 + 1]
    );
    inbox.offer(Lane::Peers, vec![0; 2], &open).unwrap();
    assert_eq!(take(&mut receiver, 9, Until::Something), [2]);
}

#[test]
fn nothing_is_taken_after_the_end() {
    let (inbox, receiver) = inbox();
    inbox.send_all(0..3).unwrap();
    drop(receiver);
    assert_eq!(inbox.try_send(1), Err(Refused::Closed));
    assert_eq!(inbox.send_all([1]), Err(Refused::Closed));
    inbox.tell(1);
    assert!(!inbox.is_open());
}

#[test]
fn a_loop_that_is_idle_or_looks_for_inputs_goes_on_and_another_does_not() {
    let (inbox, mut receiver) = inbox();
    take(&mut receiver, 3, Until::Awake);
    // The loop runs a step, and does not look for inputs meanwhile.
    let in_step = inbox.pulse();
    assert!(!inbox.pulse().goes_on_since(in_step));
    receiver.leave(WaitCondition {
        n_inputs_max: 3,
        until: Until::Something,
    });
    let idle = inbox.pulse();
    assert!(idle.goes_on_since(in_step) && inbox.pulse().goes_on_since(idle));
    // An input waits, and nobody takes it.
    inbox.try_send(1).unwrap();
    let waiting = inbox.pulse();
    assert!(!inbox.pulse().goes_on_since(waiting));
    assert_eq!(take(&mut receiver, 3, Until::Something), [1]);
    assert!(inbox.pulse().goes_on_since(waiting));
    // A timer that is over counts like an input.
    receiver.leave(WaitCondition {
        n_inputs_max: 3,
        until: Until::At(Mono(0)),
    });
    let late = inbox.pulse();
    assert!(!inbox.pulse().goes_on_since(late));
}

/// A loop that records its inputs and the threads that ran it.
struct Counter {
    inbox: Inbox<u64>,
    seen: Mutex<(InputReceiver<u64>, Vec<u64>, Vec<ThreadId>)>,
}

impl Turns for Counter {
    fn run(&self) {
        let mut seen = self.seen.lock().unwrap();
        let (receiver, inputs, threads) = &mut *seen;
        threads.push(std::thread::current().id());
        let condition = WaitCondition {
            n_inputs_max: 2,
            until: Until::Something,
        };
        let mut taken = Lanes::default();
        while receiver.take(condition, &mut taken, &mut None) == Taken::Work {
            inputs.extend(std::iter::from_fn(|| taken.pop().map(|(_, input)| input)));
        }
    }
}

fn counter() -> Arc<Counter> {
    let (inbox, receiver) = inbox();
    let counter = Arc::new(Counter {
        inbox,
        seen: Mutex::new((receiver, Vec::new(), Vec::new())),
    });
    let turns: Arc<dyn Turns> = counter.clone();
    counter.inbox.run_inline_with(Arc::downgrade(&turns));
    counter
}

#[test]
fn a_loop_runs_in_a_thread_that_is_lent_if_it_has_been_left() {
    let counter = counter();
    counter.inbox.tell_inline([1]);
    assert!(
        counter.seen.lock().unwrap().1.is_empty(),
        "its own thread has it from the beginning"
    );
    counter.run();
    counter.inbox.tell_inline([2, 3, 4]);
    let seen = counter.seen.lock().unwrap();
    assert_eq!(seen.1, [1, 2, 3, 4]);
    assert_eq!(seen.2.len(), 2);
}

#[test]
fn nothing_is_overlooked_where_many_send_and_many_lend() {
    const EACH: u64 = 2_000;
    let counter = counter();
    let own = {
        let counter = Arc::clone(&counter);
        std::thread::spawn(move || {
            while counter.inbox.is_open() {
                counter.run();
                counter.inbox.enter();
            }
        })
    };
    std::thread::scope(|scope| {
        for sender in 0..4 {
            let inbox = counter.inbox.clone();
            scope.spawn(move || {
                for number in (0..EACH).map(|number| number * 4 + sender) {
                    if sender % 2 == 0 {
                        inbox.tell_inline([number]);
                    } else {
                        inbox.send_all([number]).unwrap();
                    }
                }
            });
        }
    });
    let n_seen = || counter.seen.lock().unwrap().1.len();
    while n_seen() < 4 * EACH as usize {
        std::thread::yield_now();
    }
    counter.inbox.close();
    own.join().unwrap();
    let mut all = std::mem::take(&mut counter.seen.lock().unwrap().1);
    all.sort_unstable();
    assert!(all.into_iter().eq(0..4 * EACH));
}
