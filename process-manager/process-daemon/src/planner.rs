//! Makes plans in a thread of its own, one after another, so that planning never stops the loop.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use process_core::{Input, PlanRequest};
use shell::{Inbox, clock};

use crate::figures::Board;

/// The thread and its queue. The core has at most one request for each of its processes
/// ([`process_core::limits::PROCESSES_MAX`]), and a later one of a process replaces an earlier.
/// Dropping it ends the thread after its current plan.
pub(crate) struct Planner {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    filled: Condvar,
}

#[derive(Default)]
struct State {
    requests: VecDeque<Box<PlanRequest>>,
    is_closing: bool,
}

impl Planner {
    pub(crate) fn start(inbox: &Inbox<Input>, board: &Arc<Board>) -> io::Result<Planner> {
        let shared: Arc<Shared> = Arc::default();
        let (theirs, inbox) = (Arc::clone(&shared), inbox.clone());
        let board = Arc::clone(board);
        let thread = std::thread::Builder::new()
            .name("planner".to_owned())
            .spawn(move || {
                while let Some(request) = theirs.take() {
                    let begun = clock::mono();
                    let made = request.answer();
                    board.planned(made.result.is_ok(), clock::mono().since(begun));
                    if let Err(refusal) = &made.result {
                        tracing::info!(process = %request.process, %refusal, "no plan");
                    }
                    inbox.tell(Input::Planned(Box::new(made)));
                }
            })?;
        Ok(Planner {
            shared,
            thread: Some(thread),
        })
    }

    /// Queues a request for a plan.
    pub(crate) fn give(&self, request: Box<PlanRequest>) {
        let mut state = self.shared.lock();
        state
            .requests
            .retain(|waiting| waiting.process != request.process);
        state.requests.push_back(request);
        drop(state);
        self.shared.filled.notify_one();
    }
}

impl Drop for Planner {
    fn drop(&mut self) {
        self.shared.lock().is_closing = true;
        self.shared.filled.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Option<Box<PlanRequest>> {
        let mut state = self.lock();
        loop {
            if state.is_closing {
                return None;
            }
            if let Some(request) = state.requests.pop_front() {
                return Some(request);
            }
            state = self
                .filled
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}
