//! What the last transfers say: of a machine's links altogether ([`Peers`]), and of one direction of them ([`Lane`]).
//!
//! A transfer is slow because of its sender or because of its receiver. Machines mostly send as fast as they receive, so
//! a direction is looked at by itself only where it is far slower than the links altogether, and as long as it is.

use std::collections::VecDeque;

use model::{Mono, ResourceId, Span};

use super::series::{ROUND, Series};
use super::{CHANGED, PEERS};

/// Transfers of a direction that may have shared it: a machine gives many others its files at the same time.
const BESIDE: usize = 16;

/// The last two transfers between a machine and a peer: of those that share a link, one may be slow.
#[derive(Clone, Copy, Debug)]
struct Last {
    peer: ResourceId,
    speeds: [f64; 2],
    is_first: bool,
}

/// The last transfers of a machine with each of the last peers.
#[derive(Debug, Default)]
pub(super) struct Peers {
    last: VecDeque<Last>,
}

impl Peers {
    /// A file has crossed the link to a peer at a speed.
    pub(super) fn crossed(&mut self, peer: ResourceId, speed: f64) {
        let known = self.last.iter().position(|one| one.peer == peer);
        let before = known.and_then(|place| self.last.remove(place));
        if self.last.len() == PEERS {
            self.last.pop_front();
        }
        self.last.push_back(Last {
            peer,
            speeds: [before.map_or(speed, |one| one.speeds[1]), speed],
            is_first: before.is_none(),
        });
    }

    /// The fastest of the transfers; 0 where there are none.
    pub(super) fn fastest(&self) -> f64 {
        fastest(self.last.iter())
    }

    /// The fastest with others than a peer; none where there are none.
    pub(super) fn fastest_without(&self, peer: ResourceId) -> Option<f64> {
        let mut others = self.last.iter().filter(|one| one.peer != peer).peekable();
        others.peek()?;
        Some(fastest(others))
    }

    /// The peers, and whether there was one transfer only with each.
    pub(super) fn each(&self) -> impl Iterator<Item = (ResourceId, bool)> {
        self.last.iter().map(|one| (one.peer, one.is_first))
    }
}

fn fastest<'a>(last: impl Iterator<Item = &'a Last>) -> f64 {
    last.flat_map(|one| one.speeds).fold(0.0, f64::max)
}

/// A transfer, by its time.
#[derive(Clone, Copy, Debug)]
struct Beside {
    began: f64,
    ended: f64,
    speed: f64,
}

/// One direction of a machine's links.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// By what the direction carried at the time of a transfer, with others that shared it.
    pub(super) peers: Peers,
    /// By the transfers alone, as plans count on the speed of one.
    alone: Peers,
    beside: VecDeque<Beside>,
    slow: Option<Slow>,
}

/// A direction that is far slower than the links altogether.
#[derive(Debug)]
struct Slow {
    series: Series,
    since: Mono,
    /// True if transfers have shown it that ended in more than one round: of those that begin together, the first one is
    /// told when nothing is known of the others.
    lasts: bool,
}

impl Lane {
    /// A file has taken this direction, to or from a peer, and has arrived now. What a direction carries is the sum of
    /// the transfers that share it: many at once make none slow. Where it is slow, a file takes as long as others do,
    /// and as many share it.
    pub(super) fn crossed(&mut self, now: Mono, peer: ResourceId, took: Span, speed: f64) {
        let ended = now.0 as f64;
        let one = Beside {
            began: ended - took.0 as f64,
            ended,
            speed,
        };
        let length = (one.ended - one.began).max(1.0);
        let shared = self.beside.iter().map(|other| {
            let common = one.ended.min(other.ended) - one.began.max(other.began);
            other.speed * common.max(0.0) / length
        });
        let all = speed + shared.sum::<f64>();
        if self.beside.len() == BESIDE {
            self.beside.pop_front();
        }
        self.beside.push_back(one);
        self.peers.crossed(peer, all);
        self.alone.crossed(peer, speed);
        if let Some(slow) = &mut self.slow {
            slow.series.note(self.alone.fastest(), now);
            slow.lasts |= now.since(slow.since) >= ROUND;
        }
    }

    /// The links altogether are this fast.
    pub(super) fn compare(&mut self, now: Mono, altogether: f64) {
        let level = self.peers.fastest();
        if level <= 0.0 || level * CHANGED > altogether {
            self.slow = None;
        } else if self.slow.is_none() {
            self.slow = Some(Slow {
                series: Series::new(self.alone.fastest(), now),
                since: now,
                lasts: false,
            });
        }
    }

    /// The speed of the direction where it is far slower than the links altogether, and not for a moment only.
    pub(super) fn slow(&self) -> Option<f64> {
        let slow = self.slow.as_ref().filter(|slow| slow.lasts)?;
        Some(slow.series.speed())
    }
}
