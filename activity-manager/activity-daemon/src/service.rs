//! The program around an activity manager: it dials its group manager, and when that has given it
//! its number, the process managers.

use std::error::Error;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use activity_blobs::Store;
use model::{Bytes, Identity, Role};
use shell::RunError;
use shell::config::{Config, PeerAddress};
use shell::identity::Credentials;
use shell::limits::BULK_BLOB_BYTES_MAX;
use shell::program::{self, Failed, Place};
use shell::quic::{Bulk, BulkConfig, Kept, Links, LinksError};

use crate::keep::Keeper;
use crate::{Commands, Handle, Keeping, StoreDepot, Transfers};

/// MiB a second that may be asked for as the bound of a link: 100 GiB.
const RATE_MAX: u32 = 100 << 10;

/// GiB that may be asked for as the bound of a file: 1 PiB.
const LARGEST_MAX: u32 = 1 << 20;

/// Slots that may be asked for: more commands than that at once no machine runs.
const SLOTS_MAX: u32 = 4_096;

/// An activity manager with its links. The program is `xavantes-am`, and the executor beside it is
/// the same program.
pub struct Service {
    manager: Arc<Handle>,
    links: Links,
    /// None where the store may grow.
    keeper: Option<Keeper>,
    kept: Vec<Kept>,
    /// Who is dialled once the machine has its number.
    waiting: Vec<(PeerAddress, Identity)>,
}

/// What its configuration says.
pub struct Settings {
    group_manager: PeerAddress,
    process_managers: Vec<PeerAddress>,
    slots: Option<u32>,
    files: Files,
}

/// How files go to other machines and come from there.
struct Files {
    /// Where others ask for them; none for a port that the system chooses, where links listen.
    listen: Option<SocketAddr>,
    /// What others are told to dial; none for where it listens.
    address: Option<String>,
    /// MiB a second to each peer; none for as many as there can be.
    rate: Option<u32>,
    /// GiB of the largest file that is taken from others; none for the usual bound.
    largest: Option<u32>,
    /// GiB of all files together, beside what live processes need; none for as many as come.
    budget: Option<u32>,
}

impl Files {
    /// Opens the store and lets others ask for its files.
    fn start(
        &self,
        place: &Place,
        credentials: &Credentials,
        group_manager: &str,
    ) -> Result<(Store, Transfers), Box<dyn Error>> {
        let store = Store::open(&place.directory.join("blobs"))?;
        let (store_max, rate) = (self.largest, self.rate);
        let bulk = Bulk::bind(BulkConfig {
            address: self.listen.unwrap_or((place.listen.ip(), 0).into()),
            credentials: credentials.clone(),
            depot: Some(Arc::new(StoreDepot::new(store.clone(), Keeping::Durably))),
            rate: rate.map(|mebibytes| u64::from(mebibytes) << 20),
            blob_bytes_max: store_max
                .map_or(BULK_BLOB_BYTES_MAX, |gibibytes| u64::from(gibibytes) << 30),
        })?;
        let address = match &self.address {
            Some(address) => address.clone(),
            None => reachable(bulk.address(), group_manager)?.to_string(),
        };
        Ok((store, Transfers { bulk, address }))
    }
}

/// The address by which others reach what listens here: where it listens on all addresses, the one
/// from which the group manager is reached.
fn reachable(bound: SocketAddr, group_manager: &str) -> io::Result<SocketAddr> {
    if !bound.ip().is_unspecified() {
        return Ok(bound);
    }
    // Nothing is sent: the system only says which way it would take.
    let socket = UdpSocket::bind((bound.ip(), 0))?;
    socket.connect(group_manager)?;
    Ok((socket.local_addr()?.ip(), bound.port()).into())
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
            files: Files {
                listen: config.optional_address("files-listen"),
                address: config.optional_host_and_port("files-address"),
                rate: config.optional_number("files-mebibytes-a-second", 1..=RATE_MAX),
                largest: config.optional_number("file-gibibytes-max", 1..=LARGEST_MAX),
                budget: config.optional_number("files-gibibytes-max", 1..=LARGEST_MAX),
            },
        }
    }

    fn start(place: &Place, settings: Settings, failed: Failed) -> Result<Service, Box<dyn Error>> {
        let credentials = place.credentials(Role::Am)?;
        let me = credentials.identity().clone();
        let (blobs, transfers) =
            settings
                .files
                .start(place, &credentials, &settings.group_manager.address)?;
        let budget = settings.files.budget;
        let keeper =
            budget.map(|gibibytes| Keeper::new(blobs.clone(), Bytes(u64::from(gibibytes) << 30)));
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
            nice: None,
            guise: None,
            blobs: Some(blobs),
            transfers: Some(transfers),
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
            keeper,
            kept: vec![group],
            waiting: waiting.collect(),
        })
    }

    fn links(&self) -> &Links {
        &self.links
    }

    fn renew(&self, credentials: &Credentials) -> Result<(), LinksError> {
        self.links.renew(credentials)?;
        self.manager
            .bulk()
            .map_or(Ok(()), |bulk| bulk.renew(credentials))
    }

    fn tick(&mut self) {
        if let Some(keeper) = &mut self.keeper {
            keeper.look();
        }
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
