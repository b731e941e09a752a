//! The output of an attempt in a grid, requested from its process manager part by part.

use std::io::{self, Read};

use model::{ActivityId, AttemptId, ProcessId};
use wire::attempt::Stream;
use wire::client::{Answer, Request};

use crate::ask::{Source, unfit};

/// Reads a stream of an attempt that has ended.
pub(super) struct Parts<'a> {
    pub(super) source: &'a mut Source,
    pub(super) of: (ProcessId, ActivityId),
    pub(super) attempt: AttemptId,
    pub(super) stream: Stream,
    /// From which byte on, after what is held here.
    pub(super) offset: u64,
    /// Bytes that were received but not read, and the position of the first one.
    pub(super) held: (Vec<u8>, usize),
}

impl Read for Parts<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (held, at) = &mut self.held;
        if *at == held.len() {
            let (process, activity) = self.of;
            let request = Request::Log {
                process,
                activity,
                attempt: self.attempt,
                stream: self.stream,
                offset: self.offset,
            };
            let answer = self.source.answer(request);
            let answer = answer.map_err(|failure| io::Error::other(failure.message))?;
            let Answer::LogPart(part) = answer else {
                return Err(io::Error::other(unfit(&answer).message));
            };
            self.offset += part.bytes.len() as u64;
            (*held, *at) = (part.bytes, 0);
        }
        let n = (&held[*at..]).read(buffer)?;
        *at += n;
        Ok(n)
    }
}
