//! Metrics of an activity manager.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use activity_core::Effect;
use machine::Histogram;
use model::Span;
use shell::metrics::{Figures, MICROSECONDS};
use shell::quic::BulkCounts;
use wire::admin::Load;
use wire::executor::{Ended, Exit, ToExecutor};

/// The counts of this program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts(Arc<Counted>);

#[derive(Debug, Default)]
struct Counted {
    started: AtomicU64,
    staged: AtomicU64,
    collected: AtomicU64,
    exited_well: AtomicU64,
    exited: AtomicU64,
    killed: AtomicU64,
    not_started: AtomicU64,
    cpu_microseconds: AtomicU64,
    fetches_failed: AtomicU64,
    evicted: AtomicU64,
    evicted_bytes: AtomicU64,
    times: Mutex<Times>,
}

#[derive(Debug)]
struct Times {
    commands: Histogram,
    fetches: Histogram,
}

impl Default for Times {
    fn default() -> Times {
        Times {
            commands: Histogram::of_times(),
            fetches: Histogram::of_times(),
        }
    }
}

/// The state at the moment of asking.
pub(crate) struct Seen<'a> {
    pub(crate) load: &'a Load,
    pub(crate) store_bytes: u64,
    pub(crate) n_blobs: usize,
    pub(crate) bulk: Option<BulkCounts>,
    /// Attempts that the executor has.
    pub(crate) n_held: u64,
    pub(crate) is_executor_silent: bool,
}

impl Counts {
    /// The core asks for these actions.
    pub(crate) fn effects(&self, effects: &[Effect]) {
        let counted = &self.0;
        for effect in effects {
            match effect {
                Effect::Execute(ToExecutor::Start(starts)) => {
                    add(&counted.started, starts.len() as u64);
                }
                Effect::Stage { .. } => add(&counted.staged, 1),
                Effect::Collect { .. } => add(&counted.collected, 1),
                Effect::Execute(_)
                | Effect::ToGroup(_)
                | Effect::ToProcess(..)
                | Effect::Clear { .. }
                | Effect::Tail { .. }
                | Effect::ReadLog(..)
                | Effect::Copy { .. }
                | Effect::Discard { .. }
                | Effect::Check { .. }
                | Effect::Probe { .. }
                | Effect::Access { .. }
                | Effect::Numbered(_)
                | Effect::Unneeded(_)
                | Effect::Unserved(_)
                | Effect::Left
                | Effect::ExecutorSilent(_)
                | Effect::EndExecutor => {}
            }
        }
    }

    /// The executor reports ends.
    pub(crate) fn ended(&self, ended: &[Ended]) {
        let counted = &self.0;
        let mut times = self.times();
        for one in ended {
            let ends = match &one.exit {
                Exit::Exited { code: 0 } => &counted.exited_well,
                Exit::Exited { .. } => &counted.exited,
                Exit::NotStarted { .. } => &counted.not_started,
                Exit::Signaled { .. }
                | Exit::TimedOut
                | Exit::OutOfMemory
                | Exit::Stopped
                | Exit::Abandoned
                | Exit::Expired
                | Exit::Stuck => &counted.killed,
            };
            add(ends, 1);
            times.commands.note(one.wall.0);
            let cpu = one.cpu_user.0.saturating_add(one.cpu_system.0);
            add(&counted.cpu_microseconds, cpu);
        }
    }

    /// A file was fetched from another machine, or could not be.
    pub(crate) fn fetched(&self, is_here: bool, time: Span) {
        self.times().fetches.note(time.0);
        add(&self.0.fetches_failed, u64::from(!is_here));
    }

    /// Files were evicted.
    pub(crate) fn evicted(&self, n_blobs: u64, bytes: u64) {
        add(&self.0.evicted, n_blobs);
        add(&self.0.evicted_bytes, bytes);
    }

