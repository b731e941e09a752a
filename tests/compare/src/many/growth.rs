//! The growth of what a process manager costs with processes, activities and machines, as exponents: 1 is
//! proportional, 0 is no growth.

use std::path::Path;

use anyhow::{Context, Result};

use super::client::{flat, row};
use super::measure::{Keys, World};
use crate::definitions::COMMAND;

/// A thing that there may be many of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Processes,
    Activities,
    Machines,
}

/// CPU seconds of the process manager by size.
#[derive(Clone, Debug)]
pub(super) struct Growth {
    pub(super) of: Of,
    pub(super) costs: Vec<(usize, f64)>,
}

/// Machines where these are not what grows.
const MACHINES: usize = 4;
/// Processes where machines grow.
const PROCESSES: usize = 1_000;

impl Of {
    pub(super) const ALL: [Of; 3] = [Of::Processes, Of::Activities, Of::Machines];

    pub(super) fn name(self) -> &'static str {
        match self {
            Of::Processes => "processes of one command",
            Of::Activities => "activities of one process",
            Of::Machines => "machines, for 1000 processes",
        }
    }

    fn sizes(self) -> &'static [usize] {
        match self {
            Of::Processes => &[600, 2_400, 9_600],
            Of::Activities => &[1_000, 10_000, 100_000, 300_000],
            Of::Machines => &[1, 4, 16, 64, 200],
        }
    }
}

impl Growth {
    /// The slope of the straight line nearest to the logarithms.
    pub(super) fn exponent(&self) -> f64 {
        let points = self.costs.iter();
        let points: Vec<(f64, f64)> = points
            .map(|&(n, cost)| ((n as f64).ln(), cost.ln()))
            .collect();
        let n = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        let above: f64 = points
            .iter()
            .map(|point| (point.0 - x) * (point.1 - y))
            .sum();
        let below: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
        above / below
    }
}

/// Measures each size on a grid of its own.
pub(super) fn measure(programs: &Path, dir: &Path, keys: &mut Keys) -> Result<Vec<Growth>> {
    let each = |of: Of, keys: &mut Keys| {
        let costs = of.sizes().iter().map(|&size| {
            let dir = dir.join(format!("{of:?}-{size}"));
            std::fs::create_dir_all(&dir)?;
            let cost = cost(programs, &dir.join("grid"), (of, size), keys)?;
            Ok((size, cost))
        });
        let costs: Result<Vec<(usize, f64)>> = costs.collect();
        Ok(Growth { of, costs: costs? })
    };
    Of::ALL.into_iter().map(|of| each(of, keys)).collect()
}

fn cost(programs: &Path, dir: &Path, (of, size): (Of, usize), keys: &mut Keys) -> Result<f64> {
    let machines = match of {
        Of::Machines => size,
        Of::Processes | Of::Activities => MACHINES,
    };
    let mut world = World::start(programs, dir, machines)?;
    let before = world.cpu()[0];
    let (n, draft) = match of {
        Of::Processes => (size, row(1, &[COMMAND])),
        Of::Machines => (PROCESSES, row(1, &[COMMAND])),
        Of::Activities => (1, flat(u32::try_from(size)?, &[COMMAND])),
    };
    let mut last = None;
    for _ in 0..n {
        last = Some(world.client.submit(keys.next(), &draft)?);
    }
    world.client.wait(last.context("there are some")?)?;
    Ok(world.cpu()[0] - before)
}

#[test]
fn an_exponent_is_the_slope_of_the_logarithms() {
    let growth = |costs: &[(usize, f64)]| Growth {
        of: Of::Machines,
        costs: costs.to_vec(),
    };
    let linear = growth(&[(10, 2.0), (100, 20.0), (1_000, 200.0)]);
    assert!((linear.exponent() - 1.0).abs() < 1e-9);
    let quadratic = growth(&[(10, 1.0), (100, 100.0)]);
    assert!((quadratic.exponent() - 2.0).abs() < 1e-9);
    let level = growth(&[(1, 3.0), (4, 3.0), (16, 3.0)]);
    assert!(level.exponent().abs() < 1e-9);
}
