use super::*;
use crate::inbox::{InputReceiver, Until, WaitCondition, inbox};
use crate::limits::INBOX_INPUTS_MAX;
use crate::peers::Peers;

const RECEIVED: Received<u64, String> = Received {
    message: |key, number| format!("{key}: {number}"),
    up: |key| format!("{key}: up"),
    down: |key| format!("{key}: down"),
    lane: super::in_turn,
};

fn all(receiver: &mut InputReceiver<String>) -> Vec<String> {
    let condition = WaitCondition {
        n_inputs_max: usize::MAX,
        until: Until::Awake,
    };
    let mut inputs = machine::Lanes::default();
    receiver.take(condition, &mut inputs, &mut None);
    std::iter::from_fn(|| inputs.pop().map(|(_, input)| input)).collect()
}

#[test]
fn messages_cross_once_both_ends_are_attached() {
    let (a, b) = link::<u64, u64>();
    let (left, mut at_left) = inbox();
    let (right, mut at_right) = inbox();
    let (to_right, to_left) = (Peers::new(), Peers::new());
    to_right.attach(a, &left, 1, RECEIVED);
    to_right.send(1, &7);
    assert_eq!(all(&mut at_left), [""; 0]);
    to_left.attach(b, &right, 2, RECEIVED);
    to_right.send(1, &8);
    to_left.send(2, &9);
    to_left.send(3, &10);
    to_left.wake_receivers();
    assert_eq!(all(&mut at_left), ["1: up", "1: 9"]);
    assert_eq!(all(&mut at_right), ["2: up", "2: 8"]);
    to_left.close();
    to_right.send(1, &11);
    assert_eq!(all(&mut at_left), ["1: down"]);
    assert_eq!(all(&mut at_right), [""; 0]);
}

#[test]
fn a_full_receiver_loses_the_link_and_gets_it_back_when_it_has_drained() {
    let (a, b) = link::<u64, u64>();
    let (left, mut at_left) = inbox();
    let (right, mut at_right) = inbox();
    let (to_right, to_left) = (Peers::new(), Peers::new());
    to_right.attach(a, &left, 1, RECEIVED);
    to_left.attach(b, &right, 2, RECEIVED);
    for number in 0..INBOX_INPUTS_MAX as u64 + 10 {
        to_right.send(1, &number);
    }
    assert_eq!(all(&mut at_left), ["1: up", "1: down"]);
    let due = to_right.next_wakeup().unwrap();
    to_right.reconnect(due);
    let due = to_right.next_wakeup().unwrap();
    let at_right_before = all(&mut at_right);
    assert_eq!(at_right_before.len(), INBOX_INPUTS_MAX + 1);
    assert_eq!(at_right_before.last().unwrap(), "2: down");
    to_right.reconnect(due);
    assert_eq!(to_right.next_wakeup(), None);
    to_right.send(1, &5);
    assert_eq!(all(&mut at_left), ["1: up"]);
    assert_eq!(all(&mut at_right), ["2: up", "2: 5"]);
}

#[test]
fn a_receiver_that_has_stopped_closes_the_link() {
    let (a, b) = link::<u64, u64>();
    let (left, mut at_left) = inbox();
    let (right, at_right) = inbox::<String>();
    let (to_right, to_left) = (Peers::new(), Peers::new());
    to_right.attach(a, &left, 1, RECEIVED);
    to_left.attach(b, &right, 2, RECEIVED);
    drop(at_right);
    to_right.send(1, &1);
    to_left.close();
    assert_eq!(all(&mut at_left).first().unwrap(), "1: up");
}
