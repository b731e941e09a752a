//! Lists of files that are staged as a directory.

use super::*;
use model::Input as Declared;

/// `a` reads all files of a list.
fn reads(kind: Type) -> Draft {
    let mut draft = draft(vec![leaf("a")]);
    draft.inputs = vec![Declared {
        name: "reads".to_owned(),
        kind: Type::List(Box::new(kind)),
        default: None,
        minimum: None,
        maximum: None,
    }];
    edit(&mut draft.nodes[0], |activity| {
        activity.inputs = vec![Staged {
            path: "reads/".to_owned(),
            source: Source::Input(0),
            gathers: false,
            carried: None,
        }];
    });
    draft
}

/// The paths at which `a` finds so many items.
fn paths(kind: Type, n_items: usize) -> Vec<String> {
    let seen = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let theirs = std::rc::Rc::clone(&seen);
    let mut bench = Bench::new(move |dispatch| {
        let paths = dispatch.inputs.iter().map(|(path, _)| path.clone());
        theirs.borrow_mut().extend(paths);
        well(dispatch)
    });
    let item = model::Artifact {
        kind: if kind == Type::Directory {
            model::ArtifactKind::Directory
        } else {
            model::ArtifactKind::File
        },
        ..artifact()
    };
    let items = vec![Value::from(item); n_items];
    bench.submit_as(wire::client::Submit {
        inputs: vec![("reads".to_owned(), Value::List(items))],
        ..submission(KEY, reads(kind))
    });
    assert_eq!(bench.status().summary.phase, Phase::Completed);
    seen.take()
}

#[test]
fn files_of_a_list_lie_in_a_directory_in_their_order() {
    let few = paths(Type::File, 3);
    assert_eq!(few, ["reads/0", "reads/1", "reads/2"]);
    let many = paths(Type::File, 11);
    assert_eq!(
        (many[0].as_str(), many[10].as_str()),
        ("reads/00", "reads/10")
    );
    assert_eq!(paths(Type::Directory, 2), ["reads/0/", "reads/1/"]);
    assert!(paths(Type::File, 0).is_empty());
}

/// The fault of a for-each over a list, which may read a text of 10 MB.
fn fault_of(list: &str) -> (FaultName, String) {
    let mut draft = super::for_each::process(list, None);
    draft.inputs = vec![Declared {
        name: "text".to_owned(),
        kind: Type::Text,
        default: None,
        minimum: None,
        maximum: None,
    }];
    let mut bench = Bench::new(super::for_each::lines);
    let text = Value::Text("x".repeat(10_000_000));
    bench.submit_as(wire::client::Submit {
        inputs: vec![("text".to_owned(), text)],
        ..submission(KEY, draft)
    });
    let status = bench.status();
    assert_eq!(status.summary.phase, Phase::Faulted);
    assert_eq!(bench.started, ["a"]);
    let fault = &status.faults[0];
    (fault.name.clone(), fault.message.clone())
}

#[test]
fn lists_that_are_too_long_and_items_that_are_too_large_are_faults() {
    let (name, message) = fault_of("range(10000000)");
    assert_eq!(name, FaultName::Expression);
    assert!(
        message.ends_with("a `range` of 10000000 numbers; at most 200000"),
        "{message}"
    );
    let (name, message) = fault_of("[inputs.text, inputs.text]");
    assert_eq!(name, FaultName::Expression);
    assert!(message.ends_with("values of more than 16 MiB"), "{message}");
}
