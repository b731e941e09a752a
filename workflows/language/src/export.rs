//! A definition as text for others: as YAML of the language, for Graphviz, as a recorded workflow.

mod wfformat;
mod yaml;

pub use self::wfformat::{ExportError, wfformat};
pub use self::yaml::yaml;
pub use crate::show::dot;

#[cfg(test)]
mod tests;
