use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::*;

fn hash(n: usize) -> Hash {
    let mut hash = Hash([0; 32]);
    hash.0[..8].copy_from_slice(&n.to_be_bytes());
    hash
}

#[test]
fn listings_are_read_one_at_a_time_and_each_once() {
    let (n_threads, n_listings) = (16, 4);
    let listings = Listings::default();
    let begin = Barrier::new(n_threads);
    let (n_reading, n_read) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let ask = |n: usize| {
        let wanted = hash(n % n_listings);
        let read = || {
            assert_eq!(n_reading.fetch_add(1, Ordering::SeqCst), 0);
            n_read.fetch_add(1, Ordering::SeqCst);
            thread::yield_now();
            assert_eq!(n_reading.fetch_sub(1, Ordering::SeqCst), 1);
            Some(vec![hash(9), wanted, hash(9)])
        };
        begin.wait();
        let files = listings.files(["ana", "ben"][n % 2], wanted, read);
        assert_eq!(*files.unwrap(), [wanted, hash(9)]);
    };
    thread::scope(|scope| {
        for n in 0..n_threads {
            let ask = &ask;
            scope.spawn(move || ask(n));
        }
    });
    assert_eq!(n_read.into_inner(), n_listings);
}

#[test]
fn a_listing_that_cannot_be_read_is_tried_again() {
    let listings = Listings::default();
    assert!(listings.files("ana", hash(1), || None).is_none());
    let files = listings.files("ana", hash(1), || Some(vec![hash(2)]));
    assert_eq!(*files.unwrap(), [hash(2)]);
}

#[test]
fn remembered_listings_are_bounded_and_the_least_recently_used_ones_leave() {
    let mut recent = Recent::default();
    let one: Arc<[Hash]> = vec![hash(0)].into();
    (0..LISTINGS_MAX).for_each(|n| recent.add(hash(n), Arc::clone(&one)));
    assert!(recent.get(hash(0)).is_some());
    recent.add(hash(LISTINGS_MAX), Arc::clone(&one));
    assert_eq!(recent.0.len(), LISTINGS_MAX);
    assert!(recent.get(hash(0)).is_some() && recent.get(hash(1)).is_none());
    // Of so large ones, two have room.
    let half = vec![hash(0); LISTINGS_BYTES_MAX / size_of::<Hash>() / 2];
    let half: Arc<[Hash]> = half.into();
    let large = LISTINGS_MAX + 1..LISTINGS_MAX + 4;
    large
        .clone()
        .for_each(|n| recent.add(hash(n), Arc::clone(&half)));
    assert_eq!(recent.bytes(), LISTINGS_BYTES_MAX);
    let kept: Vec<Hash> = recent.0.iter().map(|(listing, _)| *listing).collect();
    assert_eq!(kept, large.skip(1).map(hash).collect::<Vec<_>>());
}
