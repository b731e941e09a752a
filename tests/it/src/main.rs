//! `cargo recorded FILE...`: runs recorded workflows with the real `xav`, and compares its status with the
//! lines that the commands wrote.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it starts programs, reads the clock, and prints"
)]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use it::check::{self, Expected};
use it::program::program;
use it::readme_grid::ReadmeGrid;
use serde_json::Value;

const USAGE: &str = "\
usage: cargo recorded [--cpu-total SECONDS] [--data-scale FACTOR] [--slots N] [--machines N | --grid DIR] FILE...
  FILE          a recorded workflow in WfFormat 1.5
  --cpu-total   CPU seconds that all commands together use (default 20)
  --data-scale  bytes written for each recorded one (default 0.001)
  --slots       commands that run at the same time (default: as many as there are cores); on a grid,
                on each of its machines
  --machines    on a grid that is made for it on this machine: a group manager, a process manager
                and so many activity managers
  --grid        on this grid, which has the commands' files and log under the same paths";

/// The relative error allowed for the CPU seconds of all commands.
const CPU_MARGIN: f64 = 0.1;

struct Options {
    files: Vec<PathBuf>,
    expected: Expected,
    place: Target,
}

/// The place of a run.
enum Target {
    /// In one program.
    Embedded,
    /// On a grid that is made for it, with so many machines.
    Machines(usize),
    /// On a grid that is there.
    Grid(PathBuf),
}

fn main() -> ExitCode {
    let options = match options(std::env::args().skip(1)) {
        Ok(options) if !options.files.is_empty() => options,
        Ok(_) => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
        Err(error) => {
            eprintln!("error: {error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let session = match Session::of(&options) {
        Ok(session) => session,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut n_bad = 0;
    for file in &options.files {
        let begun = Instant::now();
        let name = file.file_name().unwrap_or_default().display();
        match one(file, &session) {
            Ok(said) => println!(
                "ok    {name}: {said}, {:.1} s",
                begun.elapsed().as_secs_f64()
            ),
            Err(error) => {
                n_bad += 1;
                let error = error.to_string().replace('\n', "\n      ");
                println!("WRONG {name}\n      {error}");
            }
        }
    }
    println!("{} passed, {n_bad} failed", options.files.len() - n_bad);
    ExitCode::from(u8::from(n_bad > 0))
}

fn options(mut arguments: impl Iterator<Item = String>) -> Result<Options, Box<dyn Error>> {
    let cores = std::thread::available_parallelism()?.get() as u64;
    let mut options = Options {
        files: Vec::new(),
        expected: Expected {
            cpu_seconds: 20.0,
            data_scale: 0.001,
            slots: cores,
            cpu_margin: CPU_MARGIN,
        },
        place: Target::Embedded,
    };
    while let Some(argument) = arguments.next() {
        let mut value = || {
            arguments
                .next()
                .ok_or(format!("{argument} without a value"))
        };
        match argument.as_str() {
            "--cpu-total" => {
                options.expected.cpu_seconds = value()?.trim_end_matches('s').parse()?;
            }
            "--data-scale" => options.expected.data_scale = value()?.parse()?,
            "--slots" => options.expected.slots = value()?.parse()?,
            "--machines" => options.place = Target::Machines(value()?.parse()?),
            "--grid" => options.place = Target::Grid(value()?.into()),
            option if option.starts_with('-') => return Err(format!("unknown {option}").into()),
            file => options.files.push(file.into()),
        }
    }
    Ok(options)
}

/// The settings of all runs, and the grid that they use.
struct Session {
    expected: Expected,
    grid: Option<PathBuf>,
    /// Held so that it runs as long as the session.
    _own_grid: Option<ReadmeGrid>,
}

impl Session {
    fn of(options: &Options) -> Result<Session, Box<dyn Error>> {
        let mut session = Session {
            expected: options.expected,
            grid: None,
            _own_grid: None,
        };
        match &options.place {
            Target::Embedded => {}
            Target::Machines(n_machines) => {
                let own = ReadmeGrid::start(*n_machines, session.expected.slots)?;
                session.expected.slots *= *n_machines as u64;
                session.grid = Some(own.grid());
                session._own_grid = Some(own);
            }
            Target::Grid(grid) => {
                let nodes = Command::new(program())
                    .args(["nodes", "--json", "--grid"])
                    .arg(grid)
                    .output()?;
                let nodes: Value = serde_json::from_slice(&nodes.stdout)?;
                let nodes = nodes.as_array().ok_or("a grid tells its machines")?;
                let slots = nodes.iter().filter_map(|node| node["slots"].as_u64());
                session.expected.slots = slots.sum();
                session.grid = Some(grid.clone());
            }
        }
        Ok(session)
    }
}

fn one(file: &Path, session: &Session) -> Result<String, Box<dyn Error>> {
    let (expected, grid) = (&session.expected, session.grid.as_deref());
    let recording: Value = serde_json::from_slice(&fs::read(file)?)?;
    let dir = tempfile::TempDir::new()?;
    let log = dir.path().join("log");
    let place = |command: &mut Command| match grid {
        Some(grid) => {
            command.arg("--grid").arg(grid);
        }
        None => {
            command.arg("--state").arg(dir.path().join("state"));
        }
    };
    let mut run = Command::new(program());
    run.args(["run", "--json", "--cpu-total"])
        .arg(format!("{}s", expected.cpu_seconds))
        .args(["--data-scale", &expected.data_scale.to_string()])
        .arg("--record")
        .arg(&log)
        .arg(file);
    if grid.is_none() {
        run.args(["--slots", &expected.slots.to_string()]);
    }
    place(&mut run);
    let run = run.output()?;
    if !run.status.success() {
        return Err(String::from_utf8_lossy(&run.stderr).into());
    }
    let ended: Value = serde_json::from_slice(&run.stdout)?;
    let id = ended["process"].as_str().ok_or("a run tells its process")?;
    let mut status = Command::new(program());
    status.args(["status", id, "--json"]);
    place(&mut status);
    let status: Value = serde_json::from_slice(&status.output()?.stdout)?;
    let found = check::compare(&recording, &status, &fs::read_to_string(&log)?, expected)?;
    let (makespan, planned) = (
        &ended["makespan_seconds"],
        &ended["planned_makespan_seconds"],
    );
    Ok(format!(
        "{found}, makespan {makespan} s (planned {planned})"
    ))
}
