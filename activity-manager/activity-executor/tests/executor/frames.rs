//! Frames and messages, whatever bytes they are made of.

use proptest::prelude::*;
use wire::executor::{FromExecutor, ToExecutor};
use wire::frame::{self, FrameBuffer, FrameError};

proptest! {
    #[test]
    fn frames_survive_any_cut(
        bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..20),
        cuts in prop::collection::vec(1usize..100, 1..50),
    ) {
        let mut bytes = Vec::new();
        for body in &bodies {
            frame::append(&mut bytes, |out| out.extend_from_slice(body));
        }
        let mut buffer = FrameBuffer::new(200);
        let mut seen = Vec::new();
        let mut rest = &bytes[..];
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at((*cut).min(rest.len()));
            buffer.push(piece);
            rest = after;
            while let Some(body) = buffer.take().unwrap() {
                seen.push(body.to_vec());
            }
        }
        prop_assert_eq!(&seen, &bodies);
        prop_assert!(!buffer.is_within_frame());

        let mut source = &bytes[..];
        let mut body = Vec::new();
        for expected in &bodies {
            prop_assert!(frame::read(&mut source, 200, &mut body).unwrap());
            prop_assert_eq!(&body, expected);
        }
        prop_assert!(!frame::read(&mut source, 200, &mut body).unwrap());
    }

    #[test]
    fn random_bytes_are_frames_or_errors_within_the_bound(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        bytes_max in 0usize..400,
    ) {
        let mut buffer = FrameBuffer::new(bytes_max);
        buffer.push(&bytes);
        loop {
            match buffer.take() {
                Ok(Some(body)) => prop_assert!(body.len() <= bytes_max),
                Ok(None) => break,
                Err(FrameError::TooLong { bytes, .. }) => {
                    prop_assert!(bytes > bytes_max as u64);
                    break;
                }
                Err(other) => prop_assert!(false, "{other}"),
            }
        }
        let mut body = Vec::new();
        let mut source = &bytes[..];
        while let Ok(true) = frame::read(&mut source, bytes_max, &mut body) {}
        prop_assert!(body.capacity() <= bytes_max.max(8));
    }

    #[test]
    fn random_bytes_decode_or_fail(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = ToExecutor::decode(&bytes);
        let _ = FromExecutor::decode(&bytes);
        // And with the beginning of a real batch of starts, and of outcomes.
        for head in [[0x81, 0x82, 0x01, 0x81], [0x81, 0x82, 0x04, 0x81]] {
            let bytes = [&head[..], &bytes].concat();
            let _ = ToExecutor::decode(&bytes);
            let _ = FromExecutor::decode(&bytes);
        }
    }
}
