//! A process that has ended and gives nothing to do: it takes less memory, or next to none where it lies on
//! a shelf, and is unpacked for whoever reads it.

use std::fmt;
use std::sync::OnceLock;

use lz4_flex::block::{compress_prepend_size, decompress_size_prepended};
use machine::Codec;
use wire::client::Summary;

use crate::process::chapters::{Changed, Chapter};
use crate::process::{Process, ProcessState};
use crate::record::{Accepted, Flow, Founded, SEMANTICS};
use crate::shelf::{Shelf, Shelved};

/// A process in its encoded form, beside what is read of many processes at a time.
pub struct Packed {
    summary: Summary,
    n_nodes: usize,
    has_copies: bool,
    /// The weight of its snapshot without chapters.
    head_weight: usize,
    changed: Changed,
    bytes: Kept,
    /// The process itself, once somebody has read it.
    opened: OnceLock<Box<Process>>,
}

/// The submission of a process and its state, compressed: its activities have much in common.
enum Kept {
    Here(Box<[u8]>),
    Shelved(Box<dyn Shelved>),
}

impl Packed {
    /// Packs a process, and puts it on the shelf where that takes it.
    pub(crate) fn new(process: &Process, shelf: Option<&dyn Shelf>) -> Packed {
        let mut bytes = Vec::new();
        process.submission().encode(&mut bytes);
        process.state.encode(&mut bytes);
        let bytes = compress_prepend_size(&bytes);
        let shelved = shelf.and_then(|shelf| shelf.put(&bytes));
        Packed {
            summary: process.summary(),
            n_nodes: process.state.activities.len(),
            has_copies: !process.index.copied.is_empty(),
            head_weight: process.weight() - process.changed.weight(),
            changed: process.changed.clone(),
            bytes: shelved.map_or_else(|| Kept::Here(bytes.into()), Kept::Shelved),
            opened: OnceLock::new(),
        }
    }

    /// The process.
    pub fn process(&self) -> &Process {
        self.opened.get_or_init(|| self.unpacked())
    }

    /// The process by itself.
    pub(crate) fn unpack(self) -> Box<Process> {
        let mut process = match self.opened.get() {
            Some(_) => self.opened.into_inner().expect("it was opened"),
            None => self.unpacked(),
        };
        process.changed = self.changed;
        process
    }

    /// Its state without what is in chapters.
    pub(crate) fn head(&self) -> ProcessState {
        match self.opened.get() {
            Some(process) => process.state.head(),
            None => self.unpacked().state.head(),
        }
    }

    /// The chapters that the last snapshot does not have.
    pub(crate) fn take_chapters(&mut self) -> Vec<(u32, Chapter)> {
        let mut changed = std::mem::take(&mut self.changed);
        match self.opened.get() {
            Some(process) => changed.take(&process.state),
            None => changed.take(&self.unpacked().state),
        }
    }

    /// Forgets what was unpacked for a reader.
    pub(crate) fn close(&mut self) {
        self.opened.take();
    }

    /// True if somebody has read it.
    pub(crate) fn is_open(&self) -> bool {
        self.opened.get().is_some()
    }

    /// The process in a line.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Its nodes.
    pub(crate) fn n_nodes(&self) -> usize {
        self.n_nodes
    }

    /// True if machines keep copies of its files.
    pub(crate) fn has_copies(&self) -> bool {
        self.has_copies
    }

    /// Entries of a snapshot, about.
    pub(crate) fn weight(&self) -> usize {
        self.head_weight + self.changed.weight()
    }

    /// The memory that it takes while nobody has read it.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        let Summary {
            name,
            origin,
            owner,
            ..
        } = &self.summary;
        let texts = name.len() + origin.len() + owner.as_ref().map_or(0, String::len);
        let bytes = match &self.bytes {
            Kept::Here(bytes) => bytes.len(),
            Kept::Shelved(_) => 0,
        };
        size_of::<Packed>() + bytes + texts
    }

    fn unpacked(&self) -> Box<Process> {
        let bytes = match &self.bytes {
            Kept::Here(bytes) => decompress_size_prepended(bytes),
            Kept::Shelved(shelved) => decompress_size_prepended(&shelved.read()),
        };
        let bytes = bytes.expect("it was compressed here");
        let mut decoder = minicbor::Decoder::new(&bytes);
        let founded: Founded = decoder.decode().expect("it was encoded here");
        let state: ProcessState = decoder.decode().expect("it was encoded here");
        let process = Process::found(&founded).expect("this version has understood it");
        Box::new(process.restore(state, Vec::new()))
    }
}

impl fmt::Debug for Packed {
    /// Prints the process: whether it is packed makes no difference to anybody.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.opened.get() {
            Some(process) => process.fmt(f),
            None => self.unpacked().fmt(f),
        }
    }
}

impl Process {
    /// Returns true if nothing is to be done for it any more, unless files of it are lost.
    pub(crate) fn is_settled(&self) -> bool {
        self.phase().has_ended()
            && self.state.is_released
            && self.index.uncopied.is_empty()
            && self.index.recomputations.is_empty()
            && self.busy_machines().next().is_none()
    }

    /// Its founding event, but for the controllers' moves at the start, which its state has.
    fn submission(&self) -> Founded {
        Founded {
            key: self.key,
            draft: Accepted::Checked(self.definition.clone()),
            inputs: self.inputs.clone(),
            files: self.files.clone(),
            origin: self.origin.clone(),
            at: self.submitted,
            base: self.base,
            on_fault: self.on_fault,
            keep: self.keep,
            store: self.store,
            owner: self.owner.clone(),
            flow: Flow::default(),
            semantics: SEMANTICS,
            environment: self.environment.clone(),
        }
    }
}
