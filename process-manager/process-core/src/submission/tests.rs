use model::limits::TEMPLATE_BYTES_MAX;
use model::{Command, Input, Template, Type};

use super::*;
use crate::tests::bench::{draft, edit, leaf, submission};

/// A process of one activity with so many arguments of the greatest length.
fn with_arguments(n: usize) -> Submission {
    let mut node = leaf("a");
    edit(&mut node, |activity| {
        let words = std::iter::once("/bin/true".to_owned());
        let long = std::iter::repeat_n("x".repeat(TEMPLATE_BYTES_MAX), n);
        let words = words.chain(long).map(Template);
        activity.command = Command::List(words.collect());
    });
    let draft = draft(vec![node]);
    let definition = draft.clone().check().unwrap();
    Submission::local(definition, submission(SubmitKey(1), draft))
}

#[test]
fn a_process_that_is_too_long_for_the_journal_is_refused() {
    let n_most = usize::try_from(FOUNDED_BYTES_MAX).unwrap() / TEMPLATE_BYTES_MAX;
    let fits = with_arguments(n_most - 1).checked.unwrap();
    assert!(bytes_of(&fits) <= FOUNDED_BYTES_MAX);
    let reasons = with_arguments(n_most + 9).checked.unwrap_err();
    assert!(
        reasons[0].starts_with("the process takes 129.0 MiB in the journal; at most 128.0 MiB"),
        "{reasons:?}"
    );
}

#[test]
fn whole_numbers_that_are_given_for_floats_are_floats() {
    let mut draft = draft(vec![leaf("a")]);
    let input = |name: &str, kind: Type| Input {
        name: name.to_owned(),
        kind,
        default: Some(Value::Int(3)),
        minimum: None,
        maximum: None,
    };
    let list = Type::List(Box::new(Type::Float));
    draft.inputs = vec![input("rate", Type::Float), input("rates", list)];
    let mixed = Value::List(vec![Value::Int(1), Value::Float(2.5)]);
    draft.inputs[1].default = Some(mixed);
    let definition = draft.clone().check().unwrap();
    let submission = Submission::local(definition, submission(SubmitKey(1), draft));
    let inputs = submission.checked.unwrap().inputs;
    let floats = [1.0, 2.5].map(Value::Float);
    assert_eq!(inputs, [Value::Float(3.0), Value::List(floats.to_vec())]);
}
