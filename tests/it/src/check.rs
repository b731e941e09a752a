//! Compares three accounts of a recorded workflow: the recording, `xav status --json`, and the lines that its
//! commands wrote (`--record`).

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

/// Differences in an error message: the first few show the cause.
const DIFFERENCES_MAX: usize = 20;

/// The scale of a run, and the limits that it must keep.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// CPU seconds of all commands together.
    pub cpu_seconds: f64,
    /// Bytes written for each recorded byte.
    pub data_scale: f64,
    /// Slots of all machines together.
    pub slots: u64,
    /// The relative error allowed for CPU seconds; 0.1 is a tenth.
    pub cpu_margin: f64,
}

/// The counts of a comparison without differences.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Activities, each of which ran once.
    pub n_activities: usize,
    /// Dependencies whose first end preceded the second start.
    pub n_dependencies: usize,
    /// Files with the scaled size.
    pub n_files: usize,
    /// The most slots in use at one time.
    pub slots_used_max: u64,
    /// CPU seconds, by the status.
    pub cpu_seconds_status: f64,
    /// CPU seconds, by the commands themselves.
    pub cpu_seconds_log: f64,
}

/// A task of the recording.
struct Task {
    id: String,
    parents: BTreeSet<String>,
    reads: Vec<u64>,
    writes: Vec<u64>,
}

/// The line that one command wrote about itself.
struct CommandRecord {
    pid: u64,
    start: u64,
    end: u64,
    cpu_micros: u64,
    bytes: Vec<u64>,
    /// Hashes of the files that it read, by path.
    inputs: BTreeMap<String, String>,
    /// Paths of the files that it wrote.
    writes: BTreeSet<String>,
}

/// Compares the three accounts. `recording` is WfFormat 1.5.
///
/// # Errors
///
/// All differences, one a line; or the first part of an account that cannot be read.
pub fn compare(
    recording: &Value,
    status: &Value,
    log: &str,
    expected: &Expected,
) -> Result<Comparison, String> {
    let tasks = tasks(recording)?;
    let burned = burned(log)?;
    let mut differences = Differences::default();
    let activities = list(&status["activity_list"])?;
    // By the task's id: the name of an activity has other characters where an id has dots or spaces.
    let mut by_id: BTreeMap<&str, &Value> = BTreeMap::new();
    for activity in activities {
        by_id.insert(text(&activity["recorded"])?, activity);
    }
    differences.expect(
        tasks.len() == by_id.len() && tasks.len() == burned.len(),
        || {
            let (told, ran) = (by_id.len(), burned.len());
            format!(
                "{} tasks, {told} in the status, {ran} in the log",
                tasks.len()
            )
        },
    );
    let mut found = Comparison {
        n_activities: tasks.len(),
        n_dependencies: 0,
        n_files: 0,
        slots_used_max: 0,
        cpu_seconds_status: 0.0,
        cpu_seconds_log: 0.0,
    };
    let mut spans = Vec::new();
    for task in &tasks {
        let id = &task.id;
        let (Some(activity), Some(runs)) = (by_id.get(id.as_str()), burned.get(id)) else {
            differences.add(format!("{id} is missing in the status or in the log"));
            continue;
        };
        let attempts = list(&activity["attempts"])?;
        let ([attempt], [burn]) = (attempts.as_slice(), runs.as_slice()) else {
            let (tried, ran) = (attempts.len(), runs.len());
            differences.add(format!("{id} has {tried} attempts and ran {ran} times"));
            continue;
        };
        differences.expect(
            activity["state"] == "completed" && attempt["exit_code"] == 0,
            || {
                format!(
                    "{id} is {} with {}",
                    activity["state"], attempt["exit_code"]
                )
            },
        );
        differences.expect(attempt["pid"] == burn.pid, || {
            format!(
                "{id}: pid {} in the status, {} in the log",
                attempt["pid"], burn.pid
            )
        });
        let (start, end) = (moment(&attempt["start"])?, moment(&attempt["end"])?);
        spans.push((
            start.clone(),
            end.clone(),
            number(&attempt["slots"])? as u64,
        ));
        found.cpu_seconds_status += number(&attempt["cpu_seconds"])?;
        found.cpu_seconds_log += burn.cpu_micros as f64 / 1e6;
        for parent in &task.parents {
            found.n_dependencies += 1;
            let before = by_id.get(parent.as_str()).zip(burned.get(parent));
            let Some((told, ran)) = before else { continue };
            let told_end = moment(&told["attempts"][0]["end"])?;
            let ran_end = ran.iter().map(|run| run.end).max().unwrap_or(u64::MAX);
            differences.expect(told_end <= start, || {
                format!("{id} started at {start}, and {parent} ended at {told_end} (status)")
            });
            differences.expect(ran_end <= burn.start, || {
                format!(
                    "{id} started at {}, and {parent} ended at {ran_end} (log)",
                    burn.start
                )
            });
            for of_parent in ran {
                differences.expect_same_files(id, parent, [burn, of_parent], told);
            }
        }
        found.n_files += differences.expect_sizes(task, burn, activity, expected.data_scale)?;
    }
    found.slots_used_max = slots_used_max(&mut spans);
    differences.expect(found.slots_used_max <= expected.slots, || {
        format!(
            "{} slots were in use, and there are {}",
            found.slots_used_max, expected.slots
        )
    });
    for (used, by) in [
        (found.cpu_seconds_status, "the status"),
        (found.cpu_seconds_log, "the log"),
    ] {
        let differs = (used - expected.cpu_seconds).abs() / expected.cpu_seconds;
        differences.expect(differs <= expected.cpu_margin, || {
            let (percent, wanted) = (100.0 * differs, expected.cpu_seconds);
            format!("{used:.2} CPU seconds by {by}, {percent:.1} % from {wanted:.2}")
        });
    }
    differences.none_or().map(|()| found)
}

