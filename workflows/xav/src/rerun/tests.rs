use model::SubmitKey;

use super::*;

fn definition(inputs: &str) -> Definition {
    let text = format!(
        "xavantes: 1\nname: x\ninputs: {{ {inputs} }}\nbody: {{ activity: a, run: [b] }}\n"
    );
    let compiled = language::compile("x.yaml", text.as_bytes()).unwrap();
    compiled.definition
}

fn base(inputs: &str, values: &[(&str, i64)]) -> Submit {
    let values = values.iter();
    let draft = definition(inputs).draft().clone();
    Submit {
        inputs: values
            .map(|(name, value)| ((*name).to_owned(), Value::Int(*value)))
            .collect(),
        ..Submit::new(SubmitKey(1), draft, "")
    }
}

#[test]
fn inputs_stay_and_defaults_are_those_of_the_mended_definition() {
    let base = base(
        "a: int, b: { type: int, default: 2 }, c: { type: int, default: 3 }, gone: int",
        &[("a", 1), ("b", 2), ("c", 9), ("gone", 4)],
    );
    let mended =
        definition("a: int, b: { type: int, default: 5 }, c: { type: int, default: 3 }, more: int");
    let known = known(&base, &mended);
    let known: Vec<(&str, &Value)> = known.iter().map(|(name, value)| (&**name, value)).collect();
    assert_eq!(known, [("a", &Value::Int(1)), ("c", &Value::Int(9))]);
}

#[test]
fn a_default_that_is_not_there_any_more_is_the_value_that_it_was() {
    let base = base("b: { type: int, default: 2 }", &[("b", 2)]);
    let known = known(&base, &definition("b: int"));
    assert_eq!(known, [("b".to_owned(), Value::Int(2))]);
}

#[test]
fn a_whole_number_for_a_float_is_a_default_too() {
    let inputs = "x: { type: float, default: 2 }, y: { type: list of float, default: [1, 2.5] }";
    let floats = |numbers: &[f64]| numbers.iter().copied().map(Value::Float).collect();
    let mut base = base(inputs, &[]);
    // As a definition of another program may have them.
    base.draft.inputs[0].default = Some(Value::Int(2));
    base.draft.inputs[1].default = Some(Value::List(vec![Value::Int(1), Value::Float(2.5)]));
    base.inputs = vec![
        ("x".to_owned(), Value::Float(2.0)),
        ("y".to_owned(), Value::List(floats(&[1.0, 2.5]))),
    ];
    assert_eq!(known(&base, &definition(inputs)), []);
    base.inputs[0].1 = Value::Float(3.0);
    let given = [("x".to_owned(), Value::Float(3.0))];
    assert_eq!(known(&base, &definition(inputs)), given);
}
