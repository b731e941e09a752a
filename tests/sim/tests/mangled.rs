//! Malformed and wrong messages of peers and clients harm nobody else.

/// Seeds of each run of the tests; `cargo sim --mangled` runs as many as are wanted.
const SEEDS: u64 = 200;

#[test]
fn no_manager_dies_of_what_it_is_told() {
    for seed in 0..SEEDS {
        if let Err(panicked) = sim::mangled::run(seed) {
            panic!("seed {seed}: {panicked}");
        }
    }
}
