//! Activities of a body that runs for many items, folded: a lane and a row for all items together.

use std::collections::BTreeMap;

use model::{Bytes, Definition, NodeId, Span};
use wire::client::Status;

use super::controllers::Counts;
use super::escape::visible;
use super::figures::Bar;
use super::usage;
use crate::render::FOLDED_FROM;

/// Lanes that are drawn, those with the most items: more are no picture.
const LANES_MAX: usize = 12;

/// Points of the line of a lane: as many as a wide screen has pixels, some 60 kB.
const POINTS_MAX: usize = 4_000;

/// All items of one activity of a body.
#[derive(Debug)]
pub(crate) struct Items {
    /// The name of the activity, without an item.
    pub(crate) name: String,
    /// The place of its colour in the groups.
    pub(crate) group: usize,
    /// The items by their state.
    pub(crate) counts: Counts,
    /// Attempts that started and have ended.
    pub(crate) n_ended: usize,
    /// The shortest of them.
    pub(crate) shortest: Span,
    /// The time of all of them, one after another.
    pub(crate) wall: Span,
    /// The longest of them.
    pub(crate) longest: Span,
    /// CPU time of all attempts.
    pub(crate) cpu: Span,
    /// The most memory of one attempt.
    pub(crate) peak_memory: Bytes,
    /// Slots that items hold from each of these times on; empty where no lane is drawn.
    pub(crate) line: Vec<(u64, f64)>,
}

/// The folded activities of a process.
#[derive(Debug, Default)]
pub(crate) struct Folded {
    /// In the order of the definition.
    pub(crate) items: Vec<Items>,
    /// The place in `items` of each activity, in the order of the report.
    pub(crate) of: Vec<Option<usize>>,
}

impl Folded {
    /// Folds what has [`FOLDED_FROM`] items and more.
    pub(crate) fn of(
        status: &Status,
        definition: &Definition,
        bars: &[Bar],
        groups: &[usize],
        until: u64,
    ) -> Folded {
        let origin = |place: usize| definition.origin(status.activities[place].activity.node());
        let mut by_origin: BTreeMap<NodeId, Vec<usize>> = BTreeMap::new();
        for place in 0..status.activities.len() {
            by_origin.entry(origin(place)).or_default().push(place);
        }
        by_origin.retain(|_, places| places.len() >= FOLDED_FROM);
        let mut folded = Folded {
            items: Vec::new(),
            of: vec![None; status.activities.len()],
        };
        for (node, places) in &by_origin {
            let mut counts = Counts::default();
            for &place in places {
                counts.add(status.activities[place].phase);
                folded.of[place] = Some(folded.items.len());
            }
            folded.items.push(Items {
                name: visible(definition.plain_name(*node)),
                group: groups[places[0]],
                counts,
                n_ended: 0,
                shortest: Span::ZERO,
                wall: Span::ZERO,
                longest: Span::ZERO,
                cpu: Span::ZERO,
                peak_memory: Bytes::ZERO,
                line: Vec::new(),
            });
        }
        for bar in bars {
            if let Some(place) = folded.of[bar.activity] {
                folded.items[place].add(bar);
            }
        }
        for place in folded.largest() {
            let own = bars
                .iter()
                .filter(|bar| folded.of[bar.activity] == Some(place));
            folded.items[place].line = usage::slots_held(own, until, POINTS_MAX);
        }
        folded
    }

    /// The places of those with the most items.
    fn largest(&self) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.items.len()).collect();
        places.sort_by_key(|&place| std::cmp::Reverse(self.items[place].counts.all));
        places.truncate(LANES_MAX);
        places.sort_unstable();
        places
    }
}

impl Items {
    fn add(&mut self, bar: &Bar) {
        self.cpu = self.cpu + bar.cpu;
        self.peak_memory = self.peak_memory.max(bar.peak_memory);
        if bar.is_running {
            return;
        }
        let took = Span(bar.length());
        self.shortest = match self.n_ended {
            0 => took,
            _ => self.shortest.min(took),
        };
        self.longest = self.longest.max(took);
        self.wall = self.wall + took;
        self.n_ended += 1;
    }

    /// The mean time of an attempt; none before one has ended.
    pub(crate) fn mean(&self) -> Option<Span> {
        let n_ended = u64::try_from(self.n_ended).unwrap_or(u64::MAX);
        (n_ended > 0).then(|| Span(self.wall.0 / n_ended))
    }
}

#[cfg(test)]
mod tests;
