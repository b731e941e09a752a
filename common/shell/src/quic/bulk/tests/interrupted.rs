//! Interrupted uploads: which announcement continues a part, and how long parts are kept.

use model::ProcessId;
use wire::bulk::Request;

use super::super::parked::{PARKED_TIME_MAX, Parked, Part};
use super::*;
use crate::limits::BULK_PARKED_MAX;

/// Bytes that the narrow depot admits.
const ADMITTED_BYTES_MAX: u64 = 10;

/// A depot that admits small blobs alone.
#[derive(Default)]
struct Narrow {
    shelf: Shelf,
    /// Number of times that it was asked.
    n_asked: AtomicU64,
}

impl Depot for Narrow {
    fn open(&self, hash: Hash) -> io::Result<Option<(File, u64)>> {
        self.shelf.open(hash)
    }

    fn receive(&self, hash: Hash) -> io::Result<Option<Box<dyn Arriving>>> {
        self.shelf.receive(hash)
    }

    fn receive_from(&self, asked: &Asked, bytes: u64) -> io::Result<Received> {
        self.n_asked.fetch_add(1, Ordering::Relaxed);
        if bytes > ADMITTED_BYTES_MAX {
            let bytes_max = ADMITTED_BYTES_MAX;
            return Ok(Received::Refused(Refusal::TooLarge { bytes_max }));
        }
        let arriving = self.receive(asked.hash)?;
        Ok(arriving.map_or(Received::Here, Received::Coming))
    }
}

fn belongs(process: u64) -> Option<Belongs> {
    Some(Belongs {
        process: ProcessId(process),
        artifact: name_of(b"wanted"),
    })
}

/// Announces an upload and cuts it off after the answer.
fn put_and_cut(user: &Bulk, to: &Source, bytes: u64, process: u64) -> Answer {
    user.handle.block_on(async {
        let (mut send, mut recv) = ask::open(&user.shared, to).await.ok().unwrap();
        let (hash, of) = (name_of(b"wanted"), belongs(process));
        let request = Request::Put { hash, bytes, of };
        stream::say(&mut send, &request).await.unwrap();
        let answer = stream::hear(&mut recv, BULK_SILENCE_MAX).await.unwrap();
        let _ = send.reset(VarInt::from_u32(0));
        // The other side ends its half of the stream after it has parked the part.
        let ended = stream::hear::<Answer>(&mut recv, BULK_SILENCE_MAX).await;
        ended.unwrap_err();
        answer
    })
}

#[test]
fn a_part_is_continued_by_the_announcement_that_was_admitted_alone() {
    let group = Group::new("lab");
    let narrow = Arc::new(Narrow::default());
    let taker = Bulk::bind(BulkConfig {
        address: ([127, 0, 0, 1], 0).into(),
        credentials: group.member(Role::Am),
        key: None,
        depot: Some(Arc::clone(&narrow) as Arc<dyn Depot>),
        rate: None,
        blob_bytes_max: 1 << 40,
    });
    let taker = taker.unwrap();
    let (user, to) = (group.bulk(Role::User, None), source(&taker));
    let wanted = Answer::Send { offset: 0 };
    let bytes_max = ADMITTED_BYTES_MAX;
    let refused = Answer::Refused(Refusal::TooLarge { bytes_max });
    // The announced bytes and process, the answer, and the number of questions to the depot.
    let steps = [
        (1, 1, wanted, 1),
        (1, 1, wanted, 1),
        (1_000, 1, refused, 2),
        // The part of the first announcement went with the second one.
        (1, 1, wanted, 3),
        (1, 2, wanted, 4),
        (1, 2, wanted, 4),
        (10, 2, wanted, 5),
    ];
    for (step, (bytes, process, answer, n_asked)) in steps.into_iter().enumerate() {
        let answered = put_and_cut(&user, &to, bytes, process);
        assert_eq!(answered, answer, "{step}");
        assert_eq!(narrow.n_asked.load(Ordering::Relaxed), n_asked, "{step}");
    }
}

/// A part of a user's blob, interrupted at a time.
fn part(hash: u8, process: u64, since: Mono) -> Part {
    let (shelf, content) = (Shelf::default(), Vec::new());
    let hash = Hash([hash; 32]);
    Part {
        asked: Asked {
            peer: Identity::new("grid", "lab", Role::User, "ana").unwrap(),
            hash,
            of: belongs(process),
        },
        bytes: 7,
        since,
        arriving: Box::new(Coming {
            shelf,
            hash,
            content,
        }),
    }
}

fn hashes(parts: &[Part]) -> Vec<Hash> {
    parts.iter().map(|part| part.asked.hash).collect()
}

#[test]
fn parts_are_bounded_in_number_and_time() {
    let mut parked = Parked::default();
    let begin = Mono(1_000_000);
    let n_parts = BULK_PARKED_MAX as u8;
    for n in 0..n_parts {
        let since = begin + Span::from_secs(n.into());
        assert!(parked.put(part(n, 1, since)).is_none());
    }
    let oldest = parked.put(part(n_parts, 1, begin + PARKED_TIME_MAX));
    assert_eq!(oldest.unwrap().asked.hash, Hash([0; 32]));
    assert!(parked.take_old(begin + PARKED_TIME_MAX).is_empty());
    let old = parked.take_old(begin + PARKED_TIME_MAX + Span::from_secs(2));
    assert_eq!(hashes(&old), [Hash([1; 32]), Hash([2; 32])]);
    assert!(parked.take_old(begin + PARKED_TIME_MAX).is_empty());
}

#[test]
fn a_new_upload_replaces_the_parts_of_its_peer_and_blob_alone() {
    let mut parked = Parked::default();
    let other_blob = part(2, 1, Mono(0));
    let mut other_peer = part(1, 1, Mono(0));
    other_peer.asked.peer = Identity::new("grid", "lab", Role::User, "ben").unwrap();
    let asked = part(1, 3, Mono(0)).asked;
    for parked_part in [
        part(1, 1, Mono(0)),
        other_blob,
        part(1, 2, Mono(0)),
        other_peer,
    ] {
        assert!(parked.put(parked_part).is_none());
    }
    assert!(parked.take(&asked, 7).is_none());
    let replaced = parked.take_replaced(&asked);
    assert_eq!(hashes(&replaced), [Hash([1; 32]); 2]);
    assert!(parked.take_replaced(&asked).is_empty());
    let asked = part(2, 1, Mono(0)).asked;
    assert!(parked.take(&asked, 8).is_none());
    assert!(parked.take(&asked, 7).is_some());
}
