//! One instance of a study: a graph with costs on machines, and what each algorithm or policy makes
//! of it.

use std::sync::Arc;

use model::Platform;
use schedule::platform::paper_with;
use schedule::rounds::{Messages, Policy, Setting as Planned};
use schedule::{
    CheckError, Cpop, Heft, MeanRule, Pch, Placing, Problem, ProblemError, Schedule, ScheduleError,
    Scheduler, Tree, TreeError, check, check_through_controllers, critical_path_time,
    sequential_time, through_controllers,
};
use thiserror::Error;

use crate::design::{Design, Unit};
use crate::graphs::{GRAPHS, Graphs};
use crate::ideal::{self, Conditions, Powers, execute_under};
use crate::knowing;
use crate::seeds::{Purpose, seed};
use crate::study::Setting;
use crate::traces::Traces;

/// No run of these graphs takes so long, in time units: 90,000 of work at a hundredth of the least
/// power.
pub(crate) const HORIZON: f64 = 1e9;

/// The source from which the instances of an experiment are drawn.
#[derive(Clone, Debug)]
pub struct Source {
    design: Design,
    settings: Vec<(Setting, Graphs)>,
    traces: Traces,
}

/// The reason why an instance has no result; each is an error of this program.
#[derive(Debug, Error)]
pub enum InstanceError {
    /// The numbers of groups are judged by the design.
    #[error("there is no platform of {0} groups")]
    Platform(u32),
    /// Works and machines that are no problem.
    #[error("could not state the problem")]
    Problem(#[from] ProblemError),
    /// Controllers that are no tree.
    #[error("could not read the controllers")]
    Tree(#[from] TreeError),
    /// An algorithm gave no schedule.
    #[error("could not schedule")]
    Schedule(#[from] ScheduleError),
    /// An algorithm gave a schedule that breaks a rule.
    #[error("a schedule is wrong")]
    Check(#[from] CheckError),
    /// Powers that are none.
    #[error("could not draw the powers")]
    Powers(#[from] ideal::PowerError),
    /// A run that did not end.
    #[error("could not run")]
    Run(#[from] ideal::Failure),
}

impl Source {
    /// Draws the graphs of an experiment. Traces are needed where the study says so, and become a
    /// part of the design there.
    pub fn new(mut design: Design, traces: Traces) -> Source {
        if design.study.needs_traces() {
            design.traces = traces.checksum();
        }
        let settings = design.study.settings().into_iter().map(|setting| {
            let graphs = Graphs::drawn(setting.width, design.seed, setting.trees);
            (setting, graphs)
        });
        Source {
            settings: settings.collect(),
            design,
            traces,
        }
    }

    /// The experiment.
    pub fn design(&self) -> &Design {
        &self.design
    }

    /// The mean of sequential time / critical path of the graphs of each setting.
    pub fn parallelism(&self, setting: usize) -> f64 {
        self.settings[setting].1.parallelism
    }

    /// The numbers of a unit: the columns of the first graph, then those of the second, and so on.
    pub fn results(&self, unit: Unit) -> Result<Vec<f64>, InstanceError> {
        let mut values = Vec::with_capacity(self.design.values_of_unit());
        for graph in 0..GRAPHS {
            values.extend(self.instance(unit, graph)?);
        }
        Ok(values)
    }

    /// An instance: a graph of a unit, by its place among the fifteen, with all that is drawn for it.
    pub fn drawn(&self, unit: Unit, graph: usize) -> Result<Drawn, InstanceError> {
        let (setting, graphs) = &self.settings[unit.setting];
        let structured = &graphs.trees[graph];
        let place = [
            unit.setting as u64,
            u64::from(unit.groups),
            u64::from(unit.repetition),
            graph as u64,
        ];
        let seed = |purpose| seed(self.design.seed, purpose, &place);
        let dag = structured.graph(setting.messages, seed(Purpose::Costs));
        let platform = platform(unit.groups, seed(Purpose::Machines), setting.between)?;
        let problem = Problem::new(dag, &platform)?;
        let tree = Tree::new(&problem, &structured.parents, &structured.controllers)?;
        let (tasks, machines) = (structured.controllers.len(), problem.hosts().len());
        let load = setting.load.map(|load| {
            let seed = seed(Purpose::Load);
            Ok::<_, InstanceError>(DrawnLoad {
                powers: load.powers(tasks, machines, &self.traces, seed)?,
                speeds: load.speeds(machines, seed),
                links: load.links(machines, seed),
            })
        });
        Ok(Drawn {
            problem,
            tree,
            load: load.transpose()?,
        })
    }

    fn instance(&self, unit: Unit, graph: usize) -> Result<Vec<f64>, InstanceError> {
        let drawn = self.drawn(unit, graph)?;
        let problem = drawn.problem;
        let mut values = vec![critical_path_time(&problem), sequential_time(&problem)];
        match &drawn.load {
            None => values.extend(plans(&problem, &drawn.tree)?),
            Some(load) => values.extend(runs(problem, drawn.tree, &load.conditions())?),
        }
        Ok(values)
    }
}

/// An instance as it was drawn.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// A graph with its costs on machines.
    pub problem: Problem,
    /// The tree of its controllers.
    pub tree: Tree,
    /// The load, in studies of rescheduling.
    pub load: Option<DrawnLoad>,
}

/// The load of an instance.
#[derive(Clone, Debug)]
pub struct DrawnLoad {
    powers: Powers,
    speeds: Vec<f64>,
    links: Vec<f64>,
}

impl DrawnLoad {
    /// The same for the executor.
    pub fn conditions(&self) -> Conditions<'_> {
        Conditions {
            powers: &self.powers,
            speeds: &self.speeds,
            links: &self.links,
        }
    }
}

fn platform(groups: u32, seed: u64, between: f64) -> Result<Platform, InstanceError> {
    paper_with(groups, seed, 1.0, between).ok_or(InstanceError::Platform(groups))
}

/// The columns of [`crate::study::plans`] after the first two.
fn plans(problem: &Problem, tree: &Tree) -> Result<Vec<f64>, InstanceError> {
    let rule = MeanRule::Bandwidths;
    let schedulers: [&dyn Scheduler; 3] = [&Pch::new(), &Heft::new(rule), &Cpop::new(rule)];
    let (mut direct, mut through) = (Vec::new(), Vec::new());
    let mut near = 0.0;
    for (place, scheduler) in schedulers.into_iter().enumerate() {
        let schedule = scheduler.schedule(problem)?;
        check(problem, &schedule)?;
        direct.push(schedule.makespan());
        through.push(controlled(problem, tree, &schedule, Placing::Paper)?);
        if place == 0 {
            near = controlled(problem, tree, &schedule, Placing::LeastTraffic)?;
        }
    }
    direct.extend(through);
    direct.push(near);
    Ok(direct)
}

fn controlled(
    problem: &Problem,
    tree: &Tree,
    schedule: &Schedule,
    placing: Placing,
) -> Result<f64, InstanceError> {
    let controlled = through_controllers(problem, tree, schedule, placing);
    check_through_controllers(problem, tree, &controlled)?;
    Ok(controlled.schedule.makespan())
}

/// The columns of [`crate::study::runs`] after the first two.
fn runs(
    problem: Problem,
    tree: Tree,
    conditions: &Conditions<'_>,
) -> Result<Vec<f64>, InstanceError> {
    let messages = Messages::Controllers(tree, Placing::Paper);
    let planned = Arc::new(Planned::new(problem, messages)?);
    let run = |policy: &Policy| execute_under(&planned, policy, conditions, HORIZON);
    let none = run(&Policy::fixed())?.makespan;
    let mut values = vec![none];
    let mut plans = Vec::new();
    let policies = [
        Policy::rounds(2),
        Policy::rounds(3),
        Policy::rounds(4),
        Policy::adaptive(),
        Policy::xavantes(),
    ];
    for policy in &policies {
        let execution = run(policy)?;
        values.push(execution.makespan);
        plans.push(execution.reschedules() as f64);
    }
    values.push(knowing::makespan(&planned, conditions)?.min(none));
    values.extend(plans);
    Ok(values)
}

#[cfg(test)]
mod tests;
