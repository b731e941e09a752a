//! Weights that hold for most machines. Written by
//! `cargo run --release -p forecast --example study -- DATA_DIR --learn`.

use super::N_INPUTS;

/// Least squares over the first half of the machines of each data set of docs/forecasting.md.
pub(super) const LEARNED: [f64; N_INPUTS] = [
    0.5705, -0.5616, 0.3685, -0.3019, -0.0529, 0.0186, -0.0072, -0.0423, 0.0921, 0.0699, -0.0316,
    0.0237, 0.0102, 0.5455, 0.4088, -0.1024, -0.0732, -0.1150, -0.0747, 0.1336, 0.2297, -0.3236,
    -0.0573, 0.0774, -0.1179, 0.2079,
];
