mod crowd;
mod interrupted;

use std::collections::BTreeMap;
use std::io::Write;
use std::net::UdpSocket;
use std::sync::mpsc::{Receiver, sync_channel};

use model::{Span, Wall};
use proptest::prelude::*;
use ring::digest::{SHA256, digest};
use wire::bulk::Answer;

use super::*;
use crate::identity::{Authority, Key, Revocations};

const DAY: Span = Span::from_secs(86_400);
const MIB: usize = 1 << 20;

/// The tests name blobs by another hash than a grid does, which transfers do not check.
fn name_of(content: &[u8]) -> Hash {
    let digest = digest(&SHA256, content);
    Hash(digest.as_ref().try_into().unwrap())
}

fn content(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|n| (n * 31 / 7) as u8).collect()
}

type OnWrite = dyn Fn(u64) + Send + Sync;

/// Blobs in memory.
#[derive(Clone, Default)]
struct Shelf {
    blobs: Arc<Mutex<BTreeMap<Hash, Vec<u8>>>>,
    /// Called with the number of received bytes of a blob.
    on_write: Option<Arc<OnWrite>>,
    /// Waited for before a blob is served.
    before: Option<Arc<Mutex<Receiver<()>>>>,
}

struct Coming {
    shelf: Shelf,
    hash: Hash,
    content: Vec<u8>,
}

impl Shelf {
    fn with(content: &[u8]) -> (Shelf, Hash) {
        let (shelf, hash) = (Shelf::default(), name_of(content));
        lock(&shelf.blobs).insert(hash, content.to_vec());
        (shelf, hash)
    }

    fn get(&self, hash: Hash) -> Option<Vec<u8>> {
        lock(&self.blobs).get(&hash).cloned()
    }
}

impl Depot for Shelf {
    fn open(&self, hash: Hash) -> io::Result<Option<(File, u64)>> {
        if let Some(before) = &self.before {
            let _ = lock(before).recv();
        }
        let Some(content) = self.get(hash) else {
            return Ok(None);
        };
        let mut file = tempfile::tempfile()?;
        file.write_all(&content)?;
        Ok(Some((file, content.len() as u64)))
    }

    fn receive(&self, hash: Hash) -> io::Result<Option<Box<dyn Arriving>>> {
        if self.get(hash).is_some() {
            return Ok(None);
        }
        let (shelf, content) = (self.clone(), Vec::new());
        Ok(Some(Box::new(Coming {
            shelf,
            hash,
            content,
        })))
    }
}

