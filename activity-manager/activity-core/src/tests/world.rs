//! A manager among an executor, workers and a process manager that act in any order, over links
//! that lose, duplicate and reorder messages; then everybody behaves, and everything must end.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use model::{AttemptId, Epoch, ResourceId};
use proptest::prelude::*;
use wire::attempt::{FromActivity, Refusal, ToActivity};
use wire::executor::{Ended, Exit, FromExecutor, Held, Phase, Start, ToExecutor};
use wire::resource::ToResource;

use super::bench::{
    Bench, artifact, dispatch, ended, from_pm, grants, hello, id_of, job, job_with_output, show,
    staged, started,
};
use crate::{Effect, Input, Peer, Trouble};

const SLOTS: u32 = 3;

/// A well-behaved executor: first come, first started, known starts answered.
#[derive(Default)]
struct Executor {
    instance: u64,
    is_linked: bool,
    queue: Vec<Start>,
    running: BTreeMap<AttemptId, Start>,
    ended: BTreeMap<AttemptId, Ended>,
    retracted: BTreeSet<AttemptId>,
}

struct World {
    bench: Bench,
    executor: Executor,
    /// Its messages that have not arrived.
    said: VecDeque<FromExecutor>,
    to_stage: Vec<AttemptId>,
    to_collect: Vec<AttemptId>,
    /// Messages of the process manager in flight.
    sent: Vec<ToActivity>,
    n_attempts: u32,
    n_asked: u32,
    /// The epoch in the answer to the last request; none while it is open.
    epoch: Option<Epoch>,
    parts: BTreeSet<u32>,
    held: BTreeSet<AttemptId>,
    /// Attempts that the process manager waits for.
    out: BTreeSet<AttemptId>,
    /// Attempts that will not run, as reported or concluded from `Holding`.
    gone: BTreeSet<AttemptId>,
    has_run: BTreeSet<AttemptId>,
    outcomes: BTreeSet<AttemptId>,
    drops: bool,
}

impl World {
    fn new() -> World {
        World {
            bench: Bench::new(SLOTS, 4),
            executor: Executor {
                instance: 1,
                ..Executor::default()
            },
            said: VecDeque::new(),
            to_stage: Vec::new(),
            to_collect: Vec::new(),
            sent: Vec::new(),
            n_attempts: 0,
            n_asked: 0,
            epoch: None,
            parts: BTreeSet::new(),
            held: BTreeSet::new(),
            out: BTreeSet::new(),
            gone: BTreeSet::new(),
            has_run: BTreeSet::new(),
            outcomes: BTreeSet::new(),
            drops: false,
        }
    }

    fn feed(&mut self, input: Input) {
        let effects = self.bench.feed(input);
        self.carry_out(effects);
    }

    fn executor_says(&mut self, message: FromExecutor) {
        if self.executor.is_linked {
            self.said.push_back(message);
        }
    }

    /// Delivers the executor's messages, in order.
    fn listen(&mut self) {
        while let Some(message) = self.said.pop_front() {
            self.feed(Input::Executor(message));
        }
    }

