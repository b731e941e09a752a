//! A file system as far as power cuts are concerned: what a recording has changed, what of it was
//! flushed, and what may be on the disk when the power goes in between.
//!
//! Flushed bytes are there. Of all others any block may be there or not, in any order. Of names that
//! were made, changed or removed and are not flushed, a journaling file system has all up to some
//! moment; others have any of them. A rename is always whole: every file system sees to that.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::record::{Call, Event};
use crate::kills::drawn;

/// The kind of an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    Directory,
    Link,
}

/// The number of an inode; that of the root directory is 0.
type Inode = usize;

const ROOT: Inode = 0;

/// A change, or a flush of changes. Times are those of the recording.
#[derive(Debug)]
struct Step {
    begun: usize,
    done: usize,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    /// Entries of directories that change together; none removes one.
    Entries(Vec<(Inode, String, Option<Inode>)>),
    Write(Inode, u64, Vec<u8>),
    Length(Inode, u64),
    Reserve(Inode, u64),
    Mode(Inode, u32),
    Flush {
        inode: Inode,
        is_whole: bool,
    },
    FlushAll,
}

/// The order in which a file system makes names durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The disk has the first changes, up to some point.
    Journaled,
    /// Any of the changes may be there.
    Unordered,
}

/// The recorded changes below one directory.
pub(super) struct Disk {
    kinds: Vec<Kind>,
    /// Modes as the inodes were made, and where links lead.
    modes: Vec<u32>,
    targets: BTreeMap<Inode, Vec<u8>>,
    steps: Vec<Step>,
}

/// Files, directories and links, by their paths.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tree(pub(super) BTreeMap<PathBuf, Node>);

#[derive(Clone, PartialEq, Eq)]
pub(super) enum Node {
    File { mode: u32, bytes: Vec<u8> },
    Directory { mode: u32 },
    Link(Vec<u8>),
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Node::File { mode, bytes } => write!(f, "file {mode:o} of {} bytes", bytes.len()),
            Node::Directory { mode } => write!(f, "directory {mode:o}"),
            Node::Link(target) => write!(f, "link to {}", String::from_utf8_lossy(target)),
        }
    }
}

/// Numbers that look drawn.
pub(super) struct Draw(u64);

impl Draw {
    pub(super) fn new(seed: u64) -> Draw {
        Draw(drawn(seed))
    }

    /// A number below another one.
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 = drawn(self.0);
        (self.0 % end.max(1) as u64) as usize
    }

    /// Yes, in so many of four cases.
    fn is_one_of_four(&mut self, n_cases: usize) -> bool {
        self.below(4) < n_cases
    }
}

impl Step {
    fn is_flush(&self) -> bool {
        match self.what {
            What::Flush { .. } | What::FlushAll => true,
            What::Entries(_)
            | What::Write(..)
            | What::Length(..)
            | What::Reserve(..)
            | What::Mode(..) => false,
        }
    }

    fn is_of_names(&self) -> bool {
        matches!(self.what, What::Entries(_) | What::Mode(..))
    }

    /// True if a flush makes the change durable on every file system.
    fn covers(&self, change: &Step) -> bool {
        if change.done >= self.begun {
            return false;
        }
        let What::Flush { inode, is_whole } = self.what else {
            return matches!(self.what, What::FlushAll);
        };
        match &change.what {
            What::Write(of, ..) | What::Length(of, _) | What::Reserve(of, _) => *of == inode,
            What::Mode(of, _) => *of == inode && is_whole,
            What::Entries(entries) => entries.iter().any(|(of, ..)| *of == inode),
            What::Flush { .. } | What::FlushAll => false,
        }
    }

    /// True if it makes all earlier names durable, as a file system's journal is written in order.
    fn covers_names(&self) -> bool {
        matches!(
            self.what,
            What::FlushAll | What::Flush { is_whole: true, .. }
        )
    }
}

impl Disk {
    /// Follows a recording beneath a directory that was empty before.
    pub(super) fn of(events: &[Event], root: &Path) -> Disk {
        let mut names = Names::of(root);
        for event in events {
            names.follow(event);
        }
        names.disk
    }

    /// Everything, as if the power had never gone.
    pub(super) fn whole(&self) -> Tree {
        self.tree(self.steps.iter().map(|step| &step.what))
    }

    /// The changes that certainly survive a power cut at this time.
    pub(super) fn flushed(&self, time: usize) -> Tree {
        let is_past = |step: &&Step| step.is_flush() && step.done < time;
        let flushes: Vec<&Step> = self.steps.iter().filter(is_past).collect();
        let is_durable = |step: &&Step| flushes.iter().any(|flush| flush.covers(step));
        self.tree(self.steps.iter().filter(is_durable).map(|step| &step.what))
    }

