//! One run of a process to its end, within a bounded time.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use model::{ActivityId, ResourceId};
use serde_json::Value;

use crate::grid::world::Grid;

/// Between two looks at whether a run has ended.
const LOOK: Duration = Duration::from_millis(20);
/// Bytes of the error output of a run that failed which are shown.
const STDERR_BYTES_MAX: usize = 2_000;

/// A run that goes on. Dropping it ends its program.
pub(super) struct Running {
    child: Child,
    since: Instant,
    out: PathBuf,
    errors: PathBuf,
}

/// A run that has completed.
#[derive(Debug)]
pub(super) struct Trial {
    /// From the submission to the end, in seconds.
    pub(super) makespan: f64,
    /// The length of its first plan, in seconds.
    pub(super) planned: f64,
    /// Its ID.
    pub(super) id: String,
}

/// The command that runs a definition on a grid by a policy, with further options.
pub(super) fn on_grid(grid: &Grid, policy: &str, file: &Path, options: &[String]) -> Command {
    let mut command = Command::new(grid.program());
    command.args(["run", "--json", "--policy", policy]);
    command
        .args(options)
        .arg("--grid")
        .arg(grid.directory())
        .arg(file);
    command
}

/// Lets what is measured go on for a while.
pub(super) fn pause(time: Duration) {
    thread::sleep(time);
}

impl Running {
    /// Starts `xav run --json` with what else its command needs, and puts its output in a directory.
    pub(super) fn start(mut command: Command, dir: &Path) -> Result<Running> {
        let (out, errors) = (dir.join("run.json"), dir.join("run.err"));
        let child = command
            .stdin(Stdio::null())
            .stdout(File::create(&out)?)
            .stderr(File::create(&errors)?)
            .spawn()
            .with_context(|| format!("could not start {command:?}"))?;
        Ok(Running {
            child,
            since: Instant::now(),
            out,
            errors,
        })
    }

    /// Waits until it has gone on for so many seconds, or has ended.
    pub(super) fn wait_for(&mut self, seconds: f64) -> Result<()> {
        while self.since.elapsed().as_secs_f64() < seconds && self.child.try_wait()?.is_none() {
            pause(LOOK);
        }
        Ok(())
    }

    /// Returns true if it has ended.
    pub(super) fn has_ended(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// The seconds since it was started.
    pub(super) fn elapsed(&self) -> f64 {
        self.since.elapsed().as_secs_f64()
    }

    /// Waits for its end; after so many seconds it has failed.
    pub(super) fn end(mut self, seconds_max: f64) -> Result<Trial> {
        self.wait_for(seconds_max)?;
        let Some(status) = self.child.try_wait()? else {
            bail!("a run had not ended after {seconds_max:.0} s");
        };
        let said = fs::read(&self.errors)?;
        let said = &said[said.len().saturating_sub(STDERR_BYTES_MAX)..];
        let said = String::from_utf8_lossy(said);
        ensure!(status.success(), "a run ended with {status}:\n{said}");
        let document: Value = serde_json::from_str(&fs::read_to_string(&self.out)?)?;
        let number = |key: &str| document[key].as_f64().unwrap_or(f64::NAN);
        let id = document["process"].as_str().context("a run has an ID")?;
        Ok(Trial {
            makespan: number("makespan_seconds"),
            planned: number("planned_makespan_seconds"),
            id: id.to_owned(),
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// The attempts beyond the first at each activity that have begun to run, by the status of its process.
pub(super) fn n_run_again(status: &Value) -> usize {
    let all = status["activity_list"].as_array();
    let all = all.map(Vec::as_slice).unwrap_or_default();
    let n_run = |activity: &Value| {
        let attempts = activity["attempts"].as_array();
        let attempts = attempts.map(Vec::as_slice).unwrap_or_default();
        attempts
            .iter()
            .filter(|one| one["start"].is_string())
            .count()
    };
    all.iter().map(|one| n_run(one).saturating_sub(1)).sum()
}

/// The moves of activities from machine to machine, as far as several looks at the status of their process tell.
#[derive(Default)]
pub(super) struct Moves(BTreeMap<ActivityId, (ResourceId, usize)>);

impl Moves {
    /// Looks at where an activity is planned.
    pub(super) fn note(&mut self, activity: ActivityId, place: ResourceId) {
        let (last, n_moves) = self.0.entry(activity).or_insert((place, 0));
        *n_moves += usize::from(*last != place);
        *last = place;
    }

    /// The moves of the one that moved most often.
    pub(super) fn most(&self) -> usize {
        self.0
            .values()
            .map(|(_, n_moves)| *n_moves)
            .max()
            .unwrap_or(0)
    }
}

#[test]
fn moves_and_repeats_are_counted_by_the_status() {
    let status: Value = serde_json::json!({
        "activity_list": [
            { "attempts": [{ "start": "2026-01-01T00:00:00Z" }, { "start": null }] },
            { "attempts": [{ "start": "2026-01-01T00:00:00Z" }, { "start": "2026-01-01T00:00:01Z" }] },
            {},
        ],
    });
    assert_eq!(n_run_again(&status), 1);
    assert_eq!(n_run_again(&Value::Null), 0);
    let mut moves = Moves::default();
    for places in [[1, 1], [1, 2], [1, 1], [2, 1]] {
        for (activity, place) in (1..).map(ActivityId).zip(places) {
            moves.note(activity, ResourceId::local(place));
        }
    }
    assert_eq!(moves.most(), 2);
}
