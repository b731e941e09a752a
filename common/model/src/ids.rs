//! Names of things. Each is a number with a type of its own, so that none stands in for another.

use std::fmt;
use std::str::FromStr;

use minicbor::{Decode, Encode};

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
    /// A machine of a group, as its group manager numbers it.
    ResourceId(u32),
    "r"
);
id!(
    /// A group of machines.
    GroupId(u32),
    "g"
);
id!(
    /// The number of the life of a manager; raised durably at each start.
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
