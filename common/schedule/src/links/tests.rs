use model::Bytes;

use super::*;

const FAST: NetworkLink = NetworkLink {
    bandwidth: 1e8,
    latency: 0.001,
};
const SLOW: NetworkLink = NetworkLink {
    bandwidth: 5e6,
    latency: 0.01,
};

fn machine(group: u64, number: u32) -> Resource {
    Resource {
        id: ResourceId::new(GroupId::new(group), number),
        name: format!("m{number}"),
        power: 1.0,
        slots: 1,
        memory: Bytes(u64::MAX),
        labels: Default::default(),
    }
}

#[test]
fn data_of_a_machine_with_a_way_of_its_own_takes_it_in_both_directions() {
    let slow = machine(1, 1);
    let mut network = Network::uniform(FAST);
    network.ways.insert(slow.id, SLOW);
    let machines = vec![machine(1, 0), slow.clone(), machine(1, 2), machine(2, 3)];
    let platform = Platform::new(machines.clone(), network).unwrap();
    let groups = Groups::of(&platform);
    let links = Links::new(&groups);
    assert_eq!(links.n_groups(), 3);
    let [first, slow, third, other] =
        [0, 1, 2, 3].map(|place: usize| groups.number(&machines[place]));
    assert_eq!(first, third);
    assert!(slow != first && other != first && other != slow);
    for peer in [first, other, links.outside()] {
        assert_eq!(links.bandwidth(peer, slow), 5e6);
        assert_eq!(links.bandwidth(slow, peer), 5e6);
        assert!((links.latency(slow, peer) - 0.011).abs() < 1e-12);
    }
    assert_eq!(links.bandwidth(first, other), 1e8);
    assert_eq!(links.bandwidth(first, first), 1e8);
    assert_eq!(links.bandwidth(first, links.outside()), 1e8);
}
