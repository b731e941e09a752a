//! Where a process is kept: in a state directory of this machine, or by a process manager of a grid.

use serde_json::{Value as Json, json};

use crate::remote::Home;
use crate::state::StateDirectory;

/// Where a process is kept.
#[derive(Clone, Debug)]
pub(crate) enum Location {
    /// On this machine.
    Here(StateDirectory),
    /// In a grid.
    Grid(Home),
}

impl Location {
    /// For people.
    pub(crate) fn shown(&self) -> String {
        match self {
            Location::Here(directory) => directory.path().display().to_string(),
            Location::Grid(home) => home.shown(),
        }
    }

    /// For scripts: added to what is told of a process.
    pub(crate) fn add_to(&self, document: &mut Json) {
        let (directory, grid, manager) = match self {
            Location::Here(directory) => (Some(directory.path()), None, None),
            Location::Grid(home) => (None, Some(home.remote().directory()), Some(home.name())),
        };
        document["directory"] = json!(directory);
        document["grid"] = json!(grid);
        document["process_manager"] = json!(manager);
    }
}
