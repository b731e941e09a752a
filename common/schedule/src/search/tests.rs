use super::{Repeats, Search};
use crate::controllers::{Controlled, Tree};
use crate::fixtures::{drawn, grouped, random, task};
use crate::heft::Heft;
use crate::platform::{MessageCost, paper};
use crate::problem::{Fixed, Problem};
use crate::rank::MeanRule;
use crate::structured::{Shape, Structured};
use crate::{
    Dag, Placing, Scheduler, bound, check, check_copied, check_through_controllers,
    through_controllers,
};

fn searched(problem: &Problem, steps: u64) -> (f64, crate::Schedule) {
    let schedule = Heft::new(MeanRule::Costs).schedule(problem).unwrap();
    let mut search = Search::new(problem, &schedule);
    assert!((search.makespan() - schedule.makespan()).abs() < 1e-9);
    search.run(steps, 0.0);
    (schedule.makespan(), search.schedule())
}

//   t0 (4) --30--> t2 (1)      m0, m1 in one group: 10 a second; m2 in another: 1 a second
//   t1 (4) --30--> t2
#[test]
fn a_search_finds_the_shortest_of_few_schedules() {
    let tasks = [task(4.0, 1), task(4.0, 1), task(1.0, 1)];
    let dag = Dag::new(&tasks, &[(0, 2, 30.0), (1, 2, 30.0)]).unwrap();
    let platform = grouped(&[(1.0, 1, 0), (1.0, 1, 0), (1.0, 1, 1)], 10.0, 1.0);
    let problem = Problem::new(dag, &platform).unwrap();
    let (_, schedule) = searched(&problem, 10_000);
    // Two machines of a group: 4 + 3 of message + 1; all on one machine would take 9.
    assert_eq!(schedule.makespan(), 8.0, "{}", drawn(&problem, &schedule));
}

#[test]
fn what_is_searched_stays_valid_and_gets_no_longer() {
    let mut n_shorter = 0;
    for seed in 0..40 {
        let problem = random(seed, 5 + (seed as u32 % 40), 1 + (seed as usize % 6));
        let (before, schedule) = searched(&problem, 60_000);
        check(&problem, &schedule).unwrap();
        let after = schedule.makespan();
        assert!(
            after <= before * (1.0 + 1e-9),
            "seed {seed}: {after} from {before}"
        );
        assert!(after >= bound(&problem) * (1.0 - 1e-9));
        n_shorter += usize::from(after < before * 0.999);
    }
    assert!(n_shorter > 12, "only {n_shorter} of 40 became shorter");
}

#[test]
fn what_is_counted_around_each_move_is_what_counting_all_gives() {
    let mut n_changed = 0;
    for seed in 0..20 {
        let problem = random(seed, 10 + (seed as u32 % 30), 2 + (seed as usize % 5));
        let schedule = Heft::new(MeanRule::Costs).schedule(&problem).unwrap();
        let mut search = Search::new(&problem, &schedule);
        let temperature = schedule.makespan() / 10.0;
        for _ in 0..200 {
            let before = search.solution.makespan;
            search.make_move(temperature);
            let counted = |search: &Search<'_>| {
                let (now, solution) = (&search.now, &search.solution);
                let ways = (now.start.clone(), now.finish.clone(), now.tail.clone());
                (ways, solution.order.clone(), solution.place.clone())
            };
            let told = counted(&search);
            let makespan = search.solution.makespan;
            search.recount();
            let all = counted(&search);
            assert_eq!(
                (&told, makespan),
                (&all, search.solution.makespan),
                "seed {seed}"
            );
            n_changed += usize::from(makespan != before);
        }
    }
    assert!(n_changed > 400, "only {n_changed} moves changed anything");
}

