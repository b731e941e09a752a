//! Xavantes: the best of many algorithms, judged in the mode that will run, then improved by a
//! search on the critical chain.
//!
//! No heuristic is best everywhere (on recorded workflows PCH is between 0.2 and 3 times as good as
//! HEFT), so all that fit the budget are asked, in the order of their cost, and the shortest
//! schedule is kept; then [`crate::search`] improves it with what is left of the budget. It is
//! never longer than any member's. All stops where the schedule is within 0.01 % of the bound.
//!
//! The budget is counted in steps, [`STEPS_PER_SECOND`] of them a second, so that the same problem
//! gives the same schedule on every machine. One HEFT runs whatever the budget.

use crate::best::{BestRun, Estimate};
use crate::controllers::{Controlled, Placing, Tree, through_controllers};
use crate::copied::Copied;
use crate::exact::{is_small, shorter};
use crate::memory::fit;
use crate::meter::Meter;
use crate::order::less;
use crate::problem::Problem;
use crate::request::SchedulerKind;
use crate::schedule::{Schedule, ScheduleError, Scheduler};
use crate::search::{Repeats, Search};

mod enough;

use enough::enough;

/// Steps of a budget that stand for a second. A machine of today makes more.
pub const STEPS_PER_SECOND: f64 = 1.1e8;
/// The longest default budget, in seconds.
const BUDGET_MAX: f64 = 1.0;
/// The default budget / the makespan.
const BUDGET_PART: f64 = 0.02;
/// So many times the default budget begin with the search of the default one, so that more seldom gives a
/// longer plan.
const BUDGETS_MANY: u64 = 4;
/// A member may use this part of what is left of the budget.
const MEMBER_PART: f64 = 0.25;
/// The same where there are fewer steps than this for each task and message...
const SEARCH_MIN: u64 = 2_000;
/// ...since a search would improve a plan of so many tasks by little.
const LARGE_PART: f64 = 0.95;
/// The same for members that try one part of the platform after the other, the strongest first.
const LARGE_PARTS_PART: f64 = 0.15;
/// Of what is left for the search of a small graph this part is for a local search at first...
const SMALL_FIRST: f64 = 0.1;
/// ...and this part of the rest for the search of all schedules.
const SMALL_EXACT: f64 = 0.7;
/// A search that can look at fewer tasks than this is not begun.
const LOOKS_MIN: u64 = 20;

/// The portfolio with its search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Xavantes {
    /// Seconds; none for the default.
    budget: Option<f64>,
    without: Option<Part>,
}

/// Parts that can be left out, to measure their worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// All members but HEFT-B.
    Portfolio,
    /// The search.
    Search,
    /// All cycles of the search but the first, which takes the whole budget.
    Cycles,
    /// Moves of controllers in the search: they stay where the traffic was least before it.
    ControllerMoves,
}

/// A schedule whose messages pass the controllers of a process, and how it was found.
#[derive(Clone, Debug, PartialEq)]
pub struct XavantesThrough {
    /// The schedule and the machines of the controllers.
    pub controlled: Controlled,
    /// The makespan of each member through controllers.
    pub estimates: Vec<Estimate>,
}

/// A schedule with copies, and what it is without them.
#[derive(Clone, Debug, PartialEq)]
pub struct XavantesCopied {
    /// The schedule and the copies.
    pub copied: Copied,
    /// The schedule without copies that it was made from, and how that was found.
    pub before: BestRun,
}

/// The members, the cheapest and best first, after HEFT-B: exact PCH takes the place of the near-linear
/// one where it ends within the budget.
const MEMBERS: [SchedulerKind; 14] = [
    SchedulerKind::HeftB,
    SchedulerKind::Heft,
    SchedulerKind::Cpop,
    SchedulerKind::PchFast,
    SchedulerKind::Ippts,
    SchedulerKind::OneMachine,
    SchedulerKind::OneGroup,
    SchedulerKind::BestGroups,
    SchedulerKind::Peft,
    SchedulerKind::Pch,
    SchedulerKind::Lookahead,
    SchedulerKind::MinMin,
    SchedulerKind::MaxMin,
    SchedulerKind::RoundRobin,
];

impl Xavantes {
    /// With the default budget: the smaller of 1 s and 2 % of the makespan of HEFT.
    pub const fn new() -> Xavantes {
        Xavantes {
            budget: None,
            without: None,
        }
    }