impl Arriving for Coming {
    fn bytes(&self) -> u64 {
        self.content.len() as u64
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.content.extend_from_slice(bytes);
        if let Some(on_write) = &self.shelf.on_write {
            on_write(self.bytes());
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<Arrival> {
        if name_of(&self.content) != self.hash {
            return Ok(Arrival::Corrupt);
        }
        lock(&self.shelf.blobs).insert(self.hash, self.content);
        Ok(Arrival::Sound)
    }
}

struct Group {
    authority: Authority,
    name: &'static str,
}

impl Group {
    fn new(name: &'static str) -> Group {
        let now = crate::clock::wall();
        let long_ago = Wall(now.0 - DAY.0);
        let authority = Authority::create("grid", name, long_ago, Span(10 * DAY.0)).unwrap();
        Group { authority, name }
    }

    fn member(&self, role: Role) -> Credentials {
        self.member_trusting(role, &self.authority)
    }

    fn member_trusting(&self, role: Role, trusted: &Authority) -> Credentials {
        let key = Key::generate().unwrap();
        let name = format!("{role}1");
        let identity = Identity::new("grid", self.name, role, &name).unwrap();
        let request = key.request().unwrap();
        let now = crate::clock::wall();
        let issued = self.authority.issue(&request, &identity, now, DAY).unwrap();
        Credentials::new(&issued.pem, &key, trusted.pem(), Revocations::default()).unwrap()
    }

    fn bulk(&self, role: Role, depot: Option<Shelf>) -> Bulk {
        bind(self.member(role), depot, None, 1 << 30)
    }
}

fn bind(
    credentials: Credentials,
    depot: Option<Shelf>,
    rate: Option<u64>,
    blob_bytes_max: u64,
) -> Bulk {
    bind_with(None, credentials, depot, rate, blob_bytes_max)
}

fn bind_with(
    key: Option<ResetKey>,
    credentials: Credentials,
    depot: Option<Shelf>,
    rate: Option<u64>,
    blob_bytes_max: u64,
) -> Bulk {
    Bulk::bind(BulkConfig {
        address: ([127, 0, 0, 1], 0).into(),
        credentials,
        key,
        depot: depot.map(|shelf| Arc::new(shelf) as Arc<dyn Depot>),
        rate,
        blob_bytes_max,
    })
    .unwrap()
}

fn source(bulk: &Bulk) -> Source {
    Source {
        peer: bulk.identity().clone(),
        address: bulk.address().to_string(),
    }
}

fn file_of(content: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(content).unwrap();
    file
}

#[test]
fn sixty_four_mebibytes_are_fetched_and_brought() {
    let group = Group::new("lab");
    let content = content(64 * MIB);
    let (shelf, hash) = Shelf::with(&content);
    let giver = group.bulk(Role::Am, Some(shelf));
    let user = group.bulk(Role::User, None);
    let here = Shelf::default();
    user.fetch(&[source(&giver)], hash, &here).unwrap();
    assert!(here.get(hash).unwrap() == content);
    assert_eq!(giver.counts().served_bytes, 64 << 20);
    // A blob that is here is not fetched again.
    user.fetch(&[source(&giver)], hash, &here).unwrap();
    assert_eq!(giver.counts().n_served, 1);

    let there = Shelf::default();
    let taker = group.bulk(Role::Am, Some(there.clone()));
    let bytes = content.len() as u64;
    let file = file_of(&content);
    user.put(&source(&taker), hash, file.try_clone().unwrap(), bytes)
        .unwrap();
    assert!(there.get(hash).unwrap() == content);
    // A blob that is there is not uploaded again.
    user.put(&source(&taker), hash, file, bytes).unwrap();
    assert_eq!(taker.counts().served_bytes, bytes);
}

#[test]
fn empty_and_odd_sizes_cross() {
    let group = Group::new("lab");
    let shelf = Shelf::default();
    let giver = group.bulk(Role::Am, Some(shelf.clone()));
    let taker = group.bulk(Role::Pm, None);
    for bytes in [0, 1, (64 << 10) - 1, (256 << 10) + 1, MIB] {
        let content = content(bytes);
        let hash = name_of(&content);
        let file = file_of(&content);
        taker
            .put(&source(&giver), hash, file, bytes as u64)
            .unwrap();
        let here = Shelf::default();
        taker.fetch(&[source(&giver)], hash, &here).unwrap();
        assert!(here.get(hash).unwrap() == content, "{bytes}");
    }
}

#[test]
fn a_transfer_that_is_cut_goes_on_where_it_was() {
    let group = Group::new("lab");
    let content = content(40 * MIB);
    let (shelf, hash) = Shelf::with(&content);
    let giver = Arc::new(group.bulk(Role::Am, Some(shelf)));
    let user = group.bulk(Role::User, None);
    let cutter = Arc::clone(&giver);
    let is_cut = AtomicU64::new(0);
    let cut_once = move |bytes| {
        if bytes > 20 << 20 && is_cut.swap(1, Ordering::Relaxed) == 0 {
            cutter.cut();
        }
    };
    let here = Shelf {
        on_write: Some(Arc::new(cut_once)),
        ..Shelf::default()
    };
    user.fetch(&[source(&giver)], hash, &here).unwrap();
    assert!(here.get(hash).unwrap() == content);
    // Twenty pieces had arrived and were not sent again, beside those in flight.
    let served = giver.counts().served_bytes;
    assert!(served < (40 + 15) << 20, "{served}");
}

#[test]
fn interrupted_uploads_continue_where_they_were_cut() {
    let group = Group::new("lab");
    let content = content(40 * MIB);
    let hash = name_of(&content);
    let (to_cut, asked) = sync_channel(1);
    let is_cut = AtomicU64::new(0);
    let cut_once = move |bytes| {
        if bytes > 20 << 20 && is_cut.swap(1, Ordering::Relaxed) == 0 {
            let _ = to_cut.send(());
        }
    };
    let there = Shelf {
        on_write: Some(Arc::new(cut_once)),
        ..Shelf::default()
    };
    let taker = group.bulk(Role::Am, Some(there.clone()));
    let user = group.bulk(Role::User, None);
    let (to, bytes) = (source(&taker), content.len() as u64);
    let file = file_of(&content);
    std::thread::scope(|scope| {
        let putting = scope.spawn(|| user.put(&to, hash, file, bytes));
        asked.recv().unwrap();
        taker.cut();
        putting.join().unwrap().unwrap();
    });
    assert!(there.get(hash).unwrap() == content);
    assert_eq!(taker.counts().served_bytes, 40 << 20, "each byte came once");
}

#[test]
fn content_that_does_not_match_its_hash_is_refused_on_both_sides() {
    let group = Group::new("lab");
    let good = content(3 * MIB);
    let (honest, hash) = Shelf::with(&good);
    let liar = Shelf::default();
    let mut bad = good.clone();
    bad[2 * MIB] ^= 1;
    lock(&liar.blobs).insert(hash, bad.clone());
    let liar = group.bulk(Role::Am, Some(liar));
    let honest = group.bulk(Role::Am, Some(honest));
    let user = group.bulk(Role::User, None);
    let here = Shelf::default();
    let refused = user.fetch(&[source(&liar)], hash, &here).unwrap_err();
    assert!(matches!(refused, BulkError::Corrupt), "{refused}");
    assert_eq!(here.get(hash), None);
    // The next source is asked instead.
    let both = [source(&liar), source(&honest)];
    user.fetch(&both, hash, &here).unwrap();
    assert!(here.get(hash).unwrap() == good);

    let there = Shelf::default();
    let taker = group.bulk(Role::Am, Some(there.clone()));
    let bytes = bad.len() as u64;
    let refused = user.put(&source(&taker), hash, file_of(&bad), bytes);
    let refused = refused.unwrap_err();
    assert!(
        matches!(refused, BulkError::Refused(Refusal::Corrupt)),
        "{refused}"
    );
    assert_eq!(there.get(hash), None);
}

#[test]
fn roles_and_groups_are_held_apart() {
    let group = Group::new("lab");
    let content = content(100);
    let (shelf, hash) = Shelf::with(&content);
    let giver = group.bulk(Role::Am, Some(shelf));
    let here = Shelf::default();
    for role in MAY_GET {
        let asker = group.bulk(role, None);
        let here = Shelf::default();
        asker.fetch(&[source(&giver)], hash, &here).unwrap();
    }
    let am = group.bulk(Role::Am, None);
    let refused = am.put(&source(&giver), name_of(b"x"), file_of(b"x"), 1);
    let refused = refused.unwrap_err().to_string();
    assert_eq!(
        refused,
        "the transfer was refused: the role in the certificate may not do this"
    );
    let gm = group.bulk(Role::Gm, None);
    let refused = gm.fetch(&[source(&giver)], hash, &here).unwrap_err();
    let cause = std::error::Error::source(&refused).map(ToString::to_string);
    assert_eq!(
        cause.unwrap(),
        "refused by the peer: the role in the certificate is not served here"
    );
    // A stranger's certificate, and a stranger at the address of the expected peer.
    let other = Group::new("yard");
    let stranger = bind(
        other.member_trusting(Role::User, &group.authority),
        None,
        None,
        1 << 30,
    );
    assert!(stranger.fetch(&[source(&giver)], hash, &here).is_err());
    let user = group.bulk(Role::User, None);
    let mistaken = Source {
        peer: Identity::new("grid", "lab", Role::Am, "am2").unwrap(),
        ..source(&giver)
    };
    let refused = user.fetch(&[mistaken], hash, &here).unwrap_err();
    assert!(matches!(refused, BulkError::Connect { .. }), "{refused}");
    assert_eq!(here.get(hash), None);
}

#[test]
fn blobs_that_are_too_large_are_refused_before_anything_is_stored() {
    let group = Group::new("lab");
    let there = Shelf::default();
    let taker = group.bulk(Role::Am, Some(there.clone()));
    let user = group.bulk(Role::User, None);
    let hash = name_of(b"x");
    let refused = user.put(&source(&taker), hash, file_of(b"x"), 4 << 30);
    let too_large = Refusal::TooLarge { bytes_max: 1 << 30 };
    match refused {
        Err(BulkError::Refused(refusal)) => assert_eq!(refusal, too_large),
        other => panic!("{other:?}"),
    }
    // The same from the other side.
    let (shelf, hash) = Shelf::with(&content(2_000));
    let giver = group.bulk(Role::Am, Some(shelf));
    let small = bind(group.member(Role::User), None, None, 1_000);
    let refused = small.fetch(&[source(&giver)], hash, &there).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the blob has 2000 bytes; at most 1000 are taken"
    );
    assert_eq!(lock(&there.blobs).len(), 0);
}

#[test]
fn a_frame_of_four_gibibytes_is_refused_by_its_header() {
    let group = Group::new("lab");
    let taker = group.bulk(Role::Am, Some(Shelf::default()));
    let user = group.bulk(Role::User, None);
    let (told, answer) = sync_channel(1);
    let (shared, to) = (Arc::clone(&user.shared), source(&taker));
    user.handle.spawn(async move {
        let Ok((mut send, mut recv)) = ask::open(&shared, &to).await else {
            return;
        };
        send.write_all(&u32::MAX.to_le_bytes()).await.unwrap();
        let heard = stream::hear::<Answer>(&mut recv, BULK_SILENCE_MAX).await;
        told.send(heard.ok()).unwrap();
    });
    let refused = Answer::Refused(Refusal::Unreadable);
    assert_eq!(answer.recv().unwrap(), Some(refused));
    assert_eq!(taker.counts().n_refused, 1);
}

/// Forwards datagrams to a socket that can be replaced at runtime, as when a daemon is killed and
/// the next one listens at its address.
struct Passage {
    address: SocketAddr,
    to: Arc<Mutex<SocketAddr>>,
}

impl Passage {
    fn to(first: SocketAddr) -> Passage {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (address, to) = (socket.local_addr().unwrap(), Arc::new(Mutex::new(first)));
        let target = Arc::clone(&to);
        // The thread ends with the program.
        std::thread::spawn(move || {
            let (mut datagram, mut client) = ([0; 65_536], None);
            while let Ok((bytes, from)) = socket.recv_from(&mut datagram) {
                let target = *lock(&target);
                let receiver = if from == target {
                    client
                } else if from.port() == first.port() {
                    // Packets of the killed daemon.
                    None
                } else {
                    client = Some(from);
                    Some(target)
                };
                if let Some(receiver) = receiver {
                    let _ = socket.send_to(&datagram[..bytes], receiver);
                }
            }
        });
        Passage { address, to }
    }
}

#[test]
fn a_peer_that_has_started_again_in_its_place_is_asked_at_once() {
    let group = Group::new("lab");
    let directory = tempfile::tempdir().unwrap();
    let key = || Some(ResetKey::kept_in(directory.path()).unwrap());
    let (shelf, first) = Shelf::with(b"first");
    let second = name_of(b"second");
    let member = group.member(Role::Am);
    let killed = bind_with(key(), member.clone(), Some(shelf), None, 1 << 30);
    let passage = Passage::to(killed.address());
    let asker = group.bulk(Role::Pm, None);
    let from = Source {
        address: passage.address.to_string(),
        ..source(&killed)
    };
    let here = Shelf::default();
    asker
        .fetch(std::slice::from_ref(&from), first, &here)
        .unwrap();
    let (shelf, _) = Shelf::with(b"second");
    let next = bind_with(key(), member, Some(shelf), None, 1 << 30);
    *lock(&passage.to) = next.address();
    asker.fetch(&[from], second, &here).unwrap();
    assert_eq!(here.get(second).unwrap(), b"second");
}

#[test]
fn a_peer_that_says_nothing_is_given_up() {
    let group = Group::new("lab");
    let (mut shelf, hash) = Shelf::with(b"never");
    let (release, before) = sync_channel(1);
    shelf.before = Some(Arc::new(Mutex::new(before)));
    let mute = group.bulk(Role::Am, Some(shelf));
    let user = group.bulk(Role::User, None);
    let failed = user.fetch(&[source(&mute)], hash, &Shelf::default());
    let failed = failed.unwrap_err();
    assert!(
        matches!(failed, BulkError::Slow | BulkError::Cut(LinkError::Silent)),
        "{failed:?}"
    );
    drop(release);
}

#[test]
fn a_blob_that_nobody_has_is_refused_and_who_is_not_there_is_not_asked_twice() {
    let group = Group::new("lab");
    let giver = group.bulk(Role::Am, Some(Shelf::default()));
    let user = group.bulk(Role::User, None);
    let hash = name_of(b"x");
    let here = Shelf::default();
    let refused = user.fetch(&[source(&giver)], hash, &here).unwrap_err();
    assert!(matches!(refused, BulkError::Refused(Refusal::Missing)));
    let nobody = user.fetch(&[], hash, &here).unwrap_err();
    assert!(matches!(nobody, BulkError::Nobody));
}

#[test]
fn the_rate_of_a_link_makes_pieces_wait() {
    let group = Group::new("lab");
    let content = content(4 * MIB);
    let (shelf, hash) = Shelf::with(&content);
    let rate = Some(16 << 20);
    let giver = bind(group.member(Role::Am), Some(shelf), rate, 1 << 30);
    let user = group.bulk(Role::User, None);
    let here = Shelf::default();
    user.fetch(&[source(&giver)], hash, &here).unwrap();
    // Sixteen pieces, of which a tenth of a second's worth passes at once.
    let n_paced = giver.counts().n_paced;
    assert!((1..=10).contains(&n_paced), "{n_paced}");
}

proptest! {
    #[test]
    fn no_more_passes_than_the_rate_allows(
        rate in 1_000..1_000_000_000_u64,
        asks in prop::collection::vec((0..2_000_000_u64, 1..1_000_000_u64), 1..200),
    ) {
        let mut bucket = Bucket::new(Some(rate));
        let mut now = Mono(1_000_000);
        let begin = now;
        let (mut passed, mut last) = (0, 0);
        for (pause, bytes) in asks {
            now = now + Span(pause);
            // The client waits before it asks again.
            now = now + bucket.take(now, bytes);
            passed += bytes;
            last = last.max(bytes);
            let time = (now.since(begin) + crate::limits::BULK_BURST).seconds();
            let most = time * rate as f64 + last as f64;
            prop_assert!((passed as f64) < most * 1.001 + 1.0, "{passed} of {most}");
        }
    }

    #[test]
    fn without_a_rate_nothing_waits(bytes in any::<u64>()) {
        let mut bucket = Bucket::new(None);
        prop_assert_eq!(bucket.take(Mono(5), bytes), Span::ZERO);
    }
}

#[test]
fn a_probe_takes_time_and_moves_bytes_that_nobody_keeps() {
    let group = Group::new("lab");
    let shelf = Shelf::default();
    let giver = group.bulk(Role::Am, Some(shelf.clone()));
    let asker = group.bulk(Role::Am, None);
    let took = asker.probe(&source(&giver), MIB as u64).unwrap();
    assert!(took > Span::ZERO);
    let counts = giver.counts();
    // One warms the connection.
    assert_eq!((counts.n_probed, counts.n_served), (2, 0));
    assert!(lock(&shelf.blobs).is_empty());
}

#[test]
fn a_probe_is_bounded_and_machines_alone_may_ask_for_one() {
    let group = Group::new("lab");
    let giver = group.bulk(Role::Am, Some(Shelf::default()));
    let most = wire::bulk::PROBE_BYTES_MAX;
    let asker = group.bulk(Role::Am, None);
    let error = asker.probe(&source(&giver), most + 1).unwrap_err();
    let too_large = Refusal::TooLarge { bytes_max: most };
    assert!(
        matches!(error, BulkError::Refused(refusal) if refusal == too_large),
        "{error}"
    );
    for role in [Role::User, Role::Pm, Role::Admin] {
        let other = group.bulk(role, None);
        let error = other.probe(&source(&giver), 1).unwrap_err();
        assert!(
            matches!(error, BulkError::Refused(Refusal::Role)),
            "{role}: {error}"
        );
    }
    assert_eq!(giver.counts().n_refused, 4);
}
