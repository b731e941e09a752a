//! Files on their way to a grid's machines, and from there to this one. They never pass a manager.

use std::fs::{self, DirBuilder};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use activity_blobs::Store;
use activity_daemon::{Keeping, StoreDepot};
use model::{Artifact, ArtifactKind, Hash, Identity, ProcessId, ResourceId, Role, Span};
use shell::Client;
use shell::limits::BULK_BLOB_BYTES_MAX;
use shell::quic::{Bulk, BulkConfig, Source};
use wire::bulk::Belongs;
use wire::client::{Answer, Request};

use super::{Home, several};
use crate::ask::unfit;
use crate::failure::Failure;
use crate::home;
use crate::inputs::not_taken;

/// The time to wait for a machine that takes files: the machines of a grid that starts register within
/// seconds.
const PATIENCE: Span = Span::from_secs(15);

/// The pause before the request is repeated.
const LOOK: Duration = Duration::from_millis(100);

/// Transfers of one command. What it has of files on this machine is removed when it is dropped.
pub(crate) struct Transfers {
    bulk: Bulk,
    /// The store of files in transit.
    store: Store,
    machines: Vec<FileHost>,
    directory: PathBuf,
}

/// A machine to which files are sent and from which they are fetched.
struct FileHost {
    resource: ResourceId,
    source: Source,
}

impl Transfers {
    /// Finds out which machines the grid has.
    pub(crate) fn begin(of: &Home, client: &mut Client) -> Result<Transfers, Failure> {
        let credentials = &of.remote().0.credentials;
        let machines = machines(client, credentials.identity())?;
        let is_six = machines
            .iter()
            .any(|one| one.source.address.starts_with('['));
        let address = match is_six {
            true => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
            false => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        };
        let bulk = Bulk::bind(BulkConfig {
            address,
            credentials: credentials.clone(),
            key: None,
            depot: None,
            rate: None,
            blob_bytes_max: BULK_BLOB_BYTES_MAX,
        });
        let bulk = bulk.map_err(|error| Failure::because(&error))?;
        let directory = own_directory()?;
        let store = Store::open(&directory).map_err(|error| Failure::because(&error))?;
        Ok(Transfers {
            bulk,
            store,
            machines,
            directory,
        })
    }

    /// Takes a file or a directory that is to be given.
    pub(crate) fn add(&self, path: &Path, is_directory: bool) -> Result<Artifact, Failure> {
        let added = if is_directory {
            self.store.add_tree(path)
        } else {
            self.store.add_file(path)
        };
        added.map_err(|error| not_taken(&error))
    }

    /// Gives what was taken to one machine, all of it, which keeps it durably: the preferred one if
    /// that can be.
    pub(crate) fn give(
        &self,
        process: ProcessId,
        artifacts: &[Artifact],
        preferred: Option<ResourceId>,
    ) -> Result<ResourceId, Failure> {
        let mut failures = Vec::new();
        let is_preferred = |one: &&FileHost| Some(one.resource) == preferred;
        let first = self.machines.iter().filter(is_preferred);
        let others = self.machines.iter().filter(|one| !is_preferred(one));
        for machine in first.chain(others) {
            match self.give_to(machine, process, artifacts) {
                Ok(()) => return Ok(machine.resource),
                Err(failure) => failures.push(failure),
            }
        }
        Err(several(failures))
    }

    fn give_to(
        &self,
        machine: &FileHost,
        process: ProcessId,
        artifacts: &[Artifact],
    ) -> Result<(), Failure> {
        let name = machine.source.peer.name();
        let failed = |error: &dyn std::error::Error| {
            let why = crate::failure::chain(error);
            Failure::new(format!("could not give the files to {name}: {why}"))
        };
        for &artifact in artifacts {
            for hash in self.blobs(artifact)? {
                let opened = self.store.open_blob(hash);
                let (file, bytes) = opened.map_err(|error| failed(&error))?;
                let of = Belongs {
                    process,
                    artifact: artifact.hash,
                };
                let put = self
                    .bulk
                    .put_of(&machine.source, (hash, Some(of)), file, bytes.0);
                put.map_err(|error| failed(&error))?;
            }
        }
        Ok(())
    }

