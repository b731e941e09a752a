//! Requests of members and of strangers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use quinn::{ClientConfig, Endpoint};
use tokio::runtime::Builder;
use wire::admin::ASK_BYTES_MAX;

use super::super::request_client::client_config;
use super::super::trust;
use super::*;
use crate::identity::{Fingerprint, Revoked};

/// Answers with the sender and the request, and counts.
struct Echo(Arc<AtomicUsize>);

impl RequestHandler for Echo {
    fn answer(&mut self, asker: RequestOrigin<'_>, question: &[u8]) -> Vec<u8> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let member = asker.certificate;
        let name = member.map_or("nobody", |member| member.identity.name());
        [name.as_bytes(), b" asks ", question].concat()
    }
}

struct Server {
    links: Links,
    n_asked: Arc<AtomicUsize>,
    gm: Credentials,
    _state: TempDir,
}

impl Server {
    fn new(gm: Credentials) -> Server {
        let state = TempDir::new().unwrap();
        let n_asked: Arc<AtomicUsize> = Arc::default();
        let config = LinkConfig {
            address: any_port(),
            credentials: gm.clone(),
            epoch: LinkEpoch::begin(state.path()).unwrap(),
            resource: None,
            accepts: vec![Role::Am],
            requests: Some(Box::new(Echo(Arc::clone(&n_asked)))),
        };
        Server {
            links: Links::bind(config, |_| {}).unwrap(),
            n_asked,
            gm,
            _state: state,
        }
    }

    fn address(&self) -> String {
        self.links.address().to_string()
    }

    fn ask(&self, requester: Requester<'_>, question: &[u8]) -> Result<String, String> {
        let answer = ask(&self.address(), requester, question);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        answer.map(text).map_err(|error| error.to_string())
    }

    /// Connects without a certificate, to do what a stranger should not.
    fn connect<T>(&self, config: ClientConfig, then: impl AsyncFn(quinn::Connection) -> T) -> T {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let patience = std::time::Duration::from_micros(PATIENCE.0);
        let done = async {
            let endpoint = Endpoint::client(any_port()).unwrap();
            let connecting = endpoint.connect_with(config, self.links.address(), "x");
            then(connecting.unwrap().await.unwrap()).await
        };
        let bounded = async { tokio::time::timeout(patience, done).await };
        runtime.block_on(bounded).unwrap()
    }
}

fn stranger(authority: Fingerprint, group: &str) -> Requester<'_> {
    Requester::Stranger {
        authority,
        grid: "grid",
        group,
    }
}

#[test]
fn members_and_strangers_are_answered_and_told_apart() {
    let group = Group::new();
    let server = Server::new(group.member(Role::Gm, 1));
    let known = stranger(server.gm.fingerprint(), "lab");
    assert_eq!(server.ask(known, b"a").unwrap(), "nobody asks a");
    let am = group.member(Role::Am, 2);
    let member = Requester::Member(&am, server.gm.identity());
    assert_eq!(server.ask(member, b"b").unwrap(), "n2 asks b");
    let elsewhere = group.member(Role::Gm, 7);
    let member = Requester::Member(&am, elsewhere.identity());
    assert_eq!(
        server.ask(member, b"c").unwrap_err(),
        "refused the peer: the certificate is not of the one that was dialled"
    );
    assert_eq!(server.n_asked.load(Ordering::Relaxed), 2);
}

#[test]
fn a_stranger_tells_nothing_to_another_authority() {
    let (group, other) = (Group::new(), Group::new());
    let server = Server::new(group.member(Role::Gm, 1));
    let found = server.ask(stranger(other.authority.fingerprint(), "lab"), b"secret");
    let text = "refused the peer: the certificate is of an authority that is not trusted";
    assert_eq!(found.unwrap_err(), text);
    // It asks neither another group's manager nor a member that is no group manager.
    let authority = group.authority.fingerprint();
    let found = server.ask(stranger(authority, "barn"), b"secret");
    assert!(found.unwrap_err().contains("not of the one"));
    let pm = Server::new(group.member(Role::Pm, 1));
    let found = pm.ask(stranger(authority, "lab"), b"secret");
    assert!(found.unwrap_err().contains("not of the one"));
    assert_eq!(server.n_asked.load(Ordering::Relaxed), 0);
    assert_eq!(pm.n_asked.load(Ordering::Relaxed), 0);
}

