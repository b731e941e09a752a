//! The time to make a small event durable: with an appended file, and with the journal.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use journal::{Batch, Journal, Options, StreamKey};

use crate::figures::median;

const EVENT_BYTES: usize = 160;
/// Flushes whose median is taken.
const FLUSHES: usize = 200;

/// Median microseconds of one flush.
pub(crate) struct Flushes {
    pub(crate) append_micros: f64,
    pub(crate) commit_micros: f64,
}

pub(crate) fn measure(dir: &Path) -> Result<Flushes> {
    let mut file =
        File::create(dir.join("append")).context("could not make a file to append to")?;
    let append_micros = median_micros(|_| {
        file.write_all(&[7; EVENT_BYTES])?;
        Ok(file.sync_data()?)
    })?;
    let options = Options::new(env!("CARGO_PKG_VERSION"));
    let (mut journal, _, _) =
        Journal::open(&dir.join("journal"), &options).context("could not make a journal")?;
    let commit_micros = median_micros(|number| {
        let events = vec![(StreamKey(b"compare".to_vec()), vec![7; EVENT_BYTES])];
        Ok(journal.commit(&[Batch {
            number,
            events,
            ..Batch::default()
        }])?)
    })?;
    Ok(Flushes {
        append_micros,
        commit_micros,
    })
}

fn median_micros(mut flush: impl FnMut(u64) -> Result<()>) -> Result<f64> {
    let mut micros = Vec::with_capacity(FLUSHES);
    for number in 1..=FLUSHES as u64 {
        let started = Instant::now();
        flush(number).context("could not make an event durable")?;
        micros.push(started.elapsed().as_secs_f64() * 1e6);
    }
    Ok(median(&mut micros))
}
