//! The program around a group manager: peers dial it, it dials nobody.

use std::error::Error;
use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use model::limits::ROUNDS_MAX;
use model::{Bytes, Mono, Part, Role, Span, Tuning, Wall};
use shell::audit::Audit;
use shell::clock;
use shell::config::Config;
use shell::identity::{
    AUTHORITY_LIFE, CERTIFICATE_LIFE, Credentials, Registrar, Renewal, days, is_address,
};
use shell::metrics::Figures;
use shell::program::{self, DaemonConfig, Failed, chain};
use shell::quic::{LinkEpoch, Links};
use shell::{Numbers, Pulse, RefusalLog, Room, RunError, Stats};
use wire::hello::Refusal;

use crate::figures::show_members;
use crate::issue;
use crate::members::Members;
use crate::{AdminServer, FORGET_MACHINES_AFTER, HALF_LIFE, HOLDINGS_END_AFTER, Handle, Policy};

/// Bytes reserved on the disk for grants when it is full.
const RESERVE: Bytes = Bytes(16 << 20);

/// The file of the process managers' numbers, in the state directory.
const NUMBERS: &str = "process-managers";

/// Interval of checking the manager's own certificate for renewal.
const RENEWAL_PERIOD: Span = Span::from_secs(60);

/// Interval of log lines about certificates that end soon.
const WARNING_PERIOD: Span = Span::from_secs(86_400);

/// Time before its end from which the authority is warned of: every member must join anew.
const AUTHORITY_WARNED: Span = Span::from_secs(180 * 86_400);

/// The largest share of a user: only the ratio of two shares means something.
const SHARE_MAX: u32 = 1_000_000;

/// The half-lives of usage, from a minute to ten years.
const HALF_LIVES: RangeInclusive<Span> = Span::from_secs(60)..=Span::from_secs(3_650 * 86_400);

/// The times after which silent machines may be forgotten, from a second to ten years, which is never.
const FORGET_MACHINES: RangeInclusive<Span> = Span::from_secs(1)..=Span::from_secs(3_650 * 86_400);

/// The lives of certificates. Where they are shorter than a few minutes, whoever is away for a moment must join again.
const CERTIFICATE_LIVES: RangeInclusive<Span> = Span::from_secs(1)..=AUTHORITY_LIFE;

/// The life of certificates below which the log warns of it.
const CERTIFICATE_LIFE_WARNED: Span = Span::from_secs(3_600);

/// The largest limit on the slots of a user, beyond those of any group.
const USER_SLOTS_MAX: u32 = 1_000_000_000;

/// A group manager with its links. The program is `xavantes-gm`.
pub struct Service {
    manager: Arc<Handle>,
    links: Links,
    registrar: Option<Arc<Mutex<Registrar>>>,
    identity: PathBuf,
    has_news: Arc<AtomicBool>,
    room: Room,
    looked: Option<Mono>,
    warned: Option<Mono>,
}

/// The settings of the configuration.
pub struct Settings {
    pub(crate) authority: Option<PathBuf>,
    pub(crate) address: Option<String>,
    pub(crate) certificate_life: Option<Span>,
    pub(crate) holdings_end_after: Option<Span>,
    pub(crate) policy: Policy,
    pub(crate) forget_machines: Option<Span>,
}

impl Settings {
    /// The directory of the group's authority, if it is here.
    pub fn authority(&self) -> Option<&Path> {
        self.authority.as_deref()
    }
}

/// The rules for planning again that a configuration may name, for people.
fn policy_wanted() -> String {
    format!("\"xavantes\", \"static\", \"adaptive\" or \"rounds:T\" with T from 1 to {ROUNDS_MAX}")
}

/// How users share the group, and how their processes are planned again.
fn policy(config: &mut Config<'_>) -> Policy {
    Policy {
        shares: config.optional_numbers_by_user("share", 1..=SHARE_MAX),
        half_life: config
            .optional_span_in("share-half-life", HALF_LIVES)
            .unwrap_or(HALF_LIFE),
        slots_max: config.optional_number("user-slots-max", 1..=USER_SLOTS_MAX),
        slots_max_of: config
            .optional_numbers_by_user("user-slots", 1..=USER_SLOTS_MAX)
            .unwrap_or_default(),
        rescheduling: config.optional("policy", &policy_wanted(), model::Policy::named),
        tuning: Tuning {
            threshold: config.optional_float("threshold", Part::WANTED, Part::of),
            reward: config.optional_float("reward", Part::WANTED, Part::of),
        },
    }
}

