//! The part of its queue that a machine is sent at once.

use super::engine::{Command, Rounds};
use super::estimates::Estimates;
use super::policy::Sizing;
use crate::order::less;

impl Rounds {
    /// Opens the next round of a machine.
    pub(super) fn send(&mut self, host: u32, commands: &mut Vec<Command>) {
        let machine = &self.machines[host as usize];
        if machine.unsent().is_empty() || self.progress.gone[host as usize] {
            return;
        }
        let ranks = match self.policy.sizing {
            Sizing::Whole => machine.unsent().iter().copied().collect(),
            Sizing::Parts(parts) => self.part(host, parts),
            Sizing::Adaptive { .. } => self.adaptive_round(host),
        };
        if !ranks.is_empty() {
            let tasks = self.mark_sent(host, &ranks);
            let round = self.machines[host as usize].round;
            commands.push(Command::Send { host, round, tasks });
        }
    }

    /// Sends what precedes tasks that were sent in the order, so that none of these waits for it for
    /// ever.
    pub(super) fn send_ahead(&mut self, host: u32, commands: &mut Vec<Command>) {
        let machine = &self.machines[host as usize];
        if let Some(&last) = machine.sent().last() {
            let ranks: Vec<u32> = machine.unsent().range(..last).copied().collect();
            if !ranks.is_empty() {
                let tasks = self.mark_sent(host, &ranks);
                commands.push(Command::SendAhead { host, tasks });
            }
        }
    }

    /// Algorithm 5's N: what is estimated to end in this part of the makespan (rules A9 and A17), and
    /// all that precedes it in the order.
    fn part(&self, host: u32, parts: u32) -> Vec<u32> {
        let machine = &self.machines[host as usize];
        let mut estimates = Estimates::new(&self.setting, &self.progress, &[]);
        let round = machine.round.min(parts);
        let until = estimates.makespan() * f64::from(round) / f64::from(parts);
        let eft = |rank: u32| estimates.eft(self.setting.order[rank as usize]);
        let unsent: Vec<u32> = machine.unsent().iter().copied().collect();
        let in_time = unsent.iter().rposition(|&rank| !less(until, eft(rank)));
        let mut count = in_time.map_or(0, |last| last + 1);
        // A round of one task would leave the machine idle while it is judged.
        let mut queues = machine.queues().to_vec();
        for (place, &rank) in unsent.iter().enumerate() {
            let slots = &mut queues[self.slots(self.setting.order[rank as usize])];
            if slots.iter().any(|slot| slot.n_out < 2) {
                count = count.max(place + 1);
            }
            slots.iter_mut().for_each(|slot| slot.n_out += 1);
        }
        unsent[..count].to_vec()
    }

    /// Algorithm 7's M: the first task, then further ones as long as the sum of weights is not above
    /// the extent of the round (rule A14). Where several slots are idle each gets its first task, and
    /// the extent is that of all.
    fn adaptive_round(&self, host: u32) -> Vec<u32> {
        let machine = &self.machines[host as usize];
        let mut queues = machine.queues().to_vec();
        let mut n_starved = queues.iter().filter(|slot| slot.is_starved()).count();
        let extent = machine.extent * n_starved.max(1) as f64;
        let (mut sum, mut is_full) = (0.0, false);
        let mut sent = Vec::new();
        let mut kept = 0;
        for &rank in machine.unsent() {
            let task = self.setting.order[rank as usize];
            sum += self.progress.duration(&self.setting, task, host);
            is_full |= less(extent, sum);
            if is_full && n_starved == 0 {
                break;
            }
            sent.push(rank);
            let slots = &mut queues[self.slots(task)];
            let n_fed = slots.iter().filter(|slot| slot.n_out == 0).count();
            n_starved -= n_fed;
            if !is_full || n_fed > 0 {
                kept = sent.len();
            }
            slots.iter_mut().for_each(|slot| slot.n_out += 1);
        }
        sent.truncate(kept);
        sent
    }

    fn mark_sent(&mut self, host: u32, ranks: &[u32]) -> Vec<u32> {
        for &rank in ranks {
            let slots = self.slots(self.setting.order[rank as usize]);
            self.machines[host as usize].was_sent(rank, slots);
        }
        let tasks = ranks.iter().map(|&rank| self.setting.order[rank as usize]);
        tasks.collect()
    }
}