    /// The changes that may survive a power cut at this time.
    pub(super) fn cut(&self, time: usize, order: Order, draw: &mut Draw) -> Tree {
        let is_past = |step: &&Step| step.is_flush() && step.done < time;
        let flushes: Vec<&Step> = self.steps.iter().filter(is_past).collect();
        let is_durable = |step: &Step| flushes.iter().any(|flush| flush.covers(step));
        let journaled_until = self.journaled_until(time, &flushes, draw);
        // In how many of four cases something is there that was not flushed.
        let (of_names, of_bytes) = (draw.below(5), draw.below(5));
        let block_bytes = [512, 4096][draw.below(2)];
        let mut there: Vec<What> = Vec::new();
        for step in self.steps.iter().filter(|step| step.begun < time) {
            let is_there = match (&step.what, order) {
                _ if is_durable(step) => true,
                (What::Entries(_) | What::Mode(..), Order::Journaled) => {
                    step.begun < journaled_until
                }
                (What::Entries(_) | What::Mode(..), Order::Unordered) => {
                    draw.is_one_of_four(of_names)
                }
                (What::Length(..) | What::Reserve(..), _) => draw.is_one_of_four(of_bytes),
                (What::Write(inode, at, bytes), _) => {
                    for (at, block) in blocks(*at, bytes, block_bytes) {
                        if draw.is_one_of_four(of_bytes) {
                            there.push(What::Write(*inode, at, block.to_vec()));
                        }
                    }
                    false
                }
                (What::Flush { .. } | What::FlushAll, _) => false,
            };
            if is_there {
                there.push(step.what.clone());
            }
        }
        self.tree(there.iter())
    }

    /// Up to when the journal of a file system has the changes of names: at least up to the last one
    /// that a flush was for.
    fn journaled_until(&self, time: usize, flushes: &[&Step], draw: &mut Draw) -> usize {
        let last = flushes.iter().filter(|flush| flush.covers_names());
        let last = last.map(|flush| flush.begun).max();
        let changed = self.steps.iter().filter(|step| step.is_of_names());
        let flushed = changed.filter(|step| last.is_some_and(|last| step.done < last));
        let least = flushed.map(|step| step.begun + 1).max().unwrap_or(0);
        match draw.below(3) {
            0 => least,
            1 => time,
            _ => least + draw.below(time.saturating_sub(least)),
        }
    }

    /// The file system after these changes.
    fn tree<'w>(&self, changes: impl Iterator<Item = &'w What>) -> Tree {
        let mut entries: BTreeMap<Inode, BTreeMap<&str, Inode>> = BTreeMap::new();
        let mut bytes: BTreeMap<Inode, Vec<u8>> = BTreeMap::new();
        let mut modes = self.modes.clone();
        for change in changes {
            match change {
                What::Entries(changed) => {
                    for (directory, name, inode) in changed {
                        let entries = entries.entry(*directory).or_default();
                        match inode {
                            Some(inode) => entries.insert(name, *inode),
                            None => entries.remove(&**name),
                        };
                    }
                }
                What::Write(inode, at, written) => {
                    write_at(bytes.entry(*inode).or_default(), *at, written)
                }
                What::Length(inode, length) => {
                    bytes.entry(*inode).or_default().resize(*length as usize, 0)
                }
                What::Reserve(inode, length) => {
                    let bytes = bytes.entry(*inode).or_default();
                    bytes.resize(bytes.len().max(*length as usize), 0);
                }
                What::Mode(inode, mode) => modes[*inode] = *mode,
                What::Flush { .. } | What::FlushAll => {}
            }
        }
        let mut tree = Tree::default();
        let mut left = vec![(PathBuf::new(), ROOT)];
        while let Some((path, directory)) = left.pop() {
            for (name, &inode) in entries.get(&directory).into_iter().flatten() {
                let (path, mode) = (path.join(name), modes[inode]);
                let node = match self.kinds[inode] {
                    Kind::File => Node::File {
                        mode,
                        bytes: bytes.get(&inode).cloned().unwrap_or_default(),
                    },
                    Kind::Directory => {
                        left.push((path.clone(), inode));
                        Node::Directory { mode }
                    }
                    Kind::Link => Node::Link(self.targets[&inode].clone()),
                };
                tree.0.insert(path, node);
            }
        }
        tree
    }
}

fn write_at(bytes: &mut Vec<u8>, at: u64, written: &[u8]) {
    let (from, until) = (at as usize, at as usize + written.len());
    bytes.resize(bytes.len().max(until), 0);
    bytes[from..until].copy_from_slice(written);
}

/// The blocks of a disk that a write touches.
fn blocks(at: u64, bytes: &[u8], block_bytes: usize) -> Vec<(u64, &[u8])> {
    let mut blocks = Vec::new();
    let (mut at, mut left) = (at as usize, bytes);
    while !left.is_empty() {
        let (block, rest) = left.split_at(left.len().min(block_bytes - at % block_bytes));
        blocks.push((at as u64, block));
        (at, left) = (at + block.len(), rest);
    }
    blocks
}

