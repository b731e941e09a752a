//! A for-each of many items, counted by an allocator: a test binary of its own, so that nothing else
//! allocates meanwhile.

use sim::large::{ITEM_BYTES_MAX, items, measure};

#[global_allocator]
static ALLOCATOR: sim::allocator::Counting = sim::allocator::Counting;

/// Bytes of a snapshot, whatever has ended before: those of some thousand items.
const SNAPSHOT_BYTES_MAX: usize = 1 << 20;

/// Fewer where nothing is optimised: it would take minutes.
const ITEMS: u32 = if cfg!(debug_assertions) {
    1_000
} else {
    20_000
};

#[test]
fn an_item_that_has_ended_takes_less_than_five_hundred_bytes() {
    let [some, twice] = [ITEMS, 2 * ITEMS].map(|n_items| {
        let figures = measure(items(n_items), n_items).expect("it runs to its end");
        println!("{figures}");
        assert!(figures.n_plans <= 2, "{figures}");
        let last_bytes = figures.snapshots.last_bytes;
        assert!((1..SNAPSHOT_BYTES_MAX).contains(&last_bytes), "{figures}");
        figures
    });
    let bytes = (twice.state_bytes - some.state_bytes) / ITEMS as usize;
    println!("{bytes} bytes an item that has ended");
    assert!((1..ITEM_BYTES_MAX).contains(&bytes), "{bytes}");
}
