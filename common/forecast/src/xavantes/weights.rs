//! Weights that hold for most machines. Written by
//! `cargo run --release -p forecast --example study -- DATA_DIR --learn`.

use super::N_INPUTS;

/// Least squares over the first half of the machines of each data set of docs/forecasting.md.
pub(super) const LEARNED: [f64; N_INPUTS] = [
    0.5660, -0.5445, 0.3426, -0.2775, -0.0562, 0.0086, -0.0067, -0.0440, 0.0983, 0.0783, -0.0325,
    0.0246, 0.0174, 0.5422, 0.4019, -0.1028, -0.0736, -0.1172, -0.0713, 0.1330, 0.2295, -0.3249,
    -0.0586, 0.0776, -0.1165, 0.2070,
];
