//! Refused peers, and the reasons on both sides.

use model::{Epoch, Span};
use wire::hello::Protocols;

use super::raw::{Raw, framed};
use super::*;
use crate::identity::Revoked;
use crate::limits::LINK_GREETINGS_EACH_MAX;

/// The reason on each side for the end of the first attempt: the dialled one, the dialling one.
fn reasons(gm: Credentials, am: Credentials) -> (String, String) {
    let mut gm = Node::new(gm);
    let mut am = Node::new(am);
    let expected = Identity::new("grid", "lab", Role::Gm, "n1").unwrap();
    let kept = am.dial_as(&gm, &expected);
    let reasons = (gm.next_reason(), am.next_reason());
    drop(kept);
    reasons
}

fn us(text: &str) -> String {
    format!("refused the peer: {text}")
}

fn them(text: &str) -> String {
    format!("refused by the peer: {text}")
}

fn revoked(credentials: &Credentials) -> Revocations {
    let mut revocations = Revocations::default();
    let revoked = Revoked {
        at: clock::wall(),
        identity: Some(credentials.identity().clone()),
    };
    let serial = credentials.certificate().serial.clone();
    revocations.add(serial, revoked).unwrap();
    revocations
}

#[test]
fn a_certificate_of_another_authority_is_refused() {
    let (group, other) = (Group::new(), Group::new());
    let text = "the certificate is of an authority that is not trusted";
    // The dialer's; it trusts the right one, but has its own from another.
    let am = other.member_trusting(Role::Am, 2, &group.authority, Revocations::default());
    let found = reasons(group.member(Role::Gm, 1), am);
    assert_eq!(found, (us(text), them(text)));
    // The dialled one's.
    let found = reasons(group.member(Role::Gm, 1), other.member(Role::Am, 2));
    assert_eq!(found, (them(text), us(text)));
}

#[test]
fn a_certificate_that_has_expired_or_is_of_the_future_is_refused() {
    let group = Group::new();
    let trusted = &group.authority;
    let text = "the certificate is not valid at this time";
    let past = (Wall(clock::wall().0 - 2 * DAY.0), DAY);
    let future = (Wall(clock::wall().0 + DAY.0), DAY);
    for times in [past, future] {
        let am = group.sign(Role::Am, 2, times, trusted, Revocations::default());
        let found = reasons(group.member(Role::Gm, 1), am);
        assert_eq!(found, (us(text), them(text)));
        let gm = group.sign(Role::Gm, 1, times, trusted, Revocations::default());
        let found = reasons(gm, group.member(Role::Am, 2));
        assert_eq!(found, (them(text), us(text)));
    }
}

#[test]
fn a_revoked_certificate_is_refused() {
    let group = Group::new();
    let trusted = &group.authority;
    let text = "the certificate was revoked";
    let am = group.member(Role::Am, 2);
    let gm = group.member_trusting(Role::Gm, 1, trusted, revoked(&am));
    assert_eq!(reasons(gm, am), (us(text), them(text)));
    let gm = group.member(Role::Gm, 1);
    let am = group.member_trusting(Role::Am, 2, trusted, revoked(&gm));
    assert_eq!(reasons(gm, am), (them(text), us(text)));
}

#[test]
fn a_role_that_has_no_business_there_is_refused() {
    let group = Group::new();
    let text = "the role in the certificate is not served here";
    let found = reasons(group.member(Role::Gm, 1), group.member(Role::User, 2));
    assert_eq!(found, (us(text), them(text)));
    // A user's certificate cannot be dialled with.
    let found = reasons(group.member(Role::User, 1), group.member(Role::Am, 2));
    let text = "the certificate cannot be used";
    assert_eq!(found, (them(text), us(text)));
}

#[test]
fn somebody_else_than_the_one_who_was_dialled_is_refused() {
    let group = Group::new();
    let text = "the certificate is not of the one that was dialled";
    let found = reasons(group.member(Role::Gm, 3), group.member(Role::Am, 2));
    assert_eq!(found, (them(text), us(text)));
    let found = reasons(group.member(Role::Pm, 1), group.member(Role::Am, 2));
    assert_eq!(found, (them(text), us(text)));
}

#[test]
fn a_greeting_that_is_none_is_refused() {
    let group = Group::new();
    let mut gm = Node::new(group.member(Role::Gm, 1));
    let raw = Raw::new(&group.member(Role::Am, 2));
    let mut pretender = raw.hello.clone();
    pretender.identity = "xav://grid/lab/am/n3".to_owned();
    let mut future = raw.hello.clone();
    future.protocols = Protocols {
        oldest: 2,
        newest: 9,
    };
    let mut chatty = raw.hello.clone();
    chatty.program = "x".repeat(5_000);
    for (greeting, text) in [
        (
            framed(&pretender),
            "the greeting names somebody else than the certificate",
        ),
        (
            framed(&future),
            "there is no version of the protocol that both sides speak",
        ),
        (framed(&chatty), "a message is longer than messages may be"),
        (vec![0xff; 4], "a message is longer than messages may be"),
        (vec![3, 0, 0, 0, 1, 2, 3], "the greeting could not be read"),
    ] {
        assert_eq!(raw.greet_with(&gm, &greeting), them(text));
        assert_eq!(gm.next_reason(), us(text));
    }
}

