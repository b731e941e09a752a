//! The content of the table of records: keys, checksums and frames.
//!
//! A *record* is the founding event of a stream, its snapshot, a chunk of consecutive events, or a chapter
//! of the snapshot.
//! It is stored as one row, or as several *parts* where it is big. Row key, all big-endian:
//! stream number (8), kind (1), event number (8), part (4). Record, cut into parts:
//! CRC32 (4), length of what follows (4), payload. The CRC covers the stream's key, the kind, the
//! event number and the payload, so that a record that strays to another place is found as well.
//! The highest bit of the length says that the payload is packed (`packing.rs`); the CRC covers that bit
//! with the kind.
//!
//! Payloads, before they are packed: founding event: length of the stream's key (1), key, event. Snapshot: its bytes; its
//! event number is the last event it stands for. Chunk: for each event its length (4, big-endian)
//! and its bytes; its event number is that of its first event. Chapter: its bytes; its number among the
//! chapters is in place of the event number.
//!
//! One more row has the totals of all records.

use std::borrow::Cow;
use std::fmt;

use crate::packing::{packed, unpacked};

/// Longest key of a stream, in bytes: more than a process id.
pub const STREAM_KEY_BYTES_MAX: usize = 64;

/// Longest event or snapshot, in bytes: a definition of 64 MiB with its inputs fits, and a wrong
/// length cannot allocate the whole memory.
pub const MESSAGE_BYTES_MAX: usize = 128 << 20;

/// Bytes above which a chunk is closed, so that one row stays small compared with the cache. The store rounds a row and
/// its key up to a power of two: a chunk of 256 KiB would take 512.
pub(crate) const CHUNK_BYTES_MAX: usize = (256 << 10) - 512;

/// Bytes in one row of a long record. The store rounds a big row up to a power of two of its pages, so a row just
/// below 512 KiB wastes little, and a record of 65 MiB does not take 128.
const PART_BYTES: usize = (512 << 10) - 256;

/// Bytes in one row of other records: what a packed chunk takes is no power of two.
const SHORT_PART_BYTES: usize = (16 << 10) - 256;

/// Bytes up to which a record is cut into short parts.
const SHORT_RECORD_BYTES_MAX: usize = 1 << 20;

/// Bytes of a record in each of its rows but the last one.
pub(crate) fn part_bytes(record_bytes: usize) -> usize {
    match record_bytes <= SHORT_RECORD_BYTES_MAX {
        true => SHORT_PART_BYTES,
        false => PART_BYTES,
    }
}

/// Bytes of the longest record: the longest message and its frame.
pub(crate) const RECORD_BYTES_MAX: usize = MESSAGE_BYTES_MAX + 1024;

/// Bytes of a record before its payload: CRC and length.
pub(crate) const HEAD_BYTES: usize = 8;

/// The bit of a record's length that says that its payload is packed.
const PACKED: u32 = 1 << 31;

/// The bit of the kind in the checksum of a packed payload.
const PACKED_KIND: u8 = 1 << 7;

/// Bytes of a row's key.
pub(crate) const ROW_KEY_BYTES: usize = 21;

/// The name of a stream, chosen by the caller: the manager itself, a process...
///
/// At most [`STREAM_KEY_BYTES_MAX`] bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamKey(pub Vec<u8>);

impl fmt::Display for StreamKey {
    /// As text if it is readable, else in hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match std::str::from_utf8(&self.0) {
            Ok(text) if !text.is_empty() && !text.chars().any(char::is_control) => {
                write!(f, "`{text}`")
            }
            Ok(_) | Err(_) => {
                f.write_str("0x")?;
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
    }
}

impl fmt::Debug for StreamKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The kind of a record. Streams are replayed in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Founding,
    Snapshot,
    Chunk,
    /// After the others, which a snapshot removes.
    Chapter,
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Kind> {
        [Kind::Founding, Kind::Snapshot, Kind::Chunk, Kind::Chapter]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
    }
}

/// Key of the row of totals: after all others, so that it usually shares a page with appended
/// records, and a flush writes less than with a table of its own.
pub(crate) const TOTALS_ROW: [u8; ROW_KEY_BYTES] = [0xff; ROW_KEY_BYTES];

