//! The program around an activity manager: it dials its group manager and, once it has a number,
//! the process managers.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use activity_executor::{Account, AccountError, Accounts, ContainmentChoice};
use model::{Bytes, Identity, Role, Span};
use shell::clock;
use shell::config::{Config, PeerAddress, TextOrTexts};
use shell::identity::Credentials;
use shell::membership::{Membership, Said};
use shell::metrics::Figures;
use shell::program::{self, DaemonConfig, Failed, Joining, Kind, Setting};
use shell::quic::{Kept, Links, LinksError};
use shell::{Numbers, Pulse, Room, RunError, Stats, limits};
use wire::admin::Load;
use wire::hello::Refusal;

use crate::ceilings::{Ceilings, Hours, minute_of_day};
use crate::commands::CommandSettings;
use crate::daemon::{RESERVE, journal_directory};
use crate::eviction::Evictor;
use crate::files::Files;
use crate::gauge::{Gauge, cores};
use crate::others::OthersForecast;
use crate::power::PowerMeter;
use crate::{Commands, Handle, MachineProfile, Retention};
use crate::{isolation, labels, traversal};

/// The file with the numbers of process managers, in the manager's directory.
const NUMBERS: &str = "process-managers";

/// Default GiB of retained logs.
const LOG_GIBIBYTES: u32 = 16;
/// The largest configurable GiB of logs: a PiB.
const LOG_GIBIBYTES_MAX: u32 = 1 << 20;

/// The largest configurable MiB of a stream of an attempt: a TiB.
const STREAM_MEBIBYTES_MAX: u32 = 1 << 20;

fn retention(keep: Option<Span>, log_gibibytes: Option<u32>) -> Retention {
    Retention {
        keep: keep.unwrap_or(limits::KEPT),
        log_bytes_max: u64::from(log_gibibytes.unwrap_or(LOG_GIBIBYTES)) << 30,
    }
}

/// Time at the end for process managers to take back attempts that have not started: a way to the
/// group manager, to process managers and back takes milliseconds, and those that cannot be reached
/// have their leases.
const LEAVE_PATIENCE: Duration = Duration::from_secs(2);

/// The largest configurable number of slots: more concurrent commands than any machine runs.
const SLOTS_MAX: u32 = 4_096;

/// The forms of `accounts`.
const ACCOUNTS: &str = "a range such as \"xav-1..xav-8\" or \"70000..70007\", or a table of users' and \
                        accounts' names in quotes";

/// An activity manager with its links. The program `xavantes-am` is also the executor beside it.
pub struct Service {
    manager: Arc<Handle>,
    links: Links,
    membership: Membership,
    evictor: Evictor,
    kept: Vec<Kept>,
    me: Identity,
    /// Process managers that the configuration names.
    named: Vec<PeerAddress>,
    /// Dialled process managers: names and addresses.
    dialled: BTreeSet<(String, String)>,
    /// The numbers of process managers on this machine: the executor uses them too.
    numbers: Arc<Mutex<Numbers>>,
    /// The load of the machine at the last look.
    load: Arc<Mutex<Load>>,
    /// Ends the program by an error, once.
    failed: Arc<Mutex<Option<Failed>>>,
}

/// The settings of the configuration.
pub struct Settings {
    group_manager: PeerAddress,
    process_managers: Vec<PeerAddress>,
    slots: Option<u32>,
    memory: Option<Bytes>,
    power: Option<f64>,
    labels: BTreeMap<String, String>,
    ceilings: Ceilings,
    files: Files,
    retention: Retention,
    /// MiB of each stream of an attempt.
    stream_mebibytes: Option<u32>,
    account: Option<String>,
    /// The accounts of users' commands by name, or those of attempts as a range.
    accounts: Option<TextOrTexts>,
    is_shared: bool,
    containment: ContainmentChoice,
    commands: CommandSettings,
}

impl Settings {
    /// The group manager that it dials.
    pub fn group_manager(&self) -> &PeerAddress {
        &self.group_manager
    }