#[test]
fn moves_of_regions_leave_valid_schedules() {
    let mut n_changed = 0;
    for seed in 0..20 {
        let problem = random(seed, 20 + (seed as u32 % 30), 4 + (seed as usize % 5));
        let schedule = Heft::new(MeanRule::Costs).schedule(&problem).unwrap();
        let mut search = Search::new(&problem, &schedule);
        for _ in 0..50 {
            let before = search.solution.host.clone();
            search.move_region(schedule.makespan() / 3.0);
            check(&problem, &search.schedule()).unwrap();
            let moved = before.iter().zip(&search.solution.host);
            n_changed += usize::from(moved.filter(|(old, new)| old != new).count() > 1);
        }
    }
    assert!(n_changed > 100, "only {n_changed} of 1,000 moved several");
}

//   three stars of 12 tasks (3): t0 --60--> t1..t10 --60--> t11, and so on; all begin in the first of three groups
#[test]
fn a_part_of_the_graph_leaves_its_group_of_machines() {
    let tasks = [task(3.0, 1); 36];
    let star = |first: u32| {
        let inner = first + 1..first + 11;
        inner.flat_map(move |n| [(first, n, 60.0), (n, first + 11, 60.0)])
    };
    let mut edges: Vec<_> = star(0).chain(star(12)).chain(star(24)).collect();
    edges.sort_unstable_by_key(|&(from, to, _)| (to, from));
    let dag = Dag::new(&tasks, &edges).unwrap();
    let machines: Vec<_> = (0..15).map(|n| (1.0, 1, n / 5)).collect();
    let problem = Problem::new(dag, &grouped(&machines, 60.0, 0.1)).unwrap();
    let alone = Problem::new(problem.dag().clone(), &grouped(&machines[..5], 60.0, 0.1)).unwrap();
    let schedule = Heft::new(MeanRule::Costs).schedule(&alone).unwrap();
    let (entries, mut order) = (schedule.entries, schedule.order);
    order.resize(15, vec![Vec::new()]);
    let schedule = crate::Schedule { entries, order };
    check(&problem, &schedule).unwrap();
    let mut search = Search::new(&problem, &schedule);
    search.run(3_000_000, 0.0);
    // Each star in a group of its own: 3 + 1 + 2 * 3 + 1 + 3.
    assert_eq!(search.makespan(), 14.0);
}

#[test]
fn the_same_steps_give_the_same_schedule() {
    let problem = random(3, 40, 5);
    assert_eq!(searched(&problem, 30_000).1, searched(&problem, 30_000).1);
}

#[test]
fn what_has_started_and_what_is_wide_stays() {
    let tasks: Vec<_> = (0..12)
        .map(|n| task(1.0 + f64::from(n % 4), 1 + n % 3))
        .collect();
    let edges: Vec<_> = (1..12).map(|to| (to / 2, to, 5.0)).collect();
    let dag = Dag::new(&tasks, &edges).unwrap();
    let platform = grouped(&[(1.0, 3, 0), (2.0, 3, 1)], 10.0, 1.0);
    let problem = Problem::new(dag, &platform)
        .unwrap()
        .with_ready(&[vec![1.0, 0.0, 2.5]])
        .unwrap()
        .with_fixed([(
            0,
            Fixed {
                host: 1,
                finish: 3.0,
            },
        )])
        .unwrap();
    let before = Heft::new(MeanRule::Costs).schedule(&problem).unwrap();
    let (_, schedule) = searched(&problem, 30_000);
    check(&problem, &schedule).unwrap();
    for task in problem
        .dag()
        .tasks()
        .filter(|&t| problem.dag().cores(t) > 1)
    {
        let hosts = [&before, &schedule].map(|schedule| schedule.entries[task as usize].host);
        assert_eq!(hosts[0], hosts[1]);
    }
}

#[test]
fn copies_save_messages_and_keep_the_rules() {
    let mut n_shorter = 0;
    for seed in 0..20 {
        let problem = random(seed, 10 + (seed as u32 % 20), 2 + (seed as usize % 5));
        let schedule = Heft::new(MeanRule::Costs).schedule(&problem).unwrap();
        let mut search = Search::new(&problem, &schedule);
        search.run(50_000, 0.0);
        let without = search.makespan();
        let repeatable = vec![true; problem.dag().n_tasks()];
        let mut repeats = Repeats::new(&problem, &search.schedule(), &repeatable);
        repeats.run(100_000, 0.0);
        let copied = repeats.copied();
        check_copied(&problem, &copied).unwrap();
        assert!((copied.makespan() - repeats.makespan()).abs() < 1e-9);
        n_shorter += usize::from(!copied.copies.is_empty() && copied.makespan() < without * 0.999);
    }
    assert!(
        n_shorter > 3,
        "only {n_shorter} of 20 became shorter by copies"
    );
}

