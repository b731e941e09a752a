//! Iterations that ended long ago: nothing is known of them but that they have ended.

use super::*;
use model::{ForEach, Node, Repeat, Test};

fn output(activity: u32) -> Source {
    Source::Output {
        activity: NodeId(activity),
        output: 0,
    }
}

fn makes(name: &str, reads: &[(u32, Option<u32>)]) -> Node {
    let mut node = leaf(name);
    edit(&mut node, |activity| {
        let words = [name, "${at}"].map(|word| Template(word.to_owned()));
        activity.command = Command::List(words.to_vec());
        activity.outputs = vec![Produced {
            name: "file".to_owned(),
            path: "out".to_owned(),
        }];
        let read = reads.iter().enumerate().map(|(at, &(from, then))| Staged {
            path: format!("in{at}"),
            source: output(from),
            gathers: false,
            carried: then.map(output),
        });
        activity.inputs = read.collect();
    });
    node
}

fn while_below(n: u32, index: &str, body: u32) -> Node {
    controller(NodeKind::Repeat(Box::new(Repeat {
        test: Test::While,
        condition: Expression(format!("{index} < {n}")),
        index: Some(index.to_owned()),
        max_iterations: Some(n),
        children: ids(&[body]),
    })))
}

/// `s(a w(s(b c)) d)`: `b` reads `a`, and what `c` has made in the iteration before; `d` reads the last `c`.
fn loop_of(n: u32) -> Draft {
    let mut first = makes("a", &[]);
    let mut last = makes("d", &[(5, None)]);
    for node in [&mut first, &mut last] {
        edit(node, |activity| {
            activity.command = Command::List(vec![Template("x".to_owned())]);
        });
    }
    draft(vec![
        controller(NodeKind::Sequence(ids(&[1, 2, 6]))),
        first,
        while_below(n, "at", 3),
        controller(NodeKind::Sequence(ids(&[4, 5]))),
        makes("b", &[(1, None), (1, Some(5))]),
        makes("c", &[(4, None)]),
        last,
    ])
}

/// A bench whose managers keep four activities of a loop.
fn keeping_four(script: impl FnMut(&Dispatch) -> Option<(End, i32, String)> + 'static) -> Bench {
    let mut bench = Bench::new(script);
    bench.config.kept_activities = Some(4);
    bench.restart();
    bench
}

fn process(bench: &Bench) -> &crate::Process {
    let stream = Stream::Process(KEY.process());
    bench.drive.states().get(stream).unwrap().process().unwrap()
}

/// Activities that are folded, and all.
fn folded(bench: &Bench) -> (usize, usize) {
    let process = process(bench);
    let activities = process.definition().activities();
    let folded = activities.iter().filter(|&&one| process.is_folded(one));
    (folded.count(), activities.len())
}

#[test]
fn all_but_the_last_iterations_are_folded_and_counted_as_before() {
    let mut bench = keeping_four(well);
    bench.submit(loop_of(40));
    assert_eq!(bench.end_line(), "completed");
    assert_eq!(bench.started.len(), 82);
    assert_eq!(bench.status().summary.totals.completed, 82);
    let (n_folded, n_all) = folded(&bench);
    assert_eq!(n_all, 82);
    // The first iteration stays, and at most twice as many as are kept with those of the next one.
    assert!((82 - 14..82 - 4).contains(&n_folded), "{n_folded}");
    let entries = &process(&bench).state.plan.entries;
    assert_eq!(entries.len(), n_all - n_folded);
}

#[test]
fn a_loop_goes_on_after_a_restart() {
    let mut bench = keeping_four(|_| None);
    bench.submit(loop_of(20));
    for n in 0..42 {
        let attempt = *bench.held.keys().next().unwrap();
        bench.end(attempt, End::Completed, 0, "");
        if n % 7 == 3 {
            let before = format!("{:?}", process(&bench).state);
            bench.restart();
            assert_eq!(format!("{:?}", process(&bench).state), before);
        }
    }
    assert_eq!(bench.end_line(), "completed");
    assert!(folded(&bench).0 > 20);
}

