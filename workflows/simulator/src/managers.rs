//! The managers' lives in the grid: they start, take turns, flush, carry out and die.

use std::fmt::Debug;
use std::sync::Arc;

use activity_core::ActivityManager;
use group_core::GroupManager;
use machine::{Codec, Machine};
use model::{GroupId, Mono, NetworkLink, Span};
use process_core::ProcessManager;

use crate::host::{Crashes, Host, Turn};
use crate::observe::{Observer, Seen};
use crate::random::Random;
use crate::setup::{Faults, PATIENCE};
use crate::shelf::ShelfInMemory;
use crate::sim::{Happening, Node, Sim};

/// The longest wait between an input and the turn that steps it.
const TURN: Span = Span(200);

/// The network that process managers count on where nothing was measured: a gigabit a second.
const LINK: NetworkLink = NetworkLink {
    bandwidth: 1.25e8,
    latency: 1e-4,
};

impl Sim {
    /// The histories that the first process manager would read from its disk, for measurements.
    pub fn process_histories(&self) -> Result<Vec<machine::History<ProcessManager>>, String> {
        self.processes[0].histories()
    }

    /// The snapshots of the first process manager.
    pub fn process_snapshots(&self) -> crate::Snapshots {
        self.processes[0].snapshots()
    }

    pub(crate) fn start(&mut self, node: Node, observer: &mut dyn Observer) -> Result<(), String> {
        if self.is_lost(node) {
            return Ok(());
        }
        self.note(&[2], || format!("{node:?} starts"));
        // A manager that has just come back learns first what became of what it did before.
        self.rests_since = self.rests_since.map(|_| self.at);
        let mut lease = None;
        let Sim {
            at,
            random,
            setup,
            seed,
            groups,
            processes,
            machines,
            ..
        } = self;
        match node {
            Node::Group(group) => {
                let config = group_core::Config {
                    group: group_id(group, groups.len()),
                    lease: setup.lease,
                    policy: (setup.policy)(*seed),
                    forget_machines: setup.forget_machines,
                    ..group_core::Config::default()
                };
                let fresh = || GroupManager::new(config.clone());
                groups[group].start(fresh, *at, random, setup.looks_closely)
            }
            Node::Process(process) => {
                let length = |random: &mut Random| match setup.lengths {
                    [] => setup.lease,
                    some => random.pick(some).map(Span::from_secs),
                };
                lease = setup.lease.and_then(|_| length(random));
                let config = process_core::Config {
                    // The simulation depends on the plan, not on the time of the search for it.
                    scheduler: schedule::SchedulerKind::Best,
                    patience: PATIENCE,
                    lease,
                    kept_activities: setup.kept_activities,
                    // Files cross a network, so that links are measured and judged.
                    link: (setup.has_stores && setup.rounds).then_some(LINK),
                    ..process_core::Config::default()
                };
                let fresh = || {
                    let core = ProcessManager::new(config.clone());
                    core.with_shelf(Arc::new(ShelfInMemory))
                };
                processes[process].start(fresh, *at, random, setup.looks_closely)
            }
            Node::Activity(machine) => {
                let machine = machines.get(machine);
                let config = machine.config.clone();
                let fresh = || ActivityManager::new(config.clone());
                machine.host.start(fresh, *at, random, setup.looks_closely)
            }
        }
        .map_err(|why| format!("rule 1: {node:?}: {why}"))?;
        match node {
            Node::Group(group) => {
                // The repository has lost some of what it was to keep.
                let mut records: Vec<_> = self.records[group].clone().into_iter().collect();
                records.retain(|_| self.random.below(4) > 0);
                let record = |(key, value)| group_core::Record { key, value };
                let records = records.into_iter().map(record).collect();
                self.groups[group].put(group_core::Input::Known(records));
            }
            Node::Process(manager) => {
                let known = self.stores.histories.entry(manager).or_default().all();
                let known = known.map(|(key, record)| (key, record.clone())).collect();
                self.processes[manager].put(process_core::Input::Known(known));
                if let Some(lease) = lease {
                    observer.see(self.at, &Seen::Leases(manager, lease))?;
                }
            }
            Node::Activity(machine) => {
                let slots = self.machines.get(machine).config.slots;
                observer.see(self.at, &Seen::Machine { machine, slots })?;
                let epoch = self.machines.get(machine).host.epoch;
                self.connect_soon(machine, epoch);
            }
        }
        self.dial_all(node);
        self.turn_soon(node);
        Ok(())
    }

