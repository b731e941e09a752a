//! The activities of a process as the algorithms walk them: flat arrays, in topological order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use model::{ActivityGraph, ActivityId};
use thiserror::Error;

/// A graph without cycles as compressed rows in both directions. Its tasks are numbered by their
/// *position* in topological order (Kahn's, smallest number of the input first), so that every
/// edge goes from a lower position to a higher one and passes run forward in memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dag {
    work: Vec<f64>,
    cores: Vec<u32>,
    activity: Vec<Option<ActivityId>>,
    given: Vec<u32>,
    succ_off: Vec<u32>,
    succ: Vec<u32>,
    data: Vec<f64>,
    pred_off: Vec<u32>,
    pred: Vec<u32>,
    pred_edge: Vec<u32>,
}

/// A node before it has a position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Task {
    /// Its work, in reference seconds (or any unit that powers divide).
    pub work: f64,
    /// Slots of one machine that it holds while it runs; 0 for a gate, which has no work.
    pub cores: u32,
}

/// The most tasks of one graph: positions and offsets are 32 bits, and a plan of more would not
/// fit the memory of a manager.
pub const TASKS_MAX: usize = 8_000_000;
/// The most edges of one graph, for the same reason.
pub const EDGES_MAX: usize = 64_000_000;

/// Why nodes and edges are not a graph that can be scheduled.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum DagError {
    /// More than the limits above.
    #[error(
        "a graph of {tasks} tasks and {edges} edges is too large: the limits are {TASKS_MAX} and {EDGES_MAX}"
    )]
    TooLarge {
        /// The number of tasks that were given.
        tasks: usize,
        /// The number of edges that were given.
        edges: usize,
    },
    /// A work that is not a number from 0 up, or a gate that has work.
    #[error(
        "task {task} has work {work} on {cores} cores; work is a number from 0 up, and 0 on 0 cores"
    )]
    Work {
        /// The task, in the order of the input.
        task: u32,
        /// The value given.
        work: f64,
        /// The value given.
        cores: u32,
    },
    /// An activity that would never be given a slot.
    #[error("activity {activity} asks for 0 cores; only gates do")]
    NoSlot {
        /// The activity.
        activity: ActivityId,
    },
    /// Data that is not a number from 0 up.
    #[error("edge {from} -> {to} carries {data}; data is a number from 0 up")]
    Data {
        /// Its tail.
        from: u32,
        /// Its head.
        to: u32,
        /// The value given.
        data: f64,
    },
    /// An edge to a task that is not there.
    #[error("edge {from} -> {to} leaves the graph")]
    Missing {
        /// Its tail.
        from: u32,
        /// Its head.
        to: u32,
    },
    /// Tasks that wait for each other; each one is followed by one that waits for it, the last by
    /// the first.
    #[error("tasks wait for each other: {path:?}")]
    Cycle {
        /// The tasks of the cycle, in the order of the input.
        path: Vec<u32>,
    },
}

impl Dag {
    /// Builds a graph from tasks in any order and edges (tail, head, data) between them; edges
    /// between the same two tasks are merged by adding their data. Task `i` of the input gets the
    /// activity id `i`. O((n + e) log (n + e)).
    pub fn new(tasks: &[Task], edges: &[(u32, u32, f64)]) -> Result<Dag, DagError> {
        let activity = (0..tasks.len() as u32)
            .map(|task| Some(ActivityId(task)))
            .collect();
        Dag::build(tasks, edges.to_vec(), activity)
    }

