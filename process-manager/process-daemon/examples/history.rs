//! The costs of a full history: what it takes in memory and on disk, and what reading it costs a start.
//!
//! `cargo run --release -p process-daemon --example history -- FILE`, twice: the first run writes the file, the
//! second one, whose memory nothing else has used, reads it.
#![expect(clippy::print_stdout, reason = "it prints what it measures")]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use history::{Batch, Observed, SizeClass};
use model::{Bytes, Span, Wall, Work};
use process_daemon::HistoryFile;
use shell::clock;

/// Definitions with a hundred activities each.
const DEFINITIONS: u32 = 1_000;
const ACTIVITIES: u32 = 100;
/// Attempts at each.
const ATTEMPTS: u32 = 20;
/// Runs that have added an attempt since the file was compacted.
const ADDED: u32 = 1_000;
/// Looks at each activity of a definition that are measured.
const ROUNDS: u32 = 1_000;
/// Starts that are measured; the median counts.
const STARTS: usize = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("name a file")?;
    let path = PathBuf::from(path);
    let file = HistoryFile::new(path.clone());
    match path.exists() {
        true => measure(&file, &path),
        false => write(&file),
    }
}

fn write(file: &HistoryFile) -> Result<(), Box<dyn Error>> {
    for definition in 0..DEFINITIONS {
        let mut batch = Batch::new("", &format!("definition-{definition}"));
        for activity in 0..ACTIVITIES {
            for run in 0..ATTEMPTS {
                batch.add(&format!("activity-{activity}"), SizeClass(20), &seen(run));
            }
        }
        file.add(&batch)?;
        file.compact_if_long()?;
    }
    for run in 0..ADDED {
        let mut batch = Batch::new("", "definition-7");
        batch.add("activity-7", SizeClass(20), &seen(run));
        file.add(&batch)?;
    }
    Ok(())
}

fn measure(file: &HistoryFile, path: &Path) -> Result<(), Box<dyn Error>> {
    let mut starts = Vec::with_capacity(STARTS);
    for _ in 0..STARTS {
        let before = clock::mono();
        file.of_definition("definition-7")?;
        starts.push(clock::mono().0 - before.0);
    }
    starts.sort_unstable();
    let before = memory()?;
    let store = file.all()?;
    println!(
        "{} templates: {} MB in memory, {} MB on disk; a start reads one definition in {} us (median of {STARTS})",
        store.len(),
        memory()?.saturating_sub(before) / 1_000_000,
        fs::metadata(path)?.len() / 1_000_000,
        starts[STARTS / 2],
    );
    let begun = clock::mono();
    let mut n_found = 0;
    for _ in 0..ROUNDS {
        for activity in 0..ACTIVITIES {
            let name = format!("activity-{activity}");
            let known = store.of_activity(("", "definition-7"), &name);
            n_found += u32::from(known.is_some_and(|known| known.of(None).work > Work::ZERO));
        }
    }
    let each = (clock::mono().0 - begun.0) * 1_000 / u64::from(n_found.max(1));
    println!(
        "a look at what one activity takes: {each} ns; a count of the time left has at most 256"
    );
    Ok(())
}

fn seen(run: u32) -> Observed {
    Observed {
        cpu: Span::from_secs(1),
        peak_memory: Bytes(1 << 20),
        ..Observed::completed(run, Wall(u64::from(run)), Work::from_secs(2))
    }
}

/// Bytes of this program that are in memory.
fn memory() -> Result<u64, Box<dyn Error>> {
    let pages = fs::read_to_string("/proc/self/statm")?;
    let resident = pages.split(' ').nth(1).ok_or("statm has a second number")?;
    Ok(resident.parse::<u64>()? * 4_096)
}
