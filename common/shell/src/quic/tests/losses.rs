//! Peers that die, come back, or do not keep up.

use super::*;
use crate::limits::INBOX_INPUTS_MAX;

/// The reason of a link that the peer has no connection for.
const FORGOTTEN: &str =
    "the peer does not know this connection any more: it started again or ended it";

#[test]
fn a_killed_peer_is_noticed_by_its_silence() {
    let group = Group::new();
    let gm = Node::new(group.member(Role::Gm, 1));
    let mut am = Node::new(group.member(Role::Am, 2));
    let _kept = am.dial(&gm);
    am.until(&Came::Up(1));
    gm.links.vanish();
    assert_eq!(am.next(), Came::Down(1));
    let silent = "the peer is silent".to_owned();
    assert_eq!(am.next(), Came::Ended("n1".to_owned(), silent.clone()));
    assert_eq!(am.next(), Came::Failed(silent));
}

#[test]
fn a_peer_that_has_started_again_tells_and_is_linked_again() {
    let group = Group::new();
    let state = TempDir::new().unwrap();
    let gm = Node::at(any_port(), state.path(), group.member(Role::Gm, 1));
    let mut am = Node::new(group.member(Role::Am, 2));
    let address = gm.links.address();
    let _kept = am.dial(&gm);
    am.until(&Came::Up(1));
    let credentials = gm.credentials.clone();
    gm.links.vanish();
    let mut gm = Node::at(address, state.path(), credentials);
    assert_eq!(am.next(), Came::Down(1));
    assert_eq!(
        am.next(),
        Came::Ended("n1".to_owned(), FORGOTTEN.to_owned())
    );
    assert_eq!(am.next(), Came::Up(1));
    assert_eq!(gm.next(), Came::Up(2));
    am.ping(&mut gm, "as before");
}

#[test]
fn an_epoch_is_later_than_the_one_before() {
    let state = TempDir::new().unwrap();
    let begin = || LinkEpoch::begin(state.path()).unwrap().epoch().0;
    let seconds = clock::wall().0 / 1_000_000;
    let (first, second) = (begin(), begin());
    assert!(first > seconds, "{first}: above those before a restore");
    assert_eq!(second, first + 1);
    std::fs::write(state.path().join("links.epoch"), "x").unwrap();
    let error = LinkEpoch::begin(state.path()).unwrap_err().to_string();
    assert!(
        error.ends_with("holds no key of links or no epoch"),
        "{error}"
    );
}

#[test]
fn a_slow_reader_loses_its_link_and_nobody_elses() {
    let group = Group::new();
    let mut gm = Node::new(group.member(Role::Gm, 1));
    let mut slow = Node::new(group.member(Role::Am, 2));
    let mut other = Node::new(group.member(Role::Am, 3));
    let _kept = slow.dial(&gm);
    slow.until(&Came::Up(1));
    gm.until(&Came::Up(2));
    let _other = other.dial(&gm);
    other.until(&Came::Up(1));
    gm.until(&Came::Up(3));
    // The slow peer takes nothing. Its queue, the connection and the queue to it are bounded; then
    // the link is lost. The sender never waits.
    let text = "x".repeat(1_000);
    let mut came = Vec::new();
    let mut n_sent = 0;
    let reason = "the receiver does not keep up";
    let ended = Came::Ended("n2".to_owned(), format!("refused the peer: {reason}"));
    while !came.contains(&ended) {
        (0..100).for_each(|_| gm.to.send(2, &text));
        gm.to.wake_receivers();
        n_sent += 100;
        if n_sent % 5_000 == 0 {
            gm.send(3, "still there?");
            other.until(&Came::Message(1, "still there?".to_owned()));
        }
        while let Some(next) = gm.came.next_within(Span::ZERO) {
            came.push(next);
        }
        assert!(n_sent < 1_000_000, "the link is bounded");
    }
    assert_eq!(came[..2], [Came::Down(2), ended]);
    other.ping(&mut gm, "still here");
    // When it reads again, it notices the loss and is linked again. The one packet that says why may
    // have been lost, since it was sent behind many others.
    let told = slow.next_reason();
    let refused = format!("refused by the peer: {reason}");
    assert!(told == refused || told == FORGOTTEN, "{told}");
    slow.until(&Came::Up(1));
    slow.ping(&mut gm, "here again");
}

#[test]
fn a_message_waits_at_a_queue_that_others_have_filled() {
    let group = Group::new();
    let mut gm = Node::new(group.member(Role::Gm, 1));
    let mut am = Node::new(group.member(Role::Am, 2));
    let _kept = am.dial(&gm);
    am.until(&Came::Up(1));
    gm.until(&Came::Up(2));
    am.ping(&mut gm, "before");
    let other = Came::Message(3, "of another sender".to_owned());
    for _ in 0..INBOX_INPUTS_MAX {
        gm.inbox.tell(other.clone());
    }
    am.send(1, "after");
    // Nothing ends while it waits there.
    assert_eq!(am.came.next_within(Span::from_millis(300)), None);
    for _ in 0..INBOX_INPUTS_MAX {
        assert_eq!(gm.next(), other);
    }
    assert_eq!(gm.next(), Came::Message(2, "after".to_owned()));
}
