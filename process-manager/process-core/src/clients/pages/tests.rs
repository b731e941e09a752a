use model::{NodeKind, ProcessId, Wall};
use wire::client::Phase;

use super::*;
use crate::Config;
use crate::tests::bench::{controller, draft, ids, leaf};
use crate::tests::paper::Bench;

/// Bytes of a message that a page may have.
const MESSAGE_BYTES_MAX: usize = 100_000;

/// More activities than a page has.
const ACTIVITIES: u32 = 5_000;

fn bench() -> Bench {
    let children: Vec<u32> = (1..=ACTIVITIES).collect();
    let mut nodes = vec![controller(NodeKind::Sequence(ids(&children)))];
    nodes.extend(children.iter().map(|n| leaf(&format!("a{n}"))));
    let mut bench = Bench::new(Config::default());
    bench.found(draft(nodes));
    bench
}

fn wanted(process: &Process) -> ActivitiesWanted {
    ActivitiesWanted {
        process: process.id(),
        after: None,
        limit: u32::MAX,
        phases: Vec::new(),
    }
}

/// A page, which fits its message.
fn asked(process: &Process, wanted: &ActivitiesWanted) -> ActivitiesPage {
    let answer = activities(process, wanted);
    assert!(minicbor::to_vec(&answer).unwrap().len() < MESSAGE_BYTES_MAX);
    let Answer::Activities(page) = answer else {
        panic!("{answer:?}");
    };
    *page
}

#[test]
fn all_pages_together_have_each_activity_once_in_order() {
    let bench = bench();
    let process = bench.process();
    let (mut names, mut wanted, mut n_pages) = (Vec::new(), wanted(process), 0);
    loop {
        let page = asked(process, &wanted);
        n_pages += 1;
        wanted.after = page.activities.last().map(|one| one.status.activity);
        names.extend(page.activities.into_iter().map(|one| one.name));
        if !page.has_more {
            break;
        }
    }
    let expected: Vec<String> = (1..=ACTIVITIES).map(|n| format!("a{n}")).collect();
    assert_eq!(names, expected);
    assert!(n_pages > 1);
}

#[test]
fn a_page_has_no_more_than_was_asked_for_and_only_these_states() {
    let bench = bench();
    let process = bench.process();
    let few = ActivitiesWanted {
        limit: 3,
        ..wanted(process)
    };
    let page = asked(process, &few);
    assert_eq!((page.activities.len(), page.has_more), (3, true));
    let faulted = ActivitiesWanted {
        phases: vec![ActivityPhase::Faulted],
        ..wanted(process)
    };
    let page = asked(process, &faulted);
    assert_eq!((page.activities.len(), page.has_more), (0, false));
    let last = ActivitiesWanted {
        after: Some(ActivityId(ACTIVITIES)),
        ..wanted(process)
    };
    assert!(!asked(process, &last).has_more);
    let unknown = ActivitiesWanted {
        after: Some(ActivityId(0)),
        ..wanted(process)
    };
    assert!(matches!(activities(process, &unknown), Answer::Refused(_)));
}

#[test]
fn processes_come_the_newest_first_after_the_last_that_is_known() {
    let bench = bench();
    let summary = bench.process().summary();
    let mut all: Vec<Summary> = (0..3_000)
        .map(|n| Summary {
            process: ProcessId(n % 7 * 1_000 + n),
            submitted: Wall(n / 3),
            phase: [Phase::Running, Phase::Completed][n as usize % 2],
            ..summary.clone()
        })
        .collect();
    all.sort_by_key(|one| (Reverse(one.submitted), one.process));
    for phases in [vec![], vec![Phase::Completed]] {
        let mut wanted = ProcessesWanted {
            limit: u32::MAX,
            phases: phases.clone(),
            ..ProcessesWanted::default()
        };
        let mut found = Vec::new();
        loop {
            let answer = processes(all.clone(), &wanted);
            assert!(minicbor::to_vec(&answer).unwrap().len() < MESSAGE_BYTES_MAX);
            let Answer::ProcessesPage(page) = answer else {
                panic!("{answer:?}");
            };
            found.extend(page.processes);
            wanted.after = found.last().map(|last| (last.submitted, last.process));
            if !page.has_more {
                break;
            }
        }
        let expected: Vec<&Summary> = all
            .iter()
            .filter(|one| phases.is_empty() || phases.contains(&one.phase))
            .collect();
        assert_eq!(found.iter().collect::<Vec<_>>(), expected);
    }
}
