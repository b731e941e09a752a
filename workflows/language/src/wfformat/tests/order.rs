//! Properties over generated graphs: order, export and import, command lines.

use std::collections::{BTreeMap, BTreeSet};

use model::{ActivityId, Definition, Span};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::imported;
use crate::export;
use crate::wfformat::{Burn, BurnFile, Options, import};

/// All pairs of which the first precedes the second, by the definition's graph, as positions.
fn closure(n: usize, edges: impl IntoIterator<Item = (usize, usize)>) -> Vec<BTreeSet<usize>> {
    let mut after = vec![BTreeSet::new(); n];
    let mut edges: Vec<(usize, usize)> = edges.into_iter().collect();
    edges.sort_unstable_by_key(|edge| std::cmp::Reverse(edge.0));
    for (from, to) in edges {
        let further: Vec<usize> = after[to].iter().copied().collect();
        after[from].insert(to);
        after[from].extend(further);
    }
    after
}

fn order_of(definition: &Definition) -> BTreeSet<(String, String)> {
    let graph = definition.graph();
    let name = |at: usize| {
        let activity = graph.nodes().nth(at).unwrap().activity;
        activity.map(|id: ActivityId| definition.node(id.node()).name.clone())
    };
    let after = closure(
        graph.n_nodes(),
        graph.edges().map(|(from, to, _)| (from, to)),
    );
    let mut pairs = BTreeSet::new();
    for (from, heads) in after.iter().enumerate() {
        for &to in heads {
            pairs.extend(name(from).zip(name(to)));
        }
    }
    pairs
}

prop_compose! {
    /// Tasks with edges from lower to higher numbers, dense or sparse, some with files.
    fn dag()(n in 1usize..12, sparse in 1u32..6)(
        edges in prop::collection::vec((0u32..sparse, 0u32..3), n * n),
        order in Just((0..n).collect::<Vec<_>>()).prop_shuffle(),
        n in Just(n),
    ) -> (Vec<usize>, Vec<(usize, usize, bool)>) {
        let mut chosen = Vec::new();
        for from in 0..n {
            for to in from + 1..n {
                let (edge, file) = edges[from * n + to];
                if edge == 0 {
                    chosen.push((from, to, file > 0));
                }
            }
        }
        (order, chosen)
    }
}

fn of_dag(order: &[usize], edges: &[(usize, usize, bool)]) -> Value {
    let mut files = BTreeMap::new();
    let task = |&task: &usize| {
        let parents: Vec<String> = edges
            .iter()
            .filter(|edge| edge.1 == task)
            .map(|edge| format!("t{}", edge.0))
            .collect();
        let inputs: Vec<String> = edges
            .iter()
            .filter(|edge| edge.1 == task && edge.2)
            .map(|edge| format!("f{}", edge.0))
            .collect();
        files.insert(format!("f{task}"), 10 * task + 1);
        json!({ "id": format!("t{task}"), "parents": parents, "inputFiles": inputs,
                "outputFiles": [format!("f{task}")] })
    };
    let tasks: Vec<Value> = order.iter().map(task).collect();
    let runs: Vec<Value> = order
        .iter()
        .map(|task| {
            json!({ "id": format!("t{task}"), "runtimeInSeconds": 0.1 * *task as f64,
                            "avgCPU": 60 * task })
        })
        .collect();
    let files: Vec<Value> = files
        .iter()
        .map(|(id, size)| json!({ "id": id, "sizeInBytes": size }))
        .collect();
    json!({ "name": "dag", "schemaVersion": "1.5", "workflow": {
        "specification": { "tasks": tasks, "files": files }, "execution": { "tasks": runs } } })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_execution_is_that_of_the_recorded_graph((order, edges) in dag()) {
        let (_, definition) = imported(&of_dag(&order, &edges));
        let after = closure(order.len(), edges.iter().map(|&(from, to, _)| (from, to)));
        let mut expected = BTreeSet::new();
        for (from, heads) in after.iter().enumerate() {
            expected.extend(heads.iter().map(|to| (format!("t{from}"), format!("t{to}"))));
        }
        prop_assert_eq!(order_of(&definition), expected);
    }

    #[test]
    fn export_and_import_give_the_same_definition((order, edges) in dag()) {
        let (imported, definition) = imported(&of_dag(&order, &edges));
        let exported = export::wfformat(&definition).unwrap();
        let again = import(exported.as_bytes(), &Options::default()).unwrap();
        prop_assert_eq!(&again.draft.nodes, &imported.draft.nodes);
        let compiled = crate::compile("dag.yaml", export::yaml(&definition).as_bytes()).unwrap();
        prop_assert_eq!(compiled.definition, definition);
    }

    #[test]
    fn what_is_read_of_a_burn_is_what_was_written(
        name in "\\PC{0,12}", seed in "\\PC{0,12}", cpu in 0u64..3_000_000_000, threads in 1u32..9,
        files in prop::collection::vec(0u64..1_000_000, 0..4),
    ) {
        let file = |(place, &bytes): (usize, &u64)| BurnFile {
            path: format!("p{place}"), bytes, seed: format!("{seed}{place}"),
        };
        let files: Vec<BurnFile> = files.iter().enumerate().map(file).collect();
        let burn = Burn {
            name, cpu: Span(cpu), threads, record: None,
            sources: files.clone(), reads: files.iter().map(|file| file.path.clone()).collect(),
            writes: files,
        };
        prop_assert_eq!(Burn::of_command(&burn.to_command()), Some(burn.clone()));
        prop_assert_eq!(Burn::parse(burn.arguments()), Ok(burn));
    }
}
