//! The effects of managers, and the inputs that reach them from outside.

use wire::attempt::ToActivity;
use wire::group::{FromGroup, ToGroup};

use crate::connections::Link;
use crate::observe::{MadePlan, Observer, Seen};
use crate::sim::{Happening, Node, Sim};

/// Connections of activity managers are numbered by this times their count, and their machine.
const CONNECTIONS: u32 = 1 << 10;

impl Sim {
    /// The number of the connection between the group manager and a machine.
    fn connection(&mut self, machine: usize) -> u32 {
        self.wire(Link::GroupActivity(machine)).incarnation as u32 * CONNECTIONS + machine as u32
    }

    /// An end of a connection learns that it is up or down.
    pub(crate) fn tell_end(&mut self, link: Link, end: usize, is_up: bool) {
        let (one, other) = self.ends(link);
        let node = if end == 0 { one } else { other };
        match (link, end) {
            (Link::GroupProcess(group, process), 0) => {
                let peer = group_core::Peer::Process(process as u32);
                self.groups[group].put(if is_up {
                    group_core::Input::Up(peer)
                } else {
                    group_core::Input::Down(peer)
                });
            }
            (Link::GroupProcess(group, process), _) => {
                let group = self.group_id(group);
                self.processes[process].put(if is_up {
                    process_core::Input::GroupUp(group)
                } else {
                    process_core::Input::GroupDown(group)
                });
            }
            (Link::GroupActivity(machine), 0) => {
                let peer = group_core::Peer::Activity(self.connection(machine));
                let group = self.machines.group_of(machine);
                self.groups[group].put(if is_up {
                    group_core::Input::Up(peer)
                } else {
                    group_core::Input::Down(peer)
                });
            }
            (Link::ProcessActivity(process, machine), 0) => {
                if let Some(number) = self.machines.get(machine).number {
                    self.processes[process].put(if is_up {
                        process_core::Input::ActivityUp(number)
                    } else {
                        process_core::Input::ActivityDown(number)
                    });
                }
            }
            (Link::GroupActivity(machine) | Link::ProcessActivity(_, machine), _) => {
                let peer = match link {
                    Link::ProcessActivity(process, _) => {
                        activity_core::Peer::Process(process as u32)
                    }
                    Link::GroupActivity(_) | Link::GroupProcess(..) => activity_core::Peer::Group,
                };
                self.machines.get(machine).host.put(if is_up {
                    activity_core::Input::Up(peer)
                } else {
                    activity_core::Input::Down(peer)
                });
            }
        }
        self.turn_soon(node);
    }

    /// A message arrives at an end.
    pub(crate) fn deliver(&mut self, link: Link, to: usize, bytes: &[u8]) -> Result<(), String> {
        let (one, other) = self.ends(link);
        let node = if to == 0 { one } else { other };
        match (link, to) {
            (Link::GroupProcess(group, process), 0) => {
                let message: ToGroup = self.arrived(bytes, node)?;
                let from = process as u32;
                self.groups[group].put(group_core::Input::Process(from, message));
            }
            (Link::GroupProcess(group, process), _) => {
                let message: FromGroup = self.arrived(bytes, node)?;
                let from = self.group_id(group);
                self.processes[process].put(process_core::Input::Group(from, message));
            }
            (Link::GroupActivity(machine), 0) => {
                let message = self.arrived(bytes, node)?;
                let connection = self.connection(machine);
                let group = self.machines.group_of(machine);
                self.groups[group].put(group_core::Input::Activity(connection, message));
            }
            (Link::GroupActivity(machine), _) => {
                let message = self.arrived(bytes, node)?;
                self.machines
                    .get(machine)
                    .host
                    .put(activity_core::Input::Group(message));
            }
            (Link::ProcessActivity(process, machine), 0) => {
                let message = self.arrived(bytes, node)?;
                if let Some(number) = self.machines.get(machine).number {
                    self.processes[process].put(process_core::Input::Activity(number, message));
                }
            }
            (Link::ProcessActivity(process, machine), _) => {
                let message = self.arrived(bytes, node)?;
                self.machines
                    .get(machine)
                    .host
                    .put(activity_core::Input::Process(process as u32, message));
            }
        }
        self.turn_soon(node);
        Ok(())
    }