impl program::Service for Service {
    const NAME: &'static str = "xavantes-gm";
    const ABOUT: &'static str = "The manager of a group of machines.";
    const JOINS: Option<program::Joining> = None;
    const USAGE: &'static str = issue::USAGE;
    type Settings = Settings;

    fn command(words: &[OsString]) -> Option<Result<String, Box<dyn Error>>> {
        match words.split_first() {
            Some((first, rest)) if first == "issue" => Some(issue::issue(rest)),
            Some(_) | None => None,
        }
    }

    fn ask(config: &mut Config<'_>) -> Settings {
        Settings {
            authority: config.optional_path("authority"),
            address: config.optional("address", "a host and a port in quotes", |text| {
                is_address(text).then(|| text.to_owned())
            }),
            certificate_life: config.optional_span_in("certificate-life", CERTIFICATE_LIVES),
            holdings_end_after: config.optional_span("holdings-end-after"),
            policy: policy(config),
            forget_machines: config.optional_span_in("forget-machines", FORGET_MACHINES),
        }
    }

    fn start(
        place: &DaemonConfig,
        settings: Settings,
        failed: Failed,
    ) -> Result<Service, Box<dyn Error>> {
        let credentials = place.credentials(Role::Gm)?;
        let life = settings.certificate_life.unwrap_or(CERTIFICATE_LIFE);
        if life < CERTIFICATE_LIFE_WARNED {
            let life = days(life);
            tracing::warn!(
                "certificates end after {life} (certificate-life): members that are away meanwhile must join again"
            );
        }
        let registrar = settings.authority.map(|path| Registrar::open(&path, life));
        let registrar = registrar.transpose()?;
        if let Some(registrar) = &registrar {
            if registrar.authority().fingerprint() != credentials.fingerprint() {
                return Err("the authority is not the one of the certificate".into());
            }
            // Revocations right before a crash may be missing in the manager's own directory.
            registrar
                .revocations()
                .save(&place.identity.join("revoked"))?;
        }
        let credentials = match registrar {
            Some(_) => Credentials::load(&place.identity)?,
            None => credentials,
        };
        let registrar = registrar.map(|registrar| Arc::new(Mutex::new(registrar)));
        let manager = Arc::new(crate::start(crate::Config {
            keeps_records: true,
            damaged: shell::Damaged::Refused,
            directory: place.directory.clone(),
            group: credentials.fingerprint().group(),
            reserve: RESERVE,
            lease: Some(wire::lease::LENGTH),
            holdings_end_after: settings.holdings_end_after.unwrap_or(HOLDINGS_END_AFTER),
            policy: settings.policy,
            forget_machines: Some(settings.forget_machines.unwrap_or(FORGET_MACHINES_AFTER)),
            links_epoch: LinkEpoch::last(&place.directory)?,
            failed,
        })?);
        let has_news: Arc<AtomicBool> = Arc::default();
        // Holdings name process managers by these numbers.
        let numbers = Numbers::kept_in(&place.directory.join(NUMBERS))?;
        let numbers = Arc::new(Mutex::new(numbers));
        let room = Room::of(&crate::journal_directory(&place.directory), RESERVE);
        let admin = AdminServer {
            registrar: registrar.clone(),
            manager: Arc::clone(&manager),
            me: credentials.identity().clone(),
            address: settings.address.unwrap_or_else(|| place.listen.to_string()),
            identity: place.identity.clone(),
            log: place.log(),
            has_news: Arc::clone(&has_news),
            numbers: Arc::clone(&numbers),
            members: Members::default(),
            lack: room.lack().clone(),
            not_let_in: RefusalLog::default(),
            audit: Audit::default(),
        };
        let theirs = Arc::clone(&manager);
        let on_link = move |link: shell::quic::Link| match link.peer.role() {
            Role::Pm => {
                let mut numbers = numbers.lock().unwrap_or_else(PoisonError::into_inner);
                match numbers.of(&link.peer.label()) {
                    Ok(number) => theirs.connect_process(number, link.open()),
                    Err(error) => {
                        tracing::error!(peer = %link.peer, %error, "a link is not taken");
                        link.refuse(Refusal::Full);
                    }
                }
            }
            Role::Am => {
                let name = link.peer.name().to_owned();
                theirs.connect_machine(&name, link.open());
            }
            Role::Gm | Role::User | Role::Admin => {}
        };
        let accepts = &[Role::Pm, Role::Am];
        let links = place.links_with(credentials, accepts, Some(Box::new(admin)), on_link)?;
        Ok(Service {
            manager,
            links,
            registrar,
            identity: place.identity.clone(),
            has_news,
            room,
            looked: None,
            warned: None,
        })
    }

