//! How much a core of this machine does in a second, measured once and kept.

use std::fs;
use std::hint::black_box;
use std::path::Path;

use model::Span;
use shell::clock;

/// Rounds that the reference core does in a second: a virtual core of a Xeon server, as an optimised
/// build measures it there. Only ratios between machines count.
const REFERENCE_ROUNDS: f64 = 65e6;

/// Slices that are measured; the fastest counts, since in all others somebody else was there.
const SLICES: u32 = 30;

/// How long a slice is.
const SLICE: Span = Span::from_millis(10);

/// Rounds between two looks at the clock.
const ROUNDS: u32 = 10_000;

/// Words of the table that rounds walk through: 256 KiB, what a core has for itself.
const WORDS: usize = 32 << 10;

/// The file in the manager's directory.
const FILE: &str = "power";

/// Powers that are believed.
const BELIEVED: std::ops::RangeInclusive<f64> = 1e-3..=1e3;

/// The power of a core: what was measured when this was asked first in this directory, and is
/// measured where it was not. Removing the file `power` has it measured anew.
pub fn power(directory: &Path) -> f64 {
    let path = directory.join(FILE);
    let kept = fs::read_to_string(&path).unwrap_or_default();
    if let Some(power) = kept.trim().parse().ok().filter(|p| BELIEVED.contains(p)) {
        return power;
    }
    let power = measure();
    // Where it cannot be kept it is measured again, which costs a third of a second.
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

/// What is measured: whole numbers, floating point and a walk through memory, each round after the
/// one before.
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
        // What cannot be is measured again.
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