    /// With a budget of so many seconds; less than 0, or what is no number, counts as 0.
    pub const fn within(seconds: f64) -> Xavantes {
        Xavantes {
            budget: Some(seconds),
            without: None,
        }
    }

    /// With a part left out.
    #[must_use]
    pub const fn without(self, part: Part) -> Xavantes {
        Xavantes {
            without: Some(part),
            ..self
        }
    }

    /// The schedule in direct mode, and how it was found: the estimates list what each member
    /// gave, and at last what came of the search.
    pub fn run(&self, problem: &Problem) -> Result<BestRun, ScheduleError> {
        let enough = enough(problem);
        let mut portfolio =
            Portfolio::new(self, problem, |schedule| (schedule.makespan(), schedule))?;
        if self.without != Some(Part::Portfolio) {
            portfolio.ask_all(problem, enough)?;
        }
        let meter = Meter::of(portfolio.steps_left());
        let by_default = portfolio.steps_left_by_default();
        let (makespan, mut schedule) = portfolio.best;
        let searches = self.without != Some(Part::Search);
        if searches && worth_searching(problem, makespan, enough, meter.left()) {
            let is_large = !is_small(problem);
            if is_large && worth_searching(problem, makespan, enough, by_default) {
                let first = Meter::of(by_default);
                schedule = self.improved(problem, schedule, &first, enough);
                meter.add(by_default);
            }
            schedule = self.improved(problem, schedule, &meter, enough);
        }
        let mut estimates = portfolio.estimates;
        estimates.push(Estimate {
            scheduler: self.name(),
            makespan: Some(schedule.makespan()),
        });
        Ok(BestRun {
            schedule,
            scheduler: self.name(),
            estimates,
        })
    }

    /// The best that a search finds from a schedule on; of a small graph the optimum, if the steps allow.
    fn improved(&self, problem: &Problem, from: Schedule, meter: &Meter, enough: f64) -> Schedule {
        let mut best = from;
        if is_small(problem) {
            let first = (SMALL_FIRST * meter.left() as f64) as u64;
            best = self.searched(problem, best, first, enough);
            meter.add(first);
            let part = Meter::of((SMALL_EXACT * meter.left() as f64) as u64);
            let found = shorter(problem, best.makespan(), &part);
            meter.add(part.spent());
            best = found.shorter.unwrap_or(best);
            if found.is_proven {
                return best;
            }
        }
        self.searched(problem, best, meter.left(), enough)
    }

    /// The best that a local search finds in so many steps.
    fn searched(&self, problem: &Problem, from: Schedule, steps: u64, enough: f64) -> Schedule {
        let mut search = self.in_cycles(Search::new(problem, &from));
        search.run(steps, enough);
        if !less(search.makespan(), from.makespan()) {
            return from;
        }
        let found = fit(problem, search.schedule());
        if less(found.makespan(), from.makespan()) {
            found
        } else {
            from
        }
    }

    /// The schedule for messages that pass the controllers of a process, which are placed with it.
    pub fn run_through(
        &self,
        problem: &Problem,
        tree: &Tree,
    ) -> Result<XavantesThrough, ScheduleError> {
        let enough = enough(problem);
        let mut portfolio = Portfolio::new(self, problem, |schedule| {
            let controlled = through_controllers(problem, tree, &schedule, Placing::LeastTraffic);
            (controlled.schedule.makespan(), controlled)
        })?;
        if self.without != Some(Part::Portfolio) {
            portfolio.ask_all(problem, enough)?;
        }
        let steps = portfolio.steps_left();
        let (mut makespan, mut controlled) = portfolio.best;
        // Moves of controllers do not know of memory.
        let searches = self.without != Some(Part::Search) && problem.memory().is_none();
        if searches && worth_searching(problem, makespan, enough, steps) {
            let places = &controlled.controllers;
            let mut search = Search::through(problem, &controlled.schedule, tree, places);
            if self.without == Some(Part::ControllerMoves) {
                search = search.without_controller_moves();
            }
            search = self.in_cycles(search);
            search.run(steps, enough);
            if less(search.makespan(), makespan) {
                makespan = search.makespan();
                controlled = Controlled {
                    schedule: search.schedule(),
                    controllers: search.controllers().to_vec(),
                };
            }
        }
        let mut estimates = portfolio.estimates;
        estimates.push(Estimate {
            scheduler: self.name(),
            makespan: Some(makespan),
        });
        Ok(XavantesThrough {
            controlled,
            estimates,
        })
    }

