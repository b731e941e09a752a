//! The executor's end of the connection to its daemon: it never waits, and holds a bounded number
//! of bytes in both directions. Pending messages are kept as names; they are put into frames from
//! the present state when there is room.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::os::unix::net::UnixStream;

use model::AttemptId;
use wire::executor::{
    BATCH_BYTES, ExecutorHello, FRAME_BYTES_MAX, FromExecutor, ToExecutor, Written,
};
use wire::frame::{FILL_BYTES, FrameBuffer};

use crate::store::{Answer, Store, ended_bytes};

/// Bytes that wait to be written, above which no more frames are made.
const OUT_BYTES_MAX: usize = 4 << 20;

/// Pending notices, above which nothing is read and nothing is started.
const NOTICES_MAX: usize = 100_000;

/// Reads before other events have their turn, of 64 KiB each.
const TURN_READS: usize = 32;

/// Elements in one frame.
const BATCH_MAX: usize = 4_096;

/// The link; see the module.
pub(crate) struct Link {
    stream: UnixStream,
    input: FrameBuffer,
    out: Vec<u8>,
    written: usize,
    notices: VecDeque<(Answer, AttemptId)>,
    outputs: Vec<(AttemptId, Option<Written>)>,
    /// The last ping that was not answered yet.
    pong: Option<u64>,
    held: HeldTold,
}

/// The progress of listing the held attempts.
enum HeldTold {
    After(Option<AttemptId>),
    All,
}

impl Link {
    /// Takes a non-blocking stream and sends the hello.
    pub(crate) fn new(stream: UnixStream, hello: ExecutorHello) -> Link {
        let mut out = Vec::new();
        FromExecutor::Hello(hello).append_frame(&mut out);
        Link {
            stream,
            input: FrameBuffer::new(FRAME_BYTES_MAX),
            out,
            written: 0,
            notices: VecDeque::new(),
            outputs: Vec::new(),
            pong: None,
            held: HeldTold::After(None),
        }
    }

    pub(crate) fn stream(&self) -> &UnixStream {
        &self.stream
    }

    /// Queues an answer, to be sent when there is room.
    pub(crate) fn tell(&mut self, answer: Answer, attempt: AttemptId) {
        if answer != Answer::Nothing {
            self.notices.push_back((answer, attempt));
        }
    }

    /// The answer to a request for the output.
    pub(crate) fn tell_output(&mut self, attempt: AttemptId, written: Option<Written>) {
        self.outputs.push((attempt, written));
    }

    /// The answer to a ping.
    pub(crate) fn tell_pong(&mut self, number: u64) {
        self.pong = Some(number);
    }

    /// Takes the messages that have arrived. An error, or an end, is the end of this link; earlier
    /// messages are returned all the same.
    pub(crate) fn receive(&mut self) -> (Vec<ToExecutor>, io::Result<()>) {
        let mut messages = Vec::new();
        let mut is_drained = false;
        for _ in 0..TURN_READS {
            if is_drained {
                break;
            }
            match self.input.fill(&mut self.stream) {
                Ok(0) => return (messages, Err(ErrorKind::UnexpectedEof.into())),
                Ok(n) => is_drained = n < FILL_BYTES,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return (messages, Err(error)),
            }
            loop {
                match self.input.take() {
                    Ok(None) => break,
                    Ok(Some(body)) => match ToExecutor::decode(body) {
                        Ok(message) => messages.extend(message),
                        Err(error) => return (messages, Err(io::Error::other(error))),
                    },
                    Err(error) => return (messages, Err(io::Error::other(error))),
                }
            }
        }
        (messages, Ok(()))
    }

