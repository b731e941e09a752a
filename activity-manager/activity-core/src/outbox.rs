//! The messages of one step, gathered so that each peer gets few of them.

use std::collections::BTreeMap;

use model::AttemptId;
use wire::attempt::{ATTEMPTS_MAX, FromActivity, Outcome, Refusal, Started};
use wire::executor::{BATCH_BYTES, Start, Stdin, ToExecutor};

use crate::attempt::AttemptState;
use crate::io::Effect;
use crate::outcome;
use crate::parts::executor::Reach;
use crate::table::Attempts;

/// Bytes at which a message of outcomes ends: far below the limit of a message, so that large
/// captured streams do not delay other outcomes.
const OUTCOMES_BYTES: usize = 4 << 20;

/// Empty between steps.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    answers: BTreeMap<u32, Answers>,
    pub(crate) starts: Vec<Start>,
    pub(crate) retracts: Vec<AttemptId>,
    pub(crate) stops: Vec<AttemptId>,
    pub(crate) forgets: Vec<AttemptId>,
    /// Directories to remove; last, because the executor may still use them.
    pub(crate) clears: Vec<(AttemptId, String)>,
}

/// Messages for one process manager.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    pub(crate) accepted: Vec<AttemptId>,
    pub(crate) started: Vec<Started>,
    /// Their outcomes are in the table.
    pub(crate) outcomes: Vec<AttemptId>,
    pub(crate) retracted: Vec<AttemptId>,
    refused: Vec<(Refusal, Vec<AttemptId>)>,
}

impl Outbox {
    /// The messages of this step for a process manager.
    pub(crate) fn answers(&mut self, to: u32) -> &mut Answers {
        self.answers.entry(to).or_default()
    }

    /// Gives everything as effects. Messages for a process manager that is not attached are
    /// dropped: it gets the same state when it attaches. Likewise for an executor that is not
    /// connected; one that still lists its attempts gets its messages afterwards.
    pub(crate) fn empty(
        &mut self,
        mut effect: impl FnMut(Effect),
        attempts: &Attempts,
        is_attached: impl Fn(u32) -> bool,
        executor: Reach,
    ) {
        for (to, answers) in std::mem::take(&mut self.answers) {
            if is_attached(to) {
                answers.send(attempts, |message| effect(Effect::ToProcess(to, message)));
            }
        }
        match executor {
            Reach::Ready => self.empty_to_executor(&mut effect),
            Reach::Telling => {}
            Reach::Away => {
                self.starts.clear();
                self.retracts.clear();
                self.stops.clear();
                self.forgets.clear();
            }
        }
        for (attempt, directory) in self.clears.drain(..) {
            effect(Effect::Clear { attempt, directory });
        }
    }

    fn empty_to_executor(&mut self, effect: &mut impl FnMut(Effect)) {
        let mut execute = |message| effect(Effect::Execute(message));
        for part in self.forgets.chunks(ATTEMPTS_MAX) {
            execute(ToExecutor::Forget(part.to_vec()));
        }
        for part in self.retracts.chunks(ATTEMPTS_MAX) {
            execute(ToExecutor::Retract(part.to_vec()));
        }
        for part in self.stops.chunks(ATTEMPTS_MAX) {
            execute(ToExecutor::Stop(part.to_vec()));
        }
        self.forgets.clear();
        self.retracts.clear();
        self.stops.clear();
        let mut batch = Vec::new();
        let mut bytes = 0;
        for start in self.starts.drain(..) {
            bytes += start_bytes(&start);
            batch.push(start);
            if bytes >= BATCH_BYTES {
                execute(ToExecutor::Start(std::mem::take(&mut batch)));
                bytes = 0;
            }
        }
        if !batch.is_empty() {
            execute(ToExecutor::Start(batch));
        }
    }
}

impl Answers {
    pub(crate) fn refuse(&mut self, attempt: AttemptId, why: Refusal) {
        match self.refused.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, attempts)) => attempts.push(attempt),
            None => self.refused.push((why, vec![attempt])),
        }
    }

    fn send(mut self, attempts: &Attempts, mut send: impl FnMut(FromActivity)) {
        // An outcome says when its attempt has started.
        self.started.retain(|started| {
            let state = attempts.get(started.attempt).map(|attempt| &attempt.state);
            !matches!(state, Some(AttemptState::Ended(_)))
        });
        for part in self.accepted.chunks(ATTEMPTS_MAX) {
            send(FromActivity::Accepted(part.to_vec()));
        }
        for part in self.started.chunks(ATTEMPTS_MAX) {
            send(FromActivity::Started(part.to_vec()));
        }
        let mut batch: Vec<Outcome> = Vec::new();
        let mut bytes = 0;
        for id in self.outcomes {
            let Some(AttemptState::Ended(outcome)) = attempts.get(id).map(|attempt| &attempt.state)
            else {
                continue;
            };
            bytes += outcome::weight(outcome);
            batch.push(Outcome::clone(outcome));
            if bytes >= OUTCOMES_BYTES || batch.len() >= ATTEMPTS_MAX {
                send(FromActivity::Outcomes(std::mem::take(&mut batch)));
                bytes = 0;
            }
        }
        if !batch.is_empty() {
            send(FromActivity::Outcomes(batch));
        }
        for part in self.retracted.chunks(ATTEMPTS_MAX) {
            send(FromActivity::Retracted(part.to_vec()));
        }
        for (why, refused) in self.refused {
            for part in refused.chunks(ATTEMPTS_MAX) {
                send(FromActivity::Refused {
                    attempts: part.to_vec(),
                    why,
                });
            }
        }
    }
}

fn start_bytes(start: &Start) -> usize {
    let contained = start.container.iter();
    let contained =
        contained.flat_map(|container| container.command.iter().chain(&container.read_only));
    let program: usize = start.program.iter().chain(contained).map(String::len).sum();
    let env: usize = start
        .env
        .iter()
        .map(|(name, value)| name.len() + value.len())
        .sum();
    let stdin = match &start.stdin {
        Stdin::Empty => 0,
        Stdin::Bytes(bytes) => bytes.len(),
        Stdin::Path(path) => path.len(),
    };
    program + env + stdin + start.note.len()
}
