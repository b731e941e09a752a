//! The process definition language: text in YAML or JSON becomes a [`model::Definition`], or a list
//! of everything that is wrong with it, each at its place.
//!
//! Platform files, which say what machines there are, are read in the same way ([`platform`]).
//!
//! It reads and explains; it runs nothing, opens no file and knows no machine. JSON is read as the
//! YAML that it is.
//! Read [`compile`] first, then [`Diagnostics`]; [`schema()`] is the language for editors, [`tree`],
//! [`dot`] and [`json`] show a definition.

mod diagnostic;
mod env_file;
pub mod export;
mod keys;
mod known_items;
pub mod platform;
mod read;
mod schema;
mod show;
mod tree;
mod units;
pub mod wfformat;

use model::Definition;

pub use diagnostic::{Also, Diagnostic, Diagnostics, Report, STYLES, Severity};
pub use env_file::{ENV_FILE_BYTES_MAX, EnvFileError, parse_env_file};
pub use known_items::{has_unknown_items, with_known_items};
pub use schema::schema;
pub use show::{dot, json, source, tree};
pub use units::{UnitError, parse_duration, parse_size};

/// Limits on files.
pub mod limits {
    /// Bytes of one file: a definition of a million activities has some 100 bytes for each.
    pub const FILE_BYTES_MAX: usize = 128 << 20;
    /// Mappings and lists within each other: controllers within controllers, and what is in them.
    pub const DEPTH_MAX: usize = 200;
    /// Mappings, lists and texts of one file, keys included. It bounds memory: each takes 20 bytes. An
    /// activity has at least 6, a link 5, so that the bytes of a file end before.
    pub const ITEMS_MAX: usize = 16_000_000;
    /// Diagnostics of one file; what is more is counted.
    pub const DIAGNOSTICS_MAX: usize = model::limits::PROBLEMS_MAX;
}

/// A definition that can run, and what its author might want to know.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The checked definition, its expressions included.
    pub definition: Definition,
    /// Warnings: allowed, but odd.
    pub warnings: Diagnostics,
}

/// Compiles the text of a file. `name` is the file's name as diagnostics show it.
///
/// The error holds everything that was found, in the order of the file.
pub fn compile(name: &str, text: &[u8]) -> Result<Compiled, Diagnostics> {
    let mut diagnostics = Diagnostics::new(name);
    let source = tree::source(text, &mut diagnostics);
    let compiled = source.and_then(|source| {
        let tree = tree::Tree::parse(source, &mut diagnostics)?;
        read::definition(&tree, &mut diagnostics)
    });
    diagnostics.keep_source(source);
    diagnostics.sort();
    match compiled {
        Some(definition) if !diagnostics.has_errors() => Ok(Compiled {
            definition,
            warnings: diagnostics,
        }),
        _ => Err(diagnostics),
    }
}

#[cfg(test)]
mod tests;
