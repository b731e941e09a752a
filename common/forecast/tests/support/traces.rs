//! The series of the study: measured ones of the data pack, and synthetic ones.

use std::collections::BTreeMap;
use std::path::Path;

use forecast::generator::Set;

/// Seconds from one value to the next in the recorded traces.
const STEP: f64 = 300.0;
/// Values of each synthetic series, as many as in the thesis.
const SYNTHETIC: usize = 2000;

/// Series of one kind.
pub(crate) struct Data {
    pub(crate) name: &'static str,
    pub(crate) series: Vec<Vec<f64>>,
    /// True for runtimes, false for loads.
    pub(crate) is_runtime: bool,
}

/// All data sets; those of the pack are left out where their file is missing.
pub(crate) fn all(folder: &Path) -> Vec<Data> {
    let mut all = Vec::new();
    let mut recorded = |name, file: &str, read: fn(&str) -> Vec<Vec<f64>>| {
        let text = std::fs::read_to_string(folder.join(file))
            .or_else(|_| std::fs::read_to_string(folder.join("traces").join(file)));
        if let Ok(text) = text {
            all.push(Data {
                name,
                series: read(&text),
                is_runtime: false,
            });
        }
    };
    recorded("PlanetLab 2011-03-03", "planetlab-20110303.csv", rows);
    recorded("PlanetLab 2011-04-20", "planetlab-20110420.csv", rows);
    recorded("Bitbrains", "bitbrains-vms.csv", steps);
    for (name, set) in [
        ("synthetic set one", Set::One),
        ("synthetic set two", Set::Two),
    ] {
        all.push(Data {
            name,
            series: set.generate(set.seed(), set.n_series(), SYNTHETIC),
            is_runtime: true,
        });
    }
    all
}

/// A row a series, its name first.
fn rows(text: &str) -> Vec<Vec<f64>> {
    let values = |row: &str| {
        row.split(',')
            .skip(1)
            .filter_map(|field| field.parse().ok())
            .collect()
    };
    text.lines().skip(1).map(values).collect()
}

/// `vm,cores,mhz,t_seconds,cpu_percent`: each value lasts until the next row of its machine.
fn steps(text: &str) -> Vec<Vec<f64>> {
    let mut by_machine: BTreeMap<u32, Vec<(f64, Option<f64>)>> = BTreeMap::new();
    for row in text.lines().skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        let [machine, _, _, at, value] = fields[..] else {
            continue;
        };
        if let (Ok(machine), Ok(at)) = (machine.parse(), at.parse()) {
            by_machine
                .entry(machine)
                .or_default()
                .push((at, value.parse().ok()));
        }
    }
    by_machine
        .into_values()
        .map(|steps| sampled(&steps))
        .collect()
}

fn sampled(steps: &[(f64, Option<f64>)]) -> Vec<f64> {
    let mut values = Vec::new();
    let mut next = 0.0;
    for pair in steps.windows(2) {
        while next < pair[1].0 {
            if next >= pair[0].0 {
                values.extend(pair[0].1);
            }
            next += STEP;
        }
    }
    values
}
