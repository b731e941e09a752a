//! Benchmark of durable flushes: the journal beside a plain log with fdatasync, interleaved.
//!
//! `cargo run --release -p journal --example flush [DIRECTORY]`

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use journal::{Batch, Journal, Options, StreamKey};

const EVENT_BYTES: usize = 160;

/// CPU time of this process so far, from /proc/self/schedstat of its only busy thread.
fn cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text
        .split(' ')
        .next()
        .and_then(|field| field.parse().ok())
        .unwrap_or(0);
    Duration::from_nanos(nanos)
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6
}

fn batch(number: u64, n_events: usize, n_streams: usize) -> Batch {
    let event = |i: usize| {
        let stream = StreamKey(format!("process-{:08}", i % n_streams).into_bytes());
        (stream, vec![number as u8 ^ i as u8; EVENT_BYTES])
    };
    Batch {
        number,
        events: (0..n_events).map(event).collect(),
        ..Batch::default()
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let parent = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let dir = Path::new(&parent).join(format!("flush-example-{}", std::process::id()));
    std::fs::create_dir_all(&dir)?;
    let measured = measure(&dir);
    std::fs::remove_dir_all(&dir)?;
    measured
}

#[expect(clippy::disallowed_methods, reason = "it measures real time")]
fn measure(dir: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let (mut journal, ..) = Journal::open(&dir.join("journal"), &Options::new("0.0.0"))?;
    let mut log = File::create(dir.join("log"))?;
    let mut out = std::io::stdout();
    writeln!(
        out,
        "{:>7} {:>8} {:>11} {:>8} {:>14} {:>10} {:>13}",
        "events", "streams", "journal us", "log us", "cpu/commit us", "log cpu us", "cpu/event us"
    )?;
    let mut number = 0;
    for (n_events, n_streams) in [
        (1, 1),
        (10, 1),
        (10, 10),
        (100, 1),
        (100, 20),
        (1000, 1),
        (1000, 200),
    ] {
        let (mut ours, mut plain) = (Vec::new(), Vec::new());
        let (mut ours_cpu, mut plain_cpu) = (Duration::ZERO, Duration::ZERO);
        let n_rounds = if n_events > 500 { 60 } else { 250 };
        for _ in 0..n_rounds {
            number += 1;
            let batch = batch(number, n_events, n_streams);
            let (wall, before) = (Instant::now(), cpu());
            journal.commit(std::slice::from_ref(&batch))?;
            ours.push(wall.elapsed());
            ours_cpu += cpu().saturating_sub(before);

            let (wall, before) = (Instant::now(), cpu());
            let bytes: Vec<u8> = batch
                .events
                .iter()
                .flat_map(|(_, event)| event.clone())
                .collect();
            log.write_all(&bytes)?;
            log.sync_data()?;
            plain.push(wall.elapsed());
            plain_cpu += cpu().saturating_sub(before);
        }
        let ours_cpu = ours_cpu.as_secs_f64() * 1e6 / f64::from(n_rounds);
        let plain_cpu = plain_cpu.as_secs_f64() * 1e6 / f64::from(n_rounds);
        writeln!(
            out,
            "{n_events:>7} {n_streams:>8} {:>11.0} {:>8.0} {ours_cpu:>14.1} {plain_cpu:>10.1} {:>13.2}",
            median(ours),
            median(plain),
            (ours_cpu - plain_cpu) / n_events as f64,
        )?;
    }
    Ok(())
}
