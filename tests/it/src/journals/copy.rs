//! Copies of state directories, without what belongs to the run that has ended.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Names in a state directory that no later run reads: locks, logs of programs, and the directories of
/// attempts that were running.
const LEFT_OUT: &[&str] = &[
    "lock",
    "xav.log",
    "executor.lock",
    "executor.err",
    "containment",
    "work",
];

/// Zeros that stay at the end of a journal's tail: the last commit may end with some of its own.
const ZEROS: usize = 64;

/// Copies a directory.
pub(super) fn all(from: &Path, to: &Path) {
    for (path, bytes) in contents(from) {
        let path = to.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// Every file that a later run reads, by its path. A journal's tail is without most zeros at its end, which the
/// journal adds again.
pub(super) fn contents(state: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    read(state, "", &mut files);
    files
}

fn read(directory: &Path, above: &str, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if LEFT_OUT.contains(&&*name) {
            continue;
        }
        let path = format!("{above}{name}");
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            read(&entry.path(), &format!("{path}/"), files);
        } else if kind.is_file() {
            let mut bytes = fs::read(entry.path()).unwrap();
            if name == "tail" {
                let used = bytes.iter().rposition(|byte| *byte != 0);
                bytes.truncate(used.map_or(0, |last| last + 1) + ZEROS);
            }
            files.insert(path, bytes);
        }
    }
}
