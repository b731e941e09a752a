//! Metrics of a daemon for Prometheus: text over HTTP, on the loopback interface alone.

use std::fmt::Write as _;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use machine::Histogram;

/// The beginning of each metric's name.
const PREFIX: &str = "xavantes_";

/// The factor from microseconds to seconds, in which metrics have times.
pub const MICROSECONDS: f64 = 1e-6;

/// Bytes of a request that are read; a usual one has some hundred.
const REQUEST_BYTES_MAX: usize = 8 << 10;

/// Pieces in which a request may arrive: single letters would occupy the thread for long.
const PIECES_MAX: usize = 16;

/// Time for a piece of the request, and for sending the answer. Other requests wait meanwhile.
const PATIENCE: Duration = Duration::from_secs(2);

/// Metrics at a moment, in the text format of Prometheus (version 0.0.4).
///
/// A crate would write OpenMetrics, where the name of a counter differs from that of its samples;
/// `promtool check metrics` and older scrapers do not take that.
#[derive(Debug, Default)]
pub struct Figures {
    text: String,
}

/// The samples of one metric, which differ by their labels.
#[derive(Debug)]
pub struct Family<'a> {
    name: String,
    text: &'a mut String,
}

/// Names and values of labels.
pub type Labels<'a> = &'a [(&'a str, &'a str)];

impl Figures {
    /// Adds a counter. `name` has small letters and `_`, with the unit before `_total` at its end.
    pub fn counter(&mut self, name: &str, about: &str, value: u64) {
        self.counters(name, about).add(&[], value as f64);
    }

    /// Adds a gauge.
    pub fn gauge(&mut self, name: &str, about: &str, value: f64) {
        self.gauges(name, about).add(&[], value);
    }

    /// Adds counters that differ by their labels.
    pub fn counters(&mut self, name: &str, about: &str) -> Family<'_> {
        self.family("counter", name, about)
    }

    /// Adds gauges that differ by their labels.
    pub fn gauges(&mut self, name: &str, about: &str) -> Family<'_> {
        self.family("gauge", name, about)
    }

    /// Adds a histogram whose values count in `unit`s of that in its name: 1e-6 for microseconds in
    /// seconds.
    pub fn histogram(&mut self, name: &str, about: &str, values: &Histogram, unit: f64) {
        let mut family = self.family("histogram", name, about);
        family.add_histogram(&[], values, unit);
    }

    /// Adds histograms that differ by their labels.
    pub fn histograms(&mut self, name: &str, about: &str) -> Family<'_> {
        self.family("histogram", name, about)
    }

    /// The text that is served.
    pub fn text(&self) -> &str {
        &self.text
    }

    fn family(&mut self, kind: &str, name: &str, about: &str) -> Family<'_> {
        let name = format!("{PREFIX}{name}");
        put(
            &mut self.text,
            format_args!("# HELP {name} {about}\n# TYPE {name} {kind}\n"),
        );
        let text = &mut self.text;
        Family { name, text }
    }

    /// Adds the resource use of this program.
    pub(crate) fn of_process(&mut self) {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let number = |key: &str| {
            let rest = status.lines().find_map(|line| line.strip_prefix(key))?;
            let rest = rest.trim();
            let digits = rest.strip_suffix("kB").unwrap_or(rest).trim();
            digits.parse::<u64>().ok()
        };
        let bytes = number("VmRSS:").unwrap_or_default() * 1024;
        let about = "Resident memory of this daemon.";
        self.gauge("memory_bytes", about, bytes as f64);
        let threads = number("Threads:").unwrap_or_default();
        self.gauge("threads", "Threads of this daemon.", threads as f64);
        let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let seconds = cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9;
        let about = "CPU time of this daemon since its start.";
        self.counters("cpu_seconds_total", about).add(&[], seconds);
    }
}

