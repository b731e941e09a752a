use history::{Counted, Key, Observed, Seen, SizeClass};
use model::{
    Bytes, Draft, Entry, Expression, Fault, FaultName, Generation, GraphNode, NodeId, NodeKind,
    Plan, Repeat, ResourceId, Test, Wall, Work,
};
use wire::attempt::End;

use super::*;
use crate::Config;
use crate::enact::judge::judge;
use crate::record::{Event, Planned as PlannedEvent, Verdict};
use crate::tests::bench::{controller, draft, leaf};
use crate::tests::paper::{Bench, ID, attempt, outcome};

fn plan(entries: &[(f64, f64, f64)]) -> Vec<Planned> {
    let planned = entries.iter().map(|&(start, length, done)| Planned {
        start,
        length,
        done,
    });
    planned.collect()
}

#[test]
fn time_that_passes_is_left_no_more() {
    let left = Left {
        median: Some(Span::from_secs(2)),
        p90: Some(Span::from_secs(5)),
    };
    let later = left.after(Span::from_secs(3));
    assert_eq!(
        (later.median, later.p90),
        (Some(Span::ZERO), Some(Span::from_secs(2)))
    );
    assert_eq!(Left::default().after(Span::from_secs(3)), Left::default());
}

#[test]
fn what_goes_as_planned_is_left_as_planned() {
    let begun = plan(&[(0.0, 4.0, 1.0), (4.0, 6.0, 0.5)]);
    assert!((rest(&begun, 7.0) - 3.0).abs() < 0.01);
    assert!((rest(&plan(&[(0.0, 4.0, 0.0), (4.0, 6.0, 0.0)]), 0.0) - 10.0).abs() < 0.01);
    assert_eq!(rest(&plan(&[(0.0, 4.0, 1.0)]), 9.0), 0.0);
    assert_eq!(rest(&[], 1.0), 0.0);
}

#[test]
fn what_goes_slower_than_planned_takes_longer_the_more_of_it_is_known() {
    let early = rest(&plan(&[(0.0, 1.0, 1.0), (1.0, 9.0, 0.0)]), 2.0);
    let late = rest(&plan(&[(0.0, 9.0, 1.0), (9.0, 9.0, 0.0)]), 18.0);
    assert!((9.0..11.0).contains(&early), "{early}");
    assert!((13.0..14.0).contains(&late), "{late}");
}

fn kind(n_ended: f64, n_left: f64, work: Option<f64>, spread: Option<f64>) -> Kind {
    Kind {
        n_left,
        n_ended,
        work,
        spread,
    }
}

#[test]
fn the_rest_is_told_by_the_activities_of_the_draft_that_are_left() {
    // What has ended took one second each, of what is left a half takes three.
    let rest = Rest::of_kinds(&[
        kind(10.0, 5.0, Some(1.0), Some(1.2)),
        kind(0.0, 5.0, Some(3.0), Some(1.4)),
    ]);
    assert!((rest.relative - 2.0).abs() < 1e-9, "{rest:?}");
    let spread = (5.0 * 0.2 + 15.0 * 0.4) / 20.0;
    assert!((rest.spread.unwrap() - spread).abs() < 1e-9, "{rest:?}");
    // Nobody knows anything, or nothing has ended.
    let unknown = [kind(3.0, 4.0, None, None), kind(0.0, 4.0, None, None)];
    let equal = Rest {
        relative: 1.0,
        spread: None,
    };
    assert_eq!(Rest::of_kinds(&unknown), equal);
    assert_eq!(Rest::of_kinds(&[]), equal);
    let begun = [kind(0.0, 4.0, Some(2.0), None)];
    assert_eq!(Rest::of_kinds(&begun), equal);
}

#[test]
fn the_spread_of_many_in_a_row_evens_out_up_to_what_they_share() {
    assert!((part(1.0, 4) - 1.0).abs() < 1e-9);
    assert!((part(400.0, 4) - (0.3 + 0.7 / 10.0)).abs() < 1e-9);
    assert!(part(1e9, 1) < 0.301);
}

