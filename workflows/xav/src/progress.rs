//! The progress of a running process: bars on a terminal, a line now and then elsewhere.

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::{ActivityId, Definition, Node, NodeId, ProcessId, Span, Wall};
use wire::client::Progress;

use crate::screen;
use crate::text;

use self::again::RunAgains;
use self::moved::Moved;
use self::waits::Waits;

mod again;
mod moved;
mod waits;

/// Bars of controllers beside that of the process.
const BARS_MAX: usize = 6;

/// Running activities that are named.
const NAMED_MAX: usize = 4;

/// The pause between two lines where there is no terminal.
const LINE_EVERY: Span = Span::from_secs(10);

/// Redraws a second at most.
const DRAWS_A_SECOND: u8 = 10;

/// Shows progress on standard error.
pub(crate) enum Display {
    /// Nothing.
    Silent,
    /// A line now and then.
    Lines {
        /// When the last one was written.
        told: Wall,
        /// The news that users were told of.
        happened: Happened,
        /// The wait that they were told of.
        waits: Waits,
    },
    /// Bars that are drawn again and again.
    Bars(Box<Bars>),
}

/// The bars of a process.
pub(crate) struct Bars {
    all: MultiProgress,
    process: ProgressBar,
    controllers: Vec<(NodeId, ProgressBar)>,
    running: ProgressBar,
    last: Option<Progress>,
    happened: Happened,
}

/// The news that users are told once: activities that run again, and those that move.
#[derive(Default)]
pub(crate) struct Happened {
    run_again: RunAgains,
    moved: Moved,
}

impl Happened {
    /// Takes in another report. Returns lines to be written.
    fn take(&mut self, progress: &Progress, definition: &Definition, now: Wall) -> String {
        self.run_again.take(progress, definition, now) + &self.moved.take(progress, now)
    }

    /// Lines that have waited until now.
    fn wait(&mut self, now: Wall) -> String {
        self.run_again.wait(now) + &self.moved.wait(now)
    }

    /// Lines that still wait.
    fn end(&mut self) -> String {
        self.run_again.end() + &self.moved.end()
    }
}

impl Display {
    /// Begins to show a process. `quietly` shows nothing.
    pub(crate) fn begin(definition: &Definition, process: ProcessId, quietly: bool) -> Display {
        if quietly {
            return Display::Silent;
        }
        if screen::is_live() {
            return Display::Bars(Box::new(Bars::new(definition)));
        }
        let n_activities = definition.activities().len() as u64;
        let activities = text::count(n_activities, "activity", "activities");
        screen::tell(&format!(
            "{} {process} started, {activities}\n",
            definition.name()
        ));
        Display::Lines {
            told: shell::clock::wall(),
            happened: Happened::default(),
            waits: Waits::default(),
        }
    }

    /// Shows what has changed.
    pub(crate) fn update(&mut self, progress: Progress, definition: &Definition, now: Wall) {
        match self {
            Display::Silent => {}
            Display::Lines {
                told,
                happened,
                waits,
            } => {
                screen::tell(&happened.take(&progress, definition, now));
                screen::tell(&waits.take(&progress, now));
                if now.since(*told) >= LINE_EVERY && !progress.phase.has_ended() {
                    *told = now;
                    screen::tell(&format!("{}\n", line(&progress, definition, now)));
                }
            }
            Display::Bars(bars) => {
                let told = bars.happened.take(&progress, definition, now);
                bars.tell(&told);
                bars.last = Some(progress);
                bars.draw(definition, now);
            }
        }
    }

    /// Lets clocks that are shown go on.
    pub(crate) fn tick(&mut self, definition: &Definition, now: Wall) {
        match self {
            Display::Silent => {}
            Display::Lines {
                happened, waits, ..
            } => screen::tell(&(happened.wait(now) + &waits.wait(now))),
            Display::Bars(bars) => {
                let told = bars.happened.wait(now);
                bars.tell(&told);
                bars.draw(definition, now);
            }
        }
    }

    /// Writes text between what is shown.
    pub(crate) fn tell(&self, text: &str) {
        match self {
            Display::Silent | Display::Lines { .. } => screen::tell(text),
            Display::Bars(bars) => bars.tell(text),
        }
    }

    /// Takes away what was drawn.
    pub(crate) fn end(self) {
        match self {
            Display::Silent => {}
            Display::Lines { mut happened, .. } => screen::tell(&happened.end()),
            Display::Bars(mut bars) => {
                let _ = bars.all.clear();
                screen::tell(&bars.happened.end());
            }
        }
    }
}

/// Progress in a line: `120 of 400 completed, 2 running (align17 12.3s, align18 2.0s), 1m 10s left`.
fn line(progress: &Progress, definition: &Definition, now: Wall) -> String {
    let totals = &progress.totals;
    let mut parts = vec![format!(
        "{} of {} completed",
        totals.completed,
        totals.all()
    )];
    if totals.faulted > 0 {
        parts.push(format!("{} faulted", totals.faulted));
    }
    if let Some(running) = running(progress, definition, now) {
        parts.push(format!("{} running ({running})", progress.running.len()));
    }
    parts.extend(backoff(progress, definition, now));
    if let Some(waiting_for) = &progress.waiting_for {
        parts.push(format!("waits for {waiting_for}"));
    }
    parts.extend(text::rescheduled(progress.n_rescheduled));
    parts.extend(left(progress));
    parts.join(", ")
}

