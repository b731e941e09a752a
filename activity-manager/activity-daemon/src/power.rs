//! The speed of a core of this machine, measured once and stored.

use std::fs;
use std::hint::black_box;
use std::path::Path;

use model::Span;
use shell::clock;

/// Rounds of the reference core in a second: a virtual core of a Xeon server, with an optimised
/// build. Only ratios between machines count.
const REFERENCE_ROUNDS: f64 = 65e6;

/// Number of measured slices; the fastest counts, because other programs ran in the others.
const SLICES: u32 = 30;

/// Length of a slice.
const SLICE: Span = Span::from_millis(10);

/// Rounds between two readings of the clock.
const ROUNDS: u32 = 10_000;

/// Words of the table that rounds walk through: 256 KiB, a core's own cache.
const WORDS: usize = 32 << 10;

/// The file in the manager's directory.
const FILE: &str = "power";

/// The plausible powers.
const BELIEVED: std::ops::RangeInclusive<f64> = 1e-3..=1e3;

/// The power of a core: the stored value of this directory, or a measurement if there is none.
/// Removing the file `power` causes a new measurement.
pub fn power(directory: &Path) -> f64 {
    let path = directory.join(FILE);
    let kept = fs::read_to_string(&path).unwrap_or_default();
    if let Some(power) = kept.trim().parse().ok().filter(|p| BELIEVED.contains(p)) {
        return power;
    }
    let power = measure();
    // If it cannot be stored, it is measured again, which takes a third of a second.
    let _ = fs::write(&path, format!("{power:.3}\n"));
    power
}

fn measure() -> f64 {
    let mut walk = Walk::new();
    let rates = (0..SLICES).map(|_| {
        let began = clock::mono();
        let mut n_rounds = 0_u64;
        loop {
            walk.go(ROUNDS);
            n_rounds += u64::from(ROUNDS);
            let took = clock::mono().since(began);
            if took >= SLICE {
                return n_rounds as f64 / took.seconds();
            }
        }
    });
    let fastest = rates.fold(0.0, f64::max);
    black_box(&walk);
    (fastest / REFERENCE_ROUNDS).clamp(*BELIEVED.start(), *BELIEVED.end())
}

/// The measured work: integers, floating point and a walk through memory, each round depending on
/// the one before.
struct Walk {
    table: Vec<u64>,
    whole: u64,
    real: f64,
}

impl Walk {
    fn new() -> Walk {
        Walk {
            table: (0..WORDS as u64).collect(),
            whole: 0x9e37_79b9_7f4a_7c15,
            real: 1.0,
        }
    }

    fn go(&mut self, rounds: u32) {
        for _ in 0..rounds {
            let mut x = self.whole;
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            let index = usize::try_from(x).unwrap_or(usize::MAX) % WORDS;
            let word = &mut self.table[index];
            *word = word.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ x;
            self.real = (self.real * 0.5 + (*word >> 40) as f64).sqrt();
            self.whole = x ^ *word;
            if self.whole == 0 {
                self.whole = 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_is_measured_once_and_kept() {
        let dir = tempfile::TempDir::new().unwrap();
        let first = power(dir.path());
        assert!(BELIEVED.contains(&first), "{first}");
        let kept = fs::read_to_string(dir.path().join(FILE)).unwrap();
        assert_eq!(kept, format!("{first:.3}\n"));
        fs::write(dir.path().join(FILE), "2.5\n").unwrap();
        assert!((power(dir.path()) - 2.5).abs() < 1e-9);
        // An implausible value is measured again.
        fs::write(dir.path().join(FILE), "-1\n").unwrap();
        assert!(power(dir.path()) > 0.0);
    }

    #[test]
    fn the_walk_is_the_same_on_every_machine() {
        let mut walk = Walk::new();
        walk.go(1_000);
        let (whole, real) = (walk.whole, walk.real);
        let mut again = Walk::new();
        again.go(400);
        again.go(600);
        assert_eq!(again.whole, whole);
        assert_eq!(again.real.to_bits(), real.to_bits());
    }
}