impl Family<'_> {
    /// Adds a sample. Each has other labels.
    pub fn add(&mut self, labels: Labels<'_>, value: f64) {
        self.sample("", labels, None, value);
    }

    /// Adds a histogram. `unit` is as in [`Figures::histogram`].
    pub fn add_histogram(&mut self, labels: Labels<'_>, values: &Histogram, unit: f64) {
        for (bound, n) in values.cumulative() {
            // A bound is printed as it was written: 250 microseconds are 0.00025 seconds.
            let bound = (bound as f64 * unit * 1e9).round() / 1e9;
            self.sample("_bucket", labels, Some(&bound.to_string()), n as f64);
        }
        let count = values.count() as f64;
        self.sample("_bucket", labels, Some("+Inf"), count);
        self.sample("_sum", labels, None, values.sum() as f64 * unit);
        self.sample("_count", labels, None, count);
    }

    fn sample(&mut self, suffix: &str, labels: Labels<'_>, bound: Option<&str>, value: f64) {
        put(self.text, format_args!("{}{suffix}", self.name));
        let labels = labels
            .iter()
            .copied()
            .chain(bound.map(|bound| ("le", bound)));
        let mut before = '{';
        for (name, value) in labels {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"");
            let value = value.replace('\n', "\\n");
            put(self.text, format_args!("{before}{name}=\"{value}\""));
            before = ',';
        }
        let after = if before == ',' { "}" } else { "" };
        put(self.text, format_args!("{after} {value}\n"));
    }
}

fn put(text: &mut String, part: std::fmt::Arguments<'_>) {
    text.write_fmt(part).expect("a String takes every text");
}

/// Serves the newest metrics on this machine.
pub(crate) struct Board {
    newest: Arc<Mutex<String>>,
    has_ended: Arc<AtomicBool>,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

impl Board {
    pub(crate) fn open(address: SocketAddr) -> io::Result<Board> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let newest: Arc<Mutex<String>> = Arc::default();
        let has_ended: Arc<AtomicBool> = Arc::default();
        let (theirs, ended) = (Arc::clone(&newest), Arc::clone(&has_ended));
        let thread = std::thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(move || serve(&listener, &theirs, &ended))?;
        Ok(Board {
            newest,
            has_ended,
            address,
            thread: Some(thread),
        })
    }

    pub(crate) fn show(&self, figures: Figures) {
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = figures.text;
    }

    #[cfg(test)]
    fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        self.has_ended.store(true, Ordering::Release);
        // A new connection ends the wait.
        let _ = TcpStream::connect_timeout(&self.address, PATIENCE);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(listener: &TcpListener, newest: &Mutex<String>, has_ended: &AtomicBool) {
    for stream in listener.incoming() {
        if has_ended.load(Ordering::Acquire) {
            return;
        }
        // A client that disconnects or is silent gets no answer.
        if let Ok(stream) = stream {
            let text = newest
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone();
            let _ = answer(stream, &text);
        }
    }
}

fn answer(mut stream: TcpStream, text: &str) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut request = Vec::new();
    let mut piece = [0; 1024];
    let mut n_pieces = 0;
    while !request.windows(4).any(|four| four == b"\r\n\r\n") {
        n_pieces += 1;
        match stream.read(&mut piece)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            n => request.extend_from_slice(&piece[..n]),
        }
        if request.len() > REQUEST_BYTES_MAX || n_pieces > PIECES_MAX {
            return write(&mut stream, "431 Request Header Fields Too Large", "");
        }
    }
    if request.starts_with(b"GET /metrics ") {
        write(&mut stream, "200 OK", text)
    } else {
        write(&mut stream, "404 Not Found", "figures are at /metrics\n")
    }
}

fn write(stream: &mut TcpStream, status: &str, body: &str) -> io::Result<()> {
    let head = format!(
        "HTTP/1.0 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    stream.write_all((head + body).as_bytes())
}

#[cfg(test)]
mod tests;
