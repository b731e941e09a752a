//! The server of transfers: reads blobs from the depot and receives others into it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use model::{Hash, Identity, Role};
use quinn::{Endpoint, Incoming, RecvStream, SendStream, VarInt};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use wire::bulk::{Answer, Belongs, Refusal, Request};
use wire::hello;

use super::super::admission::{self, Admitted};
use super::super::endpoint::duration;
use super::super::greeting::{Wanted, known, refuse};
use super::super::incoming::{admit, connected};
use super::pace::Bucket;
use super::parked::{Part, discard, park};
use super::probe;
use super::stream::{Broken, hear, read, say, write};
use super::{
    Arrival, Arriving, Asked, Depot, MAY_GET, MAY_PUT, PeerEntry, Received, Shared, lock, pause,
};
use crate::clock;
use crate::limits::{
    BULK_CONNECTIONS_EACH_MAX, BULK_CONNECTIONS_MAX, BULK_CONNECTIONS_OF_USER_MAX,
    BULK_PIECE_BYTES, BULK_SIGN_OF_LIFE, BULK_SILENCE_MAX,
};

/// A peer that has dialled and may transfer.
pub(super) struct ServedPeer {
    shared: Arc<Shared>,
    number: u64,
    identity: Identity,
    bucket: Arc<Mutex<Bucket>>,
}

impl ServedPeer {
    fn asks(&self, hash: Hash, of: Option<Belongs>) -> Asked {
        Asked {
            peer: self.identity.clone(),
            hash,
            of,
        }
    }
}

impl Drop for ServedPeer {
    fn drop(&mut self) {
        let mut served_peers = lock(&self.shared.served_peers);
        served_peers.by_number.remove(&self.number);
        let is_there = |entry: &PeerEntry| entry.identity == self.identity;
        if !served_peers.by_number.values().any(is_there) {
            served_peers.buckets.remove(&self.identity);
        }
    }
}

/// Accepts peers that dial.
pub(super) async fn accept(endpoint: Endpoint, shared: Arc<Shared>) {
    while let Some(incoming) = endpoint.accept().await {
        if let Some((incoming, place)) = admit(incoming, &shared.admission) {
            Handle::current().spawn(arrive(incoming, place, Arc::clone(&shared)));
        }
    }
}

async fn arrive(incoming: Incoming, place: Admitted<admission::Source>, shared: Arc<Shared>) {
    let address = incoming.remote_address();
    let connection = match connected(incoming, &place).await {
        Ok(connection) => connection,
        Err(error) => {
            // Strangers can cause this as often as they like.
            tracing::debug!(%address, %error, "a peer did not connect for files");
            return;
        }
    };
    let wanted = Wanted::Roles(&MAY_GET, &shared.me);
    let certificate = match known(&connection, &wanted) {
        Ok(certificate) => certificate,
        Err(error) => {
            tracing::warn!(%address, %error, "no files for a peer");
            return;
        }
    };
    // The address is remembered as a member's. Nothing is left to greet, so the place is not kept.
    let identity = certificate.identity.to_string();
    drop(shared.admission.member(identity, address.ip()));
    drop(place);
    let entry = PeerEntry {
        identity: certificate.identity,
        serial: certificate.serial,
        connection: connection.clone(),
    };
    let Some(served) = enter(&shared, entry) else {
        refuse(&connection, hello::Refusal::Full);
        return;
    };
    let served = Arc::new(served);
    // The transport limits the peer's concurrent streams.
    while let Ok((send, recv)) = connection.accept_bi().await {
        Handle::current().spawn(serve(Arc::clone(&served), send, recv));
    }
}

/// Takes a place for the transfers of a member; none if all are taken, or its own ones.
fn enter(shared: &Arc<Shared>, entry: PeerEntry) -> Option<ServedPeer> {
    let mut served_peers = lock(&shared.served_peers);
    let of_peer = served_peers.by_number.values();
    let n_of_peer = of_peer
        .filter(|other| other.identity == entry.identity)
        .count();
    // A machine has one daemon; a user may have several commands at work.
    let n_max = if entry.identity.role().is_manager() {
        BULK_CONNECTIONS_EACH_MAX
    } else {
        BULK_CONNECTIONS_OF_USER_MAX
    };
    let is_full = served_peers.by_number.len() >= BULK_CONNECTIONS_MAX;
    if is_full || n_of_peer >= n_max {
        return None;
    }
    let number = served_peers.n_entered;
    served_peers.n_entered += 1;
    let identity = entry.identity.clone();
    served_peers.by_number.insert(number, entry);
    let bucket = served_peers.buckets.entry(identity.clone());
    let bucket = bucket.or_insert_with(|| Arc::new(Mutex::new(Bucket::new(shared.rate))));
    Some(ServedPeer {
        shared: Arc::clone(shared),
        number,
        identity,
        bucket: Arc::clone(bucket),
    })
}

