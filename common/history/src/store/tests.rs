use model::{Span, Wall, Work};
use proptest::prelude::*;

use super::*;

fn key(owner: &str, definition: &str, activity: &str, class: u8) -> Key {
    Key {
        owner: owner.to_owned(),
        definition: definition.to_owned(),
        activity: activity.to_owned(),
        class: SizeClass(class),
    }
}

fn seen(run: u32, seconds: u64) -> Observed {
    Observed {
        run,
        at: Wall(u64::from(run)),
        work: Work::from_secs(seconds),
        is_killed: false,
        cpu: Span::ZERO,
        wall: Span::from_secs(seconds),
        peak_memory: Bytes(1 << 20),
    }
}

fn work(store: &Store, owner: &str, activity: &str, class: Option<u8>) -> Option<u64> {
    let found = store.of_activity((owner, "mosaic"), activity)?;
    Some(found.of(class.map(SizeClass)).work.0 / 1_000_000)
}

#[test]
fn what_one_owner_ran_tells_nothing_to_another() {
    let mut store = Store::default();
    store.observe(&key("ana", "mosaic", "project", 0), &seen(1, 5));
    assert_eq!(work(&store, "ana", "project", None), Some(5));
    assert_eq!(work(&store, "bob", "project", None), None);
    assert!(store.of_owner("bob", None).is_empty());
    // Names that run into each other.
    store.observe(&key("bob", "mosaic", "", 0), &seen(1, 6));
    assert_eq!(work(&store, "bobmosaic", "", None), None);
    assert_eq!(store.forget("bob", None).len(), 1);
    assert_eq!(work(&store, "ana", "project", None), Some(5));
}

#[test]
fn sizes_have_forecasts_of_their_own_and_an_unknown_one_is_as_in_the_last_run() {
    let mut store = Store::default();
    store.observe(&key("", "mosaic", "project", 10), &seen(1, 2));
    store.observe(&key("", "mosaic", "project", 20), &seen(2, 8));
    store.observe(&key("", "mosaic", "projects", 20), &seen(3, 99));
    assert_eq!(work(&store, "", "project", Some(10)), Some(2));
    assert_eq!(work(&store, "", "project", Some(11)), Some(2));
    assert_eq!(work(&store, "", "project", Some(20)), Some(8));
    assert_eq!(work(&store, "", "project", Some(40)), Some(8));
    assert_eq!(work(&store, "", "project", None), Some(8));
    store.observe(&key("", "mosaic", "project", 10), &seen(2, 2));
    assert_eq!(work(&store, "", "project", None), Some(5));
}

#[test]
fn templates_that_were_not_seen_for_longest_make_room() {
    let mut store = Store::with_at_most(32);
    for run in 0..32 {
        let (_, gone) = store.observe(&key("", &run.to_string(), "a", 0), &seen(run, 1));
        assert!(gone.is_empty());
    }
    store.observe(&key("", "0", "a", 0), &seen(40, 1));
    let (made, gone) = store.observe(&key("", "next", "a", 0), &seen(41, 1));
    assert!(made.is_some());
    let gone: Vec<&str> = gone.iter().map(|key| &*key.definition).collect();
    assert_eq!(gone, ["1", "2"]);
    assert!(!store.knows("", "1") && store.knows("", "0") && store.knows("", "next"));
    assert_eq!(store.len(), 31);
}

#[test]
fn names_that_fit_into_no_record_are_not_kept() {
    let mut store = Store::default();
    let long = "n".repeat(NAMES_BYTES_MAX + 1);
    assert_eq!(
        store.observe(&key("", &long, "a", 0), &seen(1, 1)),
        (None, Vec::new())
    );
    assert!(store.is_empty());
}

proptest! {
    #[test]
    fn a_store_stays_within_its_bound_and_tells_what_it_was_given(
        all in proptest::collection::vec((0..3u8, 0..4u8, 0..6u8, 0..3u8, 1..100u64), 0..200)
    ) {
        let mut store = Store::with_at_most(20);
        for (run, (owner, definition, activity, class, seconds)) in (0..).zip(all) {
            let key = key(&owner.to_string(), &definition.to_string(), &activity.to_string(), class);
            let (_, gone) = store.observe(&key, &seen(run, seconds));
            prop_assert!(!gone.contains(&key));
            prop_assert!(store.len() <= 20);
            let names = (&*key.owner, &*key.definition);
            prop_assert!(store.of_activity(names, &key.activity).is_some());
            for one in &gone {
                let known = store.of_owner(&one.owner, Some(&one.definition));
                prop_assert!(known.iter().all(|(key, _)| key != one));
            }
        }
        let mut copy = Store::with_at_most(20);
        for (key, template) in store.all() {
            copy.put(&key, template.clone());
        }
        let owners = ["0", "1", "2"];
        for owner in owners {
            prop_assert_eq!(store.of_owner(owner, None), copy.of_owner(owner, None));
        }
        prop_assert_eq!(copy.len(), store.len());
    }
}
