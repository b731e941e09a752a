//! The program around a group manager: peers dial it, it dials nobody.

use std::error::Error;
use std::sync::Arc;

use model::{GroupId, Role};
use shell::RunError;
use shell::config::Config;
use shell::program::{self, Failed, Place};
use shell::quic::Links;

use crate::Handle;

/// The one group of a grid.
const GROUP: GroupId = GroupId(0);

/// A group manager with its links. The program is `xavantes-gm`.
pub struct Service {
    manager: Arc<Handle>,
    links: Links,
}

impl program::Service for Service {
    const NAME: &'static str = "xavantes-gm";
    const ABOUT: &'static str = "The manager of a group of machines.";
    type Settings = ();

    fn ask(_: &mut Config<'_>) {}

    fn start(place: &Place, (): (), failed: Failed) -> Result<Service, Box<dyn Error>> {
        let credentials = place.credentials(Role::Gm)?;
        let manager = Arc::new(crate::start(crate::Config {
            directory: place.directory.clone(),
            group: GROUP,
            lease: Some(wire::lease::LENGTH),
            failed,
        })?);
        let theirs = Arc::clone(&manager);
        let links = place.links(credentials, &[Role::Pm, Role::Am], move |link| {
            match link.peer.role() {
                Role::Pm => theirs.connect_process(link.number(), link.open()),
                Role::Am => theirs.connect_activity(link.open()),
                Role::Gm | Role::User | Role::Admin => {}
            }
        })?;
        Ok(Service { manager, links })
    }

    fn links(&self) -> &Links {
        &self.links
    }

    fn stop(self) -> Result<(), RunError> {
        let Service { manager, links } = self;
        drop(links);
        let manager = Arc::into_inner(manager);
        manager
            .expect("links have ended, and they alone had it too")
            .stop()
    }
}
