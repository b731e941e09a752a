//! Holdings of process managers that are away end, machine by machine, once the machine says that it
//! has nothing of the process; or once the longest lease on a lost machine has ended.
//!
//! ```text
//!  away for so long, or barred           machine: Unused
//!  holding ------------------> asked for ----------------> Revoked, offered again
//!     ^                           |
//!     +---------------------------+ the process manager attaches again: grants are told anew
//! ```
//!
//! A machine that has called a process unused starts nothing of it until it is told grants that know
//! of its answer, so nothing starts between the answer and the end of the holding.

use std::collections::BTreeSet;

use machine::Context;
use model::{Epoch, Mono, ProcessId, Span};
use wire::lease;
use wire::resource::{PROCESSES_ASKED_MAX, QuestionId, ToResource};

use crate::io::{Effect, GivenUp, Holder, Stream};
use crate::link::Presence;
use crate::manager::{GroupManager, state};
use crate::questions::Question;
use crate::record::{Event, MachineNumber};

/// Period of asking a machine, until it has answered, and of asking again about what it still has.
const ASK_PERIOD: Span = Span::from_secs(1);

impl GroupManager {
    /// When [`GroupManager::end_holdings`] is due.
    pub(crate) fn endings_due(&self) -> Option<Mono> {
        self.endings.next.filter(|_| self.is_watching())
    }

    /// Asks machines about processes whose holdings are to end.
    pub(crate) fn end_holdings(&mut self, cx: &mut Context<'_, Self>, now: Mono) {
        if self.endings_due().is_none_or(|due| due > now) {
            return;
        }
        self.endings.next = None;
        let holders = state(cx).holders();
        let holders: Vec<(MachineNumber, Vec<Option<u32>>)> = holders
            .map(|(machine, managers)| (machine, managers.collect()))
            .collect();
        for (machine, managers) in holders {
            let mut away = BTreeSet::new();
            for manager in managers {
                match self.end_of(manager) {
                    Some(end) if end <= now => {
                        away.insert(manager);
                    }
                    Some(end) => self.endings.look_at(end),
                    None => {}
                }
            }
            if self.end_on(cx, now, machine, &away) {
                self.endings.look_at(now + ASK_PERIOD);
            }
        }
    }

    /// When the holdings of a process manager end; none while it is there.
    fn end_of(&self, manager: Option<u32>) -> Option<Mono> {
        let presence = manager.map_or(Presence::Away(None), |manager| {
            self.process_managers.presence(manager)
        });
        match presence {
            Presence::Attached => None,
            Presence::Barred => Some(Mono(0)),
            Presence::Away(since) => {
                Some(since.unwrap_or(self.endings.began) + self.config.holdings_end_after)
            }
        }
    }

    /// An administrator ends what a process, or all processes of a process manager, hold: as soon as
    /// machines have nothing of them, and only while their process manager is away. The answer leaves when
    /// this is recorded, so later epochs end it too.
    pub(crate) fn on_give_up(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Mono,
        question: u64,
        holder: Holder,
    ) {
        let is_meant = |process: ProcessId, manager: Option<u32>| match holder {
            Holder::Process(meant) => process == meant,
            Holder::Manager(meant) => manager == Some(meant),
        };
        let holdings = state(cx).holdings();
        let meant = holdings.filter(|(process, holding)| is_meant(*process, holding.manager));
        let (mut processes, mut slots, mut attached) = (Vec::new(), 0, None);
        for (process, holding) in meant {
            let is_there =
                |manager: &u32| self.process_managers.presence(*manager) == Presence::Attached;
            attached = attached.or(holding.manager.filter(is_there));
            processes.push(process);
            let of_it = holding.grants.iter().map(|grant| u64::from(grant.slots));
            slots += of_it.sum::<u64>();
        }
        if let Some(manager) = attached {
            let given_up = GivenUp::Attached(manager);
            return cx.effect(Effect::GivenUp(question, given_up));
        }
        processes.retain(|process| !state(cx).is_given_up(*process));
        self.record_given_up(cx, processes, true);
        self.endings.look_at(now);
        cx.effect(Effect::GivenUp(question, GivenUp::Ends { slots }));
    }

    /// Records that these holdings are to end, or no longer are.
    fn record_given_up(
        &self,
        cx: &mut Context<'_, Self>,
        processes: Vec<ProcessId>,
        is_given_up: bool,
    ) {
        if processes.is_empty() {
            return;
        }
        let given_up = Event::GivenUp {
            processes,
            is_given_up,
        };
        cx.record(Stream::Manager, given_up);
    }

