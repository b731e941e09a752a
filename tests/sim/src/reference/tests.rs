//! The reference on processes that can be worked out by hand.

use model::{
    Assignment, Caching, Command, Expression, Join, Link, Node, OnFault, Produced, Retry,
    SubmitKey, Type,
};
use model::{Staged, Template, Variable};
use simulator::command::Behaviour;
use simulator::meaning::{Condition, Term};

use super::*;

fn activity(name: &str, inputs: Vec<Staged>) -> Node {
    let activity = Activity {
        command: Command::List(vec![Template("work".to_owned()), Template(name.to_owned())]),
        env: Vec::new(),
        stdin: None,
        inputs,
        outputs: vec![Produced {
            name: "o".to_owned(),
            path: "out.txt".to_owned(),
        }],
        stdout: None,
        stderr: None,
        work: None,
        cores: 1,
        memory: None,
        labels: Vec::new(),
        timeout: None,
        retry: Retry {
            attempts: 2,
            ..Retry::default()
        },
        cache: Caching::Unsaid,
        repeatable: false,
        at_most_once: false,
        priority: None,
        uses: None,
        activation: None,
        limits: None,
        replicas: None,
    };
    Node {
        name: name.to_owned(),
        kind: NodeKind::Activity(Box::new(activity)),
        join: Join::All,
    }
}

fn node(name: &str, kind: NodeKind) -> Node {
    Node {
        name: name.to_owned(),
        kind,
        join: Join::All,
    }
}

/// ```text
///   q0: s1 (v0 = 5), then p2:  a3 --(v0 < 5)--> a4 --> a5 (any)
///                                \--------------------/
/// ```
fn process() -> Generated {
    let when = Expression("v0 < 5".to_owned());
    let link = |from, to, when| Link {
        from: NodeId(from),
        to: NodeId(to),
        when,
    };
    let assignment = Assignment {
        variable: 0,
        value: Expression("5".to_owned()),
    };
    let from_a3 = Staged {
        path: "in.txt".to_owned(),
        source: Source::Output {
            activity: NodeId(3),
            output: 0,
        },
        gathers: false,
        carried: None,
    };
    let mut nodes = vec![
        node("q0", NodeKind::Sequence(vec![NodeId(1), NodeId(2)])),
        node("s1", NodeKind::Assign(vec![assignment])),
        node(
            "p2",
            NodeKind::Parallel {
                children: vec![NodeId(3), NodeId(4), NodeId(5)],
                links: vec![link(3, 4, Some(when)), link(4, 5, None), link(3, 5, None)],
            },
        ),
        activity("a3", Vec::new()),
        activity("a4", Vec::new()),
        activity("a5", vec![from_a3]),
    ];
    nodes[5].join = Join::Any;
    let mut meaning = Meaning::default();
    meaning
        .assigns
        .insert(NodeId(1), vec![(0, Term::Constant(5))]);
    let condition = Condition::Less(Term::Variable(0), Term::Constant(5));
    meaning.whens.insert((NodeId(3), NodeId(4)), condition);
    for id in 3..6 {
        meaning.arguments.insert(NodeId(id), Vec::new());
    }
    let draft = Draft {
        name: "by-hand".to_owned(),
        variables: vec![Variable {
            of: None,
            name: "v0".to_owned(),
            kind: Type::Int,
            initial: Value::Int(0),
        }],
        nodes,
        ..Draft::default()
    };
    Generated {
        submit: Submit::new(SubmitKey(1), draft, ""),
        meaning,
        behaviours: BTreeMap::new(),
        instances: BTreeMap::new(),
        enough: None,
        cores_max: 1,
    }
}

