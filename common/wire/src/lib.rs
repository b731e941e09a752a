//! The messages of all connections, exactly as they are sent: a module for each link.
//!
//! Messages evolve by adding: an index is never used for something else, and a reader that receives
//! an unknown variant reports it and goes on. Nothing here decides anything, and nothing but these
//! types crosses a connection. Read [`attempt`] first (process manager and activity manager), then
//! [`group`], [`resource`], [`client`] and [`executor`]; [`hello`] precedes all of them on a
//! connection between machines. Files have connections of their own, [`bulk`], and so do requests
//! to a group manager, [`admin`].

pub mod admin;
pub mod attempt;
pub mod bulk;
pub mod client;
pub mod executor;
pub mod frame;
pub mod group;
pub mod hello;
pub mod lease;
pub mod resource;

use minicbor::{Decode, Encode};

/// A message with its number on this connection. An unknown variant inside is `None`, so that a
/// peer of another version is answered and not disconnected.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Envelope<T> {
    /// Increases on each connection, so that an answer can refer to its request.
    #[n(0)]
    pub number: u64,
    /// The message.
    #[n(1)]
    pub message: Option<T>,
}

/// Bytes of the longest message between managers: a definition of a million activities, or a batch.
pub const MESSAGE_BYTES_MAX: usize = 256 << 20;

/// Encodes a message.
pub fn encode<T: Encode<()>>(message: &T) -> Vec<u8> {
    minicbor::to_vec(message).expect("a Vec takes every byte")
}

/// Decodes a message. The error names the offset of the first wrong byte.
pub fn decode<T: for<'b> Decode<'b, ()>>(bytes: &[u8]) -> Result<T, minicbor::decode::Error> {
    let mut decoder = minicbor::Decoder::new(bytes);
    let message = decoder.decode()?;
    if decoder.position() < bytes.len() {
        let error = minicbor::decode::Error::message("bytes after the end of the message");
        return Err(error.at(decoder.position()));
    }
    Ok(message)
}
