//! Patterns of files that are given as a list: `data/*.fastq`, `runs/**/log?.txt`.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use model::limits::ITEMS_MAX;

use super::{reason, short};

/// Directories within each other that a `**` looks into.
const DEPTH_MAX: usize = 64;

/// A part of a pattern, between two slashes.
enum Part {
    /// A name as it is written.
    Name(String),
    /// Names that match; hidden ones only where the pattern begins with a dot.
    Matching(GlobMatcher, bool),
    /// `**`: any number of directories.
    Deep,
}

/// The paths that a text stands for, in the order of their names: itself where it is no pattern, or
/// where there is a file of that name.
pub(super) fn paths(text: &str, directories: bool) -> Result<Vec<String>, String> {
    if !text.contains(['*', '?', '[']) || Path::new(text).exists() {
        return Ok(vec![text.to_owned()]);
    }
    let (base, rest) = match text.strip_prefix('/') {
        Some(rest) => (PathBuf::from("/"), rest),
        None => (PathBuf::new(), text),
    };
    let parts = rest.split('/').filter(|part| !part.is_empty());
    let parts: Vec<Part> = parts.map(part).collect::<Result<_, _>>()?;
    let mut found = Vec::new();
    look(&base, &parts, directories, DEPTH_MAX, &mut found)?;
    found.sort();
    found.dedup();
    match found.is_empty() {
        true => Err(format!("nothing matches {}", short(text))),
        false => Ok(found),
    }
}

/// The same for a pattern below a directory; the paths are from there.
pub(super) fn beside(directory: &Path, text: &str) -> Result<Vec<String>, String> {
    if !text.contains(['*', '?', '[']) || directory.join(text).exists() {
        return Ok(vec![text.to_owned()]);
    }
    let parts: Vec<Part> = text.split('/').map(part).collect::<Result<_, _>>()?;
    let mut found = Vec::new();
    look(directory, &parts, false, DEPTH_MAX, &mut found)?;
    let below = found.iter().filter_map(|path| {
        let path = Path::new(path).strip_prefix(directory).ok()?;
        path.to_str().map(str::to_owned)
    });
    let mut below: Vec<String> = below.collect();
    below.sort();
    below.dedup();
    match below.is_empty() {
        true => Err(format!(
            "nothing matches {} beside the definition",
            short(text)
        )),
        false => Ok(below),
    }
}

fn part(text: &str) -> Result<Part, String> {
    if text == "**" {
        return Ok(Part::Deep);
    }
    if !text.contains(['*', '?', '[']) {
        return Ok(Part::Name(text.to_owned()));
    }
    let glob = GlobBuilder::new(text).literal_separator(true).build();
    let glob = glob.map_err(|error| format!("the pattern `{}`: {}", short(text), error.kind()))?;
    Ok(Part::Matching(
        glob.compile_matcher(),
        text.starts_with('.'),
    ))
}

fn look(
    base: &Path,
    parts: &[Part],
    directories: bool,
    depth: usize,
    found: &mut Vec<String>,
) -> Result<(), String> {
    let Some((first, rest)) = parts.split_first() else {
        if base.is_symlink() && !base.exists() {
            return Err(format!(
                "{} matches, and is a link to nothing",
                base.display()
            ));
        }
        if base.is_dir() == directories && base.exists() {
            if found.len() >= ITEMS_MAX {
                return Err(format!("more than {ITEMS_MAX} files match"));
            }
            let Some(path) = base.to_str() else {
                return Err(format!("the name {} is no UTF-8", base.display()));
            };
            found.push(path.to_owned());
        }
        return Ok(());
    };
    match first {
        Part::Name(name) => look(&base.join(name), rest, directories, depth, found),
        Part::Matching(glob, hidden) => {
            for name in names(base)? {
                let is_hidden = name.as_encoded_bytes().starts_with(b".");
                if (*hidden || !is_hidden) && glob.is_match(&name) {
                    look(&base.join(&name), rest, directories, depth, found)?;
                }
            }
            Ok(())
        }
        Part::Deep => {
            look(base, rest, directories, depth, found)?;
            if depth == 0 {
                return Ok(());
            }
            for name in names(base)? {
                let below = base.join(&name);
                // A link could lead back up.
                let is_hidden = name.as_encoded_bytes().starts_with(b".");
                let is_directory = !is_hidden && below.is_dir() && !below.is_symlink();
                if is_directory {
                    look(&below, parts, directories, depth - 1, found)?;
                }
            }
            Ok(())
        }
    }
}

