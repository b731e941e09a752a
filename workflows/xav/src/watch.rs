//! A process that is watched from its start, or from wherever it is, to its end or to a signal; and
//! `xav watch`.

use model::{Definition, OnFault, ProcessId, Span};
use serde_json::json;
use shell::quic::LinkError;
use shell::{Client, ClientError, Signal, Signals};
use wire::client::{Answer, Phase, Request, Status};
use wire::hello::Refusal;

use crate::arguments::Watch;
use crate::ask::{self, Source, unfit};
use crate::failure::{Failure, Outcome, status};
use crate::home::{self, Located};
use crate::location::Location;
use crate::progress::Display;
use crate::standstill::{Seen, Standstills};
use crate::state::User;
use crate::{fault, follow, json, render, screen, text};

/// The longest wait for progress before signals are checked.
const LOOK: Span = Span::from_millis(50);

/// A program whose processes can be watched.
pub(crate) trait Host {
    /// A client of the process manager.
    fn client(&self) -> Result<Client, Failure>;

    /// Why it cannot go on; none while it can.
    fn breakdown(&self) -> Option<Failure> {
        None
    }

    /// The machines that stand still for ever, where this program passes for some; none if it does not.
    fn standstills(&self) -> Option<&Standstills> {
        None
    }
}

impl User {
    /// A client of this run, which tells its user if it has to wait for a place.
    pub(crate) fn connect(&self) -> Result<Client, ClientError> {
        let client = Client::connect(&self.socket)?;
        Ok(client.when_waiting(|n_waiting| {
            screen::tell(&format!(
                "waiting for a place: the run has as many connections as it may have, and {n_waiting} wait\n"
            ));
        }))
    }
}

/// A run of another program.
impl Host for User {
    fn client(&self) -> Result<Client, Failure> {
        self.connect().map_err(|error| Failure::because(&error))
    }
}

/// A process that is watched.
pub(crate) struct Watched<'a> {
    /// The program that has it.
    pub(crate) host: &'a dyn Host,
    /// Which.
    pub(crate) process: ProcessId,
    /// Its definition.
    pub(crate) definition: &'a Definition,
    /// The definition's file.
    pub(crate) origin: &'a str,
    /// The options that advices repeat.
    pub(crate) options: Option<&'a str>,
}

/// The end of watching.
pub(crate) enum End {
    /// With the process.
    Process(Box<Ended>),
    /// With a signal.
    Signal(Signal),
}

/// A process that has ended.
pub(crate) struct Ended {
    /// What is recorded of it.
    pub(crate) status: Status,
    /// Its definition, with the bodies of all items.
    pub(crate) definition: Definition,
}

impl Watched<'_> {
    /// Shows how far it is until it has ended or a signal comes. The second answer is whether the
    /// faults have been shown.
    pub(crate) fn follow(
        &self,
        client: &mut Client,
        signals: &Signals,
        display: &mut Display,
        quietly: bool,
    ) -> Result<(End, bool), Failure> {
        let mut watch = self.begin(client)?;
        let mut told_faults = false;
        let mut is_lost = false;
        let mut seen = Seen::from(shell::clock::mono());
        while !watch.has_ended() {
            if let Some(signal) = signals.next_now() {
                return Ok((End::Signal(signal), told_faults));
            }
            if let Some(breakdown) = self.host.breakdown() {
                return Err(breakdown);
            }
            if let Some(standstills) = self.host.standstills()
                && standstills.ask_for_a_look(&mut seen, shell::clock::mono())
            {
                let of = (self.status(client)?, self.grown(client)?);
                watch = self.begin(client)?;
                let now = (shell::clock::mono(), shell::clock::wall());
                if let Some(verdict) = standstills.verdict((&of.0, &of.1), now) {
                    return Err(verdict);
                }
            }
            let now = shell::clock::wall();
            match watch.next_within(LOOK) {
                Ok(Some(progress)) => {
                    seen.note(&progress, shell::clock::mono());
                    if std::mem::take(&mut is_lost) && !quietly {
                        display.tell("the process manager can be reached again\n");
                    }
                    if progress.phase == Phase::Faulting && !told_faults && !quietly {
                        // A connection of its own could wait for a place until others have ended.
                        let status = self.status(client)?;
                        let definition = self.grown(client)?;
                        watch = self.begin(client)?;
                        display.tell(&self.faults(&status, &definition));
                        display.tell(&self.ending(&status));
                        told_faults = !status.faults.is_empty();
                    }
                    display.update(progress, self.definition, shell::clock::wall());
                }
                Ok(None) => {
                    if let (Some(error), false) = (watch.trouble(), is_lost) {
                        is_lost = true;
                        if !quietly {
                            display.tell(&lost(&error));
                        }
                    }
                    display.tick(self.definition, now);
                }
                Err(ClientError::UnknownProcess(process)) => {
                    return Err(Failure::refused(format!("there is no process {process}")));
                }
                Err(error) => return Err(Failure::because(&error)),
            }
        }
        let ended = Ended {
            status: self.status(client)?,
            definition: self.grown(client)?,
        };
        Ok((End::Process(Box::new(ended)), told_faults))
    }

    /// The definition as it is now.
    fn grown(&self, client: &mut Client) -> Result<Definition, Failure> {
        if !self.definition.may_grow() {
            return Ok(self.definition.clone());
        }
        let answer = client.ask(Request::Submission(self.process));
        ask::definition_in(answer.map_err(|error| Failure::because(&error))?)
    }

    fn begin<'c>(&self, client: &'c mut Client) -> Result<shell::Watch<'c>, Failure> {
        let begun = client.watch(self.process);
        begun.map_err(|error| Failure::because(&error))
    }

    fn status(&self, client: &mut Client) -> Result<Status, Failure> {
        let answer = client
            .ask(Request::Status(self.process))
            .map_err(|error| Failure::because(&error))?;
        if let Answer::Status(status) = answer {
            Ok(*status)
        } else {
            Err(unfit(&answer))
        }
    }

    /// Its faults, for people.
    pub(crate) fn faults(&self, status: &Status, definition: &Definition) -> String {
        let context = fault::Context {
            process: self.process,
            definition,
            origin: self.origin,
            options: self.options,
        };
        fault::all(&status.faults, &context)
    }

    /// The fate of commands that run still though their process has faulted, for people.
    fn ending(&self, status: &Status) -> String {
        let n_running = status.summary.totals.running;
        match status.on_fault {
            OnFault::Finish if n_running > 0 => format!(
                "nothing more starts; what runs ({}) goes on to its end: {} stops it\n",
                text::count(u64::from(n_running), "activity", "activities"),
                self.command("cancel")
            ),
            OnFault::Finish | OnFault::Stop | OnFault::Continue => String::new(),
        }
    }

    /// The command that does something with it: `xav watch 0c4r12 --grid lab`.
    pub(crate) fn command(&self, word: &str) -> String {
        let options = self.options.map(|options| format!(" {options}"));
        let id = fault::short(self.process);
        format!("xav {word} {id}{}", options.unwrap_or_default())
    }
}

