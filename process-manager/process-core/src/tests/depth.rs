//! Values with many lists within each other: none is recorded that could not be read again.

use super::*;
use model::limits::VALUE_DEPTH_MAX;
use model::{ForEach, Input as Declared, Output, OutputSource, Type, Value, Variable};

/// So many lists within each other.
fn nested(depth: usize) -> Value {
    (0..depth).fold(Value::Int(1), |inner, _| Value::List(vec![inner]))
}

/// An activity, with a variable `deep` that is twenty lists below the limit.
fn process() -> Draft {
    let mut draft = draft(vec![leaf("a")]);
    draft.variables.push(Variable {
        of: None,
        name: "deep".to_owned(),
        kind: Type::Json,
        initial: nested(VALUE_DEPTH_MAX - 20),
    });
    draft
}

/// `deep` within so many more lists.
fn within(more: usize) -> Expression {
    Expression(format!("{}deep{}", "[".repeat(more), "]".repeat(more)))
}

fn ends(draft: Draft) -> (Phase, String) {
    let mut bench = Bench::new(well);
    bench.submit(draft);
    bench.run();
    bench.restart();
    let status = bench.status();
    let said = status.faults.first().map(|fault| fault.message.clone());
    (status.summary.phase, said.unwrap_or_default())
}

#[test]
fn an_output_that_is_too_deep_is_a_fault() {
    let with_output = |more| {
        let mut draft = process();
        draft.outputs.push(Output {
            name: "o".to_owned(),
            source: OutputSource::Expression(within(more)),
        });
        ends(draft)
    };
    assert_eq!(with_output(20).0, Phase::Completed);
    let (phase, said) = with_output(21);
    assert_eq!(phase, Phase::Faulted);
    assert_eq!(
        said,
        "output `o` has more than 128 lists and maps within each other"
    );
}

#[test]
fn an_item_that_is_too_deep_is_a_fault() {
    let with_item = |more| {
        let mut draft = process();
        let each = ForEach {
            item: "item".to_owned(),
            index: None,
            items: within(more),
            key: None,
            at_most: None,
            complete_when: None,
            children: ids(&[1]),
        };
        let body = std::mem::replace(
            &mut draft.nodes[0],
            controller(NodeKind::ForEach(Box::new(each))),
        );
        draft.nodes.push(body);
        ends(draft)
    };
    assert_eq!(with_item(21).0, Phase::Completed);
    let (phase, said) = with_item(22);
    assert_eq!(phase, Phase::Faulted);
    let expected = "item 0 has more than 128 lists and maps within each other";
    assert!(said.ends_with(expected), "{said}");
}

#[test]
fn values_of_a_definition_and_inputs_that_are_too_deep_are_refused() {
    let too_deep = nested(VALUE_DEPTH_MAX + 1);
    let mut draft = process();
    draft.variables[0].initial = too_deep.clone();
    let problems = draft.clone().check().unwrap_err();
    let said = problems[0].to_string();
    let expected = "a value with more than 128 lists and maps within each other";
    assert!(said.contains(expected), "{said}");

    draft.variables.clear();
    draft.inputs.push(Declared {
        name: "j".to_owned(),
        kind: Type::Json,
        default: Some(nested(VALUE_DEPTH_MAX)),
        minimum: None,
        maximum: None,
    });
    let mut bench = Bench::new(well);
    let mut submit = submission(KEY, draft.clone());
    submit.inputs = vec![("j".to_owned(), too_deep.clone())];
    let answer = bench.answer(Request::Submit(Box::new(submit)));
    let Answer::Refused(reasons) = answer else {
        panic!("{answer:?}")
    };
    let expected = "input `j`: more than 128 lists and maps within each other";
    assert_eq!(reasons, [expected]);
    draft.inputs[0].default = Some(too_deep);
    let problems = draft.check().unwrap_err();
    assert_eq!(problems.len(), 1, "{problems:?}");
}
