//! A grid of other machines: its directory, its process managers, and the processes that they have.
//!
//! ```text
//! DIR/grid.toml     who manages the grid, and where; or in DIR/client
//! DIR/identity      the user's certificate and key, and the authority of the grid
//! ```

mod answers;
mod choice;
mod files;
mod history;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::{Identity, ProcessId, Role, Span};
use shell::Client;
use shell::config::{Config, PeerAddress};
use shell::identity::Credentials;
use wire::client::{Answer, ProcessesWanted, Request, Summary};

use crate::ask::unfit;
use crate::failure::{Failure, chain, status};
use crate::text;
use crate::watch::Host;

use answers::Answers;

pub(crate) use choice::{Use, choose, chosen, directory, of_this_machine, only};
pub(crate) use files::Transfers;

/// The configuration file in a grid's directory.
const FILE: &str = "grid.toml";

/// Where a grid that was made on this machine keeps what is for its users.
const CLIENT: &str = "client";

/// The longest wait for a process manager after another one has answered.
const PATIENCE: Span = Span::from_secs(2);

/// The longest wait for the connection to a process manager after all that are connected have answered, where
/// somebody only looks.
///
/// A manager that is away says nothing, as one over a slow link does at first. A connection takes two or three
/// round trips and an answer one more: over a link on which all that takes a second, there is a connection by
/// this time, and then the answer is waited for as long as ever. Where the user's own link is the slow one, the
/// others answer late too, and this time begins with their answers.
const LAG: Span = Span::from_millis(500);

/// A grid, as one of its users knows it.
#[derive(Clone, Debug)]
pub(crate) struct Remote(Arc<Known>);

#[derive(Debug)]
struct Known {
    directory: PathBuf,
    credentials: Credentials,
    /// At least one.
    managers: Vec<PeerAddress>,
}

/// The content of `grid.toml`.
struct Settings {
    identity: PathBuf,
    managers: Vec<PeerAddress>,
}

impl Settings {
    fn ask(config: &mut Config<'_>) -> Settings {
        // Users have no business with it; whoever administers the grid reads the same file.
        config.peer("group-manager");
        Settings {
            identity: config.path("identity"),
            managers: config.peers("process-managers"),
        }
    }
}

impl Remote {
    /// Reads a grid's directory: the one of its users, or the whole of one that was made here.
    pub(crate) fn open(directory: &Path) -> Result<Remote, Failure> {
        let inner = directory.join(CLIENT);
        let directory = match directory.join(FILE).is_file() {
            true => directory.to_owned(),
            false => inner,
        };
        let directory = std::path::absolute(&directory).unwrap_or(directory);
        let settings = Config::read(&directory.join(FILE), Settings::ask)
            .map_err(|error| refused(&directory, &error))?;
        let credentials =
            Credentials::load(&settings.identity).map_err(|error| refused(&directory, &error))?;
        if credentials.identity().role().is_manager() {
            let shown = settings.identity.display();
            let whose = credentials.identity();
            return Err(Failure::refused(format!(
                "the certificate in {shown} is of {whose}, which is no user"
            )));
        }
        crate::grid_admin::warn_of_ending(&credentials, &directory);
        Ok(Remote(Arc::new(Known {
            directory,
            credentials,
            managers: settings.managers,
        })))
    }

    /// True if there is a grid's directory.
    pub(crate) fn is_at(directory: &Path) -> bool {
        directory.join(FILE).is_file() || directory.join(CLIENT).join(FILE).is_file()
    }

    /// The user's identity in the grid.
    pub(crate) fn identity(&self) -> &Identity {
        self.0.credentials.identity()
    }

    /// Its name for people: `lab (/grids/lab), as xav://grid/lab/user/ana`.
    pub(crate) fn shown(&self) -> String {
        let identity = self.identity();
        let (grid, directory) = (identity.grid(), self.directory().display());
        format!("{grid} ({directory}), as {identity}")
    }

    /// Where it is described.
    pub(crate) fn directory(&self) -> &Path {
        &self.0.directory
    }

    /// Its process managers, each as the home of processes.
    pub(crate) fn homes(&self) -> impl Iterator<Item = Home> {
        let homes = 0..self.0.managers.len();
        homes.map(|manager| Home {
            remote: self.clone(),
            manager,
        })
    }

    /// All processes of the user that its process managers have, and which of them do not answer.
    pub(crate) fn list(&self) -> (Vec<(Home, Summary)>, Vec<Failure>) {
        in_order(self.lists(Answers::to(PATIENCE)))
    }

    /// The same, with less patience for those that cannot be reached.
    pub(crate) fn list_soon(&self) -> (Vec<(Home, Summary)>, Vec<Failure>) {
        in_order(self.lists(Answers::soon(PATIENCE, LAG)))
    }

