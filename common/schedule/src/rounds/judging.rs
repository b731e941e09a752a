//! Judgements: the time that tasks took tells of their machine.

use super::engine::{Command, Judgement, Rounds};
use super::policy::Learning;
use super::progress::Phase;
use super::shown::{Shown, mean_factor, variances_ratio};
use crate::order::less;

impl Rounds {
    /// Judges a round and opens the next one.
    pub(super) fn end_round(&mut self, host: u32, commands: &mut Vec<Command>) {
        let machine = &mut self.machines[host as usize];
        let expected = std::mem::take(&mut machine.expected);
        let real = std::mem::take(&mut machine.real);
        let judgement = self.judge(host, expected, real);
        self.machines[host as usize].next_round(self.policy.sizing, &judgement);
        self.conclude(judgement, commands);
        if !self.is_asked_for(host) {
            self.send(host, commands);
        }
    }

    /// Judges machines whose tasks run longer than expected.
    pub(super) fn due(&mut self, commands: &mut Vec<Command>) {
        self.wake_at = f64::INFINITY;
        for host in 0..self.machines.len() as u32 {
            let running = self.machines[host as usize].running().iter().copied();
            let overdue =
                running.filter(|&task| self.overdue_at[task as usize] <= self.progress.now);
            let overdue: Vec<u32> = overdue.collect();
            if overdue.is_empty() {
                continue;
            }
            let machine = &self.machines[host as usize];
            let (mut expected, mut real) = (machine.expected, machine.real);
            let (mut nominal, mut elapsed) = (0.0, 0.0);
            for task in overdue {
                let Phase::Running(start) = self.progress.phase[task as usize] else {
                    continue;
                };
                let since = self.progress.now - start;
                expected += self.expected[task as usize];
                real += since;
                nominal += self.setting.problem().duration(task, host);
                elapsed += since;
                // The next look is worth it when the task has taken twice as long.
                let next = start + 2.0 * since;
                let next = next.min(self.stoppable_from(task, start));
                self.overdue_at[task as usize] = next;
            }
            let weight = self.weight();
            let shown = &mut self.machines[host as usize].shown;
            shown.overdue(nominal, elapsed, weight);
            let judgement = self.judge(host, expected, real);
            self.conclude(judgement, commands);
        }
        self.ask(commands);
    }

    /// Believes that an overdue task, which started at a time, runs on as the policy says, and tells
    /// when it may be stopped if it may not yet: when it is to run for longer than elsewhere.
    fn stoppable_from(&mut self, task: u32, start: f64) -> f64 {
        let Some(restarts) = self.policy.restarts else {
            return f64::INFINITY;
        };
        let expected = self.expected[task as usize];
        let overrun = self.progress.now - start - expected;
        self.ends_after[task as usize] = self.progress.now + restarts.overrun * overrun;
        let shortest = self.setting.shortest[task as usize];
        let from = start + expected + shortest / restarts.overrun;
        match less(self.progress.now, from) {
            true => from,
            false => f64::INFINITY,
        }
    }

    /// Asks to be woken when the next task is overdue, if that is not what was asked for last.
    pub(super) fn wake(&mut self, commands: &mut Vec<Command>) {
        if !self.policy.judges_overdue {
            return;
        }
        let running = self.machines.iter().flat_map(|machine| machine.running());
        let at = running.map(|&task| self.overdue_at[task as usize]);
        let at = at.fold(f64::INFINITY, f64::min);
        let at = match self.asks_at() {
            Some(asks_at) => at.min(asks_at),
            None => at,
        };
        if at.is_finite() && at.to_bits() != self.wake_at.to_bits() {
            self.wake_at = at;
            commands.push(Command::WakeAt(at));
        }
    }

    /// The time at which a task that starts now is overdue; never if nobody has estimated it.
    pub(super) fn overdue_from(&self, expected: f64) -> f64 {
        match expected > 0.0 && self.policy.judges_overdue {
            true => self.progress.now + (1.0 + self.policy.threshold) * expected,
            false => f64::INFINITY,
        }
    }

    /// Judges what took so long, and learns from it.
    fn judge(&mut self, host: u32, expected: f64, real: f64) -> Judgement {
        let is_loss = less((1.0 + self.policy.threshold) * expected, real);
        let performance = if real > 0.0 { expected / real } else { 1.0 };
        let shown = self.machines[host as usize].shown;
        match self.policy.learning {
            Learning::LastRound => {
                let factor = &mut self.progress.factor[host as usize];
                if shown.has_overdue() {
                    // What is overdue still counts when it ends.
                    *factor = factor.min(shown.most());
                } else if is_loss {
                    *factor *= performance;
                }
            }
            Learning::Damped { .. } => {
                self.progress.factor[host as usize] = shown.factor(1.0, self.weight());
            }
            Learning::Pooled { .. } | Learning::Fitted { .. } => {
                let weight = self.weight();
                let mean = mean_factor(self.shown(), weight);
                let factors = self.progress.factor.iter_mut().zip(&self.machines);
                for (factor, machine) in factors {
                    *factor = machine.shown.factor(mean, weight);
                }
            }
        }
        Judgement {
            host,
            expected,
            real,
            performance,
            is_loss,
            factor: self.progress.factor[host as usize],
        }
    }

    fn shown(&self) -> impl Iterator<Item = &Shown> {
        self.machines.iter().map(|machine| &machine.shown)
    }

    /// Tells of a judgement, and asks for a plan if it is a loss.
    fn conclude(&mut self, judgement: Judgement, commands: &mut Vec<Command>) {
        commands.push(Command::Judged(judgement));
        match judgement.is_loss {
            true => self.want_plan(judgement.host, commands),
            // Machines may wait for a question to be asked.
            false => self.ask(commands),
        }
    }

    /// The seconds of nominal performance that a machine is given in advance.
    fn weight(&self) -> f64 {
        let mean_weights = match self.policy.learning {
            Learning::LastRound => 0.0,
            Learning::Damped { mean_weights } | Learning::Pooled { mean_weights } => mean_weights,
            Learning::Fitted { mean_weights } => mean_weights * variances_ratio(self.shown()),
        };
        mean_weights * self.setting.mean_weight
    }
}
