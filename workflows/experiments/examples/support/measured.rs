//! The measured loads of the data pack, for programs that compare policies.

use std::path::Path;

use experiments::traces::Traces;

/// The loads measured on PlanetLab, below the directory that XAVANTES_DATA names; none without it.
pub(crate) fn traces() -> Traces {
    #[expect(
        clippy::disallowed_methods,
        reason = "the data pack lies outside the project"
    )]
    let Some(data) = std::env::var_os("XAVANTES_DATA") else {
        return Traces::default();
    };
    let path = Path::new(&data).join("traces/planetlab-20110303.csv");
    let text = std::fs::read_to_string(path).expect("the data pack has the measured loads");
    Traces::parse(&text).expect("the measured loads are a table")
}
