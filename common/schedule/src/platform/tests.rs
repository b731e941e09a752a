use model::GroupId;

use super::{ReferenceError, ReferenceNetwork, reference};
use crate::Dag;
use crate::fixtures::task;

#[test]
fn the_mean_message_takes_as_long_as_the_ratio_says() {
    // Works 2 and 4: mean 3. Data 30 and 10, and an edge without data: mean 20.
    let edges = [(0, 1, 30.0), (0, 2, 10.0), (1, 2, 0.0)];
    let dag = Dag::new(&[task(2.0, 1), task(4.0, 1), task(3.0, 1)], &edges).unwrap();
    let platform = reference(8, ReferenceNetwork::Ccr(10.0), &dag).unwrap();
    let slowness = (1.0 + 1.0 / 1.9 + 1.0 / 2.8 + 1.0 / 4.5) / 4.0;
    let inside = platform.network().link(GroupId(0), GroupId(0));
    let between = platform.network().link(GroupId(0), GroupId(3));
    let seconds = 20.0 / (inside.bandwidth / 5.0);
    assert!((seconds - 10.0 * 3.0 * slowness).abs() < 1e-9);
    assert!((inside.bandwidth / between.bandwidth - 6.25).abs() < 1e-12);
    assert_eq!(platform.resources().len(), 8);
}

#[test]
fn names_and_sizes_that_are_not_known_are_refused() {
    assert_eq!(ReferenceNetwork::named("lan"), Some(ReferenceNetwork::Lan));
    let half = Some(ReferenceNetwork::Ccr(0.5));
    assert_eq!(ReferenceNetwork::named("ccr0.5"), half);
    for name in ["", "wan", "ccr", "ccr0", "ccr-1", "ccrNaN", "ccrinf"] {
        assert_eq!(ReferenceNetwork::named(name), None, "{name}");
    }
    let dag = Dag::new(&[], &[]).unwrap();
    let refused = reference(9, ReferenceNetwork::Lan, &dag);
    assert_eq!(refused, Err(ReferenceError::Hosts(9)));
    assert!(reference(512, ReferenceNetwork::Ccr(1.0), &dag).is_ok());
}
