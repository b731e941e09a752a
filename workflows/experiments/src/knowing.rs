//! The makespan of a plan that is made with the load to come: a reference for policies, which know
//! only what has been.
//!
//! The planner is PCH too, so it is no lower bound; it tells how much of a loss comes from not
//! knowing.

use std::sync::Arc;

use schedule::rounds::{Policy, Question, Rounds, Setting};

use crate::ideal::{Conditions, Failure, Powers, execute_setting};
use crate::instance::{HORIZON, InstanceError};

/// Plans that are made for powers that change with time: each takes the means over the run of the
/// one before.
const PLANS: usize = 3;
/// The least mean of a machine's factor that is planned with, so that durations stay finite.
const FACTOR_LEAST: f64 = 1e-3;

/// The makespan of the plan, or of the best one of some. Where links are others than the platform says, powers count as
/// nominal: no load here changes both.
pub fn makespan(planned: &Arc<Setting>, conditions: &Conditions<'_>) -> Result<f64, InstanceError> {
    match conditions.links.is_empty() {
        true => with_powers(planned, conditions.powers),
        false => with_links(planned, conditions.links),
    }
}

/// The plan of all tasks anew before any has started, by links that have these factors of bandwidth. Durations are
/// nominal, so that tasks take exactly as long as planned.
fn with_links(planned: &Arc<Setting>, links: &[f64]) -> Result<f64, InstanceError> {
    let rounds = Rounds::new(planned.clone(), Policy::fixed()).map_err(Failure::from)?;
    let mut progress = rounds.progress().clone();
    progress.links = links.to_vec();
    let mut movable: Vec<u32> = planned.problem().dag().tasks().collect();
    movable.sort_unstable_by_key(|&task| planned.rank(task));
    let question = Question {
        number: 0,
        movable,
        narrower: None,
        restarts: None,
        gain_least: None,
        progress: Arc::new(progress),
    };
    Ok(question.answer(planned).after)
}

/// The makespan of a plan with the powers to come, or of the best one of some.
fn with_powers(planned: &Setting, powers: &Powers) -> Result<f64, InstanceError> {
    match powers {
        Powers::PerTask(rows) => {
            let knowing = again(planned, |task, host| rows[task as usize][host as usize])?;
            // Tasks take exactly as long as planned.
            Ok(knowing.plan().makespan())
        }
        Powers::Steps(steps) => {
            let mut until = planned.plan().makespan();
            let mut least = f64::INFINITY;
            for _ in 0..PLANS {
                let means: Vec<f64> = steps
                    .iter()
                    .map(|steps| (steps.worked(0.0, until) / until).max(FACTOR_LEAST))
                    .collect();
                let knowing = again(planned, |_, host| means[host as usize])?;
                let beside = steps.iter().zip(&means);
                let beside = beside.map(|(steps, mean)| steps.scaled(1.0 / mean));
                let powers = Powers::Steps(beside.collect::<Result<_, _>>()?);
                let run = execute_setting(&Arc::new(knowing), &Policy::fixed(), &powers, HORIZON)?;
                until = run.makespan;
                least = least.min(until);
            }
            Ok(least)
        }
    }
}

/// The problem planned with durations divided by a factor for each task, in the order of the input,
/// and machine.
fn again(planned: &Setting, factor: impl Fn(u32, u32) -> f64) -> Result<Setting, InstanceError> {
    let problem = planned.problem();
    let mut costs = vec![Vec::new(); problem.dag().n_tasks()];
    for task in problem.dag().tasks() {
        let given = problem.dag().given(task);
        let hosts = 0..problem.hosts().len() as u32;
        costs[given as usize] = hosts
            .map(|host| problem.duration(task, host) / factor(given, host))
            .collect();
    }
    let problem = problem.clone().with_costs(&costs)?;
    Ok(Setting::new(problem, planned.messages().clone())?)
}

#[cfg(test)]
mod tests;
