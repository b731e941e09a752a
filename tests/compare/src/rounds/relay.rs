//! A relay of datagrams before a machine's files, whose rate can be lowered while it runs: a link that gets slow.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// The largest datagram.
const DATAGRAM_BYTES_MAX: usize = 65_536;
/// Between two looks at whether the relay is to end.
const LOOK: Duration = Duration::from_millis(50);
/// A sender that is early by less goes on: to sleep for less takes longer.
const EARLY: Duration = Duration::from_millis(2);

/// A relay. Dropping it ends its threads.
pub(super) struct Relay {
    /// What others dial in place of the machine.
    pub(super) address: SocketAddr,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

struct State {
    target: SocketAddr,
    socket: UdpSocket,
    bytes_a_second: AtomicU64,
    is_over: AtomicBool,
    /// The time at which the link is free in each direction: to the machine, and from it.
    free_at: [Mutex<Instant>; 2],
}

impl Relay {
    /// A relay before an address of this machine, at a rate.
    pub(super) fn before(target: SocketAddr, bytes_a_second: u64) -> Result<Relay> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).context("no port is free")?;
        socket.set_read_timeout(Some(LOOK))?;
        let address = socket.local_addr()?;
        let now = Instant::now();
        let state = Arc::new(State {
            target,
            socket,
            bytes_a_second: AtomicU64::new(bytes_a_second),
            is_over: AtomicBool::new(false),
            free_at: [Mutex::new(now), Mutex::new(now)],
        });
        let theirs = Arc::clone(&state);
        let thread = thread::spawn(move || theirs.forward());
        Ok(Relay {
            address,
            state,
            thread: Some(thread),
        })
    }

    /// From now on it has this rate.
    pub(super) fn set_rate(&self, bytes_a_second: u64) {
        self.state
            .bytes_a_second
            .store(bytes_a_second, Ordering::Relaxed);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl State {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Waits until a datagram of so many bytes is through: what comes faster than that fills the sockets' buffers, and
    /// is lost where these are full, as on any link.
    fn pace(&self, direction: usize, bytes: usize) {
        let rate = self.bytes_a_second.load(Ordering::Relaxed).max(1);
        let takes = Duration::from_secs_f64(bytes as f64 / rate as f64);
        let mut free_at = self.free_at[direction]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let through = (*free_at).max(now) + takes;
        *free_at = through;
        drop(free_at);
        let early = through.saturating_duration_since(now);
        if early > EARLY {
            thread::sleep(early);
        }
    }

    /// Passes on what others send to the machine. Each of them gets a socket of its own, by which answers are known.
    fn forward(self: Arc<State>) {
        let mut sockets: BTreeMap<SocketAddr, Arc<UdpSocket>> = BTreeMap::new();
        let mut answers = Vec::new();
        let mut buffer = vec![0; DATAGRAM_BYTES_MAX];
        while !self.is_over() {
            let Ok((n, from)) = self.socket.recv_from(&mut buffer) else {
                continue;
            };
            let own = match sockets.entry(from) {
                Entry::Occupied(known) => Arc::clone(known.get()),
                Entry::Vacant(place) => {
                    let Ok(own) = self.socket_to_target() else {
                        continue;
                    };
                    let own = Arc::clone(place.insert(Arc::new(own)));
                    let (state, theirs) = (Arc::clone(&self), Arc::clone(&own));
                    answers.push(thread::spawn(move || state.answer(&theirs, from)));
                    own
                }
            };
            self.pace(0, n);
            let _ = own.send(&buffer[..n]);
        }
        for answer in answers {
            let _ = answer.join();
        }
    }

    fn socket_to_target(&self) -> io::Result<UdpSocket> {
        let own = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        own.connect(self.target)?;
        own.set_read_timeout(Some(LOOK))?;
        Ok(own)
    }

    /// Passes on what the machine answers.
    fn answer(&self, own: &UdpSocket, to: SocketAddr) {
        let mut buffer = vec![0; DATAGRAM_BYTES_MAX];
        while !self.is_over() {
            if let Ok(n) = own.recv(&mut buffer) {
                self.pace(1, n);
                let _ = self.socket.send_to(&buffer[..n], to);
            }
        }
    }
}

#[test]
fn datagrams_come_back_by_the_same_way() {
    let machine = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let relay = Relay::before(machine.local_addr().unwrap(), 1 << 30).unwrap();
    relay.set_rate(1 << 20);
    let user = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    user.set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    machine
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    user.send_to(b"ask", relay.address).unwrap();
    let mut buffer = [0; 16];
    let (n, from) = machine.recv_from(&mut buffer).unwrap();
    assert_eq!(&buffer[..n], b"ask");
    machine.send_to(b"answer", from).unwrap();
    let (n, from) = user.recv_from(&mut buffer).unwrap();
    assert_eq!((&buffer[..n], from), (&b"answer"[..], relay.address));
}
