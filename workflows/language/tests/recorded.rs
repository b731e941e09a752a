//! Recorded workflows from outside: each is imported, checked, exported and imported again.
//!
//! They lie in the directory that XAVANTES_DATA names, under `workflows`; where it is not set the
//! test says SKIPPED and passes.
#![expect(clippy::unwrap_used, reason = "tests")]
#![expect(
    clippy::disallowed_methods,
    reason = "a test finds its data and measures"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use language::export;
use language::wfformat::{Burn, Options, import};
use model::{Definition, NodeId, Work};

/// Works by task id, and the edges between ids with the bytes that flow, gates written out.
type Graph = (BTreeMap<String, Work>, BTreeMap<(String, String), u64>);

#[test]
fn every_recorded_workflow_comes_back_the_same() {
    let files = recorded();
    if files.is_empty() {
        eprintln!("SKIPPED: XAVANTES_DATA names no directory with recorded workflows");
        return;
    }
    let mut n_structured = 0;
    for path in &files {
        let bytes = fs::read(path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy();
        let start = Instant::now();
        let imported = import(&bytes, &Options::default()).unwrap();
        let seconds = start.elapsed().as_secs_f64();
        let n_nodes = imported.draft.nodes.len();
        let (n_edges, n_links) = (imported.n_edges, imported.n_links);
        n_structured += usize::from(n_links == 0);
        let start = Instant::now();
        let definition = imported.draft.check().unwrap();
        let checked = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let exported = export::wfformat(&definition).unwrap();
        let written = start.elapsed().as_secs_f64();
        eprintln!(
            "{name}: {} activities, {n_nodes} nodes, {n_edges} edges, {n_links} links, \
             import {seconds:.3} s, check {checked:.3} s, export {written:.3} s",
            definition.activities().len()
        );
        for warning in &imported.warnings {
            eprintln!("    {warning}");
        }
        let again = import(exported.as_bytes(), &Options::default()).unwrap();
        assert_eq!(again.n_links, n_links, "{name}");
        let again = again.draft.check().unwrap();
        assert_eq!(graph(&again), graph(&definition), "{name}");
        let yaml = export::yaml(&definition);
        let compiled = language::compile(&name, yaml.as_bytes());
        assert!(
            compiled.is_ok_and(|compiled| compiled.definition == definition),
            "{name}"
        );
    }
    eprintln!(
        "{n_structured} of {} are sequences and parallels without links",
        files.len()
    );
    assert_eq!(files.len(), 28);
}

fn recorded() -> Vec<PathBuf> {
    let Some(data) = std::env::var_os("XAVANTES_DATA") else {
        return Vec::new();
    };
    let directory = PathBuf::from(data).join("workflows");
    let mut files = Vec::new();
    for directory in [directory.clone(), directory.join("synthetic")] {
        let Ok(entries) = fs::read_dir(directory) else {
            continue;
        };
        let paths = entries.map(|entry| entry.unwrap().path());
        files.extend(paths.filter(|path| {
            let name = path.to_string_lossy();
            name.ends_with(".json") || name.ends_with(".json.gz")
        }));
    }
    files.sort();
    files
}

fn graph(definition: &Definition) -> Graph {
    let graph = definition.graph();
    let nodes: Vec<Option<NodeId>> = graph
        .nodes()
        .map(|node| node.activity.map(|activity| activity.node()))
        .collect();
    let mut burns = BTreeMap::new();
    let mut works = BTreeMap::new();
    for &id in definition.activities() {
        let activity = definition.activity(id).unwrap();
        let burn = Burn::of_command(&activity.command).unwrap();
        works.insert(burn.name.clone(), activity.work.unwrap());
        burns.insert(id.node(), burn);
    }
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (from, to, _) in graph.edges() {
        let further = match nodes[from] {
            Some(_) => vec![from],
            None => before[from].clone(),
        };
        before[to].extend(further);
    }
    let mut edges = BTreeMap::new();
    for (to, node) in nodes.iter().enumerate() {
        let Some(node) = node else { continue };
        for &from in &before[to] {
            let from = nodes[from].unwrap();
            let key = (burns[&from].name.clone(), burns[node].name.clone());
            let writes = &burns[&from].writes;
            let activity = definition.activity(model::ActivityId(node.0)).unwrap();
            let flows = activity
                .inputs
                .iter()
                .filter_map(|staged| match staged.source {
                    model::Source::Output { activity, output } if activity == from => {
                        Some(writes[output as usize].bytes)
                    }
                    model::Source::Output { .. }
                    | model::Source::Input(_)
                    | model::Source::Item(_)
                    | model::Source::Pick(_) => None,
                });
            edges.insert(key, flows.sum());
        }
    }
    (works, edges)
}
