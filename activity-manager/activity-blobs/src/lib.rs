//! Files identified by the hash of their content, on one disk: added, collected from an activity's
//! directory, placed into another, exported to users, pinned, evicted, let go where a user has them all the same.
//!
//! This crate does not fetch missing blobs, and decides nothing: its callers decide who needs a
//! blob, when to flush and how much to keep. It has no threads and no runtime: every call blocks
//! its caller, and a [`Store`] can be cloned into any number of threads.
//!
//! Read [`Store`] first, then [`Listing`].
//!
//! The mode of a blob's file shows its state. It is created in `tmp/`, renamed to `blobs/ab/<hash>`
//! with mode 0400, set to 0404 where a command reads it by a link, and to 0444 once [`Store::flush`] has
//! made it durable. A blob with another mode than the last at the opening of the store was not flushed,
//! may be torn, and is hashed again before any use.

mod add;
mod adopt;
mod arrive;
mod beneath;
mod collect;
mod elsewhere;
mod evict;
mod flush;
mod identify;
mod index;
mod let_go;
mod listing;
mod place;
mod read;
mod reader;
mod sparse;
mod store;
mod users;
mod verify;
mod walk;

pub use add::AddError;
pub use arrive::{ArriveError, Arriving};
pub use beneath::{BeneathError, make_beneath, open_beneath};
pub use collect::{CollectError, CollectLimits};
pub use evict::{EvictError, Evicted, PinError};
pub use flush::FlushError;
pub use identify::{identify_file, identify_tree};
pub use let_go::LET_GO_BYTES_MIN;
pub use listing::{Content, Item, Listing, ListingError};
pub use place::{LINKED_BYTES_MIN, PlaceError, Placement};
pub use read::ReadError;
pub use reader::Reader;
pub use store::{Hold, Locked, OpenError, Store};
pub use users::{Dropped, User};
pub use verify::{ALWAYS_VERIFIED_BYTES_MAX, Verified};

/// Maximum number of files and empty directories in one tree, and so of one output: a listing of
/// them still fits in memory.
pub const ITEMS_MAX: usize = 1_000_000;

/// Maximum bytes of a listing: a million files with paths of 180 bytes.
pub const LISTING_BYTES_MAX: u64 = 256 << 20;

/// Maximum number of directories above a file of a tree: each costs a descriptor while the tree is
/// walked.
pub const DEPTH_MAX: usize = 100;

/// Maximum bytes of a path in a tree: the kernel's limit.
pub const PATH_BYTES_MAX: usize = 4095;

/// Files up to this many bytes are read at once and hashed before anything is written.
const SMALL_BYTES_MAX: usize = 64 << 10;

/// Bytes copied and hashed at a time: enough for BLAKE3 to use its wide instructions.
const COPY_BYTES: usize = 256 << 10;
