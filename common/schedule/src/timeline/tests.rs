use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::Timeline;

/// A slow model of the timeline: every whole moment by itself.
struct Moments {
    slots: u32,
    /// Slots taken from each moment to the next.
    used: Vec<u32>,
    /// Slots whose run goes on across each moment.
    across: Vec<u32>,
    /// Slots that runs without duration hold at each moment.
    points: Vec<u32>,
}

impl Moments {
    fn new(ready: &[f64]) -> Moments {
        let none = vec![0; 4_000];
        let slots = ready.len() as u32;
        let mut moments = Moments {
            slots,
            used: none.clone(),
            across: none.clone(),
            points: none,
        };
        for &at in ready {
            moments.take(0, at as usize, 1);
            // A run that holds a slot at the start has held it before.
            moments.across[0] += u32::from(at > 0.0);
        }
        moments
    }

    fn take(&mut self, start: usize, end: usize, cores: u32) {
        self.used[start..end]
            .iter_mut()
            .for_each(|used| *used += cores);
        self.across[start.min(end)..end]
            .iter_mut()
            .skip(1)
            .for_each(|across| *across += cores);
        if start == end {
            self.points[start] = self.points[start].max(cores);
        }
    }

    fn earliest(&self, ready: usize, duration: usize, cores: u32) -> usize {
        let free = |at: usize| self.used[at] + cores <= self.slots;
        let beside = |at: usize| {
            self.points[at] == 0 || self.across[at] + self.points[at] + cores <= self.slots
        };
        let fits = |start: usize| match duration {
            0 => self.across[start] + cores <= self.slots,
            _ => (start..start + duration).all(free) && (start + 1..start + duration).all(beside),
        };
        (ready..).find(|&start| fits(start)).unwrap()
    }
}

proptest! {
    // The same cases at every run; PROPTEST_CASES asks for more of them.
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(5),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    // Whole numbers, so that no sum is rounded and the slow way needs no tolerance.
    #[test]
    fn the_first_gap_is_the_one_that_a_search_of_everything_finds(
        ready in prop::collection::vec(prop_oneof![Just(0u32), 1u32..20], 1..4),
        tasks in prop::collection::vec((0u32..900, prop_oneof![1 => Just(0u32), 9 => 3u32..9], 1u32..4), 1..400),
        zeros in any::<bool>(),
    ) {
        let ready: Vec<f64> = ready.into_iter().map(f64::from).collect();
        let slots = ready.len() as u32;
        let mut timeline = Timeline::new(&ready, zeros);
        let mut moments = Moments::new(&ready);
        for (number, &(at, duration, cores)) in tasks.iter().enumerate() {
            let later = tasks[number + 1..].iter().map(|task| task.1);
            let shortest = later.min().map_or(f64::INFINITY, f64::from);
            let duration = if zeros { duration } else { duration.max(1) };
            let cores = cores.min(slots);
            let start = timeline.earliest(f64::from(at), f64::from(duration), cores);
            let trail = timeline.trail();
            if cores == 1 && duration > 0 && trail.gaps_until < f64::from(at + duration) {
                prop_assert_eq!(start, f64::from(at).max(trail.free_from));
            }
            let slow = moments.earliest(at as usize, duration as usize, cores);
            prop_assert_eq!(start, slow as f64);
            let end = start + f64::from(duration);
            prop_assert_eq!(timeline.reserve(start, end, cores, shortest), end);
            moments.take(slow, slow + duration as usize, cores);
        }
    }
}

#[test]
fn a_gap_too_short_by_rounding_is_long_enough() {
    let mut timeline = Timeline::new(&[0.0], false);
    timeline.reserve(0.3, 10.0, 1, 0.0);
    let start = timeline.earliest(0.0, 0.1 + 0.2, 1);
    assert_eq!(start, 0.0);
    assert_eq!(timeline.reserve(start, 0.1 + 0.2, 1, 0.0), 0.3);
    assert_eq!(timeline.earliest(0.0, 1.0, 1), 10.0);
}

#[test]
fn neighbours_without_a_gap_become_one_step() {
    let mut timeline = Timeline::new(&[0.0; 2], false);
    for task in 0..100_000 {
        let start = timeline.earliest(0.0, 1.0, 1);
        assert_eq!(start, f64::from(task / 2));
        timeline.reserve(start, start + 1.0, 1, 0.0);
    }
    assert_eq!(timeline.chunks.len(), 1);
    assert!(timeline.chunks[0].steps.len() <= 3);
}
