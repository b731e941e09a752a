//! The speed of a core of this machine: measured while the machine is idle, and stored.
//!
//! The time is that of the thread, not of the clock, so that waiting for a core does not count. A
//! measurement beside other programs is doubted all the same, since cores share caches and units:
//! it serves until there is one on an idle machine, of which the median of some counts. Measurements
//! differ by some hundredths; the group takes for equal what is so close.
//!
//! Nothing but this measurement changes a machine's power. The run times of activities do not: one
//! that sleeps for as long as its definition says takes the same time everywhere.

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};

use model::{Mono, Span};
use rustix::time::{ClockId, clock_gettime};

/// Rounds of the reference core in a second: a virtual core of a Xeon server, with an optimised
/// build. Only ratios between machines count.
const REFERENCE_ROUNDS: f64 = 65e6;

/// The power of a machine that was not measured yet.
const REFERENCE: f64 = 1.0;

/// Number of slices of a measurement; the fastest counts, because interrupts slow the others down.
const SLICES: u32 = 20;

/// CPU time of a slice.
const SLICE: Span = Span::from_millis(3);

/// Rounds between two readings of the clock.
const ROUNDS: u32 = 10_000;

/// Words of the table that rounds walk through: 256 KiB, a core's own cache.
const WORDS: usize = 32 << 10;

/// The file in the manager's directory: a measurement a line, the newest last.
const FILE: &str = "power";

/// The plausible powers.
const BELIEVED: std::ops::RangeInclusive<f64> = 1e-3..=1e3;

/// Stored measurements, of which the median counts.
const MEASUREMENTS_MAX: usize = 5;

/// The part of the machine's cores that may be busy while a measurement counts.
const IDLE: f64 = 0.1;

/// The pause before the next measurement, until there are [`MEASUREMENTS_MAX`]. Managers on one
/// machine begin at different times.
const PAUSE: Span = Span::from_secs(10);

/// The pause afterwards: a machine gets another processor, or another limit, once in months.
const PAUSE_LONG: Span = Span::from_secs(86_400);

/// The pause after a first measurement that did not count; it doubles each time.
const RETRY: Span = Span::from_secs(1);

/// The longest pause after one.
const RETRY_MAX: Span = Span::from_secs(600);

/// Doubted measurements, of which the median serves.
const DOUBTED_MAX: usize = 8;

/// The part by which a median must differ from what is told before something else is told: more than
/// measurements of one machine differ.
const CHANGES_FROM: f64 = 0.08;

/// The power of this machine's cores, from its measurements.
#[derive(Debug)]
pub struct PowerMeter {
    path: PathBuf,
    /// Measurements that count.
    counted: Measurements,
    /// Measurements beside other programs since the last one that counted.
    doubted: Measurements,
    pending: Option<Pending>,
    told: Option<f64>,
    due: Mono,
}

/// A measurement of which it is not known yet what else ran meanwhile.
#[derive(Clone, Copy, Debug)]
struct Pending {
    measured: f64,
    was_idle: bool,
}

impl PowerMeter {
    /// The meter of a manager's directory. Removing its file `power` forgets all measurements.
    pub fn of(directory: &Path, now: Mono) -> PowerMeter {
        let path = directory.join(FILE);
        let text = fs::read_to_string(&path).unwrap_or_default();
        let counted = Measurements::parse(&text);
        let mut doubted = Measurements::default();
        if counted.0.is_empty() {
            // Nobody knows yet what else runs.
            doubted.add(measure(), DOUBTED_MAX);
        }
        PowerMeter {
            path,
            told: counted.power(None).or(doubted.power(None)),
            due: now + counted.pause(),
            counted,
            doubted,
            pending: None,
        }
    }

    /// Reference seconds of work that a core does in a second.
    pub fn power(&self) -> f64 {
        self.told.unwrap_or(REFERENCE)
    }

    /// Measures if that is due, where `busy` is the part of the machine's cores that was busy since
    /// the last call. Returns the power if it is another one from here on. To be called every few
    /// seconds.
    pub fn look(&mut self, now: Mono, busy: f64) -> Option<f64> {
        let is_idle = busy <= IDLE;
        if let Some(Pending { measured, was_idle }) = self.pending.take() {
            self.judge(measured, was_idle && is_idle, now);
        } else if now >= self.due {
            self.pending = Some(Pending {
                measured: measure(),
                was_idle: is_idle,
            });
        }
        let before = self.power();
        let counted = self.counted.power(self.told);
        self.told = counted.or_else(|| self.doubted.power(self.told));
        let power = self.power();
        (power != before).then_some(power)
    }

    fn judge(&mut self, measured: f64, counts: bool, now: Mono) {
        if counts {
            self.counted.add(measured, MEASUREMENTS_MAX);
            self.doubted = Measurements::default();
            // If they cannot be stored, they are made again.
            let _ = fs::write(&self.path, self.counted.text());
            self.due = now + self.counted.pause() + phase();
        } else {
            self.doubted.add(measured, DOUBTED_MAX);
            let doubling = 1 << self.doubted.0.len();
            self.due = now + Span(RETRY.0 * doubling).min(RETRY_MAX) + phase();
        }
    }
}

/// What the measurements of this program are later than others'.
fn phase() -> Span {
    const PHASES: u32 = 16;
    Span(u64::from(std::process::id() % PHASES) * PAUSE.0 / u64::from(PHASES))
}

/// Measurements in the order in which they were made.
#[derive(Clone, Debug, Default, PartialEq)]
struct Measurements(Vec<f64>);

impl Measurements {
    /// The stored text; what is no plausible power is left out.
    fn parse(text: &str) -> Measurements {
        let powers = text.lines().filter_map(|line| line.trim().parse().ok());
        let mut read = Measurements::default();
        for power in powers.filter(|power| BELIEVED.contains(power)) {
            read.add(power, MEASUREMENTS_MAX);
        }
        read
    }

    fn text(&self) -> String {
        self.0.iter().map(|power| format!("{power:.3}\n")).collect()
    }

    /// Adds one; the oldest go where there are more than `most`.
    fn add(&mut self, measured: f64, most: usize) {
        self.0.push(measured);
        let n_more = self.0.len().saturating_sub(most);
        self.0.drain(..n_more);
    }

    /// The pause before the next one.
    fn pause(&self) -> Span {
        match self.0.len() {
            0 => Span::ZERO,
            1..MEASUREMENTS_MAX => PAUSE,
            MEASUREMENTS_MAX.. => PAUSE_LONG,
        }
    }

    /// The power to tell, where `told` was told before; none without any measurement.
    fn power(&self, told: Option<f64>) -> Option<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let median = *sorted.get(sorted.len() / 2)?;
        match told {
            Some(told) if (median / told - 1.0).abs() < CHANGES_FROM => Some(told),
            Some(_) | None => Some(median),
        }
    }
}

fn measure() -> f64 {
    let mut walk = Walk::new();
    let rates = (0..SLICES).map(|_| {
        let began = cpu_time();
        let mut n_rounds = 0_u64;
        loop {
            walk.go(ROUNDS);
            n_rounds += u64::from(ROUNDS);
            let took = cpu_time().since(began);
            if took >= SLICE {
                return n_rounds as f64 / took.seconds();
            }
        }
    });
    let fastest = rates.fold(0.0, f64::max);
    black_box(&walk);
    (fastest / REFERENCE_ROUNDS).clamp(*BELIEVED.start(), *BELIEVED.end())
}

/// The CPU time of this thread.
fn cpu_time() -> Mono {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    Mono(seconds * 1_000_000 + nanos / 1_000)
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
mod tests;