    /// The schedule in direct mode with copies of tasks that may be repeated, on which half of the
    /// budget is spent.
    pub fn run_with_copies(
        &self,
        problem: &Problem,
        repeatable: impl Fn(u32) -> bool,
    ) -> Result<XavantesCopied, ScheduleError> {
        let enough = enough(problem);
        let before = self.run(problem)?;
        let repeatable: Vec<bool> = problem.dag().tasks().map(repeatable).collect();
        let makespan = before.schedule.makespan();
        let steps = steps(self.budget.unwrap_or_else(|| default_budget(makespan)));
        let mut copied = Copied {
            schedule: before.schedule.clone(),
            copies: Vec::new(),
        };
        if worth_searching(problem, makespan, enough, steps) {
            let mut repeats = Repeats::new(problem, &before.schedule, &repeatable);
            repeats.run(steps, enough);
            if less(repeats.makespan(), makespan) {
                copied = repeats.copied();
            }
        }
        Ok(XavantesCopied { copied, before })
    }

    fn in_cycles<'a>(&self, search: Search<'a>) -> Search<'a> {
        match self.without {
            Some(Part::Cycles) => search.in_one_cycle(),
            Some(Part::Portfolio | Part::Search | Part::ControllerMoves) | None => search,
        }
    }
}

impl Default for Xavantes {
    fn default() -> Xavantes {
        Xavantes::new()
    }
}

impl Scheduler for Xavantes {
    fn name(&self) -> &'static str {
        "xavantes"
    }

    /// Within its own budget and these steps, the smaller of both.
    fn schedule_within(&self, problem: &Problem, meter: &Meter) -> Result<Schedule, ScheduleError> {
        let seconds = meter.left() as f64 / STEPS_PER_SECOND;
        let own = match self.budget {
            None if meter.left() == u64::MAX => *self,
            None => Xavantes {
                budget: Some(seconds.min(BUDGET_MAX)),
                ..*self
            },
            Some(budget) => Xavantes {
                budget: Some(budget.min(seconds)),
                ..*self
            },
        };
        Ok(own.run(problem)?.schedule)
    }
}

/// The results of the members so far; `judge` gives the makespan of a schedule in the mode that
/// will run.
struct Portfolio<T, J: FnMut(Schedule) -> (f64, T)> {
    judge: J,
    best: (f64, T),
    estimates: Vec<Estimate>,
    meter: Meter,
    /// The steps of the default budget.
    default_steps: u64,
}

impl<T, J: FnMut(Schedule) -> (f64, T)> Portfolio<T, J> {
    /// With the first member, whose schedule the default budget depends on.
    fn new(
        xavantes: &Xavantes,
        problem: &Problem,
        mut judge: J,
    ) -> Result<Portfolio<T, J>, ScheduleError> {
        let scheduler = MEMBERS[0].scheduler();
        let first = Meter::unlimited();
        let best = judge(scheduler.schedule_within(problem, &first)?);
        let seconds = xavantes.budget.unwrap_or_else(|| default_budget(best.0));
        let meter = Meter::of(steps(seconds));
        meter.add(first.spent());
        Ok(Portfolio {
            judge,
            estimates: vec![Estimate {
                scheduler: scheduler.name(),
                makespan: Some(best.0),
            }],
            default_steps: steps(default_budget(best.0)),
            best,
            meter,
        })
    }

    /// Asks all other members that the budget allows.
    fn ask_all(&mut self, problem: &Problem, enough: f64) -> Result<(), ScheduleError> {
        // Where even one slot alone ends earlier, messages are so dear that a machine alone comes first.
        let alone = less(on_one_slot(problem), self.best.0);
        let mut members = MEMBERS[1..].to_vec();
        if alone {
            members.sort_by_key(|&kind| kind != SchedulerKind::OneMachine);
        }
        for kind in members {
            let scheduler = kind.scheduler();
            let part = if alone && kind == SchedulerKind::OneMachine {
                LARGE_PART
            } else {
                member_part(kind, problem, self.meter.most())
            };
            let own = Meter::of((part * self.meter.left() as f64) as u64);
            let is_asked = self.best.0 > enough && least_cost(kind, problem) <= own.left() as f64;
            let answer = is_asked.then(|| scheduler.schedule_within(problem, &own));
            self.meter.add(own.spent());
            let makespan = match answer {
                None | Some(Err(ScheduleError::TooLarge { .. })) => None,
                Some(Err(error @ ScheduleError::NoHost { .. })) => return Err(error),
                Some(Ok(schedule)) => {
                    let (makespan, judged) = (self.judge)(schedule);
                    if less(makespan, self.best.0) {
                        self.best = (makespan, judged);
                    }
                    Some(makespan)
                }
            };
            self.estimates.push(Estimate {
                scheduler: scheduler.name(),
                makespan,
            });
        }
        Ok(())
    }