/// One transfer.
async fn serve(served: Arc<ServedPeer>, mut send: SendStream, mut recv: RecvStream) {
    let shared = &served.shared;
    let Some(depot) = shared.depot.clone() else {
        return;
    };
    let role = served.identity.role();
    let done = match hear(&mut recv, BULK_SILENCE_MAX).await {
        Ok(Request::Get { .. }) if !may(&MAY_GET, role) => Err(Stopped::Refused(Refusal::Role)),
        Ok(Request::Put { .. }) if !may(&MAY_PUT, role) => Err(Stopped::Refused(Refusal::Role)),
        Ok(Request::Probe { .. }) if role != Role::Am => Err(Stopped::Refused(Refusal::Role)),
        Ok(Request::Get { hash, offset, of }) => {
            let asked = served.asks(hash, of);
            let given = give(&served, depot, asked, offset, &mut send).await;
            given.map(|()| &shared.n_served)
        }
        Ok(Request::Put { hash, bytes, of }) => {
            let asked = served.asks(hash, of);
            let taken = take(&served, depot, asked, bytes, &mut send, &mut recv).await;
            taken.map(|()| &shared.n_served)
        }
        Ok(Request::Probe { bytes }) => {
            let answered = probe::answer(&served, bytes, &mut send).await;
            answered.map(|()| &shared.n_probed)
        }
        Err(Broken::Unreadable) => Err(Stopped::Refused(Refusal::Unreadable)),
        Err(broken) => Err(Stopped::Broken(broken)),
    };
    match done {
        Ok(counted) => {
            counted.fetch_add(1, Ordering::Relaxed);
        }
        Err(Stopped::Refused(refusal)) => {
            shared.n_refused.fetch_add(1, Ordering::Relaxed);
            let said = say(&mut send, &Answer::Refused(refusal)).await;
            if said.is_err() {
                return;
            }
        }
        Err(Stopped::Broken(broken)) => {
            tracing::debug!(peer = %served.identity, ?broken, "a transfer ended early");
            let _ = send.reset(VarInt::from_u32(0));
            return;
        }
    }
    let _ = send.finish();
}

fn may(roles: &[Role], role: Role) -> bool {
    roles.contains(&role)
}

/// Why a transfer stopped.
pub(super) enum Stopped {
    Refused(Refusal),
    Broken(Broken),
}

impl From<Broken> for Stopped {
    fn from(broken: Broken) -> Stopped {
        Stopped::Broken(broken)
    }
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Stopped {
        tracing::warn!(%error, "a disk failed in a transfer");
        let is_full = matches!(
            error.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        );
        Stopped::Refused(if is_full {
            Refusal::DiskFull
        } else {
            Refusal::Failed
        })
    }
}

async fn give(
    served: &ServedPeer,
    depot: Arc<dyn Depot>,
    asked: Asked,
    offset: u64,
    send: &mut SendStream,
) -> Result<(), Stopped> {
    let hash = asked.hash;
    let opened = blocking(move || depot.open_for(&asked)).await?;
    let (file, bytes) = opened.ok_or(Stopped::Refused(Refusal::Missing))?;
    if offset > bytes {
        return Err(Stopped::Refused(Refusal::Offset));
    }
    say(send, &Answer::Sending { bytes }).await?;
    let file = Arc::new(file);
    let mut at = offset;
    let mut piece = Vec::new();
    while at < bytes {
        let wanted = (bytes - at).min(BULK_PIECE_BYTES as u64) as usize;
        piece = match read_at(Arc::clone(&file), piece, at, wanted).await {
            Ok(piece) => piece,
            Err(error) => {
                // The answer was sent; the stream only needs to end.
                tracing::warn!(%hash, %error, "a blob could not be read to its end");
                return Err(Stopped::Broken(Broken::Unreadable));
            }
        };
        pause_for(served, piece.len()).await;
        write(send, &piece).await?;
        at += piece.len() as u64;
        let counted = &served.shared.served_bytes;
        counted.fetch_add(piece.len() as u64, Ordering::Relaxed);
    }
    Ok(())
}

