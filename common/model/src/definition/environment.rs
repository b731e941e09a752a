//! The environment of commands, as far as a definition says it.

use minicbor::{Decode, Encode};

use super::Template;

/// The environment that all commands of a process get, beyond that of their machine. Where several of
/// these name a variable, the last one counts: the file, `pass`, `env`, [`super::Activity::env`].
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct Environment {
    /// Variables, by name.
    #[n(0)]
    pub env: Vec<(String, Template)>,
    /// Names of variables whose values come from the environment of whoever submits the process. One
    /// that is not set there is left out.
    #[n(1)]
    pub pass: Vec<String>,
    /// A file beside the definition with a variable in each line, which is read when the process is
    /// submitted.
    #[n(2)]
    pub file: Option<String>,
    /// The software that commands are looked up in first.
    #[n(3)]
    pub activation: Option<Activation>,
}

/// Installed software that commands run with.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Activation {
    /// The directory of an environment on the machine, an absolute path: its `bin` comes first in `PATH`.
    /// Where it is missing, the command does not start.
    #[n(0)]
    Path(#[n(0)] String),
}

impl Environment {
    /// Returns true if values have to come with a submission.
    pub fn is_given(&self) -> bool {
        !self.pass.is_empty() || self.file.is_some()
    }

    /// Returns true if nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Environment::default()
    }
}

/// Returns true if a variable of the environment may be called so.
pub fn is_variable_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= super::limits::NAME_BYTES_MAX && !name.contains(['=', '\0'])
}