/// The remaining time: `about 1m 10s left (p90 1m 30s)`.
fn left(progress: &Progress) -> Option<String> {
    let left = text::left(progress.left?, progress.left_p90);
    Some(format!("about {left}"))
}

/// What waits before another attempt: `2 wait before another attempt (align17 in 8.0s)`.
fn backoff(progress: &Progress, definition: &Definition, now: Wall) -> Option<String> {
    let backoff = progress.backoff.as_ref()?;
    let waiting = match backoff.n {
        1 => "waits",
        _ => "wait",
    };
    Some(format!(
        "{} {waiting} before another attempt ({} in {})",
        backoff.n,
        name(definition, backoff.activity, backoff.name.as_deref()),
        backoff.until.since(now)
    ))
}

/// The name of an activity, which the message has where the definition as it was submitted has none.
fn name<'a>(definition: &'a Definition, activity: ActivityId, told: Option<&'a str>) -> &'a str {
    told.unwrap_or_else(|| definition.plain_name(activity.node()))
}

/// Some of what runs, the longest first.
fn running(progress: &Progress, definition: &Definition, now: Wall) -> Option<String> {
    let mut running: Vec<_> = progress.running.iter().collect();
    running.sort_by_key(|one| (one.since, one.activity));
    let names: Vec<String> = running
        .iter()
        .take(NAMED_MAX)
        .map(|one| {
            let name = name(definition, one.activity, one.name.as_deref());
            format!("{name} {}", now.since(one.since))
        })
        .collect();
    // The totals count what was sent as well, and waits for a slot.
    let n_more = running.len() - names.len();
    match (names.is_empty(), n_more) {
        (true, _) => None,
        (false, 0) => Some(names.join(", ")),
        (false, n_more) => Some(format!("{}, and {n_more} more", names.join(", "))),
    }
}

impl Bars {
    fn new(definition: &Definition) -> Bars {
        let target = ProgressDrawTarget::stderr_with_hz(DRAWS_A_SECOND);
        let all = MultiProgress::with_draw_target(target);
        let process = all.add(ProgressBar::new(definition.activities().len() as u64));
        process.set_style(bar("{prefix:.bold} {wide_bar} {pos}/{len}{msg}"));
        process.set_prefix(definition.name().to_owned());
        let running = all.add(ProgressBar::new_spinner());
        running.set_style(bar("{msg:.dim}"));
        Bars {
            all,
            process,
            controllers: Vec::new(),
            running,
            last: None,
            happened: Happened::default(),
        }
    }

    /// Writes text above the bars.
    fn tell(&self, text: &str) {
        if !text.is_empty() {
            self.all.suspend(|| screen::tell(text));
        }
    }

    fn draw(&mut self, definition: &Definition, now: Wall) {
        let Some(progress) = &self.last else { return };
        let totals = &progress.totals;
        // Items and iterations come while the process runs.
        self.process.set_length(u64::from(totals.all()));
        self.process.set_position(u64::from(
            totals.completed + totals.faulted + totals.skipped,
        ));
        let left = left(progress).map(|left| format!("  {left}"));
        self.process.set_message(left.unwrap_or_default());
        let shown: Vec<_> = progress
            .controllers
            .iter()
            // The first one is the root, whose bar is that of the process.
            .skip(1)
            .filter(|controller| controller.n_all > 1)
            .take(BARS_MAX)
            .collect();
        for controller in shown {
            let known = self
                .controllers
                .iter()
                .position(|(node, _)| *node == controller.node);
            let at = known.unwrap_or_else(|| {
                let added = ProgressBar::new(u64::from(controller.n_all));
                let added = self.all.insert_before(&self.running, added);
                added.set_style(bar("  {prefix:20} {wide_bar} {pos}/{len}"));
                let label = definition
                    .nodes()
                    .nth(controller.node.index())
                    .map_or("", Node::label);
                added.set_prefix(text::one_line(label, 20));
                self.controllers.push((controller.node, added));
                self.controllers.len() - 1
            });
            let bar = &self.controllers[at].1;
            bar.set_length(u64::from(controller.n_all));
            bar.set_position(u64::from(controller.n_ended));
        }
        let waits = progress
            .waiting_for
            .as_ref()
            .map(|what| format!("  waits for {what}"));
        let backoff = backoff(progress, definition, now).map(|backoff| format!("  {backoff}"));
        let runs = running(progress, definition, now).map(|runs| format!("  running: {runs}"));
        let message = runs.or(backoff).or(waits);
        self.running.set_message(message.unwrap_or_default());
        self.running.tick();
    }
}

fn bar(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template);
    style
        .expect("the templates above are well formed")
        .progress_chars("━╸─")
}

#[cfg(test)]
pub(crate) mod tests;