    pub(crate) fn arrived<T>(&mut self, bytes: &[u8], node: Node) -> Result<T, String>
    where
        T: for<'b> minicbor::Decode<'b, ()> + std::fmt::Debug,
    {
        let message = wire::decode(bytes)
            .map_err(|error| format!("a message to {node:?} cannot be read: {error}"))?;
        self.note(bytes, || format!("-> {node:?}: {message:?}"));
        Ok(message)
    }

    /// True if the manager died on the way.
    pub(crate) fn carry_out_group(
        &mut self,
        group: usize,
        effects: Option<Vec<group_core::Effect>>,
        observer: &mut dyn Observer,
    ) -> Result<bool, String> {
        let Some(effects) = effects else {
            return Ok(true);
        };
        let survives =
            self.groups[group].survives(effects.len(), &mut self.random, &mut self.crashes);
        for effect in effects.into_iter().take(survives.unwrap_or(usize::MAX)) {
            match effect {
                group_core::Effect::ToProcess(process, message) => {
                    observer.see(self.at, &Seen::FromGroup(&message))?;
                    let link = Link::GroupProcess(group, process as usize);
                    self.send(link, 0, wire::encode(&message));
                }
                group_core::Effect::ToActivity(connection, message) => {
                    let machine = (connection % CONNECTIONS) as usize;
                    if connection == self.connection(machine) {
                        self.send(Link::GroupActivity(machine), 0, wire::encode(&message));
                    }
                }
                group_core::Effect::Keep(record) => {
                    self.records[group].insert(record.key, record.value);
                }
                group_core::Effect::Drop(key) => {
                    self.records[group].remove(&key);
                }
                // Nobody asks here.
                group_core::Effect::Surveyed(..)
                | group_core::Effect::Drained(..)
                | group_core::Effect::Forgotten { .. }
                | group_core::Effect::GivenUp(..)
                | group_core::Effect::History(..)
                | group_core::Effect::Foreign(..) => {}
            }
        }
        Ok(survives.is_some())
    }

    /// True if the manager died on the way.
    pub(crate) fn carry_out_process(
        &mut self,
        manager: usize,
        effects: Option<Vec<process_core::Effect>>,
        observer: &mut dyn Observer,
    ) -> Result<bool, String> {
        let Some(effects) = effects else {
            return Ok(true);
        };
        let survives =
            self.processes[manager].survives(effects.len(), &mut self.random, &mut self.crashes);
        for effect in effects.into_iter().take(survives.unwrap_or(usize::MAX)) {
            match effect {
                process_core::Effect::ToGroup(id, message) => {
                    if let ToGroup::Claim { process, wants, .. } = &message
                        && !wants.is_empty()
                    {
                        observer.see(self.at, &Seen::Claims(*process))?;
                    }
                    if let ToGroup::Waits {
                        process,
                        waited,
                        needs,
                        ..
                    } = &message
                    {
                        observer.see(self.at, &Seen::Waits(*process, *waited, needs))?;
                    }
                    let mut groups = 0..self.groups.len();
                    if let Some(group) = groups.find(|&group| self.group_id(group) == id) {
                        let link = Link::GroupProcess(group, manager);
                        self.send(link, 1, wire::encode(&message));
                    }
                }
                process_core::Effect::ToActivity(resource, message) => {
                    let Some(&machine) = self.by_number.get(&resource) else {
                        continue;
                    };
                    observer.see(self.at, &Seen::ToActivity(machine, &message))?;
                    if let ToActivity::Renewed { epoch, number, .. } = message {
                        let renewed = Seen::Renewed {
                            manager,
                            machine,
                            epoch,
                            number,
                        };
                        observer.see(self.at, &renewed)?;
                    }
                    let link = Link::ProcessActivity(manager, machine);
                    self.send(link, 0, wire::encode(&message));
                }
                process_core::Effect::Answer {
                    client,
                    number,
                    answer,
                } => {
                    observer.see(self.at, &Seen::Answers(manager, &answer))?;
                    self.answers(client, number, answer);
                }
                // Its machines are who they are.
                process_core::Effect::Registered(..)
                | process_core::Effect::Foreign(..)
                | process_core::Effect::Done(_)
                | process_core::Effect::Measured(_) => {}
                // Only runs of one user on one machine share outcomes.
                process_core::Effect::Share(..) => {}
                process_core::Effect::Keep(remembered) => {
                    let kept = self.stores.histories.entry(manager).or_default();
                    kept.take(&remembered.key, &remembered.seen);
                }
                process_core::Effect::Forget(request) => {
                    let kept = self.stores.histories.entry(manager).or_default();
                    kept.forget(&request.owner, request.definition.as_deref());
                    let forgotten = process_core::Input::HistoryForgotten(request, Ok(()));
                    self.processes[manager].put(forgotten);
                }
                process_core::Effect::Plan(request) => {
                    observer.see(self.at, &Seen::Plans(request.process))?;
                    let result = Box::new(request.answer());
                    let made = MadePlan {
                        process: request.process,
                        request: &request.request,
                        plan: result.result.as_ref().ok(),
                    };
                    observer.see(self.at, &Seen::HasPlanned(&made))?;
                    let takes = self.random.span(self.setup.works_aside);
                    let epoch = self.processes[manager].epoch;
                    let planned = Happening::Planned {
                        manager,
                        epoch,
                        result,
                    };
                    self.after(takes, planned);
                }
            }
        }
        Ok(survives.is_some())
    }

