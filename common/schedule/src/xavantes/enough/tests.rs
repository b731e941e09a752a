use proptest::prelude::*;

use super::{enough, stages};
use crate::fixtures::{platform, random, task};
use crate::request::SchedulerKind;
use crate::{Dag, Problem, Task, bound};

//   10 tasks of 2 s          --> gate -->  4 tasks of 3 s      3 slots of power 1
#[test]
fn whole_tasks_of_loops_one_after_another_are_counted() {
    let mut tasks = vec![task(2.0, 1); 10];
    tasks.push(Task {
        work: 0.0,
        cores: 0,
    });
    tasks.extend([task(3.0, 1); 4]);
    let mut edges: Vec<_> = (0..10).map(|from| (from, 10, 0.0)).collect();
    edges.extend((11..15).map(|to| (10, to, 0.0)));
    let dag = Dag::new(&tasks, &edges).unwrap();
    let problem = Problem::new(dag, &platform(&[(1.0, 2), (1.0, 1)])).unwrap();
    // 4 rounds of 2 s, then 2 of 3 s; all work on all slots would take 32 / 3 s.
    assert!((stages(&problem) - 14.0).abs() < 1e-6);
    assert!((bound(&problem) - 32.0 / 3.0).abs() < 1.0);
    let heft = SchedulerKind::HeftB.scheduler().schedule(&problem).unwrap();
    assert_eq!(heft.makespan(), 14.0);
    assert!(heft.makespan() <= enough(&problem));
}

#[test]
fn a_fast_slot_has_room_for_more_whole_tasks() {
    let dag = Dag::new(&[task(6.0, 1); 5], &[]).unwrap();
    let problem = Problem::new(dag, &platform(&[(3.0, 1), (1.0, 1)])).unwrap();
    // By 8 s the fast slot has run 4 and the slow one 1; by less, 4 in all.
    assert!((stages(&problem) - 8.0).abs() < 1e-6);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn no_schedule_is_shorter(seed in 0u64..1_000_000, n in 1u32..40, hosts in 1usize..6) {
        let problem = random(seed, n, hosts);
        for kind in [SchedulerKind::HeftB, SchedulerKind::Ippts, SchedulerKind::OneMachine] {
            let schedule = kind.scheduler().schedule(&problem).unwrap();
            prop_assert!(stages(&problem) <= schedule.makespan() * (1.0 + 1e-9));
        }
    }
}
