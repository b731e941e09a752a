//! The answers of the workers that stage inputs and collect outputs.

use machine::Context;
use model::{AttemptId, Mono};
use wire::attempt::{End, Fetched, FromActivity, Outcome};

use crate::attempt::{Attempt, AttemptState, Collecting};
use crate::io::{Effect, Trouble, Workplace};
use crate::manager::ActivityManager;
use crate::record::Note;

impl ActivityManager {
    pub(crate) fn on_staged(
        &mut self,
        now: Mono,
        id: AttemptId,
        result: Result<Workplace, Trouble>,
    ) {
        let Some(mut attempt) = self.attempts.remove(id) else {
            // It was taken back meanwhile.
            if let Ok(workplace) = result {
                self.out.clears.push((id, workplace.directory));
            }
            return;
        };
        match (attempt.state, result) {
            (AttemptState::Staging(dispatch), Ok(Workplace { directory })) => {
                let note = Note {
                    owner: attempt.owner,
                    cores: attempt.cores,
                    directory: directory.clone(),
                    outputs: dispatch.outputs.clone(),
                    wants_stdout: dispatch.wants_stdout,
                    wants_stderr: dispatch.wants_stderr,
                    memory: dispatch.memory,
                };
                attempt.directory = Some(directory.clone().into_boxed_str());
                attempt.state =
                    AttemptState::Staged(Box::new(self.config.start(*dispatch, directory, &note)));
            }
            (AttemptState::Staging(_), Err(Trouble { name, message })) => {
                let outcome = Outcome::failed(id, name, message);
                attempt.state = AttemptState::Staged(Box::default());
                return self.end(now, attempt, outcome);
            }
            (AttemptState::Ended(outcome), Ok(Workplace { directory }))
                if attempt.directory.is_none() =>
            {
                // It was stopped meanwhile, so nothing has run in the directory.
                self.out.clears.push((id, directory));
                attempt.state = AttemptState::Ended(outcome);
            }
            (
                state @ (AttemptState::Waiting(_)
                | AttemptState::Staged(_)
                | AttemptState::Queued(_)
                | AttemptState::Running { .. }
                | AttemptState::Collecting(_)
                | AttemptState::Ended(_)),
                _,
            ) => attempt.state = state,
        }
        self.attempts.insert(attempt);
    }

    /// A file of an attempt was fetched, which its process manager is told.
    pub(crate) fn on_fetched(&self, cx: &mut Context<'_, Self>, id: AttemptId, fetched: Fetched) {
        if let Some(attempt) = self.attempts.get(id) {
            self.on_probed(cx, attempt.owner, fetched);
        }
    }

    /// A process manager is told how long a transfer took.
    pub(crate) fn on_probed(&self, cx: &mut Context<'_, Self>, to: u32, fetched: Fetched) {
        let link = self.process_managers.get(&to);
        if link.is_some_and(|link| link.is_attached) {
            cx.effect(Effect::ToProcess(to, FromActivity::Fetched(vec![fetched])));
        }
    }

    /// An input is on no machine: the process manager recomputes it.
    pub(crate) fn on_lacking(
        &mut self,
        now: Mono,
        id: AttemptId,
        inputs: Vec<u32>,
        Workplace { directory }: Workplace,
    ) {
        let Some(attempt) = self.attempts.remove(id) else {
            return self.out.clears.push((id, directory));
        };
        if attempt.directory.as_deref() != Some(&*directory) {
            self.out.clears.push((id, directory));
        }
        match &attempt.state {
            AttemptState::Staging(_) => {
                let outcome = Outcome::without_run(id, End::Lacking(inputs));
                self.end(now, attempt, outcome);
            }
            AttemptState::Waiting(_)
            | AttemptState::Staged(_)
            | AttemptState::Queued(_)
            | AttemptState::Running { .. }
            | AttemptState::Collecting(_)
            | AttemptState::Ended(_) => self.attempts.insert(attempt),
        }
    }

    pub(crate) fn on_collected(
        &mut self,
        now: Mono,
        id: AttemptId,
        result: Result<Vec<model::Artifact>, Trouble>,
    ) {
        let Some(attempt) = self.attempts.remove(id) else {
            return;
        };
        match &attempt.state {
            AttemptState::Collecting(collecting) => {
                let outcome = collecting.outcome_with(&attempt, result);
                self.end(now, attempt, outcome);
            }
            AttemptState::Waiting(_)
            | AttemptState::Staging(_)
            | AttemptState::Staged(_)
            | AttemptState::Queued(_)
            | AttemptState::Running { .. }
            | AttemptState::Ended(_) => self.attempts.insert(attempt),
        }
    }
}

impl Collecting {
    /// The effect that stores the outputs.
    pub(crate) fn effect(&self, attempt: &Attempt) -> Effect {
        let directory = attempt.directory.as_deref().unwrap_or_default().to_owned();
        Effect::Collect {
            attempt: attempt.id,
            directory,
            outputs: self.outputs.clone(),
            user: self.user,
        }
    }

    fn outcome_with(
        &self,
        attempt: &Attempt,
        result: Result<Vec<model::Artifact>, Trouble>,
    ) -> Outcome {
        let mut outcome = self.outcome.clone();
        let (wanted, kept) = (self.outputs.len(), result.as_ref().map_or(0, Vec::len));
        let result = result.and_then(|outputs| {
            let message = format!("{kept} of {wanted} outputs were kept");
            let name = model::FaultName::MissingOutput;
            if kept == wanted {
                Ok(outputs)
            } else {
                Err(Trouble { name, message })
            }
        });
        match result {
            Ok(outputs) => outcome.outputs = outputs,
            Err(Trouble { name, message }) => {
                outcome.stdout = None;
                outcome.stderr = None;
                outcome.end = End::Failed(Box::new(wire::attempt::Failure {
                    name,
                    message,
                    directory: attempt.directory.as_deref().unwrap_or_default().to_owned(),
                    stderr_tail: self.stderr_tail.clone(),
                }));
            }
        }
        outcome
    }
}
