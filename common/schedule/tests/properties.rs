//! Properties of every scheduler on any graph and any platform.
#![expect(
    clippy::unwrap_used,
    reason = "a test may stop at what it did not expect"
)]

#[path = "support/requests.rs"]
mod requests;

use model::{ActivityGraph, ActivityId, GraphNode, Plan, Platform, Resource, ResourceId, Span};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use schedule::{
    Held, Options, Placed, Placing, Refusal, Request, Scheduler, SchedulerKind, Tree, Xavantes,
    bound, check, check_plan, check_through_controllers, less, plan_with_options, problem,
    through_controllers,
};

use requests::requests;

proptest! {
    // The same cases at every run; PROPTEST_CASES asks for more of them.
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(5),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn schedules_and_plans_are_valid_and_not_below_the_bound(request in requests()) {
        let problem = problem(&request).unwrap();
        let misfit = problem.dag().tasks().find(|&t| {
            problem.misfit(t).is_some() && problem.fixed(t).is_none() && !problem.dag().is_gate(t)
        });
        if let Some(task) = misfit {
            let refused = planned(&request).unwrap_err();
            prop_assert!(matches!(refused, Refusal::NoResource { .. }), "{refused} for {task}");
            return Ok(());
        }
        let schedule = if request.scheduler == SchedulerKind::Xavantes {
            Xavantes::within(BUDGET.seconds()).schedule(&problem)
        } else {
            request.scheduler.scheduler().schedule(&problem)
        };
        let schedule = schedule.unwrap();
        prop_assert_eq!(check(&problem, &schedule), Ok(()));
        prop_assert!(!less(schedule.makespan(), bound(&problem)));
        let plan = planned(&request).unwrap();
        prop_assert_eq!(check_plan(&problem, &plan), Ok(()));
        prop_assert!(plan.bound <= plan.makespan());
        // Rounding adds at most a microsecond for each task and message of a chain.
        let slack = 1e-6 * (problem.dag().n_tasks() + problem.dag().n_edges() + 1) as f64;
        prop_assert!(plan.makespan().seconds() <= schedule.makespan() + slack + 1e-6);
    }

    #[test]
    fn the_same_request_gives_the_same_plan(request in requests()) {
        prop_assert_eq!(planned(&request), planned(&request.clone()));
    }

    #[test]
    fn names_do_not_matter(request in requests()) {
        let Ok(before) = planned(&request) else { return Ok(()) };
        let after = planned(&renamed(&request)).unwrap();
        let activity = |id: ActivityId| ActivityId(1_000_000 - 3 * id.0);
        let resource = |id: ResourceId| ResourceId::new(id.group, 500 - id.number);
        let mut entries = before.entries.clone();
        for entry in &mut entries {
            (entry.activity, entry.resource) = (activity(entry.activity), resource(entry.resource));
        }
        entries.sort_by_key(|entry| entry.activity);
        prop_assert_eq!(Plan { entries, ..before }, after);
    }

    #[test]
    fn through_controllers_the_same_holds(
        request in requests(), above in prop::collection::vec(any::<usize>(), 0..6),
        belongs in prop::collection::vec(any::<usize>(), 25),
    ) {
        let problem = problem(&request).unwrap();
        let n_controllers = above.len() + 1;
        let parents: Vec<Option<u32>> = std::iter::once(None)
            .chain((1..).zip(&above).map(|(below, &above)| Some((above % below) as u32)))
            .collect();
        let of_task: Vec<u32> = belongs[..problem.dag().n_tasks()]
            .iter()
            .map(|&controller| (controller % n_controllers) as u32)
            .collect();
        let tree = Tree::new(&problem, &parents, &of_task).unwrap();
        let schedule = if request.scheduler == SchedulerKind::Xavantes {
            let run = || Xavantes::within(BUDGET.seconds()).run_through(&problem, &tree);
            let (first, again) = (run(), run());
            let Ok(through) = first else { return Ok(()) };
            prop_assert_eq!(check_through_controllers(&problem, &tree, &through.controlled), Ok(()));
            prop_assert_eq!(Ok(&through), again.as_ref());
            let makespan = through.controlled.schedule.makespan();
            prop_assert!(!less(makespan, bound(&problem)));
            let of_members = through.estimates.iter().filter_map(|estimate| estimate.makespan);
            prop_assert!(of_members.into_iter().all(|member| !less(member, makespan)));
            return Ok(());
        } else {
            request.scheduler.scheduler().schedule(&problem)
        };
        let Ok(schedule) = schedule else { return Ok(()) };
        for placing in [Placing::Paper, Placing::LeastTraffic] {
            let controlled = through_controllers(&problem, &tree, &schedule, placing);
            prop_assert_eq!(check_through_controllers(&problem, &tree, &controlled), Ok(()));
            prop_assert!(!less(controlled.schedule.makespan(), bound(&problem)));
        }
    }

    #[test]
    fn what_has_started_stays_and_the_rest_is_planned_after_it(
        mut request in requests(), keep in 0.0f64..1.0, later in 0u64..20_000_000,
    ) {
        let Ok(whole) = planned(&request) else { return Ok(()) };
        // Everything that starts before some moment of the plan has started; nothing has ended.
        let until = Span((whole.makespan().0 as f64 * keep) as u64);
        let started = whole.entries.iter().filter(|entry| entry.start < until);
        request.placed = started
            .map(|e| Placed { activity: e.activity, resource: e.resource, finish: e.finish })
            .collect();
        for placed in &mut request.placed {
            placed.finish = placed.finish + Span(later);
        }
        let rest = planned(&request).unwrap();
        prop_assert_eq!(rest.entries.len() + request.placed.len(), whole.entries.len());
        prop_assert!(request.placed.iter().all(|placed| rest.entry(placed.activity).is_none()));
        let lost = Request {
            placed: request.placed.iter().map(|p| Placed { resource: ResourceId::local(9_999), ..*p }).collect(),
            ..request.clone()
        };
        prop_assert!(planned(&lost).is_ok());
    }
}

/// Enough for all members on problems of this size.
const BUDGET: Span = Span(2_000);

fn planned(request: &Request) -> Result<Plan, Refusal> {
    let options = Options {
        budget: Some(BUDGET),
        ..Options::default()
    };
    Ok(plan_with_options(request, &options)?.plan)
}

/// Every id another one, in another order; places in the lists stay.
fn renamed(request: &Request) -> Request {
    let activity = |id: ActivityId| ActivityId(1_000_000 - 3 * id.0);
    let graph = &request.graph;
    let nodes = graph.nodes().map(|node| GraphNode {
        activity: node.activity.map(activity),
        ..*node
    });
    let edges = graph
        .edges()
        .map(|(from, to, data)| (from as u32, to as u32, data));
    let resources = request
        .platform
        .resources()
        .iter()
        .map(|resource| Resource {
            id: ResourceId::new(resource.id.group, 500 - resource.id.number),
            name: format!("other {}", resource.name),
            ..resource.clone()
        });
    let network = request.platform.network().clone();
    Request {
        graph: ActivityGraph::new(nodes, edges).unwrap(),
        platform: Platform::new(resources.collect(), network).unwrap(),
        held: (request.held.iter())
            .map(|held| Held {
                resource: ResourceId::new(held.resource.group, 500 - held.resource.number),
                ..*held
            })
            .collect(),
        demands: request
            .demands
            .iter()
            .map(|(&id, demand)| (activity(id), demand.clone()))
            .collect(),
        ..request.clone()
    }
}
