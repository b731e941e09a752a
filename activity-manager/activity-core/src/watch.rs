//! The watch over the executor. A stopped executor, or one that gets no CPU time, enforces no
//! timeout and no end of a lease. So nothing is lent while it does not answer, and it is killed
//! before leases end: its commands die with it, and another one is started.

use machine::Context;
use model::{Mono, Span};
use wire::executor::ToExecutor;
use wire::lease;

use crate::io::Effect;
use crate::manager::ActivityManager;
use crate::parts::watch::PERIOD;

/// Number of unanswered requests after which the machine is not ready. Requests are counted and not
/// time, because this daemon may have been suspended together with its executor.
const SILENT: u32 = 3;
/// Time between the kill of a silent executor and the end of its leases, in which it and its
/// commands end.
const MARGIN: Span = Span::from_secs(2);
/// The least and the most unanswered requests after which it is killed.
const KILLED_MIN: u32 = SILENT + 1;
const KILLED_MAX: u32 = 30;

impl ActivityManager {
    /// Asks the executor whether it answers, if that is due.
    pub(crate) fn ask_executor(&mut self, cx: &mut Context<'_, Self>, now: Mono) {
        if !self.config.asks_executor || self.watch.due().is_some_and(|due| due > now) {
            return;
        }
        self.watch.count(now, self.executor.is_ready);
        if self.executor.is_ready {
            let number = self.watch.ask();
            cx.effect(Effect::Execute(ToExecutor::Ping(number)));
        }
        if self.watch.n_missed == SILENT {
            self.set_silent(cx, now, true);
        }
        if self.watch.n_missed >= self.killed_after() {
            // Another executor has as long to list its attempts.
            self.watch.n_missed = SILENT;
            cx.effect(Effect::EndExecutor);
        }
    }

    pub(crate) fn on_pong(&mut self, cx: &mut Context<'_, Self>, now: Mono, number: u64) {
        if self.watch.answer(number) {
            self.set_silent(cx, now, false);
        }
    }

    fn set_silent(&mut self, cx: &mut Context<'_, Self>, now: Mono, is_silent: bool) {
        if self.watch.is_silent == is_silent {
            return;
        }
        self.watch.is_silent = is_silent;
        cx.effect(Effect::ExecutorSilent(is_silent));
        if self.group.is_up {
            self.register(cx, now);
        }
    }

    /// The number of unanswered requests after which the executor is killed, from the shortest
    /// lease here.
    fn killed_after(&self) -> u32 {
        let lengths = self.process_managers.values().map(|link| link.lease.length);
        let lengths = lengths.filter(|&length| length > Span::ZERO);
        let length = lengths.chain(self.config.lease).min();
        let length = length.unwrap_or(lease::LENGTH);
        let grace = lease::grace(length, self.config.kill_grace);
        let patience = Span(length.0.saturating_sub(grace.0 + MARGIN.0));
        let questions = u32::try_from(patience.0 / PERIOD.0).unwrap_or(KILLED_MAX);
        questions.clamp(KILLED_MIN, KILLED_MAX)
    }
}
