//! Crowds of strangers: members still get in, from other addresses and from the same ones.

use std::collections::BTreeMap;
use std::net::{IpAddr, UdpSocket};

use quinn::{ClientConfig, Connection, Endpoint};
use tokio::runtime::{Builder, Runtime};

use super::super::request_client::client_config;
use super::super::trust;
use super::*;
use crate::limits::{HANDSHAKES_MAX, REQUEST_CONNECTIONS_EACH_MAX, STRANGERS_MAX};

/// Answers what it is asked.
struct Echo;

impl RequestHandler for Echo {
    fn answer(&mut self, asker: RequestOrigin<'_>, question: &[u8]) -> Vec<u8> {
        let is_member = asker.certificate.is_some();
        [
            if is_member {
                &b"member "[..]
            } else {
                b"stranger "
            },
            question,
        ]
        .concat()
    }
}

/// A group manager that answers requests.
struct Besieged {
    links: Links,
    gm: Credentials,
    _state: TempDir,
}

impl Besieged {
    fn new(group: &Group) -> Besieged {
        let gm = group.member(Role::Gm, 1);
        let state = TempDir::new().unwrap();
        let config = LinkConfig {
            address: any_port(),
            credentials: gm.clone(),
            epoch: LinkEpoch::begin(state.path()).unwrap(),
            resource: None,
            accepts: vec![Role::Am],
            requests: Some(Box::new(Echo)),
        };
        Besieged {
            links: Links::bind(config, |_| {}).unwrap(),
            gm,
            _state: state,
        }
    }

    fn ask(&self, requester: Requester<'_>) -> String {
        let address = self.links.address().to_string();
        let told = ask(&address, requester, b"who").unwrap();
        String::from_utf8(told).unwrap()
    }

    /// A member sends requests, each on a connection of its own; and somebody joins.
    fn is_open(&self, group: &Group) {
        let user = group.member(Role::User, 2);
        for _ in 0..20 {
            let member = Requester::Member(&user, self.gm.identity());
            assert_eq!(self.ask(member), "member who");
        }
        let authority = self.gm.fingerprint();
        let (grid, group) = ("grid", "lab");
        let stranger = Requester::Stranger {
            authority,
            grid,
            group,
        };
        assert_eq!(self.ask(stranger), "stranger who");
    }
}

/// Strangers of several addresses.
struct Crowd {
    runtime: Runtime,
    endpoints: Vec<Endpoint>,
}

impl Crowd {
    fn of(addresses: &[&str]) -> Crowd {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let _entered = runtime.enter();
        let endpoints = addresses.iter().map(|address| {
            let address: IpAddr = address.parse().unwrap();
            Endpoint::client((address, 0).into()).unwrap()
        });
        let endpoints = endpoints.collect();
        drop(_entered);
        Crowd { runtime, endpoints }
    }

    /// Connections for requests that stay idle.
    fn hold(&self, besieged: &Besieged, n: usize) -> Vec<Connection> {
        let config = client_config(trust::stranger(besieged.gm.fingerprint()).unwrap());
        let held = async {
            let mut held = Vec::new();
            for endpoint in self.endpoints.iter().cycle().take(n) {
                let target = besieged.links.address();
                let connecting = endpoint.connect_with(config.clone(), target, "x").unwrap();
                held.extend(connecting.await);
            }
            held
        };
        self.runtime.block_on(held)
    }

    /// The first packets of handshakes that are never continued.
    fn first_packets(&self, besieged: &Besieged, n: usize) -> Vec<Vec<u8>> {
        let config = client_config(trust::stranger(besieged.gm.fingerprint()).unwrap());
        self.runtime
            .block_on(first_packets(&self.endpoints[0], &config, n))
    }
}

/// The first packets of so many handshakes that an endpoint begins.
pub(in super::super) async fn first_packets(
    endpoint: &Endpoint,
    config: &ClientConfig,
    n: usize,
) -> Vec<Vec<u8>> {
    // The connection id follows the version and its own length.
    let mut packets: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    let catcher = tokio::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let catcher = catcher.unwrap();
    let target = catcher.local_addr().unwrap();
    let mut connecting = Vec::new();
    let mut buffer = [0; 2_000];
    while packets.len() < n {
        connecting.push(endpoint.connect_with(config.clone(), target, "x").unwrap());
        let (bytes, _) = catcher.recv_from(&mut buffer).await.unwrap();
        let name = buffer[6..6 + usize::from(buffer[5])].to_vec();
        packets
            .entry(name)
            .or_insert_with(|| buffer[..bytes].to_vec());
    }
    packets.into_values().collect()
}

#[test]
fn strangers_that_hold_connections_do_not_keep_members_out() {
    let group = Group::new();
    let besieged = Besieged::new(&group);
    // In the member's own network, and at its own address.
    let crowd = Crowd::of(&["127.0.0.2", "127.0.0.3", "127.9.9.9", "127.0.0.1"]);
    let held = crowd.hold(&besieged, 3 * HANDSHAKES_MAX);
    besieged.is_open(&group);
    let counts = besieged.links.counts();
    assert!(counts.n_greetings <= STRANGERS_MAX + 1, "{counts:?}");
    assert!(counts.n_crowded_out > HANDSHAKES_MAX as u64, "{counts:?}");
    drop(held);
}

#[test]
fn handshakes_that_do_not_go_on_do_not_keep_members_out() {
    let group = Group::new();
    let besieged = Besieged::new(&group);
    let crowd = Crowd::of(&["127.0.0.1"]);
    let packets = crowd.first_packets(&besieged, 3 * HANDSHAKES_MAX);
    let sockets = ["127.0.0.1", "127.0.0.2", "127.7.0.1"].map(|address| {
        let address: IpAddr = address.parse().unwrap();
        UdpSocket::bind((address, 0)).unwrap()
    });
    for (packet, socket) in packets.iter().zip(sockets.iter().cycle()) {
        socket.send_to(packet, besieged.links.address()).unwrap();
    }
    besieged.is_open(&group);
    let counts = besieged.links.counts();
    assert!(counts.n_greetings <= HANDSHAKES_MAX + 1, "{counts:?}");
    drop(sockets);
}

#[test]
fn a_member_has_a_bounded_number_of_visits_and_takes_none_of_others() {
    let group = Group::new();
    let besieged = Besieged::new(&group);
    let crowd = Crowd::of(&["127.0.0.1"]);
    let greedy = group.member(Role::Am, 3);
    let config = client_config(trust::request_config(&greedy).unwrap());
    let target = besieged.links.address();
    let (held, error) = crowd.runtime.block_on(async {
        let mut held = Vec::new();
        for _ in 0..=REQUEST_CONNECTIONS_EACH_MAX {
            let connecting = crowd.endpoints[0].connect_with(config.clone(), target, "x");
            held.push(connecting.unwrap().await.unwrap());
        }
        let last = held.pop().unwrap();
        (held, LinkError::from(last.closed().await).to_string())
    });
    assert_eq!(
        error,
        "refused by the peer: there are as many connections as there may be"
    );
    besieged.is_open(&group);
    assert!(held.iter().all(|one| one.close_reason().is_none()));
}
