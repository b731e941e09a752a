//! The planned length of processes beside the real one: at their start, and again at half of it.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;

use super::Setting;
use super::bars::{Bar, Bars};
use super::machines::on_two_cores;
use super::trial::{Running, on_grid};
use super::work::{RECORDED, data, millis};
use crate::grid::world::Grid;

/// CPU time of all activities of a recorded workflow, in seconds.
const CPU_TOTAL: f64 = 20.0;
/// The sample whose activities are programs of its own.
const MOSAIC: &str = "../../workflows/samples/mosaic/mosaic.yaml";
/// The longest run.
const SECONDS_MOST: f64 = 240.0;
/// The ordinals of the runs on one grid: the second one knows what activities took in the first.
const RUNS: [&str; 2] = ["first", "second"];

/// The parts by which predictions were wrong.
#[derive(Clone, Copy)]
struct Error {
    at_start: f64,
    at_half: f64,
}

/// Errors over all workflows, of the first run on a grid and of the second one.
pub(super) fn measure(setting: &Setting, bars: &mut Bars) -> Result<()> {
    let mut errors = [Vec::new(), Vec::new()];
    let works = works(setting, bars);
    for pair in 0..setting.n_pairs {
        for (file, options) in &works {
            let name = file.file_name().unwrap_or_default().display();
            crate::tell(&format!(
                "prediction: {name}, {} of {}",
                pair + 1,
                setting.n_pairs
            ));
            let dir = setting.fresh()?;
            let grid = on_two_cores(setting, dir.path())?;
            for errors in &mut errors {
                let running =
                    Running::start(on_grid(&grid, "xavantes", file, options), dir.path())?;
                let error = error(&grid, running);
                errors.push(error.with_context(|| format!("could not run {name}"))?);
            }
        }
    }
    for (run, errors) in RUNS.into_iter().zip(errors) {
        let parts =
            |of: fn(&Error) -> f64| errors.iter().map(of).map(|part| part * 100.0).collect();
        let at_start: Vec<f64> = parts(|error| error.at_start);
        bars.add(
            format!("prediction at the start, {run} run: % wrong"),
            at_start,
            1,
            Bar::Told,
        );
        let bar = match run {
            "second" => Bar::AtMost(10.0),
            _ => Bar::Told,
        };
        // What ended before anybody could ask has none.
        let mut at_half: Vec<f64> = parts(|error| error.at_half);
        at_half.retain(|part| !part.is_nan());
        bars.add(
            format!("prediction at half time, {run} run: % wrong"),
            at_half,
            1,
            bar,
        );
    }
    Ok(())
}

/// The recorded workflows that are there and the sample, with their options.
fn works(setting: &Setting, bars: &mut Bars) -> Vec<(PathBuf, Vec<String>)> {
    let scaled = vec![
        format!("--cpu-total={}ms", millis(setting.seconds(CPU_TOTAL))),
        "--data-scale=0.001".to_owned(),
    ];
    let mosaic = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(MOSAIC);
    let mut works = vec![(mosaic, Vec::new())];
    for name in RECORDED {
        match data("workflows", name) {
            Some(file) => works.push((file, scaled.clone())),
            None => bars.skip(format!("prediction: needs {name} in XAVANTES_DATA")),
        }
    }
    works
}

/// Asks a running process at half of its planned length how long it will still take, and compares that and the
/// planned length with what it takes.
fn error(grid: &Grid, mut running: Running) -> Result<Error> {
    let asked = loop {
        let newest = newest(grid)?;
        if running.has_ended()? || running.elapsed() > SECONDS_MOST {
            break None;
        }
        let Some(planned) = newest
            .as_ref()
            .and_then(|one| one["planned_makespan_seconds"].as_f64())
        else {
            continue;
        };
        // It was planned right after it was submitted.
        let since = running.elapsed();
        running.wait_for(since + planned / 2.0)?;
        break newest;
    };
    // The end that is told, and the real one, by the clock of this program.
    let mut told = None;
    if let Some(id) = asked.as_ref().and_then(|one| one["process"].as_str())
        && !running.has_ended()?
    {
        let left = status(grid, id)?["left_seconds"].as_f64();
        told = left.map(|left| running.elapsed() + left);
    }
    running.wait_for(SECONDS_MOST)?;
    let took = running.elapsed();
    let trial = running.end(SECONDS_MOST)?;
    let at_half = told.map(|told| wrong(told, took));
    Ok(Error {
        at_start: wrong(trial.planned, trial.makespan),
        at_half: at_half.unwrap_or(f64::NAN),
    })
}

fn wrong(told: f64, real: f64) -> f64 {
    (told / real - 1.0).abs()
}

/// The status of the process that was submitted last; none where there is no process, or it has ended.
fn newest(grid: &Grid) -> Result<Option<Value>> {
    let list: Value = serde_json::from_str(&grid.xav(&["list", "--json"])?)?;
    let running = list.as_array().and_then(|all| all.first());
    let running = running.filter(|one| one["state"] == "running");
    let id = running.and_then(|one| one["process"].as_str());
    id.map(|id| status(grid, id)).transpose()
}

fn status(grid: &Grid, id: &str) -> Result<Value> {
    Ok(serde_json::from_str(&grid.xav(&["status", id, "--json"])?)?)
}

#[test]
fn a_prediction_is_as_wrong_as_it_is_off() {
    assert!((wrong(11.0, 10.0) - 0.1).abs() < 1e-9);
    assert!((wrong(9.0, 10.0) - 0.1).abs() < 1e-9);
}
