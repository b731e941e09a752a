//! The credentials of a member's directory, read again only after a change of their files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::{Span, Wall};

use super::credentials::{self, Credentials, CredentialsError};
use super::lock::Stamp;

/// Time after a change of a file in which another change may leave it with the same metadata: the
/// system's time of a change advances in steps of some milliseconds, and a clock may be set by a
/// second.
const SETTLING: Span = Span::from_secs(2);

/// Reads the credentials of a member's directory. Files that were not changed are not read again.
#[derive(Debug)]
pub struct CredentialsReader {
    directory: PathBuf,
    read: Option<(Stamps, Arc<Credentials>)>,
}

/// The version of each file.
type Stamps = [Stamp; credentials::FILES.len()];

impl CredentialsReader {
    /// A reader that has read nothing yet.
    pub fn of(directory: &Path) -> CredentialsReader {
        CredentialsReader {
            directory: directory.to_owned(),
            read: None,
        }
    }

    /// The present credentials.
    pub fn read(&mut self, now: Wall) -> Result<Arc<Credentials>, CredentialsError> {
        let stamps = credentials::FILES.map(|name| Stamp::of(&self.directory.join(name)));
        if let Some((before, known)) = &self.read
            && *before == stamps
        {
            return Ok(Arc::clone(known));
        }
        // The stamps are older than the content: a change in between is read next time.
        self.read = None;
        let credentials = Arc::new(Credentials::load(&self.directory)?);
        if stamps.iter().all(|stamp| stamp.is_older(SETTLING, now)) {
            self.read = Some((stamps, Arc::clone(&credentials)));
        }
        Ok(credentials)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use model::{Identity, Role};
    use tempfile::TempDir;

    use super::*;
    use crate::clock;
    use crate::identity::{Authority, Key};

    #[test]
    fn credentials_are_read_again_after_a_change_and_not_otherwise() {
        let now = clock::wall();
        let day = Span::from_secs(86_400);
        let authority = Authority::create("grid", "lab", now, day).unwrap();
        let key = Key::generate().unwrap();
        let node = Identity::new("grid", "lab", Role::Am, "n").unwrap();
        let request = key.request().unwrap();
        let issue = || authority.issue(&request, &node, now, day).unwrap();
        let dir = TempDir::new().unwrap();
        let first = issue();
        Credentials::save(dir.path(), &first.pem, &key, authority.pem()).unwrap();
        let mut reader = CredentialsReader::of(dir.path());
        // Files that have just changed may change once more at the same time.
        let fresh = reader.read(clock::wall()).unwrap();
        assert!(!Arc::ptr_eq(&fresh, &reader.read(clock::wall()).unwrap()));
        let later = clock::wall() + SETTLING + SETTLING;
        let settled = reader.read(later).unwrap();
        assert!(Arc::ptr_eq(&settled, &reader.read(later).unwrap()));

        let second = issue();
        Credentials::replace(dir.path(), &second.pem).unwrap();
        let renewed = reader.read(later).unwrap();
        assert_eq!(renewed.certificate(), &second.certificate);
        Credentials::revoke(dir.path(), "").unwrap();
        assert!(!Arc::ptr_eq(&renewed, &reader.read(later).unwrap()));
        fs::remove_file(dir.path().join("certificate.pem")).unwrap();
        assert!(reader.read(later).is_err());
        // What was read before does not stand for what cannot be read.
        assert!(reader.read(later).is_err());
    }
}
