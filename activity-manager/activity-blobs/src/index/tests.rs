use model::Hash;

use super::{Durability, Index, Size};

fn hash(n: u8) -> Hash {
    Hash([n; 32])
}

fn size(bytes: u64) -> Size {
    Size {
        bytes,
        stored: bytes,
    }
}

fn filled() -> Index {
    let mut index = Index::default();
    for n in 1..=4 {
        index.insert(hash(n), size(10), Durability::Sealed);
    }
    index
}

#[test]
fn least_recently_used_goes_first_and_no_more_than_needed() {
    let mut index = filled();
    index.touch(hash(1));
    assert_eq!(index.victims(40, 9, |_| false), []);
    assert_eq!(index.victims(39, 9, |_| false), [hash(2)]);
    assert_eq!(index.victims(15, 9, |_| false), [hash(2), hash(3), hash(4)]);
    assert_eq!(index.victims(0, 2, |_| false), [hash(2), hash(3)]);
}

#[test]
fn small_ones_stay_where_a_large_one_makes_room_enough() {
    let mut index = Index::default();
    for (n, bytes) in [(1, 3), (2, 40), (3, 2), (4, 100), (5, 1)] {
        index.insert(hash(n), size(bytes), Durability::Sealed);
    }
    // 40 of 146 have to go: the oldest two suffice, and there is room for the first of them. Then there is not.
    assert_eq!(index.victims(106, 9, |_| false), [hash(2)]);
    assert_eq!(index.victims(105, 9, |_| false), [hash(1), hash(2)]);
    assert_eq!(index.victims(46, 9, |_| false), [hash(4)]);
    // Of those that are looked at, none stays where they do not suffice.
    assert_eq!(index.victims(46, 2, |_| false), [hash(1), hash(2)]);
    index.insert(hash(0), size(0), Durability::Sealed);
    index.touch(hash(1));
    index.touch(hash(2));
    index.touch(hash(3));
    index.touch(hash(4));
    assert_eq!(index.victims(1, 2, |_| false), [hash(5), hash(0)]);
}

#[test]
fn kept_fresh_and_held_blobs_stay() {
    let mut index = filled();
    index.insert(hash(5), size(10), Durability::Fresh);
    let hold = index.begin_hold();
    index.touch(hash(1));
    index.insert(hash(6), size(10), Durability::Sealed);
    assert_eq!(
        index.victims(0, 9, |hash| hash.0[0] == 3),
        [hash(2), hash(4)]
    );
    index.end_hold(hold);
    index.seal(hash(5));
    assert_eq!(
        index.victims(0, 9, |hash| hash.0[0] == 3),
        [hash(2), hash(4), hash(5), hash(1), hash(6)]
    );
}

#[test]
fn a_victim_used_after_it_was_chosen_is_spared() {
    let mut index = filled();
    let chosen_at = index.tick();
    assert!(index.is_still_idle(hash(1), chosen_at));
    index.touch(hash(1));
    assert!(!index.is_still_idle(hash(1), chosen_at));
    assert!(!index.is_still_idle(hash(9), chosen_at));
}

#[test]
fn sizes_follow_what_comes_and_goes() {
    let mut index = filled();
    index.insert(hash(1), size(7), Durability::Sealed);
    assert_eq!((index.stored(), index.n_blobs()), (37, 4));
    index.remove(hash(1));
    index.remove(hash(1));
    assert_eq!((index.stored(), index.n_blobs()), (30, 3));
}
