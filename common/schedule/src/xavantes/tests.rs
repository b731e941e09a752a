use super::{BUDGET_PART, MEMBER_PART, MEMBERS, Part, STEPS_PER_SECOND, Xavantes, least_cost};
use crate::fixtures::{grouped, platform, random, task};
use crate::platform::{MessageCost, paper};
use crate::request::SchedulerKind;
use crate::structured::{Shape, Structured};
use crate::{Dag, Problem, Tree, check, check_copied, check_through_controllers, less};

#[test]
fn it_is_never_longer_than_a_member() {
    for seed in 0..12 {
        let problem = random(seed, 12, 4);
        let run = Xavantes::within(0.002).run(&problem).unwrap();
        check(&problem, &run.schedule).unwrap();
        let makespan = run.schedule.makespan();
        for estimate in &run.estimates {
            assert!(
                estimate
                    .makespan
                    .is_none_or(|member| !less(member, makespan))
            );
        }
        assert_eq!(run.estimates.len(), MEMBERS.len() + 1);
        let of_members = Xavantes::within(0.002)
            .without(Part::Search)
            .run(&problem)
            .unwrap();
        assert!(!less(of_members.schedule.makespan(), makespan));
    }
}

#[test]
fn five_times_the_default_budget_gives_no_longer_plan() {
    for seed in 18..26 {
        let drawn = random(seed, 40, 5);
        let dag = drawn.dag();
        // So short that the default budget is some hundredths of a second.
        let tasks: Vec<_> = dag.tasks().map(|n| task(dag.work(n) / 30.0, 1)).collect();
        let edges = dag.tasks().flat_map(|to| {
            let preds = dag.predecessors(to);
            preds.map(move |(from, edge)| (from, to, dag.data(edge) / 30.0))
        });
        let short = Dag::new(&tasks, &edges.collect::<Vec<_>>()).unwrap();
        let machines: Vec<_> = (0..5).map(|n| (1.0 + f64::from(n), 1, n / 2)).collect();
        let problem = Problem::new(short, &grouped(&machines, 10.0, 4.0)).unwrap();
        let by_default = Xavantes::new().run(&problem).unwrap().schedule.makespan();
        // Five times that of HEFT, which may be somewhat longer.
        let seconds = 5.0 * BUDGET_PART * 1.2 * by_default;
        let long = Xavantes::within(seconds).run(&problem).unwrap().schedule;
        assert!(!less(by_default, long.makespan()), "seed {seed}");
    }
}

#[test]
fn without_a_budget_it_is_heft_b() {
    let problem = random(1, 30, 5);
    for seconds in [0.0, -1.0, f64::NAN] {
        let run = Xavantes::within(seconds).run(&problem).unwrap();
        let heft = SchedulerKind::HeftB.scheduler().schedule(&problem).unwrap();
        assert_eq!(run.schedule, heft);
        let asked = run.estimates.iter().filter(|e| e.makespan.is_some());
        assert_eq!(asked.count(), 2);
    }
}

#[test]
fn at_the_bound_nobody_else_is_asked() {
    let dag = Dag::new(&[task(3.0, 1)], &[]).unwrap();
    let problem = Problem::new(dag, &platform(&[(1.0, 1)])).unwrap();
    let run = Xavantes::new().run(&problem).unwrap();
    assert_eq!(run.schedule.makespan(), 3.0);
    assert!(run.estimates[1].makespan.is_none());
}

#[test]
fn large_graphs_leave_out_what_their_budget_does_not_allow() {
    let tasks: Vec<_> = (0..20_000)
        .map(|n| task(1.0 + f64::from(n % 7), 1))
        .collect();
    let edges: Vec<_> = (100..20_000).map(|to| (to - 100, to, 1.0)).collect();
    let dag = Dag::new(&tasks, &edges).unwrap();
    let problem = Problem::new(dag, &platform(&[(1.0, 1); 8])).unwrap();
    let dear = [SchedulerKind::MaxMin, SchedulerKind::Pch];
    assert!(
        dear.into_iter()
            .all(|kind| least_cost(kind, &problem) > MEMBER_PART * 0.02 * STEPS_PER_SECOND)
    );
    let run = Xavantes::within(0.02).run(&problem).unwrap();
    check(&problem, &run.schedule).unwrap();
    let asked = run
        .estimates
        .iter()
        .filter(|e| e.makespan.is_some())
        .count();
    assert!(asked <= 3, "{asked} were asked");
}

#[test]
fn through_controllers_and_with_copies_it_keeps_the_rules() {
    let structured = Structured::new(34, Shape::WIDE, 4);
    let dag = structured.graph(MessageCost::High, 9);
    let problem = Problem::new(dag, &paper(5, 3, 1.0).unwrap()).unwrap();
    let tree = Tree::new(&problem, &structured.parents, &structured.controllers).unwrap();
    let xavantes = Xavantes::within(0.01);
    let through = xavantes.run_through(&problem, &tree).unwrap();
    check_through_controllers(&problem, &tree, &through.controlled).unwrap();
    let makespan = through.controlled.schedule.makespan();
    for estimate in &through.estimates {
        assert!(
            estimate
                .makespan
                .is_none_or(|member| !less(member, makespan))
        );
    }
    let run = xavantes.run_with_copies(&problem, |_| true).unwrap();
    check_copied(&problem, &run.copied).unwrap();
    assert!(!less(run.before.schedule.makespan(), run.copied.makespan()));
    let none = xavantes.run_with_copies(&problem, |_| false).unwrap();
    assert!(none.copied.copies.is_empty());
}

#[test]
fn through_controllers_it_is_about_as_short_as_directly() {
    let mut ratios = 0.0;
    for seed in 0..4 {
        let structured = Structured::new(23, Shape::WIDE, 40 + seed);
        let dag = structured.graph(MessageCost::Medium, seed);
        let problem = Problem::new(dag, &paper(5, seed, 1.0).unwrap()).unwrap();
        let tree = Tree::new(&problem, &structured.parents, &structured.controllers).unwrap();
        let xavantes = Xavantes::within(0.05);
        let direct = xavantes.run(&problem).unwrap().schedule;
        let through = xavantes.run_through(&problem, &tree).unwrap();
        ratios += through.controlled.schedule.makespan() / direct.makespan();
    }
    assert!(ratios < 4.0 * 1.02, "{ratios} / 4");
}