/// The differences found so far.
#[derive(Default)]
struct Differences(Vec<String>);

impl Differences {
    fn add(&mut self, difference: String) {
        self.0.push(difference);
    }

    fn expect(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.0.push(otherwise());
        }
    }

    /// Expects that a command read its parent's files with the contents that the parent's outputs have.
    fn expect_same_files(
        &mut self,
        id: &str,
        parent: &str,
        [burn, of_parent]: [&CommandRecord; 2],
        told: &Value,
    ) {
        let Some(outputs) = told["outputs"].as_object() else {
            return;
        };
        let read = burn.inputs.iter();
        for (path, hash) in read.filter(|(path, _)| of_parent.writes.contains(*path)) {
            let mut named = outputs.iter().filter(|(name, _)| names(name, path));
            self.expect(named.any(|(_, output)| output["hash"] == **hash), || {
                format!("{id} read another {path} than {parent} gave")
            });
        }
    }

    /// Expects the scaled size of every file that a command read or wrote. Returns the number of files.
    fn expect_sizes(
        &mut self,
        task: &Task,
        burn: &CommandRecord,
        activity: &Value,
        scale: f64,
    ) -> Result<usize, String> {
        let scaled = |bytes: &u64| (*bytes as f64 * scale).round() as u64;
        let id = &task.id;
        let mut kept = Vec::new();
        if let Some(outputs) = activity["outputs"].as_object() {
            for output in outputs.values() {
                kept.push(number(&output["bytes"])? as u64);
            }
        }
        kept.sort_unstable();
        let mut writes: Vec<u64> = task.writes.iter().map(scaled).collect();
        writes.sort_unstable();
        self.expect(kept == writes, || {
            format!("{id} gave files of {kept:?} bytes, and recorded are {writes:?}")
        });
        let mut all: Vec<u64> = task.reads.iter().map(scaled).collect();
        all.extend(&writes);
        all.sort_unstable();
        self.expect(burn.bytes == all, || {
            let touched = &burn.bytes;
            format!("{id} read and wrote files of {touched:?} bytes, and recorded are {all:?}")
        });
        Ok(all.len())
    }

    fn none_or(self) -> Result<(), String> {
        if self.0.is_empty() {
            return Ok(());
        }
        let n_more = self.0.len().saturating_sub(DIFFERENCES_MAX);
        let mut lines: Vec<String> = self.0.into_iter().take(DIFFERENCES_MAX).collect();
        if n_more > 0 {
            lines.push(format!("and {n_more} more"));
        }
        Err(lines.join("\n"))
    }
}

