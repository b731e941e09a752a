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
    assert_eq!(
        refused(Type::Int, &["-9223372036854775809"]),
        "input `x`: `-9223372036854775809` does not fit into 64 bits"
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

#[test]
fn files_beside_the_definition_are_the_defaults_of_inputs_that_are_not_given() {
    let dir = tempfile::TempDir::new().unwrap();
    let directory = dir.path();
    std::fs::create_dir(directory.join("data")).unwrap();
    for name in ["data/b.txt", "data/a.txt", "one.txt"] {
        std::fs::write(directory.join(name), name).unwrap();
    }
    let text = |text: &str| Value::Text(text.to_owned());
    let default = |kind: Type, default: Value| Input {
        default: Some(default),
        ..input("x", kind)
    };
    let added = |input: Input| {
        let mut given = Vec::new();
        add_beside(directory, &[input], &mut given).map(|()| given)
    };
    let beside = |name: &str| InputValue::Beside {
        directory: directory.to_owned(),
        name: name.to_owned(),
    };
    let one = added(default(Type::File, text("one.txt"))).unwrap();
    assert_eq!(one, [("x".to_owned(), beside("one.txt"))]);
    let all = InputValue::List(vec![beside("data/a.txt"), beside("data/b.txt")]);
    let found = added(default(list_of(Type::File), text("data/*.txt"))).unwrap();
    assert_eq!(found, [("x".to_owned(), all)]);
    let both = Value::List(vec![text("one.txt"), text("data/b*")]);
    let found = added(default(list_of(Type::File), both)).unwrap();
    let both = InputValue::List(vec![beside("one.txt"), beside("data/b.txt")]);
    assert_eq!(found, [("x".to_owned(), both)]);
    // A given input stays.
    let mut given = vec![("x".to_owned(), InputValue::Value(text("given")))];
    let none = default(Type::File, text("none.txt"));
    add_beside(directory, std::slice::from_ref(&none), &mut given).unwrap();
    assert_eq!(given.len(), 1);
    let refused = added(none).unwrap_err();
    let refused = refused.first().unwrap();
    assert!(
        refused.starts_with("input `x`: could not open `none.txt` of `default`"),
        "{refused}"
    );
    let refused = added(default(list_of(Type::File), text("*.none"))).unwrap_err();
    assert_eq!(
        refused,
        ["input `x`: nothing matches *.none beside the definition"]
    );
    // A link out of the directory would give away what nobody named.
    std::os::unix::fs::symlink("/etc/passwd", directory.join("link")).unwrap();
    let refused = added(default(Type::File, text("link"))).unwrap_err();
    assert!(
        refused[0].contains("leads out of the definition's directory"),
        "{refused:?}"
    );
}
