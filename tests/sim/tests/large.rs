//! A parallel of 100,000 activities, counted by an allocator: a test binary of its own, so that
//! nothing else allocates meanwhile.

#[global_allocator]
static ALLOCATOR: sim::allocator::Counting = sim::allocator::Counting;

/// Fewer where nothing is optimised: it would take minutes.
const ACTIVITIES: u32 = if cfg!(debug_assertions) {
    5_000
} else {
    sim::large::ACTIVITIES
};

#[test]
fn a_parallel_of_a_hundred_thousand_activities_takes_less_than_a_kilobyte_each() {
    let figures = sim::large::run(ACTIVITIES).expect("it runs to its end");
    println!("{figures}");
    let bytes = figures.state_bytes / figures.n_activities as usize;
    assert!((1..sim::large::BYTES_MAX).contains(&bytes), "{figures}");
    assert_eq!(figures.n_plans, 1, "{figures}");
}
