//! Valid schedules are broken in every way that there is a reason for, and each must be refused
//! with one of the reasons that it may have.
#![expect(
    clippy::unwrap_used,
    reason = "a test may stop at what it did not expect"
)]

#[path = "support/requests.rs"]
mod requests;

use std::cell::RefCell;
use std::collections::BTreeSet;

use model::{ActivityId, Span};
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};
use schedule::{
    CheckError, Options, Placed, Problem, Request, Schedule, SchedulerKind, Xavantes, check,
    check_plan, plan_with_options, problem,
};

use requests::requests;

/// Longer than what is taken for a rounding error, in seconds.
const A_WHILE: f64 = 1e-3;
const REASONS: [&str; 12] = [
    "missing",
    "doubled",
    "unknown",
    "place",
    "constraint",
    "moved",
    "duration",
    "order",
    "transfer",
    "overlap",
    "ready",
    "memory",
];
/// Reasons for which a task may not start earlier.
const TOO_EARLY: [&str; 6] = [
    "order", "transfer", "overlap", "ready", "memory", "duration",
];

fn reason(error: &CheckError) -> &'static str {
    match error {
        CheckError::Missing { .. } => "missing",
        CheckError::Doubled { .. } => "doubled",
        CheckError::Unknown { .. } => "unknown",
        CheckError::Place { .. } => "place",
        CheckError::Moved { .. } => "moved",
        CheckError::Constraint { .. } => "constraint",
        CheckError::Duration { .. } => "duration",
        CheckError::Order { .. } => "order",
        CheckError::Transfer { .. } => "transfer",
        CheckError::Overlap { .. } => "overlap",
        CheckError::Ready { .. } => "ready",
        CheckError::Memory { .. } => "memory",
    }
}

/// A way to break a schedule: changes it and tells for which reasons it may be refused, or does
/// nothing where the schedule has nothing to break in this way.
type Mutation = fn(&Problem, &mut Schedule, usize) -> Option<&'static [&'static str]>;

