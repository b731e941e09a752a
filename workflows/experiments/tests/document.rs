//! docs/experiments.md has a part of each study, and exactly the charts that lie beside it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use experiments::study::Study;

#[test]
fn the_document_has_each_study_and_each_chart() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let text = fs::read_to_string(docs.join("experiments.md")).unwrap();
    for study in Study::ALL {
        let name = study.name();
        let (_, part) = text.split_once(&format!("<!-- {name}: begin -->")).unwrap();
        let (part, _) = part.split_once(&format!("<!-- {name}: end -->")).unwrap();
        assert!(part.contains("repetitions of 15 graphs"), "{name}");
    }
    let linked: BTreeSet<&str> = text
        .split("](experiments/")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(file, _)| file)
        .collect();
    let files = fs::read_dir(docs.join("experiments")).unwrap();
    let files: Vec<String> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(linked, files.iter().map(String::as_str).collect());
}
