//! The history of activities: how much work attempts took, by owner, definition, activity and size of
//! its inputs, and forecasts from it.
//!
//! It is pure: no clock, file or randomness. It keeps nothing on disk: callers do, with the encodings
//! that are here. It decides nothing: a forecast is an input of plans, never a fact.
//!
//! Read [`Store`] first, which is bounded, then [`Template`], the record of one activity of a
//! definition, from which a [`Forecast`] is made when somebody asks.

mod batch;
mod level;
mod sample;
mod store;
mod template;

pub use batch::{Batch, Item};
pub use sample::SAMPLE;
pub use store::{Key, NAMES_BYTES_MAX, SizeClass, Store, TEMPLATES_MAX};
pub use template::{Forecast, Observed, Template};