const MUTATIONS: [(&str, Mutation); 14] = [
    ("an entry is left out", |_, schedule, pick| {
        let place = among(schedule.entries.len(), pick)?;
        schedule.entries.remove(place);
        Some(&["missing"])
    }),
    ("an entry is there twice", |_, schedule, pick| {
        let place = among(schedule.entries.len(), pick)?;
        schedule.entries.push(schedule.entries[place]);
        Some(&["doubled"])
    }),
    ("an entry is of no task", |problem, schedule, pick| {
        let place = among(schedule.entries.len(), pick)?;
        schedule.entries[place].task = problem.dag().n_tasks() as u32 + 7;
        Some(&["unknown"])
    }),
    ("a machine is not there", |problem, schedule, pick| {
        let task = picked(problem, pick, |task| holds(problem, task))?;
        schedule.entries[task].host = problem.hosts().len() as u32;
        Some(&["place"])
    }),
    ("a slot is not there", |problem, schedule, pick| {
        let task = picked(problem, pick, |task| holds(problem, task))?;
        let entry = &mut schedule.entries[task];
        entry.slot = problem.hosts()[entry.host as usize].slots;
        Some(&["place"])
    }),
    ("a machine does not fit", |problem, schedule, pick| {
        let misfit = |task: usize| {
            let mut hosts = 0..problem.hosts().len() as u32;
            hosts.find(|&host| holds(problem, task) && !problem.fits(task as u32, host))
        };
        let task = picked(problem, pick, |task| misfit(task).is_some())?;
        let entry = &mut schedule.entries[task];
        (entry.host, entry.slot) = (misfit(task)?, 0);
        Some(&["constraint", "place"])
    }),
    (
        "what has started is elsewhere",
        |problem, schedule, pick| {
            let task = picked(problem, pick, |task| problem.fixed(task as u32).is_some())?;
            schedule.entries[task].finish += 1.0;
            Some(&["moved"])
        },
    ),
    ("a task takes too little time", |problem, schedule, pick| {
        let task = picked(problem, pick, |task| lasts(problem, schedule, task))?;
        let entry = &mut schedule.entries[task];
        entry.finish = 0.5 * (entry.start + entry.finish);
        Some(&["duration"])
    }),
    ("a time is none", |problem, schedule, pick| {
        let task = picked(problem, pick, |task| holds(problem, task))?;
        schedule.entries[task].start = f64::NAN;
        Some(&["duration"])
    }),
    (
        "a task starts a while earlier",
        |problem, schedule, pick| {
            // Every scheduler starts each task as early as its place allows.
            let task = picked(problem, pick, |task| lasts(problem, schedule, task))?;
            earlier(schedule, task, schedule.entries[task].start - A_WHILE);
            Some(&TOO_EARLY)
        },
    ),
    (
        "a task starts with its predecessor",
        |problem, schedule, pick| {
            let (pred, task) = message(problem, pick, |pred, task, _| {
                lasts(problem, schedule, pred) && holds(problem, task)
            })?;
            earlier(schedule, task, schedule.entries[pred].start);
            Some(&TOO_EARLY)
        },
    ),
    (
        "a task starts before its data is there",
        |problem, schedule, pick| {
            let entries = &schedule.entries;
            let seconds = |pred: usize, task: usize, edge| {
                problem.transfer(edge, entries[pred].host, entries[task].host)
            };
            let (pred, task) = message(problem, pick, |pred, task, edge| {
                holds(problem, task) && seconds(pred, task, edge) > 4.0 * A_WHILE
            })?;
            earlier(schedule, task, schedule.entries[pred].finish + A_WHILE);
            Some(&TOO_EARLY)
        },
    ),
    (
        "a task runs beside the one before it on its slot",
        |problem, schedule, pick| {
            let lists: Vec<&Vec<u32>> = schedule.order.iter().flatten().collect();
            let pairs = lists.iter().flat_map(|list| list.windows(2));
            let pairs: Vec<(usize, usize)> = pairs
                .map(|pair| (pair[0] as usize, pair[1] as usize))
                .filter(|&(one, other)| {
                    lasts(problem, schedule, one) && lasts(problem, schedule, other)
                })
                .collect();
            let (one, other) = pairs[among(pairs.len(), pick)?];
            let before = schedule.entries[one];
            earlier(schedule, other, 0.5 * (before.start + before.finish));
            Some(&TOO_EARLY)
        },
    ),
    ("a slot lists a task twice", |problem, schedule, pick| {
        let task = picked(problem, pick, |task| holds(problem, task))?;
        let entry = schedule.entries[task];
        schedule.order[entry.host as usize][entry.slot as usize].push(entry.task);
        Some(&["doubled"])
    }),
];

fn among(n: usize, pick: usize) -> Option<usize> {
    (n > 0).then(|| pick % n)
}

fn picked(problem: &Problem, pick: usize, wanted: impl Fn(usize) -> bool) -> Option<usize> {
    let n_tasks = problem.dag().n_tasks();
    let tasks: Vec<usize> = (0..n_tasks).filter(|&task| wanted(task)).collect();
    Some(tasks[among(tasks.len(), pick)?])
}

fn message(
    problem: &Problem,
    pick: usize,
    wanted: impl Fn(usize, usize, u32) -> bool,
) -> Option<(usize, usize)> {
    let dag = problem.dag();
    let edges = dag.tasks().flat_map(|task| {
        (dag.predecessors(task)).map(move |(pred, edge)| (pred as usize, task as usize, edge))
    });
    let edges: Vec<_> = edges
        .filter(|&(pred, task, edge)| wanted(pred, task, edge))
        .collect();
    let (pred, task, _) = edges[among(edges.len(), pick)?];
    Some((pred, task))
}

/// True if a task needs a slot.
fn holds(problem: &Problem, task: usize) -> bool {
    let task = task as u32;
    !problem.dag().is_gate(task) && problem.fixed(task).is_none()
}

fn lasts(problem: &Problem, schedule: &Schedule, task: usize) -> bool {
    let entry = schedule.entries[task];
    holds(problem, task) && entry.finish - entry.start > 4.0 * A_WHILE
}

fn earlier(schedule: &mut Schedule, task: usize, start: f64) {
    let entry = &mut schedule.entries[task];
    (entry.start, entry.finish) = (start, start + (entry.finish - entry.start));
}

fn schedule_of(request: &Request) -> Option<(Problem, Schedule)> {
    let problem = problem(request).unwrap();
    let run = if request.scheduler == SchedulerKind::Xavantes {
        Xavantes::within(0.001).run(&problem)
    } else {
        request.scheduler.run(&problem)
    };
    Some((problem, run.ok()?.schedule))
}

