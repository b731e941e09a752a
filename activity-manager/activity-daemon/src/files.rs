//! What an activity manager's configuration says of files that go to other machines, and the
//! connection for them.

use std::error::Error;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::Arc;

use activity_blobs::Store;
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

/// MiB a second that may be asked for as the bound of a link: 100 GiB.
const RATE_MAX: u32 = 100 << 10;

/// GiB that may be asked for as the bound of a file: 1 PiB.
const LARGEST_MAX: u32 = 1 << 20;

/// The part of the store's budget that files may take which one user has given and no process names:
/// one in so many.
const UPLOADS_SHARE: u64 = 2;

/// Where the port that the system chose is kept, in the state directory.
const PORT: &str = "files-port";

/// How files go to other machines and come from there.
pub(crate) struct Files {
    /// Where others ask for them; none for a port that the system chooses, where links listen.
    listen: Option<SocketAddr>,
    /// What others are told to dial; none for where it listens.
    address: Option<String>,
    /// MiB a second to each peer; none for as many as there can be.
    rate: Option<u32>,
    /// GiB of the largest file that is taken from others; none for the usual bound.
    largest: Option<u32>,
    /// GiB of all files together, beside what live processes need; none for half of the disk.
    budget: Option<u32>,
    /// GiB that the outputs of one attempt may take; none for what its user may have.
    of_attempt: Option<u32>,
    /// GiB that the live processes of a user may have here; none for the budget.
    of_user: Option<u32>,
}

impl Files {
    /// Asks the configuration for it.
    pub(crate) fn ask(config: &mut Config<'_>) -> Files {
        Files {
            listen: config.optional_address("files-listen"),
            address: config.optional_host_and_port("files-address"),
            rate: config.optional_number("files-mebibytes-a-second", 1..=RATE_MAX),
            largest: config.optional_number("file-gibibytes-max", 1..=LARGEST_MAX),
            budget: config.optional_number("files-gibibytes-max", 1..=LARGEST_MAX),
            of_attempt: config.optional_number("output-gibibytes-max", 1..=LARGEST_MAX),
            of_user: config.optional_number("user-gibibytes-max", 1..=LARGEST_MAX),
        }
    }

    /// What attempts and users may have. The directory is on the store's disk.
    pub(crate) fn quotas(&self, directory: &Path) -> io::Result<QuotaLimits> {
        let bytes = |gibibytes: u32| Bytes(u64::from(gibibytes) << 30);
        let user = match self.of_user {
            Some(gibibytes) => bytes(gibibytes),
            None => self.budget(directory)?,
        };
        Ok(QuotaLimits {
            attempt: self.of_attempt.map(bytes),
            user,
        })
    }

    /// Who keeps the store within its budget. The directory is on the store's disk.
    pub(crate) fn evictor(&self, store: &Store, directory: &Path) -> io::Result<Evictor> {
        Ok(Evictor::new(store.clone(), self.budget(directory)?))
    }

    fn budget(&self, directory: &Path) -> io::Result<Bytes> {
        if let Some(gibibytes) = self.budget {
            return Ok(Bytes(u64::from(gibibytes) << 30));
        }
        let disk = rustix::fs::statvfs(directory)?;
        Ok(Bytes(disk.f_blocks.saturating_mul(disk.f_frsize) / 2))
    }

    /// Opens the store and lets others ask for its files.
    pub(crate) fn start(
        &self,
        place: &DaemonConfig,
        credentials: &Credentials,
        group_manager: &str,
    ) -> Result<(Store, Transfers), Box<dyn Error>> {
        let store = Store::open(&place.directory.join("blobs"))?;
        let (store_max, rate) = (self.largest, self.rate);
        let gate = Gate::default();
        let uploads = Uploads::new(Bytes(self.budget(&place.directory)?.0 / UPLOADS_SHARE));
        uploads.look_after(store.clone(), gate.clone())?;
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
                blob_bytes_max: store_max
                    .map_or(BULK_BLOB_BYTES_MAX, |gibibytes| u64::from(gibibytes) << 30),
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

/// Listens where an earlier life did, so that whoever knows that one finds this one; or, where that
/// port is taken or there was none, where the system chooses.
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
