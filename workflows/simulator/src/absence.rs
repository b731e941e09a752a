//! Daemons that are stopped, connections that carry one way, machines that are cut off, calendars
//! that are set, and clocks that have a pace of their own.

use model::{Mono, Span};
use wire::lease::SILENCE;

use crate::connections::Link;
use crate::host::Host;
use crate::sim::{Happening, Node, Sim};

/// Delay with which an end notices that it has heard nothing.
const IDLE_LATE: (Span, Span) = (Span::ZERO, Span::from_millis(500));
/// Distance by which a calendar is set ahead or back.
const JUMP: u64 = 86_400_000_000;

impl Sim {
    /// Draws when what happens.
    pub(crate) fn lay_out_absences(&mut self, phase: Span) {
        let n_machines = self.machines.n();
        let faults = self.faults.clone();
        let mut entries: Vec<Happening> = Vec::new();
        for _ in 0..self.n_of(faults.freezes) {
            entries.push(Happening::Freeze(self.any_node()));
        }
        for _ in 0..self.n_of(faults.deafnesses) {
            let machine = self.random.index(n_machines);
            let link = match self.random.below(4) {
                0 => self.any_managers(),
                1 => Link::GroupActivity(machine),
                _ => Link::ProcessActivity(self.any_process_manager(), machine),
            };
            entries.push(Happening::Deafen(link, self.random.index(2)));
        }
        for _ in 0..self.n_of(faults.unpluggings) {
            entries.push(Happening::Unplug(self.random.index(n_machines)));
        }
        for _ in 0..self.n_of(faults.jumps) {
            entries.push(Happening::Jump(self.any_node()));
        }
        for _ in 0..self.n_of(faults.burns) {
            entries.push(Happening::Burn(self.random.index(n_machines)));
        }
        for entry in entries {
            let latest = self.random.below(phase.0);
            let at = Mono(self.random.below(latest));
            self.calendar.enter(at, entry);
        }
    }

    /// Draws how often something happens, and nothing for what never does.
    fn n_of(&mut self, (least, most): (u64, u64)) -> u64 {
        if most == 0 {
            return 0;
        }
        self.random.between(least, most)
    }

    /// Gives each computer a clock with a pace of its own.
    pub(crate) fn set_drifts(&mut self) {
        let most = self.setup.drift_max;
        if most == 0 {
            return;
        }
        let mut draw = || self.random.below(2 * most) as i64 - most as i64;
        let groups: Vec<i64> = self.groups.iter().map(|_| draw()).collect();
        let processes: Vec<i64> = self.processes.iter().map(|_| draw()).collect();
        let machines: Vec<i64> = (0..self.machines.n()).map(|_| draw()).collect();
        for (host, drift) in self.groups.iter_mut().zip(groups) {
            host.set_drift(drift);
        }
        for (host, drift) in self.processes.iter_mut().zip(processes) {
            host.set_drift(drift);
        }
        for (machine, drift) in machines.into_iter().enumerate() {
            self.machines.get(machine).host.set_drift(drift);
        }
    }

    /// Activity managers more often than the others.
    fn any_node(&mut self) -> Node {
        let machine = self.random.index(self.machines.n());
        match self.random.below(6) {
            0 => Node::Group(self.any_group()),
            1 => Node::Process(self.any_process_manager()),
            _ => Node::Activity(machine),
        }
    }

    pub(crate) fn freeze(&mut self, node: Node) {
        let until = self.at + self.random.span(self.faults.frozen_for);
        self.note(&[12], || format!("{node:?} is stopped"));
        *self.frozen(node) = until;
        for link in self.links() {
            let (one, other) = self.ends(link);
            if one == node || other == node {
                self.look_later(link);
            }
        }
        self.calendar.enter(until, Happening::Thaw(node));
    }

    pub(crate) fn thaw(&mut self, node: Node) {
        *self.frozen(node) = Mono(0);
        self.turn_soon(node);
    }

    pub(crate) fn is_frozen(&mut self, node: Node) -> bool {
        let until = *self.frozen(node);
        self.at < until
    }

    pub(crate) fn frozen_until(&mut self, node: Node) -> Mono {
        *self.frozen(node)
    }

    fn frozen(&mut self, node: Node) -> &mut Mono {
        match node {
            Node::Group(group) => &mut self.groups[group].frozen_until,
            Node::Process(process) => &mut self.processes[process].frozen_until,
            Node::Activity(machine) => &mut self.machines.get(machine).host.frozen_until,
        }
    }

    pub(crate) fn deafen(&mut self, link: Link, end: usize) {
        let until = self.at + self.random.span(self.faults.deaf_for);
        self.note(&[13], || format!("{link:?} carries nothing from end {end}"));
        self.wire(link).deafen(end, until);
        self.look_later(link);
    }

    pub(crate) fn unplug(&mut self, machine: usize) {
        let until = self.at + self.random.span(self.faults.unplugged_for);
        self.note(&[14], || format!("machine {machine} is cut off"));
        self.unplug_until(machine, until);
    }

    pub(crate) fn unplug_until(&mut self, machine: usize, until: Mono) {
        for link in self.links() {
            if self.ends(link).1 != Node::Activity(machine) {
                continue;
            }
            let wire = self.wire(link);
            (0..2).for_each(|end| wire.deafen(end, until));
            wire.unplugged_until = until;
            self.look_later(link);
        }
    }

    /// An end of a connection will look whether it has heard anything.
    fn look_later(&mut self, link: Link) {
        let incarnation = self.wire(link).incarnation;
        let after = SILENCE + self.random.span(IDLE_LATE);
        self.after(after, Happening::Idle { link, incarnation });
    }

    /// An end of a connection gives it up where the other one is not heard.
    pub(crate) fn idle(&mut self, link: Link, incarnation: u64) {
        let (one, other) = self.ends(link);
        let is_silent =
            self.is_frozen(one) || self.is_frozen(other) || self.wire(link).usable_at() > self.at;
        if is_silent && self.wire(link).incarnation == incarnation {
            self.cut(link);
        }
    }

    pub(crate) fn jump(&mut self, node: Node) {
        let ahead = self.random.below(2 * JUMP) as i64 - JUMP as i64;
        self.note(&[15], || format!("the calendar of {node:?} is set"));
        match node {
            Node::Group(group) => set(&mut self.groups[group], ahead),
            Node::Process(process) => set(&mut self.processes[process], ahead),
            Node::Activity(machine) => set(&mut self.machines.get(machine).host, ahead),
        }
    }
}

fn set<M: machine::Machine>(host: &mut Host<M>, ahead: i64)
where
    M::State: std::fmt::Debug,
    M::Event: std::fmt::Debug,
{
    host.set_calendar(ahead);
}