/// The position of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowKey {
    pub(crate) stream_id: u64,
    pub(crate) kind: Kind,
    pub(crate) number: u64,
    pub(crate) part: u32,
}

impl RowKey {
    pub(crate) fn to_bytes(self) -> [u8; ROW_KEY_BYTES] {
        let mut bytes = [0; ROW_KEY_BYTES];
        bytes[..8].copy_from_slice(&self.stream_id.to_be_bytes());
        bytes[8] = self.kind as u8;
        bytes[9..17].copy_from_slice(&self.number.to_be_bytes());
        bytes[17..].copy_from_slice(&self.part.to_be_bytes());
        bytes
    }

    /// None for an unknown kind.
    pub(crate) fn from_bytes(bytes: &[u8; ROW_KEY_BYTES]) -> Option<RowKey> {
        Some(RowKey {
            stream_id: u64::from_be_bytes(fixed(&bytes[..8])),
            kind: Kind::from_byte(bytes[8])?,
            number: u64::from_be_bytes(fixed(&bytes[9..17])),
            part: u32::from_be_bytes(fixed(&bytes[17..])),
        })
    }
}

/// First possible row key of a stream's records from `kind` on.
pub(crate) fn first_row(stream_id: u64, kind: Kind) -> [u8; ROW_KEY_BYTES] {
    RowKey {
        stream_id,
        kind,
        number: 0,
        part: 0,
    }
    .to_bytes()
}

/// Last possible row key of a stream's records up to `kind`.
pub(crate) fn last_row(stream_id: u64, kind: Kind) -> [u8; ROW_KEY_BYTES] {
    RowKey {
        stream_id,
        kind,
        number: u64::MAX,
        part: u32::MAX,
    }
    .to_bytes()
}

/// A record that is being assembled: the payload after space for the head.
pub(crate) struct Draft(Vec<u8>);

impl Draft {
    pub(crate) fn new(payload_bytes: usize) -> Draft {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + payload_bytes);
        bytes.resize(HEAD_BYTES, 0);
        Draft(bytes)
    }

    pub(crate) fn founding(stream: &StreamKey, event: &[u8]) -> Draft {
        let mut draft = Draft::new(1 + stream.0.len() + event.len());
        draft
            .0
            .push(u8::try_from(stream.0.len()).expect("stream keys are bounded to 64 bytes"));
        draft.0.extend_from_slice(&stream.0);
        draft.0.extend_from_slice(event);
        draft
    }

    /// A snapshot or a chapter.
    pub(crate) fn whole(bytes: &[u8]) -> Draft {
        let mut draft = Draft::new(bytes.len());
        draft.0.extend_from_slice(bytes);
        draft
    }

    /// Appends an event to a chunk.
    pub(crate) fn push_event(&mut self, event: &[u8]) {
        let length = u32::try_from(event.len()).expect("messages are bounded to 128 MiB");
        self.0.extend_from_slice(&length.to_be_bytes());
        self.0.extend_from_slice(event);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Packs the payload where that gains, and fills in the head. Returns the record's bytes and its CRC.
    pub(crate) fn seal(mut self, stream: &StreamKey, kind: Kind, number: u64) -> (Vec<u8>, u32) {
        let packed = packed(&self.0[HEAD_BYTES..]);
        let form = match packed {
            Some(_) => Form::Packed,
            None => Form::Plain,
        };
        if let Some(packed) = packed {
            self.0.truncate(HEAD_BYTES);
            self.0.extend_from_slice(&packed);
        }
        let crc = checksum(stream, (kind, form), number, &self.0[HEAD_BYTES..]);
        let length = u32::try_from(self.0.len() - HEAD_BYTES).expect("records are bounded");
        let length = match form {
            Form::Plain => length,
            Form::Packed => length | PACKED,
        };
        self.0[..4].copy_from_slice(&crc.to_be_bytes());
        self.0[4..8].copy_from_slice(&length.to_be_bytes());
        (self.0, crc)
    }
}

/// The form of a record's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Plain,
    Packed,
}

impl Form {
    /// The payload as it was drafted; none if it cannot be unpacked.
    pub(crate) fn read(self, payload: &[u8]) -> Option<Cow<'_, [u8]>> {
        match self {
            Form::Plain => Some(Cow::Borrowed(payload)),
            Form::Packed => unpacked(payload, RECORD_BYTES_MAX).map(Cow::Owned),
        }
    }
}

