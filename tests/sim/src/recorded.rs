//! Recorded workflows: each becomes a definition, is planned, and runs to its end on a calm grid whose
//! commands take as long as was recorded.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{fmt, fs, io};

use language::wfformat::{self, Options};
use model::{ActivityId, Definition, Mono, Plan, ProcessId, Span, SubmitKey};
use process_core::record::End;
use process_core::{Event, Stream};
use simulator::{Faults, Observer, Rate, Seen, Setup, Sim, Submission};
use thiserror::Error;
use wire::client::{Phase, Submit};

use crate::known::Known;
use crate::rules::Rules;

/// Machines, and slots of each.
const GRID: (u32, u32) = (4, 8);

/// Things that may happen for each activity, and beside them.
const HAPPENINGS_MAX: (u64, u64) = (1_000, 1_000_000);

/// The result of a recorded workflow.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// Its activities.
    pub n_activities: usize,
    /// Seconds that import and check took.
    pub import_seconds: f64,
    /// Seconds that planning took, all plans together.
    pub plan_seconds: f64,
    /// The makespan of its last plan.
    pub planned: Span,
    /// From the plan to the end, in simulated time.
    pub makespan: Span,
    /// No schedule is shorter.
    pub bound: Span,
    /// Things that happened.
    pub n_happened: u64,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Figures {
            n_activities,
            import_seconds,
            plan_seconds,
            planned,
            makespan,
            bound,
            n_happened,
        } = self;
        write!(
            f,
            "{n_activities} activities, import {import_seconds:.3} s, planning {plan_seconds:.3} s, \
             planned {:.1} s, simulated {:.1} s, bound {:.1} s, {n_happened} things happened",
            planned.seconds(),
            makespan.seconds(),
            bound.seconds(),
        )
    }
}

/// Why a recorded workflow did not come to its end.
#[derive(Debug, Error)]
pub enum RecordedError {
    /// It is not a recording that can be run.
    #[error("could not import the recording")]
    Import(#[from] wfformat::ImportError),
    /// The imported recording is not a definition.
    #[error("the recording is no definition: {0}")]
    Definition(String),
    /// A rule was broken, or it did not end well.
    #[error("the run is not as it should be: {0}")]
    Run(String),
}

/// The recordings in a directory and in its `synthetic`, by name.
pub fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let within = directory.join("synthetic");
    for directory in [directory, within.as_path()] {
        if directory == within && !within.is_dir() {
            continue;
        }
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            let name = path.to_string_lossy();
            if name.ends_with(".json") || name.ends_with(".json.gz") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Imports, plans and runs a recording.
pub fn run(recording: &[u8]) -> Result<Figures, RecordedError> {
    let start = now();
    let imported = wfformat::import(recording, &Options::default())?;
    let draft = imported.draft;
    let definition = draft.clone().check().map_err(|problems| {
        RecordedError::Definition(
            problems
                .first()
                .map(ToString::to_string)
                .unwrap_or_default(),
        )
    })?;
    let import_seconds = seconds_since(start);
    let n_activities = definition.activities().len();
    let key = SubmitKey(7);
    let submit = Submit::new(key, draft, "recorded.json");
    let setup = Setup {
        machines: (GRID.0, GRID.0),
        slots: (GRID.1, GRID.1),
        follows_work: true,
        ends_within: Span(u64::MAX / 4),
        n_happenings_max: HAPPENINGS_MAX.0 * n_activities as u64 + HAPPENINGS_MAX.1,
        looks_closely: false,
        has_watchers: false,
        faults: Faults {
            compaction: Rate::NEVER,
            ..Faults::none()
        },
        ..Setup::calm()
    };
    let submission = Submission {
        submit,
        manager: 0,
        user: None,
        at: Mono(0),
        cancels_at: None,
    };
    let mut sim = Sim::new(1, setup, vec![submission], BTreeMap::new(), 1);
    let mut watch = Watch::new(key.process(), &definition);
    sim.run(&mut watch)
        .map_err(|broken| RecordedError::Run(broken.to_string()))?;
    let wrong = |what: String| Err(RecordedError::Run(what));
    if watch.phase != Some(Phase::Completed) {
        return wrong(format!("it ended as {:?}", watch.phase));
    }
    if watch.n_ended != n_activities {
        return wrong(format!("{} of {n_activities} have ended", watch.n_ended));
    }
    let makespan = watch.closed_at.since(watch.planned_at);
    // Whatever the managers do, no grid is faster than the bound.
    if makespan < watch.plan.bound {
        return wrong(format!(
            "{makespan} is less than the bound {}",
            watch.plan.bound
        ));
    }
    Ok(Figures {
        n_activities,
        import_seconds,
        plan_seconds: watch.plan_seconds,
        planned: watch.plan.makespan(),
        makespan,
        bound: watch.plan.bound,
        n_happened: sim.n_happened(),
    })
}

#[expect(clippy::disallowed_methods, reason = "this measures")]
fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "this measures")]
fn seconds_since(start: Instant) -> f64 {
    start.elapsed().as_secs_f64()
}

