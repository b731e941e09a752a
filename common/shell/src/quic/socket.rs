//! The socket of links: large buffers, and a count of foreign packets.

use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};
use quinn_proto::{ConnectionId, ConnectionIdGenerator, HashedConnectionIdGenerator};
use socket2::{Domain, Protocol, Socket, Type};

use crate::limits::LINK_SOCKET_BYTES;

/// The supported version of QUIC.
const QUIC: [u8; 4] = [0, 0, 0, 1];

/// Opens a socket for links.
pub(super) fn open(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::DGRAM,
        Some(Protocol::UDP),
    )?;
    // The system grants as much as it allows; with less, links are slower and still work.
    socket.set_recv_buffer_size(LINK_SOCKET_BYTES)?;
    socket.set_send_buffer_size(LINK_SOCKET_BYTES)?;
    socket.bind(&address.into())?;
    Ok(socket.into())
}

/// A socket that counts packets that belong to none of its connections and begin none. The reader
/// of the socket drops them.
pub(super) struct CountedSocket {
    inner: Arc<dyn AsyncUdpSocket>,
    ids: HashedConnectionIdGenerator,
    n_foreign: Arc<AtomicU64>,
}

impl CountedSocket {
    pub(super) fn new(
        inner: Arc<dyn AsyncUdpSocket>,
        ids: HashedConnectionIdGenerator,
        n_foreign: Arc<AtomicU64>,
    ) -> CountedSocket {
        CountedSocket {
            inner,
            ids,
            n_foreign,
        }
    }

    /// Returns true if a packet may belong to this endpoint: a long header of this version of QUIC,
    /// or a short one with a connection id of this endpoint.
    fn is_ours(&self, packet: &[u8]) -> bool {
        let Some((first, rest)) = packet.split_first() else {
            return false;
        };
        if first & 0x80 != 0 {
            return rest.starts_with(&QUIC);
        }
        let id = rest.get(..self.ids.cid_len());
        id.is_some_and(|id| self.ids.validate(&ConnectionId::new(id)).is_ok())
    }
}

impl AsyncUdpSocket for CountedSocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Arc::clone(&self.inner).create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.inner.try_send(transmit)
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let n = ready!(self.inner.poll_recv(cx, buffers, metas))?;
        for (buffer, meta) in buffers.iter().zip(&*metas).take(n) {
            // The system joins packets of one sender; each begins a stride after the one before.
            let packets = buffer[..meta.len].chunks(meta.stride.max(1));
            let n_foreign = packets.filter(|packet| !self.is_ours(packet)).count();
            if n_foreign > 0 {
                self.n_foreign
                    .fetch_add(n_foreign as u64, Ordering::Relaxed);
            }
        }
        Poll::Ready(Ok(n))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.inner.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.inner.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.inner.may_fragment()
    }
}

impl std::fmt::Debug for CountedSocket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CountedSocket").finish_non_exhaustive()
    }
}