/// The names in a directory; none where it is no directory.
fn names(directory: &Path) -> Result<Vec<OsString>, String> {
    let shown = match directory.as_os_str().is_empty() {
        true => Path::new("."),
        false => directory,
    };
    if !shown.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(shown);
    let entries = entries.map_err(|error| {
        format!(
            "could not look into {}: {}",
            shown.display(),
            reason(&error)
        )
    })?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| reason(&error))?;
        names.push(entry.file_name());
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    use super::*;

    fn found(directory: &Path, pattern: &str) -> Vec<String> {
        let pattern = format!("{}/{pattern}", directory.display());
        let paths = paths(&pattern, false).unwrap_or_default();
        let below = format!("{}/", directory.display());
        let names = paths.iter().map(|path| path.replace(&below, ""));
        names.collect()
    }

    #[test]
    fn patterns_find_files_in_the_order_of_their_names() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        fs::create_dir_all(directory.join("in/deep")).unwrap();
        for name in [
            "b.txt",
            "a.txt",
            "c.csv",
            ".h.txt",
            "in/d.txt",
            "in/deep/e.txt",
            "[x].txt",
        ] {
            fs::write(directory.join(name), name).unwrap();
        }
        assert_eq!(found(directory, "*.txt"), ["[x].txt", "a.txt", "b.txt"]);
        assert_eq!(found(directory, "?.*"), ["a.txt", "b.txt", "c.csv"]);
        assert_eq!(found(directory, "[ab].txt"), ["a.txt", "b.txt"]);
        assert_eq!(found(directory, "[x].txt"), ["[x].txt"]);
        assert_eq!(found(directory, ".*.txt"), [".h.txt"]);
        assert_eq!(found(directory, "*/*.txt"), ["in/d.txt"]);
        assert_eq!(
            found(directory, "in/**/*.txt"),
            ["in/d.txt", "in/deep/e.txt"]
        );
        assert_eq!(found(directory, "plain.txt"), ["plain.txt"]);
    }

    #[test]
    fn a_file_that_matches_and_cannot_be_given_is_told_and_not_left_out() {
        let directory = tempfile::tempdir().unwrap();
        let pattern = format!("{}/*.txt", directory.path().display());
        let file = |name: &[u8]| directory.path().join(OsStr::from_bytes(name));
        fs::write(file(b"a.txt"), "").unwrap();
        fs::write(file(b"\xff.csv"), "").unwrap();
        assert_eq!(paths(&pattern, false).unwrap().len(), 1);
        symlink("nowhere", file(b"link.txt")).unwrap();
        let error = paths(&pattern, false).unwrap_err();
        assert!(
            error.ends_with("link.txt matches, and is a link to nothing"),
            "{error}"
        );
        fs::remove_file(file(b"link.txt")).unwrap();
        fs::write(file(b"\xff.txt"), "").unwrap();
        let error = paths(&pattern, false).unwrap_err();
        assert!(error.ends_with(".txt is no UTF-8"), "{error}");
    }

    #[test]
    fn a_pattern_that_matches_nothing_is_a_mistake() {
        let error = paths("/nowhere-at-all/*.fastq", false).unwrap_err();
        assert_eq!(error, "nothing matches /nowhere-at-all/*.fastq");
        assert!(paths("x[", false).unwrap_err().contains("the pattern `x[`"));
    }
}
