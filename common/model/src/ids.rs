//! Names of things. Each is a number with a type of its own, so that none stands in for another.

use std::fmt;
use std::str::FromStr;

use minicbor::data::Type;
use minicbor::encode::Write;
use minicbor::{Decode, Decoder, Encode, Encoder, decode, encode};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($number:ty), $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
        #[cbor(transparent)]
        pub struct $name(#[n(0)] pub $number);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

id!(
    /// A node of a definition's tree: its place in [`crate::Draft::nodes`]. The root is node 0.
    NodeId(u32),
    "n"
);
id!(
    /// An activity of a process: the [`NodeId`] of its leaf.
    ActivityId(u32),
    "a"
);
id!(
    /// The number of an epoch of a manager: durably increased at each start.
    Epoch(u64),
    "e"
);
id!(
    /// The number of a plan of one process; 0 is no plan.
    Generation(u32),
    "generation "
);
id!(
    /// A grant of one group manager.
    GrantId(u64),
    "grant "
);

/// A group of machines: the first eight bytes of the fingerprint of its authority.
///
/// In two halves, so that a [`ResourceId`] has 12 bytes: one is kept for each activity.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId {
    high: u32,
    low: u32,
}

impl GroupId {
    /// The group of a program that has all managers inside, which has no authority.
    pub const LOCAL: GroupId = GroupId::new(0);

    /// The group of this number.
    pub const fn new(number: u64) -> GroupId {
        GroupId {
            high: (number >> 32) as u32,
            low: number as u32,
        }
    }

    /// Its number.
    pub const fn number(self) -> u64 {
        (self.high as u64) << 32 | self.low as u64
    }
}

impl<C> Encode<C> for GroupId {
    fn encode<W: Write>(
        &self,
        e: &mut Encoder<W>,
        _: &mut C,
    ) -> Result<(), encode::Error<W::Error>> {
        e.u64(self.number())?.ok()
    }
}

impl<'b, C> Decode<'b, C> for GroupId {
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<GroupId, decode::Error> {
        d.u64().map(GroupId::new)
    }
}

impl fmt::Debug for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GroupId({:#x})", self.number())
    }
}

impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "g{:x}", self.number())
    }
}

/// A machine: its group, and the number that its group manager gave it. Written as `r3`, and as
/// `r3@g1f0c` by `{:#}`, where machines of several groups may be meant.
///
/// A machine of [`GroupId::LOCAL`] is encoded as its number, another one as number and group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceId {
    /// Its group.
    pub group: GroupId,
    /// Its number in the group, counted from 0.
    pub number: u32,
}

impl ResourceId {
    /// A machine of a group.
    pub const fn new(group: GroupId, number: u32) -> ResourceId {
        ResourceId { group, number }
    }

    /// A machine of [`GroupId::LOCAL`].
    pub const fn local(number: u32) -> ResourceId {
        ResourceId::new(GroupId::LOCAL, number)
    }
}

impl fmt::Display for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}", self.number)?;
        match f.alternate() {
            true => write!(f, "@{}", self.group),
            false => Ok(()),
        }
    }
}

impl<C> Encode<C> for ResourceId {
    fn encode<W: Write>(
        &self,
        e: &mut Encoder<W>,
        ctx: &mut C,
    ) -> Result<(), encode::Error<W::Error>> {
        if self.group == GroupId::LOCAL {
            return e.u32(self.number)?.ok();
        }
        e.array(2)?.u32(self.number)?;
        self.group.encode(e, ctx)
    }
}

impl<'b, C> Decode<'b, C> for ResourceId {
    fn decode(d: &mut Decoder<'b>, ctx: &mut C) -> Result<ResourceId, decode::Error> {
        if d.datatype()? != Type::Array {
            return d.u32().map(ResourceId::local);
        }
        if d.array()? != Some(2) {
            return Err(decode::Error::message("a machine is a number and a group"));
        }
        let number = d.u32()?;
        Ok(ResourceId::new(GroupId::decode(d, ctx)?, number))
    }
}

impl ActivityId {
    /// The leaf of the definition that this activity runs.
    pub const fn node(self) -> NodeId {
        NodeId(self.0)
    }
}

impl NodeId {
    /// The place in the definition's list of nodes.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A number that the submitter draws, so that the same submission sent twice is one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct SubmitKey(#[n(0)] pub u64);

impl SubmitKey {
    /// The process that a submission with this key is, wherever it is received.
    pub const fn process(self) -> ProcessId {
        ProcessId(self.0)
    }
}

/// A running or finished instance of a definition. Written as 13 characters of base 32 without
/// `i`, `l`, `o` and `u`; users may give its first characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct ProcessId(#[n(0)] pub u64);

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(13);
        for place in (0..13).rev() {
            text.push(char::from(ALPHABET[(self.0 >> (5 * place) & 31) as usize]));
        }
        f.pad(&text)
    }
}

impl FromStr for ProcessId {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WANTED: &str = "a process id is 13 characters of 0-9 and a-z without i, l, o, u";
        if text.len() != 13 {
            return Err(WANTED);
        }
        let mut number: u128 = 0;
        for byte in text.bytes() {
            let digit = ALPHABET
                .iter()
                .position(|&letter| letter == byte)
                .ok_or(WANTED)?;
            number = number << 5 | digit as u128;
        }
        u64::try_from(number).map(ProcessId).map_err(|_| WANTED)
    }
}

/// One try at one activity of one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct AttemptId {
    /// The process it belongs to.
    #[n(0)]
    pub process: ProcessId,
    /// The activity that is tried.
    #[n(1)]
    pub activity: ActivityId,
    /// 1 for the first try.
    #[n(2)]
    pub number: u32,
}

impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}#{}", self.process, self.activity, self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_with_one_number_in_two_groups_are_two() {
        let (one, other) = (
            ResourceId::local(3),
            ResourceId::new(GroupId::new(0x1f0c), 3),
        );
        assert_ne!(one, other);
        assert_eq!([one, other].map(|id| id.to_string()), ["r3", "r3"]);
        let apart = [one, other].map(|id| format!("{id:#}"));
        assert_eq!(apart, ["r3@g0", "r3@g1f0c"]);
    }

    #[test]
    fn a_machine_is_encoded_with_its_group_unless_that_is_the_local_one() {
        let bytes = |id: ResourceId| minicbor::to_vec(id).expect("writing to a vector cannot fail");
        assert_eq!(bytes(ResourceId::local(3)), [3]);
        let far = ResourceId::new(GroupId::new(0x1f0c), 3);
        assert_eq!(bytes(far), [0x82, 3, 0x19, 0x1f, 0x0c]);
        for id in [ResourceId::local(3), far] {
            assert_eq!(minicbor::decode::<ResourceId>(&bytes(id)).ok(), Some(id));
        }
        assert!(minicbor::decode::<ResourceId>(&[0x83, 3, 1, 1]).is_err());
    }
}
