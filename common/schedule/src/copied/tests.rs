use super::{Copied, CopiedError, check_copied};
use crate::fixtures::{grouped, task};
use crate::problem::Problem;
use crate::{Dag, Placement, Schedule};

//   t0 (1) --10--> t1 (1), t2 (1)     m0 |t0 0-1|t1 1-2|
//                                     m1 |copy of t0 0-1|t2 1-2|   without the copy t2 starts at 11
fn copied() -> (Problem, Copied) {
    let tasks = [task(1.0, 1), task(1.0, 1), task(1.0, 1)];
    let dag = Dag::new(&tasks, &[(0, 1, 10.0), (0, 2, 10.0)]).unwrap();
    let problem = Problem::new(dag, &grouped(&[(1.0, 1, 0), (1.0, 1, 0)], 1.0, 1.0)).unwrap();
    let at = |task, host, start| Placement {
        task,
        host,
        slot: 0,
        start,
        finish: start + 1.0,
    };
    let copied = Copied {
        schedule: Schedule {
            entries: vec![at(0, 0, 0.0), at(1, 0, 1.0), at(2, 1, 1.0)],
            order: vec![vec![vec![0, 1]], vec![vec![2]]],
        },
        copies: vec![at(0, 1, 0.0)],
    };
    (problem, copied)
}

#[test]
fn data_may_come_from_a_copy() {
    let (problem, copied) = copied();
    assert_eq!(check_copied(&problem, &copied), Ok(()));
}

#[test]
fn what_breaks_a_rule_is_refused() {
    let (problem, sound) = copied();
    let refused = |change: &dyn Fn(&mut Copied)| {
        let mut copied = sound.clone();
        change(&mut copied);
        check_copied(&problem, &copied).unwrap_err()
    };
    let lost = refused(&|copied| copied.copies.clear());
    assert_eq!(
        lost,
        CopiedError::Data {
            task: 2,
            pred: 0,
            start: 1.0
        }
    );
    let twice = refused(&|copied| copied.copies.push(copied.copies[0]));
    assert_eq!(twice, CopiedError::Overlap { host: 1, slot: 0 });
    let short = refused(&|copied| copied.copies[0].finish = 0.5);
    assert!(matches!(short, CopiedError::Run(_)));
    let missing = refused(&|copied| {
        copied.schedule.entries.pop();
    });
    assert_eq!(missing, CopiedError::First(2));
    let unknown = refused(&|copied| copied.copies[0].task = 9);
    assert_eq!(unknown, CopiedError::First(9));
}