    pub(crate) fn dies(&mut self, node: Node, observer: &mut dyn Observer) -> Result<(), String> {
        self.note(&[3], || format!("{node:?} dies"));
        let Sim {
            random,
            faults,
            groups,
            processes,
            machines,
            ..
        } = self;
        match node {
            Node::Group(group) => {
                let events = groups[group].die(random, faults)?;
                self.group_durable(group, &events, observer)?;
            }
            Node::Process(process) => {
                let events = processes[process].die(random, faults)?;
                self.process_durable(&events, observer)?;
            }
            Node::Activity(machine) => {
                machines.get(machine).host.die(random, faults)?;
                self.daemon_gone(machine);
            }
        }
        for link in self.links() {
            let (one, other) = self.ends(link);
            if one == node || other == node {
                let own = usize::from(other == node);
                self.wire(link).seen[own] = false;
                self.cut(link);
            }
        }
        let away = if self.random.happens(self.faults.long_away) {
            self.faults.long_away_for
        } else {
            self.faults.away
        };
        let away = self.random.span(away);
        self.after(away, Happening::Start(node));
        Ok(())
    }

    pub(crate) fn group_id(&self, group: usize) -> GroupId {
        group_id(group, self.groups.len())
    }

    /// The disk of a manager is full for a while.
    pub(crate) fn fill_disk(&mut self, node: Node) {
        let until = self.at + self.random.span(self.faults.full_for);
        self.note(&[10], || format!("the disk of {node:?} is full"));
        self.set_full_until(node, until);
    }

    pub(crate) fn set_full_until(&mut self, node: Node, until: Mono) {
        match node {
            Node::Group(group) => self.groups[group].fill_disk(until),
            Node::Process(process) => self.processes[process].fill_disk(until),
            Node::Activity(machine) => self.machines.get(machine).host.fill_disk(until),
        }
    }

    /// A turn of a manager soon, if it has something to do; else when it wants to be woken.
    pub(crate) fn turn_soon(&mut self, node: Node) {
        let at = self.at;
        let soon = at + Span(self.random.below(TURN.0));
        let (has_work, wakeup, busy_until, turn_at) = match node {
            Node::Group(group) => when(&mut self.groups[group]),
            Node::Process(process) => when(&mut self.processes[process]),
            Node::Activity(machine) => when(&mut self.machines.get(machine).host),
        };
        // Before the next turn the loop takes note of flushes that have ended during its step.
        let next = match busy_until > at {
            true => busy_until + Span(1),
            false => at,
        };
        let wanted = match (has_work, wakeup) {
            (true, _) => soon.max(next),
            (false, Some(wakeup)) => wakeup.max(next),
            (false, None) => return,
        };
        if turn_at.is_none_or(|before| wanted < before) {
            *turn_at = Some(wanted);
            self.calendar.enter(wanted, Happening::Turn(node));
        }
    }

    pub(crate) fn turn(&mut self, node: Node, observer: &mut dyn Observer) -> Result<(), String> {
        let Sim {
            at,
            random,
            crashes,
            faults,
            groups,
            processes,
            machines,
            ..
        } = self;
        let (epoch, turn) = match node {
            Node::Group(group) => turn(&mut groups[group], *at, random, crashes, faults)?,
            Node::Process(process) => turn(&mut processes[process], *at, random, crashes, faults)?,
            Node::Activity(machine) => turn(
                &mut machines.get(machine).host,
                *at,
                random,
                crashes,
                faults,
            )?,
        };
        match turn {
            None => Ok(()),
            Some(Turn::Died) => self.dies(node, observer),
            Some(Turn::Frozen(until)) => {
                self.calendar.enter(until, Happening::Turn(node));
                Ok(())
            }
            Some(Turn::Idle) => {
                self.turn_soon(node);
                Ok(())
            }
            Some(Turn::Closed { number, durable_at }) => {
                self.calendar.enter(
                    durable_at,
                    Happening::Flushed {
                        node,
                        epoch,
                        number,
                    },
                );
                self.turn_soon(node);
                Ok(())
            }
        }
    }

