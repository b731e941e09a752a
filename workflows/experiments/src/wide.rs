//! A large graph for measures of speed.

use schedule::platform::{ReferenceNetwork, reference};
use schedule::random::Random;
use schedule::{Dag, Problem, Task};

/// Machines that it runs on.
const MACHINES: u32 = 64;

/// Four wide levels between single tasks, as in Montage, of so many tasks (at least 4) of 5 to 25 s, on 64 machines in
/// a LAN. The draws are the same each time.
pub fn wide(n_tasks: u32) -> Problem {
    let mut random = Random::new(1);
    let task = |random: &mut Random| Task {
        work: 5.0 + 20.0 * random.unit(),
        cores: 1,
    };
    let tasks: Vec<Task> = (0..n_tasks).map(|_| task(&mut random)).collect();
    let width = n_tasks / 4;
    let mut edges = Vec::new();
    for task in 1..n_tasks {
        let mut edge = |from: u32, to: u32| edges.push((from, to, 1e6 * random.unit()));
        match task % width {
            0 => (task - width + 1..task).for_each(|before| edge(before, task)),
            place => edge(task - place, task),
        }
    }
    let dag = Dag::new(&tasks, &edges).expect("edges go up");
    let platform = reference(MACHINES, ReferenceNetwork::Lan, &dag).expect("a sound platform");
    Problem::new(dag, &platform).expect("a sound problem")
}
