//! The program around a process manager: it dials its group manager, activity managers dial it.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use model::{GroupId, Role};
use schedule::SchedulerKind;
use shell::RunError;
use shell::config::{Config, PeerAddress};
use shell::program::{self, Failed, Place};
use shell::quic::{Kept, Links};

use crate::Handle;

/// The one group of a grid.
const GROUP: GroupId = GroupId(0);

/// A process manager with its links and its socket for clients of this machine. The program is
/// `xavantes-pm`.
pub struct Service {
    manager: Arc<Handle>,
    links: Links,
    group: Kept,
}

/// What its configuration says.
pub struct Settings {
    group_manager: PeerAddress,
    socket: Option<PathBuf>,
}

impl program::Service for Service {
    const NAME: &'static str = "xavantes-pm";
    const ABOUT: &'static str = "A manager of processes.";
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
            lease: Some(wire::lease::LENGTH),
            socket: Some(match socket {
                Some(socket) => socket,
                None => shell::socket_path(&place.directory, "pm.sock")?,
            }),
            failed,
        })?);
        let theirs = Arc::clone(&manager);
        let links = place.links(credentials, &[Role::Am], move |link| {
            match link.hello.resource {
                Some(resource) => {
                    let name = link.peer.name().to_owned();
                    theirs.connect_named_activity(resource, &name, link.open());
                }
                None => tracing::warn!(peer = %link.peer, "an activity manager without a number"),
            }
        })?;
        let theirs = Arc::clone(&manager);
        let on_link = program::to_log(move |link| theirs.connect_group(GROUP, link.open()));
        let group = links.keep(&group_manager.address, &gm, on_link);
        Ok(Service {
            manager,
            links,
            group,
        })
    }

    fn links(&self) -> &Links {
        &self.links
    }

    fn stop(self) -> Result<(), RunError> {
        let Service {
            manager,
            links,
            group,
        } = self;
        drop(group);
        drop(links);
        let manager = Arc::into_inner(manager);
        manager
            .expect("links have ended, and they alone had it too")
            .stop()
    }
}
