//! Forecasts of the next value of a series: runtimes of an activity on a machine, the load of a
//! machine, the bandwidth of a link.
//!
//! It is pure: no clock, file, thread or randomness but that of a given seed. It stores nothing:
//! its states are values that the caller keeps, with serde if it likes. It decides nothing: a
//! forecast is an input of plans, never a fact.
//!
//! Read [`Observation`], [`Forecast`] and [`Predictor`] first, then [`Forecaster`], which bounds
//! any predictor to its quantity and tells quantiles. [`Method`] names the predictors; each has a
//! file with its source and costs. [`Xavantes`] is the default, and docs/forecasting.md says why.
//! [`statistics`] describes series as the thesis of Dobber does, and [`generator`] makes such
//! series of a seed. All states are bounded ([`Method::state_bytes_max`]) and take no memory from the allocator
//! once their windows are full.

mod adaptive_median;
mod ar;
mod des;
pub mod draw;
mod forecaster;
pub mod generator;
mod last;
mod mean;
mod median;
mod mentzer;
mod method;
mod nws;
mod pantazopoulos;
mod predictor;
mod random;
mod ring;
mod smoothing;
mod spread;
pub mod statistics;
pub mod table;
mod trend;
mod trigg_leach;
mod trimmed_mean;
mod whybark;
mod window;
mod xavantes;

pub use adaptive_median::AdaptiveMedian;
pub use ar::{Ar, ORDER_MAX, levinson};
pub use des::{Class, Des, Reading, Sizes};
pub use forecaster::{Forecaster, Quantity, RUNTIME_MIN};
pub use last::Last;
pub use mean::{Mean, WindowMean};
pub use median::Median;
pub use mentzer::Mentzer;
pub use method::{AnyPredictor, Method, UnknownMethod};
pub use nws::Nws;
pub use pantazopoulos::PantazopoulosPappis;
pub use predictor::{Forecast, Observation, Predictor, Source, VALUE_MAX};
pub use random::Random;
pub use smoothing::Smoothing;
pub use spread::Quantiles;
pub use trend::Trend;
pub use trigg_leach::TriggLeach;
pub use trimmed_mean::TrimmedMean;
pub use whybark::Whybark;
pub use xavantes::{N_INPUTS, Xavantes};
