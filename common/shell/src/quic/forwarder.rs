//! Forwards frames between a link and a connection until one of them ends.

use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use model::Wall;
use quinn::{RecvStream, SendStream};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use wire::MESSAGE_BYTES_MAX;
use wire::frame::{self, FrameBuffer, FrameError, HEADER_BYTES};
use wire::hello::Refusal;

use super::error::LinkError;
use super::greeting::{Greeted, refuse};
use crate::clock;
use crate::inbox::Refused;
use crate::limits::{LINK_FAREWELL_MAX, LINK_GREETING_MAX, LINK_WAITING_BYTES_MAX};
use crate::link::{Bringer, Carry};

/// Pieces of the stream that are taken at once.
const PIECES: usize = 32;

/// Interval at which a paused reader checks for room in its manager's queue.
const ROOM_PAUSE: Duration = Duration::from_millis(2);

/// Messages from the manager that are not yet written to the connection.
#[derive(Default)]
pub(super) struct Outgoing {
    waiting: Mutex<Waiting>,
    /// There is something to write.
    filled: Notify,
    /// The manager is attached.
    joined: Notify,
    /// The link is lost.
    lost: Notify,
}

#[derive(Default)]
struct Waiting {
    /// Whole frames.
    bytes: Vec<u8>,
    has_overflowed: bool,
    is_lost: bool,
}

impl Outgoing {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Nothing panics while it holds the lock.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Carry for Outgoing {
    fn take(&self, bytes: &[u8]) -> Result<(), Refused> {
        let mut waiting = self.lock();
        let whole = waiting.bytes.len() + HEADER_BYTES + bytes.len();
        if whole > LINK_WAITING_BYTES_MAX && !waiting.bytes.is_empty() {
            waiting.has_overflowed = true;
            return Err(Refused::Full);
        }
        frame::append(&mut waiting.bytes, |body| body.extend_from_slice(bytes));
        Ok(())
    }

    fn wake(&self) {
        self.filled.notify_one();
    }

    fn up(&self) {
        self.joined.notify_one();
    }

