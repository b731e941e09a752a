//! Held processes, which this version of the program cannot understand: another version accepted
//! them, by rules or in a form that this one does not know. They do not run, and nothing of them is
//! lost: the key stays taken, so that a repeat of the submission does not run its commands again,
//! and their recorded outputs can be read until they are forgotten.

use model::{Fault, ProcessId, Value, Wall};
use wire::client::{Answer, Progress, Status, Submit, Summary, Totals};

use crate::process::ProcessState;
use crate::record::{Event, Founded, Phase};

/// A process that is kept and not understood.
#[derive(Debug)]
pub struct Held {
    founded: Box<Founded>,
    /// The reason why it is not understood, in a sentence without a full stop.
    reason: String,
    phase: Phase,
    closed: Option<Wall>,
    outputs: Vec<(String, Value)>,
    faults: Vec<Fault>,
    is_released: bool,
}

impl Held {
    pub(crate) fn new(founded: &Founded, reason: String) -> Held {
        Held {
            founded: Box::new(founded.clone()),
            reason,
            phase: Phase::Running,
            closed: None,
            outputs: Vec::new(),
            faults: Vec::new(),
            is_released: false,
        }
    }

    /// Its name.
    pub fn id(&self) -> ProcessId {
        self.founded.key.process()
    }

    pub(crate) fn owner(&self) -> Option<&str> {
        self.founded.owner.as_deref()
    }

    /// Its phase: the recorded one if it has ended, else faulted, since it does not go on.
    pub fn phase(&self) -> Phase {
        if self.phase.has_ended() {
            self.phase
        } else {
            Phase::Faulted
        }
    }

    /// When it ended; none where it had not when it was last understood.
    pub(crate) fn closed(&self) -> Option<Wall> {
        self.closed
    }

    pub(crate) fn is_released(&self) -> bool {
        self.is_released
    }

    /// The reason why it does not run, for users.
    pub fn told(&self) -> String {
        format!("accepted by another version: {}", self.reason)
    }

    /// Keeps the facts that a status needs and that are understood without the rest.
    pub(crate) fn apply(&mut self, event: &Event) {
        match event {
            // The activity cannot be named without an understood definition.
            Event::Faulted(fault) | Event::Broke { fault, .. } => self.faults.push(Fault {
                activity: None,
                ..(**fault).clone()
            }),
            Event::Closed { phase, at, outputs } => {
                self.phase = *phase;
                self.closed = Some(*at);
                self.outputs.clone_from(outputs);
            }
            Event::Released => self.is_released = true,
            Event::Epoch(_)
            | Event::Leased(_)
            | Event::Founded(_)
            | Event::Planned(_)
            | Event::Replanned(_)
            | Event::Granted { .. }
            | Event::Sent(..)
            | Event::Recomputing(_)
            | Event::Racing(..)
            | Event::Copied { .. }
            | Event::MachineLost { .. }
            | Event::FilesLost(..)
            | Event::Reused(_)
            | Event::Readied(_)
            | Event::Ended(_)
            | Event::Decided(_)
            | Event::Expanded(_)
            | Event::Assigned { .. }
            | Event::CancelAsked => {}
        }
    }

    pub(crate) fn restore(mut self, state: ProcessState) -> Held {
        self.phase = state.phase;
        self.closed = state.closed;
        self.outputs = state.outputs;
        let faults = state.faults.into_iter().map(|fault| Fault {
            activity: None,
            ..fault
        });
        self.faults = faults.collect();
        self.is_released = state.is_released;
        self
    }

    pub(crate) fn summary(&self) -> Summary {
        let founded = &self.founded;
        Summary {
            process: self.id(),
            name: founded.draft.draft().name.clone(),
            origin: founded.origin.clone(),
            phase: self.phase().into(),
            submitted: founded.at,
            ended: self.closed,
            totals: Totals::default(),
            base: founded.base,
            keep: founded.keep,
            owner: founded.owner.clone(),
            held: Some(self.told()),
        }
    }

    /// Its status, as far as its record is understood.
    pub fn status(&self) -> Status {
        let declared = &self.founded.draft.draft().inputs;
        let names = declared.iter().map(|input| input.name.clone());
        Status {
            summary: self.summary(),
            inputs: names.zip(self.founded.inputs.iter().cloned()).collect(),
            outputs: self.outputs.clone(),
            variables: Vec::new(),
            faults: self.faults.clone(),
            activities: Vec::new(),
            generation: model::Generation(0),
            planned: None,
            machines: Vec::new(),
            waiting_for: None,
            on_fault: self.founded.on_fault,
            copies: None,
            planned_from: None,
            turn: None,
            left: None,
            left_p90: None,
            rescheduled: Vec::new(),
            n_rescheduled: 0,
            slots: Vec::new(),
        }
    }

    /// The submission.
    pub fn submission(&self) -> Submit {
        let founded = &self.founded;
        let draft = founded.draft.draft();
        let names = draft.inputs.iter().map(|input| input.name.clone());
        Submit {
            key: founded.key,
            draft: draft.clone(),
            inputs: names.zip(founded.inputs.iter().cloned()).collect(),
            files: founded.files.clone(),
            origin: founded.origin.clone(),
            base: founded.base,
            on_fault: Some(founded.on_fault),
            keep: founded.keep,
            store: founded.store,
            environment: founded.environment.clone(),
        }
    }

    /// The only progress that its watchers get.
    pub(crate) fn progress(&self) -> Progress {
        Progress {
            process: self.id(),
            revision: u64::MAX,
            phase: self.phase().into(),
            totals: Totals::default(),
            controllers: Vec::new(),
            running: Vec::new(),
            left: None,
            left_p90: None,
            rescheduled: None,
            n_rescheduled: 0,
            waiting_for: None,
            run_again: Vec::new(),
            n_run_again: 0,
            backoff: None,
            machines: Vec::new(),
        }
    }

    /// The answer to one who wants something done with it that needs more than what is recorded.
    pub(crate) fn refusal(&self) -> Answer {
        let (id, told) = (self.id(), self.told());
        Answer::Refused(vec![format!("process {id} is held, {told}")])
    }
}
