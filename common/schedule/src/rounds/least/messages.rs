//! The least times of messages, wherever controllers are put that may still move.

use crate::problem::OUTSIDE;
use crate::rounds::planner::stays;
use crate::rounds::progress::Progress;
use crate::rounds::setting::{Messages as Mode, Setting, hop_seconds};

/// The part of a message's way that is known: between the controllers that stay where they are.
#[derive(Clone, Copy)]
struct Known {
    /// The machines of the first and the last of them; [`OUTSIDE`] if there is none.
    first: u32,
    last: u32,
    /// The least time between these.
    seconds: f64,
    /// True if the first of them is the first controller of all, and the last one the last.
    is_first: bool,
    is_last: bool,
}

/// A machine that a message comes by, whatever places are chosen.
#[derive(Clone, Copy)]
pub(super) struct Stop {
    host: u32,
    group: u32,
}

/// The least times of messages.
pub(super) struct Messages<'a> {
    pub(super) setting: &'a Setting,
    pub(super) progress: &'a Progress,
    /// The best bandwidth of any link, as a factor of that of the platform.
    factor: f64,
    /// By edge; none in direct mode.
    known: &'a [Known],
}

impl<'a> Messages<'a> {
    fn new(setting: &'a Setting, progress: &'a Progress, known: &'a [Known]) -> Messages<'a> {
        let links = progress.links.iter().copied();
        Messages {
            setting,
            progress,
            factor: links.fold(1.0, f64::max),
            known,
        }
    }

    /// Between two machines, which are known and may be the same.
    pub(super) fn between(&self, edge: u32, [from, to]: [u32; 2]) -> f64 {
        let Some(known) = self.known.get(edge as usize) else {
            return self.hop(edge, [from, to], true);
        };
        if known.first == OUTSIDE {
            return self.hop(edge, [from, to], false);
        }
        let before = self.hop(edge, [from, known.first], known.is_first);
        before + known.seconds + self.hop(edge, [known.last, to], known.is_last)
    }

    /// From a machine to any other one.
    pub(super) fn out_of(&self, edge: u32, host: u32) -> f64 {
        let out = self.out(edge, host);
        match self.known.get(edge as usize) {
            Some(known) if known.first != OUTSIDE => {
                let before = self.hop(edge, [host, known.first], known.is_first);
                out.max(before + known.seconds)
            }
            Some(_) | None => out,
        }
    }

    /// From any machine to any other one.
    pub(super) fn anywhere(&self, edge: u32) -> f64 {
        let seconds = self.setting.virtual_seconds[edge as usize] / self.factor;
        seconds.max(self.inside(edge))
    }

    /// From any machine to the same one: between the controllers that stay.
    pub(super) fn inside(&self, edge: u32) -> f64 {
        self.known
            .get(edge as usize)
            .map_or(0.0, |known| known.seconds)
    }

    /// Between two machines of a group, and between machines of two.
    pub(super) fn legs(&self, edge: u32) -> [f64; 2] {
        self.setting.legs[edge as usize].map(|seconds| seconds / self.factor)
    }

    /// The first and the last machine that a message comes by in any case, with the least time between them.
    pub(super) fn stops(&self, edge: u32) -> Option<(Stop, f64, Stop)> {
        let known = self.known.get(edge as usize)?;
        let stop = |host: u32| Stop {
            host,
            group: self.setting.problem().group(host),
        };
        let (first, last) = (stop(known.first), stop(known.last));
        (known.first != OUTSIDE).then_some((first, known.seconds, last))
    }

    /// Between two machines: straight, or by way of any others.
    fn hop(&self, edge: u32, [from, to]: [u32; 2], is_straight: bool) -> f64 {
        match (from == to, is_straight) {
            (true, _) => 0.0,
            (false, true) => hop_seconds(
                self.setting.problem(),
                edge,
                [from, to],
                &self.progress.links,
            ),
            (false, false) => self.out(edge, from),
        }
    }

    /// By the best link of a machine.
    fn out(&self, edge: u32, host: u32) -> f64 {
        let problem = self.setting.problem();
        let link = self.setting.links_out[problem.group(host) as usize];
        link.seconds(problem.dag().data(edge)) / self.factor
    }
}

impl Stop {
    /// The least time from or to a machine of a group: nothing, or one of these legs.
    #[inline]
    pub(super) fn to(&self, host: u32, group: u32, [inside, between]: [f64; 2]) -> f64 {
        match (self.host == host, self.group == group) {
            (true, _) => 0.0,
            (false, true) => inside,
            (false, false) => between,
        }
    }
}

/// The known parts of the ways of all messages, found once for as long as the same controllers stay.
#[derive(Default)]
pub(super) struct Ways {
    /// By edge; none in direct mode.
    known: Vec<Known>,
    /// The controllers that stay, and the factors of links, that they were found for.
    stays: Vec<Option<u32>>,
    links: Vec<f64>,
}

impl Ways {
    /// Finds the known parts of all ways: of controllers that have tasks which have started. O(n + e d) for
    /// controllers of depth d.
    pub(super) fn find(&mut self, setting: &Setting, progress: &Progress) {
        let Mode::Controllers(tree, _) = setting.messages() else {
            return;
        };
        let stays = stays(progress, tree);
        if self.stays == stays && self.links == progress.links {
            return;
        }
        self.known.clear();
        let messages = Messages::new(setting, progress, &self.known);
        let edges = 0..setting.problem().dag().n_edges() as u32;
        let known = edges
            .map(|edge| Known::new(&messages, edge, &stays))
            .collect();
        self.known = known;
        self.stays = stays;
        self.links.clone_from(&progress.links);
    }

    /// The least times of messages on these ways.
    pub(super) fn messages<'a>(
        &'a self,
        setting: &'a Setting,
        progress: &'a Progress,
    ) -> Messages<'a> {
        Messages::new(setting, progress, &self.known)
    }
}

impl Known {
    fn new(messages: &Messages<'_>, edge: u32, stays: &[Option<u32>]) -> Known {
        let mut known = Known {
            first: OUTSIDE,
            last: OUTSIDE,
            seconds: 0.0,
            is_first: false,
            is_last: false,
        };
        for (number, &stop) in messages.setting.stops(edge).iter().enumerate() {
            // The last stop that was seen is the one before, if it stays.
            match (stays[stop as usize], known.first) {
                (None, _) => known.is_last = false,
                (Some(host), OUTSIDE) => {
                    known.is_first = number == 0;
                    (known.first, known.last, known.is_last) = (host, host, true);
                }
                (Some(host), _) => {
                    let hosts = [known.last, host];
                    known.seconds += messages.hop(edge, hosts, known.is_last);
                    (known.last, known.is_last) = (host, true);
                }
            }
        }
        known
    }
}
