//! Random numbers from a seed: xoshiro256++, started by splitmix64. The same seed gives the same
//! numbers on every machine.

use model::Span;

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random([u64; 4]);

/// A probability: so many times in a million.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate(pub u32);

impl Rate {
    /// Never.
    pub const NEVER: Rate = Rate(0);

    /// So many times in a hundred.
    pub const fn percent(percent: u32) -> Rate {
        Rate(percent * 10_000)
    }
}

/// The next number of a splitmix64 sequence; also a good mixer of what it is given.
pub fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Random {
        let mut state = seed;
        Random(std::array::from_fn(|_| splitmix(&mut state)))
    }

    /// A stream of its own, so that drawing more from one does not shift the other.
    pub fn fork(&mut self) -> Random {
        Random::new(self.draw())
    }

    /// Any number.
    pub fn draw(&mut self) -> u64 {
        let Random([a, b, c, d]) = self;
        let drawn = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        drawn
    }

    /// A number below `n`, or 0 for `n` = 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.draw()) * u128::from(n)) >> 64) as u64
    }

    /// A place in a list of `n`.
    pub fn index(&mut self, n: usize) -> usize {
        self.below(n as u64) as usize
    }

    /// A number from `least` to `most`, both included.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most.saturating_sub(least) + 1)
    }

    /// A length of time from the shorter to the longer one.
    pub fn span(&mut self, (shortest, longest): (Span, Span)) -> Span {
        Span(self.between(shortest.0, longest.0))
    }

    /// True if it happens this time. Draws nothing for what never happens.
    pub fn happens(&mut self, rate: Rate) -> bool {
        rate != Rate::NEVER && self.below(1_000_000) < u64::from(rate.0)
    }

    /// One of a list, none of an empty one.
    pub fn pick<T: Copy>(&mut self, list: &[T]) -> Option<T> {
        if list.is_empty() {
            return None;
        }
        Some(list[self.index(list.len())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_of_a_seed_is_the_same_everywhere() {
        let mut random = Random::new(1);
        let drawn: Vec<u64> = (0..3).map(|_| random.draw()).collect();
        assert_eq!(
            drawn,
            [
                0xcfc5_d07f_6f03_c29b,
                0xbf42_4132_963f_e08d,
                0x19a3_7d57_57aa_f520
            ]
        );
    }

    #[test]
    fn numbers_stay_within_their_bounds_and_reach_them() {
        let mut random = Random::new(7);
        let mut seen = [false; 4];
        for _ in 0..1_000 {
            seen[random.between(3, 6) as usize - 3] = true;
        }
        assert_eq!(seen, [true; 4]);
        assert_eq!((random.below(0), random.below(1)), (0, 0));
        assert!(!random.happens(Rate::NEVER) && random.happens(Rate::percent(100)));
    }
}