    fn links(&self) -> &Links {
        &self.links
    }

    fn stats(&self) -> Stats {
        self.manager.stats()
    }

    fn figures(&self, figures: &mut Figures) {
        self.manager.figures(figures);
        if let Some(registrar) = &self.registrar {
            let registrar = registrar.lock().unwrap_or_else(PoisonError::into_inner);
            show_members(figures, &registrar, clock::wall());
        }
    }

    fn pulse(&self) -> Pulse {
        self.manager.pulse()
    }

    fn tick(&mut self) {
        self.room.look();
        let now = clock::mono();
        let is_time = |looked: Mono| now.since(looked) >= RENEWAL_PERIOD;
        if self.looked.is_none_or(is_time) {
            self.looked = Some(now);
            if let Err(error) = self.renew() {
                let error = chain(&*error);
                tracing::error!(error, "the own certificate was not renewed");
            }
            if self.warned.is_none_or(|at| now.since(at) >= WARNING_PERIOD) {
                self.warned = Some(now);
                self.warn_of_endings();
            }
        }
    }

    fn wants_reload(&mut self) -> bool {
        self.has_news.swap(false, Ordering::AcqRel)
    }

    fn stop(self) -> Result<(), RunError> {
        let Service { manager, links, .. } = self;
        drop(links);
        let manager = Arc::into_inner(manager);
        manager
            .expect("links and admin have ended, and they alone had it too")
            .stop()
    }
}

impl Service {
    /// Logs the members whose certificates end soon, and the authority if it does.
    fn warn_of_endings(&self) {
        let Some(registrar) = &self.registrar else {
            return;
        };
        let now = clock::wall();
        let registrar = registrar.lock().unwrap_or_else(PoisonError::into_inner);
        for (member, ending) in registrar.endings(now) {
            tracing::warn!(%member, "its certificate {ending}");
        }
        let left = registrar.authority().not_after().since(now);
        if left < AUTHORITY_WARNED {
            let left = days(left);
            tracing::warn!("the authority ends in {left}: its members then need a new one");
        }
    }

    /// Renews the manager's own certificate when it is due.
    fn renew(&self) -> Result<(), Box<dyn Error>> {
        let Some(registrar) = &self.registrar else {
            return Ok(());
        };
        let mut registrar = registrar.lock().unwrap_or_else(PoisonError::into_inner);
        // Changes by other programs are sent to members, too.
        registrar.refresh()?;
        if renew_own(&mut registrar, &self.identity, clock::wall())? {
            tracing::info!("the own certificate was renewed");
            self.has_news.store(true, Ordering::Release);
        }
        Ok(())
    }
}

/// Renews the certificate of the authority's own manager when it is due, or when it is not valid yet: a clock that was
/// ahead for a while has signed it. Returns true if it did.
fn renew_own(
    registrar: &mut Registrar,
    identity: &Path,
    now: Wall,
) -> Result<bool, Box<dyn Error>> {
    let credentials = Credentials::load(identity)?;
    let is_early = now < credentials.certificate().not_before;
    match credentials.renewal(now) {
        Renewal::At(_) if !is_early => return Ok(false),
        Renewal::At(_) | Renewal::Due | Renewal::Expired => {}
    }
    let request = Credentials::request(identity)?;
    let issued = registrar.admit(&request, credentials.identity(), None, now)?;
    Credentials::replace(identity, &issued.pem)?;
    Ok(true)
}

#[cfg(test)]
mod tests;
