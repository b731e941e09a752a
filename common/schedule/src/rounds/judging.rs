//! Judgements: the time that tasks took tells of their machine.

use forecast::{Forecaster, Predictor, Quantity};

use super::engine::{Command, Judgement, Rounds};
use super::machine::Machine;
use super::policy::{Learning, Margin};
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
        self.overdue_next = None;
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
            let weight = self.weight(|machine| &machine.shown);
            let shown = &mut self.machines[host as usize].shown;
            shown.overdue(nominal, elapsed, weight);
            self.note_shown(host);
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
        let at = self.overdue_next.unwrap_or_else(|| {
            let running = self.machines.iter().flat_map(|machine| machine.running());
            let at = running.map(|&task| self.overdue_at[task as usize]);
            at.fold(f64::INFINITY, f64::min)
        });
        self.overdue_next = Some(at);
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
                let weight = self.weight(|machine| &machine.shown);
                self.progress.factor[host as usize] = shown.factor(1.0, weight);
            }
            Learning::Pooled { .. } | Learning::Fitted { .. } => {
                let has_cpu = self.evidence(|machine| &machine.speed).any(Shown::is_known);
                self.progress.factor = match has_cpu {
                    false => self.believed(|machine| &machine.shown),
                    true => self.believed_of_both(),
                };
            }
            Learning::Forecast { margin, .. } => {
                self.progress.factor = self.forecasts(margin);
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

    /// Takes in the times of a task that has ended on its machine.
    pub(super) fn learn(&mut self, task: u32, nominal: f64, real: f64) {
        let host = self.progress.host[task as usize];
        self.note_shown(host);
        let machine = &mut self.machines[host as usize];
        machine.shown.ended(nominal, real);
        if let Some((of, cpu)) = self.cpu.take()
            && of == task
        {
            machine.speed.ended(nominal, cpu);
            machine.share.ended(cpu, real);
        }
        if let Learning::Forecast { method, .. } = self.policy.learning
            && nominal > 0.0
        {
            let new = || Box::new(Forecaster::new(method, Quantity::Runtime));
            let forecaster = machine.forecaster.get_or_insert_with(new);
            forecaster.observe(forecast::Observation::Value(real / nominal));
        }
    }

    /// A machine has shown something.
    fn note_shown(&mut self, host: u32) {
        if let Err(place) = self.known.binary_search(&host) {
            self.known.insert(place, host);
        }
    }

    /// The evidence of a kind of all machines that have shown something, ascending; the others have none.
    fn evidence<'a>(
        &'a self,
        of: impl Fn(&'a Machine) -> &'a Shown,
    ) -> impl Iterator<Item = &'a Shown> {
        let known = self.known.iter();
        known.map(move |&host| of(&self.machines[host as usize]))
    }

    /// By machine: the factor that is believed by evidence of a kind.
    fn believed(&self, of: impl Fn(&Machine) -> &Shown + Copy) -> Vec<f64> {
        let weight = self.weight(of);
        let mean = mean_factor(self.evidence(of), weight);
        // Most machines of a small process have shown nothing, and are believed to be alike.
        let of_nothing = Shown::default().factor(mean, weight);
        let mut factors = vec![of_nothing; self.machines.len()];
        for (&host, shown) in self.known.iter().zip(self.evidence(of)) {
            factors[host as usize] = shown.factor(mean, weight);
        }
        factors
    }

    /// By machine: the factor of its own power times that of its tasks' share of it.
    fn believed_of_both(&self) -> Vec<f64> {
        let speeds = self.believed(|machine| &machine.speed);
        let shares = self.believed(|machine| &machine.share);
        let factors = speeds.iter().zip(shares).zip(&self.machines);
        let factor = |((speed, share), machine): ((&f64, f64), &Machine)| {
            (speed * share).min(machine.shown.most())
        };
        factors.map(factor).collect()
    }

    /// By machine: the factor that its forecast gives, as far as it is known.
    fn forecasts(&self, margin: Margin) -> Vec<f64> {
        let weight = self.weight(|machine| &machine.shown);
        let mean = mean_factor(self.evidence(|machine| &machine.shown), weight);
        let believed_before = weight / self.setting.mean_weight;
        let factor = |machine: &Machine| {
            let slowness = machine
                .forecaster
                .as_deref()
                .and_then(|f| forecast(f, margin));
            let count = machine.shown.n_tasks();
            let factor = slowness.map(|slowness| {
                let slownesses = count * slowness + believed_before / mean;
                (count + believed_before) / slownesses
            });
            factor.unwrap_or(mean).min(machine.shown.most())
        };
        self.machines.iter().map(factor).collect()
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

    /// The seconds of nominal performance that a machine is given in advance beside evidence of a kind.
    fn weight(&self, of: impl Fn(&Machine) -> &Shown + Copy) -> f64 {
        let mean_weights = match self.policy.learning {
            Learning::LastRound => 0.0,
            Learning::Damped { mean_weights } | Learning::Pooled { mean_weights } => mean_weights,
            Learning::Fitted { mean_weights } | Learning::Forecast { mean_weights, .. } => {
                mean_weights * variances_ratio(self.evidence(of))
            }
        };
        mean_weights * self.setting.mean_weight
    }
}

/// The forecast of real over nominal time; none before the first task has ended.
fn forecast(forecaster: &Forecaster, margin: Margin) -> Option<f64> {
    let value = forecaster.forecast()?.value;
    Some(match margin {
        Margin::None => value,
        Margin::NineInTen => forecaster
            .quantiles()
            .map_or(value, |all| all.p90.max(value)),
    })
}
