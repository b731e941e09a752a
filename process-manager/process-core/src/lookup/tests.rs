//! Cache lookups by themselves: outcomes of the base, and of other processes of the same owner.

use model::{ActivityId, Caching, Draft, NodeKind, ProcessId, ResourceId};

use super::{Cache, Hit};
use crate::Config;
use crate::budget::Turns;
use crate::record::{Event, Reused};
use crate::tests::bench::{controller, draft, edit, ids, leaf};
use crate::tests::paper::{Bench, ID};

const EARLIER: ProcessId = ProcessId(6);
const MACHINE: ResourceId = ResourceId::local(3);
const A: ActivityId = ActivityId(1);

/// s(a b), and `cache: true` for both where it `caches`.
fn pair(caches: bool) -> Draft {
    let mut activities = [leaf("a"), leaf("b")];
    for node in &mut activities {
        edit(node, |activity| {
            activity.cache = Caching::written(Some(caches))
        });
    }
    let [a, b] = activities;
    draft(vec![controller(NodeKind::Sequence(ids(&[1, 2]))), a, b])
}

/// An earlier process, of which `a` has completed.
fn bench(caches: bool) -> Bench {
    let mut bench = Bench::new(Config::default());
    bench.id = EARLIER;
    bench.found(pair(caches));
    bench.complete(1, MACHINE, Vec::new());
    bench.id = ID;
    bench
}

fn hit(bench: &mut Bench, cache: &Cache, activity: ActivityId) -> Option<Hit> {
    let mut slice = Turns::default().slice(bench.now, ID);
    cache.look_up(&mut bench.step(), ID, activity, &mut slice)
}

fn look_up(bench: &mut Bench, cache: &Cache, activity: ActivityId) -> Option<Reused> {
    hit(bench, cache, activity).map(|hit| hit.reused)
}

/// [`pair`] with the same command twice.
fn twins(caches: bool) -> Draft {
    let mut draft = pair(caches);
    let same = draft.nodes[1].activity().unwrap().command.clone();
    edit(&mut draft.nodes[2], |activity| activity.command = same);
    draft
}

#[test]
fn an_outcome_stands_for_one_activity_and_for_more_only_where_they_ask_for_it() {
    let b = ActivityId(2);
    for caches in [true, false] {
        let mut bench = Bench::new(Config::default());
        bench.id = EARLIER;
        bench.found(twins(caches));
        bench.complete(1, MACHINE, Vec::new());
        bench.id = ID;
        bench.found_from(Some(EARLIER), twins(caches));
        let mut cache = Cache::default();
        cache.begin(&bench.step(), ID);
        assert_eq!(cache.next(&bench.step(), ID), Some(A));
        let first = hit(&mut bench, &cache, A).expect("it has completed before");
        cache.take(ID, first.reused.of);
        bench.record(Event::Reused(Box::new(first.reused)));
        assert_eq!(cache.next(&bench.step(), ID), Some(b));
        assert_eq!(look_up(&mut bench, &cache, b).is_some(), caches);
        // A restart forgets none that stands.
        let mut cache = Cache::default();
        cache.begin(&bench.step(), ID);
        assert_eq!(look_up(&mut bench, &cache, b).is_some(), caches);
    }
}

#[test]
fn each_of_several_with_the_same_command_has_its_own_outcome_again() {
    let mut bench = Bench::new(Config::default());
    bench.id = EARLIER;
    bench.found(twins(false));
    bench.complete(1, MACHINE, Vec::new());
    bench.complete(2, MACHINE, Vec::new());
    bench.id = ID;
    // A renamed one has that of its key which is left.
    let mut renamed = twins(false);
    renamed.nodes[1].name = "c".to_owned();
    bench.found_from(Some(EARLIER), renamed);
    let mut cache = Cache::default();
    cache.begin(&bench.step(), ID);
    for (number, of) in [(1, 1), (2, 2)] {
        let activity = ActivityId(number);
        assert_eq!(cache.next(&bench.step(), ID), Some(activity));
        let hit = hit(&mut bench, &cache, activity).expect("there is one for each");
        assert_eq!(hit.reused.of.activity, ActivityId(of));
        cache.take(ID, hit.reused.of);
        bench.record(Event::Reused(Box::new(hit.reused)));
    }
}

#[test]
fn an_outcome_of_the_base_stands_for_an_activity_with_the_same_key() {
    let mut bench = bench(false);
    bench.found_from(Some(EARLIER), pair(false));
    let mut cache = Cache::default();
    cache.begin(&bench.step(), ID);
    assert_eq!(cache.next(&bench.step(), ID), Some(A));
    let reused = look_up(&mut bench, &cache, A).unwrap();
    assert_eq!((reused.of.process, reused.of.activity), (EARLIER, A));
    assert_eq!(super::holders(&reused), [MACHINE]);
    assert_eq!(cache.next(&bench.step(), ID), None, "`b` is not ready");
}

#[test]
fn each_activity_is_looked_up_once_when_it_has_become_ready() {
    let mut bench = bench(false);
    bench.found_from(Some(EARLIER), pair(false));
    let mut cache = Cache::default();
    cache.begin(&bench.step(), ID);
    assert_eq!(cache.next(&bench.step(), ID), Some(A));
    bench.complete(1, MACHINE, Vec::new());
    let b = ActivityId(2);
    assert_eq!(cache.next(&bench.step(), ID), Some(b));
    assert_eq!(look_up(&mut bench, &cache, b), None, "it never completed");
    assert_eq!(look_up(&mut bench, &cache, A), None, "it is not ready");
}

#[test]
fn an_outcome_of_any_process_stands_only_where_the_activity_asks_for_it() {
    for caches in [true, false] {
        let mut bench = bench(caches);
        let mut cache = Cache::default();
        bench.id = EARLIER;
        cache.remember(&mut bench.step(), EARLIER, A);
        bench.id = ID;
        bench.found(pair(caches));
        cache.begin(&bench.step(), ID);
        assert_eq!(look_up(&mut bench, &cache, A).is_some(), caches);
    }
}

#[test]
fn the_outcomes_of_a_process_are_forgotten_with_it_and_found_again_after_a_restart() {
    let mut bench = bench(true);
    bench.found(pair(true));
    let mut cache = Cache::default();
    cache.resume(&bench.step());
    cache.begin(&bench.step(), ID);
    assert!(look_up(&mut bench, &cache, A).is_some());
    cache.forget(&[EARLIER].into());
    assert_eq!(look_up(&mut bench, &cache, A), None);
}
