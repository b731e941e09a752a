//! The history of activities: how much work attempts took, by owner, definition, activity and size of
//! its inputs, how many bodies controllers had, and forecasts from it.
//!
//! It is pure: no clock, file or randomness. It keeps nothing on disk: callers do, with the encodings
//! that are here. It decides nothing: a forecast is an input of plans, never a fact.
//!
//! Read [`Store`] first, which is bounded, then [`Template`], the record of one activity of a
//! definition, from which a [`Forecast`] is made when somebody asks,
//! [`Estimates`], the works by which a definition is planned, and [`Lengths`], with the bodies of its loops that are
//! expected.

mod batch;
mod bodies;
mod controllers;
mod estimates;
mod lengths;
mod level;
mod record;
mod sample;
mod section;
mod store;
mod template;

pub use batch::{Batch, CountedItem, Item};
pub use bodies::{Bodies, Counted};
pub use controllers::controller_name;
pub use estimates::{Estimates, forecast_of, known_of, knows_any};
pub use lengths::{Counts, Lengths};
pub use record::{Record, Seen};
pub use sample::SAMPLE;
pub use section::{decode_section, encode_section, group};
pub use store::{Key, Known, NAMES_BYTES_MAX, SizeClass, Store, TEMPLATES_MAX};
pub use template::{Forecast, Observed, Template};
