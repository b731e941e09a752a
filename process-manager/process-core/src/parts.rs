//! The volatile state of a process manager.

use crate::budget::Turns;
use crate::clients::{Clients, Shown};
use crate::dispatch::{Attempts, Grid};
use crate::files::Files;
use crate::lookup::Cache;
use crate::machines::Machines;
use crate::market::Market;

/// The volatile state of a process manager. A restart rebuilds all of it.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) market: Market,
    pub(crate) machines: Machines,
    pub(crate) files: Files,
    pub(crate) attempts: Attempts,
    pub(crate) cache: Cache,
    pub(crate) clients: Clients,
    /// Processes with more work than fits into one step.
    pub(crate) turns: Turns,
}

impl Parts {
    /// The attempts, beside the parts that sending them reads.
    pub(crate) fn attempts_and_grid(&mut self) -> (&mut Attempts, Grid<'_>) {
        let grid = Grid {
            machines: &self.machines,
            market: &self.market,
            files: &self.files,
        };
        (&mut self.attempts, grid)
    }

    /// The clients, beside the parts whose state they are shown.
    pub(crate) fn clients_and_shown(&mut self) -> (&mut Clients, Shown<'_>) {
        let grid = Grid {
            machines: &self.machines,
            market: &self.market,
            files: &self.files,
        };
        let attempts = &self.attempts;
        (&mut self.clients, Shown { grid, attempts })
    }
}
