//! A for-each of many items and a loop of many iterations, counted by an allocator: a test binary of its own, so
//! that nothing else allocates meanwhile.

use sim::large::{ITEM_BYTES_MAX, ITERATION_BYTES_MAX, items, iterations, measure};

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

/// One test, since two would allocate at the same time.
#[test]
fn an_item_that_has_ended_takes_few_bytes_and_a_folded_iteration_fewer() {
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

    let [some, twice] = [ITEMS, 2 * ITEMS].map(|n_iterations| {
        let figures = measure(iterations(n_iterations), n_iterations + 1);
        let figures = figures.expect("it runs to its end");
        println!("{figures}");
        assert_eq!(figures.n_plans, 1, "{figures}");
        figures
    });
    let bytes = (twice.state_bytes - some.state_bytes) / ITEMS as usize;
    println!("{bytes} bytes an iteration that was folded");
    assert!((1..ITERATION_BYTES_MAX).contains(&bytes), "{bytes}");
}
