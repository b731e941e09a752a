//! A user's client: it submits, repeats until it is answered, looks how far its process is and which values its
//! activities have, may cancel it, and looks again when it has ended.

use model::{ActivityId, Identity, Mono, ProcessId, Span};
use process_core::Caller;
use wire::client::{Answer, Request, Submit, VALUES_ACTIVITIES_MAX, ValuesWanted};

use crate::random::{Random, Rate};
use crate::setup::Setup;

/// Time for which a client waits before it asks again; it doubles at every eighth question.
const PATIENCE: (Span, Span) = (Span::from_millis(300), Span::from_millis(1_500));
/// Doublings of that at most: a client looks at least every other minute.
const DOUBLINGS_MAX: u64 = 6;
/// Looks after the end, to see that nothing is taken back.
const LOOKS_AFTER: u32 = 3;

/// One client with one process.
#[derive(Debug)]
pub(crate) struct Client {
    submit: Submit,
    /// The process manager that it asks.
    pub(crate) manager: usize,
    /// On whose behalf it asks.
    pub(crate) caller: Caller,
    /// Another one after each connection that was lost.
    pub(crate) connection: u64,
    n_asked: u64,
    is_accepted: bool,
    cancels_at: Option<Mono>,
    has_begun_to_cancel: bool,
    is_cancelling: bool,
    has_ended: bool,
    n_looks_after: u32,
    looks_closely: bool,
    watches: bool,
    /// The activities of its process, as far as it was told.
    activities: Vec<ActivityId>,
}

/// The next action of a client.
#[derive(Debug)]
pub(crate) struct Asks {
    pub(crate) number: u64,
    pub(crate) request: Request,
    /// True if it asks for the first time that its process be cancelled.
    pub(crate) begins_to_cancel: bool,
    pub(crate) looks_again_in: Span,
}

impl Client {
    pub(crate) fn new(
        (submit, manager, user): (Submit, usize, Option<Identity>),
        cancels_at: Option<Mono>,
        setup: &Setup,
        random: &mut Random,
    ) -> Client {
        let looks_closely = setup.looks_closely;
        let watches = !looks_closely || random.happens(Rate::percent(50));
        Client {
            submit,
            manager,
            caller: user.map_or(Caller::Local, Caller::Holder),
            connection: random.draw(),
            n_asked: 0,
            is_accepted: false,
            cancels_at,
            has_begun_to_cancel: false,
            is_cancelling: false,
            has_ended: false,
            n_looks_after: 0,
            looks_closely,
            watches: watches && setup.has_watchers,
            activities: Vec::new(),
        }
    }

    pub(crate) fn process(&self) -> ProcessId {
        self.submit.key.process()
    }

    pub(crate) fn submit(&self) -> &Submit {
        &self.submit
    }

    /// True if it knows the end.
    pub(crate) fn knows_the_end(&self) -> bool {
        self.has_ended
    }

    /// True if it knows the end and has looked often enough.
    pub(crate) fn is_done(&self) -> bool {
        self.has_ended && self.n_looks_after >= LOOKS_AFTER
    }

    /// Its questions at this moment.
    pub(crate) fn asks(&mut self, at: Mono, random: &mut Random) -> Asks {
        self.n_asked += 1;
        let process = self.process();
        let cancels = self.cancels_at.is_some_and(|cancels_at| cancels_at <= at);
        let mut begins_to_cancel = false;
        let request = if !self.is_accepted {
            Request::Submit(Box::new(self.submit.clone()))
        } else if cancels && !self.is_cancelling && !self.has_ended {
            begins_to_cancel = !std::mem::replace(&mut self.has_begun_to_cancel, true);
            Request::Cancel(process)
        } else if random.happens(Rate::percent(5)) {
            // A client that has forgotten that it was answered.
            Request::Submit(Box::new(self.submit.clone()))
        } else if random.happens(Rate::percent(5)) {
            Request::List
        } else if !self.activities.is_empty() && random.happens(Rate::percent(10)) {
            Request::Values(Box::new(ValuesWanted {
                process,
                activities: self.activities.clone(),
            }))
        } else if self.has_ended || (self.looks_closely && random.happens(Rate::percent(70))) {
            Request::Status(process)
        } else if self.watches {
            Request::Watch(process)
        } else {
            Request::Status(process)
        };
        let factor = 1 << (self.n_asked / 8).min(DOUBLINGS_MAX);
        let looks_again_in = Span(random.span(PATIENCE).0 * factor);
        Asks {
            number: self.n_asked,
            request,
            begins_to_cancel,
            looks_again_in,
        }
    }

