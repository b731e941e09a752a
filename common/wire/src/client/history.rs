//! Times that activities took in earlier runs of whoever asks.

use minicbor::bytes::ByteVec;
use minicbor::{Decode, Encode};

/// Records of a page: some 100 KB with names of usual length, 2 MB with the longest.
pub const HISTORY_RECORDS_MAX: usize = 1_000;

/// The place of a record among those of its owner.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct HistoryKey {
    /// The name of the definition.
    #[n(0)]
    pub definition: String,
    /// The name of the activity, or of a controller.
    #[n(1)]
    pub activity: String,
    /// The class of the size of its inputs: the number of bits of their bytes. 255 where it is a controller.
    #[n(2)]
    pub class: u8,
}

/// The record of an activity, or of the number of bodies that a controller had.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct HistoryRecord {
    /// Its place.
    #[n(0)]
    pub key: HistoryKey,
    /// The record in the form in which it is kept: that of the crate `history`.
    #[n(1)]
    pub record: ByteVec,
}

/// Some records in the order of their keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct HistoryPage {
    /// At most [`HISTORY_RECORDS_MAX`].
    #[n(0)]
    pub records: Vec<HistoryRecord>,
    /// True if there are more after the last one.
    #[n(1)]
    pub has_more: bool,
}
