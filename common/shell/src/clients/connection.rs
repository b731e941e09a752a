//! The connection of one client: the answers that wait to be written to it.

use std::collections::VecDeque;
use std::io::Write;
use std::net::{IpAddr, Shutdown};
use std::os::unix::net::UnixStream;
use std::sync::{Condvar, Mutex, PoisonError};

use model::Identity;
use wire::Envelope;
use wire::client::Answer;
use wire::frame;

use super::lock;
use crate::limits::{CLIENT_REQUESTS_MAX, CLIENT_WAITING_BYTES_MAX};

/// Where a client is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// In this program.
    Inside,
    /// At the socket: a program of the manager's own user.
    Socket,
    /// On another machine.
    Remote(Identity),
}

/// One connection of a client.
pub(super) struct Connection {
    pub(super) stream: UnixStream,
    pub(super) origin: Origin,
    /// The address of a client on another machine.
    address: Option<IpAddr>,
    state: Mutex<Traffic>,
    changed: Condvar,
}

#[derive(Default)]
struct Traffic {
    frames: VecDeque<Vec<u8>>,
    bytes: usize,
    /// Number of requests that are not answered yet.
    n_open: usize,
    is_closed: bool,
}

/// Writes the answers until the connection ends.
pub(super) fn write_all(connection: &Connection) {
    let mut stream = &connection.stream;
    while let Some(frame) = connection.next() {
        if stream.write_all(&frame).is_err() {
            connection.cut_off();
            return;
        }
        connection.written(frame.len());
    }
    let _ = stream.shutdown(Shutdown::Both);
}

impl Connection {
    pub(super) fn new(
        stream: UnixStream,
        (origin, address): (Origin, Option<IpAddr>),
    ) -> Connection {
        Connection {
            stream,
            origin,
            address,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// The identity of a client on another machine.
    pub(super) fn who(&self) -> Option<&Identity> {
        match &self.origin {
            Origin::Remote(who) => Some(who),
            Origin::Inside | Origin::Socket => None,
        }
    }

    /// The place of the client, for the log.
    pub(super) fn place(&self) -> String {
        match (&self.origin, self.address) {
            (Origin::Inside, _) => "inside".to_owned(),
            (Origin::Socket, _) => "socket".to_owned(),
            (Origin::Remote(_), Some(address)) => address.to_string(),
            (Origin::Remote(_), None) => "elsewhere".to_owned(),
        }
    }

    pub(super) fn queue(&self, envelope: &Envelope<Answer>) {
        let mut bytes = Vec::new();
        frame::append(&mut bytes, |out| {
            minicbor::encode(envelope, out).expect("a vector takes every byte");
        });
        let mut state = lock(&self.state);
        if state.bytes > 0 && state.bytes + bytes.len() > CLIENT_WAITING_BYTES_MAX {
            drop(state);
            tracing::warn!("a client that does not read was cut off");
            return self.cut_off();
        }
        state.bytes += bytes.len();
        state.n_open = state.n_open.saturating_sub(1);
        state.frames.push_back(bytes);
        drop(state);
        self.changed.notify_all();
    }

    /// The next frame to write. None once the connection is closed and everything is written.
    fn next(&self) -> Option<Vec<u8>> {
        let mut state = lock(&self.state);
        loop {
            if let Some(frame) = state.frames.pop_front() {
                return Some(frame);
            }
            if state.is_closed {
                return None;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn written(&self, bytes: usize) {
        let mut state = lock(&self.state);
        state.bytes = state.bytes.saturating_sub(bytes);
    }

    /// Waits until enough earlier requests are answered. Returns false once the connection is
    /// closed.
    pub(super) fn wait_for_turn(&self) -> bool {
        let mut state = lock(&self.state);
        while state.n_open >= CLIENT_REQUESTS_MAX && !state.is_closed {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.n_open += 1;
        !state.is_closed
    }

    /// Closes the connection once the waiting frames are written.
    pub(super) fn finish(&self) {
        lock(&self.state).is_closed = true;
        self.changed.notify_all();
        let _ = self.stream.shutdown(Shutdown::Read);
    }

    /// Closes the connection at once.
    pub(super) fn cut_off(&self) {
        let mut state = lock(&self.state);
        state.is_closed = true;
        state.frames.clear();
        drop(state);
        self.changed.notify_all();
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}
