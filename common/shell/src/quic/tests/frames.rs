//! A malformed message ends its link and no other.

use proptest::prelude::*;
use wire::frame;

use super::raw::Raw;
use super::*;

/// A group manager, a well-behaved peer, and another peer.
struct Bench {
    gm: Node,
    am: Node,
    _kept: Kept,
    raw: Raw,
}

impl Bench {
    fn new() -> Bench {
        let group = Group::new();
        let mut gm = Node::new(group.member(Role::Gm, 1));
        let mut am = Node::new(group.member(Role::Am, 2));
        let kept = am.dial(&gm);
        am.until(&Came::Up(1));
        gm.until(&Came::Up(2));
        Bench {
            gm,
            am,
            _kept: kept,
            raw: Raw::new(&group.member(Role::Am, 3)),
        }
    }

    /// The end of a link on which these bytes are sent: the received messages, the manager's
    /// reason, and the peer's.
    fn end_with(&mut self, bytes: &[u8]) -> (Vec<String>, String, String) {
        let link = self.raw.link(&self.gm);
        self.gm.until(&Came::Up(3));
        let heard = self.raw.end_with(link, bytes);
        let mut received = Vec::new();
        loop {
            match self.gm.next() {
                Came::Message(_, message) => received.push(message),
                Came::Ended(_, reason) => return (received, reason, heard),
                Came::Up(_) | Came::Down(_) | Came::Failed(_) => {}
            }
        }
    }
}

fn framed(bodies: &[&[u8]]) -> Vec<u8> {
    let mut frames = Vec::new();
    for body in bodies {
        frame::append(&mut frames, |out| out.extend_from_slice(body));
    }
    frames
}

#[test]
fn bad_frames_end_their_own_link_with_a_reason() {
    let mut bench = Bench::new();
    let good = wire::encode(&"good".to_owned());
    let other_kind = wire::encode(&7_u64);
    let mut huge = framed(&[&good]);
    huge.extend_from_slice(&u32::MAX.to_le_bytes());
    let mut cut = framed(&[&good, &good]);
    cut.pop();
    let too_long = "a message is longer than messages may be";
    let malformed = "a message could not be read";
    for (bytes, n_good, reason) in [
        (huge, 1, too_long),
        (cut, 1, malformed),
        (framed(&[&good, &[0x1c], &good]), 1, malformed),
        (framed(&[&[]]), 0, malformed),
        (
            framed(&[&good, &[&good[..], &good[..]].concat()]),
            1,
            malformed,
        ),
        (
            framed(&[&[0x9b, 255, 255, 255, 255, 255, 255, 255, 255]]),
            0,
            malformed,
        ),
        (framed(&[&[0x9f; 100_000]]), 0, malformed),
    ] {
        let (received, ours, theirs) = bench.end_with(&bytes);
        assert_eq!(received, vec!["good"; n_good]);
        assert_eq!(ours, format!("refused the peer: {reason}"));
        assert_eq!(theirs, format!("refused by the peer: {reason}"));
    }
    // Messages of a later version are ignored.
    let (received, ours, _) = bench.end_with(&framed(&[&good, &other_kind, &good]));
    assert_eq!(received, ["good", "good"]);
    assert_eq!(ours, "refused by the peer: the manager is stopping");
    let Bench { gm, am, .. } = &mut bench;
    gm.ping(am, "the other link goes on");
}

#[test]
fn random_bytes_end_their_own_link_and_harm_nobody() {
    let mut bench = Bench::new();
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let bytes = proptest::collection::vec(any::<u8>(), 0..300);
    let bodies = proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..8);
    let either = prop_oneof![
        bytes,
        bodies.prop_map(|bodies| {
            let bodies: Vec<&[u8]> = bodies.iter().map(Vec::as_slice).collect();
            framed(&bodies)
        }),
    ];
    for _ in 0..100 {
        let case = proptest::strategy::Strategy::new_tree(&either, &mut runner).unwrap();
        bench.end_with(&proptest::strategy::ValueTree::current(&case));
    }
    let Bench { gm, am, .. } = &mut bench;
    gm.ping(am, "the other link goes on");
}

#[test]
fn strange_packets_are_ignored_and_counted() {
    const PACKETS: u64 = 200;
    let mut bench = Bench::new();
    let Bench { gm, am, .. } = &mut bench;
    let before = gm.links.counts().n_foreign_packets;
    let socket = std::net::UdpSocket::bind(any_port()).unwrap();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for n in 0..PACKETS {
        let packet: Vec<u8> = (0..1 + n % 80)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state.to_le_bytes()[0]
            })
            .collect();
        socket.send_to(&packet, gm.links.address()).unwrap();
    }
    // They are in the socket before this one, so they are read before.
    am.ping(gm, "the link goes on");
    assert_eq!(gm.links.counts().n_foreign_packets - before, PACKETS);
    assert_eq!(gm.links.counts().n_links, 1);
}
