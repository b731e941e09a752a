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
    /// A virtual environment of Python, made on the machine by pip of this file of requirements, which
    /// lies in the directory of the activity.
    #[n(1)]
    Venv(#[n(0)] String),
    /// An environment of conda, made on the machine of this file, which lies in the directory of the
    /// activity.
    #[n(2)]
    Conda(#[n(0)] String),
    /// A container, in which the command sees its directory and nothing else of the machine.
    #[n(3)]
    Container(#[n(0)] Container),
}

/// A container that a command runs in.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Container {
    /// The directory of a root file system on the machine, an absolute path; or the name of an image that
    /// podman knows or fetches.
    #[n(0)]
    pub image: String,
    /// True if the command reaches the network; else it has a loopback of its own.
    #[n(1)]
    pub has_network: bool,
}

impl Container {
    /// Returns true if the image is a directory on the machine.
    pub fn is_directory(&self) -> bool {
        self.image.starts_with('/')
    }
}

/// The value of a label by which a machine tells that it can do something.
pub const CAPABLE: &str = "yes";

/// Something that a machine can do where it has a program for it. It is told as a label with the value
/// [`CAPABLE`], so that planners and group managers need to know no other kind of demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Makes virtual environments of Python.
    Venv,
    /// Makes environments of conda.
    Conda,
    /// Runs containers of directories.
    Bwrap,
    /// Runs containers of images.
    Podman,
}

impl Capability {
    /// All of them.
    pub const ALL: [Capability; 4] = [
        Capability::Venv,
        Capability::Conda,
        Capability::Bwrap,
        Capability::Podman,
    ];

    /// The name of its label.
    pub fn label(self) -> &'static str {
        match self {
            Capability::Venv => "venv",
            Capability::Conda => "conda",
            Capability::Bwrap => "bwrap",
            Capability::Podman => "podman",
        }
    }

    /// The thing of an activity that asks for it, in a word for messages.
    pub fn purpose(self) -> &'static str {
        match self {
            Capability::Venv | Capability::Conda => "environment",
            Capability::Bwrap | Capability::Podman => "container",
        }
    }

    /// The programs of which a machine needs one, the preferred one first.
    pub fn programs(self) -> &'static [&'static str] {
        match self {
            Capability::Venv => &["python3"],
            // They read the same files, and resolve them the faster the earlier they stand here.
            Capability::Conda => &["micromamba", "mamba", "conda"],
            Capability::Bwrap => &["bwrap"],
            Capability::Podman => &["podman"],
        }
    }

    /// The programs for a message: `micromamba, mamba or conda`.
    pub fn programs_in_words(self) -> String {
        match self.programs() {
            [first @ .., last] if !first.is_empty() => {
                format!("{} or {last}", first.join(", "))
            }
            programs => programs.concat(),
        }
    }

    /// The capability of a label.
    pub fn of_label(name: &str) -> Option<Capability> {
        Capability::ALL.into_iter().find(|one| one.label() == name)
    }
}

impl Activation {
    /// The capability that it asks of a machine; none for a directory, which is looked for at the start of
    /// the command.
    pub fn capability(&self) -> Option<Capability> {
        match self {
            Activation::Path(_) => None,
            Activation::Venv(_) => Some(Capability::Venv),
            Activation::Conda(_) => Some(Capability::Conda),
            Activation::Container(container) => Some(match container.is_directory() {
                true => Capability::Bwrap,
                false => Capability::Podman,
            }),
        }
    }

    /// The file that it is made of, in the directory of the activity.
    pub fn file(&self) -> Option<&str> {
        match self {
            Activation::Path(_) | Activation::Container(_) => None,
            Activation::Venv(file) | Activation::Conda(file) => Some(file),
        }
    }
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
