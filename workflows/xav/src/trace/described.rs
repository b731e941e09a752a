//! A series in figures.

use std::collections::BTreeMap;

use forecast::statistics::{
    HURST_LAGS, Hint, JumpKind, NAMES, Statistics, autocorrelation, fences, hints, hurst, jumps,
};
use serde_json::{Map, Value as Json, json};

/// Lags of the autocorrelation that are told as JSON.
const LAGS_TOLD: usize = 20;

/// All that is said of a series.
#[derive(Debug)]
pub(super) struct Described {
    statistics: Statistics,
    autocorrelation: Vec<f64>,
    hurst: Option<f64>,
    n_peaks: usize,
    n_switches: usize,
    n_outliers: usize,
    hints: Vec<Hint>,
}

/// Means of several series.
pub(super) struct Summary {
    pub(super) statistics: [Option<f64>; NAMES.len()],
    pub(super) rho: Option<f64>,
    pub(super) hurst: Option<f64>,
    pub(super) peaks: Option<f64>,
    pub(super) switches: Option<f64>,
    pub(super) outliers: Option<f64>,
    /// Each hint with the number of series that it is for.
    pub(super) hints: BTreeMap<Hint, usize>,
}

impl Described {
    pub(super) fn of(values: &[f64]) -> Described {
        let statistics = Statistics::of(values);
        let autocorrelation = autocorrelation(values, HURST_LAGS);
        let jumps = jumps(values);
        let n_peaks = jumps
            .iter()
            .filter(|jump| matches!(jump.kind, JumpKind::Peak { .. }))
            .count();
        let n_switches = jumps
            .iter()
            .filter(|jump| jump.kind == JumpKind::LevelSwitch)
            .count();
        let n_outliers = fences(values).map_or(0, |(low, high)| {
            values
                .iter()
                .filter(|value| **value < low || **value > high)
                .count()
        });
        Described {
            hints: hints(&statistics),
            hurst: hurst(&autocorrelation),
            statistics,
            autocorrelation,
            n_peaks,
            n_switches,
            n_outliers,
        }
    }
}

pub(super) fn summary(done: &[(String, Described)]) -> Summary {
    let mean = |of: &dyn Fn(&Described) -> Option<f64>| {
        let (mut n, mut sum) = (0u32, 0.0);
        for value in done.iter().filter_map(|(_, described)| of(described)) {
            n += 1;
            sum += value;
        }
        (n > 0).then(|| sum / f64::from(n))
    };
    let mut hints = BTreeMap::new();
    for (_, described) in done {
        for hint in &described.hints {
            *hints.entry(*hint).or_default() += 1;
        }
    }
    Summary {
        statistics: std::array::from_fn(|place| {
            mean(&|described| described.statistics.values[place])
        }),
        rho: mean(&|described| described.autocorrelation.get(1).copied()),
        hurst: mean(&|described| described.hurst),
        peaks: mean(&|described| Some(described.n_peaks as f64)),
        switches: mean(&|described| Some(described.n_switches as f64)),
        outliers: mean(&|described| Some(described.n_outliers as f64)),
        hints,
    }
}

pub(super) fn as_json(done: &[(String, Described)]) -> Json {
    let mut series = Map::new();
    for (name, described) in done {
        let statistics: Map<String, Json> = NAMES
            .iter()
            .zip(described.statistics.values)
            .map(|(name, value)| ((*name).to_owned(), json!(value)))
            .collect();
        let told = json!({
            "values": described.statistics.n,
            "statistics": statistics,
            "autocorrelation": described.autocorrelation.iter().take(LAGS_TOLD + 1).collect::<Vec<_>>(),
            "hurst": described.hurst,
            "peaks": described.n_peaks,
            "level_switches": described.n_switches,
            "outliers": described.n_outliers,
            "hints": described.hints.iter().map(|hint| hint.text()).collect::<Vec<_>>(),
        });
        let mut free = name.clone();
        let mut number = 2;
        while series.contains_key(&free) {
            free = format!("{name} ({number})");
            number += 1;
        }
        series.insert(free, told);
    }
    json!({ "series": series })
}