impl Tree {
    /// The entries of a directory without sockets, which mean nothing after a restart.
    pub(super) fn read(root: &Path) -> Tree {
        let mut tree = Tree::default();
        let mut left = vec![PathBuf::new()];
        while let Some(directory) = left.pop() {
            for entry in fs::read_dir(root.join(&directory)).unwrap() {
                let entry = entry.unwrap();
                let path = directory.join(entry.file_name());
                let metadata = entry.metadata().unwrap();
                let mode = metadata.permissions().mode() & 0o7777;
                let node = if metadata.is_dir() {
                    left.push(path.clone());
                    Node::Directory { mode }
                } else if metadata.is_symlink() {
                    let target = fs::read_link(entry.path()).unwrap();
                    Node::Link(target.as_os_str().as_bytes().to_vec())
                } else if metadata.is_file() {
                    let bytes = fs::read(entry.path()).unwrap();
                    Node::File { mode, bytes }
                } else {
                    continue;
                };
                tree.0.insert(path, node);
            }
        }
        tree
    }

    /// Lays it into a directory, over what is there.
    pub(super) fn write_over(&self, root: &Path) {
        for (path, node) in &self.0 {
            let path = root.join(path);
            match node {
                Node::File { bytes, .. } => fs::write(&path, bytes).unwrap(),
                Node::Directory { .. } => fs::create_dir(&path).unwrap(),
                Node::Link(target) => symlink(std::ffi::OsStr::from_bytes(target), &path).unwrap(),
            }
        }
        for (path, node) in &self.0 {
            if let Node::File { mode, .. } | Node::Directory { mode } = node {
                fs::set_permissions(root.join(path), Permissions::from_mode(*mode)).unwrap();
            }
        }
    }
}

/// The names as the recorded program saw them.
struct Names {
    disk: Disk,
    root: PathBuf,
    /// Permissions that are given to nobody unless they are set.
    umask: u32,
    entries: BTreeMap<Inode, BTreeMap<String, Inode>>,
    /// The inode that last had a name: `strace` may show a descriptor by a name that has just changed.
    before: BTreeMap<PathBuf, Inode>,
    /// The files that have no name yet, by their descriptors.
    unnamed: BTreeMap<u64, Inode>,
    /// The next write position of each file.
    positions: BTreeMap<Inode, u64>,
    /// The read position of each file that is being copied.
    read: BTreeMap<PathBuf, u64>,
    /// The bytes of each file, for those that are copied.
    contents: BTreeMap<Inode, Vec<u8>>,
}

impl Names {
    fn of(root: &Path) -> Names {
        let disk = Disk {
            kinds: vec![Kind::Directory],
            modes: vec![0o700],
            targets: BTreeMap::new(),
            steps: Vec::new(),
        };
        Names {
            disk,
            root: root.to_owned(),
            umask: umask(),
            entries: BTreeMap::new(),
            before: BTreeMap::new(),
            unnamed: BTreeMap::new(),
            positions: BTreeMap::new(),
            read: BTreeMap::new(),
            contents: BTreeMap::new(),
        }
    }

    fn follow(&mut self, event: &Event) {
        if let Some(what) = self.changed(&event.call) {
            for what in what {
                self.remember(&what);
                self.disk.steps.push(Step {
                    begun: event.begun,
                    done: event.done,
                    what,
                });
            }
        }
    }