#[test]
fn an_earlier_epoch_is_refused_and_a_later_one_takes_its_place() {
    let group = Group::new();
    let mut gm = Node::new(group.member(Role::Gm, 1));
    let mut raw = Raw::new(&group.member(Role::Am, 2));
    raw.hello.epoch = Epoch(5);
    let first = raw.link(&gm);
    assert_eq!(gm.next(), Came::Up(2));
    raw.hello.epoch = Epoch(4);
    let text = "a later epoch of the same peer is connected";
    assert_eq!(raw.greet_with(&gm, &framed(&raw.hello)), them(text));
    assert_eq!(gm.next(), Came::Failed(us(text)));
    raw.hello.epoch = Epoch(6);
    let _second = raw.link(&gm);
    // The manager gets the end of the old link before the beginning of the new one.
    assert_eq!(gm.next(), Came::Down(2));
    let text = "the peer has connected anew";
    assert_eq!(gm.next(), Came::Ended("n2".to_owned(), us(text)));
    assert_eq!(gm.next(), Came::Up(2));
    let end = raw.bounded(async { LinkError::from(first.connection.closed().await) });
    assert_eq!(end.to_string(), them(text));
}

#[test]
fn a_peer_that_is_revoked_while_it_is_linked_loses_its_link_at_once() {
    let group = Group::new();
    let mut gm = Node::new(group.member(Role::Gm, 1));
    let mut am = Node::new(group.member(Role::Am, 2));
    let mut other = Node::new(group.member(Role::Am, 3));
    let _kept = [am.dial(&gm), other.dial(&gm)];
    am.until(&Came::Up(1));
    other.until(&Came::Up(1));
    gm.next();
    gm.next();
    let text = "the certificate was revoked";
    let renewed = group.member_trusting(Role::Gm, 1, &group.authority, revoked(&am.credentials));
    gm.links.renew(&renewed).unwrap();
    assert_eq!(am.next(), Came::Down(1));
    assert_eq!(am.next(), Came::Ended("n1".to_owned(), them(text)));
    assert_eq!(am.next(), Came::Failed(them(text)));
    assert_eq!(gm.next(), Came::Down(2));
    assert_eq!(gm.next(), Came::Ended("n2".to_owned(), us(text)));
    gm.ping(&mut other, "and the other goes on");
    let error = gm.links.renew(&am.credentials).unwrap_err().to_string();
    assert_eq!(
        error,
        "the certificate is of xav://grid/lab/am/n2, and the links are of xav://grid/lab/gm/n1"
    );
}

/// Silent connections, far more than permitted.
const SILENT: usize = 1_000;

#[test]
fn members_that_say_nothing_are_bounded_and_let_go() {
    let group = Group::new();
    let mut gm = Node::new(group.member(Role::Gm, 1));
    let raw = Raw::new(&group.member(Role::Am, 2));
    let silent: Vec<_> = (0..SILENT).map(|_| raw.connect(&gm)).collect();
    let ends = raw.bounded(async {
        let ended = |connecting| async move {
            match connecting {
                Ok(connection) => LinkError::from(quinn::Connection::closed(&connection).await),
                Err(error) => error,
            }
        };
        let tasks: Vec<_> = silent
            .into_iter()
            .map(|one| raw.runtime.spawn(async move { ended(one.await).await }))
            .collect();
        let mut ends = Vec::new();
        for task in tasks {
            ends.push(task.await.unwrap().to_string());
        }
        ends
    });
    // The last ones had their time; the others were ended for them, early or late in their
    // handshake.
    let n_late = ends
        .iter()
        .filter(|end| **end == them("the greeting did not come in time"))
        .count();
    assert!((1..=LINK_GREETINGS_EACH_MAX).contains(&n_late), "{n_late}");
    let counts = gm.links.counts();
    assert_eq!(counts.n_greetings, 0, "{counts:?}");
    assert!(counts.n_crowded_out > 0, "{counts:?}");
    let mut am = Node::new(group.member(Role::Am, 3));
    let _kept = am.dial(&gm);
    assert_eq!(am.next(), Came::Up(1));
    gm.until(&Came::Up(3));
}

#[test]
fn a_renewed_certificate_serves_from_the_next_connection_on() {
    // On a loaded machine a link may end by silence instead; then the test proves nothing and looks
    // at another link.
    assert!((0..10).any(|_| a_link_ends_with_its_certificate_and_comes_again_with_another()));
}

/// Returns true if the end of the certificate ended the link.
fn a_link_ends_with_its_certificate_and_comes_again_with_another() -> bool {
    let group = Group::new();
    let mut gm = Node::new(group.member(Role::Gm, 1));
    let mut am = Node::new(group.member(Role::Am, 2));
    // So short that it has expired when the first connection is made and another is wanted.
    let short = (Wall(clock::wall().0 - DAY.0), Span(DAY.0 + 6_000_000));
    let before = group.sign(Role::Am, 2, short, &group.authority, Revocations::default());
    am.links.renew(&before).unwrap();
    let _kept = am.dial(&gm);
    loop {
        match am.next() {
            Came::Up(1) => break,
            // It was over before that.
            Came::Failed(why) if why.contains("not valid at this time") => return false,
            Came::Up(_) | Came::Down(_) | Came::Message(..) | Came::Ended(..) | Came::Failed(_) => {
            }
        }
    }
    // A link does not outlive its certificate.
    am.links.renew(&am.credentials).unwrap();
    assert_eq!(am.next(), Came::Down(1));
    let text = "the certificate is not valid at this time";
    if am.next() != Came::Ended("n1".to_owned(), them(text)) {
        return false;
    }
    am.until(&Came::Up(1));
    gm.until(&Came::Up(2));
    gm.until(&Came::Down(2));
    true
}
