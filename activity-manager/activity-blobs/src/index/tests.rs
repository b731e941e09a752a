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
