//! Variables that each body has of its own.

use super::for_each::process;
use super::*;
use model::{Assignment, Capture, Parse, Variable};

/// `s(a f(s(b c)) d)` as [`process`] has it: `c` writes what it prints to the `score` of its item, and the
/// scores of all items are an output.
fn scored(items: &str, at_most: Option<u32>) -> Draft {
    let mut draft = process(items, at_most);
    draft.variables.push(Variable {
        of: Some(NodeId(2)),
        ..int("score", Value::Null)
    });
    edit(&mut draft.nodes[5], |activity| {
        activity.stdout = Some(Capture {
            variable: 1,
            parse: Parse::Int,
        });
    });
    output(&mut draft, "c[*].score");
    draft
}

fn output(draft: &mut Draft, text: &str) {
    draft.outputs = vec![Output {
        name: "scores".to_owned(),
        source: OutputSource::Expression(Expression(text.to_owned())),
    }];
}

/// `a` finds three lines; each other command prints the length of its own line.
fn lengths(dispatch: &Dispatch) -> Option<(End, i32, String)> {
    let line = dispatch.command.join(" ");
    let printed = match line.as_str() {
        "a" => "x\nyy\nzzz\n".to_owned(),
        line => format!("{}\n", line.len()),
    };
    Some((End::Completed, 0, printed))
}

fn run(draft: Draft) -> Bench {
    let mut bench = Bench::new(lengths);
    bench.submit(draft);
    bench
}

fn scores(bench: &mut Bench) -> String {
    let status = bench.status();
    assert_eq!(
        status.summary.phase,
        Phase::Completed,
        "{:?}",
        status.faults
    );
    assert_eq!(status.variables.len(), 1, "only those of the process");
    format!("{:?}", status.outputs[0].1)
}

#[test]
fn each_item_has_its_own_and_the_list_is_in_their_order() {
    let mut bench = run(scored("found", None));
    assert_eq!(scores(&mut bench), "List([Int(5), Int(6), Int(7)])");
    snapshots_hold(&bench, KEY);
    bench.restart();
    assert_eq!(scores(&mut bench), "List([Int(5), Int(6), Int(7)])");
    let mut bench = run(scored("[]", None));
    assert_eq!(scores(&mut bench), "List([])");
}

#[test]
fn what_an_item_writes_is_read_in_it_alone() {
    let mut draft = scored("found", Some(1));
    // `c` is the second step of the body: `b` writes the score, `c` reads it.
    let capture = draft.activity(model::ActivityId(5)).unwrap().stdout;
    edit(&mut draft.nodes[5], |activity| {
        activity.stdout = None;
        activity.command = Command::List(vec![Template("c ${ score }".to_owned())]);
    });
    edit(&mut draft.nodes[4], |activity| activity.stdout = capture);
    let mut bench = run(draft);
    let ran = ["a", "b x 0", "c 5", "b yy 1", "c 6", "b zzz 2", "c 7", "d"];
    assert_eq!(bench.started, ran);
    assert_eq!(scores(&mut bench), "List([Int(5), Int(6), Int(7)])");
}

#[test]
fn an_assign_in_a_body_writes_that_of_its_item() {
    let mut draft = scored("found", None);
    draft.variables[1].initial = Value::Int(100);
    draft.nodes[5].name.clear();
    draft.nodes[5].kind = NodeKind::Assign(vec![Assignment {
        variable: 1,
        value: Expression("score + size(item)".to_owned()),
    }]);
    edit(&mut draft.nodes[6], |activity| activity.inputs.clear());
    output(&mut draft, "b[*].score");
    let mut bench = run(draft);
    assert_eq!(scores(&mut bench), "List([Int(101), Int(102), Int(103)])");
    snapshots_hold(&bench, KEY);
}

#[test]
fn items_that_were_left_out_have_no_value_in_the_list() {
    let mut draft = scored("found", Some(1));
    draft.variables[1].initial = Value::Int(1);
    if let NodeKind::ForEach(each) = &mut draft.nodes[2].kind {
        each.complete_when = Some(Expression("2".to_owned()));
    }
    assert_eq!(scores(&mut run(draft)), "List([Int(5), Int(6)])");
}

#[test]
fn a_value_of_another_type_is_a_fault_of_its_item() {
    let mut draft = scored("found", None);
    draft.variables[1].kind = Type::Text;
    // What JSON says is known when it is there.
    for node in &mut draft.nodes {
        if let NodeKind::Activity(activity) = &mut node.kind
            && let Some(capture) = activity.stdout.as_mut().filter(|one| one.variable == 1)
        {
            capture.parse = Parse::Json;
        }
    }
    let status = run(draft).status();
    assert_eq!(status.summary.phase, Phase::Faulted);
    assert_eq!(
        status.faults[0].message,
        "variable `score` is a string, not an int"
    );
}
