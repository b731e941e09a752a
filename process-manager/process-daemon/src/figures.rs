//! Metrics of a process manager.

use std::sync::{Mutex, MutexGuard, PoisonError};

use machine::Histogram;
use process_core::{FAULTS, Measured, PROCESS_PHASES};
use shell::metrics::{Figures, MICROSECONDS};

const PER_MILLE: f64 = 1e-3;

/// Upper bounds of planning times in microseconds: from one activity to a hundred thousand.
const PLANNING_BOUNDS: &[u64] = &[
    100, 500, 2_000, 10_000, 50_000, 200_000, 1_000_000, 5_000_000, 20_000_000, 60_000_000,
];

/// The counts of this program, and the newest answer of the core.
#[derive(Debug)]
pub(crate) struct Board(Mutex<Counted>);

#[derive(Debug)]
struct Counted {
    measured: Option<Box<Measured>>,
    /// Times of plans that were made, in microseconds.
    made: Histogram,
    /// The same, where there was no plan.
    refused: Histogram,
}

impl Default for Board {
    fn default() -> Board {
        Board(Mutex::new(Counted {
            measured: None,
            made: Histogram::new(PLANNING_BOUNDS),
            refused: Histogram::new(PLANNING_BOUNDS),
        }))
    }
}

impl Board {
    /// The core has answered.
    pub(crate) fn measured(&self, measured: Box<Measured>) {
        self.lock().measured = Some(measured);
    }

    /// A plan took this time.
    pub(crate) fn planned(&self, is_made: bool, time: model::Span) {
        let mut counted = self.lock();
        match is_made {
            true => counted.made.note(time.0),
            false => counted.refused.note(time.0),
        }
    }