#[test]
fn loops_in_loops_are_folded_with_the_iteration_that_they_lie_in() {
    let mut inner = makes("b", &[]);
    edit(&mut inner, |activity| {
        activity.command = Command::List(vec![Template("${at} ${within}".to_owned())]);
    });
    let mut bench = keeping_four(well);
    // `w(s(w(b) e(c)))`.
    bench.submit(draft(vec![
        while_below(12, "at", 1),
        controller(NodeKind::Sequence(ids(&[2, 4]))),
        while_below(12, "within", 3),
        inner,
        controller(NodeKind::ForEach(Box::new(ForEach {
            item: "item".to_owned(),
            index: None,
            items: Expression("range(3)".to_owned()),
            key: None,
            at_most: None,
            complete_when: None,
            children: ids(&[5]),
        }))),
        makes("c", &[]),
    ]));
    assert_eq!(bench.end_line(), "completed");
    let (n_folded, n_all) = folded(&bench);
    assert_eq!(n_all, 12 * 15);
    // The first one stays but for what is folded in it; an iteration has 15.
    assert!(n_folded >= n_all - 4 * 15, "{n_folded}");
    // Of what lies in a folded iteration nothing is known any more.
    let n_known = process(&bench).index.folds_known();
    assert!(n_known <= 24, "{n_known}");
}

#[test]
fn what_is_gathered_stays() {
    let mut draft = loop_of(20);
    edit(&mut draft.nodes[6], |activity| {
        activity.inputs[0].gathers = true;
        activity.inputs[0].path = "in/".to_owned();
    });
    let mut bench = keeping_four(well);
    bench.submit(draft);
    assert_eq!(bench.end_line(), "completed");
    assert_eq!(folded(&bench), (0, 42));
}

#[test]
fn variables_of_iterations_go_unless_all_are_read() {
    let with = |value: &str| {
        let mut draft = loop_of(20);
        draft.variables = vec![model::Variable {
            of: Some(NodeId(2)),
            name: "left".to_owned(),
            kind: model::Type::Int,
            initial: Value::Null,
        }];
        edit(&mut draft.nodes[5], |activity| {
            activity.stdout = Some(model::Capture {
                variable: 0,
                parse: model::Parse::Int,
            });
        });
        draft.outputs = vec![model::Output {
            name: "all".to_owned(),
            source: model::OutputSource::Expression(Expression(value.to_owned())),
        }];
        draft
    };
    let mut bench = keeping_four(well);
    bench.submit(with("1"));
    assert_eq!(bench.end_line(), "completed");
    let n_left = process(&bench).state.of_bodies.len();
    assert!(n_left <= 7, "{n_left}");
    let mut bench = keeping_four(well);
    bench.submit(with("size(c[*].left)"));
    assert_eq!(bench.end_line(), "completed");
    assert!(folded(&bench).0 > 20);
    assert_eq!(process(&bench).state.of_bodies.len(), 20);
    let outputs = &process(&bench).state.outputs;
    assert_eq!(outputs, &[("all".to_owned(), Value::Int(20))]);
}

#[test]
fn files_go_where_folded_activities_have_read_them() {
    let mut draft = loop_of(20);
    draft.keep_intermediates = Some(false);
    draft.outputs = vec![model::Output {
        name: "last".to_owned(),
        source: model::OutputSource::Produced(output(6)),
    }];
    let mut bench = keeping_four(well);
    bench.submit(draft);
    assert_eq!(bench.end_line(), "completed");
    // All but the output, each once.
    let discarded: Vec<u32> = bench.discarded.iter().map(|&(_, one)| one).collect();
    assert_eq!(discarded.len(), 41);
    assert!(discarded.contains(&1));
    let a = model::ActivityId(1);
    let read_at = process(&bench).details(a).read_at.clone();
    assert_eq!(read_at.into_iter().flatten().count(), 1);
}

#[test]
fn files_that_a_folded_activity_had_made_are_not_made_again() {
    // The `b` that lacks the file of the `c` before has it made again, which lacks that of its `b`, and so on.
    let mut bench = keeping_four(|dispatch| match dispatch.command.join(" ").as_str() {
        "b 15" => Some((End::Lacking(vec![1]), 0, String::new())),
        line if dispatch.attempt.number > 1 => match line.starts_with('b') {
            true => Some((End::Lacking(vec![1]), 0, String::new())),
            false => Some((End::Lacking(vec![0]), 0, String::new())),
        },
        _ => well(dispatch),
    });
    bench.submit(loop_of(20));
    let status = bench.status();
    assert_eq!(status.summary.phase, Phase::Faulted);
    let message = &status.faults[0].message;
    assert!(
        message.contains("no more is kept than that it has ended"),
        "{message}"
    );
}
