//! The tail: the newest commits, in a small file beside the store, which grows once.
//!
//! Appending a commit to a file and flushing it takes one write; the store takes some seven pages
//! and as much work again. So a commit goes to the tail, and the whole tail goes to the store when
//! it is full: the first time, the store is created. Then the file is written from its beginning
//! again. A process of a few activities fits the size that the file begins with. Commits in the store are ignored in
//! the tail: each commit has a number, and the store knows its last one.
//!
//! The file is a head and a sequence of *frames*, one a commit, numbered without a gap. Frame, all big-endian:
//! CRC32 of all that follows (4), length of the payload (4), number of the commit (8), payload. The head of the file
//! is that of a frame, with a length that no frame has and a drawn number: the *secret* of the file. Numbers of
//! frames are written with it (exclusive or), so that no text in an event can look like a frame. Files of formats
//! before 7 have neither.
//!
//! The payload is a sequence of changes; a change is its kind (1), the length of its stream's key (1), the key, the
//! length of its bytes (4) and its bytes, which begin with its number (4) in a chapter. One change of a kind of its
//! own, without a key, stands for all changes of a frame: its bytes are those, packed (`packing.rs`). After the last
//! frame there are remains of an earlier round, whose numbers are lower.
//!
//! Only the last frame can be unfinished after a crash, because each is flushed before the next is
//! written. So a wrong frame with a later one after it is damage.

mod sectors;

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate};

use crate::directory::{DirectoryError, io_error};
use crate::durable::Unflushed;
use crate::layout::{MESSAGE_BYTES_MAX, STREAM_KEY_BYTES_MAX, StreamKey};
use crate::packing::{packed, unpacked};

use self::sectors::{SECTOR_BYTES, SectorFile};

/// The file's name in the journal's directory.
pub(crate) const TAIL_FILE: &str = "tail";

/// Bytes of the file at most. A thousand small commits fit, so that moving them to the store, which takes a
/// millisecond or two, costs each of them little; and three managers have one each on a small disk.
pub(crate) const TAIL_BYTES: usize = 512 << 10;

/// Bytes that a new file has. Most state directories of `xav run` need no more, and have three such files.
pub(crate) const TAIL_FIRST_BYTES: usize = 64 << 10;

/// Zeros that are written after a commit at a position that was never written before, as many as
/// there are bytes up to it, between these.
const AHEAD_BYTES_MIN: usize = 16 << 10;
const AHEAD_BYTES_MAX: usize = 128 << 10;

/// Bytes that file systems record as written, or not, at least.
const BLOCK_BYTES: usize = 4 << 10;

/// Bytes of a frame before its payload.
const HEAD_BYTES: usize = 16;

/// The length in the head of a file.
const FILE_HEAD_LENGTH: u32 = u32::MAX;

/// The kind of a change that stands for all changes of its frame.
const PACKED_KIND: u8 = 5;