    /// The accounts of commands. Commands run as root only if that is explicitly accepted.
    fn accounts(&self) -> Result<Accounts, Box<dyn Error>> {
        let is_root = rustix::process::geteuid().is_root();
        let name = match (&self.account, &self.accounts) {
            (Some(name), _) => Some(name),
            (None, Some(TextOrTexts::Text(range))) => Some(range),
            (None, Some(TextOrTexts::Texts(users))) => users.values().next(),
            (None, None) => None,
        };
        match (name, &self.accounts) {
            (Some(_), _) if self.is_shared => {
                Err("accounts and shared are both given: commands run as \
                 accounts, or as the manager does"
                    .into())
            }
            (Some(name), _) if !is_root => Err(format!(
                "commands cannot run as {name:?}: only root can become another account"
            )
            .into()),
            (None, _) if is_root && !self.is_shared => Err(
                "commands would run as root: say as whom with account = \"NAME\", accounts = \
                 { USER = \"NAME\" } or accounts = \"70000..70007\", or accept it with shared = true"
                    .into(),
            ),
            (Some(_), Some(TextOrTexts::Text(_))) if self.account.is_some() => {
                Err("account and a range of accounts are both given: with a range, all \
                     commands run as its accounts"
                    .into())
            }
            (Some(_), Some(TextOrTexts::Text(range))) => {
                Ok(isolation::accounts_of_slots(range, self.n_slots())?)
            }
            (_, users) => {
                let others = self.account.as_deref().map(Account::named).transpose()?;
                let named = |(user, name): (&String, &String)| {
                    Ok((user.clone(), Account::named(name)?))
                };
                let of_users = match users {
                    Some(TextOrTexts::Texts(users)) => users.iter().map(named).collect(),
                    Some(TextOrTexts::Text(_)) | None => Ok(BTreeMap::new()),
                };
                let of_users: Result<_, AccountError> = of_users;
                Ok(Accounts {
                    others,
                    of_users: of_users?,
                    ..Accounts::default()
                })
            }
        }
    }

    /// Slots that the machine lends at most.
    fn n_slots(&self) -> u32 {
        self.slots.unwrap_or_else(|| cores().min(SLOTS_MAX))
    }
}

impl program::Service for Service {
    const NAME: &'static str = "xavantes-am";
    const ABOUT: &'static str = "The manager of a machine's activities.";
    const JOINS: Option<Joining> = Some(Joining {
        role: Role::Am,
        file: "am.toml",
        port: 0,
        names_process_managers: true,
        settings: &[
            Setting {
                key: "slots",
                kind: Kind::Number,
            },
            Setting {
                key: "memory",
                kind: Kind::Text,
            },
            Setting {
                key: "hours",
                kind: Kind::Text,
            },
            Setting {
                key: "account",
                kind: Kind::Text,
            },
            Setting {
                key: "accounts",
                kind: Kind::Text,
            },
            Setting {
                key: "shared",
                kind: Kind::Flag,
            },
        ],
    });
    type Settings = Settings;

    fn ask(config: &mut Config<'_>) -> Settings {
        Settings {
            group_manager: config.peer("group-manager"),
            process_managers: config.optional_peers("process-managers"),
            slots: config.optional_number("slots", 0..=SLOTS_MAX),
            memory: config.optional_bytes("memory"),
            power: config.optional_fraction("power", 0.001..=1_000.0),
            labels: labels::ask(config),
            ceilings: Ceilings {
                load_max: config.optional_fraction("load-max", 0.0..=4_096.0),
                hours: config.optional("hours", "hours such as \"20:00-06:00\"", Hours::parse),
            },
            files: Files::ask(config),
            retention: retention(
                config.optional_span("keep"),
                config.optional_number("logs-gibibytes-max", 1..=LOG_GIBIBYTES_MAX),
            ),
            stream_mebibytes: config
                .optional_number("stream-mebibytes-max", 1..=STREAM_MEBIBYTES_MAX),
            account: config.optional_text("account"),
            accounts: config.optional_text_or_texts("accounts", ACCOUNTS),
            is_shared: config.optional_flag("shared").unwrap_or(false),
            commands: CommandSettings::ask(config),
            containment: config
                .optional(
                    "containment",
                    "\"best\" or \"process-tree\"",
                    ContainmentChoice::parse,
                )
                .unwrap_or_default(),
        }
    }

    fn approve(settings: &Settings) -> Result<(), Box<dyn Error>> {
        let accounts = settings.accounts()?;
        isolation::approve_inputs(settings.files.inputs, &accounts)?;
        settings.commands.approve()
    }

