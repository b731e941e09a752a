use std::fs;

use model::{ActivityId, ProcessId};
use proptest::prelude::*;

use super::*;

const KEPT_MAX: u64 = 1 << 10;

#[test]
fn no_more_than_so_many_bytes_are_kept_and_all_are_counted() {
    let chunks: Vec<Vec<u8>> = (0..20).map(|n| vec![n; 100]).collect();
    let (captured, file) = captured_from(Stream::Stdout, 50, &chunks);
    assert_eq!(captured.bytes, 2_000);
    assert_eq!(captured.kept, Kept::File { bytes: KEPT_MAX });
    assert_eq!(file.unwrap(), chunks.concat()[..1_024]);
}

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
    let mut capture = Capture::new(attempt, stream, reader, inline_max, KEPT_MAX);
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
