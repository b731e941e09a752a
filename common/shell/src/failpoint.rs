//! A failure on purpose at a critical point: of a manager where a batch is durable and none of its effects has
//! left. The program crashes, or its loop stands still. Only tests use it.

use rustix::process::{Signal, getpid, kill_process};

use crate::environment;

/// Names the manager and the number of flushes after which the program kills itself:
/// `XAVANTES_CRASH=process:37`.
const CRASH: &str = "XAVANTES_CRASH";

/// Names the manager and the number of flushes after which its loop stands still for good.
const STAND: &str = "XAVANTES_STAND";

/// Counts the times that the point is reached until the failure. Usually none is requested.
#[derive(Debug, Default)]
pub struct Failpoint {
    n_until_crash: Option<u64>,
    n_until_stand: Option<u64>,
}

impl Failpoint {
    /// Reads the environment variables for a manager, or for a thread that has such a point.
    pub fn of(manager: &str) -> Failpoint {
        let asked = |variable| environment::text(variable).and_then(|text| asked(&text, manager));
        Failpoint {
            n_until_crash: asked(CRASH),
            n_until_stand: asked(STAND),
        }
    }

    /// Called at the point.
    pub fn reached(&mut self) {
        if is_reached(&mut self.n_until_crash) {
            // If the signal were refused, the program would only go on.
            let _ = kill_process(getpid(), Signal::KILL);
        }
        while is_reached(&mut self.n_until_stand) {
            std::thread::park();
        }
    }
}

/// Counts down, and returns true at zero.
fn is_reached(n_flushes: &mut Option<u64>) -> bool {
    match n_flushes {
        None => false,
        Some(left) => {
            *left = left.saturating_sub(1);
            *left == 0
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
