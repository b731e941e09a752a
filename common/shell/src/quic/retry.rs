//! Attempts to reach a peer, and the pauses between them.

use model::Span;
use quinn::{Connecting, Connection};
use tokio::time::timeout;

use super::endpoint::duration;
use super::error::LinkError;
use crate::limits::{LINK_KNOCK_CROWDED_MAX, LINK_KNOCK_MAX, LINK_RETRY_MAX, LINK_RETRY_MIN};

/// Connects to a peer that answers in time. An absent peer does not answer, and another attempt
/// reaches it sooner than the packets of this one, whose intervals grow.
pub(super) async fn reach(connecting: Connecting) -> Result<Connection, LinkError> {
    reach_within(connecting, LINK_KNOCK_MAX).await
}

/// The time for the first packet from a peer after so many attempts in a row that were not answered. A
/// manager that many clients dial at once answers late, and an attempt that ends early costs it the work
/// for nothing.
pub(super) fn patience(n_silent: u32) -> Span {
    Span(LINK_KNOCK_MAX.0 << n_silent.min(16)).min(LINK_KNOCK_CROWDED_MAX)
}

/// Connects to a peer whose first packet comes within a time.
pub(super) async fn reach_within(
    mut connecting: Connecting,
    longest: Span,
) -> Result<Connection, LinkError> {
    let heard = timeout(duration(longest), connecting.handshake_data()).await;
    match heard.map(|heard| heard.map(drop)) {
        Ok(Ok(())) => Ok(connecting.await?),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(LinkError::Silent),
    }
}

/// The pause after so many failures in a row (from 1). It doubles, and a random number takes up to
/// half of it away, so that the members of a group do not all reconnect at once when its manager
/// comes back.
pub(super) fn pause(n_failures: u32, drawn: u32) -> Span {
    let doublings = n_failures.saturating_sub(1).min(16);
    let whole = (LINK_RETRY_MIN.0 << doublings).min(LINK_RETRY_MAX.0);
    Span(whole - whole / 2 * u64::from(drawn) / u64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_bound_and_are_not_alike() {
        let longest: Vec<u64> = (0..8).map(|n| pause(n, 0).0 / 1_000).collect();
        assert_eq!(longest, [100, 100, 200, 400, 500, 500, 500, 500]);
        let shortest: Vec<u64> = (1..8).map(|n| pause(n, u32::MAX).0 / 1_000).collect();
        assert_eq!(shortest, [50, 100, 200, 250, 250, 250, 250]);
        assert_eq!(pause(u32::MAX, u32::MAX / 2).0 / 1_000, 375);
    }

    #[test]
    fn a_crowded_peer_is_given_twice_the_time_with_each_attempt_up_to_a_bound() {
        let given: Vec<u64> = (0..5).map(|n| patience(n).0 / 1_000).collect();
        assert_eq!(given, [1_000, 2_000, 4_000, 4_000, 4_000]);
        assert_eq!(patience(u32::MAX), LINK_KNOCK_CROWDED_MAX);
    }
}
