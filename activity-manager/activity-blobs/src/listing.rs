//! The content of a directory, as the blob that identifies it: one line a file.
//!
//! ```text
//! xavantes listing 1
//! d logs                            an empty directory
//! f <hash> <bytes> parts/a.csv      a file
//! p <hash> <bytes> run.sh           a program
//! ```
//!
//! Lines are sorted by the bytes of their paths. Each tree has exactly one text, and no other text
//! is accepted, so equal trees have equal hashes. A line end and a backslash in a path are written
//! `\n` and `\\`.

use std::fmt::Write as _;

use model::{Artifact, ArtifactKind, Bytes, Hash};

use crate::{DEPTH_MAX, ITEMS_MAX, LISTING_BYTES_MAX, PATH_BYTES_MAX};

/// The files and empty directories of a tree, sorted by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    items: Vec<Item>,
}

/// One line of a [`Listing`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its path under the tree's root: relative, no `.`, `..` or empty part.
    pub path: String,
    /// The entry at the path.
    pub content: Content,
}

/// An entry of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A file or a program, never a directory.
    File(Artifact),
    /// An empty directory. All others follow from the paths of their files.
    EmptyDirectory,
}

/// Why a listing is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListingError {
    /// The first line is another one.
    #[error("the first line is not `{HEADER}`")]
    Header,
    /// A line has another form.
    #[error("line {line} is not a line of a listing")]
    Line {
        /// Counted from 1.
        line: usize,
    },
    /// A path that could leave the tree, or is too long or deep.
    #[error("a path cannot be part of a tree: `{path}`")]
    Path {
        /// The path.
        path: String,
    },
    /// The same path twice, or lines out of order.
    #[error("`{path}` is there twice or out of order")]
    Order {
        /// The later path.
        path: String,
    },
    /// An entry lies under a path that is a file or an empty directory.
    #[error("`{path}` lies under something that is not a directory with files")]
    Under {
        /// The lower path.
        path: String,
    },
    /// An entry is a directory and must be a file.
    #[error("`{path}` is a listing inside a listing")]
    Nested {
        /// Its path.
        path: String,
    },
    /// Too many lines.
    #[error("more than {ITEMS_MAX} files")]
    TooMany,
    /// Too much text.
    #[error("a listing of more than {LISTING_BYTES_MAX} bytes")]
    TooLarge,
}

const HEADER: &str = "xavantes listing 1";

impl Listing {
    /// Sorts the items and checks that they can be one tree.
    pub fn new(mut items: Vec<Item>) -> Result<Listing, ListingError> {
        items.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        check(&items)?;
        Ok(Listing { items })
    }

    /// Parses a listing. Only the exact form of [`Listing::to_text`] is accepted.
    pub fn parse(text: &[u8]) -> Result<Listing, ListingError> {
        if text.len() as u64 > LISTING_BYTES_MAX {
            return Err(ListingError::TooLarge);
        }
        let text = std::str::from_utf8(text).map_err(|_| ListingError::Header)?;
        let body = text
            .strip_prefix(HEADER)
            .and_then(|rest| rest.strip_prefix('\n'))
            .ok_or(ListingError::Header)?;
        let mut items = Vec::new();
        let mut written = String::new();
        for (index, line) in body.split_inclusive('\n').enumerate() {
            if items.len() == ITEMS_MAX {
                return Err(ListingError::TooMany);
            }
            let wrong = ListingError::Line { line: index + 2 };
            let item = parse_line(line).ok_or(wrong.clone())?;
            written.clear();
            write_line(&item, &mut written);
            if written != line {
                return Err(wrong);
            }
            items.push(item);
        }
        check(&items)?;
        Ok(Listing { items })
    }

    /// The one text of this tree.
    pub fn to_text(&self) -> Result<String, ListingError> {
        let mut text = String::from(HEADER);
        text.push('\n');
        for item in &self.items {
            write_line(item, &mut text);
            if text.len() as u64 > LISTING_BYTES_MAX {
                return Err(ListingError::TooLarge);
            }
        }
        Ok(text)
    }

