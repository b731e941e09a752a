//! Carries out the core's effects: sends messages, creates directories, gives jobs to the workers.

use std::path::PathBuf;
use std::sync::Arc;

use activity_core::{ActivityManager, Effect, Input};
use model::{Artifact, AttemptId, Mono, ResourceId};
use shell::{EffectHandler, Peers, clock};
use wire::attempt::FromActivity;
use wire::executor::ToExecutor;
use wire::resource::FromResource;

use crate::access::Gate;
use crate::checker::{Checker, ToCheck};
use crate::directories::Directories;
use crate::eviction::Pins;
use crate::executor::ExecutorSender;
use crate::fetch::{Fetchers, Sources, ToCopy};
use crate::figures::Counts;
use crate::intermediates::{Intermediates, ToDiscard};
use crate::latest::Latest;
use crate::quotas::ProcessUsers;
use crate::retention::Answers;
use crate::sweeper::Sweeper;
use crate::tail::{log_part, tail};
use crate::workers::{Job, Workers};

/// The number of the single group manager among the links.
const GROUP: u32 = 0;

/// The connections and threads that carry out effects.
pub(crate) struct Handler {
    pub(crate) group: Peers<FromResource>,
    pub(crate) processes: Peers<FromActivity>,
    pub(crate) executor: ExecutorSender,
    /// Messages for the executor: if effects lead to inputs at once, the messages that follow from
    /// those are sent together, so that the executor is woken once.
    pub(crate) orders: Vec<ToExecutor>,
    pub(crate) workers: Workers,
    /// None if nothing can be fetched.
    pub(crate) fetchers: Option<Fetchers>,
    /// None if nothing is evicted.
    pub(crate) pins: Option<Pins>,
    /// Who has the files that processes discard.
    pub(crate) intermediates: Intermediates,
    /// The users of processes.
    pub(crate) users: ProcessUsers,
    pub(crate) sweeper: Sweeper,
    pub(crate) checker: Checker,
    pub(crate) gate: Gate,
    /// None if another manager handles retention.
    pub(crate) retention: Option<Answers>,
    pub(crate) places: Directories,
    /// The executor's log directory.
    pub(crate) logs: PathBuf,
    pub(crate) number: Arc<Latest<ResourceId>>,
    /// Set at the end, once no attempt is left that has not started.
    pub(crate) left: Arc<Latest<()>>,
    /// True if the executor does not answer.
    pub(crate) executor_silent: Arc<Latest<bool>>,
    pub(crate) counts: Counts,
}

