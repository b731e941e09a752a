//! The settings of an activity manager for transfers, and the transfer service.

use std::error::Error;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::Arc;

use activity_blobs::{Placement, Store};
use model::Bytes;
use shell::config::Config;
use shell::identity::Credentials;
use shell::limits::BULK_BLOB_BYTES_MAX;
use shell::program::DaemonConfig;
use shell::quic::{Bulk, BulkConfig, Depot, ResetKey};

use crate::access::Gate;
use crate::depot::Users;
use crate::eviction::Evictor;
use crate::quotas::QuotaLimits;
use crate::uploads::Uploads;
use crate::{Keeping, StoreDepot, Transfers};

/// The largest configurable rate of a link in MiB a second: 100 GiB.
const RATE_MAX: u32 = 100 << 10;

/// The largest configurable size of a file in GiB: 1 PiB.
const LARGEST_MAX: u32 = 1 << 20;

/// The part of the store's budget for one user's uploads that no process uses yet: one in so many.
const UPLOADS_SHARE: u64 = 2;

/// The file in the state directory with the port that the system chose.
const PORT: &str = "files-port";

/// The settings for transfers.
pub(crate) struct Files {
    /// The address to serve files on; none for a port that the system chooses, on the links'
    /// address.
    listen: Option<SocketAddr>,
    /// The address that others are told; none for the listening one.
    address: Option<String>,
    /// MiB a second to each peer; none for no limit.
    rate: Option<u32>,
    /// GiB of the largest file from others; none for the default.
    largest: Option<u32>,
    /// GiB of all files together, beside those of live processes; none for half of the disk.
    budget: Option<u32>,
    /// GiB of the outputs of one attempt; none for its user's quota.
    of_attempt: Option<u32>,
    /// GiB of a user's live processes; none for the budget.
    of_user: Option<u32>,
    /// The way in which inputs are placed in the directory of an activity.
    pub(crate) inputs: Placement,
}

fn placement(text: &str) -> Option<Placement> {
    match text {
        "copy" => Some(Placement::Copy),
        "link" => Some(Placement::ReadOnlyLink),
        _ => None,
    }
}

impl Files {
    /// Reads the settings.
    pub(crate) fn ask(config: &mut Config<'_>) -> Files {
        Files {
            listen: config.optional_address("files-listen"),
            address: config.optional_host_and_port("files-address"),
            rate: config.optional_number("files-mebibytes-a-second", 1..=RATE_MAX),
            largest: config.optional_number("file-gibibytes-max", 1..=LARGEST_MAX),
            budget: config.optional_number("files-gibibytes-max", 1..=LARGEST_MAX),
            of_attempt: config.optional_number("output-gibibytes-max", 1..=LARGEST_MAX),
            of_user: config.optional_number("user-gibibytes-max", 1..=LARGEST_MAX),
            inputs: config
                .optional("inputs", "\"copy\" or \"link\"", placement)
                .unwrap_or_default(),
        }
    }

    /// The quotas of attempts and users. The directory is on the store's disk.
    pub(crate) fn quotas(&self, directory: &Path) -> io::Result<QuotaLimits> {
        let bytes = |gibibytes: u32| Bytes(u64::from(gibibytes) << 30);
        let user = match self.of_user {
            Some(gibibytes) => bytes(gibibytes),
            None => self.budget(directory)?,
        };
        Ok(QuotaLimits {
            attempt: self.of_attempt.map(bytes),
            user,
            file: Bytes(self.file_bytes_max()),
        })
    }

    /// The evictor of the store. The directory is on the store's disk.
    pub(crate) fn evictor(&self, store: &Store, directory: &Path) -> io::Result<Evictor> {
        Ok(Evictor::new(store.clone(), self.budget(directory)?))
    }

    /// Bytes of the largest file from others. One that a command leaves is not longer, since other
    /// machines, which have mostly the same settings, would not take it.
    fn file_bytes_max(&self) -> u64 {
        self.largest
            .map_or(BULK_BLOB_BYTES_MAX, |gibibytes| u64::from(gibibytes) << 30)
    }

