//! Amounts with a unit.

use std::fmt;
use std::ops::Add;

use minicbor::{Decode, Encode};

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct Bytes(#[n(0)] pub u64);

/// An amount of work in millionths of a reference second: what a core of power 1.0 does in a
/// microsecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct Work(#[n(0)] pub u64);

impl Bytes {
    /// Nothing.
    pub const ZERO: Bytes = Bytes(0);
}

impl Work {
    /// No work.
    pub const ZERO: Work = Work(0);

    /// Whole reference seconds.
    pub const fn from_secs(seconds: u64) -> Work {
        Work(seconds.saturating_mul(1_000_000))
    }

    /// The work in reference seconds.
    pub fn reference_seconds(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(other.0))
    }
}

impl Add for Work {
    type Output = Work;
    fn add(self, other: Work) -> Work {
        Work(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Bytes {
    /// Rounded for people, in powers of 1,024: `512 B`, `1.5 KiB`, `2.0 GiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
        if self.0 < 1_024 {
            return write!(f, "{} B", self.0);
        }
        let mut amount = self.0 as f64 / 1_024.0;
        let mut name = 0;
        while amount >= 1_024.0 && name + 1 < NAMES.len() {
            amount /= 1_024.0;
            name += 1;
        }
        write!(f, "{amount:.1} {}", NAMES[name])
    }
}
