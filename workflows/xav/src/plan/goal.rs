//! A plan that keeps a deadline on the fewest machines, or at the least cost.

use clap::{Args, ValueEnum};
use model::Span;
use schedule::{Choice, Found, Missed, SchedulerKind, Wanted};

use super::Mode;
use super::result::{PlanResult, Refused, Solution};
use super::show::seconds;
use super::subject::Subject;
use crate::arguments::duration;
use crate::failure::Failure;

/// The wish of somebody who pays for machines.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Goal {
    /// The longest that the plan may take: it uses the fewest machines that are found to hold it
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "compare")]
    pub(crate) deadline: Option<Span>,
    /// Cost that is to be least, as far as the plan holds its deadline
    #[arg(
        long,
        value_name = "COST",
        value_enum,
        alias = "minimize",
        conflicts_with = "compare"
    )]
    pub(crate) minimise: Option<Minimise>,
    /// The deadline as a multiple of the makespan on all machines, such as 1.1
    #[arg(long, value_name = "FACTOR", value_parser = factor, requires = "minimise")]
    #[arg(conflicts_with = "deadline")]
    pub(crate) within: Option<f64>,
}

/// The cost that is to be least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Minimise {
    /// The number of machines
    Machines,
    /// Slots times the hours for which their machines are held
    SlotHours,
    /// The price of these slot hours
    Money,
    /// The energy that the machines draw
    Energy,
}

/// A goal that a plan reaches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reached {
    /// The makespan that was allowed, in seconds.
    pub(crate) makespan_max: f64,
    /// The cost that was to be least.
    pub(crate) least: Minimise,
    /// Fewer machines cannot hold the deadline.
    pub(crate) machines_min: u32,
    /// The number of plans that were made.
    pub(crate) n_plans: usize,
}

fn factor(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(factor) if (1.0..=1e6).contains(&factor) => Ok(factor),
        Ok(_) | Err(_) => Err("a factor is a number from 1, such as 1.1".to_owned()),
    }
}

impl Goal {
    /// True if there is a goal at all.
    pub(crate) fn is_given(&self) -> bool {
        self.deadline.is_some() || self.minimise.is_some() || self.within.is_some()
    }

    /// Makes the plan that reaches it.
    pub(crate) fn plan(
        &self,
        subject: &Subject,
        kind: SchedulerKind,
        budget: Option<Span>,
    ) -> Result<PlanResult, Failure> {
        let least = self.minimise.unwrap_or(Minimise::Machines);
        check(subject, least)?;
        let begin = shell::clock::mono();
        let makespan_max = match (self.deadline, self.within) {
            (Some(deadline), _) => deadline.seconds(),
            (None, Some(factor)) => {
                // Rounding must not make the best plan too long for itself.
                let best = PlanResult::new(subject, kind, budget)?.figures.makespan;
                best * factor * (1.0 + 1e-9)
            }
            (None, None) => {
                let help = "say how long it may take: --deadline 2h, or --within 1.1 of the best";
                return Err(Failure::refused("--minimise without a deadline").help(help));
            }
        };
        let wanted = Wanted {
            problem: &subject.problem,
            rates: &subject.rates,
            kind,
            budget: budget.map(Span::seconds),
            makespan_max,
            choice: least.choice(),
        };
        let Found {
            schedule,
            by,
            machines_min,
            n_trials,
            ..
        } = wanted.find().map_err(|missed| match missed {
            Missed::Late { best, bound } => late(makespan_max, best, bound),
            Missed::Schedule(error) => PlanResult::refused(subject, kind, &error).failure(),
        })?;
        let took = shell::clock::mono().since(begin).seconds();
        let solution = Solution::direct(schedule, by);
        let mut made =
            PlanResult::checked(subject, kind, solution, took).map_err(Refused::failure)?;
        made.reached = Some(Reached {
            makespan_max,
            least,
            machines_min,
            n_plans: n_trials,
        });
        Ok(made)
    }
}

fn check(subject: &Subject, least: Minimise) -> Result<(), Failure> {
    if subject.mode == Mode::Controllers {
        return Err(Failure::refused(
            "deadlines are planned for in direct mode only",
        ));
    }
    let lacks = |what: &str, keys: &str| {
        Err(
            Failure::refused(format!("no machine of the platform has {what}"))
                .help(format!("a machine in a platform file may have {keys}")),
        )
    };
    match least {
        Minimise::Money if !subject.has_prices => lacks("a price", "`price: 0.05`"),
        Minimise::Energy if !subject.has_watts => {
            lacks("its watts", "`idle-watts: 90, busy-watts: 240`")
        }
        Minimise::Machines | Minimise::SlotHours | Minimise::Money | Minimise::Energy => Ok(()),
    }
}

fn late(makespan_max: f64, best: f64, bound: f64) -> Failure {
    let [wanted, best, least] = [makespan_max, best, bound].map(seconds);
    let message =
        format!("no plan that was found holds the deadline of {wanted}: the best takes {best}");
    Failure::new(message).help(if bound > makespan_max {
        format!("no plan can: it takes at least {least} on these machines")
    } else {
        format!(
            "a plan takes at least {least} on these machines; a larger --plan-budget may find one"
        )
    })
}

impl Minimise {
    fn choice(self) -> Choice {
        match self {
            Minimise::Machines => Choice::Machines,
            Minimise::SlotHours => Choice::SlotHours,
            Minimise::Money => Choice::Money,
            Minimise::Energy => Choice::Energy,
        }
    }

    /// As it is written.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Minimise::Machines => "machines",
            Minimise::SlotHours => "slot-hours",
            Minimise::Money => "money",
            Minimise::Energy => "energy",
        }
    }
}

impl Reached {
    /// The goal in words, of a plan that uses so many machines.
    pub(crate) fn sentence(&self, n_machines: u32) -> String {
        let deadline = seconds(self.makespan_max);
        let fewer = match self.machines_min {
            least if least >= n_machines => "fewer machines cannot hold it".to_owned(),
            1 => "no plan for fewer machines was found".to_owned(),
            least => format!("no plan for fewer machines was found, and fewer than {least} cannot"),
        };
        match self.least {
            Minimise::Machines => format!("{deadline} held; {fewer}"),
            Minimise::SlotHours | Minimise::Money | Minimise::Energy => {
                let (what, n_plans) = (self.least.word(), self.n_plans);
                format!("{deadline} held, with the least {what} of {n_plans} plans")
            }
        }
    }
}