    /// The blobs of a file or directory, those that name others last.
    fn blobs(&self, artifact: Artifact) -> Result<Vec<Hash>, Failure> {
        let mut all = Vec::new();
        match artifact.kind {
            ArtifactKind::File | ArtifactKind::Program => {}
            ArtifactKind::Directory => {
                let listing = self.store.listing(artifact.hash);
                let listing = listing.map_err(|error| Failure::because(&error))?;
                all.extend(listing.files().map(|(_, file)| file.hash));
            }
        }
        all.push(artifact.hash);
        Ok(all)
    }

    /// Fetches a file or a directory of a process from whichever machine has it, and writes it to a
    /// path of this machine. What is there already is replaced.
    pub(crate) fn fetch(
        &self,
        process: ProcessId,
        artifact: Artifact,
        to: &Path,
    ) -> Result<(), Failure> {
        let of = Belongs {
            process,
            artifact: artifact.hash,
        };
        let sources: Vec<Source> = self.machines.iter().map(|one| one.source.clone()).collect();
        let depot = StoreDepot::new(self.store.clone(), Keeping::AsCopy);
        // A directory's listing comes first, and then its files.
        for _ in 0..2 {
            let missing = self.store.missing(artifact);
            for hash in missing.map_err(|error| Failure::because(&error))? {
                let fetched = self.bulk.fetch_of(&sources, (hash, Some(of)), &depot);
                fetched.map_err(|error| {
                    let why = crate::failure::chain(&error);
                    Failure::new(format!("could not fetch {}: {why}", to.display()))
                })?;
            }
        }
        let exported = self.store.export(artifact, to);
        exported.map_err(|error| Failure::because(&error))
    }
}

impl Drop for Transfers {
    fn drop(&mut self) {
        // Another command removes what is left.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// The machines of the grid that give and take files.
fn machines(client: &mut Client, me: &Identity) -> Result<Vec<FileHost>, Failure> {
    let give_up = shell::clock::mono() + PATIENCE;
    loop {
        let answer = client.ask(Request::Machines);
        let answer = answer.map_err(|error| Failure::because(&error))?;
        let Answer::Machines(known) = answer else {
            return Err(unfit(&answer));
        };
        let machines = known.into_iter().filter_map(|one| {
            let peer = Identity::new(me.grid(), me.group(), Role::Am, &one.name).ok()?;
            let address = one.bulk?;
            Some(FileHost {
                resource: one.resource,
                source: Source { peer, address },
            })
        });
        let machines: Vec<FileHost> = machines.collect();
        if !machines.is_empty() {
            return Ok(machines);
        }
        if shell::clock::mono() >= give_up {
            return Err(Failure::new(
                "there is no machine in the grid that gives or takes files",
            ));
        }
        pause();
    }
}

/// A directory of this command alone. Those of commands that were killed are removed.
fn own_directory() -> Result<PathBuf, Failure> {
    let all = home::transfers()?;
    let cannot = |path: &Path, error: &std::io::Error| {
        Failure::new(format!("could not make {}: {error}", path.display()))
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&all)
        .map_err(|error| cannot(&all, &error))?;
    for entry in fs::read_dir(&all).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.split('-').next());
        let is_left = pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists());
        if is_left {
            // Another command may be at it too.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    let number = getrandom::u64();
    let number = number.map_err(|error| Failure::new(format!("could not draw a name: {error}")))?;
    let own = all.join(format!("{}-{number:016x}", std::process::id()));
    let made = DirBuilder::new().mode(0o700).create(&own);
    made.map_err(|error| cannot(&own, &error))?;
    Ok(own)
}

#[expect(
    clippy::disallowed_methods,
    reason = "that a machine has registered gives no event to a client; the loop has a deadline"
)]
fn pause() {
    std::thread::sleep(LOOK);
}