    fn start(
        place: &DaemonConfig,
        settings: Settings,
        failed: Failed,
    ) -> Result<Service, Box<dyn Error>> {
        let credentials = place.credentials(Role::Am)?;
        Self::approve(&settings)?;
        let accounts = settings.accounts()?;
        let me = credentials.identity().clone();
        let slots = settings.n_slots();
        let meter = match settings.power {
            Some(_) => None,
            None => Some(PowerMeter::of(&place.directory, clock::mono())),
        };
        let measured = meter.as_ref().map(PowerMeter::power);
        let power = settings.power.or(measured).unwrap_or(1.0);
        let gm = &settings.group_manager.address;
        let (blobs, transfers) = settings.files.start(place, &credentials, gm)?;
        let evictor = settings.files.evictor(&blobs, &place.directory)?;
        let failed = Arc::new(Mutex::new(Some(failed)));
        let of_loop = Arc::clone(&failed);
        let manager = Arc::new(crate::start(crate::Config {
            directory: place.directory.clone(),
            name: me.name().to_owned(),
            slots,
            executor: std::env::current_exe()?,
            linger: None,
            kill_grace: None,
            lease: Some(wire::lease::LENGTH),
            nice: settings.commands.nice,
            stream_bytes_max: settings
                .stream_mebibytes
                .map(|mebibytes| u64::from(mebibytes) << 20),
            profile: Some(MachineProfile {
                power,
                memory: settings.memory,
                labels: settings.labels,
                ..MachineProfile::default()
            }),
            accounts: accounts.clone(),
            containment: settings.containment,
            limits: settings.commands.limits(slots, cores()),
            blobs: Some(blobs),
            elsewhere: None,
            origins: None,
            environments: None,
            inputs: settings.files.inputs,
            quotas: Some(settings.files.quotas(&place.directory)?),
            retention: Some(settings.retention),
            transfers: Some(transfers),
            damaged: shell::Damaged::Refused,
            failed: Box::new(move |error| fail(&of_loop, error)),
        })?);
        for account in accounts.iter() {
            traversal::open(&place.directory, account)?;
        }
        manager.lend(slots, None);
        let numbers = Numbers::kept_in(&place.directory.join(NUMBERS))?;
        let numbers = Arc::new(Mutex::new(numbers));
        let links = place.links(credentials, &[], |_| {})?;
        let theirs = Arc::clone(&manager);
        let on_link = program::to_log(move |link| theirs.connect_group(link.open()));
        let group_manager = settings.group_manager;
        let gm = group_manager.identity(&me, Role::Gm);
        let group = links.keep(&group_manager.address, &gm, on_link);
        let line = links.request_client(&group_manager.address, &gm);
        let room = Room::of(&journal_directory(&place.directory), RESERVE);
        let mut watch = Watch {
            manager: Arc::clone(&manager),
            gauge: Gauge::of(&place.directory),
            others: OthersForecast::new(clock::mono()),
            meter,
            ceilings: settings.ceilings,
            slots,
            cores: cores(),
            is_closed: false,
            room,
            is_over: false,
            accounts: isolation::told(&accounts),
            load: Arc::default(),
        };
        let load = Arc::clone(&watch.load);
        let files = (&*place.identity, &*place.log());
        let membership = Membership::begin(me.name(), line, files, move || Said {
            load: Some(watch.look()),
            trouble: None,
        })?;
        Ok(Service {
            manager,
            links,
            membership,
            evictor,
            kept: vec![group],
            me,
            named: settings.process_managers,
            dialled: BTreeSet::new(),
            numbers,
            load,
            failed,
        })
    }

    fn links(&self) -> &Links {
        &self.links
    }

    fn renew(&self, credentials: &Credentials) -> Result<(), LinksError> {
        self.links.renew(credentials)?;
        let bulk = self.manager.bulk();
        bulk.map_or(Ok(()), |bulk| bulk.renew(credentials))
    }

    fn stats(&self) -> Stats {
        self.manager.stats()
    }

    fn pulse(&self) -> Pulse {
        self.manager.pulse()
    }

    fn figures(&self, figures: &mut Figures) {
        let load = self.load.lock().unwrap_or_else(PoisonError::into_inner);
        self.manager.figures(figures, &load);
    }

