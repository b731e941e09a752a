//! Keeps the works of activities beside the journal: nothing depends on them, so nothing waits for them.

mod gatherer;
mod own;
mod shared;

use std::path::{Path, PathBuf};

use history::{Key, Record};
use model::Mono;
use process_core::{ForgetRequest, Input, Remembered};
use shell::Inbox;

use self::own::Own;
use self::shared::Shared;

/// The place where works of activities are kept.
#[derive(Clone, Debug, Default)]
pub enum HistoryPlace {
    /// Nowhere.
    #[default]
    Nowhere,
    /// In a file of the manager's own directory, by owner: those of a grid.
    Own,
    /// In a file that all runs of a user share.
    Shared {
        /// The file.
        path: PathBuf,
        /// Works here by works there: machines that are imitated may have any power.
        factor: f64,
        /// True if what this run takes is kept there: not if it tells nothing of the machine.
        keeps: bool,
        /// The definitions of which the file is read.
        definitions: Vec<String>,
    },
}

/// Keeps what an effect says.
pub(crate) enum HistoryKeeper {
    Nowhere,
    Own(Own),
    Shared(Shared),
}

impl HistoryKeeper {
    /// Opens a place, and returns what it has. What cannot be read is as if there were nothing.
    pub(crate) fn open(
        place: &HistoryPlace,
        directory: &Path,
        inbox: &Inbox<Input>,
    ) -> (HistoryKeeper, Vec<(Key, Record)>) {
        match place {
            HistoryPlace::Nowhere => (HistoryKeeper::Nowhere, Vec::new()),
            HistoryPlace::Own => match Own::open(directory, inbox) {
                Ok((own, known)) => (HistoryKeeper::Own(own), known),
                Err(error) => {
                    tracing::warn!(%error, "works of activities are not remembered");
                    (HistoryKeeper::Nowhere, Vec::new())
                }
            },
            HistoryPlace::Shared {
                path,
                factor,
                keeps,
                definitions,
            } => {
                let (shared, known) = Shared::open(path.clone(), *factor, *keeps, definitions);
                (HistoryKeeper::Shared(shared), known)
            }
        }
    }

    pub(crate) fn keep(&mut self, remembered: Remembered) {
        let Remembered { key, seen } = remembered;
        match self {
            HistoryKeeper::Nowhere => {}
            HistoryKeeper::Own(own) => own.keep(&key, &seen),
            HistoryKeeper::Shared(shared) => shared.keep(&key, seen),
        }
    }

    /// Forgets what is kept. Whoever has asked for it is told, by an input here or later.
    pub(crate) fn forget(&mut self, request: Box<ForgetRequest>, inputs: &mut Vec<Input>) {
        match self {
            // It was in memory alone.
            HistoryKeeper::Nowhere => inputs.push(Input::HistoryForgotten(request, Ok(()))),
            HistoryKeeper::Own(own) => {
                if let Err(request) = own.forget(request) {
                    let why = "what is remembered is being written; ask again";
                    inputs.push(Input::HistoryForgotten(request, Err(why.to_owned())));
                }
            }
            HistoryKeeper::Shared(_) => {
                let why = "the history of embedded runs is in a file of their user, which `xav history --embedded --forget` changes";
                inputs.push(Input::HistoryForgotten(request, Err(why.to_owned())));
            }
        }
    }

    pub(crate) fn next_wakeup(&self) -> Option<Mono> {
        match self {
            HistoryKeeper::Nowhere => None,
            HistoryKeeper::Own(own) => own.next_wakeup(),
            HistoryKeeper::Shared(shared) => shared.next_wakeup(),
        }
    }

    pub(crate) fn wake(&mut self, now: Mono) {
        match self {
            HistoryKeeper::Nowhere => {}
            HistoryKeeper::Own(own) => own.wake(now),
            HistoryKeeper::Shared(shared) => shared.wake(now),
        }
    }
}
