//! Activities that got another machine because one is not as fast as was planned: as much of it as users are shown.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use minicbor::{Decode, Encode};
use model::{ActivityId, Entry, ResourceId};
use wire::client::{MovedBy, ROUTES_MAX};

use crate::process::Process;
use crate::record::{Rescheduled, Route};

/// Plans that moved activities, as far as they are remembered: users are shown them.
pub(crate) const RESCHEDULED_MAX: usize = 16;

/// Moves of one activity that are remembered: rarely there are two.
pub(crate) const MOVED_MAX: usize = 3;

/// The plans of a process that moved activities because of slow machines.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub(crate) struct Moves {
    /// The last ones, at most [`RESCHEDULED_MAX`], the oldest first.
    #[n(0)]
    pub(crate) last: Vec<Rescheduled>,
    /// The number of all.
    #[n(1)]
    pub(crate) n: u32,
}

/// The moves of one activity.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub(crate) struct Moved {
    /// The last ones, at most [`MOVED_MAX`], the oldest first.
    #[n(0)]
    last: Vec<Move>,
    /// The number of all.
    #[n(1)]
    n: u32,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
struct Move {
    #[n(0)]
    from: ResourceId,
    #[n(1)]
    to: ResourceId,
    /// The reason, without the routes of others.
    #[n(2)]
    why: Rescheduled,
}

impl From<&Move> for MovedBy {
    fn from(one: &Move) -> MovedBy {
        let &Move { from, to, ref why } = one;
        MovedBy {
            from,
            to,
            plan: why.into(),
        }
    }
}

impl Process {
    /// The last plans that moved activities because of slow machines, the oldest first.
    pub(crate) fn moves(&self) -> impl DoubleEndedIterator<Item = &Rescheduled> {
        self.state.moves.iter().flat_map(|moves| &moves.last)
    }

    /// The number of all such plans.
    pub(crate) fn n_moves(&self) -> u32 {
        self.state.moves.as_ref().map_or(0, |moves| moves.n)
    }

    /// The last moves of an activity by such plans, the oldest first, and the number of all.
    pub(crate) fn moves_of(&self, activity: ActivityId) -> (Vec<MovedBy>, u32) {
        let details = self.details(activity);
        let moved = details.moved.as_deref();
        moved.map_or((Vec::new(), 0), |moved| {
            (moved.last.iter().map(Into::into).collect(), moved.n)
        })
    }

    /// A plan with these entries takes the place of the one in force for this reason.
    pub(super) fn keep_moved(&mut self, why: &Rescheduled, entries: &[Entry]) {
        let place = |entry: &Entry| {
            let before = self.state.plan.entry(entry.activity)?.resource;
            (before != entry.resource).then_some((entry.activity, before, entry.resource))
        };
        let moved: Vec<_> = entries.iter().filter_map(place).collect();
        let mut numbers: BTreeMap<(ResourceId, ResourceId), u32> = BTreeMap::new();
        for &(activity, from, to) in &moved {
            *numbers.entry((from, to)).or_default() += 1;
            self.keep_move(activity, from, to, why);
        }
        let routes = numbers.into_iter();
        let mut routes: Vec<Route> = routes
            .map(|((from, to), n)| Route { from, to, n })
            .collect();
        routes.sort_by_key(|route| Reverse(route.n));
        routes.truncate(ROUTES_MAX);
        let moves = self.state.moves.get_or_insert_default();
        moves.n = moves.n.saturating_add(1);
        if moves.last.len() >= RESCHEDULED_MAX {
            moves.last.remove(0);
        }
        moves.last.push(Rescheduled {
            routes: Some(routes),
            ..why.clone()
        });
    }

    fn keep_move(
        &mut self,
        activity: ActivityId,
        from: ResourceId,
        to: ResourceId,
        why: &Rescheduled,
    ) {
        if self.is_folded(activity) {
            return;
        }
        let state = self.activity_mut(activity);
        let is_open = state.open_details().is_some();
        let moved = state.details_mut().moved.get_or_insert_default();
        moved.n = moved.n.saturating_add(1);
        if moved.last.len() >= MOVED_MAX {
            moved.last.remove(0);
        }
        moved.last.push(Move {
            from,
            to,
            why: Rescheduled {
                routes: None,
                ..why.clone()
            },
        });
        if !is_open {
            // Thousands may wait that have nothing else to tell.
            state.pack_early();
        }
    }
}
