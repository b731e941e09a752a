//! What holds for every scheduler, any graph and any platform.
#![expect(
    clippy::unwrap_used,
    reason = "a test may stop at what it did not expect"
)]

use std::collections::BTreeMap;

use model::{
    ActivityGraph, ActivityId, Bytes, Generation, GraphNode, GroupId, Network, NetworkLink, Plan,
    Platform, Resource, ResourceId, Span, Work,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use schedule::{
    Demand, Options, Placed, Refusal, Request, Scheduler, SchedulerKind, Xavantes, bound, check,
    check_plan, less, plan_with_options, problem,
};

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
        let resource = |id: ResourceId| ResourceId(500 - id.0);
        let mut entries = before.entries.clone();
        for entry in &mut entries {
            (entry.activity, entry.resource) = (activity(entry.activity), resource(entry.resource));
        }
        entries.sort_by_key(|entry| entry.activity);
        prop_assert_eq!(Plan { entries, ..before }, after);
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
            placed: request.placed.iter().map(|p| Placed { resource: ResourceId(9_999), ..*p }).collect(),
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

prop_compose! {
    /// Up to 25 nodes, some of them gates, with works, data, powers and links from short lists so
    /// that ties are frequent.
    fn requests()(
        n in 0usize..25,
    )(
        works in prop::collection::vec(prop_oneof![Just(0u64), 1u64..5, 1u64..5_000_000], n),
        cores in prop::collection::vec(prop_oneof![1 => Just(0u32), 6 => Just(1u32), 2 => 2u32..4], n),
        edges in prop::collection::vec((any::<u32>(), any::<u32>(), prop_oneof![Just(0u64), 0u64..50_000_000]), 0..60),
        machines in prop::collection::vec((0u32..3, 0usize..4, 1u32..5, any::<bool>()), 1..7),
        links in prop::collection::vec((1usize..4, 0usize..3), 6),
        ready in prop::collection::vec(prop::collection::vec(0u64..9_000_000, 0..2), 0..2),
        picky in prop::collection::vec(0u8..12, n),
        scheduler in prop::sample::select(SchedulerKind::ALL.to_vec()),
    ) -> Request {
        const POWERS: [f64; 4] = [1.0, 2.0, 1.0 / 3.0, 4.5];
        const BANDWIDTHS: [f64; 4] = [1e5, 1e6, 1e7, 1e9];
        const LATENCIES: [f64; 3] = [0.0, 0.001, 0.1];
        let n = works.len() as u32;
        let nodes = works.iter().zip(&cores).zip(0u32..).map(|((&work, &cores), id)| GraphNode {
            activity: (cores > 0).then_some(ActivityId(id)),
            work: if cores > 0 { Work(work) } else { Work::ZERO },
            cores,
        });
        let pairs = edges.into_iter().filter(|_| n > 1).filter_map(|(a, b, data)| {
            let (a, b) = (a % n, b % n);
            (a != b).then_some((a.min(b), a.max(b), Bytes(data)))
        });
        let graph = ActivityGraph::new(nodes, pairs).unwrap();
        let link = |&(bandwidth, latency): &(usize, usize)| NetworkLink {
            bandwidth: BANDWIDTHS[bandwidth],
            latency: LATENCIES[latency],
        };
        let network = Network {
            inside: link(&links[0]),
            between: link(&links[1]),
            inside_of: BTreeMap::from([(GroupId(1), link(&links[2]))]),
            between_pairs: BTreeMap::from([
                ((GroupId(0), GroupId(2)), link(&links[3])),
                ((GroupId(1), GroupId(2)), link(&links[4])),
            ]),
        };
        let resources = machines.iter().zip(0u32..).map(|(&(group, power, slots, gpu), id)| Resource {
            id: ResourceId(id),
            name: format!("m{id}"),
            group: GroupId(group),
            power: POWERS[power],
            slots,
            memory: Bytes(u64::from(slots) << 30),
            labels: BTreeMap::from([("gpu".to_owned(), gpu.to_string())]),
        });
        let gpu = Demand { labels: vec![("gpu".to_owned(), "true".to_owned())], ..Demand::default() };
        let large = Demand { memory: Bytes(2 << 30), ..Demand::default() };
        let demands = picky.iter().zip(0u32..).filter_map(|(&pick, id)| match pick {
            0 => Some((ActivityId(id), gpu.clone())),
            1 => Some((ActivityId(id), large.clone())),
            _ => None,
        });
        let ready = ready.into_iter().map(|slots| slots.into_iter().map(Span).collect()).collect();
        Request {
            graph,
            demands: demands.collect(),
            platform: Platform::new(resources.collect(), network).unwrap(),
            ready,
            placed: Vec::new(),
            generation: Generation(3),
            scheduler,
        }
    }
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
            id: ResourceId(500 - resource.id.0),
            name: format!("other {}", resource.name),
            ..resource.clone()
        });
    let network = request.platform.network().clone();
    Request {
        graph: ActivityGraph::new(nodes, edges).unwrap(),
        platform: Platform::new(resources.collect(), network).unwrap(),
        demands: request
            .demands
            .iter()
            .map(|(&id, demand)| (activity(id), demand.clone()))
            .collect(),
        ..request.clone()
    }
}
