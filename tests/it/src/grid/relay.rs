//! A network that is not good: datagrams between two programs go through here, where some are lost
//! by the numbers of a seed, or each is late.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use crate::kills::drawn;

/// The largest datagram of UDP.
const DATAGRAM_BYTES_MAX: usize = 65_535;
/// Programs that one relay stands before: those of a small grid.
const CALLERS_MAX: usize = 64;
/// Datagrams on their way; those beyond are lost, as in a router.
const UNDER_WAY_MAX: usize = 8_192;

/// Loss and delay of datagrams, in both directions.
#[derive(Clone, Copy, Debug)]
pub(super) enum Weather {
    /// So many of a hundred are lost, by the numbers of a seed.
    Loss { percent: u64, seed: u64 },
    /// Each comes so much later.
    Delay(Duration),
}

/// A relay before one program. Dropping it ends it.
pub(super) struct Relay {
    /// The address of the program behind the relay.
    pub(super) address: SocketAddr,
    counts: Arc<Counts>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Counts {
    passed: AtomicU64,
    lost: AtomicU64,
    is_cut: AtomicBool,
    is_ending: AtomicBool,
}

/// A datagram on its way.
struct Late {
    due: Instant,
    bytes: Vec<u8>,
    /// The caller whose datagram it is.
    caller: usize,
    goes_back: bool,
}

/// The thread's own.
struct Way {
    front: UdpSocket,
    target: SocketAddr,
    weather: Weather,
    /// Each caller, with the socket that stands for it towards the target.
    callers: Vec<(SocketAddr, UdpSocket)>,
    late: VecDeque<Late>,
    n_seen: u64,
    counts: Arc<Counts>,
}

impl Relay {
    /// Stands before the program at an address.
    pub(super) fn before(target: SocketAddr, weather: Weather) -> Relay {
        let front = UdpSocket::bind("127.0.0.1:0").unwrap();
        front.set_nonblocking(true).unwrap();
        let address = front.local_addr().unwrap();
        let counts: Arc<Counts> = Arc::default();
        let mut way = Way {
            front,
            target,
            weather,
            callers: Vec::new(),
            late: VecDeque::new(),
            n_seen: 0,
            counts: Arc::clone(&counts),
        };
        let thread = std::thread::spawn(move || way.run());
        Relay {
            address,
            counts,
            thread: Some(thread),
        }
    }

    /// Datagrams that arrived.
    pub(super) fn n_passed(&self) -> u64 {
        self.counts.passed.load(Ordering::Relaxed)
    }

    /// Lets nothing through from here on, or everything again.
    pub(super) fn cut(&self, is_cut: bool) {
        self.counts.is_cut.store(is_cut, Ordering::Relaxed);
    }

    /// Datagrams that were lost.
    pub(super) fn n_lost(&self) -> u64 {
        self.counts.lost.load(Ordering::Relaxed)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.counts.is_ending.store(true, Ordering::Relaxed);
        // So that it looks.
        let woken = UdpSocket::bind("127.0.0.1:0").and_then(|one| one.send_to(&[], self.address));
        if woken.is_ok()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}

impl Way {
    fn run(&mut self) {
        let mut room = vec![0; DATAGRAM_BYTES_MAX];
        while !self.counts.is_ending.load(Ordering::Relaxed) {
            self.wait();
            self.take(&mut room);
            self.pass_on();
        }
    }

    /// Until a datagram has come, or one is due.
    fn wait(&self) {
        let sockets = self.callers.iter().map(|(_, socket)| socket);
        let sockets = std::iter::once(&self.front).chain(sockets);
        let mut fds: Vec<PollFd<'_>> = sockets
            .map(|socket| PollFd::new(socket, PollFlags::IN))
            .collect();
        let wait = self.late.front().map(|first| {
            let wait = first.due.saturating_duration_since(Instant::now());
            Timespec::try_from(wait).unwrap()
        });
        let _ = poll(&mut fds, wait.as_ref());
    }

    fn take(&mut self, room: &mut [u8]) {
        while let Ok((n_bytes, from)) = self.front.recv_from(room) {
            let known = self.callers.iter().position(|(caller, _)| *caller == from);
            let caller = match known {
                Some(caller) => caller,
                None if self.callers.len() < CALLERS_MAX => {
                    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
                    socket.connect(self.target).unwrap();
                    socket.set_nonblocking(true).unwrap();
                    self.callers.push((from, socket));
                    self.callers.len() - 1
                }
                None => continue,
            };
            self.judge(room[..n_bytes].to_vec(), caller, false);
        }
        for caller in 0..self.callers.len() {
            loop {
                match self.callers[caller].1.recv(room) {
                    Ok(n_bytes) => self.judge(room[..n_bytes].to_vec(), caller, true),
                    // The system tells of a program that did not listen yet.
                    Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
                    Err(_) => break,
                }
            }
        }
    }

    fn judge(&mut self, bytes: Vec<u8>, caller: usize, goes_back: bool) {
        self.n_seen += 1;
        let delay = match self.weather {
            Weather::Loss { percent, seed } => {
                (drawn(seed.wrapping_mul(1 << 32) ^ self.n_seen) % 100 >= percent)
                    .then_some(Duration::ZERO)
            }
            Weather::Delay(delay) => Some(delay),
        };
        match delay.filter(|_| !self.counts.is_cut.load(Ordering::Relaxed)) {
            Some(delay) if self.late.len() < UNDER_WAY_MAX => {
                let due = Instant::now() + delay;
                self.late.push_back(Late {
                    due,
                    bytes,
                    caller,
                    goes_back,
                });
            }
            Some(_) | None => {
                self.counts.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn pass_on(&mut self) {
        let now = Instant::now();
        while self.late.front().is_some_and(|first| first.due <= now) {
            let Some(one) = self.late.pop_front() else {
                return;
            };
            let (caller, socket) = &self.callers[one.caller];
            // A datagram that cannot be sent is lost, as any may be.
            let _ = if one.goes_back {
                self.front.send_to(&one.bytes, caller)
            } else {
                socket.send(&one.bytes)
            };
            self.counts.passed.fetch_add(1, Ordering::Relaxed);
        }
    }
}
