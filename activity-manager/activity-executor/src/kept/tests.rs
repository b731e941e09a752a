use super::*;
use crate::account::Numbers;

/// Programs that succeed and fail whatever they are told.
const REMOVES: &str = "/bin/true";
const FAILS: &str = "/bin/false";

fn records(place: &tempfile::TempDir, program: &str) -> Records {
    Records::of(place.path(), Some(program.to_owned()))
}

fn removal(name: &str) -> Removal {
    Removal {
        name: name.to_owned(),
        account: Numbers::parse("5:6:"),
        search_path: "/bin".to_owned(),
        env: vec![("HOME".to_owned(), "/h".to_owned())],
    }
}

/// Lets the removals that run end.
fn settle(kept: &mut Kept, now: Mono) {
    for (child, _) in &mut kept.removing {
        child.wait().unwrap();
    }
    kept.tick(now);
}

#[test]
fn what_an_earlier_executor_has_left_is_removed_as_its_account() {
    let place = tempfile::TempDir::new().unwrap();
    let records = records(&place, REMOVES);
    Kept::open(records.clone()).keep(&removal("a")).unwrap();
    assert_eq!(records.read("a"), Some(removal("a")));
    let mut kept = Kept::open(records.clone());
    assert_eq!(kept.due(Mono(7)), Some(Mono(0)));
    kept.tick(Mono(7));
    assert_eq!(kept.processes().count(), 1);
    assert_eq!(kept.due(Mono(7)), Some(Mono(7) + LOOK));
    settle(&mut kept, Mono(8));
    assert_eq!((records.names(), kept.due(Mono(9))), (Vec::new(), None));
}

#[test]
fn a_container_that_could_not_be_removed_is_tried_again_and_left_to_the_next_executor() {
    let place = tempfile::TempDir::new().unwrap();
    let failing = records(&place, FAILS);
    let mut kept = Kept::open(failing.clone());
    kept.keep(&removal("a")).unwrap();
    assert_eq!(kept.due(Mono(0)), None);
    kept.remove("a".to_owned());
    let mut now = Mono(0);
    for n_tries in 1..=TRIES_MAX {
        kept.tick(now);
        settle(&mut kept, now);
        now = now + AGAIN;
        assert_eq!(kept.due(now), (n_tries < TRIES_MAX).then_some(now));
    }
    assert_eq!(failing.names(), ["a"]);
    // The next one can do it.
    let records = records(&place, REMOVES);
    records.clone().remove_all();
    assert_eq!(records.names(), Vec::<String>::new());
}

#[test]
fn a_few_are_removed_at_once_and_what_is_gone_is_forgotten() {
    let place = tempfile::TempDir::new().unwrap();
    let records = records(&place, REMOVES);
    let mut kept = Kept::open(records.clone());
    for name in ["a", "b", "c", "d", "e", "f"] {
        kept.keep(&removal(name)).unwrap();
    }
    kept.forget("f");
    for name in ["a", "b", "c", "d", "e", "f"] {
        kept.remove(name.to_owned());
    }
    kept.tick(Mono(0));
    assert_eq!(kept.processes().count(), REMOVALS_MAX);
    settle(&mut kept, Mono(0));
    settle(&mut kept, Mono(0));
    assert_eq!(records.names(), Vec::<String>::new());
    // Half a record names no account, and its container was never made.
    fs::write(place.path().join(DIRECTORY).join("g"), "g").unwrap();
    records.clone().remove_all();
    assert_eq!(records.names(), Vec::<String>::new());
}