    /// The graph of a process: work in reference seconds, data in bytes; a node without an
    /// activity is a gate. O(n + e).
    pub fn from_graph(graph: &ActivityGraph) -> Result<Dag, DagError> {
        let n_nodes = graph.n_nodes();
        if n_nodes > TASKS_MAX || graph.n_edges() > EDGES_MAX {
            return Err(DagError::TooLarge {
                tasks: n_nodes,
                edges: graph.n_edges(),
            });
        }
        let mut tasks = Vec::with_capacity(n_nodes);
        let mut activity = Vec::with_capacity(n_nodes);
        for node in graph.nodes() {
            // A node that no activity stands behind cannot run, whatever its weights say.
            let (work, cores) = match node.activity {
                Some(activity) if node.cores == 0 => return Err(DagError::NoSlot { activity }),
                Some(_) => (node.work.reference_seconds(), node.cores),
                None => (0.0, 0),
            };
            tasks.push(Task { work, cores });
            activity.push(node.activity);
        }
        let edges = graph
            .edges()
            .map(|(from, to, bytes)| (from as u32, to as u32, bytes.0 as f64));
        Dag::build(&tasks, edges.collect(), activity)
    }

    fn build(
        tasks: &[Task],
        mut edges: Vec<(u32, u32, f64)>,
        activity: Vec<Option<ActivityId>>,
    ) -> Result<Dag, DagError> {
        let n = tasks.len();
        if n > TASKS_MAX || edges.len() > EDGES_MAX {
            return Err(DagError::TooLarge {
                tasks: n,
                edges: edges.len(),
            });
        }
        for (task, &Task { work, cores }) in tasks.iter().enumerate() {
            let sound = work.is_finite() && work >= 0.0 && (cores > 0 || work <= 0.0);
            if !sound {
                return Err(DagError::Work {
                    task: task as u32,
                    work,
                    cores,
                });
            }
        }
        for &(from, to, data) in &edges {
            if from.max(to) as usize >= n {
                return Err(DagError::Missing { from, to });
            }
            if !(data.is_finite() && data >= 0.0) {
                return Err(DagError::Data { from, to, data });
            }
        }
        let (given, position) = topological(n, &edges)?;
        for edge in &mut edges {
            (edge.0, edge.1) = (position[edge.0 as usize], position[edge.1 as usize]);
        }
        edges.sort_by_key(|&(from, to, _)| (from, to));
        edges.dedup_by(|later, earlier| {
            let same = (later.0, later.1) == (earlier.0, earlier.1);
            if same {
                earlier.2 += later.2;
            }
            same
        });
        let succ_off = offsets(n, edges.iter().map(|edge| edge.0));
        let pred_off = offsets(n, edges.iter().map(|edge| edge.1));
        let mut pred = vec![0; edges.len()];
        let mut pred_edge = vec![0; edges.len()];
        let mut next = pred_off.clone();
        for (number, &(from, to, _)) in edges.iter().enumerate() {
            let place = next[to as usize] as usize;
            next[to as usize] += 1;
            pred[place] = from;
            pred_edge[place] = number as u32;
        }
        Ok(Dag {
            work: given
                .iter()
                .map(|&task| tasks[task as usize].work)
                .collect(),
            cores: given
                .iter()
                .map(|&task| tasks[task as usize].cores)
                .collect(),
            activity: given.iter().map(|&task| activity[task as usize]).collect(),
            given,
            succ_off,
            succ: edges.iter().map(|edge| edge.1).collect(),
            data: edges.iter().map(|edge| edge.2).collect(),
            pred_off,
            pred,
            pred_edge,
        })
    }

    /// Tasks, gates included.
    pub fn n_tasks(&self) -> usize {
        self.work.len()
    }

    /// Edges after merging.
    pub fn n_edges(&self) -> usize {
        self.succ.len()
    }

    /// The work of a task, in reference seconds.
    #[inline]
    pub fn work(&self, task: u32) -> f64 {
        self.work[task as usize]
    }

    /// Slots of one machine that a task holds; 0 for a gate.
    #[inline]
    pub fn cores(&self, task: u32) -> u32 {
        self.cores[task as usize]
    }

    /// True if a task is a gate: it takes no time, holds no slot and is never sent anywhere.
    #[inline]
    pub fn is_gate(&self, task: u32) -> bool {
        self.cores(task) == 0
    }

    /// The activity that a task stands for; none for a gate.
    pub fn activity(&self, task: u32) -> Option<ActivityId> {
        self.activity[task as usize]
    }

    /// The place of a task in the input that the graph was built from.
    pub fn given(&self, task: u32) -> u32 {
        self.given[task as usize]
    }

