//! Waits of a process, in lines of their own: reports come only when something happens to it.

use model::{Span, Wall};
use wire::client::Progress;

use super::LINE_EVERY;

/// The time for which a process waits before users are told: most wait less.
const PATIENCE: Span = Span::from_secs(4);

/// The wait of a process of which nothing runs.
#[derive(Default)]
pub(crate) struct Waits {
    /// The reason, and since when it waits.
    now: Option<(String, Wall)>,
    /// The reason that was told last, and when.
    told: Option<(String, Wall)>,
}

impl Waits {
    /// Takes in another report. Returns a line to be written.
    pub(super) fn take(&mut self, progress: &Progress, now: Wall) -> String {
        let what = progress.waiting_for.as_ref();
        let what = what.filter(|_| progress.running.is_empty() && !progress.phase.has_ended());
        let since = self.now.as_ref().map_or(now, |(_, since)| *since);
        self.now = what.map(|what| (what.clone(), since));
        if let (None, Some((told, _))) = (&self.now, &mut self.told) {
            // When it waits again, it is told again.
            told.clear();
        }
        self.wait(now)
    }

    /// A line that has waited until now.
    pub(super) fn wait(&mut self, now: Wall) -> String {
        let Some((what, since)) = &self.now else {
            return String::new();
        };
        let is_told = self
            .told
            .as_ref()
            .is_some_and(|(told, at)| told == what || now.since(*at) < LINE_EVERY);
        if is_told || now.since(*since) < PATIENCE {
            return String::new();
        }
        self.told = Some((what.clone(), now));
        format!("waits for {what}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::progress;
    use super::*;

    fn at(seconds: u64) -> Wall {
        Wall(seconds * 1_000_000)
    }

    fn waiting(what: &str) -> Progress {
        Progress {
            running: Vec::new(),
            waiting_for: Some(what.to_owned()),
            ..progress(0)
        }
    }

    #[test]
    fn a_wait_is_told_once_when_it_has_taken_some_seconds_though_nothing_more_is_reported() {
        let mut waits = Waits::default();
        assert_eq!(waits.take(&waiting("the group manager"), at(10)), "");
        assert_eq!(waits.wait(at(13)), "");
        assert_eq!(waits.wait(at(14)), "waits for the group manager\n");
        assert_eq!(waits.wait(at(40)), "");
    }

    #[test]
    fn another_reason_of_a_wait_is_told_some_seconds_after_the_one_before() {
        let mut waits = Waits::default();
        assert_eq!(waits.take(&waiting("one"), at(10)), "");
        assert_eq!(waits.take(&waiting("two"), at(14)), "waits for two\n");
        assert_eq!(waits.take(&waiting("three"), at(15)), "");
        assert_eq!(waits.wait(at(24)), "waits for three\n");
    }

    #[test]
    fn a_process_of_which_something_runs_is_not_told_to_wait_and_is_when_it_waits_again() {
        let mut waits = Waits::default();
        let runs = Progress {
            waiting_for: Some("one".to_owned()),
            ..progress(1)
        };
        assert_eq!(waits.take(&runs, at(10)), "");
        assert_eq!(waits.wait(at(20)), "");
        assert_eq!(waits.take(&waiting("one"), at(20)), "");
        assert_eq!(waits.wait(at(24)), "waits for one\n");
        assert_eq!(waits.take(&runs, at(30)), "");
        assert_eq!(waits.take(&waiting("one"), at(40)), "");
        assert_eq!(waits.wait(at(44)), "waits for one\n");
    }
}
