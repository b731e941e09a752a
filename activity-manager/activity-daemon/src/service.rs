//! The program around an activity manager: it dials its group manager, and when that has given it
//! its number, the process managers.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use model::{Identity, Role};
use shell::RunError;
use shell::config::{Config, PeerAddress};
use shell::program::{self, Failed, Place};
use shell::quic::{Kept, Links};

use crate::{Commands, Handle};

/// Slots that may be asked for: more commands than that at once no machine runs.
const SLOTS_MAX: u32 = 4_096;

/// An activity manager with its links. The program is `xavantes-am`, and the executor beside it is
/// the same program.
pub struct Service {
    manager: Arc<Handle>,
    links: Links,
    kept: Vec<Kept>,
    /// Who is dialled once the machine has its number.
    waiting: Vec<(PeerAddress, Identity)>,
}

/// What its configuration says.
pub struct Settings {
    group_manager: PeerAddress,
    process_managers: Vec<PeerAddress>,
    slots: Option<u32>,
}

impl program::Service for Service {
    const NAME: &'static str = "xavantes-am";
    const ABOUT: &'static str = "The manager of a machine's activities.";
    type Settings = Settings;

    fn ask(config: &mut Config<'_>) -> Settings {
        Settings {
            group_manager: config.peer("group-manager"),
            process_managers: config.peers("process-managers"),
            slots: config.optional_number("slots", 0..=SLOTS_MAX),
        }
    }

    fn start(place: &Place, settings: Settings, failed: Failed) -> Result<Service, Box<dyn Error>> {
        let credentials = place.credentials(Role::Am)?;
        let me = credentials.identity().clone();
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let manager = Arc::new(crate::start(crate::Config {
            directory: place.directory.clone(),
            name: me.name().to_owned(),
            slots: match settings.slots {
                Some(slots) => slots,
                None => u32::try_from(cores)?.min(SLOTS_MAX),
            },
            executor: std::env::current_exe()?,
            linger: None,
            kill_grace: None,
            lease: Some(wire::lease::LENGTH),
            nice: None,
            guise: None,
            blobs: None,
            failed,
        })?);
        let links = place.links(credentials, &[], |_| {})?;
        let theirs = Arc::clone(&manager);
        let on_link = program::to_log(move |link| theirs.connect_group(link.open()));
        let group_manager = settings.group_manager;
        let gm = group_manager.identity(&me, Role::Gm);
        let group = links.keep(&group_manager.address, &gm, on_link);
        let waiting = settings.process_managers.into_iter().map(|peer| {
            let identity = peer.identity(&me, Role::Pm);
            (peer, identity)
        });
        Ok(Service {
            manager,
            links,
            kept: vec![group],
            waiting: waiting.collect(),
        })
    }

    fn links(&self) -> &Links {
        &self.links
    }

    fn tick(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let Some(number) = self.manager.number(Duration::ZERO) else {
            return;
        };
        self.links.set_resource(number);
        for (peer, identity) in self.waiting.drain(..) {
            let manager = Arc::clone(&self.manager);
            let on_link = move |link: shell::quic::Link| {
                manager.connect_process(link.number(), link.open());
            };
            let on_event = program::to_log(on_link);
            self.kept
                .push(self.links.keep(&peer.address, &identity, on_event));
        }
    }

    fn stop(self) -> Result<(), RunError> {
        let Service {
            manager,
            links,
            kept,
            ..
        } = self;
        drop(kept);
        drop(links);
        let manager = Arc::into_inner(manager);
        let manager = manager.expect("links have ended, and they alone had it too");
        manager.stop(Commands::GoOn)
    }
}
