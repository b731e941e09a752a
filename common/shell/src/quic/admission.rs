//! Bounds on unfinished incoming connections, so that strangers do not keep members out.
//!
//! A peer presents its certificate at the end of its handshake, so members and strangers look alike
//! before. Nobody is refused for that: when a pool is full, the oldest connection of its largest
//! crowd ends. A handshake takes milliseconds, so only idle connections grow old. Addresses of
//! recent members have a pool of their own.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use tokio::sync::Notify;
use wire::hello::Refusal;

use super::error::LinkError;
use crate::limits::{
    HANDSHAKES_EACH_MAX, HANDSHAKES_MAX, HANDSHAKES_NETWORK_MAX, KNOWN_ADDRESSES_MAX,
    KNOWN_HANDSHAKES_EACH_MAX, KNOWN_HANDSHAKES_MAX, LINK_GREETINGS_EACH_MAX, LINK_GREETINGS_MAX,
    STRANGERS_EACH_MAX, STRANGERS_MAX,
};

/// The pools of connections that are neither links nor connections for requests yet.
pub(super) struct Admission {
    /// Handshakes from addresses of no known member.
    handshakes: Arc<Pool<Source>>,
    /// Handshakes from addresses of recent members.
    of_known: Arc<Pool<Source>>,
    /// Members that have not greeted yet, by identity.
    members: Arc<Pool<String>>,
    /// Peers without a certificate, which may ask to join.
    strangers: Arc<Pool<Source>>,
    known: Mutex<Known>,
}

impl Admission {
    pub(super) fn new() -> Admission {
        let pool = |most, each, network| {
            Pool::new(Bounds {
                most,
                each,
                network,
            })
        };
        Admission {
            handshakes: pool(HANDSHAKES_MAX, HANDSHAKES_EACH_MAX, HANDSHAKES_NETWORK_MAX),
            of_known: pool(
                KNOWN_HANDSHAKES_MAX,
                KNOWN_HANDSHAKES_EACH_MAX,
                KNOWN_HANDSHAKES_MAX,
            ),
            members: Pool::new(Bounds {
                most: LINK_GREETINGS_MAX,
                each: LINK_GREETINGS_EACH_MAX,
                network: LINK_GREETINGS_MAX,
            }),
            strangers: pool(STRANGERS_MAX, STRANGERS_EACH_MAX, STRANGERS_EACH_MAX),
            known: Mutex::default(),
        }
    }

    /// Takes a place for a handshake. If the pool is full, another handshake ends.
    pub(super) fn handshake(&self, address: IpAddr) -> Admitted<Source> {
        let source = Source::of(address);
        let pool = match self.known().contains(source.host) {
            true => &self.of_known,
            false => &self.handshakes,
        };
        pool.enter(source, source.network())
    }

    /// Returns true if an address must prove that packets reach it before it gets a place. A sender
    /// with a forged address cannot prove that.
    pub(super) fn wants_proof(&self, address: IpAddr) -> bool {
        self.handshakes.len() >= HANDSHAKES_MAX / 2
            && !self.known().contains(Source::of(address).host)
    }

    /// Takes a place for a member that has not greeted yet, and remembers its address.
    pub(super) fn member(&self, identity: String, address: IpAddr) -> Admitted<String> {
        self.known().add(Source::of(address).host);
        self.members.enter(identity, String::new())
    }

    /// Takes a place for a peer without a certificate.
    pub(super) fn stranger(&self, address: IpAddr) -> Admitted<Source> {
        let source = Source::of(address);
        self.strangers.enter(source, source.network())
    }

    /// Number of unfinished connections.
    pub(super) fn len(&self) -> usize {
        self.handshakes.len() + self.of_known.len() + self.members.len() + self.strangers.len()
    }

    /// Number of connections that were ended for others since the start.
    pub(super) fn n_evicted(&self) -> u64 {
        let of_addresses = [&self.handshakes, &self.of_known, &self.strangers];
        let of_addresses: u64 = of_addresses.iter().map(|pool| pool.lock().n_evicted).sum();
        of_addresses + self.members.lock().n_evicted
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // Nothing panics while it holds the lock.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The origin of a connection: an IPv4 address, or the /64 network of one IPv6 host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Source {
    host: IpAddr,
}

impl Source {
    fn of(address: IpAddr) -> Source {
        let host = match address.to_canonical() {
            IpAddr::V6(address) => masked(address, 64).into(),
            address @ IpAddr::V4(_) => address,
        };
        Source { host }
    }

