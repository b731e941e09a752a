//! The program around a process manager: it dials its group manager, activity managers dial it.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use model::{GroupId, Role};
use schedule::SchedulerKind;
use shell::config::{Config, PeerAddress};
use shell::membership::Membership;
use shell::program::{self, Failed, Joining, Kind, Place, Setting};
use shell::quic::{Kept, Links};
use shell::{RunError, Stats};

use crate::Handle;

/// The one group of a grid.
const GROUP: GroupId = GroupId(0);

/// A process manager with its links and its socket for clients of this machine. The program is
/// `xavantes-pm`.
pub struct Service {
    manager: Arc<Handle>,
    links: Links,
    group: Kept,
    membership: Membership,
}

/// What its configuration says.
pub struct Settings {
    group_manager: PeerAddress,
    socket: Option<PathBuf>,
}

impl program::Service for Service {
    const NAME: &'static str = "xavantes-pm";
    const ABOUT: &'static str = "A manager of processes.";
    const JOINS: Option<Joining> = Some(Joining {
        role: Role::Pm,
        file: "pm.toml",
        port: 7401,
        names_process_managers: false,
        settings: &[Setting {
            key: "socket",
            kind: Kind::Text,
        }],
    });
    type Settings = Settings;

    fn ask(config: &mut Config<'_>) -> Settings {
        Settings {
            group_manager: config.peer("group-manager"),
            socket: config.optional_path("socket"),
        }
    }

    fn start(place: &Place, settings: Settings, failed: Failed) -> Result<Service, Box<dyn Error>> {
        let credentials = place.credentials(Role::Pm)?;
        let Settings {
            group_manager,
            socket,
        } = settings;
        let gm = group_manager.identity(credentials.identity(), Role::Gm);
        let manager = Arc::new(crate::start(crate::Config {
            directory: place.directory.clone(),
            scheduler: SchedulerKind::default(),
            socket: Some(match socket {
                Some(socket) => socket,
                None => shell::socket_path(&place.directory, "pm.sock")?,
            }),
            failed,
        })?);
        let theirs = Arc::clone(&manager);
        let links = place.links(credentials, &[Role::Am], move |link| {
            match link.hello.resource {
                Some(resource) => theirs.connect_activity(resource, link.open()),
                None => tracing::warn!(peer = %link.peer, "an activity manager without a number"),
            }
        })?;
        let theirs = Arc::clone(&manager);
        let on_link = program::to_log(move |link| theirs.connect_group(GROUP, link.open()));
        let group = links.keep(&group_manager.address, &gm, on_link);
        let line = links.line(&group_manager.address, &gm);
        let membership = Membership::begin(line, &place.identity, || None)?;
        Ok(Service {
            manager,
            links,
            group,
            membership,
        })
    }

    fn links(&self) -> &Links {
        &self.links
    }

    fn stats(&self) -> Stats {
        self.manager.stats()
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
