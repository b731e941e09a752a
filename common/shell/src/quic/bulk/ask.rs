//! The client of transfers: dials the peer that has a blob or is to get one, and continues after an
//! interruption.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use model::{Hash, Mono};
use quinn::{Connection, RecvStream, SendStream};
use tokio::sync::{Mutex as AsyncMutex, mpsc};
use tokio::time::timeout;
use wire::bulk::{Answer, Belongs, Request};
use wire::hello;

use super::super::dialling::resolve;
use super::super::endpoint::duration;
use super::super::error::LinkError;
use super::super::greeting::{Wanted, known};
use super::give::blocking;
use super::stream::{Broken, hear, read, say, write};
use super::{Arriving, Bulk, BulkError, Shared, Source, lock, pause};
use crate::clock;
use crate::limits::{
    BULK_CONNECTIONS_MAX, BULK_PAUSE, BULK_PIECE_BYTES, BULK_SILENCE_MAX, BULK_TRIES_MAX,
    BULK_UNREACHABLE, BULK_WAITING_PIECES_MAX, LINK_GREETING_MAX,
};

/// Connections to peers, one for each; idle ones end by themselves.
#[derive(Default)]
pub(super) struct Dialled(BTreeMap<Source, Arc<AsyncMutex<Line>>>);

/// A connection to a peer.
#[derive(Default)]
struct Line {
    connection: Option<Connection>,
    /// The last failure to reach the peer, and its time.
    failed: Option<(Mono, LinkError)>,
}

/// Data from the network for the writer.
enum Piece {
    /// The size of the whole blob.
    Whole(u64),
    Bytes(Vec<u8>),
    Failed(Failed),
}

/// Why a try has ended.
pub(super) enum Failed {
    /// Another try may continue from there.
    Cut(BulkError),
    /// Another try would fail alike.
    Final(BulkError),
}

/// Fetches the missing part of a blob.
pub(super) fn get(
    bulk: &Bulk,
    from: &Source,
    what: (Hash, Option<Belongs>),
    into: &mut dyn Arriving,
) -> Result<(), BulkError> {
    let mut n_tries = 0;
    loop {
        let before = into.bytes();
        let error = match get_once(bulk, from, what, into) {
            Ok(()) => return Ok(()),
            Err(Failed::Final(error)) => return Err(error),
            Err(Failed::Cut(error)) => error,
        };
        n_tries = if into.bytes() > before {
            0
        } else {
            n_tries + 1
        };
        if n_tries >= BULK_TRIES_MAX {
            return Err(error);
        }
        std::thread::sleep(duration(BULK_PAUSE));
    }
}

fn get_once(
    bulk: &Bulk,
    from: &Source,
    what: (Hash, Option<Belongs>),
    into: &mut dyn Arriving,
) -> Result<(), Failed> {
    let (pieces, mut come) = mpsc::channel(BULK_WAITING_PIECES_MAX);
    let (shared, from) = (Arc::clone(&bulk.shared), from.clone());
    let offset = into.bytes();
    bulk.handle.spawn(async move {
        if let Err(failed) = pull(&shared, &from, what, offset, &pieces).await {
            // The waiting thread may have gone.
            let _ = pieces.send(Piece::Failed(failed)).await;
        }
    });
    let mut whole = None;
    while let Some(piece) = come.blocking_recv() {
        match piece {
            Piece::Whole(bytes) => {
                let bytes_max = bulk.shared.blob_bytes_max;
                if bytes > bytes_max {
                    let error = BulkError::TooLarge { bytes, bytes_max };
                    return Err(Failed::Final(error));
                }
                whole = Some(bytes);
            }
            Piece::Bytes(bytes) => {
                let written = into.write(&bytes);
                written.map_err(|error| Failed::Final(BulkError::Disk(error)))?;
            }
            Piece::Failed(failed) => return Err(failed),
        }
    }
    match whole {
        Some(bytes) if bytes == into.bytes() => Ok(()),
        // All transfers ended before this one did.
        Some(_) | None => Err(Failed::Final(BulkError::Stopping)),
    }
}

