//! Requests as proptest draws them.

use std::collections::BTreeMap;

use model::{
    ActivityGraph, ActivityId, Bytes, Generation, GraphNode, GroupId, Network, NetworkLink,
    Platform, Resource, ResourceId, Span, Work,
};
use proptest::prelude::*;
use schedule::{Demand, Held, Request, SchedulerKind};

prop_compose! {
    /// Up to 25 nodes, some of them gates, with works, data, powers and links from short lists so
    /// that ties are frequent.
    pub fn requests()(
        n in 0usize..25,
    )(
        works in prop::collection::vec(prop_oneof![Just(0u64), 1u64..5, 1u64..5_000_000], n),
        cores in prop::collection::vec(prop_oneof![1 => Just(0u32), 6 => Just(1u32), 2 => 2u32..4], n),
        edges in prop::collection::vec((any::<u32>(), any::<u32>(), prop_oneof![Just(0u64), 0u64..50_000_000]), 0..60),
        machines in prop::collection::vec((0u32..3, 0usize..4, 1u32..5, any::<bool>()), 1..7),
        links in prop::collection::vec((1usize..4, 0usize..3), 6),
        ready in prop::collection::vec(prop::collection::vec(0u64..9_000_000, 0..2), 0..2),
        picky in prop::collection::vec(0u8..12, n),
        crowded in any::<bool>(),
        held in prop::collection::vec((0u32..7, 0u64..4, 0u64..9_000_000, 0u64..4_000_000), 0..3),
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
            inside_of: BTreeMap::from([(GroupId::new(1), link(&links[2]))]),
            between_pairs: BTreeMap::from([
                ((GroupId::LOCAL, GroupId::new(2)), link(&links[3])),
                ((GroupId::new(1), GroupId::new(2)), link(&links[4])),
            ]),
            ways: BTreeMap::new(),
        };
        let resources = machines.iter().zip(0u32..).map(|(&(group, power, slots, gpu), id)| Resource {
            id: ResourceId::new(GroupId::new(group.into()), id),
            name: format!("m{id}"),
            power: POWERS[power],
            slots,
            memory: Bytes(u64::from(slots) << 30),
            labels: BTreeMap::from([("gpu".to_owned(), gpu.to_string())]),
        });
        let gpu = Demand { labels: vec![("gpu".to_owned(), "true".to_owned())], ..Demand::default() };
        let half_gib = |n: u64| Demand { memory: Bytes(n << 29), ..Demand::default() };
        let demands = picky.iter().zip(0u32..).filter_map(|(&pick, id)| match pick {
            0 => Some((ActivityId(id), gpu.clone())),
            1 => Some((ActivityId(id), half_gib(4))),
            // More than one machine has side by side, in half of the requests.
            2..10 if crowded => Some((ActivityId(id), half_gib(u64::from(pick) % 5))),
            _ => None,
        });
        let held = held.into_iter().filter(|&(id, ..)| (id as usize) < machines.len());
        let held = held.map(|(id, memory, until, from)| Held {
            resource: ResourceId::new(GroupId::new(machines[id as usize].0.into()), id),
            memory: Bytes(memory << 29),
            // Half of it from now on.
            from: Span(from.saturating_sub(2_000_000)),
            until: Span(until),
        });
        let ready = ready.into_iter().map(|slots| slots.into_iter().map(Span).collect()).collect();
        Request {
            graph,
            demands: demands.collect(),
            platform: Platform::new(resources.collect(), network).unwrap(),
            ready,
            held: held.collect(),
            placed: Vec::new(),
            generation: Generation(3),
            scheduler,
            controllers: None,
        }
    }
}
