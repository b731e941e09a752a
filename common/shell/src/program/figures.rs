//! Metrics that every daemon has.

use std::fs;
use std::path::Path;

use model::Role;

use super::Service;
use crate::metrics::{Figures, MICROSECONDS};
use crate::quic::LinkCounts;
use crate::runner::Stats;

const BYTES: f64 = 1.0;

/// All metrics of a daemon with this state directory.
pub(super) fn all<S: Service>(service: &S, directory: &Path) -> Figures {
    let mut figures = Figures::default();
    figures
        .gauges("build_info", "1, with the version of this daemon.")
        .add(&[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    figures.of_process();
    of_links(&mut figures, &service.links().counts());
    of_loop(&mut figures, &service.stats());
    of_disk(&mut figures, directory);
    service.figures(&mut figures);
    figures
}

fn of_links(figures: &mut Figures, counts: &LinkCounts) {
    let mut links = figures.gauges("links", "Links that stand, by the role of the peer.");
    for role in [Role::Gm, Role::Pm, Role::Am, Role::User, Role::Admin] {
        let n_links = counts.by_role.get(&role).copied().unwrap_or_default();
        links.add(&[("role", role.word())], n_links as f64);
    }
    let about = "Links that came about.";
    figures.counter("links_up_total", about, counts.n_up);
    let about = "Connections that did not become links.";
    figures.counter("links_failed_total", about, counts.n_failed);
    let about = "Connections that have not greeted yet.";
    figures.gauge("greetings", about, counts.n_greetings as f64);
    let about = "Connections that ended for others before they greeted.";
    figures.counter("crowded_out_total", about, counts.n_crowded_out);
    let about = "Packets that belong to no connection.";
    figures.counter("foreign_packets_total", about, counts.n_foreign_packets);
    let about = "When the certificate of this daemon ends, in Unix time.";
    let seconds = counts.certificate_until.0 as f64 * MICROSECONDS;
    figures.gauge("certificate_end_timestamp_seconds", about, seconds);
}

fn of_loop(figures: &mut Figures, stats: &Stats) {
    let about = "Messages and other inputs that the manager has taken.";
    figures.counter("inputs_total", about, stats.n_inputs);
    let about = "Messages and other inputs that wait to be taken.";
    figures.gauge("inputs_waiting", about, stats.n_waiting as f64);
    let about = "Messages and other actions that the manager has caused.";
    figures.counter("effects_total", about, stats.n_effects);
    let about = "Inputs that the manager took in one step.";
    figures.histogram("step_inputs", about, &stats.step_inputs, 1.0);
    let about = "Time of a step of the manager, without its flush.";
    figures.histogram("step_seconds", about, &stats.step_times, MICROSECONDS);
    let about = "Time of a flush of the manager's journal.";
    figures.histogram("flush_seconds", about, &stats.flush_times, MICROSECONDS);
    let about = "Bytes that a flush of the manager's journal has made durable.";
    figures.histogram("flush_bytes", about, &stats.flush_bytes, BYTES);
}

fn of_disk(figures: &mut Figures, directory: &Path) {
    // A disk that cannot be asked has no figures, and an alert on their absence.
    if let Ok(found) = rustix::fs::statvfs(directory) {
        let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize) as f64;
        let about = "Bytes of the disk of the state directory that are free for this daemon.";
        figures.gauge("disk_free_bytes", about, bytes(found.f_bavail));
        let about = "Bytes of the disk of the state directory.";
        figures.gauge("disk_bytes", about, bytes(found.f_blocks));
    }
    let about = "Bytes of the journal, with its reserve.";
    let bytes = bytes_in(&directory.join("journal"));
    figures.gauge("journal_bytes", about, bytes as f64);
}

/// Bytes of the files of a directory, which has no directories.
fn bytes_in(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| entry.metadata().ok());
    files.map(|file| file.len()).sum()
}
