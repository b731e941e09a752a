//! The progress of a process: the facts from which everything else is estimated.

use super::setting::Setting;

/// The phase of a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Phase {
    /// It has not started.
    Waiting,
    /// It has started, at this time.
    Running(f64),
    /// It has ended, at this time.
    Ended(f64),
}

impl Phase {
    /// True for a task that has not started.
    #[inline]
    pub(super) fn is_waiting(self) -> bool {
        match self {
            Phase::Waiting => true,
            Phase::Running(_) | Phase::Ended(_) => false,
        }
    }
}

/// The phases and machines of tasks, and what is known of the machines.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// The time of these facts.
    pub now: f64,
    /// By task.
    pub phase: Vec<Phase>,
    /// By task: its machine.
    pub host: Vec<u32>,
    /// By task: the lowest slot that it holds.
    pub slot: Vec<u32>,
    /// By task: when it was given its machine. No data leaves for there earlier (rule A12).
    pub since: Vec<f64>,
    /// By machine: its known power as a factor of the nominal one.
    pub factor: Vec<f64>,
    /// By machine: the known bandwidth of its links as a factor of that of the platform; a transfer
    /// is as fast as the slower of both ends.
    pub links: Vec<f64>,
    /// By machine: true if it has vanished.
    pub gone: Vec<bool>,
    /// By controller: its machine; none in direct mode.
    pub controllers: Vec<u32>,
}

impl Progress {
    /// Nothing has started.
    pub(super) fn new(setting: &Setting) -> Progress {
        let entries = &setting.plan().entries;
        let n_hosts = setting.problem().hosts().len();
        Progress {
            now: 0.0,
            phase: vec![Phase::Waiting; entries.len()],
            host: entries.iter().map(|entry| entry.host).collect(),
            slot: entries.iter().map(|entry| entry.slot).collect(),
            since: vec![0.0; entries.len()],
            factor: vec![1.0; n_hosts],
            links: vec![1.0; n_hosts],
            gone: vec![false; n_hosts],
            controllers: setting.controllers().to_vec(),
        }
    }

    /// Becomes the same as others, in the memory that it has.
    pub(super) fn copy(&mut self, other: &Progress) {
        let Progress {
            now,
            phase,
            host,
            slot,
            since,
            factor,
            links,
            gone,
            controllers,
        } = other;
        self.now = *now;
        self.phase.clone_from(phase);
        self.host.clone_from(host);
        self.slot.clone_from(slot);
        self.since.clone_from(since);
        self.factor.clone_from(factor);
        self.links.clone_from(links);
        self.gone.clone_from(gone);
        self.controllers.clone_from(controllers);
    }

    /// True if a task has not started.
    #[inline]
    pub fn is_waiting(&self, task: u32) -> bool {
        self.phase[task as usize].is_waiting()
    }

    /// True if a task runs.
    pub(super) fn is_running(&self, task: u32) -> bool {
        match self.phase[task as usize] {
            Phase::Running(_) => true,
            Phase::Waiting | Phase::Ended(_) => false,
        }
    }

    /// True if a task has ended.
    pub(super) fn has_ended(&self, task: u32) -> bool {
        match self.phase[task as usize] {
            Phase::Ended(_) => true,
            Phase::Waiting | Phase::Running(_) => false,
        }
    }

    /// The time at which a task that has started at a time ends by what is known.
    pub(super) fn end_of(&self, setting: &Setting, task: u32, start: f64) -> f64 {
        let host = self.host[task as usize];
        let end = start + self.duration(setting, task, host);
        end.max(self.now)
    }

    /// Seconds that a task takes on a machine by the known power; infinity where that is 0.
    #[inline]
    pub fn duration(&self, setting: &Setting, task: u32, host: u32) -> f64 {
        let nominal = setting.problem().duration(task, host);
        match nominal > 0.0 {
            true => nominal / self.factor[host as usize],
            false => 0.0,
        }
    }
}
