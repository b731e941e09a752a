//! The grids of runs that are measured.

use std::path::Path;

use anyhow::Result;

use super::Setting;
use crate::grid::world::{Grid, Machine};

/// A grid of two machines of one slot, each on a core of its own.
pub(super) fn on_two_cores(setting: &Setting, dir: &Path) -> Result<Grid> {
    let machines = [0, 1].map(|core| Machine {
        slots: 1,
        core: Some(core),
        settings: String::new(),
    });
    Grid::of(&setting.programs, &dir.join("grid"), &machines, "")
}

/// A grid of machines of so many slots each, on which commands sleep.
pub(super) fn alike(setting: &Setting, dir: &Path, (n, slots): (usize, u32)) -> Result<Grid> {
    let machine = Machine {
        slots,
        ..Machine::default()
    };
    let machines = vec![machine; n];
    Grid::of(&setting.programs, &dir.join("grid"), &machines, "")
}
