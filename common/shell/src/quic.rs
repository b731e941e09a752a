//! Links to managers on other machines: QUIC with TLS 1.3 and a certificate on both sides.
//!
//! A connection carries one stream of frames in each direction, the same encoded messages as a link
//! inside a program. Each connection is one [`crate::link()`]: a manager attaches to its end and
//! gets `down` when the connection is lost; the next connection is another link. A peer that does
//! not keep up loses its link, and nobody waits for it.
//!
//! One thread with a small runtime serves all links of a program. It does not read the messages and
//! decides nothing but whom to trust. Read [`Links`] first, then [`LinkConfig`] and [`Link`];
//! [`RequestHandler`] and [`ask`] are for requests outside of links. Files have connections and a
//! thread of their own: [`Bulk`].

mod admission;
mod bulk;
mod calls;
mod dialling;
mod endpoint;
mod epoch;
mod error;
mod forwarder;
mod greeting;
mod incoming;
mod link;
mod links;
mod registry;
mod request_client;
mod request_server;
mod retry;
mod socket;
mod stream;
mod trust;

pub use bulk::{
    Arrival, Arriving, Asked, Bulk, BulkConfig, BulkCounts, BulkError, Depot, Received, Source,
};
pub(crate) use calls::Calls;
pub use epoch::{LinkEpoch, LinkEpochError, ResetKey};
pub use error::LinkError;
pub use link::Link;
pub use links::{Event, Kept, LinkConfig, LinkCounts, Links, LinksError};
pub use request_client::{RequestClient, Requester, Stopper, ask};
pub use request_server::{RequestHandler, RequestOrigin};

#[cfg(test)]
mod tests;
