//! Malformed frames: cut off, changed, random. Reading them never panics, announced lengths
//! allocate nothing, and every message that is read would be encoded to the same bytes.

mod messages;

use proptest::prelude::*;
use wire::frame::{self, FrameBuffer};

use messages::{Reader, all};

/// Bytes of the longest frame that is read here.
const BYTES_MAX: usize = 1 << 16;

/// The frames of a stream of these bytes.
fn frames_of(stream: &[u8]) {
    let readers: Vec<Reader> = all().into_iter().map(|(_, reader)| reader).collect();
    let mut frames = FrameBuffer::new(BYTES_MAX);
    // In pieces, as a network delivers them.
    for piece in stream.chunks(7) {
        frames.push(piece);
        while let Ok(Some(body)) = frames.take() {
            for reader in &readers {
                reader(body);
            }
        }
    }
}

#[test]
fn every_message_is_read_whole_and_not_otherwise() {
    for (bytes, reads) in all() {
        assert!(reads(&bytes), "{bytes:?}");
        for n_bytes in 0..bytes.len() {
            assert!(!reads(&bytes[..n_bytes]), "{n_bytes} bytes of {bytes:?}");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(!reads(&longer), "{longer:?}");
    }
}

#[test]
fn a_length_that_is_only_announced_costs_nothing() {
    // An array, a text and a map of 2^62 parts in each position where a message could have one.
    for (bytes, reads) in all() {
        for at in 0..bytes.len() {
            for kind in [0x9b, 0x7b, 0x5b, 0xbb] {
                let mut huge = bytes[..at].to_vec();
                huge.push(kind);
                huge.extend_from_slice(&(1_u64 << 62).to_be_bytes());
                // Memory for so many parts does not exist. Within a text or a number it is no
                // length.
                reads(&huge);
            }
        }
    }
}

/// A message that was changed at some positions.
fn changed() -> impl Strategy<Value = Vec<u8>> {
    let one = (any::<prop::sample::Index>(), any::<u8>(), 0..4_u8);
    let changes = prop::collection::vec(one, 1..6);
    (any::<prop::sample::Index>(), changes).prop_map(|(which, changes)| {
        let golden = all();
        let mut bytes = which.get(&golden).0.clone();
        for (at, byte, how) in changes {
            let at = at.index(bytes.len().max(1));
            match how {
                0 => bytes.insert(at.min(bytes.len()), byte),
                1 if at < bytes.len() => drop(bytes.remove(at)),
                2 => bytes.truncate(at),
                _ => {
                    if let Some(place) = bytes.get_mut(at) {
                        *place = byte;
                    }
                }
            }
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn changed_messages_are_read_or_not_and_nothing_else(bytes in changed()) {
        for (_, reads) in all() {
            reads(&bytes);
        }
    }

    #[test]
    fn changed_frames_are_taken_or_not_and_nothing_else(
        bodies in prop::collection::vec(changed(), 0..4),
        length in prop::option::of(any::<u32>()),
    ) {
        let mut stream = Vec::new();
        for body in &bodies {
            frame::append(&mut stream, |out| out.extend_from_slice(body));
        }
        stream.extend(length.into_iter().flat_map(u32::to_le_bytes));
        frames_of(&stream);
    }

    #[test]
    fn random_bytes_are_read_or_not_and_nothing_else(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        for (_, reads) in all() {
            reads(&bytes);
        }
        frames_of(&bytes);
    }
}
