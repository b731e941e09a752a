//! The frame of a daemon's program: arguments, configuration, log, links, signals, shutdown.

use std::error::Error;
use std::ffi::OsString;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use journal::durable;
use model::{Mono, Role, Span};

use crate::clock;
use crate::config::{Config, ConfigError};
use crate::identity::Credentials;
use crate::inbox::Pulse;
use crate::metrics::{Board, Figures};
use crate::quic::{Event, Link, LinkConfig, LinkEpoch, Links, LinksError, RequestHandler};
use crate::refusal_log::{RefusalLine, RefusalLog};
use crate::runner::{RunError, Stats};
use crate::shutdown::{Signal, Signals};
use crate::supervision::Supervision;
use crate::telemetry::{LogForm, log_as};

mod figures;
mod joining;

pub use joining::{Joining, Kind, Setting, contact, grid_file, place};

/// Interval at which a daemon polls what is not reported to it.
const TICK: Duration = Duration::from_millis(200);

/// Interval at which metrics are made: short against that of a scraper, and rare enough to cost nothing.
const SHOW_PERIOD: Span = Span::from_secs(1);

/// The exit status for wrong arguments.
const REFUSED: u8 = 2;

/// The program around a manager.
pub trait Service: Sized {
    /// The program's name.
    const NAME: &'static str;
    /// A one-line description.
    const ABOUT: &'static str;
    /// Settings for joining a group with a token, if it can.
    const JOINS: Option<Joining>;
    /// Usage of further subcommands, a line or two; empty if there are none.
    const USAGE: &'static str = "";
    /// The settings beside [`DaemonConfig`].
    type Settings;

    /// Runs a further subcommand and returns its output; none if the arguments are no such
    /// subcommand.
    fn command(_: &[OsString]) -> Option<Result<String, Box<dyn Error>>> {
        None
    }
    /// Reads all keys of its configuration.
    fn ask(config: &mut Config<'_>) -> Self::Settings;
    /// Checks that such a daemon can run here. Called before it joins a group, and at its start.
    fn approve(_: &Self::Settings) -> Result<(), Box<dyn Error>> {
        Ok(())
    }
    /// Starts the manager and its links.
    fn start(
        place: &DaemonConfig,
        settings: Self::Settings,
        failed: Failed,
    ) -> Result<Self, Box<dyn Error>>;
    /// The links of the manager.
    fn links(&self) -> &Links;
    /// Uses a new certificate of the same holder and the new revocations for all connections.
    fn renew(&self, credentials: &Credentials) -> Result<(), LinksError> {
        self.links().renew(credentials)
    }
    /// Statistics of the manager's loop.
    fn stats(&self) -> Stats;
    /// The pulse of the manager's loop now.
    fn pulse(&self) -> Pulse;
    /// Adds metrics beside those of every daemon. Called once a second, where somebody may read them.
    fn figures(&self, _: &mut Figures) {}
    /// Called a few times a second.
    fn tick(&mut self) {}
    /// Returns true if the certificate or the revocations must be read again. Called after each
    /// tick.
    fn wants_reload(&mut self) -> bool {
        false
    }
    /// Stops the manager: it takes no more work, and its decisions are durable.
    fn stop(self) -> Result<(), RunError>;
}

/// Called when a manager ends by an error.
pub type Failed = Box<dyn FnOnce(&RunError) + Send>;

/// Settings that every daemon has.
#[derive(Clone, Debug)]
pub struct DaemonConfig {
    /// The directory of its state, created if missing.
    pub directory: PathBuf,
    /// The directory of its certificate, its key and the authority's certificate.
    pub identity: PathBuf,
    /// The address on which it listens.
    pub listen: SocketAddr,
    /// The form of its log, if set.
    pub form: Option<LogForm>,
    /// The address for its metrics, on the loopback interface.
    pub metrics: Option<SocketAddr>,
}

impl DaemonConfig {
    fn ask(config: &mut Config<'_>) -> DaemonConfig {
        DaemonConfig {
            directory: config.path("directory"),
            identity: config.path("identity"),
            listen: config.address("listen"),
            form: config.optional("log", "\"text\" or \"json\"", LogForm::named),
            metrics: config.optional(
                "metrics",
                "an address of this machine alone, such as \"127.0.0.1:9100\"",
                |text| {
                    let address: SocketAddr = text.parse().ok()?;
                    address.ip().is_loopback().then_some(address)
                },
            ),
        }
    }

