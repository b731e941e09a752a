//! The trace of a run, as text for people and as one number for comparing two runs.

use std::collections::VecDeque;

use model::Mono;

/// Bytes of one line; the rest of it is left out.
const LINE_BYTES_MAX: usize = 600;

/// The last steps of a run, and a hash of all of them.
#[derive(Debug)]
pub struct Trace {
    lines: VecDeque<String>,
    n_lines_max: usize,
    hash: u64,
    n_noted: u64,
}

impl Trace {
    /// A trace that only hashes: text costs more than all the rest.
    pub fn silent() -> Trace {
        Trace {
            lines: VecDeque::new(),
            n_lines_max: 0,
            hash: 0xcbf2_9ce4_8422_2325,
            n_noted: 0,
        }
    }

    /// A trace that remembers so many of the last lines.
    pub fn telling(n_lines_max: usize) -> Trace {
        Trace {
            n_lines_max,
            ..Trace::silent()
        }
    }

    /// The last lines, the oldest first.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(String::as_str)
    }

    /// The hash of everything that happened: the same seed gives the same number.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The number of events so far.
    pub fn n_noted(&self) -> u64 {
        self.n_noted
    }

    /// Something happened: bytes that say what, and a line for people.
    pub(crate) fn note(&mut self, at: Mono, bytes: &[u8], line: impl FnOnce() -> String) {
        self.n_noted += 1;
        self.mix(at.0);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
        self.mix(bytes.len() as u64);
        if self.n_lines_max == 0 {
            return;
        }
        if self.lines.len() >= self.n_lines_max {
            self.lines.pop_front();
        }
        let mut line = format!("{:>11.6} {}", at.0 as f64 / 1e6, line());
        if line.len() > LINE_BYTES_MAX {
            let end = (0..=LINE_BYTES_MAX)
                .rev()
                .find(|&end| line.is_char_boundary(end));
            line.truncate(end.unwrap_or(0));
            line.push_str("...");
        }
        self.lines.push_back(line);
    }

    fn mix(&mut self, word: u64) {
        self.hash = (self.hash ^ word)
            .wrapping_mul(0x0000_0100_0000_01b3)
            .rotate_left(29);
    }
}
