//! Weights that hold for most machines. Written by
//! `cargo run --release -p forecast --example study -- DATA_DIR --learn`.

use super::N_INPUTS;

/// Least squares over the first half of the machines of each data set of docs/forecasting.md.
pub(super) const LEARNED: [f64; N_INPUTS] = [
    0.7017,
    -0.7397,
    0.4729,
    -0.2438,
    -0.0489,
    0.0059,
    0.0356,
    -0.0329,
    0.0860,
    0.2432,
    0.0770,
    0.3328,
    0.0077,
    -0.0830,
    -0.0308,
    -0.1583,
    -0.0953,
    0.1215,
    0.2404,
    -0.3392,
    -0.0076,
    0.0603,
    0.1652,
    -0.1063,
];
