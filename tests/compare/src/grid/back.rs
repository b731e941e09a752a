//! The time until commands start again after a daemon was killed with thousands of unfinished activities.
//! The commands themselves write down when they start.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};

use super::world::{Grid, until};
use super::written;
use crate::definitions::definition;

/// Activities that have not ended when a daemon is killed.
const UNFINISHED: usize = 10_000;
/// Activities that run before that.
const BEFORE: usize = 200;
/// For how long a daemon is away: by then those who dial it do so as seldom as they ever do, and its
/// connections have ended.
const AWAY: Duration = Duration::from_secs(4);
/// When nothing has started for so long, all that had been sent has run.
const QUIET: Duration = Duration::from_millis(500);

/// Seconds from the start of a daemon to the first command that starts by its doing.
pub(super) struct Back {
    /// The process manager.
    pub(super) process_seconds: f64,
    /// The group manager, where a process waits for its slots.
    pub(super) group_seconds: f64,
    /// The longest time without the start of a command, the group manager killed and started again
    /// while a process runs.
    pub(super) gap_seconds: f64,
}

pub(super) fn measure(grid: &mut Grid, dir: &Path) -> Result<Back> {
    let log = dir.join("starts");
    let run = format!("{{ shell: \"date +%s%N >> {}\" }}", log.display());
    let text = definition(&[BEFORE + UNFINISHED], &run);
    let file = written(dir, "back", &text)?;
    let file = file.to_str().context("a path is text")?;

    let process = grid.xav(&["submit", file])?;
    until_started(&log, BEFORE)?;
    grid.pm.kill()?;
    thread::sleep(AWAY);
    until_quiet(&log)?;
    let process_seconds = seconds_until_start(&log, || grid.pm.start_again())?;

    // It goes on without its group manager.
    let n_before = starts(&log).len();
    grid.gm.kill()?;
    thread::sleep(AWAY);
    until_started(&log, n_before + BEFORE)?;
    grid.gm.start_again()?;
    until_started(&log, n_before + 2 * BEFORE)?;
    let gap_seconds = longest_gap(&starts(&log)[n_before..]);
    grid.xav(&["cancel", process.trim()])?;

    until_quiet(&log)?;
    grid.gm.kill()?;
    let process = grid.xav(&["submit", file])?;
    thread::sleep(AWAY);
    until_quiet(&log)?;
    let group_seconds = seconds_until_start(&log, || grid.gm.start_again())?;
    grid.xav(&["cancel", process.trim()])?;
    Ok(Back {
        process_seconds,
        group_seconds,
        gap_seconds,
    })
}

/// The moments at which commands started, in seconds since 1970, in their order.
fn starts(log: &Path) -> Vec<f64> {
    let text = fs::read_to_string(log).unwrap_or_default();
    // A line that is being written has no end yet.
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let mut moments: Vec<f64> = whole
        .lines()
        .filter_map(|line| Some(line.parse::<f64>().ok()? / 1e9))
        .collect();
    moments.sort_by(f64::total_cmp);
    moments
}

fn until_started(log: &Path, n_starts: usize) -> Result<()> {
    let has_started = || Ok((starts(log).len() >= n_starts).then_some(()));
    until("commands to start", has_started)
}

fn until_quiet(log: &Path) -> Result<()> {
    let mut before = None;
    until("commands to end", || {
        let now = starts(log).len();
        let is_quiet = before.replace(now) == Some(now);
        if !is_quiet {
            thread::sleep(QUIET);
        }
        Ok(is_quiet.then_some(()))
    })
}

fn seconds_until_start(log: &Path, start: impl FnOnce() -> Result<()>) -> Result<f64> {
    let n_before = starts(log).len();
    let began = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64();
    start()?;
    until_started(log, n_before + 1)?;
    let first = starts(log)[n_before];
    ensure!(first >= began, "a command started before its time");
    Ok(first - began)
}

fn longest_gap(moments: &[f64]) -> f64 {
    let gaps = moments.windows(2).map(|pair| pair[1] - pair[0]);
    gaps.fold(0.0, f64::max)
}

#[test]
fn moments_are_read_from_whole_lines() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("starts");
    assert!(starts(&log).is_empty());
    fs::write(&log, "3000000000\n1000000000\n1500000000\n99").unwrap();
    assert_eq!(starts(&log), [1.0, 1.5, 3.0]);
    assert_eq!(longest_gap(&starts(&log)), 1.5);
    assert_eq!(longest_gap(&[]), 0.0);
}
