//! An experiment on several threads, into a file from which an interrupted one goes on.
//!
//! Units are drawn each from seeds of their own, and their lines are written in their order, so the
//! file is the same whatever the number of threads and however often it was interrupted.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use experiments::instance::{InstanceError, Source};
use experiments::results::{Results, ResultsError};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::failure::{Failure, chain};
use crate::inputs::reason;
use crate::screen;

/// Units of a thread between two writes: a second of work or less, which an interruption loses.
const UNITS_OF_THREAD: u64 = 32;
/// Bytes of a file of results that are read: the most numbers of an experiment, 12 bytes each.
const RESULTS_BYTES_MAX: u64 = 1_500_000_000;
/// Redraws a second at most.
const DRAWS_A_SECOND: u8 = 5;

/// Does what is missing in the file, and gives back all results.
pub(super) fn run(source: &Source, path: &Path, n_threads: usize) -> Result<Results, Failure> {
    let failed = |what: &str, error: &io::Error| {
        Failure::new(format!(
            "could not {what} {}: {}",
            path.display(),
            reason(error)
        ))
    };
    let mut file = open(path).map_err(|error| failed("open", &error))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(Failure::refused(format!(
                "{} is being written by another xav",
                path.display()
            ))
            .help("wait for it, or choose another directory with --to"));
        }
        Err(TryLockError::Error(error)) => return Err(failed("lock", &error)),
    }
    let text = read(&mut file).map_err(|error| failed("read", &error))?;
    let design = source.design();
    let read = Results::read(design, &text).map_err(|error| refused(path, &error))?;
    drop(text);
    let mut results = read.results;
    // What was cut off while it was written goes, and the rest follows.
    let whole = read.whole_bytes as u64;
    let begin = file
        .set_len(whole)
        .and_then(|()| file.seek(SeekFrom::Start(whole)));
    begin.map_err(|error| failed("cut", &error))?;
    if whole == 0 {
        let heading = Results::heading(design);
        let written = file.write_all(heading.as_bytes());
        written.map_err(|error| failed("write", &error))?;
    }
    let bar = bar(source, results.n_units());
    while !results.is_complete() {
        let first = results.n_units();
        let most = n_threads as u64 * UNITS_OF_THREAD;
        let end = design.n_units().min(first + most);
        let lines = batch(source, first..end, n_threads, &bar);
        let lines = lines.map_err(|error| Failure::new(chain(&error)))?;
        let all = lines.concat();
        let written = file.write_all(all.as_bytes());
        written.map_err(|error| failed("write", &error))?;
        for line in &lines {
            assert!(results.add(line), "a line that was just made is read again");
        }
    }
    bar.finish_and_clear();
    Ok(results)
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path)
}

fn read(file: &mut File) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let n = file.take(RESULTS_BYTES_MAX + 1).read_to_end(&mut text)?;
    if n as u64 > RESULTS_BYTES_MAX {
        return Err(io::Error::from(io::ErrorKind::FileTooLarge));
    }
    Ok(text)
}

fn refused(path: &Path, error: &ResultsError) -> Failure {
    Failure::refused(format!("{}: {error}", path.display()))
        .help("choose another directory with --to, or remove the file to begin anew")
}

/// The lines of some units, in their order.
fn batch(
    source: &Source,
    units: std::ops::Range<u64>,
    n_threads: usize,
    bar: &ProgressBar,
) -> Result<Vec<String>, InstanceError> {
    let next = AtomicU64::new(units.start);
    let work = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= units.end {
                return done;
            }
            let unit = source.design().unit(number);
            let values = source.results(unit);
            done.push((number, values.map(|values| Results::line(unit, &values))));
            bar.inc(1);
        }
    };
    let mut done: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (1..n_threads).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        for thread in threads {
            match thread.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_by_key(|&(number, _)| number);
    done.into_iter().map(|(_, line)| line).collect()
}

fn bar(source: &Source, done: u64) -> ProgressBar {
    if !screen::is_live() {
        return ProgressBar::hidden();
    }
    let target = ProgressDrawTarget::stderr_with_hz(DRAWS_A_SECOND);
    let bar = ProgressBar::with_draw_target(Some(source.design().n_units()), target);
    let style = ProgressStyle::with_template("{prefix:.bold} {wide_bar} {pos}/{len}  {eta} left");
    let style = style.expect("the template above is well formed");
    bar.set_style(style.progress_chars("━╸─"));
    bar.set_prefix(source.design().study.name());
    bar.set_position(done);
    bar.reset_eta();
    bar
}
