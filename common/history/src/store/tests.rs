use model::{Wall, Work};
use proptest::prelude::*;

use super::*;
use crate::bodies::Counted;

fn key(owner: &str, definition: &str, activity: &str, class: u8) -> Key {
    Key {
        owner: owner.to_owned(),
        definition: definition.to_owned(),
        activity: activity.to_owned(),
        class: SizeClass(class),
    }
}

fn seen(run: u32, seconds: u64) -> Observed {
    Observed::completed(run, Wall(u64::from(run)), Work::from_secs(seconds))
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
fn a_full_definition_or_owner_makes_room_by_its_own_templates_that_were_not_seen_for_longest() {
    // 64 in all, 16 of an owner with a name, 8 of a definition.
    let mut store = Store::with_at_most(64);
    store.observe(&key("ana", "oldest", "a", 0), &seen(0, 1));
    store.observe(&key("", "oldest", "a", 0), &seen(0, 1));
    for run in 0..8 {
        store.observe(&key("ana", "wide", &run.to_string(), 0), &seen(run + 1, 1));
    }
    store.observe(&key("ana", "wide", "0", 0), &seen(20, 1));
    let (_, gone) = store.observe(&key("ana", "wide", "more", 0), &seen(21, 1));
    assert_eq!(gone, [key("ana", "wide", "1", 0)]);
    assert!(store.knows("ana", "oldest"));
    for run in 0..7 {
        let (_, gone) = store.observe(&key("ana", "next", &run.to_string(), 0), &seen(run + 30, 1));
        assert!(gone.is_empty());
    }
    assert_eq!(store.of_owner("ana", None).len(), 16);
    let (_, gone) = store.observe(&key("ana", "another", "a", 0), &seen(40, 1));
    assert_eq!(gone, [key("ana", "oldest", "a", 0)]);
    // Whoever has the machine to himself may have all of it, and still leaves it to no one definition.
    for run in 0..60 {
        let definition = format!("own-{}", run / 8);
        store.observe(
            &key("", &definition, &run.to_string(), 0),
            &seen(run + 50, 1),
        );
    }
    assert!(store.of_owner("", None).len() > 44);
    assert!(store.len() <= 64);
}

#[test]
fn pages_tell_each_template_once_also_where_the_last_one_of_a_page_is_gone() {
    let mut store = Store::default();
    for (owner, definition) in [("ana", "a"), ("ana", "b"), ("ana", "c"), ("anaa", "a")] {
        for (activity, class) in [("x", 0), ("x", 9), ("xy", 0)] {
            store.observe(&key(owner, definition, activity, class), &seen(1, 1));
        }
    }
    let pages = |store: &mut Store, definition: Option<&str>, loses: bool| {
        let (mut told, mut after) = (Vec::new(), None);
        loop {
            let page = store.of_owner_after("ana", definition, after.as_ref());
            let page: Vec<Key> = page.take(2).map(|(key, _)| key).collect();
            let Some(last) = page.last().cloned() else {
                return told;
            };
            if loses {
                store.remove(&last);
            }
            after = Some(last);
            told.extend(page);
        }
    };
    let all: Vec<Key> = store
        .of_owner("ana", None)
        .into_iter()
        .map(|(key, _)| key)
        .collect();
    assert_eq!(all.len(), 9);
    assert_eq!(pages(&mut store, None, false), all);
    assert_eq!(pages(&mut store, Some("b"), false), all[3..6]);
    assert_eq!(pages(&mut store, None, true), all);
    assert!(store.knows("anaa", "a"));
}

#[test]
fn a_controller_has_a_record_of_its_own_beside_activities() {
    let mut store = Store::default();
    store.observe(&key("", "mosaic", "expose", 4), &seen(1, 2));
    let each = Key {
        class: SizeClass::BODIES,
        ..key("", "mosaic", "expose", 0)
    };
    for (run, n) in [(1, 10.0), (2, 20.0)] {
        let at = Wall(u64::from(run));
        store.take(&each, &Seen::Bodies(Counted { run, at, n }));
    }
    assert_eq!(store.bodies_of(("", "mosaic"), "expose"), Some(15.0));
    assert_eq!(store.bodies_of(("ana", "mosaic"), "expose"), None);
    assert_eq!(work(&store, "", "expose", Some(4)), Some(2));
    assert_eq!(work(&store, "", "expose", Some(64)), Some(2));
    let bytes: Vec<(Key, Vec<u8>)> = store.all().map(|(key, one)| (key, one.encode())).collect();
    let mut copy = Store::default();
    for (key, bytes) in &bytes {
        copy.put(key, Record::decode(key, bytes).unwrap());
    }
    assert_eq!(copy.of_owner("", None), store.of_owner("", None));
    assert_eq!(store.forget("", None).len(), 2);
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