    /// Reads the daemon's credentials, which must be of this role.
    pub fn credentials(&self, role: Role) -> Result<Credentials, Box<dyn Error>> {
        let credentials = Credentials::load(&self.identity)?;
        let found = credentials.identity();
        if found.role() != role {
            let path = self.identity.display();
            return Err(format!("the certificate in {path} is of {found}, not of a {role}").into());
        }
        Ok(credentials)
    }

    /// Path of the daemon's log.
    pub fn log(&self) -> PathBuf {
        self.directory.join("log")
    }

    /// Raises the epoch and opens links that accept peers of these roles. Call it once.
    pub fn links(
        &self,
        credentials: Credentials,
        accepts: &[Role],
        on_link: impl Fn(Link) + Send + Sync + 'static,
    ) -> Result<Links, Box<dyn Error>> {
        self.links_with(credentials, accepts, None, on_link)
    }

    /// [`DaemonConfig::links`] with a handler of requests.
    pub fn links_with(
        &self,
        credentials: Credentials,
        accepts: &[Role],
        requests: Option<Box<dyn RequestHandler>>,
        on_link: impl Fn(Link) + Send + Sync + 'static,
    ) -> Result<Links, Box<dyn Error>> {
        let config = LinkConfig {
            address: self.listen,
            credentials,
            epoch: LinkEpoch::begin(&self.directory)?,
            resource: None,
            accepts: accepts.to_vec(),
            requests,
        };
        Ok(Links::bind(config, to_log(on_link))?)
    }
}

/// Passes links on and logs all other events. Links of users come and go with every command;
/// refused peers may be many, and get one line a minute and source.
pub fn to_log(on_link: impl Fn(Link) + Send + Sync + 'static) -> impl Fn(Event) + Send + Sync {
    let turned_away = RefusalLog::default();
    move |event| match event {
        Event::Up(link) => {
            let (peer, epoch) = (&link.peer, link.hello.epoch);
            if peer.role().is_manager() {
                tracing::info!(%peer, %epoch, "a link is up");
            } else {
                tracing::debug!(%peer, %epoch, "a link is up");
            }
            on_link(link);
        }
        Event::Down { peer, error } if peer.role().is_manager() => {
            tracing::info!(%peer, %error, "a link is down");
        }
        Event::Down { peer, error } => tracing::debug!(%peer, %error, "a link is down"),
        Event::Failed { address, error } => tracing::warn!(address, %error, "no link"),
        Event::TurnedAway { address, error } => {
            let source = address.ip().to_canonical().to_string();
            if let Some(RefusalLine { source, n_more }) = turned_away.note(&source, clock::mono()) {
                tracing::warn!(source, %error, n_more, "a connection was turned away");
            }
        }
    }
}

/// Runs the command line: `--config FILE` runs the daemon until a signal, `config check FILE`
/// reports the mistakes of a configuration, `join TOKEN` creates one.
pub fn main<S: Service>(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let given: Vec<OsString> = arguments.into_iter().skip(1).collect();
    let words: Vec<Option<&str>> = given.iter().map(|word| word.to_str()).collect();
    let done = match &words[..] {
        [Some("--config"), _] => run::<S>(Path::new(&given[1])),
        [Some("config"), Some("check"), _] => check::<S>(Path::new(&given[2])),
        [Some("join"), Some(token), ..] => match &S::JOINS {
            Some(joins) => joining::token_text(token)
                .and_then(|token| joining::join::<S>(joins, &token, &given[2..]))
                .and_then(|joined| {
                    say(&joined.told);
                    if joined.runs {
                        return run::<S>(&joined.config);
                    }
                    Ok(())
                }),
            None => {
                complain(&usage::<S>());
                return ExitCode::from(REFUSED);
            }
        },
        [Some("--version")] => {
            say(&format!("{} {}", S::NAME, env!("CARGO_PKG_VERSION")));
            Ok(())
        }
        [Some("--help")] => {
            say(&usage::<S>());
            Ok(())
        }
        _ => match S::command(&given) {
            Some(done) => done.map(|told| say(&told)),
            None => {
                complain(&usage::<S>());
                return ExitCode::from(REFUSED);
            }
        },
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("error: {}", chain(&*error)));
            ExitCode::FAILURE
        }
    }
}

