//! Links over loopback. Tests wait for events, with a bound that is reached only on failure.

mod clients;
pub(super) mod crowd;
mod frames;
mod losses;
mod raw;
mod refusals;
mod requests;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use model::{Identity, ResourceId, Role, Span, Wall};
use tempfile::TempDir;

use super::*;
use crate::clock;
use crate::identity::{Authority, Credentials, Key, Revocations};
use crate::inbox::{Inbox, InputReceiver, inbox};
use crate::link::Received;
use crate::peers::Peers;

/// Longer than anything here takes.
const PATIENCE: Span = Span::from_secs(60);

const DAY: Span = Span::from_secs(86_400);

/// An event at a manager of these tests.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Came {
    Up(u32),
    Down(u32),
    Message(u32, String),
    /// The link of a peer ended, and why.
    Ended(String, String),
    /// A link did not come about, and why.
    Failed(String),
}

const RECEIVED: Received<String, Came> = Received {
    message: Came::Message,
    up: Came::Up,
    down: Came::Down,
    lane: crate::in_turn,
};

/// A daemon with links and a manager that only listens.
struct Node {
    links: Links,
    credentials: Credentials,
    to: Peers<String>,
    inbox: Inbox<Came>,
    came: InputReceiver<Came>,
    /// Its state directory, if the test does not hold it.
    _state: Option<TempDir>,
}

impl Node {
    fn new(credentials: Credentials) -> Node {
        let state = TempDir::new().unwrap();
        let mut node = Node::at(any_port(), state.path(), credentials);
        node._state = Some(state);
        node
    }

    fn at(address: SocketAddr, state: &Path, credentials: Credentials) -> Node {
        let (inbox, came) = inbox();
        let to = Peers::new();
        let config = LinkConfig {
            address,
            credentials: credentials.clone(),
            epoch: LinkEpoch::begin(state).unwrap(),
            resource: Some(ResourceId::local(7)),
            accepts: vec![Role::Gm, Role::Pm, Role::Am],
            requests: None,
        };
        let links = Links::bind(config, teller(&to, &inbox)).unwrap();
        Node {
            links,
            credentials,
            to,
            inbox,
            came,
            _state: None,
        }
    }

    fn identity(&self) -> &Identity {
        self.credentials.identity()
    }

    fn dial(&self, node: &Node) -> Kept {
        self.dial_as(node, node.identity())
    }

    fn dial_as(&self, node: &Node, expected: &Identity) -> Kept {
        let address = node.links.address().to_string();
        let teller = teller(&self.to, &self.inbox);
        self.links.keep(&address, expected, teller)
    }

    fn send(&self, key: u32, message: &str) {
        self.to.send(key, &message.to_owned());
        self.to.wake_receivers();
    }

    fn next(&mut self) -> Came {
        let deadline = clock::mono() + PATIENCE;
        loop {
            // A message without meaning here is ignored.
            let next = self.came.next_within(deadline.since(clock::mono()));
            if let Some(next) = next {
                return next;
            }
            assert!(clock::mono() < deadline, "something comes");
        }
    }

    /// The events up to and including this one.
    fn until(&mut self, wanted: &Came) -> Vec<Came> {
        let mut all = vec![self.next()];
        while all.last() != Some(wanted) {
            all.push(self.next());
        }
        all
    }

    /// The reason for which the next link fails or ends.
    fn next_reason(&mut self) -> String {
        loop {
            match self.next() {
                Came::Ended(_, reason) | Came::Failed(reason) => return reason,
                Came::Up(_) | Came::Down(_) | Came::Message(..) => {}
            }
        }
    }

    /// A message there and back; earlier events are skipped.
    fn ping(&mut self, peer: &mut Node, text: &str) {
        let (us, them) = (number(self.identity()), number(peer.identity()));
        self.send(them, text);
        peer.until(&Came::Message(us, text.to_owned()));
        peer.send(us, text);
        self.until(&Came::Message(them, text.to_owned()));
    }
}

/// Attaches the manager to links as they come; a peer's key is the number in its name.
fn teller(to: &Peers<String>, inbox: &Inbox<Came>) -> impl Fn(Event) + Send + Sync + use<> {
    let (to, inbox) = (to.clone(), inbox.clone());
    move |event| match event {
        Event::Up(link) => {
            let key = number(&link.peer);
            assert_eq!(link.hello.identity, link.peer.to_string());
            assert_eq!(
                (link.protocol, link.hello.resource),
                (1, Some(ResourceId::local(7)))
            );
            to.attach(link.open(), &inbox, key, RECEIVED);
        }
        Event::Down { peer, error } => {
            inbox.tell(Came::Ended(peer.name().to_owned(), error.to_string()));
        }
        Event::Failed { error, .. } | Event::TurnedAway { error, .. } => {
            inbox.tell(Came::Failed(error.to_string()));
        }
    }
}

fn number(identity: &Identity) -> u32 {
    identity.name().trim_start_matches('n').parse().unwrap()
}

fn any_port() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// A group and the credentials of its members.
struct Group {
    authority: Authority,
}

impl Group {
    fn new() -> Group {
        let long_ago = Wall(clock::wall().0 - 10 * DAY.0);
        let authority = Authority::create("grid", "lab", long_ago, Span(1_000 * DAY.0)).unwrap();
        Group { authority }
    }

