//! Files of users of which the store keeps no copy: an activity that reads one has it copied again, if it is still
//! what it was.

use std::path::PathBuf;
use std::sync::Arc;

use activity_blobs::Store;
use model::Artifact;

/// The files or directories that were an artifact when a process was given it.
pub type Origins = Arc<dyn Fn(Artifact) -> Vec<PathBuf> + Send + Sync>;

/// Copies artifacts from where their users have them. Returns true if the store has all of them then.
pub(crate) fn take_again(
    blobs: &Store,
    origins: &Origins,
    artifacts: impl IntoIterator<Item = Artifact>,
) -> bool {
    let mut artifacts = artifacts.into_iter();
    artifacts.all(|artifact| {
        let found = origins(artifact);
        let mut found = found.iter();
        found.any(|path| match blobs.take_again(path, artifact) {
            Ok(true) => true,
            Ok(false) => {
                let path = path.display();
                tracing::warn!(%path, "a file has changed since its copy was let go");
                false
            }
            Err(error) => {
                let error = crate::workers::chain(&error);
                tracing::warn!(error, "a file cannot be copied again");
                false
            }
        })
    })
}
