//! Counts of a loop, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use machine::Histogram;

/// Upper bounds of flush and step times in microseconds: from a flush to memory to a disk that hangs.
const TIME_BOUNDS: &[u64] = &[
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000,
    5_000_000,
];

/// Upper bounds of inputs in a step.
const INPUTS_BOUNDS: &[u64] = &[1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];

/// Upper bounds of bytes in a flush.
const BYTES_BOUNDS: &[u64] = &[
    256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
];

/// Statistics of a loop since its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Inputs that wait to be stepped.
    pub n_waiting: usize,
    /// Times of flushes, in microseconds.
    pub flush_times: Histogram,
    /// Bytes written by flushes.
    pub flush_bytes: Histogram,
    /// Times of turns of the loop without their flushes, in microseconds.
    pub step_times: Histogram,
    /// Inputs of the steps that had any.
    pub step_inputs: Histogram,
    /// Inputs stepped.
    pub n_inputs: u64,
    /// Batches closed.
    pub n_batches: u64,
    /// Flushes on the loop's own thread.
    pub n_flushes_inline: u64,
    /// Flushes by the flusher thread.
    pub n_flushes_beside: u64,
    /// Effects carried out.
    pub n_effects: u64,
}

/// Counts of a loop. The histograms are locked once a turn, and by nobody else but those who read them.
pub(super) struct Counts {
    pub(super) flush_times: Mutex<Histogram>,
    pub(super) flush_bytes: Mutex<Histogram>,
    pub(super) step_times: Mutex<Histogram>,
    pub(super) step_inputs: Mutex<Histogram>,
    pub(super) inputs: AtomicU64,
    pub(super) batches: AtomicU64,
    pub(super) flushes_inline: AtomicU64,
    pub(super) flushes_beside: AtomicU64,
    pub(super) effects: AtomicU64,
}

impl Default for Counts {
    fn default() -> Counts {
        let histogram = |bounds| Mutex::new(Histogram::new(bounds));
        Counts {
            flush_times: histogram(TIME_BOUNDS),
            flush_bytes: histogram(BYTES_BOUNDS),
            step_times: histogram(TIME_BOUNDS),
            step_inputs: histogram(INPUTS_BOUNDS),
            inputs: AtomicU64::default(),
            batches: AtomicU64::default(),
            flushes_inline: AtomicU64::default(),
            flushes_beside: AtomicU64::default(),
            effects: AtomicU64::default(),
        }
    }
}

impl Counts {
    /// The counts so far; `n_waiting` inputs wait.
    pub(super) fn stats(&self, n_waiting: usize) -> Stats {
        let copy = |histogram: &Mutex<Histogram>| locked(histogram).clone();
        Stats {
            n_waiting,
            flush_times: copy(&self.flush_times),
            flush_bytes: copy(&self.flush_bytes),
            step_times: copy(&self.step_times),
            step_inputs: copy(&self.step_inputs),
            n_inputs: self.inputs.load(Ordering::Relaxed),
            n_batches: self.batches.load(Ordering::Relaxed),
            n_flushes_inline: self.flushes_inline.load(Ordering::Relaxed),
            n_flushes_beside: self.flushes_beside.load(Ordering::Relaxed),
            n_effects: self.effects.load(Ordering::Relaxed),
        }
    }
}

pub(super) fn note(histogram: &Mutex<Histogram>, value: u64) {
    locked(histogram).note(value);
}

fn locked(histogram: &Mutex<Histogram>) -> MutexGuard<'_, Histogram> {
    // Nothing panics while it holds the lock.
    histogram.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn add(count: &AtomicU64, n: usize) {
    count.fetch_add(n as u64, Ordering::Relaxed);
}
