//! The states of all activities of a process by node, where those that were folded take no room.
//!
//! ```text
//!  | 0 .. 63 | 64 .. 127 | 128 .. 191 | 192 .. 210 |
//!    kept      two masks   two masks    kept            a bit for each node that has completed, or was stopped
//! ```
//! The parts are those of the chapters of a snapshot, so a part that was folded is a chapter of a few bytes.

use minicbor::{Decode, Decoder, Encode, Encoder, decode, encode};

use crate::process::activity::ActivityState;
use crate::record::ActivityPhase;

/// Nodes, and links, of a chapter: some 8 KiB where they have ended. A change of one node costs the chapter,
/// and each chapter a row of the store.
///
/// In tests so few that a change which is not noted is not covered by those beside it.
pub(super) const NODES: usize = if cfg!(test) { 3 } else { 64 };

const _: () = assert!(NODES <= u64::BITS as usize, "a part fits in a mask");

/// The states of consecutive nodes. Controllers have one that is never used.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Activities {
    /// All full but the last one.
    parts: Vec<Part>,
    len: usize,
}

/// At most [`NODES`] states.
#[derive(Clone, Debug, PartialEq)]
enum Part {
    Kept(Vec<ActivityState>),
    /// All of them were folded.
    Folded(Masks),
}

/// The phases of [`NODES`] folded nodes, a bit for each. The others were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Encode, Decode)]
pub(super) struct Masks {
    #[n(0)]
    completed: u64,
    #[n(1)]
    stopped: u64,
}

impl Activities {
    /// Nodes of which nothing is known, so many.
    pub(crate) fn new(len: usize) -> Activities {
        let mut all = Activities::default();
        all.grow(len);
        all
    }

    /// Adds nodes of which nothing is known, up to so many.
    pub(crate) fn grow(&mut self, len: usize) {
        while self.len < len {
            self.push(ActivityState::default());
        }
    }

    fn push(&mut self, state: ActivityState) {
        if self.len.is_multiple_of(NODES) {
            self.parts.push(Part::Kept(Vec::new()));
        }
        if let Some(Part::Kept(states)) = self.parts.last_mut() {
            states.push(state);
        }
        self.len += 1;
        if self.len.is_multiple_of(NODES) {
            self.close(self.len / NODES - 1);
        }
    }

    /// The state of a node is no more than whether it has completed, was stopped or skipped.
    pub(crate) fn fold(&mut self, index: usize, phase: ActivityPhase) {
        *self.at_mut(index) = ActivityState::folded(phase);
        self.close(index / NODES);
    }

    /// A full part of which all were folded becomes a mask.
    fn close(&mut self, part: usize) {
        let Part::Kept(states) = &mut self.parts[part] else {
            return;
        };
        if states.len() < NODES || !states.iter().all(ActivityState::is_folded) {
            // Nodes come one iteration after another, and room for as many again would stay.
            if states.len() == NODES {
                states.shrink_to_fit();
            }
            return;
        }
        let mut masks = Masks::default();
        for (bit, state) in states.iter().enumerate() {
            masks.completed |= u64::from(state.phase == ActivityPhase::Completed) << bit;
            masks.stopped |= u64::from(state.phase == ActivityPhase::Stopped) << bit;
        }
        self.parts[part] = Part::Folded(masks);
    }

    /// The number of nodes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The state of a node; none where there is no such node.
    pub(crate) fn get(&self, index: usize) -> Option<&ActivityState> {
        match self.parts.get(index / NODES)? {
            Part::Kept(states) => states.get(index % NODES),
            Part::Folded(masks) => Some(unfolded(*masks, index % NODES)),
        }
    }

    /// The state of a node that is there.
    pub(crate) fn at(&self, index: usize) -> &ActivityState {
        self.get(index).expect("nodes are numbered from 0 upwards")
    }