    /// Adds all metrics.
    pub(crate) fn show(&self, figures: &mut Figures, seen: &Seen<'_>) {
        show_machine(figures, seen);
        let counted = &self.0;
        let about = "Commands that the executor was told to start.";
        figures.counter("commands_started_total", about, get(&counted.started));
        let about = "Commands that have ended, by how.";
        let mut ended = figures.counters("commands_ended_total", about);
        for (end, n) in [
            ("well", &counted.exited_well),
            ("status", &counted.exited),
            ("killed", &counted.killed),
            ("not-started", &counted.not_started),
        ] {
            ended.add(&[("end", end)], get(n) as f64);
        }
        let about = "CPU time of commands that have ended.";
        let seconds = get(&counted.cpu_microseconds) as f64 * MICROSECONDS;
        figures
            .counters("command_cpu_seconds_total", about)
            .add(&[], seconds);
        let about = "Directories that were laid out for attempts.";
        figures.counter("stagings_total", about, get(&counted.staged));
        let about = "Attempts whose outputs were collected.";
        figures.counter("collections_total", about, get(&counted.collected));
        let times = self.times();
        let about = "Time that commands ran.";
        figures.histogram("command_seconds", about, &times.commands, MICROSECONDS);
        let about = "Time to fetch a file from another machine.";
        figures.histogram("fetch_seconds", about, &times.fetches, MICROSECONDS);
        drop(times);
        let about = "Files that could not be fetched from other machines.";
        figures.counter("fetches_failed_total", about, get(&counted.fetches_failed));
        let about = "Files that were evicted from the store.";
        figures.counter("evicted_files_total", about, get(&counted.evicted));
        let about = "Bytes of the files that were evicted from the store.";
        figures.counter("evicted_bytes_total", about, get(&counted.evicted_bytes));
        if let Some(bulk) = &seen.bulk {
            show_transfers(figures, bulk);
        }
    }

    fn times(&self) -> MutexGuard<'_, Times> {
        // Nothing panics while it holds the lock.
        self.0.times.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn show_machine(figures: &mut Figures, seen: &Seen<'_>) {
    let load = seen.load;
    let about = "Cores that are busy, with whatever.";
    figures.gauge("busy_cores", about, load.busy);
    if let Some(others) = load.others {
        let about = "Cores that programs other than commands use, smoothed over some seconds.";
        figures.gauge("others_cores", about, others);
    }
    if let Some(expected) = load.others_expected {
        let about = "The same as it is expected over the next minute.";
        figures.gauge("others_expected_cores", about, expected);
    }
    let about = "Slots that may be lent.";
    let mut slots = figures.gauges("slots", about);
    slots.add(&[("state", "lendable")], load.slots.into());
    let is_open = load.closed.is_none() && load.not_ready.is_none();
    let about = "1 while slots are lent.";
    figures.gauge("is_lent", about, u8::from(is_open).into());
    let about = "Attempts that the executor has, running or next.";
    figures.gauge("attempts_held", about, seen.n_held as f64);
    let about = "1 while the executor answers.";
    let is_up = u8::from(!seen.is_executor_silent);
    figures.gauge("executor_up", about, is_up.into());
    let about = "Bytes of the files in the store.";
    figures.gauge("store_bytes", about, seen.store_bytes as f64);
    let about = "Files in the store.";
    figures.gauge("store_files", about, seen.n_blobs as f64);
}

fn show_transfers(figures: &mut Figures, counts: &BulkCounts) {
    let about = "Connections for files that others have to this machine.";
    figures.gauge("transfer_connections", about, counts.n_connections as f64);
    let about = "Files that were transferred: asked for here, or served to others.";
    let mut transfers = figures.counters("transfers_total", about);
    transfers.add(&[("direction", "asked")], counts.n_asked as f64);
    transfers.add(&[("direction", "served")], counts.n_served as f64);
    let about = "Bytes of the files that were transferred.";
    let mut bytes = figures.counters("transfer_bytes_total", about);
    bytes.add(&[("direction", "asked")], counts.asked_bytes as f64);
    bytes.add(&[("direction", "served")], counts.served_bytes as f64);
    let about = "Probes of links that were answered.";
    figures.counter("probes_total", about, counts.n_probed);
    let about = "Requests for files that were refused.";
    figures.counter("transfers_refused_total", about, counts.n_refused);
    let about = "Pieces of files that had to wait for the rate limit.";
    figures.counter("transfer_waits_total", about, counts.n_paced);
}

fn add(count: &AtomicU64, n: u64) {
    count.fetch_add(n, Ordering::Relaxed);
}

fn get(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}
