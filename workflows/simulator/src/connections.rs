//! The connections between managers: dialled, cut, noticed, and what is sent over them.

use model::Span;
use wire::attempt::FromActivity;

use crate::mangle::mangle;
use crate::network::Wire;
use crate::observe::{Observer, Seen};
use crate::sim::{Happening, Node, Sim};

/// Stands for whichever connection there is when a late message arrives.
const LATE: u64 = u64::MAX;
/// Delay of a late message after the next connection is up.
const LATE_BY: (Span, Span) = (Span::ZERO, Span::from_millis(300));

/// A connection between two managers; each has ends 0 and 1 in the order of the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// Of a group manager and a process manager.
    GroupProcess(usize, usize),
    /// Of a machine and the manager of its group.
    GroupActivity(usize),
    /// Of a process manager and a machine.
    ProcessActivity(usize, usize),
}

impl Sim {
    /// The managers at the ends of a connection.
    pub(crate) fn ends(&self, link: Link) -> (Node, Node) {
        match link {
            Link::GroupProcess(group, process) => (Node::Group(group), Node::Process(process)),
            Link::GroupActivity(machine) => {
                let group = self.machines.group_of(machine);
                (Node::Group(group), Node::Activity(machine))
            }
            Link::ProcessActivity(process, machine) => {
                (Node::Process(process), Node::Activity(machine))
            }
        }
    }

    pub(crate) fn links(&self) -> Vec<Link> {
        let (n_groups, n_processes) = (self.groups.len(), self.processes.len());
        let machines = 0..self.machines.n();
        let mut links = Vec::new();
        for group in 0..n_groups {
            links.extend((0..n_processes).map(|process| Link::GroupProcess(group, process)));
        }
        links.extend(machines.clone().map(Link::GroupActivity));
        for process in 0..n_processes {
            let of_it = |machine| Link::ProcessActivity(process, machine);
            links.extend(machines.clone().map(of_it));
        }
        links
    }

    pub(crate) fn wire(&mut self, link: Link) -> &mut Wire {
        let n_machines = self.machines.n();
        let n_processes = self.processes.len();
        let n_between = self.groups.len() * n_processes;
        let index = match link {
            Link::GroupProcess(group, process) => group * n_processes + process,
            Link::GroupActivity(machine) => n_between + machine,
            Link::ProcessActivity(process, machine) => {
                n_between + (1 + process) * n_machines + machine
            }
        };
        &mut self.wires[index]
    }

    /// Tells which machines can be reached that could not be, and the other way round.
    pub(crate) fn look_who_is_reached(
        &mut self,
        observer: &mut dyn Observer,
    ) -> Result<(), String> {
        for manager in 0..self.processes.len() {
            self.look_whom_one_reaches(manager, observer)?;
        }
        for machine in 0..self.machines.n() {
            let link = Link::GroupActivity(machine);
            let is_joined = self.is_up(Node::Group(self.machines.group_of(machine)))
                && self.is_up(Node::Activity(machine))
                && self.wire(link).carries
                && self.hears(link);
            if self.machines.get(machine).is_joined != is_joined {
                self.machines.get(machine).is_joined = is_joined;
                observer.see(self.at, &Seen::Joined { machine, is_joined })?;
            }
        }
        Ok(())
    }

    fn look_whom_one_reaches(
        &mut self,
        manager: usize,
        observer: &mut dyn Observer,
    ) -> Result<(), String> {
        let process = self.is_up(Node::Process(manager));
        let mut together = Vec::with_capacity(self.groups.len());
        for group in 0..self.groups.len() {
            let link = Link::GroupProcess(group, manager);
            let is_linked = self.groups[group].is_up()
                && self.processes[manager].is_up()
                && self.wire(link).carries
                && self.hears(link);
            let is_running = is_linked && process && self.is_up(Node::Group(group));
            together.push((is_linked, is_running));
        }
        let both = together.iter().all(|&(_, is_running)| is_running);
        if self.managers[manager] != (process, both) {
            self.managers[manager] = (process, both);
            let seen = Seen::Managers {
                manager,
                process,
                both,
            };
            observer.see(self.at, &seen)?;
        }
        for machine in 0..self.machines.n() {
            let (is_linked, _) = together[self.machines.group_of(machine)];
            let is_reached = is_linked
                && self.is_up(Node::Activity(machine))
                && self.hears(Link::GroupActivity(machine))
                && self.hears(Link::ProcessActivity(manager, machine))
                && self.wire(Link::GroupActivity(machine)).carries;
            if self.machines.get(machine).is_reached[manager] != is_reached {
                self.machines.get(machine).is_reached[manager] = is_reached;
                let seen = Seen::Reached {
                    manager,
                    machine,
                    is_reached,
                };
                observer.see(self.at, &seen)?;
            }
        }
        Ok(())
    }

    /// True if no end of a connection is deaf.
    fn hears(&mut self, link: Link) -> bool {
        let at = self.at;
        self.wire(link).usable_at() <= at
    }

    fn is_up(&mut self, node: Node) -> bool {
        if self.is_frozen(node) {
            return false;
        }
        match node {
            Node::Group(group) => self.groups[group].is_up(),
            Node::Process(process) => self.processes[process].is_up(),
            Node::Activity(machine) => self.machines.get(machine).host.is_up(),
        }
    }

    /// Dials the connections of a manager that has started or learned its number.
    pub(crate) fn dial_all(&mut self, node: Node) {
        for link in self.links() {
            let (one, other) = self.ends(link);
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
        let (one, other) = self.ends(link);
        // A manager that is down dials again when it starts.
        if !self.is_up(one) || !self.is_up(other) {
            return;
        }
        if let Link::ProcessActivity(_, machine) = link
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
                // Bytes that are no message end the connection, and reach no manager.
                let _ = self.deliver(link, to, &other);
                return Ok(());
            }
            if let (Link::ProcessActivity(manager, machine), 0) = (link, to) {
                observer.see(self.at, &Seen::Heard(manager, machine))?;
                if let Ok(FromActivity::Renew { epoch, number }) = wire::decode(&bytes) {
                    let renews = Seen::Renews {
                        manager,
                        machine,
                        epoch,
                        number,
                    };
                    observer.see(self.at, &renews)?;
                }
            }
            return self.deliver(link, to, &bytes);
        }
        if incarnation != LATE && self.random.happens(self.faults.late) {
            self.wire(link).late.push((to, bytes));
        }
        Ok(())
    }
}