    /// It is answered.
    pub(crate) fn told(&mut self, answer: &Answer) {
        match answer {
            Answer::Submitted(_) => self.is_accepted = true,
            Answer::Cancelling(_) => self.is_cancelling = true,
            Answer::Status(status) => {
                let activities = status.activities.iter().map(|one| one.activity);
                self.activities = activities.take(VALUES_ACTIVITIES_MAX).collect();
                if status.summary.phase.has_ended() {
                    self.has_ended = true;
                    self.n_looks_after += 1;
                }
            }
            Answer::Progress(progress) => self.has_ended |= progress.phase.has_ended(),
            Answer::Processes(_)
            | Answer::Unknown(_)
            | Answer::Refused(_)
            | Answer::NoRoom(_)
            | Answer::Submission(..)
            | Answer::Forgotten(_)
            | Answer::Why(_)
            | Answer::Tail(_)
            | Answer::LogPart(_)
            | Answer::Machines(_)
            | Answer::Queued(_)
            | Answer::WhyProcess(_)
            | Answer::History(_)
            | Answer::HistoryForgotten(_)
            | Answer::Foreseen(_)
            | Answer::Published(_)
            | Answer::ProcessesPage(_)
            | Answer::Activities(_)
            | Answer::Values(_) => {}
        }
    }
}

/// An answer in a line.
pub(crate) fn in_short(answer: &Answer) -> String {
    match answer {
        Answer::Status(status) => {
            let summary = &status.summary;
            let waiting_for = &status.waiting_for;
            format!(
                "{} {:?} {:?} {waiting_for:?}",
                summary.process, summary.phase, summary.totals
            )
        }
        Answer::Progress(progress) => {
            format!(
                "{} {:?} {:?}",
                progress.process, progress.phase, progress.totals
            )
        }
        Answer::Submitted(_)
        | Answer::Refused(_)
        | Answer::NoRoom(_)
        | Answer::Processes(_)
        | Answer::Unknown(_)
        | Answer::Cancelling(_)
        | Answer::Submission(..)
        | Answer::Forgotten(_)
        | Answer::Why(_)
        | Answer::Tail(_)
        | Answer::LogPart(_)
        | Answer::Machines(_)
        | Answer::Queued(_)
        | Answer::WhyProcess(_)
        | Answer::History(_)
        | Answer::HistoryForgotten(_)
        | Answer::Foreseen(_)
        | Answer::Published(_)
        | Answer::ProcessesPage(_)
        | Answer::Activities(_)
        | Answer::Values(_) => format!("{answer:?}"),
    }
}

/// A request in a line.
pub(crate) fn asked_in_short(request: &Request) -> String {
    match request {
        Request::Submit(submit) => format!("Submit {}", submit.key.process()),
        Request::Foresee(submit) => format!("Foresee {}", submit.key.process()),
        Request::List
        | Request::Status(_)
        | Request::Cancel(_)
        | Request::Watch(_)
        | Request::Submission(_)
        | Request::Forget(_)
        | Request::Why { .. }
        | Request::WhyProcess(_)
        | Request::Published { .. }
        | Request::Processes(_)
        | Request::Activities(_)
        | Request::Values(_)
        | Request::Tail(_)
        | Request::Log { .. }
        | Request::Machines
        | Request::History { .. }
        | Request::ForgetHistory(_) => format!("{request:?}"),
    }
}