#[test]
fn what_may_not_be_repeated_is_not() {
    let problem = random(7, 25, 4);
    let schedule = Heft::new(MeanRule::Costs).schedule(&problem).unwrap();
    let repeatable: Vec<bool> = problem.dag().tasks().map(|task| task % 2 == 0).collect();
    let mut repeats = Repeats::new(&problem, &schedule, &repeatable);
    repeats.run(100_000, 0.0);
    let copies = repeats.copied().copies;
    assert!(!copies.is_empty());
    assert!(copies.iter().all(|copy| copy.task % 2 == 0));
}

//   m0 |5|4 |        m0 |5|5  |
//   m1 |5|3|3|  -->  m1 |4|3|3|
#[test]
fn tasks_that_fill_their_slots_change_places() {
    let tasks = [5.0, 5.0, 4.0, 3.0, 3.0].map(|work| task(work, 1));
    let dag = Dag::new(&tasks, &[]).unwrap();
    let problem = Problem::new(dag, &grouped(&[(1.0, 1, 0), (1.0, 1, 0)], 1.0, 1.0)).unwrap();
    let schedule = Heft::new(MeanRule::Costs).schedule(&problem).unwrap();
    let mut search = Search::new(&problem, &schedule);
    for node in 0..5 {
        search.move_node(node, 0.0);
    }
    assert_eq!(search.makespan(), 11.0, "no task can move alone");
    for _ in 0..40 {
        search.move_exchange(0.0);
    }
    assert_eq!(search.makespan(), 10.0);
    check(&problem, &search.schedule()).unwrap();
}

#[test]
fn tasks_without_work_may_be_listed_in_any_order() {
    // All of the first machine's tasks start and end at 0, listed against their positions.
    let tasks: Vec<_> = (0..8).map(|n| task(f64::from(n / 6), 1)).collect();
    let dag = Dag::new(&tasks, &[]).unwrap();
    let problem = Problem::new(dag, &grouped(&[(1.0, 1, 0), (1.0, 1, 0)], 1.0, 1.0)).unwrap();
    let mut schedule = Heft::new(MeanRule::Costs).schedule(&problem).unwrap();
    for slots in schedule.order.iter_mut().flatten() {
        slots[..].sort_by_key(|&task| {
            let entry = schedule.entries[task as usize];
            (
                entry.start.to_bits(),
                entry.finish.to_bits(),
                u32::MAX - task,
            )
        });
    }
    check(&problem, &schedule).unwrap();
    let mut search = Search::new(&problem, &schedule);
    search.run(20_000, 0.0);
    check(&problem, &search.schedule()).unwrap();
}

//   t0 (1) --9--> t1 (4) --9--> t2 (3) .. t5 (3)     six machines; data takes 9 s
#[test]
fn a_chain_runs_again_before_each_of_those_that_wait_for_it() {
    let mut tasks = vec![task(1.0, 1), task(4.0, 1)];
    tasks.extend([task(3.0, 1); 4]);
    let mut edges = vec![(0, 1, 9.0)];
    edges.extend((2..6).map(|to| (1, to, 9.0)));
    let dag = Dag::new(&tasks, &edges).unwrap();
    let problem = Problem::new(dag, &grouped(&[(1.0, 1, 0); 6], 1.0, 1.0)).unwrap();
    let schedule = Heft::new(MeanRule::Costs).schedule(&problem).unwrap();
    let mut repeats = Repeats::new(&problem, &schedule, &[true; 6]);
    repeats.run(50_000, 0.0);
    // On one machine all take 17; each of four on a machine of its own, after both again, 8.
    assert_eq!(repeats.makespan(), 8.0);
    let copied = repeats.copied();
    check_copied(&problem, &copied).unwrap();
    assert_eq!(copied.copies.len(), 6);
}