    fn carry_out(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::ToGroup(_)
                | Effect::Numbered(_)
                | Effect::Unneeded(_)
                | Effect::Unserved(_)
                | Effect::Left
                | Effect::ExecutorSilent(_)
                | Effect::EndExecutor
                | Effect::Clear { .. }
                | Effect::Tail { .. }
                | Effect::ReadLog(..)
                | Effect::Copy { .. }
                | Effect::Check { .. }
                | Effect::Probe { .. }
                | Effect::Discard { .. }
                | Effect::Access { .. } => {}
                Effect::Stage { attempt, .. } => self.to_stage.push(attempt),
                Effect::Collect { attempt, .. } => self.to_collect.push(attempt),
                Effect::ToProcess(_, message) if !self.drops => self.pm_hears(message),
                Effect::ToProcess(..) => {}
                Effect::Execute(message) if self.executor.is_linked => {
                    self.executor_hears(message);
                }
                Effect::Execute(_) => {}
            }
        }
    }

    fn pm_hears(&mut self, message: FromActivity) {
        match message {
            FromActivity::Holding {
                epoch,
                ask,
                part,
                n_parts,
                attempts,
                lease: _,
                has_forgotten: _,
            } => {
                if self.epoch.is_some() || ask != self.n_asked {
                    return;
                }
                self.parts.insert(part);
                self.held.extend(attempts);
                if self.parts.len() as u32 == n_parts {
                    self.epoch = Some(epoch);
                    let lost: Vec<AttemptId> = self.out.difference(&self.held).copied().collect();
                    self.gone.extend(lost.iter().copied());
                    self.out.retain(|id| self.held.contains(id));
                }
            }
            FromActivity::Accepted(_)
            | FromActivity::Started(_)
            | FromActivity::Tail(..)
            | FromActivity::LogPart(_)
            | FromActivity::Copied(_)
            | FromActivity::Checked(_)
            | FromActivity::Fetched(_)
            | FromActivity::Access { .. } => {}
            FromActivity::Outcomes(outcomes) => {
                for outcome in outcomes {
                    self.outcomes.insert(outcome.attempt);
                    self.out.remove(&outcome.attempt);
                }
            }
            FromActivity::Retracted(ids)
            | FromActivity::Refused {
                attempts: ids,
                why: Refusal::Retracted,
            } => {
                for id in ids {
                    self.out.remove(&id);
                    self.gone.insert(id);
                }
            }
            FromActivity::Refused {
                why: Refusal::OtherEpoch { epoch },
                ..
            } => {
                if self.epoch.is_some_and(|known| known < epoch) {
                    self.ask();
                }
            }
            FromActivity::Refused { .. }
            | FromActivity::Renew { .. }
            | FromActivity::Discarded(_) => {}
        }
    }

    fn ask(&mut self) {
        self.n_asked += 1;
        self.epoch = None;
        self.parts.clear();
        self.held.clear();
        let ask = self.n_asked;
        self.sent.push(ToActivity::Attach {
            epoch: Epoch(1),
            ask,
            lease: None,
        });
    }

    fn executor_hears(&mut self, message: ToExecutor) {
        match message {
            ToExecutor::Start(starts) => {
                for start in starts {
                    let id = start.attempt;
                    let mut queued = self.executor.queue.iter();
                    if self.executor.retracted.contains(&id) {
                        self.executor_says(FromExecutor::Retracted(vec![id]));
                    } else if queued.any(|queued| queued.attempt == id) || self.answer_known(id) {
                    } else if self.executor.queue.len() >= 5 {
                        self.executor_says(FromExecutor::Refused(vec![id]));
                    } else {
                        self.executor.queue.push(start);
                    }
                }
            }
            ToExecutor::Retract(ids) | ToExecutor::Stop(ids) => {
                for id in ids {
                    if !self.answer_known(id) {
                        self.executor.queue.retain(|start| start.attempt != id);
                        self.executor.retracted.insert(id);
                        self.executor_says(FromExecutor::Retracted(vec![id]));
                    }
                }
            }
            ToExecutor::Forget(ids) => self.executor.ended.retain(|id, _| !ids.contains(id)),
            ToExecutor::Tail(attempt) => {
                let is_there = self.executor.running.contains_key(&attempt)
                    || self.executor.ended.contains_key(&attempt);
                let written = is_there.then(wire::executor::Written::default);
                self.executor_says(FromExecutor::Output { attempt, written });
            }
            ToExecutor::Ping(number) => self.executor_says(FromExecutor::Pong(number)),
            ToExecutor::Hello(_) | ToExecutor::Shutdown | ToExecutor::Lease(_) => {}
        }
    }

    fn answer_known(&mut self, id: AttemptId) -> bool {
        if let Some(ended) = self.executor.ended.get(&id).cloned() {
            self.executor_says(FromExecutor::Ended(vec![ended]));
        } else if self.executor.running.contains_key(&id) {
            self.executor_says(FromExecutor::Started(vec![started(id)]));
        } else {
            return false;
        }
        true
    }

    /// Starts the first of the queue if there are cores.
    fn executor_starts(&mut self) {
        let used: u32 = self
            .executor
            .running
            .values()
            .map(|start| start.cores)
            .sum();
        let Some(first) = self.executor.queue.first() else {
            return;
        };
        if used + first.cores > SLOTS {
            return;
        }
        let start = self.executor.queue.remove(0);
        let id = start.attempt;
        assert!(self.has_run.insert(id), "{id} runs twice");
        assert!(
            !self.gone.contains(&id),
            "{id} runs though nobody expects it"
        );
        self.executor.running.insert(id, start);
        let cores = |process: u64| -> u32 {
            let own = self.executor.running.iter();
            own.filter(|(id, _)| id.process.0 == process)
                .map(|(_, start)| start.cores)
                .sum()
        };
        assert!(
            cores(1) <= 2 && cores(2) <= 1,
            "a process has more than its leave"
        );
        self.executor_says(FromExecutor::Started(vec![started(id)]));
    }

    fn executor_ends(&mut self, choice: usize, exit: Exit) {
        let Some(&id) = self.executor.running.keys().nth(choice % 4) else {
            return;
        };
        let start = self.executor.running.remove(&id).unwrap();
        let ended = ended(id, exit, &start.note);
        self.executor.ended.insert(id, ended.clone());
        self.executor_says(FromExecutor::Ended(vec![ended]));
    }

    fn cut(&mut self) {
        self.executor.is_linked = false;
        self.said.clear();
        self.feed(Input::ExecutorDown);
    }

    fn link(&mut self) {
        if self.executor.is_linked {
            self.cut();
        }
        self.executor.is_linked = true;
        let executor = &self.executor;
        let mut held = Vec::new();
        for start in executor.queue.iter() {
            let note = start.note.clone();
            held.push(Held {
                attempt: start.attempt,
                note,
                phase: Phase::Queued,
            });
        }
        for (&attempt, start) in &executor.running {
            let phase = Phase::Running(started(attempt));
            held.push(Held {
                attempt,
                note: start.note.clone(),
                phase,
            });
        }
        for (&attempt, ended) in &executor.ended {
            let phase = Phase::Ended(ended.clone());
            held.push(Held {
                attempt,
                note: ended.note.clone(),
                phase,
            });
        }
        let instance = executor.instance;
        self.executor_says(hello(instance));
        for part in held.chunks(2) {
            self.executor_says(FromExecutor::Held(part.to_vec()));
        }
        self.executor_says(FromExecutor::HeldEnd);
    }

    fn kill_executor(&mut self) {
        let instance = self.executor.instance + 1;
        self.cut();
        self.executor = Executor {
            instance,
            ..Executor::default()
        };
    }

    fn stage(&mut self, choice: usize, is_done: bool) {
        if self.to_stage.is_empty() {
            return;
        }
        let attempt = self.to_stage.swap_remove(choice % self.to_stage.len());
        self.feed(if is_done {
            staged(attempt)
        } else {
            Input::Staged {
                attempt,
                result: no(),
            }
        });
    }

    fn collect(&mut self, choice: usize, is_done: bool) {
        if self.to_collect.is_empty() {
            return;
        }
        let attempt = self.to_collect.swap_remove(choice % self.to_collect.len());
        let result = if is_done { Ok(vec![artifact()]) } else { no() };
        self.feed(Input::Collected { attempt, result });
    }

    fn deliver(&mut self, choice: usize, stays: bool) {
        if self.sent.is_empty() {
            return;
        }
        let index = choice % self.sent.len();
        let message = if stays {
            self.sent[index].clone()
        } else {
            self.sent.swap_remove(index)
        };
        self.feed(from_pm(message));
    }

    fn send_dispatch(&mut self, attempts: Vec<AttemptId>) {
        let Some(meant_for) = self.epoch else { return };
        self.out.extend(attempts.iter().copied());
        let wide = |id: AttemptId| {
            if id.process.0 == 1 {
                1 + id.activity.0 % 2
            } else {
                1
            }
        };
        let attempts = attempts
            .into_iter()
            .map(|id| {
                let job = if id.activity.0 % 3 == 0 {
                    job_with_output(id)
                } else {
                    job(id)
                };
                wire::attempt::Dispatch {
                    cores: wide(id),
                    ..job
                }
            })
            .collect();
        self.sent.push(ToActivity::Dispatch {
            meant_for,
            attempts,
            holders: Vec::new(),
            holds: None,
        });
    }

    fn some_out(&self, choice: usize) -> Vec<AttemptId> {
        self.out.iter().skip(choice % 5).take(2).copied().collect()
    }

    fn restart(&mut self) {
        self.bench.restart();
        self.executor.is_linked = false;
        self.said.clear();
        self.to_stage.clear();
        self.to_collect.clear();
        self.link();
        self.grant();
        self.feed(Input::Up(Peer::Group));
        self.ask();
    }

    fn grant(&mut self) {
        self.feed(grants(&[(1, 2), (2, 1)]));
    }

    fn wait(&mut self, seconds: u64) {
        let effects = self.bench.wait(seconds);
        self.carry_out(effects);
    }

    fn act(&mut self, action: u8, choice: u8) {
        let index = usize::from(choice);
        self.drops = action & 0x40 != 0 && choice.is_multiple_of(3);
        match action & 0x1f {
            0..=2 => {
                let first = self.n_attempts;
                self.n_attempts += 3;
                let new = (first..first + 3).map(|n| id_of(1 + u64::from(n / 3 % 2), n));
                self.send_dispatch(new.collect());
            }
            3 => self.send_dispatch(self.some_out(index)),
            4..=7 => self.deliver(index, choice & 0x80 != 0),
            8 => self.sent.push(ToActivity::Retract(self.some_out(index))),
            9 => self.sent.push(ToActivity::Stop(self.some_out(index))),
            10 | 11 => {
                let ids = self
                    .outcomes
                    .iter()
                    .skip(index % 4)
                    .take(3)
                    .copied()
                    .collect();
                self.sent.push(ToActivity::Acknowledge(ids));
            }
            12 => self.ask(),
            13..=16 => self.stage(index, !choice.is_multiple_of(8)),
            17 => self.collect(index, !choice.is_multiple_of(8)),
            18..=21 => self.executor_starts(),
            22 | 23 => self.executor_ends(index, Exit::Exited { code: choice % 2 }),
            24 => self.executor_ends(index, Exit::Abandoned),
            25 if choice.is_multiple_of(4) => self.kill_executor(),
            25 => self.cut(),
            26 => self.link(),
            27 if choice.is_multiple_of(4) => self.restart(),
            28 => {
                self.sent.swap_remove_if_any(index);
            }
            29 => self.grant(),
            30 => self.feed(grants(&[])),
            _ => self.wait(u64::from(choice % 70)),
        }
        if choice % 4 != 1 {
            self.listen();
        }
    }

    /// Everybody behaves until nothing is left.
    fn heal(&mut self) {
        self.drops = false;
        self.link();
        self.feed(Input::Up(Peer::Group));
        self.feed(Input::Group(ToResource::Registered(ResourceId::local(7))));
        self.grant();
        for _ in 0..600 {
            if self.epoch.is_none() {
                self.ask();
            }
            while !self.sent.is_empty() {
                self.deliver(0, false);
            }
            while !self.to_stage.is_empty() {
                self.stage(0, true);
            }
            for choice in 0..6 {
                self.listen();
                self.executor_starts();
                self.executor_ends(choice, Exit::Exited { code: 0 });
            }
            self.listen();
            while !self.to_collect.is_empty() {
                self.collect(0, true);
            }
            self.sent.push(ToActivity::Acknowledge(
                self.outcomes.iter().copied().collect(),
            ));
            let out: Vec<AttemptId> = self.out.iter().copied().collect();
            if out.is_empty() && self.bench.drive.machine().n_attempts() == 0 {
                break;
            }
            self.send_dispatch(out);
            self.wait(2);
        }
        assert_eq!(self.out, BTreeSet::new(), "attempts without an outcome");
        assert_eq!(
            self.bench.drive.machine().n_attempts(),
            0,
            "attempts that do not end"
        );
        self.link();
        self.listen();
        assert!(
            self.executor.ended.is_empty(),
            "outcomes that nobody forgets"
        );
        self.grant();
        self.wait(2);
        let said = show(&self.bench.wait(1));
        let others = said
            .lines()
            .filter(|line| !line.starts_with("group: register"));
        assert_eq!(others.collect::<Vec<_>>(), Vec::<&str>::new());
    }
}

