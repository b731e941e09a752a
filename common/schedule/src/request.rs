//! The entry point for managers: from a process manager's request to a checked plan.

use std::collections::{BTreeMap, BTreeSet};

use model::{ActivityGraph, ActivityId, Bytes, Generation, Plan, Platform, ResourceId, Span};
use thiserror::Error;

use crate::best::{Best, BestRun, Estimate};
use crate::check::{CheckError, check_plan_by};
use crate::controllers::TreeError;
use crate::copied::{Copied, CopiedPlan, check_copied, retime_copied};
use crate::cpop::Cpop;
use crate::dag::{Dag, DagError};
use crate::heft::Heft;
use crate::inside::Inside;
use crate::ippts::Ippts;
use crate::lookahead::Lookahead;
use crate::min_min::MinMin;
use crate::pch::{Pch, PchFast};
use crate::peft::Peft;
use crate::problem::{Demand, Fixed, OUTSIDE, Problem, ProblemError};
use crate::random_host::RandomHost;
use crate::rank::MeanRule;
use crate::retime::{TooLong, retime_by};
use crate::round_robin::RoundRobin;
use crate::schedule::{ScheduleError, Scheduler};
use crate::way::{Controllers, Way};
use crate::xavantes::{Xavantes, XavantesCopied};

/// Everything that a plan rests on. The same request gives the same plan.
#[derive(Clone, Debug)]
pub struct Request {
    /// The activities of the process, weighted by what is known of their work.
    pub graph: ActivityGraph,
    /// The machines that may be used.
    pub platform: Platform,
    /// The demands of activities beside cores; an activity without an entry has none.
    pub demands: BTreeMap<ActivityId, Demand>,
    /// For each machine of the platform, in its order, when each slot becomes free, counted from
    /// the moment that the plan is made for. Slots left out at the end are free at once.
    pub ready: Vec<Vec<Span>>,
    /// Memory that others than these activities hold.
    pub held: Vec<Held>,
    /// Activities that have started or ended. They are not in the plan, but their data lies on
    /// their machines.
    pub placed: Vec<Placed>,
    /// The number that the plan gets.
    pub generation: Generation,
    /// The algorithm.
    pub scheduler: SchedulerKind,
    /// Controllers that data passes on its way; none where it goes from machine to machine.
    pub controllers: Option<Controllers>,
}

/// An activity that has started or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The activity.
    pub activity: ActivityId,
    /// The machine where its data is or will be. No task is placed on a machine that the platform
    /// does not list, and data from there crosses the link between groups.
    pub resource: ResourceId,
    /// When it is expected to end, counted like the ready times; zero if it has ended.
    pub finish: Span,
}

/// Memory of a machine that something else holds, or will.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The machine; one that the platform does not list is no matter.
    pub resource: ResourceId,
    /// The memory.
    pub memory: Bytes,
    /// From when on, counted like the ready times: zero for what is held at the moment.
    pub from: Span,
    /// Until when.
    pub until: Span,
}

/// The algorithms to choose from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SchedulerKind {
    /// Many algorithms, the shortest of their schedules improved by a search within a budget.
    #[default]
    Xavantes,
    /// The shorter of HEFT-B and PCH.
    Best,
    /// HEFT, messages ranked by their mean cost.
    Heft,
    /// HEFT, messages ranked by the mean bandwidth, as in Bittencourt and Madeira's comparison.
    HeftB,
    /// Exact static PCH, up to [`crate::PCH_TASKS_MAX`] activities.
    Pch,
    /// Near-linear PCH.
    PchFast,
    /// CPOP, messages ranked by their mean cost.
    Cpop,
    /// PEFT.
    Peft,
    /// IPPTS.
    Ippts,
    /// HEFT with lookahead.
    Lookahead,
    /// Min-min.
    MinMin,
    /// Max-min, up to [`crate::MAX_MIN_TASKS_MAX`] activities.
    MaxMin,
    /// HEFT on the best single machine.
    OneMachine,
    /// HEFT in the best single group.
    OneGroup,
    /// HEFT in the strongest k groups, for the best k.
    BestGroups,
    /// Each machine in turn.
    RoundRobin,
    /// A machine drawn for each activity, the same at each call.
    Random,
}

/// A plan and how it was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Detailed {
    /// The plan.
    pub plan: Plan,
    /// The algorithm whose plan it is: a member's where several were asked.
    pub scheduler: &'static str,
    /// The estimates of all algorithms that ran.
    pub estimates: Vec<Estimate>,
    /// The plan with copies of activities, where it is shorter.
    pub copied: Option<CopiedPlan>,
}

