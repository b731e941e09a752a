//! Questions about processes: to the run that has them, to the journal that a run has left, or to a process
//! manager of a grid.

use std::error::Error;

use journal::OpenError;
use model::{
    Definition, Draft, Expression, Join, Node, NodeKind, Output, OutputSource, ProcessId, Span,
};
use process_daemon::{Offline, OfflineError};
use shell::{Client, ClientError, StoreError};
use wire::client::{Answer, Request, Status, Submit, Summary};

use crate::failure::Failure;
use crate::fault::short;
use crate::home::refused;
use crate::location::Location;
use crate::state::{StateDirectory, Use, User, pause};
use crate::watch::Host;
use crate::{due, summary_file};

/// The time for which a run that starts or ends may not answer.
const PATIENCE: Span = Span::from_secs(10);

/// Retries when a run ends just as it is asked.
const ENDS_MAX: u32 = 100;

/// The source of answers about processes.
pub(crate) enum Source {
    /// The run.
    Live(Box<Client>, User, StateDirectory),
    /// A process manager of a grid.
    Grid(Box<Client>),
    /// The journal of a run that has ended.
    Offline(Box<Offline>),
    /// Nothing was ever recorded.
    Nothing,
}

impl Source {
    /// Opens the source of answers for a location.
    pub(crate) fn open(location: &Location) -> Result<Source, Failure> {
        match location {
            Location::Here(directory) => Source::of(directory),
            Location::Grid(home) => Ok(Source::Grid(Box::new(home.client()?))),
        }
    }

    /// Finds who answers for a state directory.
    pub(crate) fn of(directory: &StateDirectory) -> Result<Source, Failure> {
        let give_up = shell::clock::mono() + PATIENCE;
        loop {
            let user = directory.user().map_err(refused)?;
            let result = match user {
                Some(user) => match user.connect() {
                    Ok(client) => {
                        return Ok(Source::Live(Box::new(client), user, directory.clone()));
                    }
                    // It starts or ends.
                    Err(error) => Failure::because(&error).help(format!(
                        "process {} uses {}",
                        user.pid,
                        directory.path().display()
                    )),
                },
                None => match directory.hold(Use::Read) {
                    Ok(_held) => return read(directory),
                    // A run began in between.
                    Err(error) => refused(error),
                },
            };
            if shell::clock::mono() >= give_up {
                return Err(result);
            }
            pause();
        }
    }

    /// True if somebody runs the processes.
    pub(crate) fn is_live(&self) -> bool {
        match self {
            Source::Live(..) | Source::Grid(_) => true,
            Source::Offline(_) | Source::Nothing => false,
        }
    }

    /// All processes, the newest first.
    pub(crate) fn list(&mut self) -> Result<Vec<Summary>, Failure> {
        let answer = self.answer(Request::List)?;
        if let Answer::Processes(processes) = answer {
            Ok(processes)
        } else {
            Err(unfit(&answer))
        }
    }

    /// Everything about a process.
    pub(crate) fn status(&mut self, process: ProcessId) -> Result<Status, Failure> {
        let answer = self.answer(Request::Status(process))?;
        if let Answer::Status(status) = answer {
            Ok(*status)
        } else {
            Err(unfit(&answer))
        }
    }

    /// Everything about a process, and its definition, which has all activities that are told. In this order,
    /// since a process may grow between two questions, and nothing of it goes away.
    pub(crate) fn known(&mut self, process: ProcessId) -> Result<(Status, Definition), Failure> {
        let status = self.status(process)?;
        Ok((status, self.definition(process)?))
    }

    /// The definition of a process as it is when this is asked.
    fn definition(&mut self, process: ProcessId) -> Result<Definition, Failure> {
        let answer = self.answer(Request::Submission(process))?;
        definition_in(answer)
    }

    /// The submission, with the defaults of its inputs.
    pub(crate) fn submission(&mut self, process: ProcessId) -> Result<Submit, Failure> {
        let answer = self.answer(Request::Submission(process))?;
        if let Answer::Submission(submit, _) = answer {
            Ok(*submit)
        } else {
            Err(unfit(&answer))
        }
    }

    /// Asks anything, of whoever answers at the moment.
    pub(crate) fn answer(&mut self, request: Request) -> Result<Answer, Failure> {
        for _ in 0..ENDS_MAX {
            match self.answer_once(&request) {
                Ok(answer) => return Ok(answer),
                Err((Some(directory), _)) => {
                    pause();
                    *self = Source::of(&directory)?;
                }
                Err((None, failure)) => return Err(failure),
            }
        }
        self.answer_once(&request).map_err(|(_, failure)| failure)
    }

