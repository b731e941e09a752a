//! A value that one thread sets and others wait for.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The latest value; none before it is set first.
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

    /// Waits until the value is set, no longer than `patience`.
    pub(crate) fn wait(&self, patience: Duration) -> Option<T> {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .is_told
            .wait_timeout_while(told, patience, |told| told.is_none());
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}
