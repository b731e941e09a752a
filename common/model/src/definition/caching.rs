//! Recorded outcomes of other runs: whether one may stand for an activity.

use minicbor::data::Type;
use minicbor::{Decode, Decoder, Encode, Encoder, decode, encode};

use super::Activity;

/// The choice whether a recorded outcome of another run may stand for an activity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Caching {
    /// Nothing is said. An outcome of an earlier run of the same definition may stand, where the activity
    /// makes something that is taken from it: see [`Activity::may_be_recalled`].
    #[default]
    Unsaid,
    /// `cache: true`: an outcome of any process of its owner may stand, and its files are kept for that.
    Always,
    /// `cache: false`: it runs in each run.
    Never,
}

impl Caching {
    /// The choice that was written, if one was.
    pub const fn written(choice: Option<bool>) -> Caching {
        match choice {
            None => Caching::Unsaid,
            Some(true) => Caching::Always,
            Some(false) => Caching::Never,
        }
    }

    /// As it is written; none where nothing is said.
    pub const fn choice(self) -> Option<bool> {
        match self {
            Caching::Unsaid => None,
            Caching::Always => Some(true),
            Caching::Never => Some(false),
        }
    }
}

impl Activity {
    /// Returns true if an outcome of an earlier run of the same definition may stand for this activity.
    /// Where nothing is said, that takes outputs or captured text: of a command without them, its effect
    /// on something else is the point. Nor does it where a second run is forbidden, as what it does is
    /// then more than its outputs.
    pub fn may_be_recalled(&self) -> bool {
        let makes = !self.outputs.is_empty() || self.stdout.is_some() || self.stderr.is_some();
        match self.cache {
            Caching::Unsaid => makes && !self.at_most_once,
            Caching::Always => true,
            Caching::Never => false,
        }
    }
}

/// The number that stands for [`Caching::Never`]. The others are truth values, as where there were no more.
const NEVER: u8 = 2;

impl<C> Encode<C> for Caching {
    fn encode<W: encode::Write>(
        &self,
        e: &mut Encoder<W>,
        _: &mut C,
    ) -> Result<(), encode::Error<W::Error>> {
        match self {
            Caching::Unsaid => e.bool(false)?.ok(),
            Caching::Always => e.bool(true)?.ok(),
            Caching::Never => e.u8(NEVER)?.ok(),
        }
    }
}

impl<'b, C> Decode<'b, C> for Caching {
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Self, decode::Error> {
        if d.datatype()? == Type::Bool {
            return Ok(match d.bool()? {
                true => Caching::Always,
                false => Caching::Unsaid,
            });
        }
        match d.u8()? {
            NEVER => Ok(Caching::Never),
            _ => Err(decode::Error::message("no choice of recorded outcomes")),
        }
    }
}

#[cfg(test)]
mod tests;