#[test]
fn a_stranger_has_one_short_question_and_no_link() {
    let group = Group::new();
    let server = Server::new(group.member(Role::Gm, 1));
    let config = || client_config(trust::stranger(server.gm.fingerprint()).unwrap());
    let why = server.connect(config(), async |connection| {
        let (mut send, _recv) = connection.open_bi().await.unwrap();
        // A length of 4 GiB, and nothing behind it.
        send.write_all(&[0xff; 4]).await.unwrap();
        LinkError::from(connection.closed().await).to_string()
    });
    assert_eq!(
        why,
        "refused by the peer: a message is longer than messages may be"
    );
    let long = vec![b'x'; ASK_BYTES_MAX + 1];
    let known = stranger(server.gm.fingerprint(), "lab");
    assert!(server.ask(known, &long).unwrap_err().contains("longer"));
    let why = server.connect(config(), async |connection| {
        let (mut send, mut recv) = connection.open_bi().await.unwrap();
        send.write_all(b"\x01\0\0\0x").await.unwrap();
        let _ = recv.read_to_end(100).await.unwrap();
        // The second request finds no server.
        let second = connection.open_bi().await;
        if let Ok((mut send, _recv)) = second {
            let _ = send.write_all(b"\x01\0\0\0y").await;
        }
        LinkError::from(connection.closed().await).to_string()
    });
    assert_eq!(why, "refused by the peer: the manager is stopping");
    assert_eq!(server.n_asked.load(Ordering::Relaxed), 1);

    // Links need a certificate.
    let why = server.connect(
        client_config(trust::stranger_for_links(server.gm.fingerprint()).unwrap()),
        async |connection| LinkError::from(connection.closed().await).to_string(),
    );
    assert_eq!(why, "refused by the peer: the certificate cannot be used");
    assert_eq!(server.links.counts().n_links, 0);
}

#[test]
fn a_member_that_is_revoked_is_answered_no_more() {
    let group = Group::new();
    let server = Server::new(group.member(Role::Gm, 1));
    let am = Node::new(group.member(Role::Am, 2));
    let mut line = am
        .links
        .request_client(&server.address(), server.gm.identity());
    assert_eq!(line.ask(b"a").unwrap(), b"n2 asks a");
    assert_eq!(line.ask(b"b").unwrap(), b"n2 asks b");
    let mut revocations = Revocations::default();
    let revoked = Revoked {
        at: clock::wall(),
        identity: Some(am.identity().clone()),
    };
    let serial = am.credentials.certificate().serial.clone();
    revocations.add(serial, revoked).unwrap();
    let trusted = &group.authority;
    let gm = group.member_trusting(Role::Gm, 1, trusted, revocations);
    server.links.renew(&gm).unwrap();
    let text = "refused by the peer: the certificate was revoked";
    assert_eq!(line.ask(b"c").unwrap_err().to_string(), text);
    // Dialling anew does not help.
    assert_eq!(line.ask(b"d").unwrap_err().to_string(), text);
    assert_eq!(server.n_asked.load(Ordering::Relaxed), 2);
}

#[test]
fn a_request_server_that_stops_ends_with_its_links() {
    let group = Group::new();
    let server = Server::new(group.member(Role::Gm, 1));
    let am = Node::new(group.member(Role::Am, 2));
    let mut line = am
        .links
        .request_client(&server.address(), server.gm.identity());
    assert_eq!(line.ask(b"a").unwrap(), b"n2 asks a");
    let Server { links, n_asked, .. } = server;
    drop(links);
    assert_eq!(Arc::strong_count(&n_asked), 1);
    assert!(line.ask(b"b").is_err());
}
