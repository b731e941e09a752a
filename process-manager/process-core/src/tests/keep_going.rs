//! A process that goes on without what depends on its faults.

use super::*;
use model::{Node, OnFault, SubmitKey};
use wire::client::Submit;

/// Fails the commands of these names.
fn failing(names: &'static [&'static str]) -> Bench {
    Bench::new(move |dispatch| {
        if names.contains(&dispatch.command[0].as_str()) {
            return Some((failed(FaultName::ExitCode), 1, String::new()));
        }
        well(dispatch)
    })
}

fn link(from: u32, to: u32, when: Option<&str>) -> Link {
    Link {
        from: NodeId(from),
        to: NodeId(to),
        when: when.map(|when| Expression(when.into())),
    }
}

fn going_on(draft: Draft) -> Submit {
    Submit {
        on_fault: Some(OnFault::Continue),
        ..submission(KEY, draft)
    }
}

fn parallel(children: &[u32], links: Vec<Link>) -> Node {
    controller(NodeKind::Parallel {
        children: ids(children),
        links,
    })
}

fn run(bench: &mut Bench, draft: Draft) -> Vec<&'static str> {
    bench.submit_as(going_on(draft));
    bench.run();
    bench.phases(KEY)
}

#[test]
fn siblings_go_on_and_the_rest_of_a_sequence_does_not_run() {
    // p(s(a b) s(c d)) and then e in a sequence around it
    let draft = draft(vec![
        controller(NodeKind::Sequence(ids(&[1, 8]))),
        parallel(&[2, 5], Vec::new()),
        controller(NodeKind::Sequence(ids(&[3, 4]))),
        leaf("a"),
        leaf("b"),
        controller(NodeKind::Sequence(ids(&[6, 7]))),
        leaf("c"),
        leaf("d"),
        leaf("e"),
    ]);
    let mut bench = failing(&["a"]);
    let phases = run(&mut bench, draft);
    assert_eq!(
        phases,
        ["faulted", "skipped", "completed", "completed", "skipped"]
    );
    let status = bench.status();
    assert_eq!(status.summary.phase, Phase::Faulted);
    assert_eq!(status.on_fault, OnFault::Continue);
    assert_eq!((status.faults.len(), status.outputs.len()), (1, 0));
}

#[test]
fn a_broken_link_breaks_all_leaves_any_and_reads_false() {
    // a faults; b ends well.
    let mut any = leaf("any");
    any.join = Join::Any;
    let mut lone_any = leaf("lone");
    lone_any.join = Join::Any;
    let mut not_a = leaf("nota");
    not_a.join = Join::When(Expression("!links.a".into()));
    let mut both = leaf("both");
    both.join = Join::When(Expression("links.a && links.b".into()));
    let links = vec![
        link(1, 3, None),
        link(2, 3, None),
        link(1, 4, None),
        link(2, 4, None),
        link(1, 5, None),
        link(1, 6, None),
        link(1, 7, None),
        link(2, 7, None),
        // A node after a broken one in turn, and a node that needs only one true link.
        link(3, 8, None),
    ];
    let draft = draft(vec![
        parallel(&[1, 2, 3, 4, 5, 6, 7, 8], links),
        leaf("a"),
        leaf("b"),
        leaf("all"),
        any,
        lone_any,
        not_a,
        both,
        leaf("after"),
    ]);
    let mut bench = failing(&["a"]);
    let phases = run(&mut bench, draft);
    assert_eq!(
        phases,
        [
            "faulted",
            "completed",
            "skipped",
            "completed",
            "skipped",
            "completed",
            "skipped",
            "skipped"
        ]
    );
    assert_eq!(bench.status().summary.phase, Phase::Faulted);
}

#[test]
fn expressions_break_the_node_that_they_belong_to() {
    // s1(assign that faults, b)  s2(c with a faulting argument)  d>e by a faulting condition  f
    let assign = NodeKind::Assign(vec![model::Assignment {
        variable: 0,
        value: Expression("1 / zero".into()),
    }]);
    let mut join = leaf("g");
    join.join = Join::When(Expression("links.f && 1 / zero == 0".into()));
    let links = vec![link(5, 6, Some("1 / zero > 0")), link(7, 8, None)];
    let mut draft = draft(vec![
        parallel(&[1, 4, 5, 6, 7, 8], links),
        controller(NodeKind::Sequence(ids(&[2, 3]))),
        controller(assign),
        leaf("b"),
        leaf("c"),
        leaf("d"),
        leaf("e"),
        leaf("f"),
        join,
    ]);
    draft.variables = vec![int("zero", Value::Int(0))];
    edit(&mut draft.nodes[4], |activity| {
        activity.command = Command::List(vec![Template("${ 1 / zero }".into())]);
    });
    let mut bench = Bench::new(well);
    let phases = run(&mut bench, draft);
    assert_eq!(
        phases,
        [
            "skipped",
            "faulted",
            "completed",
            "skipped",
            "completed",
            "skipped"
        ]
    );
    let status = bench.status();
    assert_eq!(status.summary.phase, Phase::Faulted);
    assert_eq!(status.faults.len(), 4);
    snapshots_hold(&bench, KEY);
}

#[test]
fn it_can_be_cancelled_and_goes_on_after_a_restart() {
    let children = [1, 2, 3];
    let mut bench = Bench::new(|dispatch| match dispatch.command[0].as_str() {
        "a" => Some((failed(FaultName::ExitCode), 1, String::new())),
        _ => None,
    });
    let nodes = vec![
        parallel(&children, Vec::new()),
        leaf("a"),
        leaf("b"),
        leaf("c"),
    ];
    bench.submit_as(going_on(draft(nodes)));
    bench.restart();
    assert_eq!(bench.phases(KEY), ["faulted", "sent", "sent"]);
    assert_eq!(bench.status().summary.phase, Phase::Running);
    bench.ask(Request::Cancel(KEY.process()));
    bench.run();
    assert_eq!(bench.status().summary.phase, Phase::Cancelled);
    assert_eq!(bench.phases(KEY), ["faulted", "stopped", "stopped"]);
}

#[test]
fn a_mended_run_does_only_what_failed_and_what_depends_on_it() {
    let mut bench = failing(&["b"]);
    run(&mut bench, diamond());
    assert_eq!(
        bench.phases(KEY),
        ["completed", "faulted", "completed", "skipped"]
    );
    bench.started.clear();
    bench.script = Box::new(well);
    let second = SubmitKey(78);
    bench.submit_as(Submit {
        base: Some(KEY.process()),
        ..submission(second, diamond())
    });
    assert_eq!(bench.started, ["b", "d"]);
    assert_eq!(bench.status_of(second).summary.phase, Phase::Completed);
    assert_eq!(bench.status_of(second).summary.totals.reused, 2);
}