    fn member(&self, role: Role, n: u32) -> Credentials {
        self.member_trusting(role, n, &self.authority, Revocations::default())
    }

    fn member_trusting(
        &self,
        role: Role,
        n: u32,
        trusted: &Authority,
        revocations: Revocations,
    ) -> Credentials {
        self.sign(role, n, (clock::wall(), DAY), trusted, revocations)
    }

    fn sign(
        &self,
        role: Role,
        n: u32,
        (from, life): (Wall, Span),
        trusted: &Authority,
        revocations: Revocations,
    ) -> Credentials {
        let key = Key::generate().unwrap();
        let identity = Identity::new("grid", "lab", role, &format!("n{n}")).unwrap();
        let issued = self
            .authority
            .issue(&key.request().unwrap(), &identity, from, life);
        Credentials::new(&issued.unwrap().pem, &key, trusted.pem(), revocations).unwrap()
    }
}

#[test]
fn messages_cross_in_both_directions_and_the_last_ones_arrive() {
    let group = Group::new();
    let mut gm = Node::new(group.member(Role::Gm, 1));
    let mut am = Node::new(group.member(Role::Am, 2));
    let kept = am.dial(&gm);
    assert_eq!(gm.next(), Came::Up(2));
    assert_eq!(am.next(), Came::Up(1));
    gm.send(2, "to am");
    am.send(1, "to gm");
    assert_eq!(am.next(), Came::Message(1, "to am".to_owned()));
    assert_eq!(gm.next(), Came::Message(2, "to gm".to_owned()));
    let long = "x".repeat(3 << 20);
    am.send(1, &long);
    assert_eq!(gm.next(), Came::Message(2, long));
    assert_eq!(gm.links.counts().n_links, 1);
    assert_eq!(gm.links.counts().n_greetings, 0);

    // A message that was sent before the manager went away still arrives.
    (0..10).for_each(|n| gm.send(2, &n.to_string()));
    gm.to.close();
    for n in 0..10 {
        assert_eq!(am.next(), Came::Message(1, n.to_string()));
    }
    assert_eq!(am.next(), Came::Down(1));
    let stopping = "refused by the peer: the manager is stopping";
    assert_eq!(am.next(), Came::Ended("n1".to_owned(), stopping.to_owned()));
    // The dialling side dials again.
    assert_eq!(am.next(), Came::Up(1));
    drop(kept);
    assert_eq!(am.next(), Came::Down(1));
}

#[test]
fn messages_sent_before_a_program_ends_still_arrive() {
    let group = Group::new();
    let mut gm = Node::new(group.member(Role::Gm, 1));
    // More than the connection takes at once, so that some of it waits.
    let long = "x".repeat(100_000);
    for n in 2..12 {
        let mut am = Node::new(group.member(Role::Am, n));
        let kept = am.dial(&gm);
        gm.until(&Came::Up(n));
        am.until(&Came::Up(1));
        // Both directions of an end: the dialling side stops first.
        if n % 2 == 0 {
            am.send(1, &long);
            am.send(1, "last");
            drop(kept);
            drop(am);
            let came = gm.until(&Came::Ended(
                format!("n{n}"),
                "refused by the peer: the manager is stopping".to_owned(),
            ));
            assert!(came.contains(&Came::Message(n, "last".to_owned())), "{n}");
        } else {
            let mut peer = Node::new(group.member(Role::Pm, 100 + n));
            let dialled = peer.dial(&am);
            am.until(&Came::Up(100 + n));
            peer.until(&Came::Up(n));
            am.send(100 + n, &long);
            am.send(100 + n, "last");
            drop(am.links);
            let came = peer.until(&Came::Down(n));
            assert!(came.contains(&Came::Message(n, "last".to_owned())), "{n}");
            drop(dialled);
        }
    }
}

#[test]
fn a_hundred_thousand_messages_arrive_in_their_order() {
    const MESSAGES: u32 = 100_000;
    const BATCH: u32 = 64;
    let group = Group::new();
    let mut gm = Node::new(group.member(Role::Gm, 1));
    let mut am = Node::new(group.member(Role::Am, 2));
    let _kept = am.dial(&gm);
    am.until(&Came::Up(1));
    gm.until(&Came::Up(2));
    let began = clock::mono();
    let (mut sent, mut received) = (0, 0);
    while received < MESSAGES {
        while sent < MESSAGES && sent - received < 20_000 {
            for n in sent..(sent + BATCH).min(MESSAGES) {
                am.to.send(1, &format!("{n:0200}"));
            }
            am.to.wake_receivers();
            sent = (sent + BATCH).min(MESSAGES);
        }
        for _ in 0..BATCH.min(MESSAGES - received) {
            let came = gm.next();
            let Came::Message(2, text) = &came else {
                panic!("{came:?} before {received}: {}", gm.next_reason())
            };
            assert_eq!(*text, format!("{received:0200}"));
            received += 1;
        }
    }
    let seconds = clock::mono().since(began).seconds();
    println!(
        "{:.0} messages of 200 bytes a second",
        f64::from(MESSAGES) / seconds
    );
}
