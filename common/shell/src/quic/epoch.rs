//! What outlives a daemon for its links' sake: the number of its life, and the key by which it tells
//! the peers of an earlier life that there is another one.

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

use crate::identity::{FileError, read_secret, write_secret};

/// Bytes of the key.
const KEY_BYTES: usize = 32;

/// The files in a daemon's directory.
const KEY: &str = "links.key";
const EPOCH: &str = "links.epoch";

/// A life of a daemon on a network.
#[derive(Clone, Debug)]
pub struct LinkEpoch {
    epoch: Epoch,
    key: ResetKey,
}

/// What only this daemon has, in all its lives: packets of a connection of an earlier life at the
/// same place are answered with what it makes, and their sender ends the connection at once instead
/// of waiting for the end of its patience.
#[derive(Clone)]
pub struct ResetKey([u8; KEY_BYTES]);

/// Why a life cannot begin.
#[derive(Debug, Error)]
pub enum LinkEpochError {
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file holds something else.
    #[error("{0:?} holds no key of links or no number of a life")]
    Unreadable(String),
    /// There was no random number.
    #[error("could not draw a key")]
    Random,
}

impl LinkEpoch {
    /// Begins another life of the daemon that keeps its state in a directory: its number is
    /// durable before anybody is told of it.
    pub fn begin(directory: &Path) -> Result<LinkEpoch, LinkEpochError> {
        let key = ResetKey::kept_in(directory)?;
        let path = directory.join(EPOCH);
        let before = match read_if_there(&path)? {
            Some(text) => text.parse().map_err(|_| unreadable(&path))?,
            None => 0_u64,
        };
        let epoch = Epoch(before + 1);
        write_secret(&path, &epoch.0.to_string())?;
        Ok(LinkEpoch { epoch, key })
    }

    /// Its number: that of the life before, and one.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    pub(super) fn key(&self) -> &ResetKey {
        &self.key
    }
}

impl ResetKey {
    /// That of the daemon that keeps its state in a directory, drawn where there is none.
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

    /// What names connections, the same in each life.
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