/// Moves the bytes of a blob from the network to the writer.
async fn pull(
    shared: &Shared,
    from: &Source,
    (hash, of): (Hash, Option<Belongs>),
    offset: u64,
    pieces: &mpsc::Sender<Piece>,
) -> Result<(), Failed> {
    let (mut send, mut recv) = open(shared, from).await?;
    say(&mut send, &Request::Get { hash, offset, of }).await?;
    let _ = send.finish();
    let bytes = match hear(&mut recv, BULK_SILENCE_MAX).await? {
        Answer::Sending { bytes } if bytes >= offset => bytes,
        Answer::Refused(refusal) => return Err(Failed::Final(BulkError::Refused(refusal))),
        Answer::Sending { .. } | Answer::Send { .. } | Answer::Stored => {
            return Err(Failed::Final(BulkError::Answer));
        }
    };
    let is_gone = |_| Failed::Final(BulkError::Stopping);
    pieces.send(Piece::Whole(bytes)).await.map_err(is_gone)?;
    let mut at = offset;
    while at < bytes {
        let wanted = (bytes - at).min(BULK_PIECE_BYTES as u64) as usize;
        let mut piece = vec![0; wanted];
        let filled = read(&mut recv, &mut piece).await?;
        shared
            .asked_bytes
            .fetch_add(filled as u64, Ordering::Relaxed);
        piece.truncate(filled);
        at += filled as u64;
        pieces.send(Piece::Bytes(piece)).await.map_err(is_gone)?;
        if filled < wanted {
            let early = LinkError::Ended("the blob ended early".to_owned());
            return Err(Failed::Cut(BulkError::Cut(early)));
        }
    }
    Ok(())
}

/// Uploads a blob to a peer.
pub(super) fn put(
    bulk: &Bulk,
    to: &Source,
    what: (Hash, Option<Belongs>),
    file: File,
    bytes: u64,
) -> Result<(), BulkError> {
    let (shared, to, file) = (Arc::clone(&bulk.shared), to.clone(), Arc::new(file));
    let (done, mut is_done) = mpsc::channel(1);
    bulk.handle.spawn(async move {
        let mut n_tries = 0;
        let result = loop {
            let before = shared.asked_bytes.load(Ordering::Relaxed);
            let error = match push(&shared, &to, what, &file, bytes).await {
                Ok(()) => break Ok(()),
                Err(Failed::Final(error)) => break Err(error),
                Err(Failed::Cut(error)) => error,
            };
            let has_moved = shared.asked_bytes.load(Ordering::Relaxed) > before;
            n_tries = if has_moved { 0 } else { n_tries + 1 };
            if n_tries >= BULK_TRIES_MAX {
                break Err(error);
            }
            pause(BULK_PAUSE).await;
        };
        // The waiting thread may have gone.
        let _ = done.send(result).await;
    });
    is_done.blocking_recv().unwrap_or(Err(BulkError::Stopping))
}

