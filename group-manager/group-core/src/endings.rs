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

use crate::io::{Effect, Stream};
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
            if !away.is_empty() {
                self.end_on(cx, now, machine, &away);
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

    /// Asks a machine what it has of the processes of these managers, or does without its answer
    /// where nothing can be left.
    fn end_on(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Mono,
        machine: MachineNumber,
        away: &BTreeSet<Option<u32>>,
    ) {
        let grants = state(cx).grants(machine).into_iter();
        let holders: BTreeSet<ProcessId> = grants.map(|grant| grant.process).collect();
        let is_to_end = |process: &ProcessId| {
            let holding = state(cx).holding(*process);
            holding.is_some_and(|holding| away.contains(&holding.manager))
        };
        let processes = holders.into_iter().filter(is_to_end);
        let processes: BTreeSet<ProcessId> = processes.take(PROCESSES_ASKED_MAX).collect();
        let reached = self.machines.get(machine).filter(|one| one.is_there());
        if let Some(connection) = reached.and_then(|one| one.connection) {
            return self.ask(cx, machine, connection, processes);
        }
        let heard = self.machines.heard(machine).unwrap_or(self.endings.began);
        // By then the executor has stopped everything by itself.
        if now.since(heard) > lease::patience(lease::LONGEST) {
            for process in processes {
                self.revoke(cx, process, machine);
            }
        }
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
            if end.is_some_and(|end| end <= now) {
                self.revoke(cx, *process, machine);
            }
        }
        self.push_grants(cx, machine);
    }

    /// A process manager is there again: machines are told anew what is granted.
    pub(crate) fn close_questions(&mut self, cx: &mut Context<'_, Self>) {
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
