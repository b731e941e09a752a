//! When a certificate is to be renewed.

use model::{Span, Wall};

/// What to do about a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// Nothing before this time.
    At(Wall),
    /// Ask for another one.
    Due,
    /// It cannot be renewed with itself any more; somebody has to join again.
    Expired,
}

/// Whether a certificate that is valid between two times is to be renewed: when two thirds of its
/// life are over, so that an authority that is away for some days harms nobody. A clock that stands
/// before the certificate's time is wrong, and renewing would not better it.
pub fn renewal(not_before: Wall, not_after: Wall, now: Wall) -> Renewal {
    let life = Span(not_after.0.saturating_sub(not_before.0));
    let due = Wall(not_after.0.saturating_sub(life.0 / 3));
    if now > not_after {
        Renewal::Expired
    } else if now >= due {
        Renewal::Due
    } else {
        Renewal::At(due)
    }
}
