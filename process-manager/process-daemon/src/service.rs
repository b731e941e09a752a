//! The program around a process manager: it dials its group manager; activity managers and clients
//! dial it.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use model::limits::{LIMIT_UNITS_MAX, NAMED_LIMITS_MAX};
use model::{Bytes, GroupId, Identity, NetworkLink, Role, Span};
use process_core::{Quota, Retention};
use schedule::SchedulerKind;
use shell::config::{Config, PeerAddress};
use shell::membership::{Membership, Said};
use shell::metrics::Figures;
use shell::program::{self, DaemonConfig, Failed, Joining, Kind, Setting};
use shell::quic::{Event, Kept, Link, LinkEpoch, LinkError, Links};
use shell::{Pulse, Room, RunError, Stats, limits};
use wire::hello::Refusal;
use wire::lease;

use crate::{Handle, HistoryPlace};

/// Bytes reserved on the disk for outcomes when it is full: those of a hundred thousand activities.
const RESERVE: Bytes = Bytes(32 << 20);

/// A process manager with its links and its socket for clients of this machine. The program is
/// `xavantes-pm`.
pub struct Service {
    manager: Arc<Handle>,
    links: Links,
    group: Kept,
    membership: Membership,
    disk: Room,
    /// The last reported limits.
    room: process_core::Room,
}

/// The settings of the configuration.
pub struct Settings {
    group_manager: PeerAddress,
    socket: Option<PathBuf>,
    link: NetworkLink,
    keeper: Option<String>,
    lease: Span,
    keep: Retention,
    quota: Quota,
    limits: BTreeMap<String, u32>,
}

impl Settings {
    /// The group manager that it dials.
    pub fn group_manager(&self) -> &PeerAddress {
        &self.group_manager
    }
}

/// Default number of kept ended processes. Their activities take some tens of megabytes, and a restart
/// reads them within some seconds, which a lease permits.
const KEPT_PROCESSES: u32 = 10_000;
const KEPT_ACTIVITIES: u32 = 500_000;

/// The largest configurable number.
const KEPT_PROCESSES_MAX: u32 = 1_000_000;
const KEPT_ACTIVITIES_MAX: u32 = 1_000_000_000;

/// The largest limit on what a user has, beyond that of all users.
const USER_MAX: u32 = 1_000_000_000;

/// Default network between two machines of a group, for plans: a gigabit a second, half a
/// millisecond.
const MEGABITS: u32 = 1_000;
const LATENCY_MICROSECONDS: u32 = 500;

/// The largest configurable values: a terabit, ten seconds.
const MEGABITS_MAX: u32 = 1_000_000;
const LATENCY_MICROSECONDS_MAX: u32 = 10_000_000;

fn link(megabits: Option<u32>, latency_microseconds: Option<u32>) -> NetworkLink {
    let latency = latency_microseconds.unwrap_or(LATENCY_MICROSECONDS);
    NetworkLink {
        bandwidth: f64::from(megabits.unwrap_or(MEGABITS)) * 1e6 / 8.0,
        latency: f64::from(latency) / 1e6,
    }
}

/// Parses a name in the form of certificates.
fn name(text: &str) -> Option<String> {
    Identity::new("grid", "group", Role::Am, text)
        .is_ok()
        .then(|| text.to_owned())
}

impl program::Service for Service {
    const NAME: &'static str = "xavantes-pm";
    const ABOUT: &'static str = "A manager of processes.";
    const JOINS: Option<Joining> = Some(Joining {
        role: Role::Pm,
        file: "pm.toml",
        port: 7401,
        names_process_managers: false,
        settings: &[
            Setting {
                key: "socket",
                kind: Kind::Text,
            },
            Setting {
                key: "keeper",
                kind: Kind::Text,
            },
        ],
    });
    type Settings = Settings;

    fn ask(config: &mut Config<'_>) -> Settings {
        Settings {
            group_manager: config.peer("group-manager"),
            socket: config.optional_path("socket"),
            lease: config
                .optional_span_in("lease", lease::SHORTEST..=lease::LONGEST)
                .unwrap_or(lease::LENGTH),
            keep: Retention {
                time: config.optional_span("keep").unwrap_or(limits::KEPT),
                processes_max: config
                    .optional_number("keep-processes-max", 1..=KEPT_PROCESSES_MAX)
                    .unwrap_or(KEPT_PROCESSES),
                activities_max: config
                    .optional_number("keep-activities-max", 1..=KEPT_ACTIVITIES_MAX)
                    .unwrap_or(KEPT_ACTIVITIES),
            },
            quota: Quota {
                processes_max: config.optional_number("user-processes-max", 1..=USER_MAX),
                activities_max: config.optional_number("user-activities-max", 1..=USER_MAX),
            },
            link: link(
                config.optional_number("link-megabits", 1..=MEGABITS_MAX),
                config.optional_number("link-latency-microseconds", 0..=LATENCY_MICROSECONDS_MAX),
            ),
            limits: config
                .optional_numbers_by_name("limits", NAMED_LIMITS_MAX, 1..=LIMIT_UNITS_MAX)
                .unwrap_or_default(),
            keeper: config.optional("keeper", "the name of a machine", name),
        }
    }

