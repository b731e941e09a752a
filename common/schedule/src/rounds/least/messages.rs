//! The least times of messages, wherever controllers are put that may still move.

use super::Least;
use crate::problem::OUTSIDE;
use crate::rounds::progress::Progress;
use crate::rounds::question::stays;
use crate::rounds::setting::{Messages as Mode, Setting, hop_seconds};

/// The part of a message's way that is known: between the controllers that stay where they are.
#[derive(Clone, Copy)]
pub(super) struct Known {
    /// The machines of the first and the last of them; [`OUTSIDE`] if there is none.
    first: u32,
    last: u32,
    /// The least time between these.
    seconds: f64,
    /// True if the first of them is the first controller of all, and the last one the last.
    is_first: bool,
    is_last: bool,
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
    /// The least times with the ways that [`Least::find_known`] has found.
    pub(super) fn new(
        setting: &'a Setting,
        progress: &'a Progress,
        known: &'a [Known],
    ) -> Messages<'a> {
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
        let data = self.setting.problem().dag().data(edge);
        let seconds = self.setting.virtual_link.seconds(data) / self.factor;
        seconds.max(self.inside(edge))
    }

    /// From any machine to the same one: between the controllers that stay.
    pub(super) fn inside(&self, edge: u32) -> f64 {
        self.known
            .get(edge as usize)
            .map_or(0.0, |known| known.seconds)
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

impl Least {
    /// Finds the known parts of all ways: of controllers that have tasks which have started. O(n + e d) for
    /// controllers of depth d.
    pub(super) fn find_known(&mut self, setting: &Setting, progress: &Progress) {
        self.known.clear();
        let Mode::Controllers(tree, _) = setting.messages() else {
            return;
        };
        let stays = stays(progress, tree);
        let messages = Messages::new(setting, progress, &[]);
        for edge in 0..setting.problem().dag().n_edges() as u32 {
            let stops = setting.stops(edge);
            let mut known = Known {
                first: OUTSIDE,
                last: OUTSIDE,
                seconds: 0.0,
                is_first: false,
                is_last: false,
            };
            for (number, &stop) in stops.iter().enumerate() {
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
            self.known.push(known);
        }
    }
}