async fn push(
    shared: &Shared,
    to: &Source,
    (hash, of): (Hash, Option<Belongs>),
    file: &Arc<File>,
    bytes: u64,
) -> Result<(), Failed> {
    let (mut send, mut recv) = open(shared, to).await?;
    say(&mut send, &Request::Put { hash, bytes, of }).await?;
    let mut at = match hear(&mut recv, BULK_SILENCE_MAX).await? {
        Answer::Send { offset } if offset <= bytes => offset,
        Answer::Stored => return Ok(()),
        Answer::Refused(refusal) => return Err(Failed::Final(BulkError::Refused(refusal))),
        Answer::Send { .. } | Answer::Sending { .. } => {
            return Err(Failed::Final(BulkError::Answer));
        }
    };
    let mut piece = Vec::new();
    while at < bytes {
        let wanted = (bytes - at).min(BULK_PIECE_BYTES as u64) as usize;
        let from = Arc::clone(file);
        let read = blocking(move || {
            piece.resize(wanted, 0);
            from.read_exact_at(&mut piece, at)?;
            Ok(piece)
        });
        let disk = |error| Failed::Final(BulkError::Disk(error));
        piece = read.await.map_err(disk)?;
        if let Err(broken) = write(&mut send, &piece).await {
            // A refusal during the upload arrives on the other half of the stream.
            return Err(match hear(&mut recv, BULK_PAUSE).await {
                Ok(Answer::Refused(refusal)) => Failed::Final(BulkError::Refused(refusal)),
                Ok(Answer::Sending { .. } | Answer::Send { .. } | Answer::Stored) | Err(_) => {
                    broken.into()
                }
            });
        }
        at += piece.len() as u64;
        shared
            .asked_bytes
            .fetch_add(piece.len() as u64, Ordering::Relaxed);
    }
    let _ = send.finish();
    loop {
        return match hear(&mut recv, BULK_SILENCE_MAX).await? {
            Answer::Stored => Ok(()),
            // The peer has all bytes and still writes them.
            Answer::Send { offset } if offset == bytes => continue,
            Answer::Refused(refusal) => Err(Failed::Final(BulkError::Refused(refusal))),
            Answer::Sending { .. } | Answer::Send { .. } => Err(Failed::Final(BulkError::Answer)),
        };
    }
}

/// Opens a stream to a peer, on the existing connection or on a new one.
pub(super) async fn open(shared: &Shared, to: &Source) -> Result<(SendStream, RecvStream), Failed> {
    let line = {
        let mut dialled = lock(&shared.dialled);
        if dialled.0.len() >= BULK_CONNECTIONS_MAX && !dialled.0.contains_key(to) {
            dialled.0.pop_first();
        }
        Arc::clone(dialled.0.entry(to.clone()).or_default())
    };
    let connection = {
        let mut line = line.lock().await;
        let standing = line.connection.as_ref();
        match standing.filter(|connection| connection.close_reason().is_none()) {
            Some(connection) => connection.clone(),
            None => dial(shared, to, &mut line).await.map_err(|source| {
                let address = to.address.clone();
                Failed::Final(BulkError::Connect { address, source })
            })?,
        }
    };
    connection
        .open_bi()
        .await
        .map_err(|error| Failed::Cut(BulkError::Cut(error.into())))
}

async fn dial(shared: &Shared, to: &Source, line: &mut Line) -> Result<Connection, LinkError> {
    if let Some((at, error)) = &line.failed
        && clock::mono().since(*at) < BULK_UNREACHABLE
    {
        return Err(error.clone());
    }
    let dialled = async {
        let target = resolve(&to.address).await?;
        let connecting = {
            let present = lock(&shared.present);
            let client = present.client.clone();
            // The name is not sent and not compared: the certificate names the peer otherwise.
            let connecting = present.endpoint.connect_with(client, target, "xavantes");
            connecting.map_err(|error| LinkError::Failed(error.to_string()))?
        };
        let connection = connecting.await?;
        known(&connection, &Wanted::Peer(&to.peer))?;
        Ok(connection)
    };
    let late = Err(LinkError::Refused(hello::Refusal::Late));
    let dialled = timeout(duration(LINK_GREETING_MAX), dialled).await;
    match dialled.unwrap_or(late) {
        Ok(connection) => {
            line.failed = None;
            line.connection = Some(connection.clone());
            Ok(connection)
        }
        Err(error) => {
            line.connection = None;
            line.failed = Some((clock::mono(), error.clone()));
            Err(error)
        }
    }
}

impl From<Broken> for Failed {
    fn from(broken: Broken) -> Failed {
        match broken {
            Broken::Read(error) => Failed::Cut(BulkError::Cut(error.into())),
            Broken::Write(error) => Failed::Cut(BulkError::Cut(error.into())),
            Broken::Slow => Failed::Final(BulkError::Slow),
            Broken::Unreadable => Failed::Final(BulkError::Answer),
        }
    }
}
