//! Placing dependent activities on grouped machines of different power: from a graph and a
//! platform to a plan.
//!
//! It is pure: no clock, no random numbers but those of a fixed seed, no threads, no files; the
//! same request gives the same plan. It sends nothing and watches nothing that runs: managers do.
//! [`rounds`] is the engine of the studies of when to plan again; managers judge machines by its [`rounds::Shown`]
//! and compare plans with [`kept()`].
//!
//! Managers need [`Request`] and [`plan`], or [`plan_with_options`] to tell users which algorithm
//! it was. Authors of algorithms read [`Problem`] first, then [`Schedule`] and the trait
//! [`Scheduler`], then [`Heft`], [`Pch`], [`Best`], and [`Xavantes`], which is the default. Times
//! are `f64` seconds inside, compared with a tolerance ([`less`]), and whole microseconds in a
//! [`model::Plan`] ([`retime()`]). Every algorithm has a file of its own and is judged by the same
//! [`check()`] and [`Figures`].
//!
//! [`draw`] makes pictures of schedules, for terminals and as SVG.
//!
//! Plans are made in direct mode, where a message goes from machine to machine, unless the request has
//! [`Controllers`] that it passes. [`through_controllers`] tells what a schedule becomes with
//! controllers that are placed for it.

mod alike;
mod arrival;
mod best;
mod bound;
mod check;
mod controllers;
mod copied;
mod cost;
mod cpop;
mod dag;
mod deadline;
pub mod draw;
mod exact;
#[cfg(test)]
mod fixtures;
mod heft;
mod insertion;
mod inside;
mod ippts;
mod kept;
mod links;
mod lookahead;
mod memory;
mod meter;
mod min_min;
mod order;
mod outlook;
mod pch;
mod peft;
pub mod platform;
mod problem;
pub mod random;
mod random_host;
mod rank;
mod request;
mod retime;
mod round_robin;
pub mod rounds;
mod schedule;
mod search;
pub mod structured;
mod timeline;
mod way;
mod xavantes;

pub use best::{Best, BestRun, Estimate};
pub use bound::{Figures, bound, critical_path_time, sequential_time};
pub use check::{CheckError, check, check_plan};
pub use controllers::{
    Controlled, Placing, Tree, TreeError, check_through_controllers, through_controllers,
};
pub use copied::{Copied, CopiedError, CopiedPlan, check_copied};
pub use cost::{Cost, Rates};
pub use cpop::Cpop;
pub use dag::{Dag, DagError, EDGES_MAX, TASKS_MAX, Task};
pub use deadline::{Choice, Found, Missed, Wanted};
pub use heft::Heft;
pub use inside::{Inside, PARTS_MAX};
pub use ippts::Ippts;
pub use kept::{grown_from, kept, moved_from};
pub use links::Links;
pub use lookahead::{LOOKAHEAD_SEARCHES_MAX, Lookahead};
pub use meter::Meter;
pub use min_min::{MAX_MIN_TASKS_MAX, MinMin};
pub use order::{TOLERANCE, less};
pub use pch::{Cluster, PCH_STEPS_MAX, PCH_TASKS_MAX, Pch, PchFast, PchRun};
pub use peft::Peft;
pub use problem::{
    CORES_TOTAL_MAX, COSTS_MAX, Demand, Fixed, GROUPS_MAX, HORIZON_MAX, HOSTS_MAX, Host, OUTSIDE,
    Problem, ProblemError, SLOTS_MAX, SLOTS_TOTAL_MAX,
};
pub use random_host::RandomHost;
pub use rank::MeanRule;
pub use request::{
    Detailed, Held, Options, Placed, Refusal, Request, SchedulerKind, plan, plan_with_options,
    problem,
};
pub use retime::{SECONDS_MAX, TooLong, retime};
pub use round_robin::RoundRobin;
pub use schedule::{Placement, Schedule, ScheduleError, Scheduler};
pub use way::Controllers;
pub use xavantes::{Part, STEPS_PER_SECOND, Xavantes, XavantesCopied, XavantesThrough};