    fn steps_left(&self) -> u64 {
        self.meter.left()
    }

    /// The steps that the default budget would leave, where there are several times as many; else none.
    fn steps_left_by_default(&self) -> u64 {
        match self.default_steps.saturating_mul(BUDGETS_MANY) <= self.meter.most() {
            true => self.default_steps.saturating_sub(self.meter.spent()),
            false => 0,
        }
    }
}

fn default_budget(makespan: f64) -> f64 {
    BUDGET_MAX.min(BUDGET_PART * makespan)
}

fn steps(seconds: f64) -> u64 {
    // NaN becomes 0.
    (seconds * STEPS_PER_SECOND) as u64
}

fn worth_searching(problem: &Problem, makespan: f64, enough: f64, steps: u64) -> bool {
    let size = (problem.dag().n_tasks() + problem.dag().n_edges()) as u64;
    makespan > enough && steps >= LOOKS_MIN * size
}

/// The time of all tasks one after the other on the fastest machine that fits all of them; infinite if there
/// is none, some have started, or times do not follow from powers.
fn on_one_slot(problem: &Problem) -> f64 {
    let dag = problem.dag();
    if problem.has_costs() || dag.tasks().any(|task| problem.fixed(task).is_some()) {
        return f64::INFINITY;
    }
    let classes = 0..problem.n_demand_classes();
    let mut n_fitting = vec![0; problem.hosts().len()];
    for class in classes.clone() {
        for &host in problem.fitting(class) {
            n_fitting[host as usize] += 1;
        }
    }
    let hosts = (0u32..).zip(&n_fitting);
    let fitting = hosts.filter(|&(_, &n_fitting)| n_fitting == classes.len());
    let powers = fitting.map(|(host, _)| problem.hosts()[host as usize].power);
    let power = powers.fold(0.0, f64::max);
    let work: f64 = dag.tasks().map(|task| dag.work(task)).sum();
    work / power
}

/// The part of the steps that are left which a member may use: more of them where the graph is so large
/// that the search would come to little.
fn member_part(kind: SchedulerKind, problem: &Problem, steps_max: u64) -> f64 {
    let size = (problem.dag().n_tasks() + problem.dag().n_edges()) as u64;
    let is_large = steps_max < SEARCH_MIN.saturating_mul(size);
    let tries_parts = matches!(
        kind,
        SchedulerKind::OneMachine | SchedulerKind::OneGroup | SchedulerKind::BestGroups
    );
    match (is_large, tries_parts) {
        (true, true) => LARGE_PARTS_PART,
        (true, false) => LARGE_PART,
        (false, _) => MEMBER_PART,
    }
}

/// The steps that an algorithm takes at least, about: one that takes more than it may is not begun.
fn least_cost(kind: SchedulerKind, problem: &Problem) -> f64 {
    let dag = problem.dag();
    let (n, e) = (dag.n_tasks() as f64, dag.n_edges() as f64);
    let hosts = problem.hosts().len() as f64;
    let groups = f64::from(problem.links().n_groups());
    let heft = 40.0 * n + e + e * groups / 6.0;
    match kind {
        SchedulerKind::Heft
        | SchedulerKind::HeftB
        | SchedulerKind::Cpop
        | SchedulerKind::RoundRobin
        | SchedulerKind::Random
        // The strongest part alone.
        | SchedulerKind::OneMachine
        | SchedulerKind::OneGroup
        | SchedulerKind::BestGroups => heft,
        SchedulerKind::PchFast | SchedulerKind::Pch | SchedulerKind::Best => 2.0 * heft,
        SchedulerKind::Peft | SchedulerKind::Ippts => heft + 3.0 * n * hosts,
        SchedulerKind::Lookahead => {
            // Each search for a task looks at what it waits for.
            let degrees = dag.tasks().map(|task| dag.predecessors(task).len() as f64);
            let looks: f64 = degrees.map(|degree| degree * degree).sum();
            looks * groups * hosts / 6.0 + 30.0 * e * hosts
        }
        SchedulerKind::MinMin | SchedulerKind::MaxMin => heft + 5.0 * n * hosts + n * n / 2.0,
        // It is no member of itself.
        SchedulerKind::Xavantes => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests;
