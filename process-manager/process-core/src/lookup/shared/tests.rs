use model::{Activity, Draft, NodeKind, ProcessId, Produced, ResourceId};

use super::*;
use crate::Config;
use crate::budget::Turns;
use crate::io::Effect;
use crate::lookup::Cache;
use crate::tests::bench::{artifact, controller, draft, edit, ids, leaf};
use crate::tests::paper::{Bench, ID};

const EARLIER: ProcessId = ProcessId(6);
const MACHINE: ResourceId = ResourceId::local(3);
const A: ActivityId = ActivityId(1);

/// s(a), with an output.
fn single(change: impl FnOnce(&mut Activity)) -> Draft {
    let mut a = leaf("a");
    edit(&mut a, |activity| {
        activity.outputs.push(Produced {
            name: "out".to_owned(),
            path: "out.txt".to_owned(),
        });
        change(activity);
    });
    draft(vec![controller(NodeKind::Sequence(ids(&[1]))), a])
}

/// What an earlier run has left to later ones.
fn kept(draft: Draft) -> Vec<SharedOutcome> {
    let mut bench = Bench::new(Config {
        shares_outcomes: true,
        ..Config::default()
    });
    bench.id = EARLIER;
    bench.found(draft);
    bench.complete(1, MACHINE, vec![artifact()]);
    Cache::default().remember(&mut bench.step(), EARLIER, A);
    let effects = std::mem::take(&mut bench.paper.effects).into_iter();
    let kept = effects.filter_map(|effect| {
        if let Effect::Share(to_share) = effect {
            return Some(to_share.outcome);
        }
        None
    });
    kept.collect()
}

/// The outcome that a run recalls that begins in another state directory.
fn recalled(draft: Draft, outcomes: Vec<SharedOutcome>) -> Option<Reused> {
    let mut bench = Bench::new(Config::default());
    bench.found(draft);
    let mut cache = Cache::default();
    cache.recall(outcomes);
    cache.begin(&bench.step(), ID);
    let mut slice = Turns::default().slice(bench.now, ID);
    let found = cache.look_up(&mut bench.step(), ID, A, &mut slice);
    found.map(|hit| hit.reused)
}

#[test]
fn an_outcome_of_an_earlier_run_stands_with_its_files() {
    let kept = kept(single(|_| {}));
    assert_eq!(kept.len(), 1);
    assert_eq!((kept[0].holder, kept[0].is_for_all), (EARLIER, false));
    let bytes: Vec<u8> = kept.iter().flat_map(SharedOutcome::encode).collect();
    let read = SharedOutcome::decode_all(&bytes);
    assert_eq!(read, kept);
    let reused = recalled(single(|_| {}), read).unwrap();
    assert_eq!(reused.of.process, EARLIER);
    assert_eq!(reused.outputs, [artifact()]);
    let other = single(|activity| {
        activity
            .env
            .push(("A".to_owned(), model::Template("b".to_owned())))
    });
    assert_eq!(
        recalled(other, kept),
        None,
        "its environment is another one"
    );
}

#[test]
fn what_is_damaged_or_of_another_layout_is_passed_over() {
    let kept = kept(single(|_| {}));
    let one = kept[0].encode();
    let mut damaged = one.clone();
    damaged[4] = 0xff;
    let bytes = [damaged, one, vec![9, 0, 0, 0, 1]].concat();
    assert_eq!(SharedOutcome::decode_all(&bytes), kept);
}

#[test]
fn only_what_is_made_in_its_own_directory_is_recalled_unless_that_is_asked_for() {
    let cache = |cache| move |activity: &mut Activity| activity.cache = cache;
    let nothing = |activity: &mut Activity| activity.outputs.clear();
    assert_eq!(kept(single(nothing)), [], "its effect is the point");
    assert_eq!(kept(single(cache(Caching::Never))), []);
    assert_eq!(kept(single(|activity| activity.at_most_once = true)), []);
    let outcomes = kept(single(|_| {}));
    assert_eq!(recalled(single(cache(Caching::Never)), outcomes), None);
    // What it names outside is not in its key.
    let reads = |activity: &mut Activity| {
        activity.command =
            model::Command::Shell(model::Template("cat /data/x > out.txt".to_owned()));
    };
    let outcomes = kept(single(reads));
    assert_eq!(outcomes.len(), 1);
    assert_eq!(recalled(single(reads), outcomes.clone()), None);
    let asks = single(|activity| {
        reads(activity);
        activity.cache = Caching::Always;
    });
    assert!(recalled(asks, outcomes).is_some());
}

#[test]
fn words_of_a_command_that_may_name_programs_are_kept_each_once() {
    let shell = |text: &str| model::Command::Shell(model::Template(text.to_owned()));
    let line = "sort in.txt|/usr/bin/uniq -c >out; sort ${ n } 3 >\"g++\"";
    let expected = [
        "-c",
        "/bin/sh",
        "/usr/bin/uniq",
        "g++",
        "in.txt",
        "n",
        "out",
        "sort",
    ];
    assert_eq!(words(&shell(line)).unwrap(), expected);
    let many: Vec<String> = (0..limits::PROGRAM_WORDS_MAX)
        .map(|n| format!("w{n}"))
        .collect();
    assert_eq!(words(&shell(&many.join(" "))), None);
    assert!(words(&shell(&many[1..].join(" "))).is_some());
}

#[test]
fn programs_of_installed_software_are_among_the_words() {
    let mut bench = Bench::new(Config::default());
    bench.found(single(|activity| {
        activity.activation = Some(Activation::Path("/opt/x".to_owned()));
    }));
    bench.complete(1, MACHINE, vec![artifact()]);
    let step = bench.step();
    let to_share = ToShare::of(step.cx.process(ID).unwrap(), A).unwrap();
    assert!(
        to_share.words.contains(&"/opt/x/bin/a".to_owned()),
        "{to_share:?}"
    );
}

#[test]
fn the_newest_outcome_stands_and_too_many_let_the_oldest_go() {
    let old = kept(single(|_| {})).remove(0);
    let mut new = old.clone();
    new.outputs[0].hash = Hash([9; 32]);
    let reused = recalled(single(|_| {}), vec![old.clone(), new.clone()]).unwrap();
    assert_eq!(reused.outputs, new.outputs);
    let mut all = SharedOutcomes::default();
    let mut many = vec![old.clone(); 3];
    many.extend(vec![new; limits::RECORDED_MAX - 1]);
    all.take(many);
    let kept = &all.by_key[&old.key];
    assert_eq!(kept.len(), limits::RECORDED_MAX);
    assert_eq!(kept.iter().filter(|outcome| **outcome == old).count(), 1);
}