#[test]
fn a_false_link_skips_its_target_and_the_link_behind_that_is_false_too() {
    let expected = expected(&process());
    assert_eq!(expected.phase, Phase::Completed);
    assert_eq!(
        expected.needs,
        BTreeMap::from([
            (ActivityId(3), BTreeSet::new()),
            (ActivityId(5), BTreeSet::from([ActivityId(3)])),
        ])
    );
    assert_eq!(expected.variables, [("v0".to_owned(), Value::Int(5))]);
    let made = expected.produced[&ActivityId(3)][0].1;
    assert_eq!(
        expected.inputs[&ActivityId(5)],
        [("in.txt".to_owned(), made)]
    );
}

#[test]
fn a_process_faults_where_an_activity_that_runs_fails_at_every_try() {
    let with = |activity, n_failing| {
        let mut process = process();
        let behaviour = Behaviour {
            n_failing,
            failure: Failure::Exit,
        };
        process.behaviours.insert(ActivityId(activity), behaviour);
        expected(&process).phase
    };
    assert_eq!(with(5, 1), Phase::Completed, "the second try ends well");
    assert_eq!(with(5, 2), Phase::Faulted, "there is no third try");
    assert_eq!(with(4, 2), Phase::Completed, "a4 never runs");
}

#[test]
fn a_process_that_goes_on_runs_what_does_not_depend_on_a_fault() {
    let with = |activity| {
        let mut process = process();
        process.submit.on_fault = Some(OnFault::Continue);
        let behaviour = Behaviour {
            n_failing: u32::MAX,
            failure: Failure::Exit,
        };
        process.behaviours.insert(ActivityId(activity), behaviour);
        expected(&process)
    };
    let ids =
        |ids: &[u32]| -> BTreeSet<ActivityId> { ids.iter().copied().map(ActivityId).collect() };
    let runs =
        |expected: &Expected| -> BTreeSet<ActivityId> { expected.needs.keys().copied().collect() };
    let first = with(3);
    assert_eq!(first.phase, Phase::Faulted);
    assert_eq!((runs(&first), first.faulted), (ids(&[3]), ids(&[3])));
    let last = with(5);
    assert_eq!(last.phase, Phase::Faulted);
    assert_eq!((runs(&last), last.faulted), (ids(&[3, 5]), ids(&[5])));
}

#[test]
fn of_an_if_the_first_branch_runs_whose_condition_holds_and_its_links_decide() {
    // i3 is an `if` with the branches a4, a5 and a6; a link leads from a4 to a7 beside it.
    let with = |conditions: [Condition; 2]| {
        let mut process = process();
        let draft = &mut process.submit.draft;
        draft.nodes.truncate(2);
        draft.nodes.push(node(
            "p2",
            NodeKind::Parallel {
                children: vec![NodeId(3), NodeId(7)],
                links: vec![Link {
                    from: NodeId(4),
                    to: NodeId(7),
                    when: None,
                }],
            },
        ));
        draft.nodes.push(node(
            "i3",
            NodeKind::If {
                conditions: vec![Expression(String::new()); 2],
                children: vec![NodeId(4), NodeId(5), NodeId(6)],
            },
        ));
        for name in ["a4", "a5", "a6", "a7"] {
            draft.nodes.push(activity(name, Vec::new()));
        }
        process.meaning = Meaning {
            choices: BTreeMap::from([(NodeId(3), conditions.to_vec())]),
            assigns: process.meaning.assigns,
            ..Meaning::default()
        };
        for id in 4..8 {
            process.meaning.arguments.insert(NodeId(id), Vec::new());
        }
        let runs = expected(&process).needs.into_keys();
        runs.map(|id| id.0).collect::<Vec<u32>>()
    };
    let is_five = || {
        let below = |number| Condition::Less(Term::Variable(0), Term::Constant(number));
        Condition::Both(
            Box::new(below(6)),
            Box::new(Condition::Not(Box::new(below(5)))),
        )
    };
    let is_even = || Condition::Even(Term::Variable(0));
    assert_eq!(with([is_five(), is_five()]), [4, 7]);
    assert_eq!(with([is_even(), is_five()]), [5], "a7 waits for a4");
    assert_eq!(with([is_even(), is_even()]), [6], "the else");
}