/// The same with what starts in the first half having started.
fn half_way(request: &Request) -> Option<Request> {
    let (problem, schedule) = schedule_of(request)?;
    let until = 0.5 * schedule.makespan();
    let started = schedule
        .entries
        .iter()
        .filter(|entry| entry.start < until && holds(&problem, entry.task as usize));
    let placed = started.filter_map(|entry| {
        Some(Placed {
            activity: problem.dag().activity(entry.task)?,
            resource: problem.hosts()[entry.host as usize].id,
            finish: Span::from_seconds_up(entry.finish),
        })
    });
    Some(Request {
        placed: placed.collect(),
        ..request.clone()
    })
}

#[test]
fn a_schedule_that_is_broken_is_refused_with_its_reason() {
    let config = ProptestConfig {
        cases: 20_000,
        rng_seed: RngSeed::Fixed(11),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let seen = RefCell::new(BTreeSet::new());
    let cases = (
        requests(),
        any::<bool>(),
        0..MUTATIONS.len(),
        any::<usize>(),
    );
    TestRunner::new(config)
        .run(&cases, |(request, is_half_way, from, pick)| {
            let request = match is_half_way {
                true => half_way(&request),
                false => Some(request),
            };
            let Some((problem, schedule)) = request.as_ref().and_then(schedule_of) else {
                return Ok(());
            };
            prop_assert_eq!(check(&problem, &schedule), Ok(()));
            // Three ways a case: all together are tried some hundred times.
            for number in from..from + 3 {
                let (name, mutate) = MUTATIONS[number % MUTATIONS.len()];
                let mut broken = schedule.clone();
                let Some(allowed) = mutate(&problem, &mut broken, pick) else {
                    continue;
                };
                match check(&problem, &broken) {
                    Ok(()) => prop_assert!(false, "{name}: passed"),
                    Err(error) => {
                        let reason = reason(&error);
                        prop_assert!(allowed.contains(&reason), "{name}: refused because {error}");
                        seen.borrow_mut().insert(reason);
                    }
                }
            }
            Ok(())
        })
        .unwrap();
    let seen = seen.into_inner();
    assert!(
        REASONS.iter().all(|reason| seen.contains(reason)),
        "only {seen:?}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(12),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_plan_that_is_broken_is_refused(request in requests(), pick in any::<usize>()) {
        let options = Options { budget: Some(Span(1_000)), ..Options::default() };
        let Ok(detailed) = plan_with_options(&request, &options) else { return Ok(()) };
        let (plan, problem) = (detailed.plan, problem(&request).unwrap());
        let Some(place) = among(plan.entries.len(), pick) else { return Ok(()) };
        let refused = |change: &dyn Fn(&mut model::Plan)| {
            let mut broken = plan.clone();
            change(&mut broken);
            check_plan(&problem, &broken).err().map(|error| reason(&error))
        };
        prop_assert_eq!(refused(&|plan| plan.entries.truncate(place)), Some("missing"));
        let twice = refused(&|plan| plan.entries.insert(place, plan.entries[place]));
        prop_assert_eq!(twice, Some("doubled"));
        let stranger = refused(&|plan| plan.entries[place].activity = ActivityId(1_000));
        prop_assert_eq!(stranger, Some("unknown"));
        let nowhere = refused(&|plan| plan.entries[place].slot += 1_000);
        prop_assert_eq!(nowhere, Some("place"));
        let entry = plan.entries[place];
        if entry.finish.0 > entry.start.0 + 1 {
            let short = refused(&|plan| plan.entries[place].finish.0 -= 1);
            prop_assert_eq!(short, Some("duration"));
            // A plan does not say where gates are: what comes through one may be there earlier.
            let has_gates = problem.dag().tasks().any(|task| problem.dag().is_gate(task));
            let a_while = Span::from_seconds_up(A_WHILE).0;
            let lasts = entry.finish.0 - entry.start.0 > 4 * a_while;
            if !has_gates && lasts && entry.start.0 >= a_while {
                let early = refused(&|plan| {
                    plan.entries[place].start.0 -= a_while;
                    plan.entries[place].finish.0 -= a_while;
                });
                prop_assert!(early.is_some_and(|reason| TOO_EARLY.contains(&reason)), "{early:?}");
            }
        }
    }
}
