//! Something that is known once, and waited for by other threads.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// What a manager's loop tells others; the last of it stays.
pub(crate) struct Latest<T> {
    told: Mutex<Option<T>>,
    is_told: Condvar,
}

impl<T> Default for Latest<T> {
    fn default() -> Latest<T> {
        Latest {
            told: Mutex::new(None),
            is_told: Condvar::new(),
        }
    }
}

impl<T: Copy> Latest<T> {
    pub(crate) fn set(&self, news: T) {
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = Some(news);
        self.is_told.notify_all();
    }

    /// Waits for it, but no longer than this.
    pub(crate) fn wait(&self, patience: Duration) -> Option<T> {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .is_told
            .wait_timeout_while(told, patience, |told| told.is_none());
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}
