use model::{ActivityId, DataMode, Draft, NodeId, NodeKind, ResourceId};

use crate::Config;
use crate::process::Process;
use crate::tests::bench::{controller, draft, ids, leaf};
use crate::tests::paper::Bench;

const ONE: ResourceId = ResourceId::local(1);
const TWO: ResourceId = ResourceId::local(2);

/// s0(a1 p2(s3(a4 a5) a6) a7), planned on the second machine but for a1 and a4.
fn bench() -> Bench {
    let parallel = |children: &[u32]| {
        controller(NodeKind::Parallel {
            children: ids(children),
            links: Vec::new(),
        })
    };
    let nodes = vec![
        controller(NodeKind::Sequence(ids(&[1, 2, 7]))),
        leaf("a"),
        parallel(&[3, 6]),
        controller(NodeKind::Sequence(ids(&[4, 5]))),
        leaf("b"),
        leaf("c"),
        leaf("d"),
        leaf("e"),
    ];
    let mut bench = Bench::new(Config::default());
    bench.found(Draft {
        data: DataMode::Controllers,
        ..draft(nodes)
    });
    bench.plan(&[(1, ONE), (4, ONE), (5, TWO), (6, TWO), (7, TWO)]);
    bench
}

fn way(process: &Process, from: u32, to: u32) -> Vec<u32> {
    let way = process.controllers_between(ActivityId(from), ActivityId(to));
    way.into_iter().map(|node| node.0).collect()
}

#[test]
fn data_goes_up_to_the_shared_controller_and_down_again() {
    let bench = bench();
    let process = bench.process();
    assert_eq!(way(process, 4, 5), [3]);
    assert_eq!(way(process, 1, 5), [0, 2, 3]);
    assert_eq!(way(process, 5, 6), [3, 2]);
    assert_eq!(way(process, 5, 7), [3, 2, 0]);
    assert_eq!(way(process, 1, 7), [0]);
}

#[test]
fn a_controller_lies_beside_its_first_activity_or_the_one_in_front_of_it() {
    let mut bench = bench();
    let of = |bench: &Bench, node| bench.process().machine_of_controller(NodeId(node));
    assert_eq!([0, 2, 3].map(|node| of(&bench, node)), [Some(ONE); 3]);
    let planned = bench.process().planned_controllers().unwrap();
    assert_eq!(planned.parents, [None, Some(0), Some(1)]);
    let beside = [1, 1, 4].map(|activity| Some(ActivityId(activity)));
    assert_eq!(planned.beside, beside);
    assert_eq!(planned.of[&ActivityId(5)], 2);
    // It ran somewhere else than was planned.
    bench.complete(1, TWO, Vec::new());
    assert_eq!([0, 2].map(|node| of(&bench, node)), [Some(TWO); 2]);
}