fn usage<S: Service>() -> String {
    let (name, about) = (S::NAME, S::ABOUT);
    format!(
        "{about}\n\nUsage: {name} --config FILE        run until TERM or INT; HUP reads certificates again\n       \
         {name} config check FILE    tell all mistakes of a configuration\n       \
         {name} --version{}{}",
        S::JOINS.map_or_else(String::new, |joins| joins.usage(name)),
        S::USAGE
    )
}

/// Reads a configuration of a kind of daemon only for its mistakes.
pub fn mistakes<S: Service>(path: &Path) -> Result<(), ConfigError> {
    Config::read(path, |config| {
        DaemonConfig::ask(config);
        S::ask(config);
    })
}

fn check<S: Service>(path: &Path) -> Result<(), Box<dyn Error>> {
    mistakes::<S>(path)?;
    say(&format!("{}: no mistakes", path.display()));
    Ok(())
}

/// Reads the configuration of a daemon.
pub fn settings<S: Service>(path: &Path) -> Result<(DaemonConfig, S::Settings), ConfigError> {
    Config::read(path, |config| (DaemonConfig::ask(config), S::ask(config)))
}

fn run<S: Service>(path: &Path) -> Result<(), Box<dyn Error>> {
    let (place, settings) = settings::<S>(path)?;
    durable::create_directory(&place.directory, 0o700)
        .map_err(|error| format!("could not create {}: {error}", place.directory.display()))?;
    log_as(&place.log(), place.form)?;
    let signals = Signals::take()?;
    let trouble: Arc<Mutex<Option<RunError>>> = Arc::default();
    let told = Arc::clone(&trouble);
    let failed: Failed = Box::new(move |error| {
        *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
    });
    let mut service = S::start(&place, settings, failed)?;
    say(&format!(
        "{} listens on {}",
        S::NAME,
        service.links().address()
    ));
    let board = place.metrics.map(Board::open).transpose();
    let board = board.map_err(|error| format!("could not show figures: {error}"))?;
    let mut shown: Option<Mono> = None;
    let mut supervision = Supervision::begin(&status(&service), clock::mono());
    loop {
        let signal = signals.next_within(TICK);
        match signal {
            Some(Signal::Interrupt | Signal::Terminate) => break,
            Some(Signal::HangUp) | None => service.tick(),
        }
        let now = clock::mono();
        supervision.look(service.pulse(), || status(&service), now);
        if let Some(board) = &board
            && shown.is_none_or(|shown| now.since(shown) >= SHOW_PERIOD)
        {
            shown = Some(now);
            board.show(figures::all(&service, &place.directory));
        }
        if service.wants_reload() || signal == Some(Signal::HangUp) {
            match reload(&service, &place) {
                Ok(()) => tracing::info!("certificates were read again"),
                Err(error) => {
                    let error = chain(&*error);
                    tracing::error!(error, "certificates are as before");
                }
            }
        }
        if trouble
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some()
        {
            break;
        }
    }
    tracing::info!("stopping");
    supervision.end();
    let stopped = service.stop();
    let trouble = trouble
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    match trouble {
        Some(error) => Err(error.into()),
        None => Ok(stopped?),
    }
}

/// The line that `systemctl status` shows of a daemon.
fn status<S: Service>(service: &S) -> String {
    let (links, version) = (service.links(), env!("CARGO_PKG_VERSION"));
    let n_links = links.counts().n_links;
    format!("{version} listens on {}, {n_links} links", links.address())
}

fn reload<S: Service>(service: &S, place: &DaemonConfig) -> Result<(), Box<dyn Error>> {
    let credentials = Credentials::load(&place.identity)?;
    Ok(service.renew(&credentials)?)
}

/// An error with its causes.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

/// The program that started this one may have closed the stream.
fn say(text: &str) {
    let _ = writeln!(io::stdout(), "{text}");
}

fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
