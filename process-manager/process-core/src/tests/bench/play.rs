//! The effects of a process manager, played by the other managers of the bench.

use std::collections::BTreeMap;

use machine::Drive;
use model::{Bytes, Epoch, GrantId, GroupId, ProcessId};
use wire::attempt::{Checked, Copy, End, FromActivity, ToActivity};
use wire::group::{FromGroup, Grant, Held, Offer, Offered, ToGroup};

use super::{Bench, GROUP, MACHINE};
use crate::{Effect, Input, ProcessManager, State, Stream};

/// The answer of a group manager that has granted what the process manager has recorded.
pub(in crate::tests) fn confirmed(
    drive: &Drive<ProcessManager>,
    group: GroupId,
    message: ToGroup,
) -> FromGroup {
    let ToGroup::Confirm {
        epoch,
        number,
        processes,
        ..
    } = message
    else {
        panic!("{message:?} is no question for holdings");
    };
    let held = processes.into_iter().filter_map(|process| {
        let Some(State::Process(known)) = drive.states().get(Stream::Process(process)) else {
            return None;
        };
        let holding = known.state.holdings.get(&group)?;
        Some(Held {
            process,
            number: holding.number,
            grants: holding.grants.iter().map(Into::into).collect(),
        })
    });
    FromGroup::Holdings {
        epoch,
        number,
        held: held.collect(),
        n_revoked: 0,
    }
}

/// All that a process holds in the group of the bench.
fn held(drive: &Drive<ProcessManager>, process: ProcessId) -> Vec<Grant> {
    let known = drive.states().get(Stream::Process(process));
    let known = known.and_then(|state| state.process());
    let holding = known.and_then(|known| known.state.holdings.get(&GROUP));
    let grants = holding.iter().flat_map(|holding| &holding.grants);
    grants.map(Into::into).collect()
}

/// The answer of a group manager that has taken a return: what is recorded to be left.
pub(in crate::tests) fn returned(
    drive: &Drive<ProcessManager>,
    group: GroupId,
    (process, number): (ProcessId, u32),
) -> FromGroup {
    let known = match drive.states().get(Stream::Process(process)) {
        Some(State::Process(known)) => known,
        other => panic!("{process} gives slots back, and is {other:?}"),
    };
    let holding = &known.state.holdings[&group];
    assert_eq!(holding.number, number);
    FromGroup::Granted {
        number,
        process,
        grants: holding.grants.iter().map(Into::into).collect(),
        is_at_limit: false,
    }
}