    fn start(
        place: &DaemonConfig,
        settings: Settings,
        failed: Failed,
    ) -> Result<Service, Box<dyn Error>> {
        let credentials = place.credentials(Role::Pm)?;
        let Settings {
            group_manager,
            socket,
            link,
            keeper,
            lease,
            keep,
            quota,
            limits,
        } = settings;
        let gm = group_manager.identity(credentials.identity(), Role::Gm);
        let manager = Arc::new(crate::start(crate::Config {
            directory: place.directory.clone(),
            scheduler: SchedulerKind::default(),
            link: Some(link),
            keeper,
            lease: Some(lease),
            keep: Some(keep),
            quota,
            limits,
            reserve: RESERVE,
            history: HistoryPlace::Own,
            outcomes: None,
            earlier: Vec::new(),
            socket: Some(match socket {
                Some(socket) => socket,
                None => shell::socket_path(&place.directory, "pm.sock")?,
            }),
            links_epoch: LinkEpoch::last(&place.directory)?,
            failed,
        })?);
        // Before users on other machines can send requests.
        let mut disk = Room::of(&crate::daemon::journal_directory(&place.directory), RESERVE);
        disk.look();
        let room = found(&disk);
        manager.set_room(room.clone());
        let theirs = Arc::clone(&manager);
        let accepts = [Role::Am, Role::User, Role::Admin];
        // Every peer has a certificate of the one authority that is trusted.
        let of = credentials.fingerprint().group();
        let name = credentials.identity().name().to_owned();
        let links = place.links(credentials, &accepts, move |link| accept(&theirs, of, link))?;
        let theirs = Arc::clone(&manager);
        let to_log = program::to_log(move |link| theirs.connect_group(of, link.open()));
        let theirs = Arc::clone(&manager);
        let on_event = move |event| {
            if let Some(is_barred) = tells_barred(&event) {
                theirs.set_barred(is_barred);
            }
            to_log(event);
        };
        let group = links.keep(&group_manager.address, &gm, on_event);
        let line = links.request_client(&group_manager.address, &gm);
        let lack = disk.lack().clone();
        let files = (&*place.identity, &*place.log());
        let membership = Membership::begin(&name, line, files, move || Said {
            load: None,
            trouble: lack.why(),
        })?;
        Ok(Service {
            manager,
            links,
            group,
            membership,
            disk,
            room,
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
    }

    fn pulse(&self) -> Pulse {
        self.manager.pulse()
    }

    fn tick(&mut self) {
        self.disk.look();
        let room = found(&self.disk);
        if room != self.room {
            self.room = room.clone();
            self.manager.set_room(room);
        }
    }

    fn wants_reload(&mut self) -> bool {
        self.membership.take_credentials_changed()
    }

    fn stop(self) -> Result<(), RunError> {
        let Service {
            manager,
            links,
            group,
            membership,
            disk: _,
            room: _,
        } = self;
        drop(membership);
        drop(group);
        drop(links);
        let manager = Arc::into_inner(manager);
        manager
            .expect("links have ended, and they alone had it too")
            .stop()
    }
}

/// The limits on new processes that follow from a disk's room.
fn found(disk: &Room) -> process_core::Room {
    match (disk.lack().why(), disk.largest()) {
        (Some(why), _) => process_core::Room::None(why),
        (None, Some(largest)) => process_core::Room::UpTo(largest),
        (None, None) => process_core::Room::Any,
    }
}

/// Whether the own certificate is revoked, as far as an event of the link to the group manager tells it: that says so
/// when it ends or refuses the link, and lets in whoever has another certificate. A group manager that is away says
/// nothing.
fn tells_barred(event: &Event) -> Option<bool> {
    match event {
        Event::Up(_) => Some(false),
        Event::Down { error, .. } | Event::Failed { error, .. } => {
            matches!(error, LinkError::RefusedByPeer(Refusal::Revoked)).then_some(true)
        }
        Event::TurnedAway { .. } => None,
    }
}

/// Connects a dialling peer of a group to the manager.
fn accept(manager: &Handle, group: GroupId, link: Link) {
    match (link.peer.role(), link.hello.resource) {
        (Role::Am, Some(resource)) => {
            let name = link.peer.name().to_owned();
            if manager.admits(group, resource, &name) {
                manager.connect_named_activity(resource, &name, link.open());
            } else {
                let resource = format!("{resource:#}");
                tracing::warn!(peer = %link.peer, resource, "it says another machine's number");
                link.refuse(Refusal::Number);
            }
        }
        (Role::User | Role::Admin, _) => match manager.connect_as(&link.peer, link.address) {
            Ok(stream) => link.carry(stream),
            Err(error) => {
                tracing::warn!(peer = %link.peer, %error, "a client was not admitted");
                link.refuse(Refusal::Full);
            }
        },
        (role @ (Role::Am | Role::Gm | Role::Pm), _) => {
            tracing::warn!(peer = %link.peer, "there is no link with this {role}");
            link.refuse(Refusal::Role);
        }
    }
}

#[cfg(test)]
mod tests;