/// Watches that all rules hold, that nothing starts before what it waits for has ended, and takes times.
struct Watch {
    process: ProcessId,
    rules: Rules,
    order: Order,
    plan_began: Option<Instant>,
    plan_seconds: f64,
    plan: Plan,
    planned_at: Mono,
    closed_at: Mono,
    phase: Option<Phase>,
    n_ended: usize,
}

impl Watch {
    fn new(process: ProcessId, definition: &Definition) -> Watch {
        Watch {
            process,
            rules: Rules::new(Known::default()),
            order: Order::new(definition),
            plan_began: None,
            plan_seconds: 0.0,
            plan: Plan::default(),
            planned_at: Mono(0),
            closed_at: Mono(0),
            phase: None,
            n_ended: 0,
        }
    }

    fn recorded(&mut self, at: Mono, event: &Event) -> Result<(), String> {
        if let Some(plan) = event.plan(&self.plan) {
            self.plan = plan;
            self.planned_at = at;
        }
        if let Event::Closed { phase, .. } = event {
            self.phase = Some((*phase).into());
            self.closed_at = at;
        }
        if let Event::Ended(ended) = event {
            let id = ended.outcome.attempt.activity;
            if ended.outcome.end != End::Completed {
                return Err(format!("{id} ends with {:?}", ended.outcome.end));
            }
            self.n_ended += 1;
            self.order.ended(id);
        }
        Ok(())
    }
}

impl Observer for Watch {
    fn see(&mut self, at: Mono, seen: &Seen<'_>) -> Result<(), String> {
        if let Seen::Plans(_) = seen {
            self.plan_began = Some(now());
        }
        if let Seen::HasPlanned(_) = seen
            && let Some(began) = self.plan_began.take()
        {
            self.plan_seconds += seconds_since(began);
        }
        if let Seen::Started(command) = seen {
            self.order.may_start(command.attempt.activity)?;
        }
        if let Seen::ProcessDurable(Stream::Process(id), event) = seen
            && *id == self.process
        {
            self.recorded(at, event)?;
        }
        self.rules.see(at, seen)
    }
}

/// The predecessors of each activity, by the definition's graph.
struct Order {
    place_of: BTreeMap<ActivityId, usize>,
    n_before: Vec<u32>,
    after: Vec<Vec<usize>>,
    is_gate: Vec<bool>,
}

impl Order {
    fn new(definition: &Definition) -> Order {
        let graph = definition.graph();
        let mut order = Order {
            place_of: BTreeMap::new(),
            n_before: vec![0; graph.n_nodes()],
            after: vec![Vec::new(); graph.n_nodes()],
            is_gate: Vec::with_capacity(graph.n_nodes()),
        };
        for (place, node) in graph.nodes().enumerate() {
            order.is_gate.push(node.activity.is_none());
            order.place_of.extend(node.activity.map(|id| (id, place)));
        }
        for (from, to, _) in graph.edges() {
            order.n_before[to] += 1;
            order.after[from].push(to);
        }
        order
    }

    fn may_start(&self, id: ActivityId) -> Result<(), String> {
        let place = self.place_of.get(&id).copied();
        match place.map(|place| self.n_before[place]) {
            Some(0) => Ok(()),
            Some(n_before) => Err(format!(
                "{id} starts, and {n_before} before it have not ended"
            )),
            None => Err(format!("{id} starts, which is no activity")),
        }
    }

    fn ended(&mut self, id: ActivityId) {
        let mut open: Vec<usize> = self.place_of.get(&id).copied().into_iter().collect();
        while let Some(place) = open.pop() {
            for to in std::mem::take(&mut self.after[place]) {
                self.n_before[to] -= 1;
                if self.n_before[to] == 0 && self.is_gate[to] {
                    open.push(to);
                }
            }
        }
    }
}
