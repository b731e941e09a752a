//! The plain loop: starts a command, waits for it, starts the next. std uses posix_spawn for it.

use std::process::Command;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, ensure};

use crate::definitions::{COMMAND, Shape};

/// Parents that start commands side by side.
const PARENTS: usize = 2;

/// Seconds that all commands of the shape take; a chain has one parent.
pub(crate) fn seconds(shape: Shape) -> Result<f64> {
    let layers = shape.layers();
    let parents = if layers.iter().all(|&width| width == 1) {
        1
    } else {
        PARENTS
    };
    let left: Vec<AtomicUsize> = layers
        .iter()
        .map(|&width| AtomicUsize::new(width))
        .collect();
    let barrier = Barrier::new(parents);
    let started = Instant::now();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..parents)
            .map(|_| {
                scope.spawn(|| {
                    // A parent that fails still comes to every barrier, or the other would wait for ever.
                    let mut outcome = Ok(());
                    for left in &left {
                        while outcome.is_ok() && take(left) {
                            outcome = start_one();
                        }
                        barrier.wait();
                    }
                    outcome
                })
            })
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| anyhow!("a parent panicked"))?)
    })?;
    Ok(started.elapsed().as_secs_f64())
}

fn take(left: &AtomicUsize) -> bool {
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
        left.checked_sub(1)
    })
    .is_ok()
}

fn start_one() -> Result<()> {
    let status = Command::new(COMMAND)
        .status()
        .with_context(|| format!("could not start {COMMAND}"))?;
    ensure!(status.success(), "{COMMAND} ended with {status}");
    Ok(())
}

#[test]
fn every_command_of_every_layer_runs() {
    assert!(seconds(Shape::One).unwrap() > 0.0);
    let left = AtomicUsize::new(2);
    assert_eq!([take(&left), take(&left), take(&left)], [true, true, false]);
}
