//! Metrics of a daemon for Prometheus: text over HTTP, on the loopback interface alone.

use std::fmt::Write as _;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Bytes of a request that are read; a usual one has some hundred.
const REQUEST_BYTES_MAX: usize = 8 << 10;

/// Pieces in which a request may arrive: single letters would occupy the thread for long.
const PIECES_MAX: usize = 16;

/// Time for a piece of the request, and for sending the answer. Other requests wait meanwhile.
const PATIENCE: Duration = Duration::from_secs(2);

/// Metrics at a moment.
#[derive(Debug, Default)]
pub struct Figures {
    text: String,
}

impl Figures {
    /// Adds a counter. `name` has small letters and `_`, with the unit at its end.
    pub fn counter(&mut self, name: &str, about: &str, value: u64) {
        self.add("counter", name, about, &value.to_string());
    }

    /// Adds a gauge.
    pub fn gauge(&mut self, name: &str, about: &str, value: f64) {
        self.add("gauge", name, about, &value.to_string());
    }

    fn add(&mut self, kind: &str, name: &str, about: &str, value: &str) {
        write!(
            self.text,
            "# HELP xavantes_{name} {about}\n# TYPE xavantes_{name} {kind}\nxavantes_{name} {value}\n"
        )
        .expect("a String takes every text");
    }

    /// Adds the resource use of this program.
    pub(crate) fn of_process(&mut self) {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let resident = status.lines().find_map(|line| {
            let rest = line.strip_prefix("VmRSS:")?.trim().strip_suffix("kB")?;
            rest.trim().parse::<u64>().ok()
        });
        let bytes = resident.unwrap_or_default() * 1024;
        self.gauge(
            "memory_bytes",
            "Resident memory of this daemon.",
            bytes as f64,
        );
        let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let seconds = cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9;
        self.gauge("cpu_seconds", "CPU time of this daemon.", seconds);
    }
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
mod tests {
    use super::*;

    fn ask(board: &Board, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(board.address()).unwrap();
        stream.write_all(request).unwrap();
        let mut text = String::new();
        // A request that is too long may be answered before it is read.
        let _ = stream.read_to_string(&mut text);
        text
    }

    #[test]
    fn the_newest_figures_are_told_and_nothing_else() {
        let board = Board::open(([127, 0, 0, 1], 0).into()).unwrap();
        let mut figures = Figures::default();
        figures.counter("links_total", "Links.", 3);
        figures.gauge("load_cores", "Busy cores.", 0.5);
        figures.of_process();
        board.show(figures);
        let text = ask(&board, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(text.starts_with("HTTP/1.0 200 OK\r\n"), "{text}");
        let expected = "# HELP xavantes_links_total Links.\n# TYPE xavantes_links_total counter\n\
                        xavantes_links_total 3\n# HELP xavantes_load_cores Busy cores.\n";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("\nxavantes_memory_bytes "), "{text}");
        assert!(ask(&board, b"GET / HTTP/1.0\r\n\r\n").starts_with("HTTP/1.0 404"));
        assert!(ask(&board, b"POST /metrics HTTP/1.0\r\n\r\n").starts_with("HTTP/1.0 404"));
        let long = vec![b'x'; REQUEST_BYTES_MAX + 1];
        assert!(!ask(&board, &long).contains("200 OK"));
        // A silent client does not block the thread for ever.
        let silent = TcpStream::connect(board.address()).unwrap();
        assert!(ask(&board, b"GET /metrics HTTP/1.0\r\n\r\n").contains("200 OK"));
        drop(silent);
    }
}