    /// The same, to be changed.
    pub(crate) fn at_mut(&mut self, index: usize) -> &mut ActivityState {
        let part = &mut self.parts[index / NODES];
        if let Part::Folded(masks) = *part {
            let states = (0..NODES).map(|bit| unfolded(masks, bit).clone());
            *part = Part::Kept(states.collect());
        }
        match part {
            Part::Kept(states) => &mut states[index % NODES],
            Part::Folded(_) => unreachable!("it was opened above"),
        }
    }

    /// All states.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &ActivityState> {
        (0..self.len).map(|index| self.at(index))
    }

    /// The states of one part, or its masks.
    pub(super) fn part(&self, part: usize) -> (Vec<ActivityState>, Option<Masks>) {
        match self.parts.get(part) {
            Some(Part::Kept(states)) => (states.clone(), None),
            Some(Part::Folded(masks)) => (Vec::new(), Some(*masks)),
            None => (Vec::new(), None),
        }
    }

    /// Adds the next part, which was read.
    pub(super) fn extend(&mut self, states: Vec<ActivityState>, folded: Option<Masks>) {
        states.into_iter().for_each(|state| self.push(state));
        if let Some(masks) = folded.filter(|_| self.len.is_multiple_of(NODES)) {
            self.parts.push(Part::Folded(masks));
            self.len += NODES;
        }
    }
}

fn unfolded(masks: Masks, bit: usize) -> &'static ActivityState {
    static COMPLETED: ActivityState = ActivityState::folded(ActivityPhase::Completed);
    static STOPPED: ActivityState = ActivityState::folded(ActivityPhase::Stopped);
    static SKIPPED: ActivityState = ActivityState::folded(ActivityPhase::Skipped);
    match (masks.completed >> bit & 1, masks.stopped >> bit & 1) {
        (1, _) => &COMPLETED,
        (_, 1) => &STOPPED,
        _ => &SKIPPED,
    }
}

impl<C> Encode<C> for Activities {
    fn encode<W: encode::Write>(
        &self,
        encoder: &mut Encoder<W>,
        cx: &mut C,
    ) -> Result<(), encode::Error<W::Error>> {
        encoder.array(self.len as u64)?;
        self.iter().try_for_each(|state| state.encode(encoder, cx))
    }
}

impl<'b, C> Decode<'b, C> for Activities {
    fn decode(decoder: &mut Decoder<'b>, cx: &mut C) -> Result<Activities, decode::Error> {
        let mut all = Activities::default();
        for state in decoder.array_iter_with(cx)? {
            all.push(state?);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nodes of which all but the last one were folded.
    fn folded() -> Activities {
        let mut all = Activities::new(2 * NODES + 1);
        for index in 0..2 * NODES {
            let phase = match index % 3 {
                0 => ActivityPhase::Completed,
                1 => ActivityPhase::Skipped,
                _ => ActivityPhase::Stopped,
            };
            all.fold(index, phase);
        }
        all
    }

    #[test]
    fn a_part_is_masks_once_all_of_it_is_folded() {
        let mut all = folded();
        assert!(matches!(
            all.parts[..],
            [Part::Folded(_), Part::Folded(_), Part::Kept(_)]
        ));
        assert_eq!(all.at(0).phase, ActivityPhase::Completed);
        assert_eq!(all.at(1).phase, ActivityPhase::Skipped);
        assert_eq!(all.at(2).phase, ActivityPhase::Stopped);
        assert_eq!(all.at(2 * NODES).phase, ActivityPhase::Waiting);
        assert!(all.get(2 * NODES + 1).is_none());
        // Whoever writes to one of them opens its part.
        all.at_mut(0).number = 7;
        assert!(matches!(all.parts[0], Part::Kept(_)));
        assert_eq!(all.at(1).phase, ActivityPhase::Skipped);
    }

    #[test]
    fn parts_and_encoded_states_are_read_as_they_were() {
        let all = folded();
        let mut parts = Activities::default();
        for part in 0..3 {
            let (states, masks) = all.part(part);
            parts.extend(states, masks);
        }
        assert_eq!(parts, all);
        let bytes = minicbor::to_vec(&all).expect("a Vec takes every byte");
        assert_eq!(minicbor::decode::<Activities>(&bytes).ok(), Some(all));
    }
}
