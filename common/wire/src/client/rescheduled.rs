//! Plans that moved activities while a process ran.

use minicbor::{Decode, Encode};
use model::{ResourceId, Span, Wall};

/// A plan that moved activities because a machine is not as fast as was planned.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Rescheduled {
    /// The moment at which it was decided.
    #[n(0)]
    pub at: Wall,
    /// The machine.
    #[n(1)]
    pub resource: ResourceId,
    /// Thousandths of its nominal power that it has shown, or of the speed of its links that was planned with.
    #[n(2)]
    pub per_mille: u32,
    /// Activities that got another machine.
    #[n(3)]
    pub n_moved: u32,
    /// The time that the rest would have taken with everything where it was.
    #[n(4)]
    pub before: Span,
    /// The time that it takes by that plan.
    #[n(5)]
    pub after: Span,
    /// True if its links are slower or faster than was planned, and not its power.
    #[cbor(n(6), default)]
    pub is_link: bool,
}