/// Limits and permissions of planning beside the request. Only [`SchedulerKind::Xavantes`] reads
/// them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Time for planning, as [`crate::STEPS_PER_SECOND`] counts it; none for the default.
    pub budget: Option<Span>,
    /// Activities that may run more than once.
    pub repeatable: BTreeSet<ActivityId>,
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Refusal {
    /// No machine of the platform fits an activity.
    #[error("activity {activity} {misfit}")]
    NoResource {
        /// The first such activity.
        activity: ActivityId,
        /// The reason, as in "needs 8 cores; the largest machine has 2".
        misfit: String,
    },
    /// Two nodes of the graph, or two started ones, stand for one activity.
    #[error("activity {0} is listed twice")]
    Twice(ActivityId),
    /// A started activity that the graph does not have.
    #[error("activity {0} has started but is not in the graph")]
    Unknown(ActivityId),
    /// The graph cannot be scheduled.
    #[error("the graph cannot be planned")]
    Graph(#[source] DagError),
    /// The machines, ready times or sizes cannot be scheduled.
    #[error("the request cannot be planned")]
    Problem(#[source] ProblemError),
    /// The controllers are not those of the graph's activities.
    #[error("the controllers of the request cannot be planned with")]
    Controllers(#[source] TreeError),
    /// The plan would not end within the years that a clock counts.
    #[error("the plan is too long")]
    TooLong(#[source] TooLong),
    /// The scheduler gave a plan that breaks a rule: a fault of this library.
    #[error("the plan of {scheduler} breaks a rule")]
    Invalid {
        /// The scheduler that made the plan.
        scheduler: &'static str,
        /// The broken rule.
        #[source]
        source: CheckError,
    },
}

/// Makes a plan and checks it.
pub fn plan(request: &Request) -> Result<Plan, Refusal> {
    Ok(plan_with_options(request, &Options::default())?.plan)
}

/// Makes a plan within a budget, with copies of activities that may be repeated, and checks it. The result
/// has the scheduler that made it.
pub fn plan_with_options(request: &Request, options: &Options) -> Result<Detailed, Refusal> {
    let problem = problem(request)?;
    let way = way(request, &problem)?;
    let (run, copied) = run_with_options(&problem, request.scheduler, options)
        .map_err(|error| no_schedule(&problem, error))?;
    let BestRun {
        schedule,
        scheduler,
        estimates,
    } = run;
    let (schedule, scheduler) = way.shortest(&problem, (schedule, scheduler));
    let copied = copied.filter(|_| request.controllers.is_none());
    let copied = match copied {
        // Copies are only shown, so what breaks a rule is left out rather than refused.
        Some(copied) if check_copied(&problem, &copied).is_ok() => {
            Some(retime_copied(&problem, &copied).map_err(Refusal::TooLong)?)
        }
        Some(_) | None => None,
    };
    let plan = retime_by(&problem, &way, &schedule, request.generation);
    let plan = plan.map_err(Refusal::TooLong)?;
    check_plan_by(&problem, &way, &plan)
        .map_err(|source| Refusal::Invalid { scheduler, source })?;
    Ok(Detailed {
        plan,
        scheduler,
        estimates,
        copied,
    })
}

fn run_with_options(
    problem: &Problem,
    kind: SchedulerKind,
    options: &Options,
) -> Result<(BestRun, Option<Copied>), ScheduleError> {
    if kind != SchedulerKind::Xavantes {
        return Ok((kind.run(problem)?, None));
    }
    let xavantes = match options.budget {
        Some(budget) => Xavantes::within(budget.seconds()),
        None => Xavantes::new(),
    };
    // Copies do not know of memory.
    if options.repeatable.is_empty() || problem.memory().is_some() {
        return Ok((xavantes.run(problem)?, None));
    }
    let repeatable = |task| {
        let activity = problem.dag().activity(task);
        activity.is_some_and(|activity| options.repeatable.contains(&activity))
    };
    let XavantesCopied { copied, before } = xavantes.run_with_copies(problem, repeatable)?;
    let has_copies = !copied.copies.is_empty();
    Ok((before, has_copies.then_some(copied)))
}

/// The way of messages of a request.
pub(crate) fn way(request: &Request, problem: &Problem) -> Result<Way, Refusal> {
    Way::new(problem, request.controllers.as_ref()).map_err(Refusal::Controllers)
}

/// The scheduling problem of a request.
pub fn problem(request: &Request) -> Result<Problem, Refusal> {
    let dag = Dag::from_graph(&request.graph).map_err(Refusal::Graph)?;
    let mut task_of = BTreeMap::new();
    for task in dag.tasks() {
        if let Some(activity) = dag.activity(task)
            && task_of.insert(activity, task).is_some()
        {
            return Err(Refusal::Twice(activity));
        }
    }
    let resources = request.platform.resources();
    let hosts: BTreeMap<ResourceId, u32> = resources
        .iter()
        .zip(0u32..)
        .map(|(resource, host)| (resource.id, host))
        .collect();
    let mut seen = BTreeSet::new();
    let mut fixed = Vec::with_capacity(request.placed.len());
    for &Placed {
        activity,
        resource,
        finish,
    } in &request.placed
    {
        let task = *task_of.get(&activity).ok_or(Refusal::Unknown(activity))?;
        if !seen.insert(activity) {
            return Err(Refusal::Twice(activity));
        }
        let host = hosts.get(&resource).copied().unwrap_or(OUTSIDE);
        fixed.push((
            task,
            Fixed {
                host,
                finish: finish.seconds(),
            },
        ));
    }
    let held = request.held.iter().filter_map(|held| {
        let host = hosts.get(&held.resource).copied()?;
        let times = (held.from.seconds(), held.until.seconds());
        Some((host, held.memory, times))
    });
    let activities: Vec<Option<ActivityId>> = dag.tasks().map(|task| dag.activity(task)).collect();
    let ready: Vec<Vec<f64>> = request
        .ready
        .iter()
        .map(|slots| slots.iter().map(|at| at.seconds()).collect())
        .collect();
    let problem = Problem::new(dag, &request.platform)
        .and_then(|problem| {
            problem.with_demands(|task| request.demands.get(&activities[task as usize]?))
        })
        .and_then(|problem| problem.with_ready(&ready))
        .and_then(|problem| problem.with_fixed(fixed))
        .and_then(|problem| problem.with_held(held))
        .map_err(Refusal::Problem)?;
    Ok(problem)
}

impl SchedulerKind {
    /// All of them, in the order in which they are listed to users.
    pub const ALL: [SchedulerKind; 17] = [
        SchedulerKind::Xavantes,
        SchedulerKind::Best,
        SchedulerKind::Heft,
        SchedulerKind::HeftB,
        SchedulerKind::Pch,
        SchedulerKind::PchFast,
        SchedulerKind::Cpop,
        SchedulerKind::Peft,
        SchedulerKind::Ippts,
        SchedulerKind::Lookahead,
        SchedulerKind::MinMin,
        SchedulerKind::MaxMin,
        SchedulerKind::OneMachine,
        SchedulerKind::OneGroup,
        SchedulerKind::BestGroups,
        SchedulerKind::RoundRobin,
        SchedulerKind::Random,
    ];

    /// The algorithm itself.
    pub fn scheduler(self) -> &'static dyn Scheduler {
        const HEFT: Heft = Heft::new(MeanRule::Costs);
        const HEFT_B: Heft = Heft::new(MeanRule::Bandwidths);
        const XAVANTES: Xavantes = Xavantes::new();
        const PCH: Pch = Pch::new();
        const RANDOM: RandomHost = RandomHost::new(1);
        const CPOP: Cpop = Cpop::new(MeanRule::Costs);
        match self {
            SchedulerKind::Xavantes => &XAVANTES,
            SchedulerKind::Best => &Best,
            SchedulerKind::Heft => &HEFT,
            SchedulerKind::HeftB => &HEFT_B,
            SchedulerKind::Pch => &PCH,
            SchedulerKind::PchFast => &PchFast,
            SchedulerKind::Cpop => &CPOP,
            SchedulerKind::Peft => &Peft,
            SchedulerKind::Ippts => &Ippts,
            SchedulerKind::Lookahead => &Lookahead,
            SchedulerKind::MinMin => &MinMin::Shortest,
            SchedulerKind::MaxMin => &MinMin::Longest,
            SchedulerKind::OneMachine => &Inside::OneMachine,
            SchedulerKind::OneGroup => &Inside::OneGroup,
            SchedulerKind::BestGroups => &Inside::BestGroups,
            SchedulerKind::RoundRobin => &RoundRobin,
            SchedulerKind::Random => &RANDOM,
        }
    }

    /// A schedule, whose it is, and what the members gave where there are several.
    pub fn run(self, problem: &Problem) -> Result<BestRun, ScheduleError> {
        if self == SchedulerKind::Best {
            return Best.run(problem);
        }
        if self == SchedulerKind::Xavantes {
            return Xavantes::new().run(problem);
        }
        let scheduler = self.scheduler();
        let schedule = scheduler.schedule(problem)?;
        let estimate = Estimate {
            scheduler: scheduler.name(),
            makespan: Some(schedule.makespan()),
        };
        Ok(BestRun {
            schedule,
            scheduler: scheduler.name(),
            estimates: vec![estimate],
        })
    }

    /// The algorithm that users call by a name.
    pub fn named(name: &str) -> Option<SchedulerKind> {
        SchedulerKind::ALL
            .into_iter()
            .find(|kind| kind.scheduler().name() == name)
    }
}

/// The refusal where a problem has no schedule.
pub(crate) fn no_schedule(problem: &Problem, error: ScheduleError) -> Refusal {
    match error {
        ScheduleError::NoHost { task } => no_resource(problem, task),
        ScheduleError::TooLarge { what, count, max } => Refusal::Problem(ProblemError::TooLarge {
            what,
            count: usize::try_from(count).unwrap_or(usize::MAX),
            max: usize::try_from(max).unwrap_or(usize::MAX),
        }),
    }
}

fn no_resource(problem: &Problem, task: u32) -> Refusal {
    let activity = problem.dag().activity(task).unwrap_or_default();
    Refusal::NoResource {
        activity,
        misfit: problem.misfit(task).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests;
