//! The published vectors: ten problems with the schedules that a reference implementation gives.

#[path = "../examples/vectors/check/mod.rs"]
mod check;

use std::path::Path;

#[test]
fn every_entry_of_the_ten_vector_files_agrees() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../common/schedule/tests/vectors");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    files.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "json")
    });
    files.sort();
    assert_eq!(files.len(), 10);
    for file in files {
        let outcome = check::check_file(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert!(
            outcome.differences.is_empty(),
            "{}: {:#?}",
            file.display(),
            outcome.differences
        );
        assert_eq!(outcome.unknown, [""; 0], "{}", file.display());
        assert!(outcome.checked.len() > 1, "{}", file.display());
    }
}

#[test]
fn what_is_no_vector_file_is_refused() {
    assert!(check::check_file("{").is_err());
    assert!(check::check_file("{}").is_err());
    assert!(check::check_file("[1, 2]").is_err());
}

#[test]
fn a_wrong_expectation_is_seen() {
    let text = include_str!("../../../common/schedule/tests/vectors/01-topcuoglu.json")
        .replace("\"makespan\": 80", "\"makespan\": 81");
    let outcome = check::check_file(&text).unwrap();
    assert_eq!(
        outcome.differences,
        ["heft/direct: makespan is 80, below the expected 81"]
    );
}
