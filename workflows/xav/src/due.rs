//! The moment from which on a process of this user may be over its time, so that a run does not read the
//! summaries of all earlier ones to find that none is.
//!
//! A file has that moment, and when all processes were looked at last. Whoever ends a process with a time of
//! its own makes the moment an earlier one; whoever looks at all of them begins a new one before that. What
//! no moment tells, since its run was interrupted, is found by a look that comes [`LOOK_EVERY`] at the
//! latest. The same goes for a file that is damaged, missing, or older than the clock's last setting.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::PathBuf;

use model::{Span, Wall};
use wire::client::Summary;

use crate::home;

/// The longest time between two looks at all processes.
const LOOK_EVERY: Span = Span::from_secs(3_600);

/// Bytes of the file that are read: two numbers.
const BYTES_MAX: u64 = 64;

/// The content of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Due {
    looked: Wall,
    /// None before this is over its time.
    from: Wall,
}

/// Returns true if processes may be over their time.
pub(crate) fn is_now(now: Wall) -> bool {
    let due = path().and_then(File::open).and_then(|file| read(&file));
    due.ok().flatten().is_none_or(|due| may_be_over(&due, now))
}

/// Somebody looks at all processes from now on, and tells by [`by`] what will be over its time.
pub(crate) fn begin_look(now: Wall) {
    let never = Due {
        looked: now,
        from: Wall(u64::MAX),
    };
    // Without the file, the next run looks again.
    let _ = change(|_| never);
}

/// The moment from which on a process is over its time; none where it has not ended, or is kept.
pub(crate) fn over_at(summary: &Summary) -> Option<Wall> {
    let (ended, keep) = (summary.ended?, summary.keep?);
    Some(Wall(ended.0.saturating_add(keep.0)))
}

/// These have ended, or were found to have.
pub(crate) fn note(processes: &[Summary]) {
    if let Some(at) = processes.iter().filter_map(over_at).min() {
        by(at);
    }
}

/// A process will be over its time at this moment.
pub(crate) fn by(at: Wall) {
    let _ = change(|due| {
        let from = due.from.min(at);
        Due { from, ..due }
    });
}

fn may_be_over(due: &Due, now: Wall) -> bool {
    let is_clock_set_back = now < due.looked;
    is_clock_set_back || now >= due.from || now.since(due.looked) >= LOOK_EVERY
}

/// Changes the content, while nobody else does. A file without one says that everything is to be looked at.
fn change(next: impl FnOnce(Due) -> Due) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create(true).truncate(false);
    let mut file = options.open(path()?)?;
    file.lock()?;
    let before = read(&file)?.unwrap_or(Due {
        looked: Wall(0),
        from: Wall(0),
    });
    let due = next(before);
    if due != before {
        file.rewind()?;
        file.set_len(0)?;
        file.write_all(format!("{} {}\n", due.looked.0, due.from.0).as_bytes())?;
    }
    Ok(())
}

fn read(file: &File) -> io::Result<Option<Due>> {
    let mut text = String::new();
    file.take(BYTES_MAX).read_to_string(&mut text)?;
    Ok(parse(&text))
}

fn parse(text: &str) -> Option<Due> {
    let (looked, from) = text.strip_suffix('\n')?.split_once(' ')?;
    Some(Due {
        looked: Wall(looked.parse().ok()?),
        from: Wall(from.parse().ok()?),
    })
}

fn path() -> io::Result<PathBuf> {
    home::of_user()
        .map(|home| home.join("due"))
        .map_err(|failure| io::Error::other(failure.message))
}

#[cfg(test)]
mod tests {
    use model::ProcessId;
    use wire::client::{Phase, Totals};

    use super::*;

    fn summary(ended: Option<u64>, keep: Option<u64>) -> Summary {
        Summary {
            process: ProcessId(1),
            name: "primes".to_owned(),
            origin: String::new(),
            submitted: Wall(0),
            ended: ended.map(Wall),
            phase: Phase::Completed,
            totals: Totals::default(),
            base: None,
            keep: keep.map(Span),
            owner: None,
            held: None,
        }
    }

    #[test]
    fn a_process_is_over_its_time_once_that_has_passed_since_its_end() {
        let of = |ended, keep| over_at(&summary(ended, keep));
        assert_eq!(of(Some(10), Some(5)), Some(Wall(15)));
        assert_eq!(of(None, Some(5)), None);
        assert_eq!(of(Some(10), None), None);
        assert_eq!(of(Some(10), Some(u64::MAX)), Some(Wall(u64::MAX)));
    }

    #[test]
    fn a_damaged_file_is_none() {
        let due = Due {
            looked: Wall(5),
            from: Wall(u64::MAX),
        };
        let text = format!("{} {}\n", due.looked.0, due.from.0);
        assert_eq!(parse(&text), Some(due));
        for damaged in ["", "5", "5 7", "5 x\n", "5 7 9\n", &text[..text.len() - 2]] {
            assert_eq!(parse(damaged), None, "{damaged:?}");
        }
    }

    #[test]
    fn processes_are_looked_at_when_one_is_due_after_an_hour_and_when_the_clock_was_set_back() {
        let hour = LOOK_EVERY.0;
        let due = Due {
            looked: Wall(hour),
            from: Wall(hour + 10),
        };
        assert!(!may_be_over(&due, Wall(hour)));
        assert!(!may_be_over(&due, Wall(hour + 9)));
        assert!(may_be_over(&due, Wall(hour + 10)));
        assert!(may_be_over(&due, Wall(hour - 1)));
        let never = Due {
            from: Wall(u64::MAX),
            ..due
        };
        assert!(!may_be_over(&never, Wall(2 * hour - 1)));
        assert!(may_be_over(&never, Wall(2 * hour)));
    }
}
