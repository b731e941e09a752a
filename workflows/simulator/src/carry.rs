//! What managers want done outside, and what reaches them from there.

use model::GroupId;
use process_core::{PlanRequest, PlanResult};
use wire::group::{FromGroup, ToGroup};

use crate::connections::Link;
use crate::observe::{Observer, Seen};
use crate::sim::{Happening, Node, Sim};

/// The one group of a run.
const GROUP: GroupId = GroupId(0);

/// Connections of activity managers are numbered by this times their count, and their machine.
const CONNECTIONS: u32 = 1 << 10;

impl Sim {
    /// The number of the connection between the group manager and a machine.
    fn connection(&mut self, machine: usize) -> u32 {
        self.wire(Link::GroupActivity(machine)).incarnation as u32 * CONNECTIONS + machine as u32
    }

    /// An end of a connection learns that it is up or down.
    pub(crate) fn tell_end(&mut self, link: Link, end: usize, is_up: bool) {
        let (one, other) = link.ends();
        let node = if end == 0 { one } else { other };
        match (link, end) {
            (Link::GroupProcess, 0) => {
                let peer = group_core::Peer::Process(0);
                self.group.put(if is_up {
                    group_core::Input::Up(peer)
                } else {
                    group_core::Input::Down(peer)
                });
            }
            (Link::GroupProcess, _) => self.process.put(if is_up {
                process_core::Input::GroupUp(GROUP)
            } else {
                process_core::Input::GroupDown(GROUP)
            }),
            (Link::GroupActivity(machine), 0) => {
                let peer = group_core::Peer::Activity(self.connection(machine));
                self.group.put(if is_up {
                    group_core::Input::Up(peer)
                } else {
                    group_core::Input::Down(peer)
                });
            }
            (Link::ProcessActivity(machine), 0) => {
                if let Some(number) = self.machines.get(machine).number {
                    self.process.put(if is_up {
                        process_core::Input::ActivityUp(number)
                    } else {
                        process_core::Input::ActivityDown(number)
                    });
                }
            }
            (Link::GroupActivity(machine) | Link::ProcessActivity(machine), _) => {
                let peer = match link {
                    Link::ProcessActivity(_) => activity_core::Peer::Process(0),
                    Link::GroupActivity(_) | Link::GroupProcess => activity_core::Peer::Group,
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
        let (one, other) = link.ends();
        let node = if to == 0 { one } else { other };
        match (link, to) {
            (Link::GroupProcess, 0) => {
                let message: ToGroup = self.arrived(bytes, node)?;
                self.group.put(group_core::Input::Process(0, message));
            }
            (Link::GroupProcess, _) => {
                let message: FromGroup = self.arrived(bytes, node)?;
                self.process.put(process_core::Input::Group(GROUP, message));
            }
            (Link::GroupActivity(machine), 0) => {
                let message = self.arrived(bytes, node)?;
                let connection = self.connection(machine);
                self.group
                    .put(group_core::Input::Activity(connection, message));
            }
            (Link::GroupActivity(machine), _) => {
                let message = self.arrived(bytes, node)?;
                self.machines
                    .get(machine)
                    .host
                    .put(activity_core::Input::Group(message));
            }
            (Link::ProcessActivity(machine), 0) => {
                let message = self.arrived(bytes, node)?;
                if let Some(number) = self.machines.get(machine).number {
                    self.process
                        .put(process_core::Input::Activity(number, message));
                }
            }
            (Link::ProcessActivity(machine), _) => {
                let message = self.arrived(bytes, node)?;
                self.machines
                    .get(machine)
                    .host
                    .put(activity_core::Input::Process(0, message));
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

    /// Whether the manager died on the way.
    pub(crate) fn carry_out_group(
        &mut self,
        effects: Option<Vec<group_core::Effect>>,
        observer: &mut dyn Observer,
    ) -> Result<bool, String> {
        let Some(effects) = effects else {
            return Ok(true);
        };
        let survives = self
            .group
            .survives(effects.len(), &mut self.random, &mut self.crashes);
        for effect in effects.into_iter().take(survives.unwrap_or(usize::MAX)) {
            match effect {
                group_core::Effect::ToProcess(_, message) => {
                    observer.see(self.at, &Seen::FromGroup(&message))?;
                    self.send(Link::GroupProcess, 0, wire::encode(&message));
                }
                group_core::Effect::ToActivity(connection, message) => {
                    let machine = (connection % CONNECTIONS) as usize;
                    if connection == self.connection(machine) {
                        self.send(Link::GroupActivity(machine), 0, wire::encode(&message));
                    }
                }
                group_core::Effect::Keep(record) => {
                    self.records.insert(record.key, record.value);
                }
                // Nobody asks here.
                group_core::Effect::Surveyed(..) | group_core::Effect::Drained(..) => {}
            }
        }
        Ok(survives.is_some())
    }

    /// Whether the manager died on the way.
    pub(crate) fn carry_out_process(
        &mut self,
        effects: Option<Vec<process_core::Effect>>,
        observer: &mut dyn Observer,
    ) -> Result<bool, String> {
        let Some(effects) = effects else {
            return Ok(true);
        };
        let survives = self
            .process
            .survives(effects.len(), &mut self.random, &mut self.crashes);
        for effect in effects.into_iter().take(survives.unwrap_or(usize::MAX)) {
            match effect {
                process_core::Effect::ToGroup(_, message) => {
                    self.send(Link::GroupProcess, 1, wire::encode(&message));
                }
                process_core::Effect::ToActivity(resource, message) => {
                    let Some(&machine) = self.by_number.get(&resource) else {
                        continue;
                    };
                    observer.see(self.at, &Seen::ToActivity(machine, &message))?;
                    self.send(Link::ProcessActivity(machine), 0, wire::encode(&message));
                }
                process_core::Effect::Answer {
                    client,
                    number,
                    answer,
                } => {
                    observer.see(self.at, &Seen::Answers(&answer))?;
                    self.answers(client, number, answer);
                }
                // Its machines are who they are.
                process_core::Effect::Registered(..) => {}
                process_core::Effect::Plan(request) => {
                    let PlanRequest {
                        process,
                        basis,
                        request,
                    } = *request;
                    observer.see(self.at, &Seen::Plans(process))?;
                    let result = schedule::plan(&request);
                    observer.see(self.at, &Seen::HasPlanned(process))?;
                    let result = Box::new(PlanResult {
                        process,
                        basis,
                        result,
                    });
                    let takes = self.random.span(self.setup.works_aside);
                    let epoch = self.process.epoch;
                    self.after(takes, Happening::Planned { epoch, result });
                }
            }
        }
        Ok(survives.is_some())
    }

    /// Whether the manager died on the way.
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
                activity_core::Effect::ToProcess(_, message) => {
                    self.send(Link::ProcessActivity(machine), 1, wire::encode(&message));
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
                } => {
                    observer.see(self.at, &Seen::Stages(attempt, &inputs))?;
                    self.stage(machine, attempt, inputs, &sources, observer)?;
                }
                activity_core::Effect::Copy {
                    to,
                    copied,
                    sources,
                    stays: _,
                } => self.copy(machine, to, copied, &sources),
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
