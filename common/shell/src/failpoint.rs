//! A crash on purpose, at the place where it matters most: a batch is durable, and none of its
//! effects has left. Tests ask for it; nobody else should.

use rustix::process::{Signal, getpid, kill_process};

use crate::environment;

/// Says in which manager and after how many of its flushes the program kills itself:
/// `XAVANTES_CRASH=process:37`.
const VARIABLE: &str = "XAVANTES_CRASH";

/// Counts flushes down to the crash; usually there is none to come.
#[derive(Debug, Default)]
pub(crate) struct Failpoint {
    n_flushes: Option<u64>,
}

impl Failpoint {
    /// What the environment asks of a manager.
    pub(crate) fn of(manager: &str) -> Failpoint {
        Failpoint {
            n_flushes: environment::text(VARIABLE).and_then(|text| asked(&text, manager)),
        }
    }

    /// A batch is durable, and its effects have not left.
    pub(crate) fn flushed(&mut self) {
        let Some(n_flushes) = &mut self.n_flushes else {
            return;
        };
        *n_flushes = n_flushes.saturating_sub(1);
        if *n_flushes == 0 {
            // Nothing runs after this; if it were refused, the program would only go on.
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
