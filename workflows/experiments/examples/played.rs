//! `cargo run --release -p experiments --example played -- XAV [SECONDS]` plays a chain of activities
//! on one machine that loses half of its power at 30 % of SECONDS (60 where left out), for real and by
//! the ideal executor, which read the same platform file, and tells how far they differ.
//!
//! XAV is the program `xav`. The same chain runs on a machine that keeps its power first: what that
//! takes beyond the plan are other programs on this machine, and no fault of the imitation. It
//! exits with 1 where the two differ by more than 5 % beyond that.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program for people that starts another one"
)]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use experiments::ideal::{Powers, execute};
use language::platform;
use schedule::rounds::{Messages, Policy};
use schedule::{Dag, Problem, Task};

/// Activities of the chain.
const ACTIVITIES: u32 = 12;
/// The part of the nominal time after which the power falls, and what is left of it.
const FALLS_AT: f64 = 0.3;
const LEFT: f64 = 0.5;
/// The part by which a played run may differ from the ideal one.
const TOLERANCE: f64 = 0.05;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let xav = PathBuf::from(arguments.next().ok_or("the path of xav is missing")?);
    let seconds: f64 = match arguments.next() {
        Some(text) => text.parse()?,
        None => 60.0,
    };
    let directory = std::env::temp_dir().join(format!("xavantes-played-{}", std::process::id()));
    fs::create_dir(&directory)?;
    let at = (FALLS_AT * seconds * 1e3).round();
    let files = [
        ("keeps its power", "machines: [{ name: one }]".to_owned()),
        (
            "loses half of it",
            format!(
                "machines: [{{ name: one, power: [{{ from: 0s, is: 1 }}, {{ from: {at}ms, is: {LEFT} }}] }}]"
            ),
        ),
    ];
    let mut off = Vec::new();
    for (place, (name, file)) in files.iter().enumerate() {
        let ideal = ideal(file, seconds)?;
        let played = played(&xav, &directory.join(place.to_string()), file, seconds)?;
        let ratio = played / ideal;
        println!("{name}: ideal {ideal:.2} s, played {played:.2} s, ratio {ratio:.3}");
        off.push(ratio);
    }
    fs::remove_dir_all(&directory)?;
    let beyond = off[1] / off[0] - 1.0;
    println!("beyond what others take: {:+.1} %", 100.0 * beyond);
    Ok(match beyond.abs() <= TOLERANCE {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// The makespan that the ideal executor gives.
fn ideal(file: &str, seconds: f64) -> Result<f64, Box<dyn Error>> {
    let file = platform::compile("machines.yaml", file.as_bytes()).map_err(|e| e.to_string())?;
    let platform = file.platform()?;
    let work = seconds / f64::from(ACTIVITIES);
    let tasks = vec![Task { work, cores: 1 }; ACTIVITIES as usize];
    let edges: Vec<(u32, u32, f64)> = (1..ACTIVITIES).map(|n| (n - 1, n, 0.0)).collect();
    let problem = Problem::new(Dag::new(&tasks, &edges)?, &platform)?;
    let powers = Powers::of(&platform)?;
    let horizon = 1e3 * seconds;
    let run = execute(
        &problem,
        &Policy::fixed(),
        &powers,
        &Messages::Direct,
        horizon,
    )?;
    Ok(run.makespan)
}

/// The makespan of a run.
fn played(xav: &Path, directory: &Path, file: &str, seconds: f64) -> Result<f64, Box<dyn Error>> {
    fs::create_dir(directory)?;
    let work = seconds / f64::from(ACTIVITIES);
    let mut text = String::from("xavantes: 1\nname: chain\nbody:\n  sequence:\n");
    for number in 0..ACTIVITIES {
        text += &format!(
            "    - {{ activity: a{number}, work: {work}s, run: [xav, tool, burn, --cpu={work}s] }}\n"
        );
    }
    fs::write(directory.join("chain.yaml"), text)?;
    fs::write(directory.join("machines.yaml"), file)?;
    let xav = |arguments: &[&str]| {
        let mut command = Command::new(xav);
        command.args(arguments).current_dir(directory);
        command
            .env("XDG_DATA_HOME", directory.join("data"))
            .output()
    };
    let run = [
        "run",
        "chain.yaml",
        "--machines",
        "machines.yaml",
        "--state",
        "state",
        "--quiet",
    ];
    let run = xav(&run)?;
    if !run.status.success() {
        return Err(String::from_utf8_lossy(&run.stderr).into());
    }
    let status = xav(&["status", "--state", "state", "--json"])?;
    let status: serde_json::Value = serde_json::from_slice(&status.stdout)?;
    let makespan = status["makespan_seconds"].as_f64();
    makespan.ok_or_else(|| "no makespan".into())
}
