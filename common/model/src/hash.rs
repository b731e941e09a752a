//! The name of a blob: its BLAKE3 hash.

use std::fmt;
use std::str::FromStr;

use minicbor::{Decode, Encode};

/// A BLAKE3 hash of 32 bytes. Other crates compute it: this one only carries it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct Hash(#[cbor(n(0), with = "minicbor::bytes")] pub [u8; 32]);

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({self})")
    }
}

impl FromStr for Hash {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WANTED: &str = "a hash is 64 hexadecimal digits";
        if text.len() != 64 || !text.is_ascii() {
            return Err(WANTED);
        }
        let mut bytes = [0; 32];
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).map_err(|_| WANTED)?;
        }
        Ok(Hash(bytes))
    }
}