impl EffectHandler<ActivityManager> for Handler {
    fn carry_out(&mut self, effects: Vec<Effect>, inputs: &mut Vec<Input>) {
        self.counts.effects(&effects);
        let mut jobs = Vec::new();
        for effect in effects {
            match effect {
                Effect::ToGroup(message) => self.group.send(GROUP, &message),
                Effect::ToProcess(number, message) => self.processes.send(number, &message),
                Effect::Execute(message) => self.orders.push(message),
                Effect::Stage {
                    attempt,
                    inputs: files,
                    sources,
                    user,
                    discards,
                } => {
                    if discards {
                        self.intermediates.note(attempt.process);
                    }
                    if let Some(user) = user {
                        self.users.note(attempt.process, &user);
                    }
                    self.stage(attempt, (files, sources), &mut jobs, inputs);
                }
                Effect::Collect {
                    attempt,
                    directory,
                    outputs,
                    user,
                } => {
                    jobs.push(Job::Collect {
                        attempt,
                        directory,
                        outputs,
                        user,
                    });
                }
                Effect::Clear { attempt, directory } => {
                    if !self.places.take_back(attempt.process, &directory) {
                        self.sweeper.remove(clock::mono(), directory);
                    }
                }
                Effect::Tail {
                    to,
                    attempt,
                    written,
                } => {
                    let tail = tail(&self.logs, attempt, &written);
                    let message = FromActivity::Tail(attempt, Some(Box::new(tail)));
                    self.processes.send(to, &message);
                }
                Effect::ReadLog(to, wanted) => {
                    let part = log_part(&self.logs, &wanted);
                    let message = FromActivity::LogPart(Box::new(part));
                    self.processes.send(to, &message);
                }
                Effect::Copy {
                    to,
                    copied,
                    sources,
                    stays,
                    number,
                } => {
                    if let (true, Some(pins)) = (stays, &self.pins) {
                        pins.keep(copied.process, &copied.artifacts);
                    }
                    if let Some(fetchers) = &self.fetchers {
                        fetchers.copy(ToCopy {
                            to,
                            copied,
                            sources,
                            number,
                        });
                    }
                }
                Effect::Probe { to, machines } => {
                    if let Some(fetchers) = &self.fetchers {
                        fetchers.probe(to, &machines);
                    }
                }
                Effect::Discard { to, discards } => {
                    let moment = self.intermediates.store().moment();
                    let wanted = discards.into_iter().map(|discard| ToDiscard {
                        to,
                        discard,
                        moment,
                    });
                    self.workers.discard(wanted);
                }
                Effect::Check {
                    to,
                    copied,
                    sources,
                } => self.checker.check(ToCheck {
                    to,
                    copied,
                    sources,
                }),
                Effect::Access { number, is_allowed } => self.gate.answer(number, is_allowed),
                Effect::Numbered(resource) => self.number.set(resource),
                Effect::Unserved(processes) => {
                    // One request is answered before the next, so there is room.
                    if let Some(retention) = &self.retention {
                        let _ = retention.try_send(processes);
                    }
                }
                Effect::Left => self.left.set(()),
                Effect::ExecutorSilent(is_silent) => {
                    if is_silent {
                        tracing::error!("the executor does not answer: nothing is lent");
                    } else {
                        tracing::info!("the executor answers again");
                    }
                    self.executor_silent.set(is_silent);
                }
                Effect::EndExecutor => self.executor.kill(),
                Effect::Unneeded(process) => {
                    if let Some(pins) = &self.pins {
                        pins.release(process);
                    }
                    self.intermediates.release(process);
                    self.users.release(process);
                }
            }
        }
        if inputs.is_empty() {
            self.send_orders();
        }
        if !jobs.is_empty() {
            self.workers.give(&mut jobs);
        }
        // While the executor is idle, inputs can only come from the process manager, whose loop can
        // run in this thread.
        if inputs.is_empty() && self.executor.is_idle() {
            self.processes.run_receivers_inline();
        } else {
            self.processes.wake_receivers();
        }
        self.group.wake_receivers();
    }

    fn next_wakeup(&self) -> Option<Mono> {
        if !self.orders.is_empty() {
            return Some(Mono(0));
        }
        let due = [
            self.sweeper.next_wakeup(),
            self.processes.next_wakeup(),
            self.group.next_wakeup(),
        ];
        due.into_iter().flatten().min()
    }

    fn wake(&mut self, now: Mono, inputs: &mut Vec<Input>) {
        if self.sweeper.next_wakeup().is_some_and(|due| due <= now) {
            self.sweeper.pass_on();
        }
        // Waiting inputs may lead to more messages, which are sent in the same write.
        if inputs.is_empty() {
            self.send_orders();
        }
        self.processes.reconnect(now);
        self.group.reconnect(now);
    }
}

impl Handler {
    fn send_orders(&mut self) {
        self.executor.send(&self.orders);
        self.orders.clear();
    }

    /// A directory without files takes a system call or two and is created here; files are the
    /// workers' job.
    fn stage(
        &mut self,
        attempt: AttemptId,
        (files, sources): (Vec<(String, Artifact)>, Sources),
        jobs: &mut Vec<Job>,
        inputs: &mut Vec<Input>,
    ) {
        if !files.is_empty() && self.workers.is_at(attempt) {
            return;
        }
        match self.places.give(attempt) {
            Ok(workplace) if !files.is_empty() => {
                jobs.push(Job::Lay {
                    attempt,
                    workplace,
                    inputs: files,
                    sources,
                });
            }
            result => inputs.push(Input::Staged { attempt, result }),
        }
    }
}