    /// The changes of a call below the root; none if it changes nothing there.
    fn changed(&mut self, call: &Call) -> Option<Vec<What>> {
        let what = match call {
            Call::Open {
                path,
                creates,
                truncates,
                appends,
                mode,
            } => {
                self.read.insert(path.clone(), 0);
                let mut what = Vec::new();
                let inode = match self.find(path) {
                    Some(inode) => inode,
                    None if *creates => {
                        let (directory, name) = self.place(path)?;
                        let inode = self.make(Kind::File, *mode);
                        what.push(What::Entries(vec![(directory, name, Some(inode))]));
                        inode
                    }
                    None => return None,
                };
                if *truncates {
                    what.push(What::Length(inode, 0));
                }
                let length = self.contents.get(&inode).map_or(0, Vec::len) as u64;
                let at = if *appends { length } else { 0 };
                self.positions.insert(inode, at);
                what
            }
            Call::Unnamed {
                descriptor,
                path,
                mode,
            } => {
                self.place(path)?;
                let inode = self.make(Kind::File, *mode);
                self.unnamed.insert(*descriptor, inode);
                self.before.insert(path.clone(), inode);
                return None;
            }
            Call::Write { path, at, bytes } => {
                let inode = self.known(path)?;
                let start = at.unwrap_or(self.positions.get(&inode).copied().unwrap_or(0));
                if at.is_none() {
                    self.positions.insert(inode, start + bytes.len() as u64);
                }
                vec![What::Write(inode, start, bytes.clone())]
            }
            Call::Seek { path, at } => {
                let inode = self.known(path)?;
                self.positions.insert(inode, *at);
                return None;
            }
            Call::Length { path, bytes } => vec![What::Length(self.known(path)?, *bytes)],
            Call::Reserve { path, bytes } => vec![What::Reserve(self.known(path)?, *bytes)],
            Call::Copy { from, to, bytes } => {
                let inode = self.known(to)?;
                let start = self.positions.get(&inode).copied().unwrap_or(0);
                self.positions.insert(inode, start + bytes);
                let read = self.read.entry(from.clone()).or_default();
                let (first, last) = (*read as usize, (*read + bytes) as usize);
                *read += bytes;
                let source = match self.known(from) {
                    Some(source) => self.contents.get(&source).cloned().unwrap_or_default(),
                    // Files elsewhere do not change meanwhile.
                    None => fs::read(from).unwrap(),
                };
                vec![What::Write(inode, start, source[first..last].to_vec())]
            }
            Call::MakeDirectory { path, mode } => {
                let (directory, name) = self.place(path)?;
                let inode = self.make(Kind::Directory, *mode);
                vec![What::Entries(vec![(directory, name, Some(inode))])]
            }
            Call::Rename { from, to } => {
                let inode = self.find(from)?;
                let (from, name) = self.place(from)?;
                let (to, other) = self.place(to)?;
                vec![What::Entries(vec![
                    (from, name, None),
                    (to, other, Some(inode)),
                ])]
            }
            Call::Link { from, to } => {
                let inode = self.known(from)?;
                let (directory, name) = self.place(to)?;
                vec![What::Entries(vec![(directory, name, Some(inode))])]
            }
            Call::LinkDescriptor { descriptor, to } => {
                let inode = self.unnamed.remove(descriptor)?;
                let (directory, name) = self.place(to)?;
                vec![What::Entries(vec![(directory, name, Some(inode))])]
            }
            Call::Symlink { target, path } => {
                let (directory, name) = self.place(path)?;
                let inode = self.make(Kind::Link, 0o777);
                self.disk.targets.insert(inode, target.clone());
                vec![What::Entries(vec![(directory, name, Some(inode))])]
            }
            Call::Remove { path } => {
                self.find(path)?;
                let (directory, name) = self.place(path)?;
                vec![What::Entries(vec![(directory, name, None)])]
            }
            Call::Mode { path, mode } => vec![What::Mode(self.known(path)?, *mode)],
            Call::Flush { path, is_whole } => vec![What::Flush {
                inode: self.known(path)?,
                is_whole: *is_whole,
            }],
            Call::FlushAll => vec![What::FlushAll],
            Call::Say(_) | Call::Send => return None,
        };
        Some(what)
    }

    fn remember(&mut self, what: &What) {
        match what {
            What::Entries(changed) => {
                for (directory, name, inode) in changed {
                    let entries = self.entries.entry(*directory).or_default();
                    match inode {
                        Some(inode) => entries.insert(name.clone(), *inode),
                        None => entries.remove(name),
                    };
                }
            }
            What::Write(inode, at, bytes) => {
                write_at(self.contents.entry(*inode).or_default(), *at, bytes);
            }
            What::Length(inode, bytes) => {
                let contents = self.contents.entry(*inode).or_default();
                contents.resize(*bytes as usize, 0);
            }
            What::Reserve(..) | What::Mode(..) | What::Flush { .. } | What::FlushAll => {}
        }
    }

    fn make(&mut self, kind: Kind, mode: u32) -> Inode {
        self.disk.kinds.push(kind);
        self.disk.modes.push(mode & !self.umask);
        self.disk.kinds.len() - 1
    }

    /// The inode with a name, remembered by it.
    fn find(&mut self, path: &Path) -> Option<Inode> {
        let mut inode = ROOT;
        for part in path.strip_prefix(&self.root).ok()? {
            inode = *self.entries.get(&inode)?.get(part.to_str()?)?;
        }
        self.before.insert(path.to_owned(), inode);
        Some(inode)
    }

    /// The inode behind a descriptor.
    fn known(&mut self, path: &Path) -> Option<Inode> {
        self.find(path).or_else(|| self.before.get(path).copied())
    }

    /// The directory of a path, and the name in it.
    fn place(&mut self, path: &Path) -> Option<(Inode, String)> {
        let directory = self.find(path.parent()?)?;
        Some((directory, path.file_name()?.to_str()?.to_owned()))
    }
}

/// This program's own, which those that it starts have too.
fn umask() -> u32 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    u32::from_str_radix(line.unwrap().trim(), 8).unwrap()
}