/// `xav watch`
pub(crate) fn watch(arguments: &Watch) -> Outcome {
    let Located { location, process } = home::find(&arguments.which)?;
    let mut source = Source::open(&location)?;
    let (before, definition) = source.known(process)?;
    let user;
    let host: &dyn Host = match (&location, source) {
        (Location::Grid(home), _) => home,
        (Location::Here(_), Source::Live(_, found, _)) => {
            user = found;
            &user
        }
        (Location::Here(_), _) if before.summary.phase.has_ended() => {
            return ended(&before, &definition, &location, arguments);
        }
        (Location::Here(_), _) => {
            let id = fault::short(process);
            return Err(Failure::new(format!(
                "nothing runs {} {process} at the moment",
                before.summary.name
            ))
            .help(format!("go on with it: xav resume {id}")));
        }
    };
    let signals = follow::signals()?;
    let options = arguments.which.state.options();
    let watched = Watched {
        host,
        process,
        definition: &definition,
        origin: &before.summary.origin,
        options: options.as_deref(),
    };
    let mut display = Display::begin(&definition, process, arguments.json);
    let mut client = host.client()?;
    let followed = watched.follow(&mut client, &signals, &mut display, arguments.json);
    display.end();
    match followed? {
        (End::Process(last), told_faults) => {
            let Ended { status, definition } = &*last;
            if !told_faults && !arguments.json {
                screen::tell(&watched.faults(status, definition));
            }
            ended(status, definition, &location, arguments)
        }
        (End::Signal(signal), _) => Ok(left(&watched, signal)),
    }
}

/// What is told when there are no reports.
fn lost(error: &LinkError) -> String {
    if let LinkError::RefusedByPeer(Refusal::Full) = error {
        return "waiting for a place: the process manager has as many connections as it may have\n"
            .to_owned();
    }
    format!("the process manager cannot be reached ({error}): trying again\n")
}

fn ended(
    status: &Status,
    definition: &Definition,
    location: &Location,
    arguments: &Watch,
) -> Outcome {
    if arguments.json {
        let mut document = json::status(status, definition, location);
        document["is_live"] = json!(true);
        screen::json(&document)?;
    } else {
        screen::out(&render::ending(status, None))?;
    }
    Ok(exit_status(status))
}

/// Whoever watches has had enough; the process has not.
pub(crate) fn left(watched: &Watched<'_>, signal: Signal) -> u8 {
    let name = watched.definition.name();
    let (watch, cancel) = (watched.command("watch"), watched.command("cancel"));
    screen::tell(&format!(
        "{name} goes on; watch it again: {watch}; stop it: {cancel}\n"
    ));
    match signal {
        Signal::Interrupt => status::INTERRUPTED,
        Signal::Terminate | Signal::HangUp => status::TERMINATED,
    }
}

/// The exit status for a process's end.
pub(crate) fn exit_status(status: &Status) -> u8 {
    match status.summary.phase {
        Phase::Completed => 0,
        Phase::Running
        | Phase::Faulting
        | Phase::Cancelling
        | Phase::Faulted
        | Phase::Cancelled => status::FAULTED,
    }
}
