//! The order of tasks as a tree of sequences and parallels.
//!
//! From above: a piece whose tasks fall apart into sets with no edge between them is a parallel of
//! these; a piece that can be cut so that all tasks before a cut precede all after it is a sequence
//! of its parts; what is neither is a parallel with links. A graph is series-parallel exactly
//! where the last never happens (Valdes, Tarjan and Lawler, 1982, "The recognition of series
//! parallel digraphs", for vertices). O(n + e) for each level of the tree, and the tree has no
//! more levels than a definition may have.

use model::limits::DEPTH_MAX;

/// A tree over the places of tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Task(u32),
    Sequence(Vec<Shape>),
    Parallel(Vec<Shape>),
    /// Tasks at the same time but for the edges between them.
    Linked(Vec<u32>),
}

/// The tree of `n_tasks` tasks, of which there is at least one; edges are sorted and go from a
/// lower place to a higher one.
pub(super) fn structure(n_tasks: usize, edges: &[(u32, u32)]) -> Shape {
    let mut offsets = vec![0u32; n_tasks + 1];
    for &(from, _) in edges {
        offsets[from as usize + 1] += 1;
    }
    for task in 0..n_tasks {
        offsets[task + 1] += offsets[task];
    }
    let mut pieces = Pieces {
        edges,
        offsets,
        piece_of: vec![0; n_tasks],
        local: vec![0; n_tasks],
        n_pieces: 0,
    };
    match pieces.shape((0..n_tasks as u32).collect(), 1) {
        // The root is a controller.
        Shape::Task(task) => Shape::Sequence(vec![Shape::Task(task)]),
        shape @ (Shape::Sequence(_) | Shape::Parallel(_) | Shape::Linked(_)) => shape,
    }
}

struct Pieces<'a> {
    edges: &'a [(u32, u32)],
    /// Where the edges of each tail begin.
    offsets: Vec<u32>,
    /// The piece that each task was in last.
    piece_of: Vec<u32>,
    /// Its place in that piece.
    local: Vec<u32>,
    n_pieces: u32,
}

impl Pieces<'_> {
    /// The shape of a piece whose root is on the level `depth`, that of the whole being 1.
    fn shape(&mut self, piece: Vec<u32>, depth: usize) -> Shape {
        if let [task] = piece[..] {
            return Shape::Task(task);
        }
        let inner = self.inner_edges(&piece);
        let mut build: fn(Vec<Shape>) -> Shape = Shape::Parallel;
        let mut parts = components(&piece, &inner);
        if parts.len() == 1 {
            build = Shape::Sequence;
            parts = cuts(&piece, &inner);
        }
        // On the last level but one there is room for tasks only.
        let deep = depth + 1 >= DEPTH_MAX && parts.iter().any(|part| part.len() > 1);
        if parts.len() == 1 || deep {
            return Shape::Linked(piece);
        }
        let shapes = parts.into_iter().map(|part| self.shape(part, depth + 1));
        build(shapes.collect())
    }

    /// The edges within a piece, by places in it.
    fn inner_edges(&mut self, piece: &[u32]) -> Vec<(u32, u32)> {
        self.n_pieces += 1;
        for (local, &task) in piece.iter().enumerate() {
            self.piece_of[task as usize] = self.n_pieces;
            self.local[task as usize] = local as u32;
        }
        let mut inner = Vec::new();
        for (local, &task) in piece.iter().enumerate() {
            let first = self.offsets[task as usize] as usize;
            let end = self.offsets[task as usize + 1] as usize;
            let heads = self.edges[first..end].iter().map(|&(_, to)| to as usize);
            let heads = heads.filter(|&to| self.piece_of[to] == self.n_pieces);
            inner.extend(heads.map(|to| (local as u32, self.local[to])));
        }
        inner
    }
}

/// The sets of tasks with no edge between them, ordered by their first tasks.
fn components(piece: &[u32], edges: &[(u32, u32)]) -> Vec<Vec<u32>> {
    let mut above: Vec<u32> = (0..piece.len() as u32).collect();
    for &(from, to) in edges {
        let (from, to) = (top(&mut above, from), top(&mut above, to));
        above[from.max(to) as usize] = from.min(to);
    }
    let mut part_of = vec![u32::MAX; piece.len()];
    let mut parts: Vec<Vec<u32>> = Vec::new();
    for (local, &task) in piece.iter().enumerate() {
        let first = top(&mut above, local as u32) as usize;
        if part_of[first] == u32::MAX {
            part_of[first] = parts.len() as u32;
            parts.push(Vec::new());
        }
        parts[part_of[first] as usize].push(task);
    }
    parts
}

fn top(above: &mut [u32], mut task: u32) -> u32 {
    while above[task as usize] != task {
        above[task as usize] = above[above[task as usize] as usize];
        task = above[task as usize];
    }
    task
}

/// The parts between all cuts at which everything before precedes everything after.
///
/// Such a cut is one of the topological order, whichever that is. It is one exactly where each
/// last task before it (none of whose successors are before it) has an edge to each first task
/// after it (none of whose predecessors are after it): a path from one to the other can pass
/// nothing else. A task is a last one at the cuts behind it up to its first successor, and a first
/// one at the cuts before it down to its last predecessor, so that all are counted by differences.
fn cuts(piece: &[u32], edges: &[(u32, u32)]) -> Vec<Vec<u32>> {
    let n = piece.len();
    let mut first_after = vec![n; n];
    let mut last_before = vec![0usize; n];
    for &(from, to) in edges {
        let (from, to) = (from as usize, to as usize);
        first_after[from] = first_after[from].min(to);
        last_before[to] = last_before[to].max(from + 1);
    }
    // By the number of tasks before the cut: those that are last, those that are first, edges
    // between these.
    let mut lasts = vec![0i64; n + 2];
    let mut firsts = vec![0i64; n + 2];
    let mut joins = vec![0i64; n + 2];
    let span = |counts: &mut [i64], from: usize, to: usize| {
        counts[from] += 1;
        counts[to + 1] -= 1;
    };
    for task in 0..n {
        span(&mut lasts, task + 1, first_after[task]);
        span(&mut firsts, last_before[task], task);
    }
    for &(from, to) in edges {
        let (least, most) = (last_before[to as usize], first_after[from as usize]);
        if least <= most {
            span(&mut joins, least, most);
        }
    }
    let mut parts = Vec::new();
    let mut part = Vec::new();
    let (mut n_lasts, mut n_firsts, mut n_joins) = (0, 0, 0);
    for cut in 0..n {
        n_lasts += lasts[cut];
        n_firsts += firsts[cut];
        n_joins += joins[cut];
        if cut > 0 && n_joins == n_lasts * n_firsts {
            parts.push(std::mem::take(&mut part));
        }
        part.push(piece[cut]);
    }
    parts.push(part);
    parts
}
