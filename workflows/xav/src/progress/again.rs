//! Activities that run again: a line for each, and one for many.

use model::{Definition, Span, Wall};
use wire::client::{Progress, RunAgain, RunAgainCause};

use super::name;
use crate::text;

/// Lines in [`LINES_FOR`]: more of them nobody reads, and a log has to stay short.
const LINES_MAX: u32 = 8;

/// The time after which there may be as many lines again.
const LINES_FOR: Span = Span::from_secs(10);

/// Activities that run again, as far as they were told.
#[derive(Debug, Default)]
pub(crate) struct RunAgains {
    /// The number that was seen of this run of the manager, told or not.
    n_seen: u64,
    /// The first line of the last few seconds.
    since: Wall,
    /// The lines since then.
    n_lines: u32,
    /// Those that have no line.
    n_untold: u64,
}

impl RunAgains {
    /// Takes in another report. Returns lines to be written.
    pub(super) fn take(
        &mut self,
        progress: &Progress,
        definition: &Definition,
        now: Wall,
    ) -> String {
        let mut lines = self.wait(now);
        // A manager that was started again begins to count anew.
        let n_unseen = match progress.n_run_again.checked_sub(self.n_seen) {
            Some(n_unseen) => n_unseen,
            None => progress.n_run_again,
        };
        self.n_seen = progress.n_run_again;
        let n_listed = (progress.run_again.len() as u64).min(n_unseen);
        self.n_untold += n_unseen - n_listed;
        let first = progress.run_again.len() - n_listed as usize;
        for run_again in &progress.run_again[first..] {
            if self.n_lines == 0 {
                self.since = now;
            }
            if self.n_lines == LINES_MAX {
                self.n_untold += 1;
            } else {
                self.n_lines += 1;
                lines.push_str(&line(run_again, definition, now));
            }
        }
        lines
    }

    /// A line for those that have none, once it is time for it.
    pub(super) fn wait(&mut self, now: Wall) -> String {
        if now.since(self.since) < LINES_FOR {
            return String::new();
        }
        self.n_lines = 0;
        self.end()
    }

    /// The same, at once.
    pub(super) fn end(&mut self) -> String {
        match std::mem::take(&mut self.n_untold) {
            0 => String::new(),
            n => {
                let activities = text::count(n, "activity runs", "activities run");
                format!("{activities} again, beside those\n")
            }
        }
    }
}

/// `align17 failed (exit code 3) in attempt 1 of 4; the next one begins in 9.0s`.
fn line(run_again: &RunAgain, definition: &Definition, now: Wall) -> String {
    let name = name(definition, run_again.activity, run_again.name.as_deref());
    match &run_again.cause {
        RunAgainCause::Failed {
            fault,
            exit_code,
            n_failed,
            most,
            next,
        } => {
            let cause = match exit_code {
                Some(code) if fault == "exit-code" => format!("exit code {code}"),
                Some(_) | None => fault.clone(),
            };
            let next = match next.since(now) {
                Span::ZERO => "now".to_owned(),
                left => format!("in {left}"),
            };
            format!(
                "{name} failed ({cause}) in attempt {n_failed} of {most}; the next one begins {next}\n"
            )
        }
        RunAgainCause::Lost { machine } => {
            format!("{name} was lost with {machine} or the executor there; it runs again\n")
        }
        RunAgainCause::FilesGone { machine } => {
            format!("{name} runs again: files that it made are gone, and {machine} needs them\n")
        }
    }
}