    /// True if the manager died on the way.
    pub(crate) fn carry_out_activity(
        &mut self,
        machine: usize,
        effects: Option<Vec<activity_core::Effect>>,
        observer: &mut dyn Observer,
    ) -> Result<bool, String> {
        let Some(effects) = effects else {
            return Ok(true);
        };
        let Sim {
            random,
            crashes,
            machines,
            ..
        } = self;
        let survives = machines
            .get(machine)
            .host
            .survives(effects.len(), random, crashes);
        for effect in effects.into_iter().take(survives.unwrap_or(usize::MAX)) {
            match effect {
                activity_core::Effect::ToGroup(message) => {
                    self.send(Link::GroupActivity(machine), 1, wire::encode(&message));
                }
                activity_core::Effect::ToProcess(process, message) => {
                    let link = Link::ProcessActivity(process as usize, machine);
                    self.send(link, 1, wire::encode(&message));
                }
                activity_core::Effect::Execute(mut message) => {
                    if let wire::executor::ToExecutor::Lease(lease) = &mut message {
                        // One computer has one clock; here each life of the daemon has its own.
                        let host = &self.machines.get(machine).host;
                        lease.until = host.moment(lease.until);
                        lease.dead_by = host.moment(lease.dead_by);
                    }
                    self.send_executor(machine, wire::encode(&message));
                }
                activity_core::Effect::Stage {
                    attempt,
                    inputs,
                    sources,
                    user: _,
                    discards: _,
                } => {
                    observer.see(self.at, &Seen::Stages(attempt, &inputs))?;
                    self.stage(machine, attempt, inputs, &sources, observer)?;
                }
                activity_core::Effect::Copy {
                    to,
                    copied,
                    sources,
                    stays: _,
                    number,
                } => self.copy((machine, to), copied, number, &sources),
                activity_core::Effect::Probe { to, machines: peers } => {
                    self.probe((machine, to), &peers);
                }
                activity_core::Effect::Discard { to, discards } => {
                    self.discard(machine, to, discards, observer)?;
                }
                activity_core::Effect::Check {
                    to,
                    copied,
                    sources,
                } => self.check(machine, to, copied, &sources),
                activity_core::Effect::Collect {
                    attempt,
                    directory: _,
                    outputs,
                    user: _,
                } => {
                    self.collect(machine, attempt, &outputs, observer)?;
                }
                activity_core::Effect::Clear {
                    attempt,
                    directory: _,
                } => {
                    self.machines.get(machine).workplaces.remove(&attempt);
                }
                // Executors of the simulation write nothing.
                activity_core::Effect::Tail { .. }
                | activity_core::Effect::ReadLog(..)
                | activity_core::Effect::Unneeded(_)
                | activity_core::Effect::Access { .. }
                | activity_core::Effect::Unserved(_)
                | activity_core::Effect::Left
                // Executors of the simulation always answer.
                | activity_core::Effect::ExecutorSilent(_)
                | activity_core::Effect::EndExecutor => {}
                activity_core::Effect::Numbered(resource) => {
                    self.numbered(machine, resource, observer)?;
                }
            }
        }
        Ok(survives.is_some())
    }

    fn numbered(
        &mut self,
        machine: usize,
        resource: model::ResourceId,
        observer: &mut dyn Observer,
    ) -> Result<(), String> {
        observer.see(self.at, &Seen::Numbered(machine, resource))?;
        if self
            .machines
            .get(machine)
            .number
            .replace(resource)
            .is_none()
        {
            self.by_number.insert(resource, machine);
            self.dial_all(Node::Activity(machine));
        }
        Ok(())
    }
}
