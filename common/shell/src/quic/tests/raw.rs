//! A peer that can connect and then does as it likes.

use std::sync::Arc;
use std::time::Duration;

use model::Epoch;
use quinn::{ClientConfig, Connection, Endpoint, RecvStream, SendStream, TransportConfig};
use tokio::runtime::{Builder, Runtime};
use wire::frame::{self, FrameBuffer};
use wire::hello::{HELLO_BYTES_MAX, Hello, PROTOCOLS};

use super::super::endpoint::duration;
use super::super::trust::Trust;
use super::*;
use crate::limits::LINK_KEEP_ALIVE;

pub(super) struct Raw {
    pub(super) runtime: Runtime,
    endpoint: Endpoint,
    pub(super) hello: Hello,
}

/// A connection with its stream.
pub(super) struct RawLink {
    pub(super) connection: Connection,
    pub(super) send: SendStream,
    recv: RecvStream,
}

impl Raw {
    pub(super) fn new(credentials: &Credentials) -> Raw {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let trust = Trust::of(credentials).unwrap();
        let _entered = runtime.enter();
        let mut endpoint = Endpoint::client(any_port()).unwrap();
        let mut config = ClientConfig::new(Arc::clone(&trust.client) as _);
        // The side that dials keeps a connection alive.
        let mut transport = TransportConfig::default();
        transport.keep_alive_interval(Some(duration(LINK_KEEP_ALIVE)));
        config.transport_config(Arc::new(transport));
        endpoint.set_default_client_config(config);
        let hello = Hello {
            protocols: PROTOCOLS,
            identity: credentials.identity().to_string(),
            epoch: Epoch(1),
            resource: Some(ResourceId::local(7)),
            program: "raw".to_owned(),
        };
        drop(_entered);
        Raw {
            runtime,
            endpoint,
            hello,
        }
    }

    pub(super) fn connect(
        &self,
        node: &Node,
    ) -> impl Future<Output = Result<Connection, LinkError>> + Send + 'static {
        let _entered = self.runtime.enter();
        let connecting = self.endpoint.connect(node.links.address(), "x").unwrap();
        async move { Ok(connecting.await?) }
    }

    /// Connects and sends these bytes as a greeting; returns the reason of the end.
    pub(super) fn greet_with(&self, node: &Node, greeting: &[u8]) -> String {
        self.bounded(async {
            let connection = self.connect(node).await.unwrap();
            let (mut send, _recv) = connection.open_bi().await.unwrap();
            let _ = send.write_all(greeting).await;
            LinkError::from(connection.closed().await).to_string()
        })
    }

    /// Connects and greets correctly.
    pub(super) fn link(&self, node: &Node) -> RawLink {
        self.bounded(async {
            let connection = self.connect(node).await.unwrap();
            let (mut send, mut recv) = connection.open_bi().await.unwrap();
            send.write_all(&framed(&self.hello)).await.unwrap();
            let mut frames = FrameBuffer::new(HELLO_BYTES_MAX);
            while frames.take().unwrap().is_none() {
                let chunk = recv.read_chunk(1_000, true).await.unwrap().unwrap();
                frames.push(&chunk.bytes);
            }
            RawLink {
                connection,
                send,
                recv,
            }
        })
    }

    /// Sends bytes on a link, ends the stream, and waits for the end of the link.
    pub(super) fn end_with(&self, mut link: RawLink, bytes: &[u8]) -> String {
        self.bounded(async {
            let _ = link.send.write_all(bytes).await;
            let _ = link.send.finish();
            let _ = link.recv.read_to_end(1 << 20).await;
            LinkError::from(link.connection.closed().await).to_string()
        })
    }

    pub(super) fn bounded<T>(&self, future: impl Future<Output = T>) -> T {
        let patience = Duration::from_micros(PATIENCE.0);
        let bounded = async { tokio::time::timeout(patience, future).await };
        self.runtime.block_on(bounded).expect("something happens")
    }
}

pub(super) fn framed(hello: &Hello) -> Vec<u8> {
    let mut frame = Vec::new();
    frame::append(&mut frame, |body| {
        body.extend_from_slice(&wire::encode(hello));
    });
    frame
}