#[test]
fn iterations_to_come_are_left_in_a_process_too_large_to_be_looked_through() {
    let mut bench = Bench::new(Config::default());
    // s(a w(s(b c)))
    let children = |numbers: &[u32]| numbers.iter().copied().map(NodeId).collect();
    bench.found(draft(vec![
        controller(NodeKind::Sequence(children(&[1, 2]))),
        leaf("a"),
        controller(NodeKind::Repeat(Box::new(Repeat {
            test: Test::While,
            condition: Expression("true".to_owned()),
            index: None,
            max_iterations: None,
            children: children(&[3]),
        }))),
        controller(NodeKind::Sequence(children(&[4, 5]))),
        leaf("b"),
        leaf("c"),
    ]));
    let machine = ResourceId::local(3);
    bench.plan(&[(1, machine)]);
    bench.complete(1, machine, Vec::new());
    let median = |bench: &Bench| {
        let (process, history) = (bench.process(), &bench.shared.history);
        by_draft(process, history, bench.now.wall).median
    };
    let told = |bench: &Bench| {
        let (process, history) = (bench.process(), &bench.shared.history);
        left(process, history, None, bench.now.wall).median
    };
    // a has taken a microsecond, and b and c are left on four slots. Nobody knows how often, so nothing is told.
    assert_eq!(median(&bench), Some(Span(1)));
    assert_eq!(told(&bench), None);
    let definition = bench.process().definition().clone();
    let key = Key {
        owner: String::new(),
        definition: definition.name().to_owned(),
        activity: history::controller_name(&definition, NodeId(2)),
        class: SizeClass::BODIES,
    };
    let counted = Counted {
        run: 1,
        at: Wall(9),
        n: 7.0,
    };
    bench.shared.history.take(&key, &Seen::Bodies(counted));
    let more = |nodes_max| more_activities(bench.process(), &bench.shared.history, nodes_max);
    assert_eq!((more(LOOKED_UP_MAX), more(5)), (12.0, 0.0));
    // 14 on four slots.
    assert_eq!(median(&bench), Some(Span(4)));
    assert!(told(&bench).is_some());
}

/// Activities side by side, each with a name of its own.
fn wide(n: u32) -> Draft {
    let children = (1..=n).map(NodeId).collect();
    let links = Vec::new();
    let mut nodes = vec![controller(NodeKind::Parallel { children, links })];
    nodes.extend((1..=n).map(|at| leaf(&format!("a{at}"))));
    draft(nodes)
}

/// A bench with a process of so many activities, planned on four slots, of which the history knows works from
/// one to three seconds.
fn planned(n: u32) -> Bench {
    let mut bench = Bench::new(Config::default());
    bench.found(wide(n));
    let definition = bench.process().definition().name().to_owned();
    for at in 1..=n {
        let key = Key {
            owner: String::new(),
            definition: definition.clone(),
            activity: format!("a{at}"),
            class: SizeClass(0),
        };
        for (run, seconds) in [(1, 1), (2, 3), (3, 1), (4, 3)] {
            let seen = Observed::completed(run, Wall(9), Work::from_secs(seconds));
            bench.shared.history.observe(&key, &seen);
        }
    }
    let machine = ResourceId::local(3);
    bench.plan(&[(1, machine)]);
    let entries = (1..=n).map(|at| Entry {
        activity: ActivityId(at),
        resource: machine,
        slot: at % 4,
        start: Span::from_secs(u64::from(at / 4) * 2),
        finish: Span::from_secs(u64::from(at / 4) * 2 + 2),
    });
    bench.record(Event::Planned(Box::new(PlannedEvent {
        plan: Plan {
            generation: Generation(2),
            entries: entries.collect(),
            bound: Span::ZERO,
        },
        machines: Vec::new(),
        is_estimate: true,
        at: Some(bench.now.wall),
        expected: None,
        slots: None,
    })));
    bench
}

fn counted(bench: &Bench) -> (f64, f64) {
    let counted = left(bench.process(), &bench.shared.history, None, bench.now.wall);
    let seconds = |span: Option<Span>| span.expect("enough is known").seconds();
    (seconds(counted.median), seconds(counted.p90))
}

