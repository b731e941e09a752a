//! Messages between one machine and many, which a choice of a place asks for at once.

use super::{Estimates, NONE};
use crate::problem::OUTSIDE;
use crate::rounds::setting::Way;

/// Seconds from or to one machine by the group of the other one. Its memory is used again and again.
#[derive(Default)]
pub(in crate::rounds) struct Row(Vec<f64>);

/// The end of a message that is known.
#[derive(Clone, Copy)]
enum Known {
    Sender(u32),
    Receiver(u32),
}

impl Estimates<'_> {
    /// Tells of each of these machines, by its place among them, the seconds of a message from a machine.
    pub(in crate::rounds) fn messages_from(
        &self,
        edge: u32,
        from: u32,
        hosts: &[u32],
        row: &mut Row,
        mut tell: impl FnMut(usize, f64),
    ) {
        if from == NONE {
            return self.messages_of_nowhere(edge, hosts, tell);
        }
        match self.routes.way(edge) {
            None => self.hops(edge, Known::Sender(from), hosts, row, tell),
            Some(&Way {
                first,
                last,
                seconds,
            }) => {
                let before = self.routes.hop(self.setting, edge, from, first) + seconds;
                self.hops(edge, Known::Sender(last), hosts, row, |place, hop| {
                    tell(place, before + hop);
                });
            }
        }
    }

    /// Tells of each of these machines, by its place among them, the seconds of a message to a machine.
    pub(in crate::rounds) fn messages_to(
        &self,
        edge: u32,
        to: u32,
        hosts: &[u32],
        row: &mut Row,
        mut tell: impl FnMut(usize, f64),
    ) {
        if to == NONE {
            return self.messages_of_nowhere(edge, hosts, tell);
        }
        match self.routes.way(edge) {
            None => self.hops(edge, Known::Receiver(to), hosts, row, tell),
            Some(&Way {
                first,
                last,
                seconds,
            }) => {
                let after = self.routes.hop(self.setting, edge, last, to);
                self.hops(edge, Known::Receiver(first), hosts, row, |place, hop| {
                    tell(place, hop + seconds + after);
                });
            }
        }
    }

    fn messages_of_nowhere(&self, edge: u32, hosts: &[u32], mut tell: impl FnMut(usize, f64)) {
        let seconds = self.message(edge, NONE, NONE);
        (0..hosts.len()).for_each(|place| tell(place, seconds));
    }

    /// The hops between a machine and each of these.
    fn hops(
        &self,
        edge: u32,
        known: Known,
        hosts: &[u32],
        Row(row): &mut Row,
        mut tell: impl FnMut(usize, f64),
    ) {
        let problem = self.setting.problem();
        let (links, data) = (problem.links(), problem.dag().data(edge));
        let one = match known {
            Known::Sender(host) | Known::Receiver(host) => host,
        };
        let group = problem.group(one);
        let seconds = |other: u32| match known {
            Known::Sender(_) => links.seconds(data, group, other),
            Known::Receiver(_) => links.seconds(data, other, group),
        };
        row.clear();
        // A group has to be asked about once only, if there are fewer of them than machines.
        let by_group = (links.n_groups() as usize) < hosts.len();
        if by_group {
            row.extend((0..links.n_groups()).map(seconds));
        }
        for (place, &other) in hosts.iter().enumerate() {
            let other_group = problem.group(other);
            let hop = match row.get(other_group as usize) {
                _ if one == other && one != OUTSIDE => 0.0,
                Some(&hop) => hop,
                None => seconds(other_group),
            };
            tell(
                place,
                match self.routes.factor(one, other) {
                    None => hop,
                    Some(factor) => hop / factor,
                },
            );
        }
    }
}
