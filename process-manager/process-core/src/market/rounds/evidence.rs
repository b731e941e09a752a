//! Evidence about machines, by the kinds of activities that ended there: of a kind that takes three times as long as was
//! said, wherever it runs, the estimate is wrong, and no machine is slow.
//!
//! ```text
//!   an attempt ended --> seconds taken / said of its kind, by machine --what machines agree on--> error of the kind
//!         |                                                                                            |
//!         +--> evidence about its machine, by kind  --times the error of each-->  [`Shown`] of the machine
//! ```
//! A kind is an activity of the definition in a body, of which each item or iteration has one. An activity outside of
//! bodies runs once: nothing is learned of its estimate, and its machine is judged by it as it is given. Machines do not
//! agree where one has become slow, as what counts are the first activities of a kind on each.

use std::collections::BTreeMap;

use model::{NodeId, ResourceId};
use schedule::rounds::Shown;

/// Kinds of one process of which anything is learned. Further ones count as estimated well.
const KINDS_MAX: usize = 256;

/// Machines whose times of a kind are remembered, and the first activities on each that count.
const MACHINES_MAX: usize = 8;
const FIRST: u32 = 4;

/// The factor within which machines agree: times vary by chance as well.
const AGREED: f64 = 1.5;

/// Activities that tell the error of an estimate. What fewer say counts for nobody.
const TOLD: u32 = 2;

/// Evidence in activities that is forgotten altogether.
const TRACE: f64 = 0.02;

/// The kinds of a process, and what ended where.
#[derive(Debug)]
pub(super) struct Evidence {
    kinds: BTreeMap<NodeId, Kind>,
    machines: BTreeMap<ResourceId, Of>,
    /// Nominal over estimated time of all that counts: where all estimates are as wrong, none is.
    usual: f64,
}

/// The times of a kind: on each machine the number of activities, and the sum of the logarithms of their errors.
#[derive(Debug, Default)]
struct Kind {
    times: BTreeMap<ResourceId, (u32, f64)>,
}

/// The activities that ended on a machine, as they were estimated.
#[derive(Debug, Default)]
struct Of {
    single: Shown,
    kinds: BTreeMap<NodeId, Shown>,
}

impl Default for Evidence {
    fn default() -> Evidence {
        Evidence {
            kinds: BTreeMap::new(),
            machines: BTreeMap::new(),
            usual: 1.0,
        }
    }
}

impl Evidence {
    /// An activity has ended on a machine that was said to take so many seconds there, and took so many. The machine is
    /// believed to have a factor of its power, as its other activities show beside those of the other machines.
    pub(super) fn ended(
        &mut self,
        (resource, kind): (ResourceId, Option<NodeId>),
        (said, real): (f64, f64),
        mean: f64,
        weight: f64,
    ) {
        let kind = kind.filter(|kind| self.has_room(*kind));
        let Some(kind) = kind else {
            return self.of(resource).single.ended(said, real);
        };
        let others = self.shown_without(resource, Some(kind));
        let factor = others.factor(mean, weight) / mean;
        self.of(resource)
            .kinds
            .entry(kind)
            .or_default()
            .ended(said, real);
        let known = self.kinds.entry(kind).or_default();
        let has_room = known.times.len() < MACHINES_MAX || known.times.contains_key(&resource);
        if has_room {
            let (n, sum) = known.times.entry(resource).or_default();
            if *n < FIRST {
                *n += 1;
                *sum += (real / said * factor).ln();
            }
        }
    }

    fn has_room(&self, kind: NodeId) -> bool {
        self.kinds.len() < KINDS_MAX || self.kinds.contains_key(&kind)
    }

    fn of(&mut self, resource: ResourceId) -> &mut Of {
        self.machines.entry(resource).or_default()
    }

    /// Seconds that an activity takes for each that it is said to; none where too few have ended to tell.
    fn error(&self, kind: NodeId) -> Option<f64> {
        let known = self.kinds.get(&kind)?;
        (known.n() >= TOLD).then(|| known.error())
    }

    /// The same as it is expected of the next one, beside what others take, as soon as one has ended.
    pub(super) fn scale(&self, kind: Option<NodeId>) -> f64 {
        let known = kind.and_then(|kind| self.kinds.get(&kind));
        known.map_or(1.0, Kind::error) / self.usual
    }

    /// Returns true if it may be that activities of a kind take any time, as none has ended.
    pub(super) fn is_unknown(&self, kind: NodeId) -> bool {
        self.has_room(kind) && !self.kinds.contains_key(&kind)
    }

    /// Lets older evidence about a machine count less, as [`Shown::forget_beyond`].
    pub(super) fn forget_beyond(&mut self, resource: ResourceId, seconds: f64) {
        let nominal = self.shown_without(resource, None).nominal() / self.usual;
        if nominal <= seconds {
            return;
        }
        let kept = seconds / nominal;
        let of = self.of(resource);
        of.single.fade(kept);
        of.kinds.values_mut().for_each(|shown| shown.fade(kept));
        of.kinds.retain(|_, shown| shown.n_tasks() > TRACE);
    }

    /// The evidence about a machine, with estimates put right, and without one kind.
    fn shown_without(&self, resource: ResourceId, without: Option<NodeId>) -> Shown {
        let Some(of) = self.machines.get(&resource) else {
            return Shown::default();
        };
        let kinds = of.kinds.iter().filter(|&(&kind, _)| Some(kind) != without);
        let told = kinds.filter_map(|(&kind, shown)| Some(shown.scaled(self.error(kind)?)));
        told.fold(of.single, Shown::and)
    }

    /// Tells what all machines have shown. Estimates that are all wrong alike stay as they are.
    pub(super) fn tell(&mut self, shown: &mut BTreeMap<ResourceId, Shown>) {
        let (mut nominal, mut said) = (0.0, 0.0);
        for of in self.machines.values() {
            nominal += of.single.nominal();
            said += of.single.nominal();
            for (&kind, shown) in &of.kinds {
                if let Some(error) = self.error(kind) {
                    nominal += error * shown.nominal();
                    said += shown.nominal();
                }
            }
        }
        self.usual = if said > 0.0 { nominal / said } else { 1.0 };
        for &resource in self.machines.keys() {
            let now = self.shown_without(resource, None).scaled(1.0 / self.usual);
            shown.entry(resource).or_default().replace(now);
        }
    }
}

impl Kind {
    fn n(&self) -> u32 {
        self.times.values().map(|(n, _)| n).sum()
    }

    /// The error that the machines agree on which are nearest to the estimate.
    fn error(&self) -> f64 {
        let means = || self.times.values().map(|&(n, sum)| (n, sum / f64::from(n)));
        let nearest = means().map(|(_, mean)| mean);
        let nearest = nearest.min_by(|one, other| one.abs().total_cmp(&other.abs()));
        let Some(nearest) = nearest else {
            return 1.0;
        };
        let agreed = means().filter(|(_, mean)| (mean - nearest).abs() <= AGREED.ln());
        let (n, sum) = agreed.fold((0, 0.0), |(n, sum), (more, mean)| {
            (n + more, sum + f64::from(more) * mean)
        });
        (sum / f64::from(n.max(1))).exp()
    }
}

#[cfg(test)]
mod tests;
