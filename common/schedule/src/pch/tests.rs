use super::{Cluster, PCH_TASKS_MAX, Pch};
use crate::fixtures::{drawn, grouped, platform, random, task};
use crate::order::less;
use crate::problem::{Fixed, OUTSIDE, Problem};
use crate::{Dag, Demand, Schedule, ScheduleError, Scheduler, check};

/// PCH as it is printed: every candidate timed by a full pass over the order.
fn printed(problem: &Problem) -> Vec<Cluster> {
    let run = Pch::new().run(problem).unwrap();
    let order = crate::order::by_priority(&run.priorities);
    let n = order.len();
    let shortest = |task| problem.duration_min(task);
    let mut bandwidth = 0.0f64;
    for (a, one) in problem.hosts().iter().enumerate() {
        for other in &problem.hosts()[a + 1..] {
            bandwidth = bandwidth.max(problem.links().bandwidth(one.group, other.group));
        }
    }
    let pass = |at: &[Option<(u32, u32)>]| {
        let (mut est, mut eft) = (vec![0.0f64; n], vec![0.0f64; n]);
        let mut free = std::collections::BTreeMap::new();
        for &task in &order {
            let here = at[task as usize];
            let mut start: f64 = here.map_or(0.0, |slot| free.get(&slot).copied().unwrap_or(0.0));
            for (pred, edge) in problem.dag().predecessors(task) {
                let transfer = match (at[pred as usize], here) {
                    (Some((from, _)), Some((to, _))) => problem.transfer(edge, from, to),
                    _ => problem.dag().data(edge) / bandwidth,
                };
                start = start.max(eft[pred as usize] + transfer);
            }
            let duration = here.map_or(shortest(task), |(host, _)| problem.duration(task, host));
            est[task as usize] = start;
            eft[task as usize] = start + duration;
            if let Some(slot) = here {
                free.insert(slot, start + duration);
            }
        }
        (est, eft)
    };
    let mut at: Vec<Option<(u32, u32)>> = vec![None; n];
    let mut clusters = Vec::new();
    for &head in &order {
        if at[head as usize].is_some() {
            continue;
        }
        let (est, _) = pass(&at);
        let mut tasks = vec![head];
        let mut last = head;
        loop {
            let mut best: Option<u32> = None;
            for &succ in &order {
                let follows = problem.dag().successors(last).any(|(s, _)| s == succ);
                if !follows || at[succ as usize].is_some() {
                    continue;
                }
                let weight = |s: u32| est[s as usize] + run.priorities[s as usize];
                if best.is_none_or(|best| less(weight(best), weight(succ))) {
                    best = Some(succ);
                }
            }
            let Some(succ) = best else { break };
            tasks.push(succ);
            last = succ;
        }
        let mut best: Option<(f64, f64, u32, u32)> = None;
        for (host, machine) in (0u32..).zip(problem.hosts()) {
            for slot in 0..machine.slots {
                tasks
                    .iter()
                    .for_each(|&task| at[task as usize] = Some((host, slot)));
                let (est, eft) = pass(&at);
                let end = eft[last as usize];
                let time = problem
                    .dag()
                    .successors(last)
                    .map(|(s, _)| est[s as usize] + run.priorities[s as usize])
                    .reduce(f64::max)
                    .unwrap_or(end);
                let better =
                    best.is_none_or(|(t, e, ..)| less(time, t) || (!less(t, time) && less(end, e)));
                if better {
                    best = Some((time, end, host, slot));
                }
            }
        }
        let (.., host, slot) = best.unwrap();
        tasks
            .iter()
            .for_each(|&task| at[task as usize] = Some((host, slot)));
        clusters.push(Cluster { tasks, host, slot });
    }
    clusters
}

#[test]
fn the_short_ways_give_what_full_passes_give() {
    for seed in 0..60 {
        let problem = random(seed, 8 + seed as u32, 2 + seed as usize % 5);
        let run = Pch::new().run(&problem).unwrap();
        check(&problem, &run.schedule).unwrap();
        assert_eq!(run.clusters, printed(&problem), "seed {seed}");
    }
}

fn scheduled(problem: &Problem) -> Schedule {
    let schedule = Pch::new().schedule(problem).unwrap();
    check(problem, &schedule).unwrap();
    schedule
}

#[test]
fn fork_and_join_share_a_machine_and_branches_leave_where_it_pays() {
    // t0 --> t1 --> t3       inside 10, between 1
    //   \--> t2 ---/
    let tasks = [task(2.0, 1), task(9.0, 1), task(6.0, 1), task(2.0, 1)];
    let edges = [(0, 1, 10.0), (0, 2, 10.0), (1, 3, 10.0), (2, 3, 10.0)];
    let machines = [(1.0, 1, 0), (1.0, 1, 0), (1.0, 1, 1)];
    let dag = Dag::new(&tasks, &edges).unwrap();
    let problem = Problem::new(dag, &grouped(&machines, 10.0, 1.0)).unwrap();
    let text = drawn(&problem, &scheduled(&problem));
    assert_eq!(
        text,
        "m0.0 |t0 0-2|t1 2-11|t3 11-13|\nm1.0 |t2 3-9|\nm2.0 |\n"
    );
}

