//! Why there is no connection; both sides report the same reason.

use std::io;

use quinn::{ConnectionError, ReadError, TransportErrorCode, VarInt, WriteError};
use thiserror::Error;
use wire::hello::Refusal;

/// Why a connection was not made, or ended.
#[derive(Clone, Debug, Error)]
pub enum LinkError {
    /// This side ended it.
    #[error("refused the peer: {0}")]
    Refused(Refusal),
    /// The other side ended it.
    #[error("refused by the peer: {0}")]
    RefusedByPeer(Refusal),
    /// Nothing was received for the time that a peer may be silent.
    #[error("the peer is silent")]
    Silent,
    /// The peer has no such connection any more (a stateless reset; RFC 9000, 10.3): it has started
    /// again, or it ended the connection and the packet that says why was lost.
    #[error("the peer does not know this connection any more: it started again or ended it")]
    Forgotten,
    /// The peer ended it with a reason that this version does not know.
    #[error("ended by the peer: {0}")]
    Ended(String),
    /// The connection itself failed.
    #[error("the connection failed: {0}")]
    Failed(String),
    /// The peer's address cannot be parsed or resolved.
    #[error("could not find the address {address}: {reason}")]
    Address {
        /// As it was given.
        address: String,
        /// The system's error.
        reason: String,
    },
}

impl LinkError {
    /// The error of an address that cannot be resolved.
    pub(super) fn address(address: &str, error: &io::Error) -> LinkError {
        LinkError::Address {
            address: address.to_owned(),
            reason: error.to_string(),
        }
    }
}

/// The code with which a connection is closed.
pub(super) fn code(refusal: Refusal) -> VarInt {
    VarInt::from_u32(refusal.code())
}

impl From<ConnectionError> for LinkError {
    fn from(error: ConnectionError) -> LinkError {
        match error {
            ConnectionError::TimedOut => LinkError::Silent,
            ConnectionError::Reset => LinkError::Forgotten,
            ConnectionError::ApplicationClosed(close) => {
                match Refusal::of(close.error_code.into_inner()) {
                    Some(refusal) => LinkError::RefusedByPeer(refusal),
                    None => LinkError::Ended(close.to_string()),
                }
            }
            ConnectionError::ConnectionClosed(close) => match of_alert(close.error_code) {
                Some(refusal) => LinkError::RefusedByPeer(refusal),
                None if close.error_code == TransportErrorCode::CONNECTION_REFUSED => {
                    LinkError::RefusedByPeer(Refusal::Full)
                }
                None => LinkError::Ended(close.to_string()),
            },
            ConnectionError::TransportError(error) => match of_alert(error.code) {
                Some(refusal) => LinkError::Refused(refusal),
                None => LinkError::Failed(error.to_string()),
            },
            ConnectionError::LocallyClosed => LinkError::Refused(Refusal::Stopping),
            ConnectionError::VersionMismatch => LinkError::Refused(Refusal::Protocol),
            error @ ConnectionError::CidsExhausted => LinkError::Failed(error.to_string()),
        }
    }
}

impl From<ReadError> for LinkError {
    fn from(error: ReadError) -> LinkError {
        match error {
            ReadError::ConnectionLost(error) => error.into(),
            ReadError::Reset(_)
            | ReadError::ClosedStream
            | ReadError::IllegalOrderedRead
            | ReadError::ZeroRttRejected => LinkError::Failed(error.to_string()),
        }
    }
}

impl From<WriteError> for LinkError {
    fn from(error: WriteError) -> LinkError {
        match error {
            WriteError::ConnectionLost(error) => error.into(),
            WriteError::Stopped(_) | WriteError::ClosedStream | WriteError::ZeroRttRejected => {
                LinkError::Failed(error.to_string())
            }
        }
    }
}

/// The meaning of a TLS alert (RFC 8446, 6.2) about a certificate.
fn of_alert(code: TransportErrorCode) -> Option<Refusal> {
    let alert = u8::try_from(u64::from(code).checked_sub(0x100)?).ok()?;
    match alert {
        // decrypt_error is sent if an authority of the same name has another key.
        48 | 51 => Some(Refusal::Authority),
        45 => Some(Refusal::Expired),
        44 => Some(Refusal::Revoked),
        42 | 43 | 46 | 49 | 116 => Some(Refusal::Certificate),
        120 => Some(Refusal::Protocol),
        _ => None,
    }
}