    /// The network that one owner is likely to have: a /24, or a /48 of IPv6.
    fn network(self) -> Source {
        let host = match self.host {
            IpAddr::V4(address) => {
                let [a, b, c, _] = address.octets();
                Ipv4Addr::new(a, b, c, 0).into()
            }
            IpAddr::V6(address) => masked(address, 48).into(),
        };
        Source { host }
    }
}

fn masked(address: Ipv6Addr, bits: u32) -> Ipv6Addr {
    Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << (128 - bits)))
}

/// The bounds of a pool.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    most: usize,
    /// Connections of one source.
    each: usize,
    /// Connections of the sources of one network.
    network: usize,
}

/// Places for connections of one kind.
struct Pool<K> {
    bounds: Bounds,
    state: Mutex<State<K>>,
}

struct State<K> {
    n_entered: u64,
    n_evicted: u64,
    /// The oldest first.
    entries: BTreeMap<u64, Entry<K>>,
}

struct Entry<K> {
    source: K,
    network: K,
    evicted: Arc<Notify>,
}

impl<K: Clone + Ord> Pool<K> {
    fn new(bounds: Bounds) -> Arc<Pool<K>> {
        Arc::new(Pool {
            bounds,
            state: Mutex::new(State {
                n_entered: 0,
                n_evicted: 0,
                entries: BTreeMap::new(),
            }),
        })
    }

    fn enter(self: &Arc<Pool<K>>, source: K, network: K) -> Admitted<K> {
        let mut state = self.lock();
        if let Some(number) = state.excess(self.bounds, &source, &network)
            && let Some(entry) = state.entries.remove(&number)
        {
            state.n_evicted += 1;
            entry.evicted.notify_one();
        }
        let number = state.n_entered;
        state.n_entered += 1;
        let evicted: Arc<Notify> = Arc::default();
        let entry = Entry {
            source,
            network,
            evicted: Arc::clone(&evicted),
        };
        state.entries.insert(number, entry);
        Admitted {
            pool: Arc::clone(self),
            number,
            evicted,
        }
    }

    fn len(&self) -> usize {
        self.lock().entries.len()
    }

    fn lock(&self) -> MutexGuard<'_, State<K>> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Clone + Ord> State<K> {
    /// The connection that must end for one more of this source.
    fn excess(&self, bounds: Bounds, source: &K, network: &K) -> Option<u64> {
        let mut of_source = self.entries.iter().filter(|(_, one)| one.source == *source);
        let oldest = of_source.next().map(|(&number, _)| number);
        if 1 + of_source.count() >= bounds.each {
            return oldest;
        }
        let in_network = self.entries.values().filter(|one| one.network == *network);
        if in_network.count() >= bounds.network {
            return self.oldest_of_largest(network);
        }
        if self.entries.len() >= bounds.most {
            let largest = largest(self.entries.values().map(|one| &one.network))?;
            return self.oldest_of_largest(largest);
        }
        None
    }

    /// The oldest connection of the source that has most of a network's.
    fn oldest_of_largest(&self, network: &K) -> Option<u64> {
        let inside = || {
            self.entries
                .iter()
                .filter(|(_, one)| one.network == *network)
        };
        let source = largest(inside().map(|(_, one)| &one.source))?;
        let mut meant = inside().filter(|(_, one)| one.source == *source);
        meant.next().map(|(&number, _)| number)
    }
}

