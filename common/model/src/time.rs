//! Time as integers: microseconds, on the wire, in journals and in plans.

use std::fmt;
use std::ops::{Add, Sub};

use minicbor::{Decode, Encode};

/// A length of time in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct Span(#[n(0)] pub u64);

/// A point of a clock that never goes back, in microseconds since the clock's own origin. It means
/// nothing in another epoch of the program, so it is never made durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct Mono(#[n(0)] pub u64);

/// A point of the calendar, in microseconds since 1970-01-01T00:00:00Z. It may jump.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct Wall(#[n(0)] pub u64);

/// The time as a core gets it at each step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// For deadlines and intervals of this epoch; kept in volatile state only.
    pub mono: Mono,
    /// For what people read and what outlives the program; may be kept in durable state.
    pub wall: Wall,
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);

    /// Whole milliseconds.
    pub const fn from_millis(millis: u64) -> Span {
        Span(millis.saturating_mul(1_000))
    }

    /// Whole seconds.
    pub const fn from_secs(seconds: u64) -> Span {
        Span(seconds.saturating_mul(1_000_000))
    }

    /// Seconds rounded up to the microsecond; negative and not-a-number count as zero, what is too
    /// large as the largest span.
    pub fn from_seconds_up(seconds: f64) -> Span {
        Span((seconds * 1e6).ceil().max(0.0) as u64)
    }

    /// The span in seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The difference, or zero where `other` is longer.
    pub fn saturating_sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

impl Mono {
    /// The time passed since `earlier`, or zero where that lies ahead.
    pub fn since(self, earlier: Mono) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Wall {
    /// The time passed since `earlier`, or zero where that lies ahead.
    pub fn since(self, earlier: Wall) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Span> for Mono {
    type Output = Mono;
    fn add(self, span: Span) -> Mono {
        Mono(self.0.saturating_add(span.0))
    }
}

impl Add<Span> for Wall {
    type Output = Wall;
    fn add(self, span: Span) -> Wall {
        Wall(self.0.saturating_add(span.0))
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        self.saturating_sub(other)
    }
}

impl fmt::Display for Span {
    /// Rounded for people: `340ms`, `12.3s`, `4m 05s`, `2h 07m`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0 / 1_000_000;
        match self.0 {
            0..1_000 => write!(f, "{}µs", self.0),
            1_000..1_000_000 => write!(f, "{}ms", self.0 / 1_000),
            1_000_000..60_000_000 => write!(f, "{:.1}s", self.0 as f64 / 1e6),
            60_000_000..3_600_000_000 => write!(f, "{}m {:02}s", seconds / 60, seconds % 60),
            _ => write!(f, "{}h {:02}m", seconds / 3_600, seconds / 60 % 60),
        }
    }
}
