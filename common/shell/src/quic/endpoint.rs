//! The endpoint of links, and the settings of its transport.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use model::Span;
use quinn::{
    ClientConfig, Endpoint, IdleTimeout, Runtime as _, ServerConfig, TokioRuntime, TransportConfig,
    VarInt,
};
use tokio::runtime::Runtime;

use super::epoch::LinkEpoch;
use super::socket::CountedSocket;
use super::trust::Trust;
use crate::limits::{
    INCOMING_BYTES_ALL_MAX, INCOMING_BYTES_MAX, INCOMING_MAX, LINK_FIRST_ROUND_TRIP,
    LINK_KEEP_ALIVE, LINK_SILENCE_MAX, LINK_WINDOW_BYTES, REQUEST_SILENCE_MAX,
    UNKNOWN_WINDOW_BYTES,
};

pub(super) fn endpoint(
    runtime: &Runtime,
    socket: UdpSocket,
    epoch: &LinkEpoch,
    trust: &Trust,
    n_foreign: &Arc<AtomicU64>,
) -> io::Result<Endpoint> {
    let _entered = runtime.enter();
    let inner = TokioRuntime.wrap_udp_socket(socket)?;
    let socket = CountedSocket::new(inner, epoch.key().connection_ids(), Arc::clone(n_foreign));
    Endpoint::new_with_abstract_socket(
        epoch.key().endpoint_config(),
        Some(server_config(trust)),
        Arc::new(socket),
        Arc::new(TokioRuntime),
    )
}

pub(super) fn server_config(trust: &Trust) -> ServerConfig {
    let mut config = ServerConfig::with_crypto(Arc::clone(&trust.server) as _);
    let mut transport = transport();
    transport
        .receive_window(VarInt::from_u32(UNKNOWN_WINDOW_BYTES))
        // Whoever dials for a link says less.
        .max_idle_timeout(Some(idle(REQUEST_SILENCE_MAX)))
        // The side that has dialled sends something in time, and its packets and their
        // confirmations show each side that the other one is there.
        .keep_alive_interval(None);
    config.transport_config(Arc::new(transport));
    config
        .max_incoming(INCOMING_MAX)
        .incoming_buffer_size(INCOMING_BYTES_MAX)
        .incoming_buffer_size_total(INCOMING_BYTES_ALL_MAX);
    config
}

pub(super) fn client_config(trust: &Trust) -> ClientConfig {
    let mut config = ClientConfig::new(Arc::clone(&trust.client) as _);
    config.transport_config(Arc::new(transport()));
    config
}

pub(super) fn transport() -> TransportConfig {
    let mut config = TransportConfig::default();
    config
        .max_idle_timeout(Some(idle(LINK_SILENCE_MAX)))
        .keep_alive_interval(Some(duration(LINK_KEEP_ALIVE)))
        .initial_rtt(duration(LINK_FIRST_ROUND_TRIP))
        .max_concurrent_bidi_streams(VarInt::from_u32(1))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .datagram_receive_buffer_size(None)
        .stream_receive_window(VarInt::from_u32(LINK_WINDOW_BYTES))
        .receive_window(VarInt::from_u32(LINK_WINDOW_BYTES))
        .send_window(LINK_WINDOW_BYTES.into());
    config
}

/// Silence after which a connection is lost: the shorter one of what its two sides say.
pub(super) fn idle(silence: Span) -> IdleTimeout {
    let millis = u32::try_from(silence.0 / 1_000).expect("some seconds");
    IdleTimeout::from(VarInt::from_u32(millis))
}

pub(super) fn duration(span: Span) -> Duration {
    Duration::from_micros(span.0)
}