trait SwapRemove {
    fn swap_remove_if_any(&mut self, index: usize);
}

impl<T> SwapRemove for Vec<T> {
    fn swap_remove_if_any(&mut self, index: usize) {
        if !self.is_empty() {
            self.swap_remove(index % self.len());
        }
    }
}

fn no<T>() -> Result<T, Trouble> {
    Err(Trouble {
        name: model::FaultName::Staging,
        message: "no".to_owned(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_nothing_runs_twice_and_everything_ends(
        actions in proptest::collection::vec(any::<(u8, u8)>(), 0..300),
    ) {
        let mut world = World::new();
        world.link();
        world.grant();
        world.feed(Input::Up(Peer::Group));
        world.ask();
        world.deliver(0, false);
        world.listen();
        for (action, choice) in actions {
            world.act(action, choice);
        }
        world.heal();
    }

    #[test]
    fn any_dispatch_is_taken_without_panic(
        cores in any::<u32>(),
        slots in any::<u32>(),
        prefetch in any::<u32>(),
        shares in proptest::collection::vec((1u64..3, any::<u32>()), 0..4),
    ) {
        let mut bench = Bench::ready(slots, prefetch);
        bench.feed(grants(&shares));
        let wide = |index| wire::attempt::Dispatch { cores, ..job(id_of(1, index)) };
        bench.feed(dispatch((0..5).map(wide).collect()));
        for index in 0..5 {
            bench.feed(staged(id_of(1, index)));
        }
        bench.wait(100);
    }
}