    fn tick(&mut self) {
        self.evictor.look(self.manager.counts());
        if self.manager.blobs().is_broken() {
            // The next start hashes again what may be lost. Commands go on meanwhile.
            let why = "the disk has refused or lost files of the blob store".to_owned();
            fail(&self.failed, &RunError::Panicked(why));
        }
        let told = self.membership.process_managers();
        let told = told.into_iter().map(|contact| PeerAddress {
            name: contact.name,
            address: contact.address,
        });
        // A process manager of the configuration is dialled at the address given there, and only
        // once.
        let is_named = |peer: &PeerAddress| self.named.iter().any(|named| named.name == peer.name);
        let others = told.filter(|peer| !is_named(peer));
        let is_dialled = |peer: &PeerAddress| {
            let pair = (peer.name.clone(), peer.address.clone());
            self.dialled.contains(&pair)
        };
        let all = self.named.iter().cloned().chain(others);
        let missing: Vec<PeerAddress> = all.filter(|peer| !is_dialled(peer)).collect();
        if missing.is_empty() {
            return;
        }
        let Some(number) = self.manager.number(Duration::ZERO) else {
            return;
        };
        self.links.set_resource(number);
        for peer in missing {
            let identity = peer.identity(&self.me, Role::Pm);
            let (manager, numbers) = (Arc::clone(&self.manager), Arc::clone(&self.numbers));
            let on_link = move |link: shell::quic::Link| {
                let mut numbers = numbers.lock().unwrap_or_else(PoisonError::into_inner);
                match numbers.of(&link.peer.label()) {
                    Ok(number) => manager.connect_process(number, link.open()),
                    Err(error) => {
                        let (peer, error) = (&link.peer, program::chain(&error));
                        tracing::error!(%peer, error, "a link is not taken");
                        link.refuse(Refusal::Full);
                    }
                }
            };
            let on_event = program::to_log(on_link);
            self.kept
                .push(self.links.keep(&peer.address, &identity, on_event));
            self.dialled.insert((peer.name, peer.address));
        }
    }

    fn wants_reload(&mut self) -> bool {
        self.membership.take_credentials_changed()
    }

    fn stop(self) -> Result<(), RunError> {
        let Service {
            manager,
            links,
            membership,
            kept,
            ..
        } = self;
        if !manager.leave(LEAVE_PATIENCE) {
            tracing::warn!("something that has not started was not taken back");
        }
        drop(membership);
        drop(kept);
        drop(links);
        let manager = Arc::into_inner(manager);
        let manager = manager.expect("links have ended, and they alone had it too");
        manager.stop(Commands::GoOn)
    }
}

/// Ends the program by an error, unless another one has ended it already.
fn fail(failed: &Mutex<Option<Failed>>, error: &RunError) {
    let failed = failed.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(failed) = failed {
        failed(error);
    }
}

/// Samples the machine each second, and decides whether it is lent.
struct Watch {
    manager: Arc<Handle>,
    gauge: Gauge,
    others: OthersForecast,
    /// None if the configuration gives the power.
    meter: Option<PowerMeter>,
    ceilings: Ceilings,
    slots: u32,
    /// Cores that this program may use.
    cores: u32,
    is_closed: bool,
    /// True if the ceilings close it.
    is_over: bool,
    /// The room on the disk for the journal.
    room: Room,
    /// The separation by accounts.
    accounts: &'static str,
    load: Arc<Mutex<Load>>,
}

impl Watch {
    fn look(&mut self) -> Load {
        let pid = self.manager.executor_pid();
        let reading = self.gauge.read(pid);
        // Without an executor, all counts as others'.
        let others = pid.map(|_| reading.others);
        let others_expected = self.others.read(clock::mono(), others);
        let busy = reading.busy / self.gauge.cores();
        if let Some(meter) = &mut self.meter
            && let Some(power) = meter.look(clock::mono(), busy)
        {
            self.manager.set_power(power);
            tracing::info!(power, "the power of a core was measured");
        }
        let minute = || minute_of_day(clock::wall());
        let over = self.ceilings.closed(reading.others, minute, self.is_over);
        self.is_over = over.is_some();
        self.room.look();
        let full = || self.room.lack().why();
        let closed = over.or_else(|| full().map(|why| format!("closed, since {why}")));
        if self.is_closed != closed.is_some() {
            self.is_closed = closed.is_some();
            let slots = if self.is_closed { 0 } else { self.slots };
            self.manager.lend(slots, closed.clone());
            tracing::info!(why = closed, "what is lent has changed");
        }
        let load = Load {
            cores: self.cores,
            slots: self.slots,
            busy: reading.busy,
            queue: reading.queue,
            memory_free: reading.memory_free,
            disk_free: reading.disk_free,
            closed,
            not_ready: self
                .manager
                .is_executor_silent()
                .then(|| "the executor does not answer".to_owned()),
            containment: self.manager.containment().map(|one| one.to_string()),
            accounts: Some(self.accounts.to_owned()),
            others,
            others_expected: others_expected.or(others),
        };
        load.clone_into(&mut self.load.lock().unwrap_or_else(PoisonError::into_inner));
        load
    }
}