    /// Its lines, sorted by path.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The files alone, with their paths.
    pub fn files(&self) -> impl Iterator<Item = (&str, Artifact)> {
        self.items.iter().filter_map(|item| match item.content {
            Content::File(artifact) => Some((item.path.as_str(), artifact)),
            Content::EmptyDirectory => None,
        })
    }

    /// The size of all files together.
    pub fn bytes(&self) -> Bytes {
        self.files()
            .fold(Bytes::ZERO, |sum, (_, artifact)| sum + artifact.bytes)
    }
}

/// The parts of a path that stays below its root; none if it might not.
pub(crate) fn parts(path: &str) -> Option<Vec<&str>> {
    let parts: Vec<&str> = path.split('/').collect();
    let is_sound = path.len() <= PATH_BYTES_MAX
        && parts.len() <= DEPTH_MAX + 1
        && !path.contains('\0')
        && parts
            .iter()
            .all(|part| !part.is_empty() && *part != "." && *part != "..");
    is_sound.then_some(parts)
}

fn check(items: &[Item]) -> Result<(), ListingError> {
    if items.len() > ITEMS_MAX {
        return Err(ListingError::TooMany);
    }
    for (index, item) in items.iter().enumerate() {
        let path = || item.path.clone();
        if parts(&item.path).is_none() {
            return Err(ListingError::Path { path: path() });
        }
        if index > 0 && items[index - 1].path >= item.path {
            return Err(ListingError::Order { path: path() });
        }
        if let Content::File(artifact) = item.content
            && artifact.kind == ArtifactKind::Directory
        {
            return Err(ListingError::Nested { path: path() });
        }
    }
    // Only after the order is known: between `a` and `a/b` there may be others, such as `a-b`.
    for item in items {
        let mut above = item.path.as_str();
        while let Some((parent, _)) = above.rsplit_once('/') {
            if items
                .binary_search_by(|other| other.path.as_str().cmp(parent))
                .is_ok()
            {
                return Err(ListingError::Under {
                    path: item.path.clone(),
                });
            }
            above = parent;
        }
    }
    Ok(())
}

fn write_line(item: &Item, text: &mut String) {
    match item.content {
        Content::EmptyDirectory => text.push('d'),
        Content::File(artifact) => {
            let kind = if artifact.kind == ArtifactKind::Program {
                'p'
            } else {
                'f'
            };
            write!(text, "{kind} {} {}", artifact.hash, artifact.bytes.0)
                .expect("a string takes what is written");
        }
    }
    text.push(' ');
    for letter in item.path.chars() {
        match letter {
            '\n' => text.push_str("\\n"),
            '\\' => text.push_str("\\\\"),
            _ => text.push(letter),
        }
    }
    text.push('\n');
}

fn parse_line(line: &str) -> Option<Item> {
    let (kind, rest) = line.strip_suffix('\n')?.split_once(' ')?;
    let kind = match kind {
        "d" => {
            return Some(Item {
                path: unescape(rest)?,
                content: Content::EmptyDirectory,
            });
        }
        "f" => ArtifactKind::File,
        "p" => ArtifactKind::Program,
        _ => return None,
    };
    let (hash, rest) = rest.split_once(' ')?;
    let (bytes, path) = rest.split_once(' ')?;
    let hash: Hash = hash.parse().ok()?;
    let bytes = Bytes(bytes.parse().ok()?);
    let content = Content::File(Artifact { hash, bytes, kind });
    Some(Item {
        path: unescape(path)?,
        content,
    })
}

fn unescape(text: &str) -> Option<String> {
    let mut path = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        path.push(match letter {
            '\\' => match letters.next()? {
                'n' => '\n',
                '\\' => '\\',
                _ => return None,
            },
            _ => letter,
        });
    }
    Some(path)
}

#[cfg(test)]
mod tests;