    /// The data of an edge.
    #[inline]
    pub fn data(&self, edge: u32) -> f64 {
        self.data[edge as usize]
    }

    /// The successors of a task: (successor, data), in the order of positions.
    #[inline]
    pub fn successors(&self, task: u32) -> impl ExactSizeIterator<Item = (u32, f64)> {
        let range =
            self.succ_off[task as usize] as usize..self.succ_off[task as usize + 1] as usize;
        range.map(|edge| (self.succ[edge], self.data[edge]))
    }

    /// The messages of a task: (successor, number of the edge), in the order of positions.
    #[inline]
    pub fn outgoing(&self, task: u32) -> impl ExactSizeIterator<Item = (u32, u32)> {
        let edges = self.succ_off[task as usize]..self.succ_off[task as usize + 1];
        edges.map(|edge| (self.succ[edge as usize], edge))
    }

    /// The predecessors of a task: (predecessor, number of the edge), in the order of positions.
    #[inline]
    pub fn predecessors(&self, task: u32) -> impl ExactSizeIterator<Item = (u32, u32)> {
        let range =
            self.pred_off[task as usize] as usize..self.pred_off[task as usize + 1] as usize;
        range.map(|place| (self.pred[place], self.pred_edge[place]))
    }

    /// All positions, in topological order.
    pub fn tasks(&self) -> std::ops::Range<u32> {
        0..self.n_tasks() as u32
    }
}

/// Kahn's order with the smallest number first: (numbers by position, positions by number).
fn topological(n: usize, edges: &[(u32, u32, f64)]) -> Result<(Vec<u32>, Vec<u32>), DagError> {
    let identity: Vec<u32> = (0..n as u32).collect();
    if edges.iter().all(|&(from, to, _)| from < to) {
        return Ok((identity.clone(), identity));
    }
    let off = offsets(n, edges.iter().map(|edge| edge.0));
    let mut next = off.clone();
    let mut heads = vec![0; edges.len()];
    let mut waits = vec![0u32; n];
    for &(from, to, _) in edges {
        heads[next[from as usize] as usize] = to;
        next[from as usize] += 1;
        waits[to as usize] += 1;
    }
    let mut free: BinaryHeap<Reverse<u32>> = identity
        .iter()
        .filter(|&&task| waits[task as usize] == 0)
        .map(|&t| Reverse(t))
        .collect();
    let mut given = Vec::with_capacity(n);
    let mut position = vec![0; n];
    while let Some(Reverse(task)) = free.pop() {
        position[task as usize] = given.len() as u32;
        given.push(task);
        for &head in &heads[off[task as usize] as usize..off[task as usize + 1] as usize] {
            waits[head as usize] -= 1;
            if waits[head as usize] == 0 {
                free.push(Reverse(head));
            }
        }
    }
    if given.len() < n {
        return Err(DagError::Cycle {
            path: cycle(edges, &waits),
        });
    }
    Ok((given, position))
}

/// A cycle among the tasks that still wait: going back from any of them meets one.
fn cycle(edges: &[(u32, u32, f64)], waits: &[u32]) -> Vec<u32> {
    let mut before = vec![None; waits.len()];
    for &(from, to, _) in edges {
        if waits[from as usize] > 0 {
            before[to as usize] = Some(from);
        }
    }
    let mut seen_at = vec![None; waits.len()];
    let mut path = Vec::new();
    let mut task = waits
        .iter()
        .position(|&count| count > 0)
        .map(|task| task as u32);
    while let Some(here) = task {
        if let Some(first) = seen_at[here as usize] {
            path.drain(..first);
            break;
        }
        seen_at[here as usize] = Some(path.len());
        path.push(here);
        task = before[here as usize];
    }
    path.reverse();
    path
}

fn offsets(n: usize, ends: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut off = vec![0; n + 1];
    for end in ends {
        off[end as usize + 1] += 1;
    }
    for place in 0..n {
        off[place + 1] += off[place];
    }
    off
}

#[cfg(test)]
mod tests;
