//! Plans where memory is scarce: activities with memory on machines with memory, some of it held by others.
#![expect(
    clippy::unwrap_used,
    reason = "a test may stop at what it did not expect"
)]

#[path = "support/requests.rs"]
mod requests;

use model::{ActivityId, Bytes, Platform};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use schedule::{
    Demand, Meter, Options, Placing, Request, STEPS_PER_SECOND, SchedulerKind, Tree, Xavantes,
    check, check_plan, check_through_controllers, plan_with_options, problem, through_controllers,
};

use requests::requests;

/// Parts of memory that demands and machines have several of.
const PART: u64 = 1 << 28;
/// Seconds, enough for all members and a search on problems of this size.
const BUDGET: f64 = 0.002;

prop_compose! {
    /// Nearly every activity holds memory, and no machine has it for all that its slots could run. What fits
    /// nowhere is made smaller, so that there always is a plan.
    fn scarce()(
        request in requests(),
        wants in prop::collection::vec(0u64..9, 25),
        has in prop::collection::vec(1u64..9, 7),
    ) -> Request {
        let resources = request.platform.resources().iter().zip(&has);
        let resources = resources.map(|(resource, parts)| model::Resource {
            memory: Bytes(parts * PART),
            ..resource.clone()
        });
        let resources: Vec<_> = resources.collect();
        let fits = |cores: u32, parts: u64| {
            let mut fitting = resources.iter().filter(|resource| resource.slots >= cores);
            fitting.any(|resource| resource.memory.0 >= parts * PART)
        };
        let activities = request.graph.nodes().zip(0u32..).filter(|(node, _)| node.cores > 0);
        let demands = activities.filter_map(|(node, id)| {
            let wanted = wants[id as usize];
            let parts = (0..=wanted).rev().find(|&parts| fits(node.cores, parts))?;
            let memory = Bytes(parts * PART);
            Some((ActivityId(id), Demand { memory, ..Demand::default() }))
        });
        Request {
            demands: demands.collect(),
            platform: Platform::new(resources, request.platform.network().clone()).unwrap(),
            ..request
        }
    }
}

proptest! {
    // The same cases at every run; PROPTEST_CASES asks for more of them.
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(9),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_plan_of_every_scheduler_keeps_within_memory(request in scarce()) {
        let problem = problem(&request).unwrap();
        let misfits = |task| problem.misfit(task).is_some() && !problem.dag().is_gate(task);
        if problem.dag().tasks().any(misfits) {
            return Ok(());
        }
        let parents = [None, Some(0), Some(0)];
        let of_task: Vec<u32> = problem.dag().tasks().map(|task| task % 3).collect();
        let tree = Tree::new(&problem, &parents, &of_task).unwrap();
        for scheduler in SchedulerKind::ALL {
            let meter = Meter::of((BUDGET * STEPS_PER_SECOND) as u64);
            let schedule = scheduler.scheduler().schedule_within(&problem, &meter);
            if let Ok(schedule) = schedule {
                prop_assert_eq!(check(&problem, &schedule), Ok(()), "{:?}", scheduler);
                let through = through_controllers(&problem, &tree, &schedule, Placing::LeastTraffic);
                prop_assert_eq!(check_through_controllers(&problem, &tree, &through), Ok(()));
            }
            let request = Request { scheduler, ..request.clone() };
            let options = Options { budget: Some(model::Span(2_000)), ..Options::default() };
            let plan = plan_with_options(&request, &options).unwrap().plan;
            prop_assert_eq!(check_plan(&problem, &plan), Ok(()), "{:?}", scheduler);
        }
        let through = Xavantes::within(BUDGET).run_through(&problem, &tree).unwrap();
        prop_assert_eq!(check_through_controllers(&problem, &tree, &through.controlled), Ok(()));
    }
}
