//! Rules that the compiler does not check: imports between crates and modules, purity of the cores, names,
//! leftovers, licences, and commands in documents.
//!
//! The crate has only tests (`cargo tidy`), and only rules that rustfmt and clippy cannot check. Each check is a
//! function from files or packages to a list of complaints, with one test over the workspace and one that shows
//! that it can fail. Begin with `arrows`, whose table is the architecture.

#[cfg(test)]
mod arrows;
#[cfg(test)]
mod circles;
#[cfg(test)]
mod code;
#[cfg(test)]
mod configuration;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod licences;
#[cfg(test)]
mod purity;
#[cfg(test)]
mod sources;
#[cfg(test)]
mod units;
#[cfg(test)]
mod workspace;

/// Fails with every complaint on a line of its own.
#[cfg(test)]
fn assert_none(complaints: &[String]) {
    assert!(
        complaints.is_empty(),
        "{} found:\n{}",
        complaints.len(),
        complaints.join("\n")
    );
}