async fn take(
    served: &ServedPeer,
    depot: Arc<dyn Depot>,
    asked: Asked,
    bytes: u64,
    send: &mut SendStream,
    recv: &mut RecvStream,
) -> Result<(), Stopped> {
    let shared = &served.shared;
    let bytes_max = shared.blob_bytes_max;
    if bytes > bytes_max {
        return Err(Stopped::Refused(Refusal::TooLarge { bytes_max }));
    }
    let arriving = match begin(shared, depot, &asked, bytes).await? {
        Received::Coming(arriving) => arriving,
        Received::Here => return Ok(say(send, &Answer::Stored).await?),
        Received::Refused(refusal) => return Err(Stopped::Refused(refusal)),
    };
    let offset = arriving.bytes();
    let mut slot = Some(arriving);
    let filled = match say(send, &Answer::Send { offset }).await {
        Ok(()) => fill(served, bytes, recv, &mut slot).await,
        Err(broken) => Err(broken.into()),
    };
    // The part is kept in case the peer continues the upload.
    let arriving = slot.ok_or(Stopped::Refused(Refusal::Failed))?;
    match filled {
        Ok(()) => {}
        Err(Stopped::Broken(broken)) => {
            let part = Part {
                asked,
                bytes,
                since: clock::mono(),
                arriving,
            };
            park(shared, part).await;
            return Err(broken.into());
        }
        Err(refused @ Stopped::Refused(_)) => return Err(refused),
    }
    let mut finishing = std::pin::pin!(blocking(move || arriving.finish()));
    let arrival = loop {
        match timeout(duration(BULK_SIGN_OF_LIFE), &mut finishing).await {
            Ok(arrival) => break arrival?,
            // The disk is slow, so the peer is told that all bytes have arrived.
            Err(_) => say(send, &Answer::Send { offset: bytes }).await?,
        }
    };
    match arrival {
        Arrival::Sound => Ok(say(send, &Answer::Stored).await?),
        Arrival::Corrupt => Err(Stopped::Refused(Refusal::Corrupt)),
    }
}

/// Continues an interrupted upload, or asks the depot whether it takes another one.
async fn begin(
    shared: &Shared,
    depot: Arc<dyn Depot>,
    asked: &Asked,
    bytes: u64,
) -> io::Result<Received> {
    let continued = lock(&shared.parked).take(asked, bytes);
    if let Some(arriving) = continued {
        return Ok(Received::Coming(arriving));
    }
    // The depot admitted another size or for another process, so the part is worth nothing. What it
    // has of its peer's quota is free again before the depot is asked.
    let replaced = lock(&shared.parked).take_replaced(asked);
    discard(replaced).await;
    let asked = asked.clone();
    blocking(move || depot.receive_from(&asked, bytes)).await
}

/// Writes the arriving bytes until the blob is complete. The slot is empty afterwards only if the
/// disk failed.
async fn fill(
    served: &ServedPeer,
    bytes: u64,
    recv: &mut RecvStream,
    slot: &mut Option<Box<dyn Arriving>>,
) -> Result<(), Stopped> {
    let mut piece = vec![0; BULK_PIECE_BYTES];
    while let Some(mut arriving) = slot.take() {
        let left = bytes - arriving.bytes();
        if left == 0 {
            *slot = Some(arriving);
            break;
        }
        let wanted = left.min(BULK_PIECE_BYTES as u64) as usize;
        pause_for(served, wanted).await;
        let filled = match read(recv, &mut piece[..wanted]).await {
            Ok(filled) => filled,
            Err(broken) => {
                *slot = Some(arriving);
                return Err(broken.into());
            }
        };
        let mut full = std::mem::take(&mut piece);
        let written = blocking(move || {
            arriving.write(&full[..filled])?;
            full.resize(BULK_PIECE_BYTES, 0);
            Ok((arriving, full))
        });
        let (arriving, emptied) = written.await?;
        *slot = Some(arriving);
        piece = emptied;
        let counted = &served.shared.served_bytes;
        counted.fetch_add(filled as u64, Ordering::Relaxed);
        if filled < wanted {
            return Err(Stopped::Refused(Refusal::Corrupt));
        }
    }
    // A peer that sends more bytes than announced is in error.
    match read(recv, &mut [0]).await? {
        0 => Ok(()),
        _ => Err(Stopped::Refused(Refusal::Corrupt)),
    }
}

pub(super) async fn pause_for(served: &ServedPeer, bytes: usize) {
    let wait = served.shared.pace(&served.bucket, clock::mono(), bytes);
    if wait > model::Span::ZERO {
        pause(wait).await;
    }
}

async fn read_at(
    file: Arc<File>,
    mut piece: Vec<u8>,
    at: u64,
    bytes: usize,
) -> io::Result<Vec<u8>> {
    blocking(move || {
        piece.resize(bytes, 0);
        file.read_exact_at(&mut piece, at)?;
        Ok(piece)
    })
    .await
}

/// Runs disk work on another thread and waits for it.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    match spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(io::Error::other(error)),
    }
}
