use super::RandomHost;
use crate::fixtures::random;
use crate::{Scheduler, check};

#[test]
fn the_seed_determines_the_schedule() {
    let problem = random(7, 40, 5);
    let schedule = |seed| RandomHost::new(seed).schedule(&problem).unwrap();
    check(&problem, &schedule(1)).unwrap();
    assert_eq!(schedule(1), schedule(1));
    assert_ne!(schedule(1), schedule(2));
}
