//! The connections between managers: dialled, cut, noticed, and what is sent over them.

use model::Span;

use crate::mangle::mangle;
use crate::network::Wire;
use crate::observe::{Observer, Seen};
use crate::sim::{Happening, Node, Sim};

/// Stands for whichever connection there is when a late message arrives.
const LATE: u64 = u64::MAX;
/// How long after the next connection is up a late message arrives.
const LATE_BY: (Span, Span) = (Span::ZERO, Span::from_millis(300));

/// A connection between two managers; each has ends 0 and 1 in the order of the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    GroupProcess,
    GroupActivity(usize),
    ProcessActivity(usize),
}

impl Link {
    pub(crate) fn ends(self) -> (Node, Node) {
        match self {
            Link::GroupProcess => (Node::Group, Node::Process),
            Link::GroupActivity(machine) => (Node::Group, Node::Activity(machine)),
            Link::ProcessActivity(machine) => (Node::Process, Node::Activity(machine)),
        }
    }
}

impl Sim {
    pub(crate) fn links(&self) -> Vec<Link> {
        let machines = 0..self.machines.n();
        let mut links = vec![Link::GroupProcess];
        links.extend(machines.clone().map(Link::GroupActivity));
        links.extend(machines.map(Link::ProcessActivity));
        links
    }

    pub(crate) fn wire(&mut self, link: Link) -> &mut Wire {
        let n_machines = self.machines.n();
        let index = match link {
            Link::GroupProcess => 0,
            Link::GroupActivity(machine) => 1 + machine,
            Link::ProcessActivity(machine) => 1 + n_machines + machine,
        };
        &mut self.wires[index]
    }

    /// Tells which machines can be reached that could not be, and the other way round.
    pub(crate) fn look_who_is_reached(
        &mut self,
        observer: &mut dyn Observer,
    ) -> Result<(), String> {
        let all =
            self.group.is_up() && self.process.is_up() && self.wire(Link::GroupProcess).carries;
        let process = self.is_up(Node::Process);
        let both = all && process && self.is_up(Node::Group) && self.hears(Link::GroupProcess);
        if self.managers != (process, both) {
            self.managers = (process, both);
            observer.see(self.at, &Seen::Managers { process, both })?;
        }
        for machine in 0..self.machines.n() {
            let is_reached = all
                && self.is_up(Node::Activity(machine))
                && self.hears(Link::GroupProcess)
                && self.hears(Link::GroupActivity(machine))
                && self.hears(Link::ProcessActivity(machine))
                && self.wire(Link::GroupActivity(machine)).carries;
            if self.machines.get(machine).is_reached != is_reached {
                self.machines.get(machine).is_reached = is_reached;
                let seen = Seen::Reached {
                    machine,
                    is_reached,
                };
                observer.see(self.at, &seen)?;
            }
        }
        Ok(())
    }

    /// Whether no end of a connection is deaf.
    fn hears(&mut self, link: Link) -> bool {
        let at = self.at;
        self.wire(link).usable_at() <= at
    }

    fn is_up(&mut self, node: Node) -> bool {
        if self.is_frozen(node) {
            return false;
        }
        match node {
            Node::Group => self.group.is_up(),
            Node::Process => self.process.is_up(),
            Node::Activity(machine) => self.machines.get(machine).host.is_up(),
        }
    }

    /// Dials the connections of a manager that has started or learned its number.
    pub(crate) fn dial_all(&mut self, node: Node) {
        for link in self.links() {
            let (one, other) = link.ends();
            if one == node || other == node {
                self.dial_later(link);
            }
        }
    }

    pub(crate) fn dial_later(&mut self, link: Link) {
        if !std::mem::replace(&mut self.wire(link).is_dialling, true) {
            let after = self.random.span(self.faults.reconnect);
            self.after(after, Happening::Dial(link));
        }
    }

    pub(crate) fn dial(&mut self, link: Link) {
        self.wire(link).is_dialling = false;
        if self.wire(link).carries {
            return;
        }
        let usable_at = self.wire(link).usable_at();
        if usable_at > self.at {
            self.wire(link).is_dialling = true;
            return self.calendar.enter(usable_at, Happening::Dial(link));
        }
        let (one, other) = link.ends();
        // Whoever is down dials again when it starts.
        if !self.is_up(one) || !self.is_up(other) {
            return;
        }
        if let Link::ProcessActivity(machine) = link
            && self.machines.get(machine).number.is_none()
        {
            return;
        }
        for end in 0..2 {
            if self.wire(link).seen[end] {
                self.tell_end(link, end, false);
            }
        }
        let wire = self.wire(link);
        wire.incarnation += 1;
        wire.carries = true;
        wire.seen = [true; 2];
        for end in 0..2 {
            self.tell_end(link, end, true);
        }
        self.note(&[4], || format!("{link:?} is up"));
        for (to, bytes) in std::mem::take(&mut self.wire(link).late) {
            let after = self.random.span(LATE_BY);
            let incarnation = LATE;
            self.after(
                after,
                Happening::Deliver {
                    link,
                    incarnation,
                    to,
                    bytes,
                },
            );
        }
    }

    pub(crate) fn cut(&mut self, link: Link) {
        let wire = self.wire(link);
        if !wire.carries {
            return;
        }
        wire.carries = false;
        let incarnation = wire.incarnation;
        for end in 0..2 {
            let after = self.random.span(self.faults.notice);
            self.after(
                after,
                Happening::Notice {
                    link,
                    incarnation,
                    end,
                },
            );
        }
        self.dial_later(link);
    }

    /// Sends bytes from one end of a connection.
    pub(crate) fn send(&mut self, link: Link, from: usize, bytes: Vec<u8>) {
        let at = self.at;
        let faults = self.faults.clone();
        let mut random = self.random.fork();
        let wire = self.wire(link);
        let incarnation = wire.incarnation;
        for arrival in wire.arrivals(from, at, &mut random, &faults) {
            let bytes = bytes.clone();
            self.calendar.enter(
                arrival,
                Happening::Deliver {
                    link,
                    incarnation,
                    to: 1 - from,
                    bytes,
                },
            );
        }
    }

    /// A message arrives. One whose connection has ended may still come by the next one.
    pub(crate) fn delivered(
        &mut self,
        link: Link,
        incarnation: u64,
        to: usize,
        bytes: Vec<u8>,
        observer: &mut dyn Observer,
    ) -> Result<(), String> {
        let wire = self.wire(link);
        let is_same = wire.incarnation == incarnation || incarnation == LATE;
        if is_same && wire.carries && wire.seen[to] {
            if incarnation == LATE {
                self.note(&[9], || format!("by {link:?}, late:"));
            }
            if self.random.happens(self.faults.mangling) {
                let mut other = bytes;
                mangle(&mut other, &mut self.random);
                // What is no message ends its connection, and reaches no manager.
                let _ = self.deliver(link, to, &other);
                return Ok(());
            }
            if let (Link::ProcessActivity(machine), 0) = (link, to) {
                observer.see(self.at, &Seen::Heard(machine))?;
            }
            return self.deliver(link, to, &bytes);
        }
        if incarnation != LATE && self.random.happens(self.faults.late) {
            self.wire(link).late.push((to, bytes));
        }
        Ok(())
    }
}
