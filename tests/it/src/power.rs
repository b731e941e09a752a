//! Power cuts: what the programs do to the disk is recorded once, and from that the state is rebuilt
//! that a disk may have when the power goes at a drawn moment. Whoever was told that something was
//! done finds it done, and goes on; whoever was not can do it again.
//!
//! `XAVANTES_CUTS` says how many states of each subject are rebuilt; some where it is not set. A
//! state that fails is kept, and its path is told. `record.rs` has the recording, `disk.rs` the file
//! system.

mod disk;
mod grid;
mod record;
mod run;

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use self::disk::{Disk, Draw, Node, Order, Tree};
use self::record::{Call, Event, record};
use crate::sandbox::{Done, Sandbox};

/// States that are rebuilt of each subject where nobody says otherwise.
const CUTS: u64 = 100;

/// States that are told of where many fail.
const TOLD_MAX: usize = 5;

fn cuts() -> u64 {
    let told = std::env::var("XAVANTES_CUTS").ok();
    told.map_or(CUTS, |number| {
        number.parse().expect("XAVANTES_CUTS is a number")
    })
}

/// The changes that a command made to an empty directory.
struct Recording {
    done: Done,
    events: Vec<Event>,
    disk: Disk,
}

impl Recording {
    /// Does a command in a sandbox, in which nothing may change meanwhile but by this.
    fn of(sandbox: &Sandbox, command: &Command) -> Recording {
        let root = sandbox.path("").canonicalize().unwrap();
        let (output, events) = record(command);
        let disk = Disk::of(&events, &root);
        Recording {
            done: output.into(),
            events,
            disk,
        }
    }

    /// Asserts that the recording has missed nothing: what it leads to lies on the disk, beneath one
    /// directory.
    #[track_caller]
    fn is_whole(&self, sandbox: &Sandbox, beneath: &str) {
        let only = |tree: Tree| {
            let nodes = tree.0.into_iter();
            Tree(
                nodes
                    .filter(|(path, _)| path.starts_with(beneath))
                    .collect(),
            )
        };
        let root = sandbox.path("").canonicalize().unwrap();
        let (recorded, there) = (only(self.disk.whole()), only(Tree::read(&root)));
        for (path, node) in &there.0 {
            assert_eq!(recorded.0.get(path), Some(node), "{}", path.display());
        }
        for path in recorded.0.keys() {
            assert!(there.0.contains_key(path), "{} is gone", path.display());
        }
    }

    /// When something was said that has these words.
    #[track_caller]
    fn said(&self, words: &str) -> usize {
        let says = |event: &&Event| matches!(&event.call, Call::Say(bytes) if String::from_utf8_lossy(bytes).contains(words));
        let said = self.events.iter().find(says);
        said.unwrap_or_else(|| panic!("`{words}` was not said: {:?}", self.done))
            .done
    }

    /// The state of the disk after a drawn cut, and when that was.
    fn cut(&self, seed: u64) -> (usize, Tree) {
        let mut draw = Draw::new(seed);
        let order = match seed % 2 {
            0 => Order::Journaled,
            _ => Order::Unordered,
        };
        // Between two calls: in a time in which nothing is done, nothing can be lost.
        let at = draw.below(self.events.len() + 1);
        let time = self
            .events
            .get(at)
            .map_or(usize::MAX, |event| event.begun + draw.below(2));
        (time, self.disk.cut(time, order, &mut draw))
    }
}

/// Rebuilds states and has each checked, several at the same time. Those that fail are told with
/// their seeds, and kept.
#[track_caller]
fn check_all(what: &str, n_cuts: u64, check: impl Fn(u64, &Sandbox) -> Result<(), String> + Sync) {
    let next = AtomicU64::new(0);
    let failed: Mutex<Vec<String>> = Mutex::default();
    let n_threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..n_threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= n_cuts {
                        return;
                    }
                    let sandbox = Sandbox::new();
                    if let Err(why) = check(seed, &sandbox) {
                        let place: PathBuf = sandbox.keep();
                        let told = format!("seed {seed}: {why}; kept in {}", place.display());
                        failed
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .push(told);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    let told = failed.iter().take(TOLD_MAX).cloned().collect::<Vec<_>>();
    assert!(
        failed.is_empty(),
        "{} of {n_cuts} states of {what} failed:\n{}",
        failed.len(),
        told.join("\n")
    );
}

#[test]
fn a_disk_loses_what_was_not_flushed_and_nothing_else() {
    if !record::has_strace() {
        return;
    }
    let sandbox = Sandbox::new();
    let mut command = Command::new("sh");
    let place = sandbox
        .path("d")
        .canonicalize()
        .unwrap_or(sandbox.path("d"));
    let script = "mkdir $0; echo one > $0/f; sync $0/f $0; echo two > $0/g; mv $0/g $0/h; ln -s f $0/l; rm $0/l";
    command.args(["-c", script]).arg(&place);
    let recording = Recording::of(&sandbox, &command);
    recording.is_whole(&sandbox, "d");
    let (mut n_with, mut n_without, mut n_torn) = (0, 0, 0);
    for seed in 0..200 {
        let (time, tree) = recording.cut(seed);
        let bytes = |name: &str| {
            let node = tree.0.get(&PathBuf::from(name)).cloned();
            node.and_then(|node| match node {
                Node::File { bytes, .. } => Some(bytes),
                Node::Directory { .. } | Node::Link(_) => None,
            })
        };
        if time == usize::MAX && tree.0.contains_key(&PathBuf::from("d")) {
            assert_eq!(bytes("d/f").unwrap(), b"one\n");
        }
        assert!(bytes("d/g").is_none() || bytes("d/h").is_none());
        match bytes("d/h") {
            Some(bytes) if bytes == b"two\n" => n_with += 1,
            Some(_) => n_torn += 1,
            None => n_without += 1,
        }
    }
    assert!(
        n_with > 0 && n_without > 0 && n_torn > 0,
        "{n_with} {n_without} {n_torn}"
    );
}
