use model::GroupId;

use super::{ReferenceError, ReferenceNetwork, named, reference};
use crate::Dag;
use crate::fixtures::task;

#[test]
fn the_mean_message_takes_as_long_as_the_ratio_says() {
    // Works 2 and 4: mean 3. Data 30 and 10, and an edge without data: mean 20.
    let edges = [(0, 1, 30.0), (0, 2, 10.0), (1, 2, 0.0)];
    let dag = Dag::new(&[task(2.0, 1), task(4.0, 1), task(3.0, 1)], &edges).unwrap();
    let platform = reference(8, ReferenceNetwork::Ccr(10.0), &dag).unwrap();
    let slowness = (1.0 + 1.0 / 1.9 + 1.0 / 2.8 + 1.0 / 4.5) / 4.0;
    let inside = platform.network().link(GroupId::LOCAL, GroupId::LOCAL);
    let between = platform.network().link(GroupId::LOCAL, GroupId::new(3));
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

#[test]
fn platforms_have_names() {
    let tasks = [task(4.0, 1); 2];
    let dag = Dag::new(&tasks, &[(0, 1, 80.0)]).unwrap();
    let reference = named("reference:64:ccr1", &dag).unwrap();
    assert_eq!(reference.resources().len(), 64);
    let platform = named("paper:10:7", &dag).unwrap();
    assert_eq!(platform, named("paper:10:7:medium", &dag).unwrap());
    assert_ne!(platform, named("paper:10:8", &dag).unwrap());
    // The mean message takes as long as the mean task where both are at their best.
    assert_eq!(platform.network().inside.bandwidth, 20.0);
    assert_eq!(platform.network().between.bandwidth, 10.0);
    let groups = platform.resources().iter().map(|machine| machine.id.group);
    assert_eq!(groups.max(), Some(GroupId::new(9)));
    let said = |spec| named(spec, &dag).unwrap_err().to_string();
    assert!(said("grid5000").starts_with("\"grid5000\" names no platform; there are"));
    assert_eq!(
        said("paper:0:1"),
        "\"0\" is not a number of groups from 1 to 1000"
    );
    assert_eq!(said("paper:3:x"), "\"x\" is not a seed: a number from 0 up");
    let source = named("reference:9:lan", &dag).unwrap_err();
    let source = std::error::Error::source(&source).unwrap().to_string();
    assert_eq!(
        source,
        "there is no reference platform of 9 machines; there are 8, 64 and 512"
    );
}
