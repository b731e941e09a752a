//! The bytes of a recording: decompressed, and without the blanks that people indent JSON with, which
//! are most of a large recording.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;

use super::ImportError;
use super::limits::RECORDING_BYTES_MAX;

/// Bytes that are looked at together.
const PIECE_BYTES: usize = 64 << 10;

/// Why the text of a recording was not read.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// The source of the bytes failed.
    #[error("could not read the recording")]
    Read(#[source] io::Error),
    /// The bytes are not those of a recording.
    #[error(transparent)]
    Import(#[from] ImportError),
}

pub(super) fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

/// The reason why bytes could not be decompressed.
pub(super) fn damaged(error: io::Error) -> ImportError {
    if error.kind() == ErrorKind::UnexpectedEof {
        ImportError::TruncatedGzip
    } else {
        ImportError::Gzip(error)
    }
}

/// The JSON of a recording without the blanks between its words, decompressed where that is needed. An
/// error in it tells another line and column than the file has.
pub fn compact(source: impl Read) -> Result<Vec<u8>, TextError> {
    let mut source = BufReader::with_capacity(PIECE_BYTES, source);
    let is_packed = is_gzip(source.fill_buf().map_err(TextError::Read)?);
    if is_packed {
        let unpacked = MultiGzDecoder::new(source);
        compact_within(unpacked, RECORDING_BYTES_MAX, |error| damaged(error).into())
    } else {
        compact_within(source, RECORDING_BYTES_MAX, TextError::Read)
    }
}

fn compact_within(
    mut source: impl Read,
    bytes_max: usize,
    failed: impl Fn(io::Error) -> TextError,
) -> Result<Vec<u8>, TextError> {
    let mut compacted = Compacted::default();
    let mut piece = vec![0; PIECE_BYTES];
    let mut n_bytes = 0;
    loop {
        let n = match source.read(&mut piece) {
            Ok(0) => return Ok(compacted.text),
            Ok(n) => n,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(failed(error)),
        };
        n_bytes += n;
        if n_bytes > bytes_max {
            return Err(ImportError::too_large(bytes_max).into());
        }
        compacted.push(&piece[..n]);
    }
}

/// JSON without blanks, as far as it was read.
#[derive(Default)]
struct Compacted {
    text: Vec<u8>,
    /// True within quotes.
    is_quoted: bool,
    /// True behind a backslash within quotes.
    is_escaped: bool,
}

impl Compacted {
    fn push(&mut self, mut rest: &[u8]) {
        while let Some(&first) = rest.first() {
            if self.is_escaped {
                self.text.push(first);
                self.is_escaped = false;
                rest = &rest[1..];
                continue;
            }
            if !self.is_quoted {
                let blanks = rest.iter().position(|byte| !is_blank(*byte));
                rest = &rest[blanks.unwrap_or(rest.len())..];
            }
            let ends = |byte: &u8| match self.is_quoted {
                true => matches!(byte, b'"' | b'\\'),
                false => *byte == b'"' || is_blank(*byte),
            };
            let end = rest.iter().position(ends).unwrap_or(rest.len());
            self.text.extend_from_slice(&rest[..end]);
            rest = &rest[end..];
            match rest.first() {
                Some(b'"') => self.is_quoted = !self.is_quoted,
                Some(b'\\') => self.is_escaped = self.is_quoted,
                Some(_) | None => continue,
            }
            self.text.push(rest[0]);
            rest = &rest[1..];
        }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    fn compacted(pieces: &[&[u8]]) -> Vec<u8> {
        let mut compacted = Compacted::default();
        for piece in pieces {
            compacted.push(piece);
        }
        compacted.text
    }

    #[test]
    fn blanks_within_quotes_stay() {
        let text = b" { \"a \\\" b\" :\t[ 1,\r\n 2 ], \"\\\\\" : \" \" }\n";
        assert_eq!(compacted(&[text]), b"{\"a \\\" b\":[1,2],\"\\\\\":\" \"}");
    }

    #[test]
    fn a_recording_may_be_as_long_packed_as_plain() {
        let text = b"[ 1, 2 ]";
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(text).unwrap();
        let packed = packed.finish().unwrap();
        assert_eq!(compact(&text[..]).unwrap(), b"[1,2]");
        assert_eq!(compact(&packed[..]).unwrap(), b"[1,2]");
        let within = |bytes_max| compact_within(&text[..], bytes_max, TextError::Read);
        assert_eq!(within(text.len()).unwrap(), b"[1,2]");
        assert_eq!(
            within(text.len() - 1).unwrap_err().to_string(),
            "the recording has more than 7 bytes of JSON"
        );
    }

    #[test]
    fn packed_bytes_that_end_early_are_told() {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&[b'1'; 1_000]).unwrap();
        let packed = packed.finish().unwrap();
        let error = compact(&packed[..packed.len() - 9]).unwrap_err();
        assert!(
            matches!(error, TextError::Import(ImportError::TruncatedGzip)),
            "{error:?}"
        );
    }

    proptest! {
        #[test]
        fn the_value_is_the_same_however_it_is_cut(
            keys in proptest::collection::vec("[ \\\\\"\n\ta-c]{0,6}", 0..6),
            cut in any::<prop::sample::Index>(),
        ) {
            let value = serde_json::json!({ "keys": keys, "n": [1, [2.5, null]] });
            let text = serde_json::to_vec_pretty(&value).unwrap();
            let cut = cut.index(text.len());
            let short = compacted(&[&text[..cut], &text[cut..]]);
            prop_assert_eq!(&short, &serde_json::to_vec(&value).unwrap());
        }
    }
}