    /// Asks a machine what it has of the processes of these managers, or does without its answer
    /// where nothing can be left. Returns true if something is to end there.
    fn end_on(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Mono,
        machine: MachineNumber,
        away: &BTreeSet<Option<u32>>,
    ) -> bool {
        let grants = state(cx).grants(machine).into_iter();
        let holders: BTreeSet<ProcessId> = grants.map(|grant| grant.process).collect();
        let is_to_end = |process: &ProcessId| {
            let holding = state(cx).holding(*process);
            let is_away = holding.is_some_and(|holding| away.contains(&holding.manager));
            is_away || state(cx).is_given_up(*process)
        };
        let processes = holders.into_iter().filter(is_to_end);
        let processes: BTreeSet<ProcessId> = processes.take(PROCESSES_ASKED_MAX).collect();
        if processes.is_empty() {
            return false;
        }
        let reached = self.machines.get(machine).filter(|one| one.is_there());
        if let Some(connection) = reached.and_then(|one| one.connection) {
            self.ask(cx, machine, connection, processes);
            return true;
        }
        let heard = self.machines.heard(machine).unwrap_or(self.endings.began);
        // By then the executor has stopped everything by itself.
        if now.since(heard) > lease::patience(lease::LONGEST) {
            for process in processes {
                self.revoke(cx, process, machine);
            }
        }
        true
    }

    fn ask(
        &mut self,
        cx: &mut Context<'_, Self>,
        machine: MachineNumber,
        connection: u32,
        processes: BTreeSet<ProcessId>,
    ) {
        let epoch = state(cx).epoch();
        let endings = &mut self.endings;
        let open = endings.open.get(&machine);
        let number = match open.filter(|open| open.processes == processes) {
            Some(open) => open.number,
            None => {
                endings.n_asked += 1;
                endings.n_asked
            }
        };
        let inquire = ToResource::Inquire {
            question: QuestionId { epoch, number },
            processes: processes.iter().copied().collect(),
        };
        cx.effect(Effect::ToActivity(connection, inquire));
        endings.open.insert(machine, Question { number, processes });
    }

    /// A machine has called processes unused.
    pub(crate) fn on_unused(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Mono,
        (connection, epoch): (u32, Epoch),
        question: QuestionId,
        processes: &[ProcessId],
    ) {
        let Some((machine, known)) = self.machines.at(connection) else {
            return;
        };
        let open = self.endings.open.get(&machine);
        let is_open = open.is_some_and(|open| open.number == question.number);
        // An earlier epoch of the machine does not know what was started since.
        if epoch < known.epoch || question.epoch != state(cx).epoch() || !is_open {
            return;
        }
        let Some(open) = self.endings.open.remove(&machine) else {
            return;
        };
        self.endings.closed.insert(machine, open.number);
        for process in processes.iter().filter(|one| open.processes.contains(one)) {
            let holding = state(cx).holding(*process);
            let end = holding.and_then(|holding| self.end_of(holding.manager));
            let is_given_up = state(cx).is_given_up(*process);
            if is_given_up || end.is_some_and(|end| end <= now) {
                self.revoke(cx, *process, machine);
            }
        }
        self.push_grants(cx, machine);
    }

    /// A process manager is there again: machines are told anew what is granted, and what its processes
    /// still hold is theirs again.
    pub(crate) fn close_questions(&mut self, cx: &mut Context<'_, Self>, from: u32) {
        let is_of_it = |process: &ProcessId| {
            let holding = state(cx).holding(*process);
            holding.is_some_and(|holding| holding.manager == Some(from))
        };
        let kept = state(cx).given_up().filter(is_of_it).collect();
        self.record_given_up(cx, kept, false);
        for (machine, question) in std::mem::take(&mut self.endings.open) {
            self.endings.closed.insert(machine, question.number);
            self.push_grants(cx, machine);
        }
    }

    /// What a process holds on a machine ends.
    fn revoke(&mut self, cx: &mut Context<'_, Self>, process: ProcessId, resource: MachineNumber) {
        let Some(holding) = state(cx).holding(process) else {
            return;
        };
        let is_last = holding
            .grants
            .iter()
            .all(|grant| grant.resource == resource);
        if let Some(manager) = holding.manager {
            self.process_managers.count_revoked(manager);
        }
        let forgets = state(cx).forgotten_by(process).filter(|_| is_last);
        self.charge(cx);
        cx.record(
            Stream::Manager,
            Event::Revoked {
                process,
                resource,
                forgets,
            },
        );
        if is_last {
            self.granted.remove(&process);
            self.refused.remove(&process);
        }
        self.has_changed = true;
    }
}
