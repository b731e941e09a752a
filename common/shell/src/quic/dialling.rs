//! Connections that this program opens to peers, again and again while they are wanted.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use model::Identity;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use wire::hello::Refusal;

use super::endpoint::duration;
use super::error::LinkError;
use super::forwarder::unless;
use super::greeting::{self, Greeted};
use super::link::live;
use super::links::{Event, OnEvent, Shared};
use super::registry::LinkRegistration;
use super::retry;
use crate::limits::{LINK_GREETING_MAX, LINK_RETRY_MAX};

/// Dials a peer until `stopped` is set. An established link ends by its farewell instead.
pub(super) async fn keep(
    shared: Arc<Shared>,
    address: String,
    peer: Identity,
    on_event: Arc<OnEvent>,
    mut stopped: watch::Receiver<bool>,
) {
    let mut n_failures = 0_u32;
    loop {
        let patience = duration(LINK_GREETING_MAX);
        let dialling = timeout(patience, dial(&shared, &address, &peer));
        let Some(dialled) = unless(is_over(&mut stopped), dialling).await else {
            return;
        };
        match dialled.unwrap_or(Err(LinkError::Refused(Refusal::Late))) {
            Ok((greeted, _place)) if *stopped.borrow() => {
                greeting::refuse(&greeted.connection, Refusal::Stopping);
                return;
            }
            Ok((greeted, place)) => {
                let began = tokio::time::Instant::now();
                live(&shared, greeted, place, &*on_event).await;
                // A peer that ends each link at once is dialled as rarely as one that is
                // unreachable.
                if began.elapsed() > duration(LINK_RETRY_MAX) {
                    n_failures = 0;
                }
            }
            Err(error) => {
                shared.n_failed.fetch_add(1, Ordering::Relaxed);
                let address = address.clone();
                on_event(Event::Failed { address, error });
            }
        }
        n_failures = n_failures.saturating_add(1);
        let mut drawn = [0; 4];
        // Without a random number the pause is the longest one.
        let _ = SystemRandom::new().fill(&mut drawn);
        let pause = duration(retry::pause(n_failures, u32::from_le_bytes(drawn)));
        if unless(is_over(&mut stopped), sleep(pause)).await.is_none() {
            return;
        }
    }
}

/// Waits until a peer is no longer to be dialled.
async fn is_over(stopped: &mut watch::Receiver<bool>) {
    // An error means that the sender is gone.
    let _ = stopped.wait_for(|&stopped| stopped).await;
}

async fn dial(
    shared: &Arc<Shared>,
    address: &str,
    peer: &Identity,
) -> Result<(Greeted, LinkRegistration), LinkError> {
    let target = resolve(address).await?;
    let (connecting, hello) = {
        let now = shared.now();
        let connecting = now
            .endpoint
            // The name is not sent and not compared: the certificate names the peer otherwise.
            .connect_with(now.client.clone(), target, "xavantes")
            .map_err(|error| LinkError::Failed(error.to_string()))?;
        (connecting, now.hello.clone())
    };
    let connection = retry::reach(connecting).await?;
    let greeted = greeting::greet(connection, peer, &hello).await?;
    let place = shared.enter(&greeted).await?;
    Ok((greeted, place))
}

pub(super) async fn resolve(address: &str) -> Result<SocketAddr, LinkError> {
    if let Ok(address) = address.parse() {
        return Ok(address);
    }
    let found = tokio::net::lookup_host(address).await;
    let mut found = found.map_err(|error| LinkError::address(address, &error))?;
    found.next().ok_or_else(|| {
        let error = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        LinkError::address(address, &error)
    })
}
