//! A file that is picked among the outputs of many items.

use minicbor::{Decode, Encode};

use super::{Expression, Source};
use crate::NodeId;

/// A file that an expression picks: the output of one item of a for-each, or of one iteration of a loop.
///
/// The pick of an activity's input is made when the body that the activity lies in gets its items, that
/// of an output of the process at the end. So its expressions read what is known then: inputs, items and
/// indexes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Pick {
    /// The first of these counts whose condition is true; the last one has none.
    #[n(0)]
    pub cases: Vec<PickCase>,
}

/// One of the sources that a file may be picked from.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct PickCase {
    /// The condition under which this one counts.
    #[n(0)]
    pub when: Option<Expression>,
    /// The source; where there is a place, an output in the body of a for-each or a loop. Never another pick.
    #[n(1)]
    pub source: Source,
    /// The place of the item, or the number of the iteration, from 0.
    #[n(2)]
    pub place: Option<Expression>,
}

/// What was picked for one input in one body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Picked {
    /// The place among [`Pick::cases`].
    #[n(0)]
    pub case: u32,
    /// The place of the item; 0 where the case has none.
    #[n(1)]
    pub place: u32,
}

/// An input of an activity of the draft that is picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PickSite {
    /// The place in [`super::Draft::picks`].
    pub pick: u32,
    /// The activity.
    pub reader: NodeId,
    /// The place in its [`super::Activity::inputs`].
    pub input: u32,
}