#[test]
fn slots_of_a_machine_are_resources_without_messages() {
    let tasks = [task(2.0, 1), task(9.0, 1), task(6.0, 1), task(2.0, 1)];
    let edges = [(0, 1, 1e9), (0, 2, 1e9), (1, 3, 1e9), (2, 3, 1e9)];
    let dag = Dag::new(&tasks, &edges).unwrap();
    let problem = Problem::new(dag, &platform(&[(1.0, 2), (1.0, 1)])).unwrap();
    let text = drawn(&problem, &scheduled(&problem));
    assert_eq!(
        text,
        "m0.0 |t0 0-2|t1 2-11|t3 11-13|\nm0.1 |t2 2-8|\nm1.0 |\n"
    );
}

#[test]
fn a_task_of_two_cores_holds_neighbouring_slots() {
    // t0 --> t1 (2 cores) --> t2      t3 alone, with no successor to tell it that it pushes t2
    let tasks = [task(4.0, 1), task(5.0, 2), task(1.0, 1), task(3.0, 1)];
    let dag = Dag::new(&tasks, &[(0, 1, 0.0), (1, 2, 0.0)]).unwrap();
    let problem = Problem::new(dag, &platform(&[(1.0, 2)])).unwrap();
    let text = drawn(&problem, &scheduled(&problem));
    assert_eq!(
        text,
        "m0.0 |t0 0-4|t1 4-9|t3 9-12|t2 12-13|\nm0.1 |t1 4-9|\n"
    );
}

#[test]
fn slots_that_are_taken_and_what_has_started_are_respected() {
    // t0 has started on m1 and ends at 4; its data (10 s between machines) lies there.
    let dag = Dag::new(&[task(9.0, 1), task(2.0, 1)], &[(0, 1, 1e7)]).unwrap();
    let fixed = |host| Fixed { host, finish: 4.0 };
    let problem = Problem::new(dag, &platform(&[(1.0, 1), (1.0, 1)])).unwrap();
    let problem = problem.with_ready(&[vec![], vec![6.0]]).unwrap();
    let near = problem.clone().with_fixed([(0, fixed(1))]).unwrap();
    assert_eq!(drawn(&near, &scheduled(&near)), "m0.0 |\nm1.0 |t1 6-8|\n");
    let far = problem.with_fixed([(0, fixed(OUTSIDE))]).unwrap();
    assert_eq!(drawn(&far, &scheduled(&far)), "m0.0 |t1 14-16|\nm1.0 |\n");
}

#[test]
fn a_path_ends_where_no_machine_has_what_all_of_it_needs() {
    let mut machines = platform(&[(1.0, 1), (1.0, 1)]).resources().to_vec();
    for (machine, kind) in machines.iter_mut().zip(["a", "b"]) {
        machine.labels.insert("kind".into(), kind.into());
    }
    let network = platform(&[(1.0, 1)]).network().clone();
    let platform = model::Platform::new(machines, network).unwrap();
    let needs = |kind: &str| Demand {
        labels: vec![("kind".into(), kind.into())],
        ..Demand::default()
    };
    let demands = [Some(needs("b")), None, Some(needs("a"))];
    let tasks = [task(1.0, 1); 3];
    let dag = Dag::new(&tasks, &[(0, 1, 1e6), (1, 2, 1e6)]).unwrap();
    let problem = Problem::new(dag, &platform).unwrap();
    let problem = problem
        .with_demands(|task| demands[task as usize].as_ref())
        .unwrap();
    let text = drawn(&problem, &scheduled(&problem));
    assert_eq!(text, "m0.0 |t2 3-4|\nm1.0 |t0 0-1|t1 1-2|\n");
}

#[test]
fn what_is_too_large_is_refused_and_what_is_empty_is_not() {
    let problem = |n| {
        let dag = Dag::new(&vec![task(1.0, 1); n], &[]).unwrap();
        Problem::new(dag, &platform(&[(1.0, 1)])).unwrap()
    };
    assert_eq!(scheduled(&problem(0)).makespan(), 0.0);
    let refused = Pch::new().schedule(&problem(PCH_TASKS_MAX + 1));
    assert!(matches!(refused, Err(ScheduleError::TooLarge { .. })));
    let refused = Pch::within(10).schedule(&problem(100));
    assert!(matches!(refused, Err(ScheduleError::TooLarge { .. })));
    let wide = Dag::new(&[task(1.0, 1), task(1.0, 2)], &[]).unwrap();
    let wide = Problem::new(wide, &platform(&[(1.0, 1)])).unwrap();
    assert_eq!(
        Pch::new().schedule(&wide),
        Err(ScheduleError::NoHost { task: 1 })
    );
}
