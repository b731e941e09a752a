use super::*;

fn input(name: &str, kind: Type) -> Input {
    Input {
        name: name.to_owned(),
        kind,
        default: None,
        minimum: None,
        maximum: None,
    }
}

fn list_of(item: Type) -> Type {
    Type::List(Box::new(item))
}

#[track_caller]
fn given(kind: Type, values: &[&str]) -> InputValue {
    let arguments: Vec<String> = values.iter().map(|value| format!("x={value}")).collect();
    read(&arguments, &[input("x", kind)], &[])
        .unwrap()
        .remove(0)
        .1
}

#[track_caller]
fn refused(kind: Type, values: &[&str]) -> String {
    let arguments: Vec<String> = values.iter().map(|value| format!("x={value}")).collect();
    read(&arguments, &[input("x", kind)], &[])
        .unwrap_err()
        .join("\n")
}

#[test]
fn values_are_read_by_the_declared_type() {
    assert_eq!(
        given(Type::Text, &["a=b"]),
        InputValue::Value(Value::Text("a=b".to_owned()))
    );
    assert_eq!(given(Type::Int, &["-3"]), InputValue::Value(Value::Int(-3)));
    assert_eq!(
        given(Type::Float, &["3"]),
        InputValue::Value(Value::Float(3.0))
    );
    assert_eq!(
        given(Type::Bool, &["true"]),
        InputValue::Value(Value::Bool(true))
    );
    let json = given(Type::Json, &[r#"{"a": [1, 2.5, null]}"#]);
    let items = vec![Value::Int(1), Value::Float(2.5), Value::Null];
    let map = [("a".to_owned(), Value::List(items))].into_iter().collect();
    assert_eq!(json, InputValue::Value(Value::Map(map)));
}

#[test]
fn a_list_is_given_item_by_item_or_as_json() {
    let two = InputValue::Value(Value::List(vec![Value::Int(1), Value::Int(2)]));
    assert_eq!(given(list_of(Type::Int), &["1", "2"]), two);
    assert_eq!(given(list_of(Type::Int), &["[1, 2]"]), two);
    assert_eq!(
        refused(list_of(Type::Int), &["[1, \"a\"]"]),
        "input `x`: a list of int is wanted, not a list"
    );
    assert_eq!(
        refused(list_of(Type::Int), &["1", "a"]),
        "input `x`: a whole number is wanted, not `a`"
    );
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let declared = [
        input("limit", Type::Int),
        input("name", Type::Text),
        Input {
            maximum: Some(1.0),
            ..input("share", Type::Float)
        },
    ];
    let arguments = ["limt=3", "limit=many", "share=1.5", "word"].map(str::to_owned);
    assert_eq!(
        read(&arguments, &declared, &[]).unwrap_err(),
        [
            "the process has no input `limt`; did you mean `limit`?",
            "--input word: write it as NAME=VALUE",
            "input `limit`: a whole number is wanted, not `many`",
            "input `share`: 1.5 is more than 1",
            "input `name` is missing: give it with --input name=TEXT",
        ]
    );
    let nothing = ["x=1".to_owned()];
    assert_eq!(
        read(&nothing, &[], &[]).unwrap_err(),
        ["the process has no input `x`; it has no inputs"]
    );
}

#[test]
fn a_path_is_looked_at_before_anything_is_stored() {
    let dir = tempfile::TempDir::new().unwrap();
    let path = dir.path().to_str().unwrap();
    let file = format!("{path}/a");
    std::fs::write(&file, "text").unwrap();
    assert_eq!(
        given(Type::File, &[&file]),
        InputValue::Path {
            path: file.clone().into(),
            is_directory: false
        }
    );
    assert_eq!(
        refused(Type::File, &[&format!("{path}/none")]),
        format!("input `x`: could not look at {path}/none: No such file or directory")
    );
    let is_directory = format!("input `x`: a file is wanted, and {path} is a directory");
    assert_eq!(refused(Type::File, &[path]), is_directory);
    let is_file = format!("input `x`: a directory is wanted, and {file} is none");
    assert_eq!(refused(Type::Directory, &[&file]), is_file);
    assert_eq!(
        given(list_of(Type::File), &[&file, &file]),
        InputValue::List(vec![given(Type::File, &[&file]); 2])
    );
}
