//! Moves bytes between a connection and a stream inside the program until one of them ends. Nothing
//! is buffered without bound here: a side that does not read is not read from either, and the owner
//! of the stream's other end decides how long that may last.

use std::future::pending;
use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::os::unix::net;
use std::pin::pin;

use quinn::{RecvStream, SendStream};
use socket2::SockRef;
use tokio::net::UnixStream;
use tokio::time::timeout;
use wire::frame::FILL_BYTES;
use wire::hello::Refusal;

use super::endpoint::duration;
use super::error::LinkError;
use super::forwarder::{expired, first};
use super::greeting::{Greeted, refuse};
use crate::limits::LINK_FAREWELL_MAX;

/// Serves a connection until its end. The stream ends with it.
pub(super) async fn run(greeted: Greeted, stream: net::UnixStream) -> LinkError {
    let Greeted {
        connection,
        mut send,
        mut recv,
        certificate,
        ..
    } = greeted;
    let inside = stream
        .set_nonblocking(true)
        .and_then(|()| UnixStream::from_std(stream));
    let stream = match inside {
        Ok(stream) => stream,
        Err(error) => {
            refuse(&connection, Refusal::Stopping);
            return LinkError::Failed(error.to_string());
        }
    };
    let why = first([
        pin!(outwards(&stream, &mut send)),
        pin!(inwards(&mut recv, &stream)),
        pin!(expired(certificate.not_after)),
        pin!(async { connection.closed().await.into() }),
    ])
    .await;
    let refusal = match why {
        LinkError::Refused(refusal) => refusal,
        LinkError::RefusedByPeer(_)
        | LinkError::Silent
        | LinkError::Forgotten
        | LinkError::Ended(_)
        | LinkError::Failed(_)
        | LinkError::Address { .. } => Refusal::Stopping,
    };
    refuse(&connection, refusal);
    why
}

async fn outwards(from: &UnixStream, to: &mut SendStream) -> LinkError {
    let mut bytes = vec![0; FILL_BYTES];
    loop {
        let read = match from.readable().await {
            Ok(()) => from.try_read(&mut bytes),
            Err(error) => Err(error),
        };
        match read {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Ok(0) | Err(_) => break,
            Ok(n) => {
                if let Err(error) = to.write_all(&bytes[..n]).await {
                    return error.into();
                }
            }
        }
    }
    // Bytes that were sent before the end still arrive, if the peer reads them in time.
    if to.finish().is_ok() {
        let _ = timeout(duration(LINK_FAREWELL_MAX), to.stopped()).await;
    }
    LinkError::Refused(Refusal::Stopping)
}

async fn inwards(from: &mut RecvStream, to: &UnixStream) -> LinkError {
    loop {
        match from.read_chunk(FILL_BYTES, true).await {
            Ok(Some(chunk)) => {
                if write_all(to, &chunk.bytes).await.is_err() {
                    break;
                }
            }
            Ok(None) => {
                let _ = SockRef::from(to).shutdown(Shutdown::Write);
                break;
            }
            Err(error) => return error.into(),
        }
    }
    // The other direction goes on to its own end.
    pending().await
}

async fn write_all(to: &UnixStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        to.writable().await?;
        match to.try_write(bytes) {
            Ok(n) => bytes = &bytes[n..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
