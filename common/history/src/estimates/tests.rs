use model::{Activity, Command, Definition, Draft, Join, Node, NodeKind, Template, Wall};

use super::*;
use crate::{Key, Observed};

fn node(name: &str, kind: NodeKind) -> Node {
    Node {
        name: name.to_owned(),
        kind,
        join: Join::All,
    }
}

/// A sequence of activities with these works.
fn sequence(works: &[(&str, Option<Work>)]) -> Definition {
    let children = (1..=works.len() as u32).map(NodeId).collect();
    let mut nodes = vec![node("", NodeKind::Sequence(children))];
    nodes.extend(works.iter().map(|(name, work)| {
        let command = Command::List(vec![Template("true".to_owned())]);
        let activity = Activity {
            work: *work,
            ..Activity::new(command)
        };
        node(name, NodeKind::Activity(Box::new(activity)))
    }));
    let draft = Draft {
        name: "mosaic".to_owned(),
        nodes,
        ..Draft::default()
    };
    draft.check().expect("the definition is right")
}

#[test]
fn what_nobody_knows_counts_as_the_mean_of_what_is_given_or_remembered() {
    let second = |n| Some(Work::from_secs(n));
    let definition = sequence(&[("a", second(5)), ("b", None), ("c", None), ("d", None)]);
    let works = |store: &Store, seen| -> Vec<u64> {
        let estimates = Estimates::new(&definition, "ana", store, seen);
        let activities = definition.activities().iter();
        let works = activities.map(|&one| estimates.of(&definition, one, || None));
        works.map(|work| work.0 / 1_000_000).collect()
    };
    let mut store = Store::default();
    assert_eq!(works(&store, None), [5, 5, 5, 5]);
    for (activity, seconds) in [("b", 3), ("c", 10)] {
        let key = Key {
            owner: "ana".to_owned(),
            definition: "mosaic".to_owned(),
            activity: activity.to_owned(),
            class: SizeClass::default(),
        };
        let seen = Observed::completed(1, Wall(1), Work::from_secs(seconds));
        store.observe(&key, &seen);
    }
    assert_eq!(works(&store, None), [5, 3, 10, 6]);
    // Run times of this run come before.
    assert_eq!(works(&store, second(2)), [5, 3, 10, 2]);
    let none = sequence(&[("x", None)]);
    let estimates = Estimates::new(&none, "bob", &Store::default(), None);
    assert_eq!(
        estimates.of(&none, none.activities()[0], || None),
        WORK_UNKNOWN
    );
}
