//! The places of clients, and the clients of the socket that wait for one.

use std::collections::{BTreeMap, VecDeque};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SendFlags, send};
use wire::Envelope;
use wire::client::Answer;
use wire::frame;

use super::connection::{Connection, Origin};
use crate::limits::{
    CLIENTS_MAX, CLIENTS_WAITING_MAX, REMOTE_CLIENTS_MAX, REMOTE_CONNECTIONS_EACH_MAX,
};

/// The number of an envelope that answers no request.
const NO_REQUEST: u64 = 0;

/// The clients that are served, and those that wait, the first one first.
#[derive(Default)]
pub(super) struct Places {
    connections: BTreeMap<u64, Arc<Connection>>,
    waiting: VecDeque<Waiting>,
    is_closed: bool,
}

/// A client that waits for a place.
struct Waiting {
    stream: UnixStream,
    /// True if it was told so.
    is_told: bool,
}

impl Places {
    /// Serves nobody from here on.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
        self.waiting.clear();
        for connection in self.connections.values() {
            connection.finish();
        }
    }

    /// Takes a place for a client.
    pub(super) fn enter(
        &mut self,
        client: u64,
        connection: &Arc<Connection>,
    ) -> Result<(), String> {
        if self.is_closed {
            return Err("the manager is stopping".to_owned());
        }
        self.has_room(&connection.origin)?;
        self.connections.insert(client, Arc::clone(connection));
        Ok(())
    }

    pub(super) fn leave(&mut self, client: u64) {
        self.connections.remove(&client);
    }

    pub(super) fn get(&self, client: u64) -> Option<Arc<Connection>> {
        self.connections.get(&client).cloned()
    }

    /// Lets a client of the socket wait, and tells it so if it is not its turn already.
    pub(super) fn wait(&mut self, stream: UnixStream) -> Result<(), String> {
        if self.waiting.len() >= CLIENTS_WAITING_MAX {
            self.waiting.retain(|waiting| is_there(&waiting.stream));
        }
        let n_before = self.waiting.len();
        if n_before >= CLIENTS_WAITING_MAX {
            return Err(format!("{n_before} clients wait for a place"));
        }
        let is_told = n_before > 0 || self.has_room(&Origin::Socket).is_err();
        if is_told {
            // Itself included, so that it is never none.
            tell(&stream, n_before + 1);
        }
        self.waiting.push_back(Waiting { stream, is_told });
        Ok(())
    }

    /// The client of the socket whose turn it is, if there is a place for it.
    pub(super) fn next(&mut self) -> Option<UnixStream> {
        self.has_room(&Origin::Socket).ok()?;
        let Waiting { stream, is_told } = self.waiting.pop_front()?;
        if is_told {
            tell(&stream, 0);
        }
        Some(stream)
    }

    /// Checks the bounds for one more connection. Clients on other machines and those inside the
    /// program do not use up the places of the socket, and one user on other machines cannot use up
    /// all of theirs.
    fn has_room(&self, origin: &Origin) -> Result<(), String> {
        let count = |is_meant: &dyn Fn(&Origin) -> bool| {
            let all = self.connections.values();
            all.filter(|one| is_meant(&one.origin)).count()
        };
        let (n, n_max) = match origin {
            Origin::Inside | Origin::Socket => (count(&|one| one == origin), CLIENTS_MAX),
            Origin::Remote(who) => {
                if count(&|one| one == origin) >= REMOTE_CONNECTIONS_EACH_MAX {
                    let n_max = REMOTE_CONNECTIONS_EACH_MAX;
                    return Err(format!("{who} has {n_max} connections"));
                }
                let is_remote = |one: &Origin| matches!(one, Origin::Remote(_));
                (count(&is_remote), REMOTE_CLIENTS_MAX)
            }
        };
        if n < n_max {
            return Ok(());
        }
        Err(format!("{n_max} clients are connected"))
    }
}

/// Tells a client how many wait until its turn. It has read everything before, so there is room for
/// this; one that is gone is found out when its turn comes.
fn tell(stream: &UnixStream, n_waiting: usize) {
    let n_waiting = u32::try_from(n_waiting).unwrap_or(u32::MAX);
    let envelope = Envelope {
        number: NO_REQUEST,
        message: Some(Answer::Queued(n_waiting)),
    };
    let mut bytes = Vec::new();
    frame::append(&mut bytes, |out| out.extend(wire::encode(&envelope)));
    let _ = send(stream, &bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
}

/// True if the other side of a connection has not closed it.
fn is_there(stream: &UnixStream) -> bool {
    let mut polled = [PollFd::new(stream, PollFlags::RDHUP)];
    let looked = poll(&mut polled, Some(&Timespec::default()));
    looked.is_err() || polled[0].revents().is_empty()
}