    fn budget(&self, directory: &Path) -> io::Result<Bytes> {
        if let Some(gibibytes) = self.budget {
            return Ok(Bytes(u64::from(gibibytes) << 30));
        }
        let disk = rustix::fs::statvfs(directory)?;
        Ok(Bytes(disk.f_blocks.saturating_mul(disk.f_frsize) / 2))
    }

    /// Opens the store and starts the transfer service.
    pub(crate) fn start(
        &self,
        place: &DaemonConfig,
        credentials: &Credentials,
        group_manager: &str,
    ) -> Result<(Store, Transfers), Box<dyn Error>> {
        let store = Store::open(&place.directory.join("blobs"))?;
        let rate = self.rate;
        let gate = Gate::default();
        let each_max = Bytes(self.budget(&place.directory)?.0 / UPLOADS_SHARE);
        let uploads = Uploads::new(store.clone(), each_max);
        uploads.look_after(gate.clone())?;
        let users = Users {
            gate: gate.clone(),
            uploads,
        };
        let depot = StoreDepot::with_users(store.clone(), Keeping::Durably, users);
        let depot: Arc<dyn Depot> = Arc::new(depot);
        let key = ResetKey::kept_in(&place.directory)?;
        let bind = |address: SocketAddr| {
            Bulk::bind(BulkConfig {
                address,
                credentials: credentials.clone(),
                key: Some(key.clone()),
                depot: Some(Arc::clone(&depot)),
                rate: rate.map(|mebibytes| u64::from(mebibytes) << 20),
                blob_bytes_max: self.file_bytes_max(),
            })
        };
        let bulk = match self.listen {
            Some(address) => bind(address)?,
            None => {
                let file = place.directory.join(PORT);
                at_kept_port(&file, place.listen.ip(), bind, |bulk| bulk.address().port())?
            }
        };
        let address = match &self.address {
            Some(address) => address.clone(),
            None => reachable(bulk.address(), group_manager)?.to_string(),
        };
        let transfers = Transfers {
            bulk,
            address,
            gate,
        };
        Ok((store, transfers))
    }
}

/// Listens on the port of the earlier epoch, so that those who know it find this one; if that is
/// taken or there was none, on one that the system chooses.
fn at_kept_port<S, E>(
    file: &Path,
    ip: IpAddr,
    bind: impl Fn(SocketAddr) -> Result<S, E>,
    port: impl Fn(&S) -> u16,
) -> Result<S, E> {
    let kept = fs::read_to_string(file).ok();
    let kept = kept.and_then(|text| text.trim().parse::<u16>().ok());
    if let Some(kept) = kept
        && let Ok(bound) = bind((ip, kept).into())
    {
        return Ok(bound);
    }
    let bound = bind((ip, 0).into())?;
    if let Err(error) = fs::write(file, format!("{}\n", port(&bound))) {
        // Others learn the address anyway, if later.
        tracing::warn!(%error, "could not keep the port for files");
    }
    Ok(bound)
}

/// The address by which others reach this listener: if it listens on all addresses, the one from
/// which the group manager is reached.
fn reachable(bound: SocketAddr, group_manager: &str) -> io::Result<SocketAddr> {
    if !bound.ip().is_unspecified() {
        return Ok(bound);
    }
    // Connecting a UDP socket sends nothing; the system only selects the route.
    let socket = UdpSocket::bind((bound.ip(), 0))?;
    socket.connect(group_manager)?;
    Ok((socket.local_addr()?.ip(), bound.port()).into())
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn bind(file: &Path) -> UdpSocket {
        let port = |socket: &UdpSocket| socket.local_addr().unwrap().port();
        at_kept_port(
            file,
            Ipv4Addr::LOCALHOST.into(),
            UdpSocket::bind::<SocketAddr>,
            port,
        )
        .unwrap()
    }

    #[test]
    fn the_next_epoch_listens_where_this_one_does_unless_somebody_else_does() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(PORT);
        let port = |socket: &UdpSocket| socket.local_addr().unwrap().port();
        let first = bind(&file);
        let at_first = port(&first);
        let beside = bind(&file);
        let at_last = port(&beside);
        assert_ne!(at_first, at_last);
        drop((first, beside));
        assert_eq!(port(&bind(&file)), at_last);
        fs::write(&file, "torn\0").unwrap();
        assert_ne!(port(&bind(&file)), 0);
    }
}
