//! Machines that `xav run --machines` plays, with powers over time: competitors without competitors.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::Setting;
use super::bars::{Bar, Bars};
use super::trial::Running;
use super::work::{burns, data, fork_join, side_by_side, written};

/// CPU time of all activities on two machines, in seconds, and the activities between the first and the last one.
const CPU_TOTAL: f64 = 60.0;
const FORKS: usize = 200;
/// The part of the planned length after which a machine has a third of its power.
const COMES: f64 = 0.3;
/// The measured day.
const TRACE: &str = "planetlab-20110420.csv";
/// Machines that have the loads of a day, and the virtual machines of the trace whose loads each has at once.
const MACHINES: usize = 8;
const LOADS: usize = 4;
/// The power of each where nobody else uses it, beside the one whose power they are measured by: eight of them need
/// less than two cores.
const POWER: f64 = 0.2;
/// The least part of it that others leave.
const LEFT_LEAST: f64 = 0.05;
/// Activities of each of them, and the seconds of a run on machines that nobody else uses.
const EACH: usize = 10;
const LENGTH: f64 = 40.0;
/// The day lasts so many times as long as such a run.
const DAY: f64 = 2.0;
/// Seeds, of which each chooses its loads.
const SEEDS: usize = 20;

/// Two machines, of which one has a third of its power from some time on.
pub(super) fn halved(setting: &Setting, bars: &mut Bars) -> Result<()> {
    let dir = setting.fresh()?;
    let total = setting.seconds(CPU_TOTAL);
    let each = total / (FORKS + 2) as f64;
    let text = fork_join(FORKS, &burns(each, &setting.xav()), each, "");
    let file = written(dir.path(), "fork-join", &text)?;
    let planned = total / 2.0;
    let platform = format!(
        "machines:\n  - {{ name: ours }}\n  - {{ name: shared, power: [{{ from: 0s, is: 1.0 }}, \
         {{ from: {:.3}s, is: 0.333 }}] }}\n",
        COMES * planned
    );
    let platform = written(dir.path(), "two", &platform)?;
    let mut ratios = Vec::new();
    setting.pairs("played", ["static", "xavantes"], |_, order| {
        let mut took = [f64::NAN; 2];
        for policy in order {
            let side = usize::from(policy == "xavantes");
            took[side] = run(setting, &file, &platform, policy, 8.0 * planned + 60.0)?;
        }
        ratios.push(took[1] / took[0]);
        Ok(())
    })?;
    bars.add(
        "played, fork-join: xavantes / static",
        ratios,
        3,
        Bar::AtMost(0.8),
    );
    Ok(())
}

/// Eight machines with the loads of a measured day, other ones for each seed.
pub(super) fn planetlab(setting: &Setting, bars: &mut Bars) -> Result<()> {
    let Some(trace) = data("traces", TRACE) else {
        bars.skip(format!("planetlab: needs {TRACE} in XAVANTES_DATA"));
        return Ok(());
    };
    let loads = read(&trace)?;
    let dir = setting.fresh()?;
    let length = setting.seconds(LENGTH);
    let each = length * POWER / EACH as f64;
    let command = burns(each, &setting.xav());
    let labelled = "      labels: { day: measured }\n";
    let text = side_by_side(MACHINES * EACH, &command, each, labelled);
    let file = written(dir.path(), "day", &text)?;
    let mut ratios = Vec::new();
    // As many seeds as pairs, where these are fewer.
    for seed in 0..SEEDS.min(2 * setting.n_pairs) {
        crate::tell(&format!("planetlab: seed {seed}"));
        let platform = platform(&loads, seed, DAY * length);
        let platform = written(dir.path(), &format!("day-{seed}"), &platform)?;
        let mut took = [f64::NAN; 2];
        let order = match seed % 2 {
            0 => ["static", "xavantes"],
            _ => ["xavantes", "static"],
        };
        for policy in order {
            let side = usize::from(policy == "xavantes");
            let most = length / LEFT_LEAST + 60.0;
            took[side] = run(setting, &file, &platform, policy, most)?;
        }
        ratios.push(took[1] / took[0]);
    }
    let mean = ratios.iter().sum::<f64>() / ratios.len().max(1) as f64;
    bars.add(
        "planetlab: xavantes / static, mean of the seeds",
        vec![mean],
        3,
        Bar::Below(1.0),
    );
    bars.add("the same, each seed", ratios, 3, Bar::EachAtMost(1.02));
    Ok(())
}

/// The seconds of a run on played machines.
fn run(setting: &Setting, file: &Path, platform: &Path, policy: &str, most: f64) -> Result<f64> {
    let dir = setting.fresh()?;
    let mut command = Command::new(setting.xav());
    command.args(["run", "--json", "--policy", policy]);
    command.arg("--state").arg(dir.path().join("state"));
    command.arg("--machines").arg(platform).arg(file);
    let makespan = Running::start(command, dir.path())?.end(most)?.makespan;
    crate::tell(&format!("  {policy}: {makespan:.1} s"));
    Ok(makespan)
}

/// The loads of all virtual machines of a trace, in percent.
fn read(trace: &Path) -> Result<Vec<Vec<u32>>> {
    let text = std::fs::read_to_string(trace)
        .with_context(|| format!("could not read {}", trace.display()))?;
    let rows = text.lines().skip(1).map(|line| {
        let loads = line.split(',').skip(1).map(str::parse);
        let loads: Result<Vec<u32>, _> = loads.collect();
        loads.context("a load is a number of percent")
    });
    rows.collect()
}

/// A platform file of the machines of a seed, whose day lasts so many seconds.
fn platform(loads: &[Vec<u32>], seed: usize, day: f64) -> String {
    // The one that all powers are measured by runs nothing: it lacks the label.
    let mut text = "machines:\n  - { name: measure, power: 1.0 }\n".to_owned();
    for machine in 0..MACHINES {
        let first = (seed * MACHINES + machine) * LOADS;
        let rows = (0..LOADS).map(|load| &loads[(first + load) * 7 % loads.len()]);
        let rows: Vec<&Vec<u32>> = rows.collect();
        let n = rows.iter().map(|row| row.len()).min().unwrap_or(0);
        let _ = write!(
            text,
            "  - name: m{machine}\n    labels: {{ day: measured }}\n    power:\n"
        );
        let mut last = None;
        for at in 0..n {
            let used: u32 = rows.iter().map(|row| row[at]).sum();
            let left = (1.0 - f64::from(used) / 100.0).max(LEFT_LEAST) * POWER;
            if last != Some(left) {
                let from = day * at as f64 / n as f64;
                let _ = writeln!(text, "      - {{ from: {from:.3}s, is: {left:.4} }}");
            }
            last = Some(left);
        }
    }
    text
}

#[test]
fn a_day_has_a_step_for_each_change_of_its_loads() {
    let loads = vec![vec![10, 10, 100], vec![5, 5, 5]];
    let text = platform(&loads, 0, 30.0);
    assert_eq!(text.matches("name: m").count(), MACHINES + 1);
    assert!(text.contains("{ from: 0.000s, is: 0.1400 }"), "{text}");
    assert!(text.contains("{ from: 20.000s, is: 0.0100 }"), "{text}");
    assert!(!text.contains("from: 10.000s"), "{text}");
}