#[test]
fn a_process_too_large_to_be_looked_through_has_a_p90_as_one_at_the_bound_has() {
    let most = LOOKED_THROUGH_MAX as u32;
    let (within, beyond) = (planned(most), planned(2 * most));
    let [(median, p90), (median_beyond, p90_beyond)] = [&within, &beyond].map(counted);
    assert!(
        (median_beyond / median - 2.0).abs() < 0.01,
        "{median_beyond} {median}"
    );
    let (spread, spread_beyond) = (p90 / median, p90_beyond / median_beyond);
    assert!(spread > 1.05, "{spread}");
    assert!(
        (spread_beyond / spread - 1.0).abs() < 0.02,
        "{spread_beyond} {spread}"
    );
    // What is looked up does not grow with the process, and a count serves the longer the more it looks at.
    assert_eq!(
        serves_for(within.process()),
        Span::from_secs(4) + Span::from_millis(96)
    );
    let looked_up = LOOKED_UP_FOR.0 * LOOKED_UP_MAX as u64;
    assert_eq!(serves_for(beyond.process()), Span(looked_up));
    assert_eq!(beyond.process().id(), ID);
}

#[test]
fn what_waits_before_another_attempt_counts_with_the_longest_chain_after_it() {
    // 1 -> 2 -> 3, and 4 beside them.
    let seconds = [1.0, 2.0, 4.0, 100.0];
    let node = |activity: u32| GraphNode {
        activity: Some(ActivityId(activity)),
        work: Work::default(),
        cores: 1,
    };
    let gate = GraphNode {
        activity: None,
        cores: 0,
        ..node(0)
    };
    let nodes = [node(0), node(1), gate, node(2), node(3)];
    let edges = [(0, 1), (0, 2), (1, 2), (2, 3)].map(|(from, to)| (from, to, Bytes::ZERO));
    let graph = ActivityGraph::new(nodes, edges).unwrap();
    let chains = chains(&graph, |activity| seconds[activity.0 as usize]);
    let expected = [(0, 7.0), (1, 6.0), (2, 4.0), (3, 100.0)];
    let expected = expected.map(|(activity, chain)| (ActivityId(activity), chain));
    assert_eq!(chains, BTreeMap::from(expected));
    let waiting = Waiting {
        before: 9.0,
        after: 6.0,
    };
    assert_eq!(Waiting::or_working(Some(waiting), 14.0), waiting);
    let working = |after| Waiting { before: 0.0, after };
    assert_eq!(Waiting::or_working(Some(waiting), 16.0), working(16.0));
    assert_eq!(Waiting::or_working(None, 3.0), working(3.0));
    // The wait is the same in each run.
    assert_eq!(
        Left::of(waiting, Some(0.5)),
        Left {
            median: Some(Span::from_secs(15)),
            p90: Some(Span::from_secs(18)),
        }
    );
}

#[test]
fn a_backoff_counts_by_the_plan_and_in_a_process_too_large_for_that() {
    let mut bench = planned(8);
    let failing = ActivityId(8);
    let until = |bench: &Bench| bench.now.wall + Span::from_secs(60);
    let (before, _) = counted(&bench);
    assert!(before < 10.0, "{before}");
    let at = until(&bench);
    fail(&mut bench, failing, at);
    let (median, p90) = counted(&bench);
    // Two seconds of work come after it.
    assert!((median - 62.0).abs() < 0.1, "{median}");
    assert!(p90 > 62.5 && p90 < 65.0, "{p90}");
    let by_draft = by_draft(bench.process(), &bench.shared.history, bench.now.wall);
    assert_eq!(by_draft.median, Some(Span::from_secs(60)));
}

/// Records that an activity has failed, and is tried again then.
fn fail(bench: &mut Bench, activity: ActivityId, at: Wall) {
    bench.record(Event::Sent(
        vec![(activity, 1, ResourceId::local(3))],
        Vec::new(),
    ));
    let failed = outcome(attempt(activity.0, 1), End::Stopped);
    let mut ended = judge(bench.process(), bench.now, failed, None);
    let fault = Box::new(Fault::new(FaultName::ExitCode, "no"));
    ended.verdict = Verdict::Retry { at, fault };
    bench.record(Event::Ended(Box::new(ended)));
}
