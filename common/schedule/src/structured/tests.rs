use super::*;
use crate::fixtures::platform;
use crate::{Problem, Tree, critical_path_time, sequential_time};

#[test]
fn a_graph_has_as_many_activities_as_asked_and_one_tree() {
    for (n, seed) in SIZES.into_iter().zip(0..) {
        let structured = Structured::new(n, Shape::WIDE, seed);
        let dag = structured.graph(MessageCost::Medium, 5);
        assert_eq!(dag.n_tasks(), n as usize);
        let entries = dag.tasks().filter(|&t| dag.predecessors(t).len() == 0);
        assert_eq!(entries.count(), 1);
        let exits = dag.tasks().filter(|&t| dag.successors(t).len() == 0);
        assert_eq!(exits.count(), 1);
        let problem = Problem::new(dag, &platform(&[(1.0, 1)])).unwrap();
        Tree::new(&problem, &structured.parents, &structured.controllers).unwrap();
    }
}

#[test]
fn wide_graphs_are_as_wide_as_the_published_ones() {
    // 5.5, 4.3 and 3.2 in the mean over the fifteen sizes.
    for (shape, published) in [
        (Shape::WIDE, 5.5),
        (Shape::MIDDLE, 4.3),
        (Shape::NARROW, 3.2),
    ] {
        let (mut sum, mut count) = (0.0, 0.0);
        for seed in 0..20 {
            for n in SIZES {
                let dag =
                    Structured::new(n, shape, 1_000 * seed + 1).graph(MessageCost::Medium, seed);
                let problem = Problem::new(dag, &platform(&[(1.0, 1)])).unwrap();
                sum += sequential_time(&problem) / critical_path_time(&problem);
                count += 1.0;
            }
        }
        let mean: f64 = sum / count;
        assert!((mean - published).abs() < 0.5, "{mean} for {shape:?}");
    }
}