/// A change of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What<'b> {
    /// The first event of a new stream.
    Found(&'b [u8]),
    /// An event after the first.
    Event(&'b [u8]),
    /// A snapshot of an existing stream.
    Snapshot(&'b [u8]),
    /// A chapter of the snapshot, by its number.
    Chapter(u32, &'b [u8]),
    /// The stream is removed, if it exists.
    Forget,
}

impl<'b> What<'b> {
    fn kind(self) -> u8 {
        match self {
            What::Found(_) => 0,
            What::Event(_) => 1,
            What::Snapshot(_) => 2,
            What::Forget => 3,
            What::Chapter(..) => 4,
        }
    }

    pub(crate) fn bytes(self) -> &'b [u8] {
        match self {
            What::Found(bytes)
            | What::Event(bytes)
            | What::Snapshot(bytes)
            | What::Chapter(_, bytes) => bytes,
            What::Forget => &[],
        }
    }

    /// The number before the bytes of a chapter.
    fn number(self) -> Option<u32> {
        match self {
            What::Chapter(number, _) => Some(number),
            What::Found(_) | What::Event(_) | What::Snapshot(_) | What::Forget => None,
        }
    }

    /// Bytes of the number and of the rest.
    fn len(self) -> usize {
        self.number().map_or(0, |_| size_of::<u32>()) + self.bytes().len()
    }

    fn from_parts(kind: u8, bytes: &'b [u8]) -> Option<What<'b>> {
        match kind {
            0 => Some(What::Found(bytes)),
            1 => Some(What::Event(bytes)),
            2 => Some(What::Snapshot(bytes)),
            3 if bytes.is_empty() => Some(What::Forget),
            4 => {
                let (number, bytes) = bytes.split_first_chunk()?;
                Some(What::Chapter(u32::from_be_bytes(*number), bytes))
            }
            3.. => None,
        }
    }
}

/// One change of a commit. Changes are applied in order.
pub(crate) type Change<'b> = (&'b StreamKey, What<'b>);

/// The frames that are not in the store, and the file that contains them from its beginning on.
pub(crate) struct Tail {
    /// None for reading only.
    file: Option<SectorFile>,
    /// The content of the file, as far as it was read or written: the frames, and remains.
    content: Vec<u8>,
    /// Bytes to the end of the last frame; none without frames.
    end: usize,
    /// The secret of the frames.
    secret: Secret,
    /// Bytes from the beginning of the file that have been written, including zeros.
    written: usize,
    /// Bytes of the file.
    reserved: usize,
}

/// The content of the file.
pub(crate) struct OpenedTail {
    pub(crate) tail: Tail,
    /// Number of the last commit; the store's last one if the tail has none.
    pub(crate) n_commits: u64,
    /// True if there is an unfinished frame at the end.
    pub(crate) is_cut: bool,
}

impl OpenedTail {
    /// An empty tail.
    pub(crate) fn nothing() -> OpenedTail {
        let tail = Tail {
            file: None,
            content: Vec::new(),
            end: 0,
            secret: Secret::default(),
            written: 0,
            reserved: 0,
        };
        OpenedTail {
            tail,
            n_commits: 0,
            is_cut: false,
        }
    }
}

/// Why a tail cannot be used.
#[derive(Debug)]
pub(crate) enum TailError {
    Directory(DirectoryError),
    /// The commits, and their damage.
    Damage(String, &'static str),
}

impl From<DirectoryError> for TailError {
    fn from(error: DirectoryError) -> TailError {
        TailError::Directory(error)
    }
}

impl Tail {
    /// Creates the file in a journal's directory, if it is missing. Its name is durable once the
    /// directory is flushed.
    pub(crate) fn create(dir: &Path) -> Result<(), DirectoryError> {
        let path = dir.join(TAIL_FILE);
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(io_error("create", &path))?;
        reserve(&file, TAIL_FIRST_BYTES).map_err(io_error("reserve room for", &path))
    }

    /// Reads the commits that the store, which ends at commit `n_stored`, does not have. Nothing is
    /// written before [`Tail::open`].
    pub(crate) fn read(dir: &Path, n_stored: u64) -> Result<OpenedTail, TailError> {
        let path = dir.join(TAIL_FILE);
        let mut bytes = Vec::new();
        match File::open(&path) {
            Ok(file) => {
                file.take(TAIL_BYTES as u64)
                    .read_to_end(&mut bytes)
                    .map_err(io_error("read", &path))?;
            }
            // A journal of an earlier format, or a new one.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(io_error("open", &path)(error).into()),
        }
        let secret = Secret::read(&bytes, n_stored)?;
        let frames = &bytes[secret.begin().min(bytes.len())..];
        let (length, n_commits) = follow(frames, secret, n_stored)?;
        let is_cut =
            Head::read(&frames[length..], secret).is_some_and(|head| head.number == n_commits + 1);
        let end = match length {
            0 => 0,
            _ => secret.begin() + length,
        };
        let (written, reserved) = (used(&bytes), bytes.len());
        // A file that was cut ends anywhere.
        bytes.resize(bytes.len().next_multiple_of(SECTOR_BYTES), 0);
        let tail = Tail {
            file: None,
            content: bytes,
            end,
            secret,
            written,
            reserved,
        };
        Ok(OpenedTail {
            tail,
            n_commits,
            is_cut,
        })
    }

    /// Makes it writable. A new file is durable once `unflushed` is flushed.
    pub(crate) fn open(
        &mut self,
        dir: &Path,
        unflushed: &mut Unflushed,
    ) -> Result<(), DirectoryError> {
        let path = dir.join(TAIL_FILE);
        let is_whole = std::fs::metadata(&path)
            .is_ok_and(|metadata| metadata.len() >= TAIL_FIRST_BYTES as u64);
        if !is_whole {
            Tail::create(dir)?;
            unflushed.add_names_in(dir);
        }
        self.reserved = self.reserved.max(TAIL_FIRST_BYTES);
        let file = SectorFile::open(&path).map_err(io_error("open", &path))?;
        self.file = Some(file);
        Ok(())
    }

    /// Makes a commit durable. Returns false if it does not fit: then nothing is written, and
    /// everything must go to the store. After an error the file may or may not have the commit.
    pub(crate) fn append<'b>(
        &mut self,
        number: u64,
        changes: impl Iterator<Item = Change<'b>>,
    ) -> io::Result<bool> {
        let mut frame = vec![0; HEAD_BYTES];
        for change in changes {
            append_change(&mut frame, change);
        }
        pack(&mut frame);
        let is_first = self.end == 0;
        let begin = match is_first {
            true => HEAD_BYTES,
            false => self.end,
        };
        let end = begin + frame.len();
        if end > TAIL_BYTES {
            return Ok(false);
        }
        let Some(file) = &mut self.file else {
            return Err(ErrorKind::PermissionDenied.into());
        };
        if end > self.reserved {
            if reserve(file.file(), TAIL_BYTES).is_err() {
                // A full disk: the file is good for as much as before.
                return Ok(false);
            }
            self.reserved = TAIL_BYTES;
        }
        if is_first && self.secret == Secret::default() {
            self.secret = Secret::draw()?;
        }
        seal(&mut frame, number, self.secret);
        let until = match end <= self.written {
            true => end,
            // A first write to a block makes the file system record that, which takes several times
            // as long as the commit: so it is done for many commits at once.
            false => {
                let ahead = end.clamp(AHEAD_BYTES_MIN, AHEAD_BYTES_MAX);
                (end + ahead)
                    .next_multiple_of(BLOCK_BYTES)
                    .min(self.reserved)
            }
        };
        let in_sectors = until.next_multiple_of(SECTOR_BYTES);
        if self.content.len() < in_sectors {
            self.content.resize(in_sectors, 0);
        }
        if is_first {
            self.content[..HEAD_BYTES].copy_from_slice(&self.secret.head());
        }
        self.content[begin..end].copy_from_slice(&frame);
        file.write(&self.content, if is_first { 0 } else { begin }..until)?;
        file.file().sync_data()?;
        self.written = self.written.max(until);
        self.end = end;
        Ok(true)
    }

    /// The content of all frames that are not in the store, for [`changes`]; none if a packed one has an
    /// impossible form.
    pub(crate) fn payloads(&self) -> Option<Vec<u8>> {
        let mut payloads = Vec::with_capacity(self.end);
        let mut rest = &self.content[self.secret.begin().min(self.end)..self.end];
        while let Some(head) = Head::read(rest, self.secret) {
            let (frame, after) = rest.split_at_checked(HEAD_BYTES + head.payload_bytes)?;
            match packed_changes(&frame[HEAD_BYTES..]) {
                Some(packed) => payloads.extend(unpacked(packed, MESSAGE_BYTES_MAX)?),
                None => payloads.extend_from_slice(&frame[HEAD_BYTES..]),
            }
            rest = after;
        }
        Some(payloads)
    }

    /// Empties the tail, once the store has everything.
    pub(crate) fn clear(&mut self) {
        self.end = 0;
    }

    /// Bytes of the commits that are not in the store.
    pub(crate) fn bytes(&self) -> usize {
        self.end
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.end == 0
    }
}

/// Makes a file so long. With its blocks reserved, a commit succeeds on a full disk, and its flush writes less.
fn reserve(file: &File, bytes: usize) -> io::Result<()> {
    let reserved = fallocate(file, FallocateFlags::empty(), 0, bytes as u64);
    match reserved.map_err(io::Error::from) {
        Err(error) if error.kind() == ErrorKind::Unsupported => file.set_len(bytes as u64),
        done => done,
    }
}

/// What the numbers of frames are written with; none where the file has no head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Secret(Option<u64>);

impl Secret {
    fn draw() -> io::Result<Secret> {
        Ok(Secret(Some(getrandom::u64()?)))
    }

    /// The secret of a file over a store that ends at this commit.
    fn read(bytes: &[u8], n_stored: u64) -> Result<Secret, TailError> {
        let none = Secret::default();
        let Some((first, _)) = bytes.split_first_chunk::<HEAD_BYTES>() else {
            return Ok(none);
        };
        let Some(head) = Head::read(first, none) else {
            return Ok(none);
        };
        let has_length = head.payload_bytes == FILE_HEAD_LENGTH as usize;
        if has_length && crc32fast::hash(&first[4..]) == head.crc {
            return Ok(Secret(Some(head.number)));
        }
        // A file that was never written to, or one of an earlier format, whose first frame may be unfinished.
        let is_earlier = head.number <= n_stored + 1 || sound_frame(bytes, none).is_some();
        match is_earlier && !has_length {
            true => Ok(none),
            false => {
                let place = "the beginning of the file".to_owned();
                Err(TailError::Damage(place, "is damaged"))
            }
        }
    }

    /// Bytes before the first frame.
    fn begin(self) -> usize {
        self.0.map_or(0, |_| HEAD_BYTES)
    }

    /// The head of a file.
    fn head(self) -> [u8; HEAD_BYTES] {
        let mut head = [0; HEAD_BYTES];
        head[4..8].copy_from_slice(&FILE_HEAD_LENGTH.to_be_bytes());
        head[8..].copy_from_slice(&self.masked(0).to_be_bytes());
        let crc = crc32fast::hash(&head[4..]);
        head[..4].copy_from_slice(&crc.to_be_bytes());
        head
    }

    /// A number as it is written, or the number of what is written.
    fn masked(self, number: u64) -> u64 {
        number ^ self.0.unwrap_or(0)
    }
}

/// The first bytes of a frame.
struct Head {
    crc: u32,
    payload_bytes: usize,
    number: u64,
}

impl Head {
    /// None at the end of the file.
    fn read(bytes: &[u8], secret: Secret) -> Option<Head> {
        let (crc, bytes) = bytes.split_first_chunk()?;
        let (length, bytes) = bytes.split_first_chunk()?;
        let (number, _) = bytes.split_first_chunk()?;
        Some(Head {
            crc: u32::from_be_bytes(*crc),
            payload_bytes: u32::from_be_bytes(*length) as usize,
            number: secret.masked(u64::from_be_bytes(*number)),
        })
    }
}

/// Fills in the head of a frame.
fn seal(frame: &mut [u8], number: u64, secret: Secret) {
    let length = u32::try_from(frame.len() - HEAD_BYTES).expect("a frame fits the file");
    frame[4..8].copy_from_slice(&length.to_be_bytes());
    frame[8..16].copy_from_slice(&secret.masked(number).to_be_bytes());
    let crc = crc32fast::hash(&frame[4..]);
    frame[..4].copy_from_slice(&crc.to_be_bytes());
}

/// Number and length of a sound frame at this position.
fn sound_frame(bytes: &[u8], secret: Secret) -> Option<(u64, usize)> {
    let head = Head::read(bytes, secret)?;
    let frame = bytes.get(..HEAD_BYTES + head.payload_bytes)?;
    (crc32fast::hash(&frame[4..]) == head.crc).then_some((head.number, frame.len()))
}

/// Follows the frames after commit `n_stored`. Returns their bytes, and the last one's number.
fn follow(bytes: &[u8], secret: Secret, n_stored: u64) -> Result<(usize, u64), TailError> {
    let (mut length, mut n_commits) = (0, n_stored);
    while let Some((number, frame_bytes)) = sound_frame(&bytes[length..], secret) {
        if number != n_commits + 1 {
            break;
        }
        (length, n_commits) = (length + frame_bytes, number);
    }
    // After the end there are only lower numbers and zeros. A frame may begin anywhere.
    for at in length..used(bytes) {
        let is_later = Head::read(&bytes[at..], secret).is_some_and(|head| {
            // The file has no space for more. For most bytes no checksum has to be computed.
            (1..=TAIL_BYTES as u64).contains(&head.number.saturating_sub(n_commits))
        });
        if !is_later {
            continue;
        }
        let Some((number, _)) = sound_frame(&bytes[at..], secret) else {
            continue;
        };
        let (first, last) = (n_commits + 1, number - 1);
        return Err(match last.checked_sub(first) {
            // At its position it would have been followed.
            None => TailError::Damage(format!("commit {number}"), "is not in its place"),
            Some(0) => TailError::Damage(format!("commit {first}"), "is damaged or missing"),
            Some(1..) => TailError::Damage(
                format!("one of the commits {first} to {last}"),
                "is damaged or missing",
            ),
        });
    }
    Ok((length, n_commits))
}

/// The beginning of the zeros that were never written, rounded to the block.
fn used(bytes: &[u8]) -> usize {
    let mut used = bytes;
    while let Some((rest, block)) = used.split_last_chunk::<BLOCK_BYTES>()
        && *block == [0; BLOCK_BYTES]
    {
        used = rest;
    }
    used.len()
}

fn append_change(out: &mut Vec<u8>, (stream, what): Change<'_>) {
    let key_length = u8::try_from(stream.0.len()).expect("stream keys are bounded to 64 bytes");
    let length = u32::try_from(what.len()).expect("messages are bounded to 128 MiB");
    out.extend_from_slice(&[what.kind(), key_length]);
    out.extend_from_slice(&stream.0);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend(what.number().into_iter().flat_map(u32::to_be_bytes));
    out.extend_from_slice(what.bytes());
}

/// Replaces the changes of a frame by one that stands for them, where that takes less.
fn pack(frame: &mut Vec<u8>) {
    let Some(packed) = packed(&frame[HEAD_BYTES..]) else {
        return;
    };
    let length = u32::try_from(packed.len()).expect("messages are bounded to 128 MiB");
    frame.truncate(HEAD_BYTES);
    frame.extend_from_slice(&[PACKED_KIND, 0]);
    frame.extend_from_slice(&length.to_be_bytes());
    frame.extend_from_slice(&packed);
}

/// The packed changes of a frame with this payload; none where they are not packed.
fn packed_changes(payload: &[u8]) -> Option<&[u8]> {
    let (&[kind, key_length], rest) = payload.split_first_chunk()?;
    let (length, packed) = rest.split_first_chunk()?;
    let is_whole = u32::from_be_bytes(*length) as usize == packed.len();
    (kind == PACKED_KIND && key_length == 0 && is_whole).then_some(packed)
}

/// All changes of frames with these contents, in order; none if they have an impossible form.
pub(crate) fn changes(mut payloads: &[u8]) -> Option<Vec<(StreamKey, What<'_>)>> {
    let mut changes = Vec::new();
    while let Some((&[kind, key_length], rest)) = payloads.split_first_chunk() {
        let key_length = usize::from(key_length);
        if key_length > STREAM_KEY_BYTES_MAX {
            return None;
        }
        let (key, rest) = rest.split_at_checked(key_length)?;
        let (length, rest) = rest.split_first_chunk()?;
        let (bytes, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
        changes.push((StreamKey(key.to_vec()), What::from_parts(kind, bytes)?));
        payloads = rest;
    }
    payloads.is_empty().then_some(changes)
}

#[cfg(test)]
mod tests;