/// The most frequent key; of several, the first.
fn largest<'a, K: Ord + 'a>(keys: impl Iterator<Item = &'a K>) -> Option<&'a K> {
    let mut counts: BTreeMap<&K, (usize, Reverse<usize>)> = BTreeMap::new();
    for (index, key) in keys.enumerate() {
        counts.entry(key).or_insert((0, Reverse(index))).0 += 1;
    }
    let largest = counts.into_iter().max_by_key(|&(_, count)| count)?;
    Some(largest.0)
}

/// A connection's place in a pool, which is released on drop.
pub(super) struct Admitted<K> {
    pool: Arc<Pool<K>>,
    number: u64,
    evicted: Arc<Notify>,
}

impl<K> Admitted<K> {
    /// Does work that needs the place. It ends early if another connection takes the place.
    pub(super) async fn hold<T>(
        &self,
        work: impl Future<Output = Result<T, LinkError>>,
    ) -> Result<T, LinkError> {
        let mut work = pin!(work);
        let mut evicted = pin!(self.evicted.notified());
        poll_fn(|cx| match work.as_mut().poll(cx) {
            Poll::Ready(done) => Poll::Ready(done),
            Poll::Pending => {
                let evicted = evicted.as_mut().poll(cx);
                evicted.map(|()| Err(LinkError::Refused(Refusal::Full)))
            }
        })
        .await
    }
}

impl<K> Drop for Admitted<K> {
    fn drop(&mut self) {
        let state = self.pool.state.lock();
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        state.entries.remove(&self.number);
    }
}

/// Addresses of members, the most recent ones.
#[derive(Default)]
struct Known {
    n_seen: u64,
    /// A counter of the last sighting of each.
    addresses: BTreeMap<IpAddr, u64>,
}

impl Known {
    fn contains(&self, address: IpAddr) -> bool {
        self.addresses.contains_key(&address)
    }

    fn add(&mut self, address: IpAddr) {
        self.n_seen += 1;
        self.addresses.insert(address, self.n_seen);
        if self.addresses.len() > KNOWN_ADDRESSES_MAX {
            let oldest = self.addresses.iter().min_by_key(|&(_, &seen)| seen);
            if let Some(oldest) = oldest.map(|(&address, _)| address) {
                self.addresses.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// Returns true if the place was given to another connection.
    fn is_gone<K: Clone + Ord>(place: &Admitted<K>) -> bool {
        !place.pool.lock().entries.contains_key(&place.number)
    }

    #[test]
    fn a_crowd_of_one_address_ends_its_own_oldest_connection() {
        let admission = Admission::new();
        let member = admission.handshake(address("10.0.0.1"));
        let crowd: Vec<_> = (0..3 * HANDSHAKES_MAX)
            .map(|_| admission.handshake(address("10.9.0.1")))
            .collect();
        assert!(!is_gone(&member));
        assert_eq!(admission.handshakes.len(), 1 + HANDSHAKES_EACH_MAX);
        let (old, young) = crowd.split_at(crowd.len() - HANDSHAKES_EACH_MAX);
        assert!(old.iter().all(is_gone) && !young.iter().any(is_gone));
        assert_eq!(admission.n_evicted(), old.len() as u64);
        // A member behind the same address still gets in.
        assert!(!is_gone(&admission.handshake(address("10.9.0.1"))));
    }

    #[test]
    fn a_crowd_of_many_addresses_does_not_end_those_of_other_networks() {
        let admission = Admission::new();
        let others = ["10.0.0.1", "10.0.1.1", "2001:db8:1::1"];
        let others = others.map(|other| admission.handshake(address(other)));
        let networks = ["192.0.2", "198.51.100"];
        let crowd: Vec<_> = (0..4 * HANDSHAKES_MAX)
            .map(|n| format!("{}.{}", networks[n % 2], n % 250))
            .map(|source| admission.handshake(address(&source)))
            .collect();
        assert!(!others.iter().any(is_gone));
        assert_eq!(admission.handshakes.len(), HANDSHAKES_MAX);
        assert!(crowd[..3 * HANDSHAKES_MAX].iter().all(is_gone));
    }

    #[test]
    fn an_ipv6_host_is_one_source_whatever_address_it_takes() {
        let admission = Admission::new();
        let crowd: Vec<_> = (0..2 * HANDSHAKES_EACH_MAX)
            .map(|n| admission.handshake(address(&format!("2001:db8::{n:x}"))))
            .collect();
        assert_eq!(admission.handshakes.len(), HANDSHAKES_EACH_MAX);
        assert!(is_gone(&crowd[0]));
        let mapped = Source::of(address("::ffff:10.0.0.1"));
        assert_eq!(mapped, Source::of(address("10.0.0.1")));
    }

    #[test]
    fn addresses_of_members_have_places_of_their_own() {
        let admission = Admission::new();
        let member = address("10.0.0.1");
        drop(admission.member("ana".to_owned(), member));
        let crowd: Vec<_> = (0..HANDSHAKES_MAX)
            .map(|n| admission.handshake(address(&format!("192.{n}.0.1"))))
            .collect();
        assert!(admission.wants_proof(address("10.0.0.2")));
        assert!(!admission.wants_proof(member));
        let place = admission.handshake(member);
        assert!(!is_gone(&place) && !crowd.iter().any(is_gone));
    }

    #[test]
    fn known_addresses_are_bounded_and_the_oldest_is_forgotten() {
        let mut known = Known::default();
        let numbered = |n: usize| IpAddr::from(Ipv4Addr::from_bits(u32::try_from(n).unwrap()));
        (0..KNOWN_ADDRESSES_MAX).for_each(|n| known.add(numbered(n)));
        known.add(numbered(0));
        known.add(numbered(KNOWN_ADDRESSES_MAX));
        assert_eq!(known.addresses.len(), KNOWN_ADDRESSES_MAX);
        assert!(known.contains(numbered(0)) && !known.contains(numbered(1)));
    }
}