#[test]
fn copies_leave_what_has_started_and_what_is_wide_in_place() {
    let tasks: Vec<_> = (0..14)
        .map(|n| task(1.0 + f64::from(n % 4), 1 + n % 3))
        .collect();
    let edges: Vec<_> = (1..14).map(|to| (to / 2, to, 5.0)).collect();
    let dag = Dag::new(&tasks, &edges).unwrap();
    let platform = grouped(&[(1.0, 3, 0), (2.0, 3, 1)], 10.0, 1.0);
    let started = |task, host| {
        let finish = 3.0;
        (task, Fixed { host, finish })
    };
    let problem = Problem::new(dag, &platform)
        .unwrap()
        .with_ready(&[vec![1.0, 0.0, 2.5]])
        .unwrap()
        .with_fixed([started(0, 1), started(1, crate::OUTSIDE)])
        .unwrap();
    let before = Heft::new(MeanRule::Costs).schedule(&problem).unwrap();
    let repeatable = vec![true; problem.dag().n_tasks()];
    let mut repeats = Repeats::new(&problem, &before, &repeatable);
    repeats.run(50_000, 0.0);
    let copied = repeats.copied();
    check_copied(&problem, &copied).unwrap();
    assert!(copied.makespan() <= before.makespan() * (1.0 + 1e-9));
}

fn process(seed: u64) -> (Problem, Tree) {
    let structured = Structured::new(12 + 9 * (seed as u32 % 5), Shape::WIDE, seed);
    let dag = structured.graph(MessageCost::Medium, seed);
    let problem = Problem::new(dag, &paper(1 + seed as u32 % 6, seed, 1.0).unwrap()).unwrap();
    let tree = Tree::new(&problem, &structured.parents, &structured.controllers).unwrap();
    (problem, tree)
}

fn through<'a>(problem: &'a Problem, tree: &'a Tree) -> Search<'a> {
    let schedule = Heft::new(MeanRule::Costs).schedule(problem).unwrap();
    let Controlled {
        schedule,
        controllers,
    } = through_controllers(problem, tree, &schedule, Placing::LeastTraffic);
    let search = Search::through(problem, &schedule, tree, &controllers);
    assert!((search.makespan() - schedule.makespan()).abs() < 1e-9);
    search
}

#[test]
fn moves_of_controllers_leave_the_times_of_what_they_changed() {
    let mut n_changed = 0;
    for seed in 0..20 {
        let (problem, tree) = process(seed);
        let mut search = through(&problem, &tree);
        for step in 0..100 {
            let before = search.makespan();
            search.move_controllers(300.0 * f64::from(step % 3));
            let controlled = Controlled {
                schedule: search.schedule(),
                controllers: search.controllers().to_vec(),
            };
            check_through_controllers(&problem, &tree, &controlled).unwrap();
            let again =
                Search::through(&problem, &controlled.schedule, &tree, search.controllers());
            assert_eq!(again.makespan(), search.makespan());
            n_changed += usize::from(before != search.makespan());
        }
    }
    assert!(
        n_changed > 100,
        "only {n_changed} of 2,000 changed anything"
    );
}

#[test]
fn a_length_counted_from_the_first_change_is_that_of_all() {
    for seed in 0..20 {
        let (problem, tree) = process(seed);
        let mut search = through(&problem, &tree);
        for controller in 0..tree.n_controllers() {
            search.before.copy_from(&search.solution);
            let hosts = problem.hosts().len() as u32;
            let host = &mut search.solution.controllers[controller];
            *host = (*host + 1) % hosts;
            let first = search.count_changed_costs(&[]);
            let part = search.length_from(first, f64::INFINITY);
            assert_eq!(part, search.length_from(0, f64::INFINITY));
            let part = part.unwrap();
            assert_eq!(search.length_from(first, part), Some(part));
            search.recount();
            assert_eq!(search.makespan(), part);
        }
        let rest = search.rest.iter().zip(&search.now.tail);
        assert!(rest.clone().all(|(rest, tail)| rest <= tail));
        assert!(rest.clone().any(|(&rest, _)| rest > 0.0));
    }
}
