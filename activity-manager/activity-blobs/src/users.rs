//! The users of blobs, so that files which a process does not need any more can be deleted at once.
//!
//! A blob is named by its content, so it may be several things: an output of two activities, an input of
//! another process, a file that a user has given. It is deleted only if all its users are known, and none
//! of them is left.
//!
//! ```text
//!   added --used by a maker--> known users --the last maker's files are discarded--> deleted
//!     |                             |
//!     \-----------shared------------+--> shared: only eviction removes it
//! ```
//! Users are in memory alone. Blobs that an earlier run of the store has left may have any user, so they
//! count as shared.

use std::collections::BTreeSet;

use model::{Artifact, ArtifactKind, Hash};

use crate::Store;
use crate::evict::EvictError;
use crate::index::Durability;
use crate::store::lock_of;

/// Somebody who has a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct User {
    /// Its owner, as for pins.
    pub owner: u64,
    /// The activity that made it and the number of the attempt; none for whoever was given it.
    pub maker: Option<(u32, u32)>,
}

/// The users of one blob.
#[derive(Clone, Debug, Default)]
pub(crate) struct Users {
    all: BTreeSet<User>,
    /// Owners that need none of what they made here, and got nothing here since. They stay among the users, so
    /// that a repeated request finds them, and count for nothing.
    let_go: BTreeSet<u64>,
}

impl Users {
    pub(crate) fn note(&mut self, user: User) {
        self.let_go.remove(&user.owner);
        self.all.insert(user);
    }

    /// The attempts up to this one at an activity need the blob no more. Returns true if nobody does: all who
    /// are left have let it go.
    pub(crate) fn forget_makers(&mut self, owner: u64, (activity, number): (u32, u32)) -> bool {
        let has_ended = |user: &User| {
            let made = user.maker;
            user.owner == owner && made.is_some_and(|(of, at)| of == activity && at <= number)
        };
        let n_before = self.all.len();
        self.all.retain(|user| !has_ended(user));
        let own = User { owner, maker: None };
        if self.all.len() == n_before && !self.all.contains(&own) {
            return false;
        }
        self.all.insert(own);
        self.let_go.insert(owner);
        let is_over = |user: &User| user.maker.is_none() && self.let_go.contains(&user.owner);
        self.all.iter().all(is_over)
    }
}

/// The end of [`Store::drop_made`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// All is done: what nobody else has is deleted.
    Done,
    /// A blob that nobody needs is held or was used a moment ago: to be tried again.
    Held,
}

impl Store {
    /// Anybody may have these artifacts: only an eviction removes them.
    pub fn share(&self, artifacts: &[Artifact]) {
        for hash in self.blobs_of(artifacts) {
            self.inner.index().share(hash);
        }
    }

    /// Anybody may have this blob.
    pub fn share_blob(&self, hash: Hash) {
        self.inner.index().share(hash);
    }

    /// These artifacts have a further user. It does not matter for one that is shared or is not here.
    pub fn note_user(&self, user: User, artifacts: &[Artifact]) {
        for hash in self.blobs_of(artifacts) {
            self.inner.index().note_user(hash, user);
        }
    }

    /// The present moment, for [`Store::drop_made`] and [`Store::discard_unused`].
    pub fn moment(&self) -> u64 {
        self.inner.index().tick()
    }

    /// The attempts up to this one at an activity have made these artifacts, which their owner does not
    /// need any more. Deletes those without another maker, and without an owner who was given them and has let
    /// nothing go since, unless they were used after a moment. Costs O(blobs + owners of pins).
    pub fn drop_made(
        &self,
        owner: u64,
        (activity, number): (u32, u32),
        artifacts: &[Artifact],
        moment: u64,
    ) -> Result<Dropped, EvictError> {
        let mut dropped = Dropped::Done;
        // A directory's listing is read before it is gone.
        let idle: BTreeSet<Hash> = artifacts
            .iter()
            .map(|artifact| artifact.hash)
            .filter(|hash| self.inner.index().is_unused_since(*hash, moment))
            .collect();
        let hashes = self.blobs_of(artifacts);
        // To read a listing here is no use of it.
        let read_at = self.moment();
        let moment_of = |hash| {
            if idle.contains(&hash) {
                read_at
            } else {
                moment
            }
        };
        let mut unused = Vec::new();
        for hash in hashes {
            let mut index = self.inner.index();
            if index.forget_makers(hash, owner, (activity, number)) {
                unused.push((hash, index.get(hash).map(|entry| entry.durability)));
            }
        }
        if unused
            .iter()
            .any(|(_, one)| *one == Some(Durability::Fresh))
            && self.flush().is_err()
        {
            return Ok(Dropped::Held);
        }
        let mut pins = lock_of(&self.inner.pins);
        pins.unpin(owner, artifacts, |artifact| self.taken_by(artifact));
        for (hash, _) in unused {
            if pins.has(hash) {
                continue;
            }
            let removed = self.inner.remove_idle(hash, moment_of(hash));
            let removed = removed.map_err(|source| EvictError::Remove {
                hash,
                path: self.dir().to_path_buf(),
                source,
            })?;
            if removed.is_none() && self.contains(hash) {
                dropped = Dropped::Held;
            }
        }
        Ok(dropped)
    }

    /// The blobs of artifacts; a listing that is not here names none but itself.
    pub(crate) fn blobs_of(&self, artifacts: &[Artifact]) -> BTreeSet<Hash> {
        let mut hashes = BTreeSet::new();
        for artifact in artifacts {
            hashes.insert(artifact.hash);
            if artifact.kind == ArtifactKind::Directory
                && self.contains(artifact.hash)
                && let Ok(listing) = self.listing(artifact.hash)
            {
                hashes.extend(listing.files().map(|(_, file)| file.hash));
            }
        }
        hashes
    }
}

#[cfg(test)]
mod tests;
