//! The spread of published means over other draws of the trees, and the sizes of graphs that it comes from: how far a mean
//! may be from that of another implementation which drew graphs of its own.

use std::ops::Range;

use schedule::structured::SIZES;

use crate::figures::Figure;
use crate::graphs::GRAPHS;
use crate::published::{Means, means_at};
use crate::results::Results;
use crate::study::plans;

/// The names of the costs of messages, in the order in which the study of trees has them, and the number of sets
/// of trees at each.
const COSTS: [&str; 3] = ["medium", "high", "low"];
const SETS: usize = 10;
/// The graphs by their place among the fifteen: four small ones, and so on.
const FAMILIES: [Range<usize>; 4] = [0..4, 4..8, 8..12, 12..GRAPHS];

/// A published mean beside those of the sets of trees.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// The cost of messages, the figure and the algorithm.
    pub what: String,
    /// The replication's mean.
    pub replication: f64,
    /// The mean of the sets.
    pub mean: f64,
    /// The standard deviation between the means of the sets.
    pub deviation: f64,
    /// The least and the largest mean of a set.
    pub range: (f64, f64),
    /// By family: its part of the variance between sets, in percent, where sets are drawn graph by graph.
    pub of_family: [f64; 4],
    /// The digits behind the point that are shown.
    pub decimals: usize,
}

impl Spread {
    /// The distance of the replication's mean from that of the sets, in standard deviations between them.
    pub fn distance(&self) -> f64 {
        (self.replication - self.mean) / self.deviation
    }
}

/// The name of a family: the numbers of activities of its graphs.
pub fn family(number: usize) -> String {
    let graphs = &SIZES[FAMILIES[number].clone()];
    let ends = graphs.first().zip(graphs.last());
    ends.map_or(String::new(), |(first, last)| format!("{first} to {last}"))
}

/// Each published mean at the number of groups of the study of trees, if the experiment has that.
pub fn spreads(results: &Results) -> Vec<Spread> {
    let groups = crate::published::GROUPS;
    if !results.design().groups.contains(&groups) {
        return Vec::new();
    }
    let costs = COSTS.into_iter().enumerate();
    let of_cost = costs.flat_map(|(number, cost)| {
        let means = means_at(cost, groups).into_iter();
        means.flat_map(move |means| spreads_of(results, (number * SETS, cost), &means))
    });
    of_cost.collect()
}

/// The three algorithms of a published figure, from a setting on.
fn spreads_of(results: &Results, (first, cost): (usize, &str), means: &Means) -> Vec<Spread> {
    let algorithms = means.columns.into_iter().zip(means.replication);
    let spread = |(column, replication): (usize, f64)| {
        let figure = Figure {
            kind: means.kind,
            column,
        };
        let of_graph = |set: usize, graph: usize| {
            let graphs = graph..graph + 1;
            let figure = |instance: &[f64]| figure.of(instance);
            results
                .estimate_of(first + set, crate::published::GROUPS, graphs, figure)
                .mean
        };
        let sets: Vec<Vec<f64>> = (0..SETS)
            .map(|set| (0..GRAPHS).map(|graph| of_graph(set, graph)).collect())
            .collect();
        let of_set = |set: &Vec<f64>| set.iter().sum::<f64>() / GRAPHS as f64;
        let of_sets: Vec<f64> = sets.iter().map(of_set).collect();
        let variance_of = |graph: usize| {
            let values: Vec<f64> = sets.iter().map(|set| set[graph]).collect();
            variance(&values)
        };
        let by_graph: Vec<f64> = (0..GRAPHS).map(variance_of).collect();
        let all: f64 = by_graph.iter().sum();
        Spread {
            what: format!("{cost}: {}: {}", means.what, plans::COLUMNS[column].title),
            replication,
            mean: of_sets.iter().sum::<f64>() / SETS as f64,
            deviation: variance(&of_sets).sqrt(),
            range: (
                of_sets.iter().copied().fold(f64::INFINITY, f64::min),
                of_sets.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            ),
            of_family: FAMILIES.map(|graphs| 100.0 * by_graph[graphs].iter().sum::<f64>() / all),
            decimals: means.decimals,
        }
    };
    algorithms.map(spread).collect()
}

/// The variance of what some values are drawn from.
fn variance(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / (n - 1.0)
}

#[cfg(test)]
mod tests;
