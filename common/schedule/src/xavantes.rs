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
use crate::memory::fit;
use crate::order::less;
use crate::pch::Pch;
use crate::problem::Problem;
use crate::request::SchedulerKind;
use crate::schedule::{Schedule, ScheduleError, Scheduler};
use crate::search::{CYCLES, Repeats, Search};

mod enough;

use enough::enough;

/// Steps of a budget that stand for a second. A machine of today makes more.
pub const STEPS_PER_SECOND: f64 = 1.5e8;
/// The longest default budget, in seconds.
const BUDGET_MAX: f64 = 1.0;
/// The default budget / the makespan.
const BUDGET_PART: f64 = 0.02;
/// A member may use this part of what is left of the budget.
const MEMBER_PART: f64 = 0.25;
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
    /// The second and the third cycle of the search: its first one takes the whole budget.
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

/// The members, the cheapest first, after HEFT-B: exact PCH takes the place of the near-linear one
/// where it ends within the budget.
const MEMBERS: [SchedulerKind; 14] = [
    SchedulerKind::HeftB,
    SchedulerKind::Heft,
    SchedulerKind::PchFast,
    SchedulerKind::Cpop,
    SchedulerKind::OneGroup,
    SchedulerKind::BestGroups,
    SchedulerKind::Peft,
    SchedulerKind::Ippts,
    SchedulerKind::Pch,
    SchedulerKind::OneMachine,
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
        let steps = portfolio.steps_left();
        let (mut makespan, mut schedule) = portfolio.best;
        if self.without != Some(Part::Search) && worth_searching(problem, makespan, enough, steps) {
            let mut search = Search::new(problem, &schedule).in_cycles(self.cycles());
            search.run(steps, enough);
            if less(search.makespan(), makespan) {
                schedule = fit(problem, search.schedule());
                makespan = schedule.makespan();
            }
        }
        let mut estimates = portfolio.estimates;
        estimates.push(Estimate {
            scheduler: self.name(),
            makespan: Some(makespan),
        });
        Ok(BestRun {
            schedule,
            scheduler: self.name(),
            estimates,
        })
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
            search = search.in_cycles(self.cycles());
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

    fn cycles(&self) -> u32 {
        match self.without {
            Some(Part::Cycles) => 1,
            Some(Part::Portfolio | Part::Search | Part::ControllerMoves) | None => CYCLES,
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

    fn schedule(&self, problem: &Problem) -> Result<Schedule, ScheduleError> {
        Ok(self.run(problem)?.schedule)
    }
}

/// The results of the members so far; `judge` gives the makespan of a schedule in the mode that
/// will run.
struct Portfolio<T, J: FnMut(Schedule) -> (f64, T)> {
    judge: J,
    best: (f64, T),
    estimates: Vec<Estimate>,
    steps_max: f64,
    steps: f64,
}

impl<T, J: FnMut(Schedule) -> (f64, T)> Portfolio<T, J> {
    /// With the first member, whose schedule the default budget depends on.
    fn new(
        xavantes: &Xavantes,
        problem: &Problem,
        mut judge: J,
    ) -> Result<Portfolio<T, J>, ScheduleError> {
        let scheduler = MEMBERS[0].scheduler();
        let best = judge(scheduler.schedule(problem)?);
        let seconds = xavantes.budget.unwrap_or_else(|| default_budget(best.0));
        Ok(Portfolio {
            judge,
            estimates: vec![Estimate {
                scheduler: scheduler.name(),
                makespan: Some(best.0),
            }],
            best,
            steps_max: steps(seconds) as f64,
            steps: cost(MEMBERS[0], problem),
        })
    }

    /// Asks all other members that the budget allows.
    fn ask_all(&mut self, problem: &Problem, enough: f64) -> Result<(), ScheduleError> {
        for &kind in &MEMBERS[1..] {
            let cost = cost(kind, problem);
            let part = MEMBER_PART * (self.steps_max - self.steps);
            let scheduler = kind.scheduler();
            let asked = self.best.0 > enough && (cost <= part || kind == SchedulerKind::Pch);
            let answer = if !asked {
                None
            } else if kind == SchedulerKind::Pch {
                // Exact PCH stops by itself; a step of it costs some three of these.
                let steps = (part / 3.0).max(0.0);
                self.steps += steps.min(cost);
                Some(Pch::within(steps as u64).schedule(problem))
            } else {
                self.steps += cost;
                Some(scheduler.schedule(problem))
            };
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
        (self.steps_max - self.steps).max(0.0) as u64
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

/// About how many steps an algorithm takes, from measurements.
fn cost(kind: SchedulerKind, problem: &Problem) -> f64 {
    let dag = problem.dag();
    let (n, e) = (dag.n_tasks() as f64, dag.n_edges() as f64);
    let hosts = problem.hosts().len() as f64;
    let groups = f64::from(problem.links().n_groups());
    let heft = 60.0 * (n + e) + e * groups + 10.0 * n * hosts.sqrt();
    match kind {
        SchedulerKind::Heft | SchedulerKind::HeftB => heft,
        SchedulerKind::PchFast => 8.0 * heft,
        SchedulerKind::Cpop | SchedulerKind::RoundRobin | SchedulerKind::Random => 3.0 * heft,
        SchedulerKind::Peft | SchedulerKind::Ippts => 4.0 * heft + e * hosts,
        SchedulerKind::OneGroup | SchedulerKind::BestGroups => groups * heft,
        SchedulerKind::OneMachine => hosts.min(crate::PARTS_MAX as f64) * heft,
        SchedulerKind::Lookahead => 60.0 * e * hosts,
        SchedulerKind::MinMin | SchedulerKind::MaxMin => 10.0 * n * hosts + n * n,
        SchedulerKind::Pch | SchedulerKind::Best => 60.0 * n * (n + e),
        // It is no member of itself.
        SchedulerKind::Xavantes => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests;
