use super::Best;
use crate::fixtures::{platform, task};
use crate::problem::Problem;
use crate::{Dag, Estimate, Heft, MeanRule, PCH_TASKS_MAX, Pch, Scheduler, check, less};

#[test]
fn the_shorter_schedule_is_kept() {
    let mut winners = std::collections::BTreeSet::new();
    for seed in 0..40 {
        let problem = crate::fixtures::random(seed, 25, 5);
        let run = Best.run(&problem).unwrap();
        check(&problem, &run.schedule).unwrap();
        let heft = Heft::new(MeanRule::Bandwidths).schedule(&problem).unwrap();
        let pch = Pch::new().schedule(&problem).unwrap();
        let shorter = less(pch.makespan(), heft.makespan());
        assert_eq!(run.scheduler, if shorter { "pch" } else { "heft-b" });
        assert_eq!(run.schedule, if shorter { pch } else { heft });
        winners.insert(run.scheduler);
    }
    assert_eq!(winners.len(), 2, "the seeds show one case only");
}

#[test]
fn pch_is_left_out_at_the_bound_and_above_its_limit() {
    let one = Dag::new(&[task(3.0, 1)], &[]).unwrap();
    let many = Dag::new(&vec![task(1.0, 1); PCH_TASKS_MAX + 1], &[]).unwrap();
    for (dag, makespan) in [(one, 3.0), (many, 2501.0)] {
        let problem = Problem::new(dag, &platform(&[(1.0, 1), (1.0, 1)])).unwrap();
        let run = Best.run(&problem).unwrap();
        let estimates = [
            Estimate {
                scheduler: "heft-b",
                makespan: Some(makespan),
            },
            Estimate {
                scheduler: "pch",
                makespan: None,
            },
        ];
        assert_eq!((run.scheduler, run.estimates), ("heft-b", estimates.into()));
    }
}