    /// Adds all metrics. Those of the core are missing until it has answered once.
    pub(crate) fn show(&self, figures: &mut Figures) {
        let counted = self.lock();
        let about = "Time to make a plan, by its result.";
        let mut planning = figures.histograms("planning_seconds", about);
        for (result, times) in [("made", &counted.made), ("refused", &counted.refused)] {
            planning.add_histogram(&[("result", result)], times, MICROSECONDS);
        }
        if let Some(measured) = &counted.measured {
            show_state(figures, measured);
            show_tally(figures, measured);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Counted> {
        // Nothing panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn show_state(figures: &mut Figures, measured: &Measured) {
    let mut processes = figures.gauges("processes", "Processes, by phase.");
    for (phase, &n) in PROCESS_PHASES.iter().zip(&measured.processes) {
        processes.add(&[("phase", phase)], n as f64);
    }
    let totals = &measured.totals;
    let about = "Activities of the processes that have not ended, by phase.";
    let mut activities = figures.gauges("activities", about);
    for (phase, n) in [
        ("waiting", totals.waiting),
        ("ready", totals.ready),
        ("sent", totals.running),
        ("completed", totals.completed),
        ("faulted", totals.faulted),
        ("skipped", totals.skipped),
    ] {
        activities.add(&[("phase", phase)], n.into());
    }
    let market = &measured.market;
    let about = "Processes on their way to a plan or from it, by stage.";
    let mut queues = figures.gauges("processes_queued", about);
    for (stage, n) in [
        ("first-plan", market.n_waiting),
        ("another-plan", market.n_waiting_again),
        ("planning", market.n_planning),
        ("claiming", market.n_claiming),
        ("releasing", market.n_releasing),
    ] {
        queues.add(&[("stage", stage)], n as f64);
    }
    let about = "Slots that processes of this manager may claim, and those that they hold.";
    let mut slots = figures.gauges("slots", about);
    slots.add(&[("state", "free")], market.slots_free as f64);
    slots.add(&[("state", "used")], market.slots_used as f64);
    let about = "Machines that this manager knows, by state.";
    let mut machines = figures.gauges("machines", about);
    for (state, n) in [
        ("trusted", measured.n_trusted),
        ("suspect", measured.n_suspect),
        ("draining", measured.n_leaving),
    ] {
        machines.add(&[("state", state)], n as f64);
    }
    let about = "Attempts that were sent to machines and have not ended.";
    figures.gauge("attempts_out", about, measured.n_out as f64);
    let about = "Clients that watch a process.";
    figures.gauge("watchers", about, measured.n_watchers as f64);
    let about = "Activities, each at one size of its inputs, whose times are remembered.";
    figures.gauge("history_templates", about, measured.n_templates as f64);
}

fn show_tally(figures: &mut Figures, measured: &Measured) {
    let tally = &measured.tally;
    let about = "Processes that were submitted.";
    figures.counter("processes_submitted_total", about, tally.n_submitted);
    let about = "Processes that have ended, by phase.";
    let mut ended = figures.counters("processes_ended_total", about);
    for (phase, n) in [
        ("completed", tally.n_completed),
        ("faulted", tally.n_faulted),
        ("cancelled", tally.n_cancelled),
    ] {
        ended.add(&[("phase", phase)], n as f64);
    }
    let about = "Attempts that were sent to machines.";
    figures.counter("attempts_sent_total", about, tally.n_sent);
    let verdicts = &tally.verdicts;
    let about = "Attempts that have ended, by what follows for the activity.";
    let mut ended = figures.counters("attempts_ended_total", about);
    for (result, n) in [
        ("completed", verdicts.n_completed),
        ("retried", verdicts.n_retried),
        ("lost", verdicts.n_lost),
        ("taken-back", verdicts.n_taken_back),
        ("lacking-inputs", verdicts.n_lacking),
        ("faulted", verdicts.n_faulted),
        ("stopped", verdicts.n_stopped),
        ("dropped", verdicts.n_dropped),
    ] {
        ended.add(&[("result", result)], n as f64);
    }
    let about = "Faults of attempts and processes, by name.";
    let mut faults = figures.counters("faults_total", about);
    for (name, &n) in FAULTS.iter().zip(&tally.faults) {
        faults.add(&[("name", name)], n as f64);
    }
    let about = "Activities that took a recorded outcome and did not run.";
    figures.counter("activities_reused_total", about, tally.n_reused);
    let about = "Attempts that were sent to make lost files again.";
    figures.counter("recomputations_total", about, tally.n_recomputing);
    let about = "Plans that came into force: the first one of a process, or another.";
    let mut plans = figures.counters("plans_total", about);
    plans.add(&[("kind", "first")], tally.n_planned as f64);
    plans.add(&[("kind", "another")], tally.n_replanned as f64);
    let about = "Plans that moved activities because a machine was slower than planned.";
    figures.counter("reschedules_total", about, tally.n_rescheduled);
    let about = "Activities that such plans have moved.";
    figures.counter("activities_moved_total", about, tally.n_moved);
    let about = "Time by which processes end sooner by such plans, as they were counted when made.";
    let mut saved = figures.counters("reschedule_saved_seconds_total", about);
    saved.add(&[], tally.saved.seconds());
    let about = "Looks at whether the machines of a process are as fast as planned.";
    figures.counter("machine_judgements_total", about, tally.n_judged);
    let about = "Plans that were asked for since machines are not as fast as planned.";
    figures.counter("reschedules_asked_total", about, tally.n_asked_to_move);
    let about = "Those of them that did not shorten the process by enough.";
    figures.counter("reschedules_declined_total", about, tally.n_not_worth);
    let about = "Attempts that were sent beside others at the same activities, which took too long or have replicas.";
    figures.counter("races_total", about, tally.n_races);
    let about = "Those of them that had the result.";
    figures.counter("races_won_by_second_total", about, tally.n_won_by_second);
    let about = "Times that files went on to the machine of a controller.";
    figures.counter("files_passed_total", about, tally.n_hops);
    let about = "Hops of files that took too long, so that their readers went without them.";
    figures.counter("files_not_passed_total", about, tally.n_hops_given_up);
    let about = "Time from the moment at which an activity is ready to its start.";
    figures.histogram(
        "activity_start_delay_seconds",
        about,
        &tally.start_delays,
        MICROSECONDS,
    );
    let about = "Time that completed attempts ran.";
    figures.histogram("attempt_run_seconds", about, &tally.run_times, MICROSECONDS);
    let about = "Duration of a completed process as a part of the planned one: 1 is as planned.";
    figures.histogram(
        "process_duration_to_plan_ratio",
        about,
        &tally.plan_ratios,
        PER_MILLE,
    );
}
