//! Permission to fetch files: machines of the group and administrators may have any file, a user
//! those of own processes. The process managers know the owners.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use activity_core::Input;
use model::{Hash, Mono, Span};
use shell::{Inbox, clock};
use wire::attempt::Access;

/// Time for which the process managers may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Time for which an answer is reused: the files of a directory are fetched one after another.
const STANDS: Span = Span::from_secs(60);

/// Number of remembered answers: some hundred bytes each.
const REMEMBERED_MAX: usize = 4_096;

/// Checks whether users may have files. Clones share one state.
#[derive(Clone, Default)]
pub struct Gate(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// None before the manager has started: everybody is refused then.
    inbox: OnceLock<Inbox<Input>>,
    state: Mutex<State>,
    answered: Condvar,
}

#[derive(Default)]
struct State {
    number_next: u32,
    /// Requests that wait, and their answers.
    waiting: BTreeMap<u32, Option<bool>>,
    /// Granted permissions, and the time until which they are reused.
    allowed: BTreeMap<(String, u64, Hash), Mono>,
}

impl Gate {
    /// Sets the inbox that requests are sent to.
    pub(crate) fn open(&self, inbox: &Inbox<Input>) {
        let _ = self.0.inbox.set(inbox.clone());
    }

    /// Returns true if a user may have a file of a process. Without an answer the file is refused.
    /// Blocks the caller for some seconds at most.
    pub(crate) fn allows(&self, access: &Access) -> bool {
        self.ask(access) == Some(true)
    }

    /// The process managers' answer; none if none answers.
    pub(crate) fn ask(&self, access: &Access) -> Option<bool> {
        let inbox = self.0.inbox.get()?;
        let key = (access.user.clone(), access.process.0, access.artifact);
        let mut state = self.0.lock();
        let now = clock::mono();
        if state.allowed.get(&key).is_some_and(|until| now < *until) {
            return Some(true);
        }
        let number = state.number_next;
        state.number_next = number.wrapping_add(1);
        state.waiting.insert(number, None);
        drop(state);
        inbox.tell(Input::Access {
            number,
            access: access.clone(),
        });
        let state = self.0.lock();
        let waits = |state: &mut State| state.waiting.get(&number) == Some(&None);
        let waited = self.0.answered.wait_timeout_while(state, PATIENCE, waits);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let answer = state.waiting.remove(&number).flatten();
        if answer == Some(true) {
            state.allowed.retain(|_, until| now < *until);
            if state.allowed.len() < REMEMBERED_MAX {
                state.allowed.insert(key, now + STANDS);
            }
        }
        answer
    }

    /// The process managers have answered.
    pub(crate) fn answer(&self, number: u32, is_allowed: bool) {
        if let Some(answer) = self.0.lock().waiting.get_mut(&number) {
            *answer = Some(is_allowed);
        }
        self.0.answered.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate").finish_non_exhaustive()
    }
}