    fn down(&self) {
        self.lock().is_lost = true;
        self.lost.notify_one();
        self.filled.notify_one();
    }
}

/// Serves a link until its end, and notifies the peer and the manager. After `farewell` it ends
/// once the peer has everything that the manager had sent until then.
pub(super) async fn run(
    greeted: Greeted,
    outgoing: Arc<Outgoing>,
    bringer: Bringer,
    farewell: impl Future<Output = ()> + Send,
) -> LinkError {
    let Greeted {
        connection,
        mut send,
        mut recv,
        certificate,
        ..
    } = greeted;
    let why = first([
        pin!(write(&outgoing, &mut send)),
        pin!(read(&outgoing, &bringer, &mut recv)),
        pin!(lost(&outgoing)),
        pin!(async {
            farewell.await;
            outgoing.down();
            pending().await
        }),
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
    drop(bringer);
    why
}

/// The result of the future that ends first; the others are dropped.
pub(super) async fn first<const N: usize>(
    mut futures: [Pin<&mut (dyn Future<Output = LinkError> + Send)>; N],
) -> LinkError {
    poll_fn(|cx| {
        let mut ready = futures
            .iter_mut()
            .filter_map(|future| match future.as_mut().poll(cx) {
                Poll::Ready(why) => Some(why),
                Poll::Pending => None,
            });
        ready.next().map_or(Poll::Pending, Poll::Ready)
    })
    .await
}

/// The result of `work`, or none if `end` comes first; `work` is dropped then.
pub(super) async fn unless<T>(
    end: impl Future<Output = ()>,
    work: impl Future<Output = T>,
) -> Option<T> {
    let (mut end, mut work) = (pin!(end), pin!(work));
    poll_fn(|cx| match end.as_mut().poll(cx) {
        Poll::Ready(()) => Poll::Ready(None),
        Poll::Pending => work.as_mut().poll(cx).map(Some),
    })
    .await
}

/// Writes all waiting frames at once.
async fn write(outgoing: &Outgoing, send: &mut SendStream) -> LinkError {
    loop {
        let (bytes, is_lost) = {
            let mut waiting = outgoing.lock();
            (std::mem::take(&mut waiting.bytes), waiting.is_lost)
        };
        if !bytes.is_empty()
            && let Err(error) = send.write_chunk(bytes.into()).await
        {
            return error.into();
        }
        if is_lost {
            // Frames that were sent before the end still arrive, if the peer reads them in time.
            if send.finish().is_ok() {
                let _ = send.stopped().await;
            }
            return LinkError::Refused(Refusal::Stopping);
        }
        outgoing.filled.notified().await;
    }
}

/// Passes received frames to the manager, and stops reading while its queue is full.
async fn read(outgoing: &Outgoing, bringer: &Bringer, recv: &mut RecvStream) -> LinkError {
    let patience = Duration::from_micros(LINK_GREETING_MAX.0);
    if timeout(patience, outgoing.joined.notified()).await.is_err() {
        return LinkError::Refused(Refusal::Role);
    }
    let mut frames = FrameBuffer::new(MESSAGE_BYTES_MAX);
    let mut pieces: [_; PIECES] = std::array::from_fn(|_| Default::default());
    loop {
        room(bringer).await;
        let n_pieces = match recv.read_chunks(&mut pieces).await {
            Ok(Some(n_pieces)) => n_pieces,
            Ok(None) if frames.is_within_frame() => {
                return LinkError::Refused(Refusal::Malformed);
            }
            Ok(None) => return LinkError::RefusedByPeer(Refusal::Stopping),
            Err(error) => return error.into(),
        };
        for piece in &mut pieces[..n_pieces] {
            frames.push(piece);
            *piece = Default::default();
        }
        if let Err(refusal) = bring(&mut frames, bringer).await {
            return LinkError::Refused(refusal);
        }
        bringer.wake();
    }
}

/// Waits until the manager's queue has drained.
async fn room(bringer: &Bringer) {
    while !bringer.has_room() {
        bringer.wake();
        sleep(ROOM_PAUSE).await;
    }
}

/// Passes the complete frames. The queue has other senders, and a received piece may hold more
/// messages than the queue takes, so each message waits for room.
async fn bring(frames: &mut FrameBuffer, bringer: &Bringer) -> Result<(), Refusal> {
    loop {
        let body = match frames.take() {
            Ok(Some(body)) if !is_message(body) => return Err(Refusal::Malformed),
            Ok(Some(body)) => body.to_vec(),
            Ok(None) => return Ok(()),
            Err(FrameError::TooLong { .. }) => return Err(Refusal::TooLong),
            Err(FrameError::CutOff | FrameError::Read { .. }) => return Err(Refusal::Malformed),
        };
        room(bringer).await;
        bringer.bring(body).map_err(|refused| match refused {
            Refused::Full => Refusal::Slow,
            Refused::Closed => Refusal::Stopping,
        })?;
    }
}

/// Returns true if bytes are one value of the codec. The manager interprets it: an unknown message
/// of a later version is ignored and does no harm.
fn is_message(body: &[u8]) -> bool {
    let mut decoder = minicbor::Decoder::new(body);
    decoder.skip().is_ok() && decoder.position() == body.len()
}

/// Waits for the end of the link on this side.
async fn lost(outgoing: &Outgoing) -> LinkError {
    outgoing.lost.notified().await;
    if outgoing.lock().has_overflowed {
        return LinkError::Refused(Refusal::Slow);
    }
    // The writer says farewell; a peer that does not read may miss it.
    sleep(Duration::from_micros(LINK_FAREWELL_MAX.0)).await;
    LinkError::Refused(Refusal::Stopping)
}

/// Waits until the peer's certificate has expired.
pub(super) async fn expired(not_after: Wall) -> LinkError {
    let left = not_after.0.saturating_sub(clock::wall().0);
    sleep(Duration::from_micros(left)).await;
    LinkError::Refused(Refusal::Expired)
}