    /// An error names the state directory where somebody else may answer, because the run has
    /// ended.
    fn answer_once(
        &mut self,
        request: &Request,
    ) -> Result<Answer, (Option<StateDirectory>, Failure)> {
        match self {
            Source::Live(client, _, directory) => client.ask(request.clone()).map_err(|error| {
                let has_ended = matches!(error, ClientError::Closed | ClientError::Io { .. });
                (
                    has_ended.then(|| directory.clone()),
                    Failure::because(&error),
                )
            }),
            Source::Grid(client) => client
                .ask(request.clone())
                .map_err(|error| (None, Failure::because(&error))),
            Source::Offline(offline) => Ok(offline.answer(request)),
            Source::Nothing => Ok(match request {
                Request::Status(process)
                | Request::Submission(process)
                | Request::Forget(process)
                | Request::Why { process, .. }
                | Request::Published { process, .. }
                | Request::WhyProcess(process) => Answer::Unknown(*process),
                Request::Log { process, .. } => Answer::Unknown(*process),
                Request::Tail(attempt) => Answer::Unknown(attempt.process),
                Request::Activities(wanted) => Answer::Unknown(wanted.process),
                Request::Values(wanted) => Answer::Unknown(wanted.process),
                Request::Processes(_) => Answer::ProcessesPage(Box::default()),
                Request::Machines => Answer::Machines(Vec::new()),
                Request::History { .. } => Answer::History(Box::default()),
                Request::ForgetHistory(_) => Answer::HistoryForgotten(0),
                Request::Foresee(submit) => {
                    process_daemon::foresee_first((**submit).clone(), Vec::new(), &mut |_| true)
                }
                Request::List | Request::Submit(_) | Request::Cancel(_) | Request::Watch(_) => {
                    Answer::Processes(Vec::new())
                }
            }),
        }
    }
}

fn read(directory: &StateDirectory) -> Result<Source, Failure> {
    let manager = directory.path().join("pm");
    if !manager.is_dir() {
        return Ok(Source::Nothing);
    }
    match Offline::open(&manager) {
        Ok(offline) => {
            let is_listed = summary_file::read(directory.path()).is_some();
            if !is_listed {
                // The next one that lists it need not read the journal. One that may not write must.
                let processes = offline.list();
                due::note(&processes);
                let _ = summary_file::write(directory.path(), processes);
            }
            Ok(Source::Offline(Box::new(offline)))
        }
        Err(error) if is_missing(&error) => Ok(Source::Nothing),
        Err(error) => Err(Failure::because(&error)),
    }
}

/// True if a run was killed before it had made its journal.
fn is_missing(error: &OfflineError) -> bool {
    let cause = error
        .source()
        .and_then(|cause| cause.downcast_ref::<StoreError>());
    matches!(cause, Some(StoreError::Open(OpenError::Missing { .. })))
}

/// The definition in an answer, with what its for-each controllers have become.
pub(crate) fn definition_in(answer: Answer) -> Result<Definition, Failure> {
    let Answer::Submission(submit, expansions) = answer else {
        return Err(unfit(&answer));
    };
    let draft = submit.draft;
    let mut definition = match understood(draft.clone()) {
        Ok(definition) => definition,
        Err(failure) => return outline(draft).map_err(|_| failure),
    };
    for expansion in &expansions {
        definition.expand(expansion);
    }
    Ok(definition)
}

/// A definition that was checked when it was submitted.
pub(crate) fn understood(draft: Draft) -> Result<Definition, Failure> {
    draft.recorded().map_err(|problems| {
        let first = problems
            .first()
            .map(ToString::to_string)
            .unwrap_or_default();
        Failure::new(format!(
            "could not understand the recorded definition: {first}"
        ))
    })
}

/// Refuses a command for a process that is held.
pub(crate) fn refuse_held(summary: &Summary) -> Result<(), Failure> {
    let Some(held) = &summary.held else {
        return Ok(());
    };
    let (name, process, id) = (&summary.name, summary.process, short(summary.process));
    let failure = Failure::refused(format!("{name} {process} is held, {held}"));
    Err(failure.help(format!(
        "xav status {id} shows what is known of it; for the rest, use the version that accepted it"
    )))
}

/// The name and outputs of a definition that is not understood. Its outputs can still be shown.
fn outline(draft: Draft) -> Result<Definition, Failure> {
    let unknown = || OutputSource::Expression(Expression(String::new()));
    let outputs = draft.outputs.into_iter().map(|output| Output {
        source: unknown(),
        ..output
    });
    let nothing = Node {
        name: String::new(),
        kind: NodeKind::Empty,
        join: Join::All,
    };
    understood(Draft {
        outputs: outputs.collect(),
        nodes: vec![nothing],
        ..draft
    })
}

/// An answer that does not fit its question.
pub(crate) fn unfit(answer: &Answer) -> Failure {
    if let Answer::Unknown(process) = answer {
        Failure::refused(format!("there is no process {process}"))
            .help("xav list shows all processes")
    } else if let Answer::Refused(reasons) = answer {
        Failure::refused(reasons.join("; "))
    } else if let Answer::NoRoom(reason) = answer {
        Failure::refused(reason)
    } else {
        Failure::new("could not use the manager's answer: it does not fit the question")
    }
}
