//! A connection between two managers, as unreliable as the setup says.

use model::{Mono, Span};

use crate::random::Random;
use crate::setup::Faults;

/// One connection. It has two ends; each has its own idea of whether it is up.
#[derive(Debug, Default)]
pub(crate) struct Wire {
    /// Counts connections: what belongs to an earlier one is void.
    pub(crate) incarnation: u64,
    /// True if anything is carried.
    pub(crate) carries: bool,
    /// True for each end that believes that it is up.
    pub(crate) seen: [bool; 2],
    /// True if an attempt to connect is entered.
    pub(crate) is_dialling: bool,
    /// Until when nothing arrives that each end sends.
    pub(crate) deaf_until: [Mono; 2],
    /// Until when it cannot be made again.
    pub(crate) unplugged_until: Mono,
    /// Messages that arrive by the next connection: to which end, and their bytes.
    pub(crate) late: Vec<(usize, Vec<u8>)>,
    last: [Mono; 2],
}

impl Wire {
    /// When copies of a message sent at this moment arrive: none, one or two times.
    pub(crate) fn arrivals(
        &mut self,
        from: usize,
        at: Mono,
        random: &mut Random,
        faults: &Faults,
    ) -> Vec<Mono> {
        if !self.seen[from] || !self.carries || at < self.deaf_until[from] {
            return Vec::new();
        }
        let n_copies = if random.happens(faults.loss) {
            0
        } else if random.happens(faults.doubling) {
            2
        } else {
            1
        };
        let mut arrivals = Vec::with_capacity(n_copies);
        for _ in 0..n_copies {
            let mut arrival = at + self.delay(random, faults);
            if !faults.overtaking {
                arrival = arrival.max(self.last[from]);
                self.last[from] = arrival;
            }
            arrivals.push(arrival);
        }
        arrivals
    }

    /// Nothing arrives until then that an end sends; for longer, if that was so before: the connection is
    /// dialled again at the end of that time.
    pub(crate) fn deafen(&mut self, end: usize, until: Mono) {
        self.deaf_until[end] = until.max(self.deaf_until[end]);
    }

    /// When a connection can be made: both ways carry, and the machine is there.
    pub(crate) fn usable_at(&self) -> Mono {
        let [one, other] = self.deaf_until;
        one.max(other).max(self.unplugged_until)
    }

    /// From here on nothing is lost.
    pub(crate) fn mend(&mut self) {
        self.deaf_until = [Mono(0); 2];
        self.unplugged_until = Mono(0);
        // It may be entered for when it could have been made.
        self.is_dialling = false;
    }

    /// Mostly short; one in eight takes up to the longest.
    fn delay(&self, random: &mut Random, faults: &Faults) -> Span {
        let (least, most) = faults.delay;
        if random.below(8) == 0 {
            random.span((least, most))
        } else {
            random.span((least, Span(least.0 + (most.0 - least.0) / 16)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_is_cut_off_does_not_hear_sooner_what_did_not_reach_it() {
        let mut wire = Wire::default();
        wire.deafen(1, Mono(90));
        (0..2).for_each(|end| wire.deafen(end, Mono(50)));
        assert_eq!(wire.usable_at(), Mono(90));
        wire.deafen(0, Mono(100));
        assert_eq!(wire.usable_at(), Mono(100));
    }
}
