//! The beginning of each connection between two machines: both say who they are and what they
//! speak. What is said is compared with the certificate, which alone is believed.

use minicbor::{Decode, Encode};
use model::{Epoch, ResourceId};
use thiserror::Error;

/// Bytes of the longest [`Hello`].
pub const HELLO_BYTES_MAX: usize = 4 << 10;

/// What this program speaks.
pub const PROTOCOLS: Protocols = Protocols {
    oldest: 1,
    newest: 1,
};

/// The first frame of a connection, from its dialer; and the answer to it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Hello {
    /// What the sender speaks.
    #[n(0)]
    pub protocols: Protocols,
    /// Who the sender is, as its certificate says it: `xav://grid/group/role/name`.
    #[n(1)]
    pub identity: String,
    /// The sender's life. A connection of an earlier life is refused while a later one is there.
    #[n(2)]
    pub epoch: Epoch,
    /// The number that its group has given to the sender's machine, where it has one.
    #[n(3)]
    pub resource: Option<ResourceId>,
    /// The sender's version, for people.
    #[n(4)]
    pub program: String,
}

/// Versions of the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Protocols {
    /// The oldest that is understood.
    #[n(0)]
    pub oldest: u16,
    /// The newest that is understood.
    #[n(1)]
    pub newest: u16,
}

impl Protocols {
    /// The newest version that both understand.
    pub fn common(self, other: Protocols) -> Option<u16> {
        let newest = self.newest.min(other.newest);
        (newest >= self.oldest.max(other.oldest)).then_some(newest)
    }
}

macro_rules! refusals {
    ($($(#[doc = $doc:literal])* $name:ident = $code:literal, $text:literal;)*) => {
        /// Why one side ends a connection. It crosses as the number of the close.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Error)]
        pub enum Refusal {
            $($(#[doc = $doc])* #[error($text)] $name,)*
        }

        impl Refusal {
            /// All of them.
            pub const ALL: &[Refusal] = &[$(Refusal::$name),*];

            /// Its number, the same for ever.
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
    /// The peer speaks no version that is understood here.
    Protocol = 3, "there is no version of the protocol that both sides speak";
    /// The first frame is none, or is unreadable.
    Greeting = 4, "the greeting could not be read";
    /// The first frame did not come in time.
    Late = 5, "the greeting did not come in time";
    /// The greeting says another identity than the certificate.
    Pretender = 6, "the greeting names somebody else than the certificate";
    /// The peer's role has no business here.
    Role = 7, "the role in the certificate is not served here";
    /// The certificate is of another grid or group.
    Group = 8, "the certificate is of another group";
    /// The dialer wanted somebody else.
    Stranger = 9, "the certificate is not of the one that was dialled";
    /// A later life of the same peer is connected.
    Epoch = 10, "a later epoch of the same peer is connected";
    /// There are as many connections as there may be.
    Full = 11, "there are as many connections as there may be";
    /// The peer does not read what is sent to it, or the manager here does not take what came.
    Slow = 12, "the receiver does not keep up";
    /// A frame is too long.
    TooLong = 13, "a message is longer than messages may be";
    /// A frame is no message.
    Malformed = 14, "a message could not be read";
    /// The certificate is of an authority that is not trusted.
    Authority = 15, "the certificate is of an authority that is not trusted";
    /// The certificate is not valid yet or any more.
    Expired = 16, "the certificate is not valid at this time";
    /// The certificate was revoked.
    Revoked = 17, "the certificate was revoked";
    /// The certificate is none, or not for this.
    Certificate = 18, "the certificate cannot be used";
    /// The greeting says the number of another machine.
    Number = 19, "the number in the greeting is another machine's";
}

impl Refusal {
    /// The one with this number; none where it is of a later version.
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
            resource: Some(ResourceId(3)),
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
