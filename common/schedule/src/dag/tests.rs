use model::{ActivityGraph, ActivityId, Bytes, GraphNode, Work};

use super::{Dag, DagError, Task};

fn tasks(n: usize) -> Vec<Task> {
    (0..n)
        .map(|i| Task {
            work: i as f64,
            cores: 1,
        })
        .collect()
}

#[test]
fn tasks_get_positions_in_kahns_order_and_parallel_edges_are_merged() {
    // 3 -> 0 -> 2, 3 -> 1, and 0 -> 2 a second time
    let edges = [(3, 0, 1.0), (0, 2, 2.0), (0, 2, 3.0), (3, 1, 4.0)];
    let dag = Dag::new(&tasks(4), &edges).unwrap();
    let given: Vec<u32> = dag.tasks().map(|task| dag.given(task)).collect();
    assert_eq!(given, [3, 0, 1, 2]);
    assert_eq!(dag.n_edges(), 3);
    assert_eq!(dag.successors(0).collect::<Vec<_>>(), [(1, 1.0), (2, 4.0)]);
    assert_eq!(dag.successors(1).collect::<Vec<_>>(), [(3, 5.0)]);
    let (tail, edge) = dag.predecessors(3).next().unwrap();
    assert_eq!((tail, dag.data(edge)), (1, 5.0));
    assert_eq!(dag.work(0), 3.0);
    assert_eq!(dag.activity(0), Some(ActivityId(3)));
}

#[test]
fn a_cycle_is_named() {
    let edges = [
        (0, 1, 0.0),
        (1, 2, 0.0),
        (2, 3, 0.0),
        (3, 1, 0.0),
        (3, 4, 0.0),
    ];
    let refused = Dag::new(&tasks(5), &edges).unwrap_err();
    let DagError::Cycle { path } = refused else {
        panic!("{refused}")
    };
    assert_eq!(path.len(), 3);
    let next = |i: usize| path[(i + 1) % path.len()];
    assert!(
        (0..3).all(|i| edges.iter().any(|e| (e.0, e.1) == (path[i], next(i)))),
        "{path:?}"
    );
    let itself = Dag::new(&tasks(1), &[(0, 0, 0.0)]).unwrap_err();
    assert_eq!(itself, DagError::Cycle { path: vec![0] });
}

#[test]
fn what_makes_no_sense_is_refused() {
    let one = |work, cores| Dag::new(&[Task { work, cores }], &[]).map(|_| ());
    assert!(matches!(one(f64::NAN, 1), Err(DagError::Work { .. })));
    assert!(matches!(one(-1.0, 1), Err(DagError::Work { .. })));
    assert!(matches!(one(1.0, 0), Err(DagError::Work { .. })));
    assert_eq!(one(0.0, 0), Ok(()));
    let edge = |from, to, data| Dag::new(&tasks(2), &[(from, to, data)]).map(|_| ());
    assert!(matches!(edge(0, 2, 0.0), Err(DagError::Missing { .. })));
    assert!(matches!(
        edge(0, 1, f64::INFINITY),
        Err(DagError::Data { .. })
    ));
}

#[test]
fn a_graph_keeps_its_order_and_its_gates() {
    let activity = |id, secs| GraphNode {
        activity: Some(ActivityId(id)),
        work: Work::from_secs(secs),
        cores: 2,
    };
    let gate = GraphNode {
        activity: None,
        work: Work::ZERO,
        cores: 0,
    };
    let nodes = [activity(7, 3), gate, activity(4, 5)];
    let graph = ActivityGraph::new(nodes, [(0, 1, Bytes(10)), (1, 2, Bytes(20))]).unwrap();
    let dag = Dag::from_graph(&graph).unwrap();
    assert_eq!(
        dag.tasks().map(|t| dag.work(t)).collect::<Vec<_>>(),
        [3.0, 0.0, 5.0]
    );
    assert_eq!(
        dag.tasks().map(|t| dag.is_gate(t)).collect::<Vec<_>>(),
        [false, true, false]
    );
    assert_eq!(dag.activity(2), Some(ActivityId(4)));
    assert_eq!(dag.activity(1), None);
}
