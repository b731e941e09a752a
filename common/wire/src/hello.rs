//! The first frames of each connection between two machines: both identify themselves and name
//! their protocol versions. The identity must agree with the certificate, which alone is trusted.

use minicbor::{Decode, Encode};
use model::{Epoch, ResourceId};
use thiserror::Error;

/// Bytes of the longest [`Hello`].
pub const HELLO_BYTES_MAX: usize = 4 << 10;

/// The versions that this program supports.
pub const PROTOCOLS: Protocols = Protocols {
    oldest: 1,
    newest: 1,
};

/// The first frame of a connection, from the dialling side; and the answer to it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Hello {
    /// The versions that the sender supports.
    #[n(0)]
    pub protocols: Protocols,
    /// The sender's identity, as in its certificate: `xav://grid/group/role/name`.
    #[n(1)]
    pub identity: String,
    /// The sender's epoch. A connection of an earlier epoch is refused while a later one exists.
    #[n(2)]
    pub epoch: Epoch,
    /// The number of the sender's machine in its group, if it has one.
    #[n(3)]
    pub resource: Option<ResourceId>,
    /// The sender's version, for people.
    #[n(4)]
    pub program: String,
}

/// A range of protocol versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Protocols {
    /// The oldest supported version.
    #[n(0)]
    pub oldest: u16,
    /// The newest supported version.
    #[n(1)]
    pub newest: u16,
}

impl Protocols {
    /// The newest version that both sides support.
    pub fn common(self, other: Protocols) -> Option<u16> {
        let newest = self.newest.min(other.newest);
        (newest >= self.oldest.max(other.oldest)).then_some(newest)
    }
}

macro_rules! refusals {
    ($($(#[doc = $doc:literal])* $name:ident = $code:literal, $text:literal;)*) => {
        /// Why a side ends a connection. It is sent as the error code of the close.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Error)]
        pub enum Refusal {
            $($(#[doc = $doc])* #[error($text)] $name,)*
        }

        impl Refusal {
            /// All of them.
            pub const ALL: &[Refusal] = &[$(Refusal::$name),*];

            /// Its code, the same for ever.
            pub const fn code(self) -> u32 {
                match self { $(Refusal::$name => $code,)* }
            }
        }
    };
}

refusals! {
    /// Nothing is wrong.
    Stopping = 1, "the manager is stopping";
    /// The same peer has connected again.
    Replaced = 2, "the peer has connected anew";
    /// No version is supported by both sides.
    Protocol = 3, "there is no version of the protocol that both sides speak";
    /// The first frame is missing or unreadable.
    Greeting = 4, "the greeting could not be read";
    /// The first frame came too late.
    Late = 5, "the greeting did not come in time";
    /// The greeting and the certificate name different identities.
    Pretender = 6, "the greeting names somebody else than the certificate";
    /// The peer's role is not accepted here.
    Role = 7, "the role in the certificate is not served here";
    /// The certificate is of another grid or group.
    Group = 8, "the certificate is of another group";
    /// The dialling side expected another peer.
    Stranger = 9, "the certificate is not of the one that was dialled";
    /// A later epoch of the same peer is connected.
    Epoch = 10, "a later epoch of the same peer is connected";
    /// All places for connections are taken.
    Full = 11, "there are as many connections as there may be";
    /// The peer does not read what is sent to it, or the manager here does not keep up.
    Slow = 12, "the receiver does not keep up";
    /// A frame is too long.
    TooLong = 13, "a message is longer than messages may be";
    /// A frame cannot be decoded.
    Malformed = 14, "a message could not be read";
    /// The certificate is of an untrusted authority.
    Authority = 15, "the certificate is of an authority that is not trusted";
    /// The certificate is not valid at this time.
    Expired = 16, "the certificate is not valid at this time";
    /// The certificate was revoked.
    Revoked = 17, "the certificate was revoked";
    /// The certificate is missing or not for this purpose.
    Certificate = 18, "the certificate cannot be used";
    /// The greeting has the number of another machine.
    Number = 19, "the number in the greeting is another machine's";
}

impl Refusal {
    /// The refusal with this code; none for one of a later version.
    pub fn of(code: u64) -> Option<Refusal> {
        let mut all = Refusal::ALL.iter().copied();
        all.find(|refusal| u64::from(refusal.code()) == code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_common_version_is_spoken() {
        let range = |oldest, newest| Protocols { oldest, newest };
        assert_eq!(range(1, 3).common(range(2, 5)), Some(3));
        assert_eq!(range(2, 5).common(range(1, 3)), Some(3));
        assert_eq!(range(1, 1).common(range(2, 3)), None);
        assert_eq!(range(1, 2).common(range(2, 3)), Some(2));
        assert_eq!(range(3, 1).common(range(1, 3)), None);
    }

    #[test]
    fn numbers_of_refusals_are_their_own() {
        for &refusal in Refusal::ALL {
            assert_eq!(Refusal::of(refusal.code().into()), Some(refusal));
        }
        assert_eq!(Refusal::of(0), None);
        assert_eq!(Refusal::of(1 << 40), None);
    }

    #[test]
    fn a_greeting_is_as_it_always_was() {
        let hello = Hello {
            protocols: PROTOCOLS,
            identity: "xav://g/g/am/n".to_owned(),
            epoch: Epoch(7),
            resource: Some(ResourceId::local(3)),
            program: "0.1.0".to_owned(),
        };
        let bytes = crate::encode(&hello);
        assert_eq!(
            bytes,
            b"\x85\x82\x01\x01\x6exav://g/g/am/n\x07\x03\x650.1.0"
        );
        assert_eq!(crate::decode::<Hello>(&bytes).unwrap(), hello);
    }
}
