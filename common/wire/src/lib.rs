//! What crosses a connection, exactly as it is sent: a module for each link.
//!
//! Messages evolve by adding: an index is never used for something else, and a reader that meets a
//! variant it does not know says so and goes on. Nothing here decides anything, and nothing but
//! these types crosses a connection.
//! Read [`attempt`] first (process manager and activity manager), then [`group`], [`resource`],
//! [`client`] and [`executor`]; [`hello`] comes before all of them on a connection between machines.
//! Files go on connections of their own, [`bulk`], and so do questions to the office of a grid,
//! [`admin`].

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
/// peer of another version is answered rather than cut off.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Envelope<T> {
    /// Counts up on each connection, so that an answer can name what it answers.
    #[n(0)]
    pub number: u64,
    /// The message.
    #[n(1)]
    pub message: Option<T>,
}

/// Bytes of the longest message between managers: a definition of a million activities, or a batch.
pub const MESSAGE_BYTES_MAX: usize = 256 << 20;

/// The bytes of a message.
pub fn encode<T: Encode<()>>(message: &T) -> Vec<u8> {
    minicbor::to_vec(message).expect("a Vec takes every byte")
}

/// A message from its bytes. The error says at which byte they are not one.
pub fn decode<T: for<'b> Decode<'b, ()>>(bytes: &[u8]) -> Result<T, minicbor::decode::Error> {
    let mut decoder = minicbor::Decoder::new(bytes);
    let message = decoder.decode()?;
    if decoder.position() < bytes.len() {
        let error = minicbor::decode::Error::message("bytes after the end of the message");
        return Err(error.at(decoder.position()));
    }
    Ok(message)
}
