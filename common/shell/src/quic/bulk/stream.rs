//! Frames and pieces on a stream, each with a time limit.

use minicbor::{Decode, Encode};
use model::Span;
use quinn::{ReadError, ReadExactError, RecvStream, SendStream, WriteError};
use tokio::time::timeout;
use wire::bulk::FRAME_BYTES_MAX;
use wire::frame::{self, HEADER_BYTES};

use super::super::endpoint::duration;
use crate::limits::{BULK_PROGRESS_BYTES, BULK_SILENCE_MAX};

/// Why a stream cannot be used any further.
#[derive(Debug)]
pub(super) enum Broken {
    /// The stream was cut.
    Read(ReadError),
    Write(WriteError),
    /// The stream is too slow.
    Slow,
    /// The stream ended within a frame, or the frame cannot be decoded.
    Unreadable,
}

/// Reads one frame. Its length is checked before memory is allocated for it.
pub(super) async fn hear<T>(recv: &mut RecvStream, patience: Span) -> Result<T, Broken>
where
    T: for<'b> Decode<'b, ()>,
{
    let read = async {
        let exact = |error| match error {
            ReadExactError::FinishedEarly(_) => Broken::Unreadable,
            ReadExactError::ReadError(error) => Broken::Read(error),
        };
        let mut header = [0; HEADER_BYTES];
        recv.read_exact(&mut header).await.map_err(exact)?;
        let bytes = u32::from_le_bytes(header) as usize;
        if bytes > FRAME_BYTES_MAX {
            return Err(Broken::Unreadable);
        }
        let mut body = [0; FRAME_BYTES_MAX];
        recv.read_exact(&mut body[..bytes]).await.map_err(exact)?;
        wire::decode(&body[..bytes]).map_err(|_| Broken::Unreadable)
    };
    within(patience, read).await
}

/// Writes one frame.
pub(super) async fn say<T: Encode<()>>(send: &mut SendStream, message: &T) -> Result<(), Broken> {
    let mut bytes = Vec::new();
    frame::append(&mut bytes, |body| {
        body.extend_from_slice(&wire::encode(message));
    });
    write(send, &bytes).await
}

/// Writes a piece; each part of it has a time limit.
pub(super) async fn write(send: &mut SendStream, piece: &[u8]) -> Result<(), Broken> {
    for part in piece.chunks(BULK_PROGRESS_BYTES) {
        let written = async { send.write_all(part).await.map_err(Broken::Write) };
        within(BULK_SILENCE_MAX, written).await?;
    }
    Ok(())
}

/// Fills a piece; each part of it has a time limit. Returns the number of bytes, which is smaller
/// at the end.
pub(super) async fn read(recv: &mut RecvStream, piece: &mut [u8]) -> Result<usize, Broken> {
    let mut filled = 0;
    while filled < piece.len() {
        let until = piece.len().min(filled + BULK_PROGRESS_BYTES);
        let read = async {
            while filled < until {
                match recv.read(&mut piece[filled..until]).await {
                    Ok(Some(bytes)) => filled += bytes,
                    Ok(None) => return Ok(true),
                    Err(error) => return Err(Broken::Read(error)),
                }
            }
            Ok(false)
        };
        if within(BULK_SILENCE_MAX, read).await? {
            break;
        }
    }
    Ok(filled)
}

async fn within<T>(
    patience: Span,
    work: impl Future<Output = Result<T, Broken>>,
) -> Result<T, Broken> {
    match timeout(duration(patience), work).await {
        Ok(result) => result,
        Err(_) => Err(Broken::Slow),
    }
}
