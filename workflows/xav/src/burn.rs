//! `xav tool burn`: what a recorded command did, as far as a machine notices it. It reads files,
//! writes files, and uses CPU time.
//!
//! The files are made first and the CPU time that this took is part of what is to be used, so that
//! the whole command takes what was asked for, not that and its own costs.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use language::wfformat::{Burn, BurnFile};
use model::Wall;
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use thiserror::Error;

/// Bytes handled at once.
const CHUNK_BYTES: usize = 64 << 10;

/// Rounds of mixing between two looks at the clock: some ten microseconds.
const ROUNDS: u32 = 10_000;

/// Why a burn did not do all of it.
#[derive(Debug, Error)]
pub(crate) enum BurnFailure {
    /// A file could not be made.
    #[error("could not write {path}: {source}")]
    Write { path: String, source: io::Error },
    /// A file could not be read.
    #[error("could not read {path}: {source}")]
    Read { path: String, source: io::Error },
    /// There is no thread to use CPU time on.
    #[error("could not start a thread: {0}")]
    Thread(io::Error),
}

/// Does it, in the working directory.
pub(crate) fn burn(burn: &Burn) -> Result<(), BurnFailure> {
    let start = shell::clock::wall();
    let mut read = blake3::Hasher::new();
    let mut inputs = Vec::new();
    let mut sizes = Vec::new();
    for source in &burn.sources {
        let contents = blake3::Hasher::new_derive_key("xav tool burn: source");
        make(source, contents)?;
    }
    let sources = burn.sources.iter().map(|source| source.path.as_str());
    for path in sources.chain(burn.reads.iter().map(String::as_str)) {
        let (hash, bytes) = digest(Path::new(path)).map_err(|source| BurnFailure::Read {
            path: path.to_owned(),
            source,
        })?;
        sizes.push((path, bytes));
        read.update(path.as_bytes()).update(hash.as_bytes());
        inputs.push((path, hash.to_hex().to_string()));
    }
    let all_read = read.finalize();
    for file in &burn.writes {
        make(file, blake3::Hasher::new_keyed(all_read.as_bytes()))?;
        sizes.push((&file.path, file.bytes));
    }
    use_cpu(burn)?;
    match &burn.record {
        Some(path) => record(burn, path, start, &inputs, &sizes),
        None => Ok(()),
    }
}

/// Writes a file whose contents follow from the hasher and the file's seed.
fn make(file: &BurnFile, mut hasher: blake3::Hasher) -> Result<(), BurnFailure> {
    hasher.update(file.seed.as_bytes());
    let contents = hasher.finalize_xof();
    write_stream(&file.path, file.bytes, contents).map_err(|source| BurnFailure::Write {
        path: file.path.clone(),
        source,
    })
}

fn write_stream(path: &str, bytes: u64, mut contents: blake3::OutputReader) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(CHUNK_BYTES, File::create_new(path)?);
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut left = bytes;
    while left > 0 {
        let part = usize::try_from(left).map_or(CHUNK_BYTES, |left| left.min(CHUNK_BYTES));
        contents.fill(&mut chunk[..part]);
        out.write_all(&chunk[..part])?;
        left -= part as u64;
    }
    out.flush()
}

fn digest(path: &Path) -> io::Result<(blake3::Hash, u64)> {
    let mut file = File::open(path)?;
    let mut hasher = blake3::Hasher::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let n_bytes = file.read(&mut chunk)?;
        if n_bytes == 0 {
            return Ok((hasher.finalize(), hasher.count()));
        }
        hasher.update(&chunk[..n_bytes]);
    }
}

/// Uses what is left of the CPU time, on all threads at once.
fn use_cpu(burn: &Burn) -> Result<(), BurnFailure> {
    let until = burn.cpu.0;
    let others: Vec<_> = (1..burn.threads)
        .map(|number| {
            std::thread::Builder::new()
                .name(format!("burn-{number}"))
                .spawn(move || spin(until))
                .map_err(BurnFailure::Thread)
        })
        .collect::<Result<_, _>>()?;
    spin(until);
    for other in others {
        // A thread that only counts cannot fail; if it did, the others have used its share.
        let _ = other.join();
    }
    Ok(())
}

/// Computes until all threads together have used so many microseconds.
fn spin(until_micros: u64) {
    let mut mixed = 0x9e37_79b9_7f4a_7c15_u64;
    while cpu_micros() < until_micros {
        for _ in 0..ROUNDS {
            mixed ^= mixed << 13;
            mixed ^= mixed >> 7;
            mixed ^= mixed << 17;
        }
        std::hint::black_box(mixed);
    }
}

/// CPU time of this process so far, in microseconds.
fn cpu_micros() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0) / 1_000
}

/// Appends a line of JSON in a single write, so that commands side by side do not mix their lines.
fn record(
    burn: &Burn,
    path: &str,
    start: Wall,
    inputs: &[(&str, String)],
    sizes: &[(&str, u64)],
) -> Result<(), BurnFailure> {
    let mut line = json!({
        "name": burn.name,
        "attempt": shell::environment::text("XAVANTES_ATTEMPT"),
        "pid": std::process::id(),
        "start": start.0,
        "end": shell::clock::wall().0,
        "cpu": cpu_micros(),
        "inputs": object(inputs),
        "bytes": object(sizes),
    })
    .to_string();
    line.push('\n');
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .and_then(|mut file| file.write_all(line.as_bytes()))
        .map_err(|source| BurnFailure::Write {
            path: path.to_owned(),
            source,
        })
}

/// Values by the paths of their files.
fn object<T: Clone + Into<serde_json::Value>>(of: &[(&str, T)]) -> serde_json::Value {
    let named = of
        .iter()
        .map(|(path, value)| ((*path).to_owned(), value.clone().into()));
    serde_json::Value::Object(named.collect())
}
