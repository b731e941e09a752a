//! A crash on purpose at the most critical point: a batch is durable, and none of its effects has
//! left. Only tests use it.

use rustix::process::{Signal, getpid, kill_process};

use crate::environment;

/// Names the manager and the number of flushes after which the program kills itself:
/// `XAVANTES_CRASH=process:37`.
const VARIABLE: &str = "XAVANTES_CRASH";

/// Counts the flushes until the crash. Usually no crash is requested.
#[derive(Debug, Default)]
pub(crate) struct Failpoint {
    n_flushes: Option<u64>,
}

impl Failpoint {
    /// Reads the environment variable for a manager.
    pub(crate) fn of(manager: &str) -> Failpoint {
        Failpoint {
            n_flushes: environment::text(VARIABLE).and_then(|text| asked(&text, manager)),
        }
    }

    /// Called when a batch is durable and its effects have not left.
    pub(crate) fn flushed(&mut self) {
        let Some(n_flushes) = &mut self.n_flushes else {
            return;
        };
        *n_flushes = n_flushes.saturating_sub(1);
        if *n_flushes == 0 {
            // If the signal were refused, the program would only go on.
            let _ = kill_process(getpid(), Signal::KILL);
        }
    }
}

fn asked(text: &str, manager: &str) -> Option<u64> {
    let (name, number) = text.split_once(':')?;
    if name == manager {
        number.parse().ok()
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_manager_that_is_named_crashes() {
        assert_eq!(asked("process:37", "process"), Some(37));
        assert_eq!(asked("process:37", "group"), None);
        assert_eq!(asked("process", "process"), None);
        assert_eq!(asked("process:soon", "process"), None);
    }
}
