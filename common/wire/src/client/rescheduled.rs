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
    /// What the plan before counted on, as `per_mille` counts; none where nobody has recorded it.
    #[n(7)]
    pub expected: Option<u32>,
    /// The round of the machine at whose end it was judged, of a process that has rounds.
    #[n(8)]
    pub round: Option<u32>,
    /// The machines that most of them left and got, at most [`ROUTES_MAX`] pairs; none where nobody has recorded
    /// them.
    #[cbor(n(9), default)]
    pub routes: Vec<Route>,
}

/// Maximum number of pairs of machines of one such plan: people read no more in a line.
pub const ROUTES_MAX: usize = 8;

/// Activities that got another machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Route {
    /// The machine that they had.
    #[n(0)]
    pub from: ResourceId,
    /// The machine that they got.
    #[n(1)]
    pub to: ResourceId,
    /// The number of them.
    #[n(2)]
    pub n: u32,
}

/// A move of one activity by such a plan.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct MovedBy {
    /// The machine that it had.
    #[n(0)]
    pub from: ResourceId,
    /// The machine that it got.
    #[n(1)]
    pub to: ResourceId,
    /// The plan, without the routes of others.
    #[n(2)]
    pub plan: Rescheduled,
}
