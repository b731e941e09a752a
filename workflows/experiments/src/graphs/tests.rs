use super::*;

#[test]
fn sizes_are_those_of_the_paper_and_the_width_is_the_published_one() {
    for width in [Width::Wide, Width::Middle, Width::Narrow] {
        for study in 0..3 {
            let graphs = Graphs::drawn(width, study, 0);
            let sizes: Vec<usize> = graphs.trees.iter().map(|t| t.controllers.len()).collect();
            assert_eq!(
                sizes,
                [7, 12, 18, 23, 28, 34, 39, 45, 50, 55, 61, 66, 71, 77, 82]
            );
            let off = (graphs.parallelism / width.parallelism() - 1.0).abs();
            assert!(off <= NEAR, "{width:?} {}", graphs.parallelism);
            assert_eq!(graphs, Graphs::drawn(width, study, 0));
        }
    }
}

/// Series-parallel: taking away nodes with one edge in and one out, and merging parallel edges,
/// leads to one edge from the first node to the last.
#[test]
fn every_graph_reduces_to_one_edge() {
    for width in [Width::Wide, Width::Middle, Width::Narrow] {
        for tree in Graphs::drawn(width, 11, 0).trees {
            let dag = tree.graph(MessageCost::Medium, 1);
            let mut edges: std::collections::BTreeSet<(u32, u32)> = dag
                .tasks()
                .flat_map(|task| {
                    dag.successors(task)
                        .map(move |(successor, _)| (task, successor))
                })
                .collect();
            loop {
                let single = dag.tasks().find_map(|task| {
                    let mut into = edges.iter().filter(|edge| edge.1 == task);
                    let mut out = edges.iter().filter(|edge| edge.0 == task);
                    match (into.next(), into.next(), out.next(), out.next()) {
                        (Some(&into), None, Some(&out), None) => Some((into, out)),
                        _ => None,
                    }
                });
                let Some((into, out)) = single else { break };
                edges.remove(&into);
                edges.remove(&out);
                edges.insert((into.0, out.1));
            }
            assert_eq!(edges.len(), 1, "{width:?}: {edges:?}");
        }
    }
}
