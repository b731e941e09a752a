//! One `xav run` of a shape, with what it used.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::Value;

use crate::definitions::Shape;
use crate::observer::{Usage, observe};

/// Bytes of stderr that a failure shows.
const STDERR_BYTES_MAX: usize = 2_000;

/// The measurements of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Observed {
    /// From the start of the program to its end.
    pub(crate) wall_seconds: f64,
    /// As /proc has it.
    pub(crate) seen: Usage,
    /// As xav says in its JSON.
    pub(crate) told: Usage,
}

impl Observed {
    /// CPU time of managers and executor; what xav says is exact, what is seen may lack the last moment.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        let managers = self.told.cpu_managers.or(self.seen.cpu_managers);
        let executor = self.told.cpu_executor.or(self.seen.cpu_executor);
        managers.unwrap_or(f64::NAN) + executor.unwrap_or(f64::NAN)
    }

    pub(crate) fn memory_managers(&self) -> f64 {
        self.told
            .memory_managers
            .or(self.seen.memory_managers)
            .unwrap_or(f64::NAN)
    }

    pub(crate) fn memory_executor(&self) -> f64 {
        self.told
            .memory_executor
            .or(self.seen.memory_executor)
            .unwrap_or(f64::NAN)
    }
}

/// Runs the shape with a state directory of its own below `dir`.
pub(crate) fn run(xav: &Path, shape: Shape, dir: &Path) -> Result<Observed> {
    fs::create_dir_all(dir).with_context(|| format!("could not make {}", dir.display()))?;
    let definition = dir.join(format!("{shape:?}.yaml"));
    fs::write(&definition, shape.definition())
        .with_context(|| format!("could not write {}", definition.display()))?;
    let state = dir.join(format!("{shape:?}"));
    let started = Instant::now();
    let child = Command::new(xav)
        .args(["run", "--json", "--state"])
        .arg(&state)
        .arg(&definition)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("could not start {}", xav.display()))?;
    let pid = child.id();
    let state_dir = state.as_path();
    let (end, ended) = sync_channel(1);
    let (output, wall_seconds, seen) = thread::scope(|scope| {
        let observer = scope.spawn(move || observe(pid, state_dir, &ended));
        let output = child.wait_with_output();
        let wall_seconds = started.elapsed().as_secs_f64();
        drop(end);
        let seen = observer
            .join()
            .map_err(|_| anyhow!("the observer panicked"));
        (output, wall_seconds, seen)
    });
    let output = output.context("could not wait for xav")?;
    let stderr = &output.stderr[output.stderr.len().saturating_sub(STDERR_BYTES_MAX)..];
    ensure!(
        output.status.success(),
        "xav run of {} ended with {}:\n{}",
        shape.name(),
        output.status,
        String::from_utf8_lossy(stderr)
    );
    Ok(Observed {
        wall_seconds,
        seen: seen?,
        told: told(&String::from_utf8_lossy(&output.stdout)),
    })
}

/// The JSON output of xav: one document, or one a line, of which the last counts.
fn told(stdout: &str) -> Usage {
    let last_line = || serde_json::from_str(stdout.lines().last().unwrap_or_default());
    let json: Value = serde_json::from_str(stdout)
        .or_else(|_| last_line())
        .unwrap_or_default();
    Usage {
        cpu_managers: number(&json, "cpu_seconds_managers"),
        cpu_executor: number(&json, "cpu_seconds_executor"),
        memory_managers: number(&json, "peak_memory_bytes_managers"),
        memory_executor: number(&json, "peak_memory_bytes_executor"),
    }
}

/// The number of that name, wherever it stands.
pub(crate) fn number(json: &Value, name: &str) -> Option<f64> {
    match json {
        Value::Object(map) => map
            .get(name)
            .and_then(Value::as_f64)
            .or_else(|| map.values().find_map(|value| number(value, name))),
        Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            None
        }
    }
}

#[test]
fn what_xav_says_of_itself_is_found() {
    let json = r#"{"state": "completed", "summary": {"cpu_seconds_managers": 1.5, "peak_memory_bytes_executor": 4096}}"#;
    for stdout in [
        json.to_owned(),
        format!("{{\"state\": \"running\"}}\n{json}\n"),
    ] {
        let told = told(&stdout);
        assert_eq!(told.cpu_managers, Some(1.5));
        assert_eq!(told.memory_executor, Some(4096.0));
        assert_eq!(told.cpu_executor, None);
    }
    assert!(told("not JSON").cpu_managers.is_none());
}
