//! Fields of comma-separated values, byte by byte.

use super::{FIELD_BYTES_MAX, TableError};

/// A field that has ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// By a comma.
    Field(String),
    /// By the end of its line.
    Row(String),
}

#[derive(Debug, Default)]
pub(super) struct Fields {
    bytes: Vec<u8>,
    quote: Quote,
    /// True if anything of the present line has been seen.
    begun: bool,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Quote {
    #[default]
    None,
    Inside,
    /// Right behind a mark inside, which may be doubled.
    Closing,
}

impl Fields {
    pub(super) fn push(&mut self, byte: u8, line: u64) -> Result<Option<Piece>, TableError> {
        if self.quote == Quote::Inside {
            match byte {
                b'"' => self.quote = Quote::Closing,
                _ => self.add(byte, line)?,
            }
            return Ok(None);
        }
        let was_closing = std::mem::take(&mut self.quote) == Quote::Closing;
        match byte {
            b',' => {
                self.begun = true;
                Ok(Some(Piece::Field(self.end(line)?)))
            }
            b'\n' => {
                if self.bytes.last() == Some(&b'\r') {
                    self.bytes.pop();
                }
                self.begun = false;
                Ok(Some(Piece::Row(self.end(line)?)))
            }
            b'"' if was_closing => {
                self.add(byte, line)?;
                self.quote = Quote::Inside;
                Ok(None)
            }
            b'"' if self.bytes.is_empty() => {
                self.begun = true;
                self.quote = Quote::Inside;
                Ok(None)
            }
            _ => {
                self.begun = true;
                self.add(byte, line)?;
                Ok(None)
            }
        }
    }

    /// The field that the end of the file ends, if there is one.
    pub(super) fn finish(&mut self, line: u64) -> Result<Option<String>, TableError> {
        if self.quote == Quote::Inside {
            return Err(TableError::OpenQuote { line });
        }
        if self.begun {
            self.end(line).map(Some)
        } else {
            Ok(None)
        }
    }

    fn add(&mut self, byte: u8, line: u64) -> Result<(), TableError> {
        if self.bytes.len() == FIELD_BYTES_MAX {
            return Err(TableError::FieldTooLong { line });
        }
        self.bytes.push(byte);
        Ok(())
    }

    fn end(&mut self, line: u64) -> Result<String, TableError> {
        let text = std::str::from_utf8(&self.bytes).map_err(|_| TableError::NotText { line })?;
        // The mark that some programs begin a file with is no text.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).to_owned();
        self.bytes.clear();
        Ok(text)
    }
}
