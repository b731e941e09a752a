//! What the compiler does not hold: the arrows between crates, purity of the cores, names, leftovers,
//! licences, and that the README's commands are the ones that are run.
//!
//! It is not a style checker: rustfmt and clippy do what they can, and only the rest is here. There is
//! nothing but tests: `cargo tidy`. Each check is a function from what was found to a list of complaints,
//! with one test over the workspace and one that shows that it can fail. Begin with `arrows`, whose table is
//! the architecture.

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
