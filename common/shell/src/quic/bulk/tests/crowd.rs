//! A crowd of strangers in handshakes: members still get files, also from the crowd's own address.

use std::net::Ipv4Addr;
use std::time::Duration;

use super::*;
use crate::limits::{BULK_CONNECTIONS_MAX, HANDSHAKES_EACH_MAX};
use crate::quic::tests::crowd;

/// Longer than an answer takes over loopback. A lost one costs so much time and nothing else.
const ANSWER_MAX: Duration = Duration::from_millis(200);

/// The first packets of so many handshakes, by strangers with certificates of another group.
fn first_packets(n: usize) -> Vec<Vec<u8>> {
    let stranger = Group::new("yard").member(Role::User);
    let config = client_config(&trust(&stranger).unwrap());
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        crowd::first_packets(&endpoint, &config, n).await
    })
}

#[test]
fn handshakes_that_do_not_go_on_do_not_keep_members_from_files() {
    let group = Group::new("lab");
    let (shelf, hash) = Shelf::with(b"wanted");
    let giver = group.bulk(Role::Am, Some(shelf));
    let packets = first_packets(BULK_CONNECTIONS_MAX + HANDSHAKES_EACH_MAX);
    let crowd = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    crowd.set_read_timeout(Some(ANSWER_MAX)).unwrap();
    let mut buffer = [0; 2_000];
    for packet in packets {
        crowd.send_to(&packet, giver.address()).unwrap();
        // The answer is awaited, so that none of the packets is lost, and never replied to.
        let _ = crowd.recv_from(&mut buffer);
    }
    assert!(giver.shared.admission.len() <= HANDSHAKES_EACH_MAX);
    assert_eq!(giver.counts().n_connections, 0);
    for role in MAY_GET {
        let member = group.bulk(role, None);
        let here = Shelf::default();
        member.fetch(&[source(&giver)], hash, &here).unwrap();
        assert_eq!(here.get(hash).unwrap(), b"wanted", "{role}");
    }
    assert!(giver.shared.admission.len() <= HANDSHAKES_EACH_MAX);
}
