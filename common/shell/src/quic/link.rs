//! One link: from the greeting until its end.

use std::fmt;
use std::net::IpAddr;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use minicbor::{Decode, Encode};
use model::Identity;
use tokio::sync::oneshot;
use tokio::time::timeout;
use wire::hello::{Hello, Refusal};

use super::endpoint::duration;
use super::error::LinkError;
use super::forwarder::{self, Outgoing, unless};
use super::greeting::{self, Greeted};
use super::links::{Event, OnEvent, Shared};
use super::registry::LinkRegistration;
use super::stream;
use crate::limits::LINK_GREETING_MAX;
use crate::link::{Bringer, Carry, End, link};

/// A connection to a peer that waits for a manager. Dropping it ends the connection.
pub struct Link {
    /// The identity of the peer, from its certificate.
    pub peer: Identity,
    /// The greeting of the peer. Its identity agrees with the certificate.
    pub hello: Hello,
    /// The version of the messages.
    pub protocol: u16,
    /// The address of the peer when the link came up.
    pub address: IpAddr,
    joint: oneshot::Sender<Joint>,
}

/// The local end of a link.
enum Joint {
    /// A manager.
    Manager(Arc<Outgoing>, Bringer),
    /// A stream of bytes: frames are not inspected.
    Stream(UnixStream),
    /// Nothing, for this reason.
    Nobody(Refusal),
}

impl Link {
    /// The end for a manager that sends `S` and receives `R`. The link is up when the manager is
    /// attached.
    pub fn open<S, R>(self) -> End<S, R>
    where
        S: Encode<()>,
        R: for<'b> Decode<'b, ()> + 'static,
    {
        let (ours, theirs) = link::<S, R>();
        let outgoing: Arc<Outgoing> = Arc::default();
        let bringer = theirs.carried_by(Arc::clone(&outgoing) as Arc<dyn Carry>);
        // If the connection has ended already, the end is down from the beginning.
        let _ = self.joint.send(Joint::Manager(outgoing, bringer));
        ours
    }

    /// Joins the link to a stream: the peer's bytes can be read from it, and written bytes are sent
    /// to the peer. A side that does not read is not read from.
    pub fn carry(self, stream: UnixStream) {
        // If the connection has ended already, the stream ends too.
        let _ = self.joint.send(Joint::Stream(stream));
    }

    /// Ends the link with a reason for the peer.
    pub fn refuse(self, refusal: Refusal) {
        let _ = self.joint.send(Joint::Nobody(refusal));
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("peer", &self.peer)
            .field("hello", &self.hello)
            .finish_non_exhaustive()
    }
}

/// Passes a link to its manager and serves it until its end.
pub(super) async fn live(
    shared: &Shared,
    greeted: Greeted,
    place: LinkRegistration,
    on_event: &OnEvent,
) {
    shared.n_up.fetch_add(1, Ordering::Relaxed);
    let peer = greeted.certificate.identity.clone();
    let (joint, joined) = oneshot::channel();
    on_event(Event::Up(Link {
        peer: peer.clone(),
        hello: greeted.hello.clone(),
        protocol: greeted.protocol,
        address: greeted.connection.remote_address().ip().to_canonical(),
        joint,
    }));
    let error = match timeout(duration(LINK_GREETING_MAX), joined).await {
        Ok(Ok(Joint::Manager(outgoing, bringer))) => {
            forwarder::run(greeted, outgoing, bringer, place.farewell()).await
        }
        Ok(Ok(Joint::Stream(stream))) => {
            let connection = greeted.connection.clone();
            unless(place.farewell(), stream::run(greeted, stream))
                .await
                .unwrap_or_else(|| greeting::refuse(&connection, Refusal::Stopping))
        }
        Ok(Ok(Joint::Nobody(refusal))) => greeting::refuse(&greeted.connection, refusal),
        Ok(Err(_)) | Err(_) => greeting::refuse(&greeted.connection, Refusal::Role),
    };
    let error = place.reason().map_or(error, LinkError::Refused);
    drop(place);
    on_event(Event::Down { peer, error });
}
