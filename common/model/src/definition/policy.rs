//! The rule by which a process is planned again while it runs.

use std::fmt;

use minicbor::data::Type;
use minicbor::{Decode, Decoder, Encode, Encoder, decode, encode};

use super::limits::ROUNDS_MAX;

/// The rule by which a process is planned again because machines are not as fast as expected. Machines that
/// come and go are another matter: the activities of a lost one are always planned again.
///
/// It is recorded as its number, [`Policy::Rounds`] as an array of that and the number of rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Machines are judged by what activities took there, and what has not started moves where that pays.
    #[default]
    Xavantes,
    /// Nothing moves.
    Static,
    /// Each machine gets its part of the plan in so many rounds, is judged by each of them, and what has not started
    /// there moves after one that took too long: Algorithm 5 of Bittencourt and Madeira. From 1 to [`ROUNDS_MAX`].
    Rounds(u32),
    /// The same in rounds that grow and shrink with what their machine has shown: Algorithms 6 and 7.
    Adaptive,
}

impl Policy {
    /// The words for all of them, in the order in which users are told them. `T` stands for a number.
    pub const WORDS: [&str; 4] = ["xavantes", "static", "rounds:T", "adaptive"];

    /// The one of this name, such as `static` or `rounds:4`.
    pub fn named(name: &str) -> Option<Policy> {
        match name {
            "xavantes" => Some(Policy::Xavantes),
            "static" => Some(Policy::Static),
            "adaptive" => Some(Policy::Adaptive),
            other => {
                let digits = other.strip_prefix("rounds:")?;
                // `+4` and `04` are numbers to others.
                let is_plain = digits.starts_with(|first: char| first.is_ascii_digit());
                let n = digits.parse().ok().filter(|_| is_plain)?;
                let rounds = Policy::Rounds(n);
                (rounds.is_within_bounds() && digits == n.to_string()).then_some(rounds)
            }
        }
    }

    /// Returns true if its number of rounds is one that may be, or it has none.
    pub fn is_within_bounds(self) -> bool {
        match self {
            Policy::Rounds(n) => (1..=ROUNDS_MAX).contains(&n),
            Policy::Xavantes | Policy::Static | Policy::Adaptive => true,
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Policy::Xavantes => f.write_str("xavantes"),
            Policy::Static => f.write_str("static"),
            Policy::Rounds(n) => write!(f, "rounds:{n}"),
            Policy::Adaptive => f.write_str("adaptive"),
        }
    }
}

const XAVANTES: u8 = 0;
const STATIC: u8 = 1;
const ROUNDS: u8 = 2;
const ADAPTIVE: u8 = 3;

impl<C> Encode<C> for Policy {
    fn encode<W: encode::Write>(
        &self,
        e: &mut Encoder<W>,
        _: &mut C,
    ) -> Result<(), encode::Error<W::Error>> {
        match *self {
            Policy::Xavantes => e.u8(XAVANTES)?,
            Policy::Static => e.u8(STATIC)?,
            Policy::Rounds(n) => e.array(2)?.u8(ROUNDS)?.u32(n)?,
            Policy::Adaptive => e.u8(ADAPTIVE)?,
        };
        Ok(())
    }
}

impl<'b, C> Decode<'b, C> for Policy {
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Policy, decode::Error> {
        let unknown = || decode::Error::message("a policy that is not known here");
        if d.datatype()? == Type::Array {
            let is_pair = d.array()? == Some(2);
            return match (is_pair, d.u8()?) {
                (true, ROUNDS) => Ok(Policy::Rounds(d.u32()?)),
                _ => Err(unknown()),
            };
        }
        match d.u8()? {
            XAVANTES => Ok(Policy::Xavantes),
            STATIC => Ok(Policy::Static),
            ADAPTIVE => Ok(Policy::Adaptive),
            _ => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for policy in [
            Policy::Xavantes,
            Policy::Static,
            Policy::Rounds(1),
            Policy::Rounds(ROUNDS_MAX),
            Policy::Adaptive,
        ] {
            assert_eq!(Policy::named(&policy.to_string()), Some(policy));
        }
        for wrong in [
            "rounds",
            "rounds:",
            "rounds:0",
            "rounds:1001",
            "rounds:+4",
            "rounds:04",
            "rounds:2.5",
            "rounds:-1",
            "rounds: 4",
            "rounds:T",
            "Adaptive",
            "",
        ] {
            assert_eq!(Policy::named(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_first_two_are_recorded_as_they_always_were() {
        let bytes = |policy: Policy| minicbor::to_vec(policy).unwrap();
        assert_eq!(bytes(Policy::Xavantes), [0]);
        assert_eq!(bytes(Policy::Static), [1]);
        for policy in [
            Policy::Xavantes,
            Policy::Static,
            Policy::Rounds(7),
            Policy::Rounds(0),
            Policy::Adaptive,
        ] {
            let read: Policy = minicbor::decode(&bytes(policy)).unwrap();
            assert_eq!(read, policy);
        }
        for wrong in [
            &[2][..],
            &[4],
            &[0x82, 3, 1],
            &[0x81, 2],
            &[0x83, 2, 1, 1],
            &[0xf6],
        ] {
            assert!(minicbor::decode::<Policy>(wrong).is_err(), "{wrong:?}");
        }
    }
}
