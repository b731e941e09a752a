//! Activities that move because a machine is not as fast as was planned: a line for each such plan, and one for many.

use model::{Span, Wall};
use wire::client::{Progress, Rescheduled};

use crate::{json, moves, text};

/// The time between two lines: a log has to stay short, and machines may vary every second.
const LINE_EVERY: Span = Span::from_secs(2);

/// The plans that moved activities, as far as they were told.
#[derive(Debug, Default)]
pub(crate) struct Moved {
    n_seen: u32,
    /// The moment of the last line.
    told: Wall,
    /// The line of the last plan, until it is told, and the number of plans that have none.
    waiting: Option<(String, u32)>,
}

impl Moved {
    /// Takes in another report. Returns lines to be written.
    pub(super) fn take(&mut self, progress: &Progress, now: Wall) -> String {
        let n_new = progress.n_rescheduled.saturating_sub(self.n_seen);
        self.n_seen = progress.n_rescheduled;
        if let (Some(last), 1..) = (&progress.rescheduled, n_new) {
            let before = self.waiting.take().map_or(0, |(_, n_before)| n_before + 1);
            let line = line(last, &progress.machines);
            self.waiting = Some((line, before.saturating_add(n_new - 1)));
        }
        self.wait(now)
    }

    /// The lines that wait, once it is time for them.
    pub(super) fn wait(&mut self, now: Wall) -> String {
        if now.since(self.told) < LINE_EVERY {
            return String::new();
        }
        let lines = self.end();
        if !lines.is_empty() {
            self.told = now;
        }
        lines
    }

    /// The same, at once.
    pub(super) fn end(&mut self) -> String {
        match self.waiting.take() {
            None => String::new(),
            Some((line, 0)) => line,
            Some((line, n)) => {
                let others = text::count(u64::from(n), "other plan", "other plans");
                format!("{others} moved activities before that\n{line}")
            }
        }
    }
}

fn line(one: &Rescheduled, machines: &[(model::ResourceId, String)]) -> String {
    format!("{}\n", moves::line(one, &json::names_of(machines)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moves::tests::slow;
    use crate::progress::tests::progress;

    fn seen(n: u32) -> Progress {
        let names = [(2, "am-2"), (1, "am-1")];
        let names = names.map(|(id, name)| (model::ResourceId::local(id), name.to_owned()));
        Progress {
            rescheduled: (n > 0).then(slow),
            n_rescheduled: n,
            machines: names.to_vec(),
            ..progress(1)
        }
    }

    #[test]
    fn each_plan_is_told_once_and_many_in_a_line() {
        let line = "am-2 is 2.1 times slower than expected: 14 activities move to am-1, the end comes 12.0s \
                    earlier\n";
        let mut moved = Moved::default();
        let at = |seconds: u64| Wall(1_000_000_000 + seconds * 1_000_000);
        assert_eq!(moved.take(&seen(0), at(0)), "");
        assert_eq!(moved.take(&seen(1), at(1)), line);
        assert_eq!(moved.take(&seen(1), at(9)), "");
        // Soon after each other: the last one, and the number of those before it.
        assert_eq!(moved.take(&seen(2), at(10)), line);
        assert_eq!(moved.take(&seen(3), at(11)), "");
        assert_eq!(moved.take(&seen(5), at(11)), "");
        assert_eq!(
            moved.wait(at(12)),
            format!("2 other plans moved activities before that\n{line}")
        );
        assert_eq!(moved.wait(at(20)), "");
        assert_eq!(moved.take(&seen(6), at(21)), line);
        assert_eq!(moved.take(&seen(7), at(22)), "");
        assert_eq!(moved.end(), line);
        assert_eq!(moved.end(), "");
    }
}
