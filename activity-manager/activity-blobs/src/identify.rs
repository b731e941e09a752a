//! Files by their content, without a store: what they would be in one.

use std::fs::File;
use std::path::Path;

use model::{Artifact, ArtifactKind, Bytes, Hash};
use rustix::fs::Stat;

use crate::beneath::{Opened, Root};
use crate::walk::{Visit, Wanted, walk};
use crate::{AddError, Content, ITEMS_MAX, Item, Listing, sparse};

/// The artifact that [`Store::add_file`](crate::Store::add_file) would give. Nothing is written.
pub fn identify_file(path: &Path) -> Result<Artifact, AddError> {
    let open = |source| AddError::Open {
        path: path.to_path_buf(),
        source,
    };
    // Checked before it is opened, because opening a pipe would wait for its other end.
    let metadata = std::fs::metadata(path).map_err(open)?;
    let path = path.to_path_buf();
    if metadata.is_dir() {
        return Err(AddError::NotAFile { path });
    }
    if !metadata.is_file() {
        return Err(AddError::Special { path });
    }
    let file = File::open(&path).map_err(open)?;
    let stat = rustix::fs::fstat(&file).map_err(|error| open(error.into()))?;
    identify(&file, &stat, &path)
}

/// The artifact that [`Store::add_tree`](crate::Store::add_tree) would give. Nothing is written.
pub fn identify_tree(path: &Path) -> Result<Artifact, AddError> {
    let open = |source| AddError::Open {
        path: path.to_path_buf(),
        source,
    };
    let root = Root::open(path).map_err(open)?;
    let start = match root.find(Path::new("")) {
        Ok(Opened::Directory(directory, inside)) => (directory, inside),
        Ok(Opened::File(..) | Opened::Special) => {
            let path = path.to_path_buf();
            return Err(AddError::NotADirectory { path });
        }
        Err(failed) => return Err(AddError::find(path, failed)),
    };
    let mut items = Vec::new();
    walk(&root, start, &Wanted::All, &mut |inside, visit| {
        if items.len() == ITEMS_MAX {
            let path = path.to_path_buf();
            return Err(AddError::TooMany { path });
        }
        let content = match visit {
            Visit::EmptyDirectory => Content::EmptyDirectory,
            Visit::File(file, stat) => Content::File(identify(&file, &stat, Path::new(&inside))?),
        };
        items.push(Item {
            path: inside,
            content,
        });
        Ok(())
    })?;
    let listed = |source| AddError::Listing {
        path: path.to_path_buf(),
        source,
    };
    let listing = Listing::new(items).map_err(listed)?;
    let text = listing.to_text().map_err(listed)?;
    Ok(Artifact {
        hash: Hash(*blake3::hash(text.as_bytes()).as_bytes()),
        bytes: listing.bytes(),
        kind: ArtifactKind::Directory,
    })
}

fn identify(file: &File, stat: &Stat, path: &Path) -> Result<Artifact, AddError> {
    let hashed = sparse::hash(file).map_err(std::io::Error::from);
    let (hash, bytes) = hashed.map_err(|source| AddError::Read {
        path: path.to_path_buf(),
        source,
    })?;
    let is_program = stat.st_mode & 0o111 != 0;
    Ok(Artifact {
        hash,
        bytes: Bytes(bytes),
        kind: match is_program {
            true => ArtifactKind::Program,
            false => ArtifactKind::File,
        },
    })
}

#[cfg(test)]
mod tests;
