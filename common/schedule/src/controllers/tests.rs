use super::{
    Controlled, Placing, Tree, TreeError, check_through_controllers, route, through_controllers,
};
use crate::fixtures::{grouped, random, task};
use crate::problem::Problem;
use crate::random::Random;
use crate::{Dag, Pch, Scheduler, less};

/// A random tree of controllers for a problem.
fn tree(problem: &Problem, seed: u64, n_controllers: u32) -> Tree {
    let mut random = Random::new(seed);
    let parents: Vec<Option<u32>> = (0..n_controllers)
        .map(|c| (c > 0).then(|| random.below(c as usize) as u32))
        .collect();
    let of_task: Vec<u32> = (0..problem.dag().n_tasks())
        .map(|_| random.below(n_controllers as usize) as u32)
        .collect();
    Tree::new(problem, &parents, &of_task).unwrap()
}

/// Seconds of all hops of all messages.
fn traffic(problem: &Problem, tree: &Tree, controlled: &Controlled) -> f64 {
    let dag = problem.dag();
    let host = |task: u32| controlled.schedule.entries[task as usize].host;
    let messages = dag.tasks().flat_map(|task| {
        dag.predecessors(task).map(move |(pred, edge)| {
            let hosts = [host(pred), host(task)];
            route(
                problem,
                tree,
                &controlled.controllers,
                (pred, task),
                hosts,
                edge,
            )
        })
    });
    messages.sum()
}

#[test]
fn no_placement_has_less_traffic_than_the_programme() {
    for seed in 0..30 {
        let problem = random(seed, 12, 4);
        let tree = tree(&problem, seed, 4);
        let direct = Pch::new().schedule(&problem).unwrap();
        let found = through_controllers(&problem, &tree, &direct, Placing::LeastTraffic);
        check_through_controllers(&problem, &tree, &found).unwrap();
        let least = traffic(&problem, &tree, &found);
        for code in 0..4u32.pow(4) {
            let controllers = (0..4).map(|c| code / 4u32.pow(c) % 4).collect();
            let other = Controlled {
                schedule: found.schedule.clone(),
                controllers,
            };
            let sum = traffic(&problem, &tree, &other);
            assert!(
                !less(sum, least),
                "seed {seed}: {other:?} has {sum}, not {least}"
            );
        }
        let paper = through_controllers(&problem, &tree, &direct, Placing::Paper);
        check_through_controllers(&problem, &tree, &paper).unwrap();
    }
}

#[test]
fn the_paper_rule_looks_at_children_only() {
    // c0 { t0, c1 { t1, t2, t3 }, t4 }: fork t0 and join t4 on m0, most branches on m1
    let edges = [
        (0, 1, 9.0),
        (0, 2, 1.0),
        (0, 3, 1.0),
        (1, 4, 9.0),
        (2, 4, 1.0),
        (3, 4, 1.0),
    ];
    let dag = Dag::new(&[task(1.0, 1); 5], &edges).unwrap();
    let machines = [(1.0, 1, 0), (1.0, 2, 1)];
    let problem = Problem::new(dag, &grouped(&machines, 1.0, 1.0)).unwrap();
    let tree = Tree::new(&problem, &[None, Some(0)], &[0, 1, 1, 1, 0]).unwrap();
    let mut direct = Pch::new().schedule(&problem).unwrap();
    for (entry, host) in direct.entries.iter_mut().zip([0, 0, 1, 1, 0]) {
        (entry.host, entry.slot) = (host, 0);
    }
    direct.entries[3].slot = 1;
    direct.order = vec![vec![vec![0, 1, 4]], vec![vec![2], vec![3]]];
    for placing in [Placing::Paper, Placing::LeastTraffic] {
        let found = through_controllers(&problem, &tree, &direct, placing);
        assert_eq!(found.controllers, [0, 0], "{placing:?}");
        assert_eq!(found.schedule.makespan(), 5.0);
    }
    // With lighter messages to t1 the paper's rule puts c1 where its other children are, and all
    // messages cross to it and back; the tie of c0 goes to the lower machine.
    let edges = [
        (0, 1, 2.0),
        (0, 2, 3.0),
        (0, 3, 3.0),
        (1, 4, 2.0),
        (2, 4, 3.0),
        (3, 4, 3.0),
    ];
    let dag = Dag::new(&[task(1.0, 1); 5], &edges).unwrap();
    let problem = Problem::new(dag, &grouped(&machines, 1.0, 1.0)).unwrap();
    let found = through_controllers(&problem, &tree, &direct, Placing::Paper);
    assert_eq!(found.controllers, [0, 1]);
    assert_eq!(traffic(&problem, &tree, &found), 20.0);
    let least = through_controllers(&problem, &tree, &direct, Placing::LeastTraffic);
    assert_eq!(traffic(&problem, &tree, &least), 12.0);
}

#[test]
fn what_is_no_tree_is_refused() {
    let problem = random(1, 2, 1);
    let refused = |parents: &[Option<u32>], of_task: &[u32]| {
        Tree::new(&problem, parents, of_task).unwrap_err()
    };
    assert_eq!(refused(&[], &[]), TreeError::Roots(0));
    assert_eq!(refused(&[None, None], &[0, 0]), TreeError::Roots(2));
    assert_eq!(
        refused(&[None, Some(2), Some(1)], &[0, 0]),
        TreeError::Parent(1)
    );
    assert_eq!(refused(&[None, Some(7)], &[0, 0]), TreeError::Parent(1));
    assert_eq!(
        refused(&[None], &[0]),
        TreeError::Tasks { given: 1, tasks: 2 }
    );
    assert_eq!(refused(&[None], &[0, 1]), TreeError::Task(1));
}
