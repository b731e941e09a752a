use std::sync::Arc;

use proptest::prelude::*;

use super::Least;
use crate::order::less;
use crate::platform::{MessageCost, paper};
use crate::random::Random;
use crate::rounds::candidates::Candidates;
use crate::rounds::question::{Narrower, Question};
use crate::rounds::routes::Routes;
use crate::rounds::standing::Standing;
use crate::rounds::tests::{World, setting};
use crate::rounds::{Messages, Policy, Progress, Setting};
use crate::structured::{Shape, Structured};
use crate::{Placing, Problem, Tree};

/// Up to 16 groups of machines that run one task at a time, or a few with more slots.
fn drawn(seed: u64, n: u32, mode: u32) -> Arc<Setting> {
    if mode == 0 {
        return setting(seed, n, 1 + seed as usize % 7);
    }
    let structured = Structured::new(n, Shape::MIDDLE, seed);
    let platform = paper(1 + seed as u32 % 16, seed, 1.0).unwrap();
    let costs = [MessageCost::Low, MessageCost::Medium, MessageCost::High][seed as usize % 3];
    let problem = Problem::new(structured.graph(costs, seed), &platform).unwrap();
    let tree = Tree::new(&problem, &structured.parents, &structured.controllers).unwrap();
    let messages = match mode {
        1 => Messages::Direct,
        2 => Messages::Controllers(tree, Placing::Paper),
        _ => Messages::Controllers(tree, Placing::LeastTraffic),
    };
    Arc::new(Setting::new(problem, messages).unwrap())
}

/// The middle of an execution, and tasks that may move.
fn middle(setting: &Arc<Setting>, seed: u64) -> (Progress, Vec<u32>) {
    let mut world = World::new(setting, Policy::adaptive(), seed);
    for _ in 0..seed % 90 {
        world.advance();
    }
    let mut progress = world.rounds.progress().clone();
    let mut random = Random::new(seed);
    progress.factor.fill_with(|| 0.2 + random.unit());
    if seed.is_multiple_of(3) {
        progress.links.fill_with(|| 0.2 + random.unit());
    }
    let waiting = setting.order.iter().copied();
    let waiting: Vec<u32> = waiting.filter(|&task| progress.is_waiting(task)).collect();
    (progress, waiting)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_plan_ends_before_the_bound(seed in any::<u64>(), n in 7u32..60, mode in 0u32..4) {
        let setting = drawn(seed, n, mode);
        let (progress, mut movable) = middle(&setting, seed);
        let mut random = Random::new(seed);
        if seed.is_multiple_of(2) {
            movable.retain(|_| random.below(3) > 0);
        }
        let mut bound = Least::default();
        let mut least = bound.makespan(&setting, &progress, &movable);
        if seed % 2 == 1 {
            let mut candidates = Candidates::default();
            candidates.begin(&setting, &progress, &[], least);
            let hosts = candidates.fastest(&setting);
            let mut standing = Standing::default();
            let (mut routes, mut chain) = (Routes::default(), Vec::new());
            routes.find(&setting, &progress.controllers, &progress.links);
            standing.makespan(&setting, &progress, &routes, &[]);
            standing.chain(&progress, &mut chain);
            standing.begin(&setting, &progress, &[]);
            let times = (&standing.eft[..], &standing.free[..]);
            let tasks = (&chain[..], hosts);
            least = least.max(bound.makespan_by_machine(&setting, &progress, tasks, times));
            let tasks = (&movable[..], hosts);
            least = least.max(bound.makespan_by_machine(&setting, &progress, tasks, times));
        }
        let question = Question {
            number: 1,
            movable,
            narrower: None,
            restarts: None,
            gain_least: None,
            progress: Arc::new(progress),
        };
        let answer = question.answer(&setting);
        let message = format!("{least} of {} or {}", answer.after, answer.before);
        prop_assert!(!less(answer.after, least) && !less(answer.before, least), "{message}");
        prop_assert!(least > 0.0, "{message}");
    }

    #[test]
    fn an_answer_that_saves_enough_is_the_one_of_planning_in_any_case(
        seed in any::<u64>(), n in 7u32..60, mode in 0u32..4, percents in 0u32..12,
    ) {
        let setting = drawn(seed, n, mode);
        let (progress, movable) = middle(&setting, seed);
        let machine = movable.first().map(|&task| progress.host[task as usize]);
        let of_machine = movable.iter().copied();
        let of_machine = of_machine.filter(|&task| Some(progress.host[task as usize]) == machine);
        let part = f64::from(percents) / 100.0;
        let narrower = Narrower {
            movable: of_machine.collect(),
            gain_least: 2.0 * part,
            alone_until: None,
        };
        let progress = Arc::new(progress);
        let question = |narrower, gain_least| Question {
            number: 1,
            movable: movable.clone(),
            narrower,
            restarts: None,
            gain_least,
            progress: progress.clone(),
        };
        for narrower in [None, Some(narrower)] {
            let planned = question(narrower.clone(), None).answer(&setting);
            let answer = question(narrower, Some(part)).answer(&setting);
            let most = (1.0 - part) * planned.before;
            match less(planned.after, most) {
                true => prop_assert_eq!(answer, planned),
                false => prop_assert!(!less(answer.after, most)),
            }
        }
    }
}