/// True if the import may have given this name to the output with this path: it writes `_` for other
/// characters, and appends a number to a name that another output has.
fn names(output: &str, path: &str) -> bool {
    let number = output.strip_prefix(&path.replace(['.', '+'], "_"));
    number.is_some_and(|number| {
        let digits = number.strip_prefix('-').unwrap_or(number);
        digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// The most slots that attempts held at one time. What ends when another starts is over by then.
fn slots_used_max(spans: &mut [(String, String, u64)]) -> u64 {
    let mut changes: Vec<(&str, bool, u64)> = Vec::new();
    for (start, end, slots) in &*spans {
        changes.push((start, true, *slots));
        changes.push((end, false, *slots));
    }
    changes.sort_unstable();
    let (mut used, mut most) = (0, 0);
    for (_, begins, slots) in changes {
        used = if begins { used + slots } else { used - slots };
        most = most.max(used);
    }
    most
}

/// The tasks of a recording in WfFormat 1.5.
fn tasks(recording: &Value) -> Result<Vec<Task>, String> {
    let specification = &recording["workflow"]["specification"];
    let mut sizes = BTreeMap::new();
    for file in list(&specification["files"])? {
        sizes.insert(text(&file["id"])?, number(&file["sizeInBytes"])? as u64);
    }
    let files = |of: &Value| -> Result<Vec<String>, String> {
        match of.as_array() {
            None => Ok(Vec::new()),
            Some(files) => files
                .iter()
                .map(|file| Ok(text(file)?.to_owned()))
                .collect(),
        }
    };
    let mut producers = BTreeMap::new();
    let mut shared = BTreeSet::new();
    let specified = list(&specification["tasks"])?;
    for task in specified {
        for file in files(&task["outputFiles"])? {
            // The import gives a file to the first of several producers.
            let id = text(&task["id"])?.to_owned();
            match producers.entry(file) {
                Entry::Vacant(place) => {
                    place.insert(id);
                }
                Entry::Occupied(place) => {
                    shared.insert(place.key().clone());
                }
            }
        }
    }
    let size = |file: &String| sizes.get(file.as_str()).copied().unwrap_or(0);
    specified
        .iter()
        .map(|task| {
            let id = text(&task["id"])?.to_owned();
            let (reads, writes) = (files(&task["inputFiles"])?, files(&task["outputFiles"])?);
            let mut parents: BTreeSet<String> = files(&task["parents"])?.into_iter().collect();
            // Of a file with several producers nobody knows which one was read.
            let unshared = reads.iter().filter(|file| !shared.contains(*file));
            parents.extend(unshared.filter_map(|file| producers.get(file)).cloned());
            parents.remove(&id);
            // A file that is named twice is there once.
            let unique = |files: Vec<String>| files.into_iter().collect::<BTreeSet<String>>();
            let mut writes = unique(writes);
            writes.retain(|file| producers.get(file) == Some(&id));
            let reads: BTreeSet<String> = unique(reads).difference(&writes).cloned().collect();
            Ok(Task {
                id,
                parents,
                reads: reads.iter().map(size).collect(),
                writes: writes.iter().map(size).collect(),
            })
        })
        .collect()
}

/// The lines of the commands' log, by task id.
fn burned(log: &str) -> Result<BTreeMap<String, Vec<CommandRecord>>, String> {
    let mut burned: BTreeMap<String, Vec<CommandRecord>> = BTreeMap::new();
    for line in log.lines() {
        let line: Value = serde_json::from_str(line)
            .map_err(|error| format!("a line of the log is torn: {error}: {line}"))?;
        let mut bytes = Vec::new();
        for size in line["bytes"].as_object().into_iter().flatten() {
            bytes.push(number(size.1)? as u64);
        }
        bytes.sort_unstable();
        let mut inputs = BTreeMap::new();
        for (path, hash) in line["inputs"].as_object().into_iter().flatten() {
            inputs.insert(path.clone(), text(hash)?.to_owned());
        }
        let touched = line["bytes"].as_object().into_iter().flatten();
        let paths = touched.map(|(path, _)| path.clone());
        let writes = paths.filter(|path| !inputs.contains_key(path)).collect();
        let run = CommandRecord {
            pid: number(&line["pid"])? as u64,
            start: number(&line["start"])? as u64,
            end: number(&line["end"])? as u64,
            cpu_micros: number(&line["cpu"])? as u64,
            bytes,
            inputs,
            writes,
        };
        let name = text(&line["name"])?.to_owned();
        burned.entry(name).or_default().push(run);
    }
    Ok(burned)
}

/// A moment as a text that sorts as the moments do: RFC 3339 leaves out zeros at the end.
fn moment(value: &Value) -> Result<String, String> {
    let text = text(value)?;
    let plain = text
        .strip_suffix('Z')
        .ok_or_else(|| format!("{text} is not in UTC"))?;
    let (whole, fraction) = plain.split_once('.').unwrap_or((plain, ""));
    Ok(format!("{whole}.{fraction:0<9}"))
}

fn list(value: &Value) -> Result<&Vec<Value>, String> {
    value
        .as_array()
        .ok_or_else(|| format!("a list is wanted: {}", short(value)))
}

fn text(value: &Value) -> Result<&str, String> {
    value
        .as_str()
        .ok_or_else(|| format!("a text is wanted: {}", short(value)))
}

fn number(value: &Value) -> Result<f64, String> {
    value
        .as_f64()
        .ok_or_else(|| format!("a number is wanted: {}", short(value)))
}

fn short(value: &Value) -> String {
    value.to_string().chars().take(100).collect()
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} activities ran once, {} dependencies held, {} files have their sizes, \
             {} slots at once, {:.2} CPU seconds by the status and {:.2} by the commands",
            self.n_activities,
            self.n_dependencies,
            self.n_files,
            self.slots_used_max,
            self.cpu_seconds_status,
            self.cpu_seconds_log
        )
    }
}

#[cfg(test)]
mod tests;
