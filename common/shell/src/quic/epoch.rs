//! The state of a daemon's links that survives it: its epoch, and the key with which it resets
//! connections of an earlier epoch.

use std::fmt;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use model::Epoch;
use quinn::EndpointConfig;
use quinn_proto::HashedConnectionIdGenerator;
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use thiserror::Error;

use crate::clock;
use crate::identity::{FileError, read_secret, write_secret};

/// Bytes of the key.
const KEY_BYTES: usize = 32;

/// The files in a daemon's directory.
const KEY: &str = "links.key";
const EPOCH: &str = "links.epoch";

/// An epoch of a daemon on a network: one run between a start and its end.
#[derive(Clone, Debug)]
pub struct LinkEpoch {
    epoch: Epoch,
    key: ResetKey,
}

/// A secret that the daemon keeps over all its epochs. Packets of a connection of an earlier epoch
/// are answered with a reset that is made from it, so that their sender ends the connection at once
/// instead of waiting for a timeout.
#[derive(Clone)]
pub struct ResetKey([u8; KEY_BYTES]);

/// Why an epoch cannot begin.
#[derive(Debug, Error)]
pub enum LinkEpochError {
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file has other content.
    #[error("{0:?} holds no key of links or no epoch")]
    Unreadable(String),
    /// No random number could be drawn.
    #[error("could not draw a key")]
    Random,
}

impl LinkEpoch {
    /// Begins the next epoch of the daemon with this state directory. Its number is durable before
    /// any peer gets it.
    pub fn begin(directory: &Path) -> Result<LinkEpoch, LinkEpochError> {
        let key = ResetKey::kept_in(directory)?;
        let epoch = Epoch(LinkEpoch::last(directory)?.0 + 1);
        write_secret(&directory.join(EPOCH), &epoch.0.to_string())?;
        Ok(LinkEpoch { epoch, key })
    }

    /// The number of the last epoch of the daemon with this state directory. A restore raises it above all that others
    /// have seen: what the daemon's journal counts goes on from there too. Before the first one it is the time in
    /// seconds since 1970, since a directory without a state may be restored, and others have seen its epochs: no
    /// daemon starts once a second.
    pub fn last(directory: &Path) -> Result<Epoch, LinkEpochError> {
        let path = directory.join(EPOCH);
        Ok(match read_if_there(&path)? {
            Some(text) => Epoch(text.parse().map_err(|_| unreadable(&path))?),
            None => Epoch(clock::wall().0 / 1_000_000),
        })
    }

    /// The number: one more than that of the epoch before.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    pub(super) fn key(&self) -> &ResetKey {
        &self.key
    }
}

impl ResetKey {
    /// Reads the key of the daemon with this state directory, and draws it if there is none.
    pub fn kept_in(directory: &Path) -> Result<ResetKey, LinkEpochError> {
        let key = directory.join(KEY);
        if let Some(text) = read_if_there(&key)? {
            return parse(&text).map(ResetKey).ok_or_else(|| unreadable(&key));
        }
        let mut drawn = [0; KEY_BYTES];
        let result = SystemRandom::new().fill(&mut drawn);
        result.map_err(|_| LinkEpochError::Random)?;
        let text: String = drawn.iter().map(|byte| format!("{byte:02x}")).collect();
        write_secret(&key, &text)?;
        Ok(ResetKey(drawn))
    }

    /// The generator of connection ids, the same in each epoch.
    pub(super) fn connection_ids(&self) -> HashedConnectionIdGenerator {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.0);
        let tag = hmac::sign(&key, b"connection ids");
        let (first, _) = tag
            .as_ref()
            .split_first_chunk()
            .expect("a tag of SHA-256 has 32 bytes");
        HashedConnectionIdGenerator::from_key(u64::from_le_bytes(*first))
    }

    pub(super) fn endpoint_config(&self) -> EndpointConfig {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.0);
        let mut config = EndpointConfig::new(Arc::new(key));
        let ids = self.clone();
        config.cid_generator(move || Box::new(ids.connection_ids()));
        config
    }
}

impl fmt::Debug for ResetKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResetKey").finish_non_exhaustive()
    }
}

fn unreadable(path: &Path) -> LinkEpochError {
    LinkEpochError::Unreadable(path.display().to_string())
}

fn read_if_there(path: &Path) -> Result<Option<String>, FileError> {
    match read_secret(path) {
        Ok(text) => Ok(Some(text.trim_end().to_owned())),
        Err(FileError::System { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn parse(text: &str) -> Option<[u8; KEY_BYTES]> {
    let mut key = [0; KEY_BYTES];
    if text.len() != 2 * KEY_BYTES || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, at) in key.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
    }
    Some(key)
}