impl Bench {
    pub(in crate::tests) fn play(&mut self, effect: Effect) {
        match effect {
            Effect::ToGroup(_, ToGroup::Attach { .. }) => {
                let offered = Offered {
                    resource: MACHINE,
                    name: "here".into(),
                    power: 1.0,
                    slots: self.slots,
                    free: self.slots,
                    memory: Bytes(1 << 30),
                    labels: BTreeMap::new(),
                    bulk: None,
                    yours: 0,
                    shown: None,
                };
                let mut resources = vec![offered];
                resources.extend(self.others.iter().cloned());
                let offer = Offer {
                    epoch: Epoch(1),
                    resources,
                    leaving: Vec::new(),
                    unavailable: self.unavailable.clone(),
                    is_shared: false,
                    n_revoked: 0,
                    owners: None,
                    takes_shown: false,
                    policy: None,
                    tuning: None,
                };
                self.give(Input::Group(GROUP, FromGroup::Offer(offer)));
            }
            Effect::ToGroup(_, ToGroup::Claim { .. }) if self.claims_lost > 0 => {
                self.claims_lost -= 1;
            }
            Effect::ToGroup(
                _,
                ToGroup::Claim {
                    number,
                    process,
                    wants,
                    epoch: _,
                    owner: _,
                },
            ) => {
                self.grants += 1;
                let claimed = wants.iter().map(|want| Grant {
                    id: GrantId(self.grants),
                    resource: want.resource,
                    slots: want.slots,
                });
                let mut grants = held(&self.drive, process);
                grants.extend(claimed);
                self.give(Input::Group(
                    GROUP,
                    FromGroup::Granted {
                        number,
                        process,
                        grants,
                        is_at_limit: false,
                    },
                ));
            }
            Effect::ToGroup(_, ToGroup::Holds(held)) => self.told_held = held,
            Effect::ToGroup(_, ToGroup::Waits { .. } | ToGroup::Shown { .. }) => {}
            Effect::ToGroup(group, message @ ToGroup::Confirm { .. }) => {
                let answer = confirmed(&self.drive, group, message);
                self.give(Input::Group(group, answer));
            }
            Effect::ToGroup(
                group,
                ToGroup::Return {
                    number,
                    process,
                    keep,
                    epoch: _,
                },
            ) => {
                self.returned.push(keep.iter().map(|want| want.slots).sum());
                if self.returns_lost {
                    return;
                }
                let answer = returned(&self.drive, group, (process, number));
                self.give(Input::Group(group, answer));
            }
            Effect::ToGroup(_, ToGroup::Release(process)) => {
                self.give(Input::Group(GROUP, FromGroup::Released(process)));
            }
            Effect::ToActivity(to, _) if self.silent.contains(&to) => {}
            Effect::ToActivity(to, ToActivity::Attach { ask, .. }) => {
                let held = self.held.keys().copied();
                let attempts = held.filter(|_| to == MACHINE).collect();
                let epoch = if to == MACHINE {
                    self.epoch
                } else {
                    self.epoch_of_others
                };
                let (part, n_parts) = (0, 1);
                let holding = FromActivity::Holding {
                    epoch,
                    ask,
                    part,
                    n_parts,
                    attempts,
                    lease: None,
                    has_forgotten: self.has_forgotten,
                };
                self.give(Input::Activity(to, holding));
            }
            Effect::ToActivity(
                _,
                ToActivity::Dispatch {
                    meant_for,
                    attempts,
                    holders,
                    holds,
                },
            ) => {
                self.said_held.push(holds);
                assert_eq!(meant_for, self.epoch);
                self.holders.extend(holders);
                for dispatch in attempts {
                    if self
                        .held
                        .insert(dispatch.attempt, dispatch.clone())
                        .is_none()
                    {
                        self.started.push(dispatch.command.join(" "));
                    }
                    if let Some((end, code, stdout)) = (self.script)(&dispatch) {
                        self.end(dispatch.attempt, end, code, &stdout);
                    }
                }
            }
            Effect::ToActivity(to, ToActivity::Copy { copies, .. }) => {
                for one in copies {
                    let Copy {
                        copied,
                        holders,
                        is_needed,
                        number: _,
                    } = one;
                    self.copied_from.push((holders, is_needed));
                    self.copies.push((to, copied.clone()));
                    if self.keeps {
                        let message = FromActivity::Copied(vec![copied]);
                        self.give(Input::Activity(to, message));
                    }
                }
            }
            Effect::ToActivity(to, ToActivity::Discard(discards)) => {
                let n_started = self.started.len();
                let files = discards.iter().flat_map(|one| &one.artifacts);
                self.discarded_files.extend(files.map(|file| file.hash));
                let made_by = discards.iter().map(|one| one.made_by);
                let made_by: Vec<model::AttemptId> = made_by.collect();
                let asked = made_by.iter().map(|one| (n_started, one.activity.0));
                self.discarded.extend(asked);
                if !self.discards_lost {
                    self.give(Input::Activity(to, FromActivity::Discarded(made_by)));
                }
            }
            Effect::ToActivity(to, ToActivity::Check { copies, .. }) => {
                let checked = copies.into_iter().map(|Copy { copied, .. }| {
                    let mut artifacts = copied.artifacts.iter();
                    let is_sound = artifacts.all(|one| !self.damaged.contains(&one.hash));
                    Checked { copied, is_sound }
                });
                let checked = FromActivity::Checked(checked.collect());
                self.give(Input::Activity(to, checked));
            }
            Effect::ToActivity(_, ToActivity::Access { is_allowed, .. }) => {
                self.allowed.push(is_allowed);
            }
            Effect::ToActivity(_, ToActivity::Acknowledge(attempts)) => {
                for attempt in attempts {
                    self.held.remove(&attempt);
                    self.acknowledged.insert(attempt);
                }
            }
            Effect::ToActivity(_, ToActivity::Stop(attempts)) => {
                for attempt in attempts {
                    if self.held.contains_key(&attempt) {
                        self.end(attempt, End::Stopped, 0, "");
                    } else {
                        let message = FromActivity::Retracted(vec![attempt]);
                        self.give(Input::Activity(MACHINE, message));
                    }
                }
            }
            Effect::ToActivity(to, ToActivity::Renewed { keeps, .. }) => {
                self.kept.insert(to, keeps);
            }
            Effect::ToActivity(_, ToActivity::Retract(attempts)) => {
                self.asked_back.extend(attempts);
            }
            Effect::ToActivity(
                _,
                ToActivity::Tail(_) | ToActivity::ReadLog(_) | ToActivity::Probe(_),
            ) => {}
            Effect::Answer { answer, .. } => self.answers.push(answer),
            Effect::Done(deed) => self.deeds.push(*deed),
            Effect::Measured(measured) => self.measured = Some(measured),
            Effect::Registered(..)
            | Effect::Foreign(..)
            | Effect::Keep(_)
            | Effect::Share(..)
            | Effect::Forget(..) => {}
            Effect::Plan(request) => {
                self.planned_by.push(request.request.scheduler);
                self.planned_for.push(request.process);
                self.give(Input::Planned(Box::new(request.answer())));
            }
        }
    }
}
