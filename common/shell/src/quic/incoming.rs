//! Incoming connections: their handshake, identity and purpose.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use quinn::{Connection, Endpoint, Incoming, VarInt};
use tokio::runtime::Handle;
use tokio::time::timeout;
use wire::hello::Refusal;

use super::admission::{Admission, Admitted, Source};
use super::endpoint::duration;
use super::error::LinkError;
use super::greeting::{self, Greeted};
use super::link::live;
use super::links::{Event, OnEvent, Shared};
use super::registry;
use super::request_server;
use super::trust;
use crate::limits::{LINK_GREETING_MAX, LINK_WINDOW_BYTES};

/// Accepts peers that dial.
pub(super) async fn accept(endpoint: Endpoint, shared: Arc<Shared>, on_event: Arc<OnEvent>) {
    while let Some(incoming) = endpoint.accept().await {
        let Some((incoming, place)) = admit(incoming, &shared.admission) else {
            continue;
        };
        let (shared, on_event) = (Arc::clone(&shared), Arc::clone(&on_event));
        Handle::current().spawn(async move { arrive(incoming, place, &shared, &*on_event).await });
    }
}

/// A place for the handshake of an incoming connection; none if its address must first prove that
/// packets reach it.
pub(super) fn admit(
    incoming: Incoming,
    admission: &Admission,
) -> Option<(Incoming, Admitted<Source>)> {
    let address = incoming.remote_address().ip();
    if incoming.may_retry()
        && !incoming.remote_address_validated()
        && admission.wants_proof(address)
    {
        // Cannot fail where a retry is permitted.
        let _ = incoming.retry();
        return None;
    }
    let place = admission.handshake(address);
    Some((incoming, place))
}

/// The connection after its handshake, which ends early if another one takes its place.
pub(super) async fn connected(
    incoming: Incoming,
    place: &Admitted<Source>,
) -> Result<Connection, LinkError> {
    // A handshake is otherwise bounded only by silence, and a slow trickle would keep it alive.
    let handshake = async { Ok(incoming.accept()?.await?) };
    let handshake = timeout(duration(LINK_GREETING_MAX), place.hold(handshake)).await;
    handshake.unwrap_or(Err(LinkError::Refused(Refusal::Late)))
}

/// Handles one incoming connection.
async fn arrive(
    incoming: Incoming,
    place: Admitted<Source>,
    shared: &Arc<Shared>,
    on_event: &OnEvent,
) {
    let address = incoming.remote_address();
    let failed = |error| {
        shared.n_failed.fetch_add(1, Ordering::Relaxed);
        on_event(Event::TurnedAway { address, error });
    };
    let connection = match connected(incoming, &place).await {
        Ok(connection) => connection,
        Err(error) => return failed(error),
    };
    let is_for_requests = trust::is_for_requests(&connection);
    let Some(member) = greeting::certificate(&connection) else {
        if !is_for_requests || connection.peer_identity().is_some() {
            return failed(greeting::refuse(&connection, Refusal::Certificate));
        }
        let place_of_stranger = shared.admission.stranger(address.ip());
        drop(place);
        let asked = request_server::serve_stranger(&connection, &shared.requests, address.ip());
        return match place_of_stranger.hold(asked).await {
            Ok(()) => {}
            Err(LinkError::Refused(refusal)) => failed(greeting::refuse(&connection, refusal)),
            Err(error) => failed(error),
        };
    };
    let identity = member.identity.to_string();
    let place_of_member = shared.admission.member(identity, address.ip());
    drop(place);
    // Until here the peer was a stranger with a small window.
    connection.set_receive_window(VarInt::from_u32(LINK_WINDOW_BYTES));
    if is_for_requests {
        drop(place_of_member);
        let revocations = || Arc::clone(&shared.now().revocations);
        let me = shared.now().me.clone();
        let member = (&member, address.ip());
        let error =
            request_server::serve_member(&connection, &shared.requests, member, &me, revocations)
                .await;
        tracing::debug!(%address, %error, "a visit has ended");
        return;
    }
    let greeted = timeout(
        duration(LINK_GREETING_MAX),
        place_of_member.hold(greet(&connection, shared)),
    );
    let greeted = match greeted.await {
        Ok(Err(LinkError::Refused(refusal))) => Err(greeting::refuse(&connection, refusal)),
        Ok(result) => result,
        Err(_) => Err(greeting::refuse(&connection, Refusal::Late)),
    };
    drop(place_of_member);
    match greeted {
        Ok((greeted, place)) => live(shared, greeted, place, on_event).await,
        Err(error) => failed(error),
    }
}

/// Receives the greeting, and answers it when there is a place for the link.
async fn greet(
    connection: &Connection,
    shared: &Arc<Shared>,
) -> Result<(Greeted, registry::LinkRegistration), LinkError> {
    let me = shared.now().me.clone();
    let mut greeted = greeting::listen(connection.clone(), &shared.roles, &me).await?;
    let place = shared.enter(&greeted).await?;
    let hello = shared.now().hello.clone();
    greeting::answer(&mut greeted, &hello).await?;
    Ok((greeted, place))
}
