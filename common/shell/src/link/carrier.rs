//! The end of a link whose other manager is on another machine: it forwards encoded messages
//! without reading them.

use std::sync::Arc;

use super::{Attached, End, State, Wake, Wire};
use crate::inbox::Refused;

/// Takes messages for the other machine. Its methods are called from the manager's thread and never
/// wait.
pub(crate) trait Carry: Send + Sync {
    /// Takes a message.
    fn take(&self, bytes: &[u8]) -> Result<(), Refused>;
    /// Sends the taken messages.
    fn wake(&self);
    /// The manager is attached.
    fn up(&self);
    /// The link is lost: the manager is gone, or [`Carry::take`] refused.
    fn down(&self);
}

/// Passes messages to the manager. Dropping it closes the link.
pub(crate) struct Bringer {
    wire: Arc<Wire>,
    side: usize,
}

impl<S, R> End<S, R> {
    /// Attaches a carrier to this end. The link is up once a manager is attached to the other end;
    /// a lost link does not come up again.
    pub(crate) fn carried_by(self, carrier: Arc<dyn Carry>) -> Bringer {
        let End { wire, side, .. } = self;
        let is_first = wire.ends[side].set(Box::new(Carried(carrier))).is_ok();
        debug_assert!(is_first, "an end is given away when it is attached");
        if wire.ends[1 - side].get().is_some() && wire.change(State::Joining, State::Up) {
            wire.tell(|end| end.up());
        }
        Bringer { wire, side }
    }
}

impl Bringer {
    /// Gives the manager a message; [`Bringer::wake`] must follow.
    pub(crate) fn bring(&self, bytes: Vec<u8>) -> Result<(), Refused> {
        match self.wire.ends[1 - self.side].get() {
            Some(manager) if self.wire.state() == State::Up => manager.offer(bytes),
            Some(_) | None => Err(Refused::Closed),
        }
    }

    /// Wakes the manager.
    pub(crate) fn wake(&self) {
        if let Some(manager) = self.wire.ends[1 - self.side].get() {
            manager.wake(Wake::Call);
        }
    }

    /// Returns true if the manager's queue has drained.
    pub(crate) fn has_room(&self) -> bool {
        let manager = self.wire.ends[1 - self.side].get();
        manager.is_some_and(|manager| manager.has_drained())
    }
}

impl Drop for Bringer {
    fn drop(&mut self) {
        self.wire.close(self.side);
    }
}

struct Carried(Arc<dyn Carry>);

impl Attached for Carried {
    fn offer(&self, bytes: Vec<u8>) -> Result<(), Refused> {
        self.0.take(&bytes)
    }

    fn wake(&self, _: Wake) {
        self.0.wake();
    }

    fn up(&self) {
        self.0.up();
    }

    fn down(&self) {
        self.0.down();
    }

    /// After a lost message there is another connection, and another link.
    fn has_drained(&self) -> bool {
        false
    }
}