    /// Makes frames of the pending notices, and writes as much as the socket takes.
    pub(crate) fn send(&mut self, store: &Store) -> io::Result<()> {
        loop {
            self.compose(store);
            if self.written == self.out.len() {
                return Ok(());
            }
            match self.stream.write(&self.out[self.written..]) {
                Ok(n) => self.written += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
            if self.written == self.out.len() {
                self.out.clear();
                self.written = 0;
            }
        }
    }

    /// Returns true if bytes wait for the socket.
    pub(crate) fn wants_to_write(&self) -> bool {
        self.written < self.out.len()
    }

    /// Returns true if only starts and ends are pending, and nothing is being written.
    pub(crate) fn has_only_news(&self) -> bool {
        let is_idle = self.outputs.is_empty() && self.pong.is_none() && !self.wants_to_write();
        is_idle && matches!(self.held, HeldTold::All) && !self.notices.is_empty()
    }

    /// Starts and ends that are pending.
    pub(crate) fn n_notices(&self) -> usize {
        self.notices.len()
    }

    /// Returns true if the daemon reads too slowly: nothing more is read or started then.
    pub(crate) fn is_full(&self) -> bool {
        self.notices.len() + self.outputs.len() > NOTICES_MAX
            || self.out.len() - self.written > OUT_BYTES_MAX
            || self.outputs.len() > BATCH_MAX
    }

    fn compose(&mut self, store: &Store) {
        while self.out.len() - self.written < OUT_BYTES_MAX {
            match self.held {
                HeldTold::After(after) => self.compose_held(after, store),
                HeldTold::All if self.has_nothing_to_tell() => return,
                HeldTold::All => self.compose_notices(store),
            }
        }
    }

    fn compose_held(&mut self, mut after: Option<AttemptId>, store: &Store) {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while bytes < BATCH_BYTES && batch.len() < BATCH_MAX {
            let Some(held) = store.held_after(after) else {
                self.held = HeldTold::All;
                break;
            };
            after = Some(held.attempt);
            bytes += held.note.len() + store.ended(held.attempt).map_or(100, ended_bytes);
            batch.push(held);
        }
        if !batch.is_empty() {
            FromExecutor::Held(batch).append_frame(&mut self.out);
        }
        match self.held {
            HeldTold::After(_) => self.held = HeldTold::After(after),
            HeldTold::All => FromExecutor::HeldEnd.append_frame(&mut self.out),
        }
    }

    /// Makes one frame of each kind from the first notices. For an attempt that has ended meanwhile
    /// only the end is sent, so the order between the kinds does not matter.
    fn compose_notices(&mut self, store: &Store) {
        let (mut started, mut ended) = (Vec::new(), Vec::new());
        let (mut retracted, mut refused) = (Vec::new(), Vec::new());
        let mut bytes = 0;
        for _ in 0..BATCH_MAX {
            if bytes >= BATCH_BYTES {
                break;
            }
            let Some((answer, attempt)) = self.notices.pop_front() else {
                break;
            };
            match answer {
                Answer::Nothing => {}
                Answer::Started => started.extend(store.started(attempt)),
                Answer::Ended => ended.extend(store.ended(attempt).cloned().inspect(|outcome| {
                    bytes += ended_bytes(outcome);
                })),
                Answer::Retracted => retracted.push(attempt),
                Answer::Refused => refused.push(attempt),
            }
        }
        let out = &mut self.out;
        if !started.is_empty() {
            FromExecutor::Started(started).append_frame(out);
        }
        if !ended.is_empty() {
            FromExecutor::Ended(ended).append_frame(out);
        }
        if !retracted.is_empty() {
            FromExecutor::Retracted(retracted).append_frame(out);
        }
        if !refused.is_empty() {
            FromExecutor::Refused(refused).append_frame(out);
        }
        for (attempt, written) in self.outputs.drain(..) {
            FromExecutor::Output { attempt, written }.append_frame(out);
        }
        if let Some(number) = self.pong.take() {
            FromExecutor::Pong(number).append_frame(out);
        }
    }

    fn has_nothing_to_tell(&self) -> bool {
        self.notices.is_empty() && self.outputs.is_empty() && self.pong.is_none()
    }
}
