use std::fs;

use model::{ActivityId, ProcessId};
use proptest::prelude::*;

use super::*;

fn captured_from(
    stream: Stream,
    inline_max: u32,
    chunks: &[Vec<u8>],
) -> (Captured, Option<Vec<u8>>) {
    let directory = tempfile::tempdir().unwrap();
    let attempt = AttemptId {
        process: ProcessId(1),
        activity: ActivityId(2),
        number: 3,
    };
    let (reader, _writer) = rustix::pipe::pipe().unwrap();
    let mut capture = Capture::new(attempt, stream, reader, inline_max);
    for chunk in chunks {
        capture.push(chunk, directory.path());
    }
    (
        capture.captured(),
        fs::read(stream_path(directory.path(), attempt, stream)).ok(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn short_streams_are_whole_and_long_ones_keep_the_right_end(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..20),
        inline_max in 0u32..200,
    ) {
        let whole = chunks.concat();
        let limit = inline_max as usize;
        for stream in [Stream::Stdout, Stream::Stderr] {
            let (captured, file) = captured_from(stream, inline_max, &chunks);
            prop_assert_eq!(captured.bytes, whole.len() as u64);
            if whole.len() <= limit {
                prop_assert_eq!(&captured.inline, &whole);
                prop_assert_eq!((captured.kept, file), (Kept::Nowhere, None));
            } else {
                let inline = match stream {
                    Stream::Stdout => &whole[..limit],
                    Stream::Stderr => &whole[whole.len() - limit..],
                };
                prop_assert_eq!(&captured.inline[..], inline);
                prop_assert_eq!(captured.kept, Kept::File { bytes: whole.len() as u64 });
                prop_assert_eq!(file, Some(whole.clone()));
            }
        }
    }
}