/// The first bytes of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) crc: u32,
    /// Bytes of the payload as it is stored.
    pub(crate) length: usize,
    pub(crate) form: Form,
}

/// CRC32 of a record's position and payload.
pub(crate) fn checksum(
    stream: &StreamKey,
    (kind, form): (Kind, Form),
    number: u64,
    payload: &[u8],
) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    let mut place = [0; STREAM_KEY_BYTES_MAX + 10];
    let length = stream.0.len();
    place[..length].copy_from_slice(&stream.0);
    place[length] = u8::try_from(length).expect("stream keys are bounded to 64 bytes");
    place[length + 1] = match form {
        Form::Plain => kind as u8,
        Form::Packed => kind as u8 | PACKED_KIND,
    };
    place[length + 2..length + 10].copy_from_slice(&number.to_be_bytes());
    hasher.update(&place[..length + 10]);
    hasher.update(payload);
    hasher.finalize()
}

/// The head from the first bytes of a record; none if it is impossible.
pub(crate) fn read_head(bytes: &[u8]) -> Option<Head> {
    let crc = u32::from_be_bytes(fixed(bytes.get(..4)?));
    let length = u32::from_be_bytes(fixed(bytes.get(4..8)?));
    let form = match length & PACKED {
        0 => Form::Plain,
        1.. => Form::Packed,
    };
    let length = (length & !PACKED) as usize;
    (length <= RECORD_BYTES_MAX).then_some(Head { crc, length, form })
}

/// Stream key and event of a founding record's payload.
pub(crate) fn read_founding(payload: &[u8]) -> Option<(StreamKey, &[u8])> {
    let (length, rest) = payload.split_first()?;
    let length = usize::from(*length);
    if length > STREAM_KEY_BYTES_MAX {
        return None;
    }
    let (key, event) = rest.split_at_checked(length)?;
    Some((StreamKey(key.to_vec()), event))
}

/// Events of a chunk's payload.
pub(crate) fn read_chunk(mut payload: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut events = Vec::new();
    while !payload.is_empty() {
        let (length, rest) = payload.split_at_checked(4)?;
        let (event, rest) = rest.split_at_checked(u32::from_be_bytes(fixed(length)) as usize)?;
        events.push(event.to_vec());
        payload = rest;
    }
    (!events.is_empty()).then_some(events)
}

/// The sum over all records. Written in each commit, so that a lost row, or one of an older commit,
/// is detected even if every row by itself is sound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Number of the last commit whose changes are in the store; later ones are in the tail.
    pub(crate) n_commits: u64,
    pub(crate) n_records: u64,
    /// Wrapping sum of the records' CRCs.
    pub(crate) crc_sum: u64,
}

/// Bytes of the totals as stored.
const TOTALS_BYTES: usize = 28;

impl Totals {
    pub(crate) fn add(&mut self, n_records: u64, crc_sum: u64) {
        self.n_records += n_records;
        self.crc_sum = self.crc_sum.wrapping_add(crc_sum);
    }

    pub(crate) fn subtract(&mut self, n_records: u64, crc_sum: u64) {
        self.n_records -= n_records;
        self.crc_sum = self.crc_sum.wrapping_sub(crc_sum);
    }

    pub(crate) fn to_bytes(self) -> [u8; TOTALS_BYTES] {
        let mut bytes = [0; TOTALS_BYTES];
        bytes[..8].copy_from_slice(&self.n_commits.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.n_records.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.crc_sum.to_be_bytes());
        let crc = crc32fast::hash(&bytes[..24]);
        bytes[24..].copy_from_slice(&crc.to_be_bytes());
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Totals> {
        let bytes: &[u8; TOTALS_BYTES] = bytes.try_into().ok()?;
        if crc32fast::hash(&bytes[..24]) != u32::from_be_bytes(fixed(&bytes[24..])) {
            return None;
        }
        Some(Totals {
            n_commits: u64::from_be_bytes(fixed(&bytes[..8])),
            n_records: u64::from_be_bytes(fixed(&bytes[8..16])),
            crc_sum: u64::from_be_bytes(fixed(&bytes[16..24])),
        })
    }
}

fn fixed<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("the caller cuts exactly N bytes")
}

#[cfg(test)]
mod tests;
