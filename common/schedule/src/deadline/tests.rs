use super::{Choice, Found, Missed, Wanted};
use crate::fixtures::{grouped, platform, task};
use crate::random::Random;
use crate::{Cost, Dag, Problem, Rates, SchedulerKind, bound, check};

fn bag(n_tasks: usize, work: f64, machines: &[(f64, u32)]) -> Problem {
    let dag = Dag::new(&vec![task(work, 1); n_tasks], &[]).unwrap();
    Problem::new(dag, &platform(machines)).unwrap()
}

fn find(
    problem: &Problem,
    rates: &[Rates],
    makespan_max: f64,
    choice: Choice,
) -> Result<Found, Missed> {
    let kind = SchedulerKind::Xavantes;
    let wanted = Wanted {
        problem,
        rates,
        kind,
        budget: Some(0.01),
        makespan_max,
        choice,
    };
    let found = wanted.find()?;
    check(problem, &found.schedule).unwrap();
    assert!(found.schedule.makespan() <= makespan_max);
    assert_eq!(found.cost, Cost::new(problem, &found.schedule, rates));
    assert!(found.cost.machines >= found.machines_min);
    assert!(found.n_trials <= super::TRIALS_MAX);
    Ok(found)
}

#[test]
fn as_many_machines_are_used_as_the_deadline_needs() {
    // 12 tasks of 10 s on 6 machines of one slot.
    let problem = bag(12, 10.0, &[(1.0, 1); 6]);
    let rates = [Rates::default(); 6];
    for (deadline, machines) in [
        (20.0, 6),
        (29.0, 6),
        (30.0, 4),
        (40.0, 3),
        (60.0, 2),
        (120.0, 1),
    ] {
        let found = find(&problem, &rates, deadline, Choice::Machines).unwrap();
        assert_eq!(found.cost.machines, machines, "{deadline}");
        // The work alone forbids fewer.
        assert_eq!(found.machines_min, (120.0 / deadline).ceil() as u32);
    }
}

#[test]
fn a_deadline_that_nothing_holds_is_told_with_the_best_and_the_bound() {
    let problem = bag(12, 10.0, &[(1.0, 1); 6]);
    let rates = [Rates::default(); 6];
    let missed = find(&problem, &rates, 19.0, Choice::Machines);
    assert_eq!(
        missed,
        Err(Missed::Late {
            best: 20.0,
            bound: 20.0
        })
    );
    // Two tasks of two cores fit no machine of one.
    let dag = Dag::new(&[task(1.0, 2)], &[]).unwrap();
    let problem = Problem::new(dag, &platform(&[(1.0, 1)])).unwrap();
    let missed = find(&problem, &[Rates::default()], 19.0, Choice::Machines);
    assert!(matches!(missed, Err(Missed::Schedule(_))), "{missed:?}");
}

#[test]
fn strong_machines_are_fewer_and_cheap_ones_cost_less() {
    // One machine does what four others do together, for five times their price.
    let problem = bag(8, 10.0, &[(1.0, 1), (1.0, 1), (4.0, 1), (1.0, 1), (1.0, 1)]);
    let rate = |price: f64, watts: f64| Rates {
        price,
        idle_watts: watts / 2.0,
        busy_watts: watts,
    };
    let mut rates = [rate(1.0, 500.0); 5];
    rates[2] = rate(20.0, 100.0);
    let fewest = find(&problem, &rates, 20.0, Choice::Machines).unwrap();
    assert_eq!((fewest.cost.machines, fewest.machines_min), (1, 1));
    let cheapest = find(&problem, &rates, 20.0, Choice::Money).unwrap();
    assert_eq!(cheapest.cost.machines, 4);
    assert!(cheapest.cost.money < fewest.cost.money / 4.0);
    let saving = find(&problem, &rates, 20.0, Choice::Energy).unwrap();
    assert_eq!(saving.cost.machines, 1);
    assert!(saving.cost.energy < cheapest.cost.energy / 4.0);
    let least = find(&problem, &rates, 20.0, Choice::SlotHours).unwrap();
    assert_eq!(least.cost.slot_hours, fewest.cost.slot_hours);
}

// Two groups of two machines; a chain of forks sends 1e6 bytes a second over the link between them.
#[test]
fn machines_that_are_near_each_other_are_tried_together() {
    let machines = [(1.0, 1, 0), (1.1, 1, 1), (1.0, 1, 0), (1.1, 1, 1)];
    let tasks = vec![task(10.0, 1); 9];
    let edges: Vec<(u32, u32, f64)> = (1..8).flat_map(|n| [(0, n, 1e6), (n, 8, 1e6)]).collect();
    let dag = Dag::new(&tasks, &edges).unwrap();
    let problem = Problem::new(dag, &grouped(&machines, 1e9, 1e4)).unwrap();
    let found = find(&problem, &[Rates::default(); 4], 60.0, Choice::Machines).unwrap();
    assert_eq!(found.cost.machines, 2);
    let used = found
        .schedule
        .entries
        .iter()
        .map(|entry| problem.group(entry.host));
    assert!(used.clone().all(|group| Some(group) == used.clone().next()));
}

#[test]
fn plans_hold_their_deadlines_whatever_the_graph() {
    for seed in 0..25 {
        let mut random = Random::new(seed);
        let n = 2 + random.below(30);
        let tasks: Vec<_> = (0..n)
            .map(|_| task(random.unit() * 10.0, 1 + random.below(2) as u32))
            .collect();
        let mut edges = Vec::new();
        for to in 1..n as u32 {
            let from = random.below(to as usize) as u32;
            edges.push((from, to, random.unit() * 1e7));
        }
        let machines: Vec<(f64, u32, u32)> = (0..2 + random.below(7))
            .map(|_| {
                let power = 0.5 + random.unit();
                (power, 2 + random.below(3) as u32, random.below(3) as u32)
            })
            .collect();
        let platform = grouped(&machines, 1e7, 1e6);
        let problem = Problem::new(Dag::new(&tasks, &edges).unwrap(), &platform).unwrap();
        let rates: Vec<Rates> = machines
            .iter()
            .map(|_| Rates {
                price: random.unit(),
                idle_watts: 10.0,
                busy_watts: 10.0 + random.unit(),
            })
            .collect();
        let least = bound(&problem);
        for (factor, choice) in [
            (1.0, Choice::Machines),
            (1.5, Choice::Machines),
            (2.0, Choice::Money),
            (3.0, Choice::SlotHours),
            (4.0, Choice::Energy),
        ] {
            let found = find(&problem, &rates, factor * least, choice);
            if let Err(missed) = found {
                let Missed::Late { best, bound } = missed else {
                    panic!("{seed}: {missed:?}");
                };
                assert!(best > factor * least && bound == least, "{seed}");
            }
        }
    }
}