    pub(crate) fn flushed(
        &mut self,
        node: Node,
        epoch: u64,
        number: u64,
        observer: &mut dyn Observer,
    ) -> Result<(), String> {
        let closely = self.setup.looks_closely;
        let at = self.at;
        if self.is_frozen(node) {
            // It is on the disk, and nobody takes note of that.
            let until = self.frozen_until(node);
            self.calendar.enter(
                until,
                Happening::Flushed {
                    node,
                    epoch,
                    number,
                },
            );
            return Ok(());
        }
        if let Node::Process(process) = node
            && let busy_until = self.processes[process].busy_until
            && busy_until > at
        {
            // The loop takes note of it after its step.
            let flushed = Happening::Flushed {
                node,
                epoch,
                number,
            };
            self.calendar.enter(busy_until, flushed);
            return Ok(());
        }
        let Sim {
            random,
            crashes,
            faults,
            groups,
            processes,
            machines,
            ..
        } = self;
        let died = match node {
            Node::Group(group) if groups[group].epoch == epoch && groups[group].is_up() => {
                let host = &mut groups[group];
                let flushed = host.flushed(at, number, random, crashes, faults, closely)?;
                self.group_durable(group, &flushed.events, observer)?;
                self.carry_out_group(group, flushed.effects, observer)?
            }
            Node::Process(process)
                if processes[process].epoch == epoch && processes[process].is_up() =>
            {
                let host = &mut processes[process];
                let flushed = host.flushed(at, number, random, crashes, faults, closely)?;
                self.process_durable(&flushed.events, observer)?;
                self.carry_out_process(process, flushed.effects, observer)?
            }
            Node::Activity(machine)
                if machines.get(machine).host.epoch == epoch
                    && machines.get(machine).host.is_up() =>
            {
                let host = &mut machines.get(machine).host;
                let flushed = host.flushed(at, number, random, crashes, faults, closely)?;
                self.carry_out_activity(machine, flushed.effects, observer)?
            }
            Node::Group(_) | Node::Process(_) | Node::Activity(_) => return Ok(()),
        };
        if died {
            return self.dies(node, observer);
        }
        self.turn_soon(node);
        Ok(())
    }

    pub(crate) fn group_durable(
        &mut self,
        group: usize,
        events: &[(group_core::Stream, group_core::Event)],
        observer: &mut dyn Observer,
    ) -> Result<(), String> {
        for (_, event) in events {
            self.note(&bytes_of(event), || format!("group has recorded {event:?}"));
            observer.see(self.at, &Seen::GroupDurable(self.group_id(group), event))?;
        }
        Ok(())
    }

    pub(crate) fn process_durable(
        &mut self,
        events: &[(process_core::Stream, process_core::Event)],
        observer: &mut dyn Observer,
    ) -> Result<(), String> {
        for (stream, event) in events {
            self.note(&bytes_of(event), || {
                if let process_core::Event::Founded(_) = event {
                    return format!("process has recorded {stream:?}");
                }
                format!("process has recorded {event:?}")
            });
            observer.see(self.at, &Seen::ProcessDurable(*stream, event))?;
            if let process_core::Stream::Process(process) = stream {
                self.note_files(*process, event);
            }
            if let (process_core::Stream::Process(process), process_core::Event::Released) =
                (stream, event)
            {
                self.released.insert(*process);
            }
        }
        Ok(())
    }
}

/// The id of a group: one alone is that of a program with all managers inside.
fn group_id(group: usize, n_groups: usize) -> GroupId {
    match n_groups {
        1 => GroupId::LOCAL,
        _ => GroupId::new(0x1f0c_2a3b_4c5d_0000 + group as u64),
    }
}

fn when<M: Machine>(host: &mut Host<M>) -> (bool, Option<Mono>, Mono, &mut Option<Mono>)
where
    M::State: Debug,
    M::Event: Debug,
{
    let (has_work, wakeup) = (host.has_work(), host.wakeup());
    (has_work, wakeup, host.busy_until, &mut host.turn_at)
}

/// The turn for which the manager was entered; none where it is another one.
fn turn<M: Machine>(
    host: &mut Host<M>,
    at: Mono,
    random: &mut Random,
    crashes: &mut Crashes,
    faults: &Faults,
) -> Result<(u64, Option<Turn>), String>
where
    M::State: Debug,
    M::Event: Debug,
{
    if host.turn_at != Some(at) || !host.is_up() {
        return Ok((host.epoch, None));
    }
    if at < host.frozen_until {
        host.turn_at = Some(host.frozen_until);
        return Ok((host.epoch, Some(Turn::Frozen(host.frozen_until))));
    }
    host.turn_at = None;
    Ok((host.epoch, Some(host.turn(at, random, crashes, faults)?)))
}

pub(crate) fn bytes_of<T: Codec>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.encode(&mut bytes);
    bytes
}
