//! Tables of measurements, read from files in a stream.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use forecast::Quantity;
use forecast::table::{Choice, Entry, Table};

use crate::failure::Failure;
use crate::inputs::reason;
use crate::text;

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// The choice of a table and its columns.
#[derive(Args, Debug)]
pub(crate) struct Measurements {
    /// The table (CSV): a row a series, its name first; or a row a measurement; or a number a line
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The column of the values, where a row is a measurement
    #[arg(long, value_name = "NAME")]
    column: Option<String>,
    /// The column that names the series
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// The column of the time, which must grow within a series
    #[arg(long, value_name = "NAME")]
    time: Option<String>,
    /// The quantity that was measured: runtimes are above zero, loads zero or more
    #[arg(long, value_enum, default_value_t = Kind::Any)]
    quantity: Kind,
}

/// A quantity, as users choose it.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    /// Above zero
    Runtime,
    /// Zero or more
    Load,
    /// Any number
    Any,
}

impl Measurements {
    pub(crate) fn quantity(&self) -> Quantity {
        match self.quantity {
            Kind::Runtime => Quantity::Runtime,
            Kind::Load => Quantity::Load,
            Kind::Any => Quantity::Any,
        }
    }

    /// Reads all of it; a failure of `out` ends the reading.
    pub(crate) fn read(
        &self,
        out: &mut dyn FnMut(Entry<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let shown = self.file.display();
        let failed = |error: &io::Error| {
            Failure::refused(format!("could not read {shown}: {}", reason(error)))
        };
        let mut file = open(&self.file).map_err(|error| failed(&error))?;
        let mut table = Table::new(Choice {
            column: self.column.clone(),
            by: self.by.clone(),
            time: self.time.clone(),
            quantity: self.quantity(),
        });
        let wrong = |error: forecast::table::TableError| {
            Failure::refused(format!(
                "{shown}: {}",
                text::one_line(&error.to_string(), 400)
            ))
        };
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut failure = None;
        loop {
            let n = file.read(&mut chunk).map_err(|error| failed(&error))?;
            let mut take = |entry: Entry<'_>| {
                if failure.is_none() {
                    failure = out(entry).err();
                }
            };
            if n == 0 {
                table.finish(&mut take).map_err(wrong)?;
                return failure.map_or(Ok(()), Err);
            }
            table.feed(&chunk[..n], &mut take).map_err(wrong)?;
            if let Some(failure) = failure.take() {
                return Err(failure);
            }
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    Ok(file)
}

/// Writes a picture.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| {
        let shown = path.display();
        Failure::new(format!("could not write {shown}: {}", reason(&error)))
    })
}
