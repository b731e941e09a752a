//! The fifteen graphs of a study: their trees stay, their costs are drawn anew for each repetition.
//!
//! Section 9 of the digest of Bittencourt and Madeira's paper tells how trees are drawn
//! ([`schedule::structured`]), and the mean of sequential time / critical path of the graphs that
//! its figures were found on. Fifteen trees vary in that by a tenth, and lengths of schedules vary
//! with it; so trees are drawn again until their mean comes near the published one.

use schedule::platform::{MessageCost, paper};
use schedule::structured::{SIZES, Shape, Structured};
use schedule::{Problem, critical_path_time, sequential_time};

use crate::seeds::{Purpose, seed};

/// The number of graphs of a study.
pub const GRAPHS: usize = SIZES.len();
/// Sets of trees that are tried; of none that is near enough the nearest one stays.
const TRIES_MAX: u64 = 200;
/// The distance from the published mean that is near enough, as a part of it.
const NEAR: f64 = 0.01;
/// Draws of costs that the mean is taken over.
const DRAWS: u64 = 4;

/// The width of graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    /// Up to 30 branches.
    Wide,
    /// Up to 12.
    Middle,
    /// Up to 6.
    Narrow,
}

impl Width {
    /// The rules by which trees of this width are drawn.
    pub fn shape(self) -> Shape {
        match self {
            Width::Wide => Shape::WIDE,
            Width::Middle => Shape::MIDDLE,
            Width::Narrow => Shape::NARROW,
        }
    }

    /// The published mean of sequential time / critical path.
    pub fn parallelism(self) -> f64 {
        match self {
            Width::Wide => 5.5,
            Width::Middle => 4.3,
            Width::Narrow => 3.2,
        }
    }

    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Width::Wide => "wide",
            Width::Middle => "middle",
            Width::Narrow => "narrow",
        }
    }
}

/// The fifteen graphs of a study without their costs, by number of activities.
#[derive(Clone, Debug, PartialEq)]
pub struct Graphs {
    /// The trees.
    pub trees: Vec<Structured>,
    /// The mean of sequential time / critical path that they have.
    pub parallelism: f64,
}

impl Graphs {
    /// The graphs of a study's seed: the set of a number.
    pub fn drawn(width: Width, study_seed: u64, set: u64) -> Graphs {
        let wanted = width.parallelism();
        let distance = |graphs: &Graphs| (graphs.parallelism - wanted).abs();
        let mut nearest: Option<Graphs> = None;
        for attempt in 0..TRIES_MAX {
            let graphs = Graphs::once(width, study_seed, [set, attempt]);
            if distance(&graphs) <= NEAR * wanted {
                return graphs;
            }
            if nearest
                .as_ref()
                .is_none_or(|nearest| distance(&graphs) < distance(nearest))
            {
                nearest = Some(graphs);
            }
        }
        nearest.expect("one set of trees has been tried")
    }

    fn once(width: Width, study_seed: u64, [set, attempt]: [u64; 2]) -> Graphs {
        let trees: Vec<Structured> = (0u64..)
            .zip(SIZES)
            .map(|(graph, size)| {
                let place = [width as u64, set, attempt, graph];
                let seed = seed(study_seed, Purpose::Trees, &place);
                Structured::new(size, width.shape(), seed)
            })
            .collect();
        let mut sum = 0.0;
        for (tree, draw) in trees
            .iter()
            .flat_map(|tree| (0..DRAWS).map(move |d| (tree, d)))
        {
            let dag = tree.graph(MessageCost::Medium, draw);
            let platform = paper(1, 0, 1.0).expect("one group is a platform");
            let problem = Problem::new(dag, &platform).expect("works are small");
            sum += sequential_time(&problem) / critical_path_time(&problem);
        }
        Graphs {
            parallelism: sum / (GRAPHS as u64 * DRAWS) as f64,
            trees,
        }
    }
}

#[cfg(test)]
mod tests;