    /// The process manager that has a process, as soon as it has said so; or which of them did not
    /// answer.
    pub(crate) fn home_of(&self, process: ProcessId) -> Result<Home, Vec<Failure>> {
        let mut failures = Vec::new();
        for (home, answer) in self.lists(Answers::to(PATIENCE)) {
            match answer {
                Ok(known) if known.iter().any(|one| one.process == process) => return Ok(home),
                Ok(_) => {}
                Err(failure) => failures.push(failure),
            }
        }
        Err(failures)
    }

    /// Has all process managers list processes at the same time.
    fn lists(&self, mut answers: Answers<Vec<Summary>>) -> Answers<Vec<Summary>> {
        for home in self.homes() {
            answers.reach_and_ask(home, Home::client, list);
        }
        answers
    }

    /// A process manager that answers, with a client of it: the first one, unless that is not heard
    /// of while another one is.
    pub(crate) fn first(&self) -> Result<(Home, Client), Failure> {
        self.first_of(self.homes().collect())
    }

    /// The same of some of them, of which there is one.
    pub(crate) fn first_of(&self, homes: Vec<Home>) -> Result<(Home, Client), Failure> {
        let mut answers = Answers::to(PATIENCE);
        let mut failures = Vec::new();
        for home in homes {
            answers.ask(home, Home::client);
            // Each has some time for itself before the next one is asked too.
            if let Some(found) = answers.first_within(PATIENCE, &mut failures) {
                return Ok(found);
            }
        }
        let found = answers.first_within(Span(u64::MAX), &mut failures);
        found.ok_or_else(|| several(failures))
    }
}

/// All processes in the order of the process managers, and which of these do not answer.
fn in_order(answers: Answers<Vec<Summary>>) -> (Vec<(Home, Summary)>, Vec<Failure>) {
    let mut answers: Vec<(Home, Result<Vec<Summary>, Failure>)> = answers.collect();
    answers.sort_by_key(|(home, _)| home.manager);
    let (mut all, mut failures) = (Vec::new(), Vec::new());
    for (home, answer) in answers {
        match answer {
            Ok(processes) => all.extend(processes.into_iter().map(|one| (home.clone(), one))),
            Err(failure) => failures.push(failure),
        }
    }
    (all, failures)
}

/// The failure when no process manager answers.
pub(crate) fn several(mut failures: Vec<Failure>) -> Failure {
    let first = failures.remove(0);
    match failures.is_empty() {
        true => first,
        false => {
            let others: Vec<String> = failures.into_iter().map(|other| other.message).collect();
            first.help(others.join("\n  "))
        }
    }
}

fn refused(directory: &Path, error: &dyn std::error::Error) -> Failure {
    Failure {
        status: status::REFUSED,
        ..Failure::new(format!(
            "could not use the grid in {}: {}",
            directory.display(),
            chain(error)
        ))
    }
}

/// A process manager that has processes.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    remote: Remote,
    /// Its position among the grid's process managers.
    manager: usize,
}

impl Home {
    /// Its grid.
    pub(crate) fn remote(&self) -> &Remote {
        &self.remote
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.peer().name
    }

    /// The failure after it was silent for so long.
    fn silent(&self, patience: Span) -> Failure {
        let PeerAddress { name, address } = self.peer();
        let patience = text::span(patience);
        Failure::new(format!(
            "could not reach pm {name} at {address} within {patience}"
        ))
    }

    /// Its name for people: `pm1 of the grid in grids/lab`.
    pub(crate) fn shown(&self) -> String {
        let (name, directory) = (self.name(), self.remote.directory().display());
        format!("{name} of the grid in {directory}")
    }

    fn peer(&self) -> &PeerAddress {
        &self.remote.0.managers[self.manager]
    }
}

/// The user's processes at a process manager, the newest first, asked for page by page.
fn list(mut client: Client) -> Result<Vec<Summary>, Failure> {
    let mut wanted = ProcessesWanted {
        limit: u32::MAX,
        ..ProcessesWanted::default()
    };
    let mut all = Vec::new();
    loop {
        let answer = client.ask(Request::Processes(Box::new(wanted.clone())));
        let answer = answer.map_err(|error| Failure::because(&error))?;
        let Answer::ProcessesPage(page) = answer else {
            return Err(unfit(&answer));
        };
        all.extend(page.processes);
        let last = all.last().filter(|_| page.has_more);
        let Some(last) = last else {
            return Ok(all);
        };
        wanted.after = Some((last.submitted, last.process));
    }
}

impl Host for Home {
    fn client(&self) -> Result<Client, Failure> {
        let credentials = &self.remote.0.credentials;
        let peer = self.peer();
        let identity = peer.identity(credentials.identity(), Role::Pm);
        let client = Client::dial(credentials, &peer.address, &identity);
        client.map_err(|error| Failure::because(&error))
    }
}

#[cfg(test)]
mod tests;
