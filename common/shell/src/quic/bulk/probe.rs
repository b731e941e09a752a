//! Probes: bytes that mean nothing, fetched to learn how fast the way to a peer is.

use model::Span;
use quinn::SendStream;
use tokio::sync::oneshot;
use wire::bulk::{Answer, PROBE_BYTES_MAX, Refusal, Request};

use super::ask::{Failed, open};
use super::give::{ServedPeer, Stopped, pause_for};
use super::stream::{hear, read, say, write};
use super::{Bulk, BulkError, Shared, Source};
use crate::clock;
use crate::limits::{BULK_PIECE_BYTES, BULK_PROBE_WARMING_BYTES, BULK_SILENCE_MAX};

/// Fetches so many bytes from a peer and returns the time from the request to the last byte. Others go before, so
/// that neither the greeting nor the slow start of the connection is measured.
pub(super) fn probe(bulk: &Bulk, from: &Source, bytes: u64) -> Result<Span, BulkError> {
    let (shared, from) = (std::sync::Arc::clone(&bulk.shared), from.clone());
    let (done, is_done) = oneshot::channel();
    bulk.handle.spawn(async move {
        let measured = async {
            pull(&shared, &from, BULK_PROBE_WARMING_BYTES).await?;
            pull(&shared, &from, bytes).await
        };
        let measured = measured.await.map_err(|failed| match failed {
            Failed::Cut(error) | Failed::Final(error) => error,
        });
        // The waiting thread may have gone.
        let _ = done.send(measured);
    });
    is_done.blocking_recv().unwrap_or(Err(BulkError::Stopping))
}

async fn pull(shared: &Shared, from: &Source, bytes: u64) -> Result<Span, Failed> {
    let (mut send, mut recv) = open(shared, from).await?;
    let since = clock::mono();
    say(&mut send, &Request::Probe { bytes }).await?;
    let _ = send.finish();
    match hear(&mut recv, BULK_SILENCE_MAX).await? {
        Answer::Sending { bytes: told } if told == bytes => {}
        Answer::Refused(refusal) => return Err(Failed::Final(BulkError::Refused(refusal))),
        Answer::Sending { .. } | Answer::Send { .. } | Answer::Stored => {
            return Err(Failed::Final(BulkError::Answer));
        }
    }
    let mut piece = vec![0; BULK_PIECE_BYTES];
    let mut left = bytes;
    while left > 0 {
        let wanted = left.min(BULK_PIECE_BYTES as u64) as usize;
        let filled = read(&mut recv, &mut piece[..wanted]).await?;
        left -= filled as u64;
        if filled < wanted {
            return Err(Failed::Final(BulkError::Answer));
        }
    }
    Ok(clock::mono().since(since))
}

/// Sends a peer as many bytes as it asks for.
pub(super) async fn answer(
    served: &ServedPeer,
    bytes: u64,
    send: &mut SendStream,
) -> Result<(), Stopped> {
    if bytes > PROBE_BYTES_MAX {
        let bytes_max = PROBE_BYTES_MAX;
        return Err(Stopped::Refused(Refusal::TooLarge { bytes_max }));
    }
    say(send, &Answer::Sending { bytes }).await?;
    let piece = vec![0; BULK_PIECE_BYTES];
    let mut left = bytes;
    while left > 0 {
        let next = left.min(BULK_PIECE_BYTES as u64) as usize;
        pause_for(served, next).await;
        write(send, &piece[..next]).await?;
        left -= next as u64;
    }
    Ok(())
}
