use super::*;

/// A small experiment in a directory.
fn source(study: Study, repetitions: u32) -> Source {
    let design = Design::new(study, 5, repetitions, vec![2, 4]).unwrap();
    Source::new(
        design,
        Traces::parse("vm,s0,s1\na,10,60\nb,0,90\n").unwrap(),
    )
}

#[test]
fn the_file_is_the_same_whatever_the_number_of_threads() {
    let dir = tempfile::tempdir().unwrap();
    for study in [Study::Static, Study::Lasting, Study::OnOff] {
        let source = source(study, 3);
        let texts = [1, 2, 5].map(|n_threads| {
            let path = dir.path().join(format!("{}-{n_threads}", study.name()));
            assert!(
                runner::run(&source, &path, n_threads)
                    .unwrap()
                    .is_complete()
            );
            fs::read(path).unwrap()
        });
        assert_eq!(texts[0], texts[1]);
        assert_eq!(texts[0], texts[2]);
    }
}

#[test]
fn a_file_that_was_cut_goes_on_to_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let source = source(Study::Bandwidth, 2);
    let path = dir.path().join("whole");
    let whole = runner::run(&source, &path, 2).unwrap();
    let text = fs::read(&path).unwrap();
    for share in [0, 1, 40, 333, 700, 999, 1_000] {
        let cut = text.len() * share / 1_000;
        let path = dir.path().join("cut");
        fs::write(&path, &text[..cut]).unwrap();
        assert_eq!(runner::run(&source, &path, 2).unwrap(), whole);
        assert_eq!(fs::read(&path).unwrap(), text, "cut at {cut}");
    }
    // More repetitions go on from fewer.
    let more = self::source(Study::Bandwidth, 3);
    assert!(runner::run(&more, &path, 1).unwrap().is_complete());
    assert!(fs::read(&path).unwrap().starts_with(&text));
}

#[test]
fn a_file_of_another_experiment_stays_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("static.results");
    for text in ["my thesis\nin two lines\n", "xavantes experiment\nother\n"] {
        fs::write(&path, text).unwrap();
        let failure = runner::run(&source(Study::Static, 1), &path, 1).unwrap_err();
        assert_eq!(failure.status, failure::status::REFUSED);
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    let held = fs::File::open(&path).unwrap();
    held.lock().unwrap();
    let failure = runner::run(&source(Study::Static, 1), &path, 1).unwrap_err();
    assert!(failure.message.contains("another xav"), "{failure}");
}

fn arguments(name: &str, to: &Path) -> Arguments {
    Arguments {
        name: name.to_owned(),
        seed: 5,
        repetitions: 2,
        groups: Some("2,10".to_owned()),
        threads: Some(2),
        to: to.to_owned(),
        traces: None,
        check: true,
    }
}

#[test]
fn a_planted_result_fails_the_check() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = arguments("static", dir.path());
    let design = design(&arguments, Study::Static).unwrap();
    let mut text = Results::heading(&design);
    for number in 0..design.n_units() {
        let unit = design.unit(number);
        let of_column = [1e3, 5e3, 2e3, 3e3, 3e3, 4e3, 2e3, 3e3, 2e3];
        let noise = f64::from(unit.repetition);
        let values: Vec<f64> = of_column.repeat(15).iter().map(|v| v + noise).collect();
        text += &Results::line(unit, &values);
    }
    fs::write(dir.path().join("static.results"), text).unwrap();
    assert_eq!(experiment(&arguments).unwrap(), failure::status::FAULTED);
    for file in [
        "static.csv",
        "static.json",
        "static.md",
        "static-low-slr.svg",
    ] {
        assert!(
            fs::metadata(dir.path().join(file)).unwrap().len() > 100,
            "{file}"
        );
    }
}

#[test]
fn wrong_names_and_numbers_are_refused_before_anything_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("none");
    let failure = experiment(&arguments("statik", &to)).unwrap_err();
    assert_eq!(
        failure.to_string(),
        "there is no experiment statik\n  did you mean `static`?"
    );
    let mut wrong = arguments("static", &to);
    wrong.repetitions = 0;
    assert!(
        experiment(&wrong)
            .unwrap_err()
            .message
            .contains("0 repetitions")
    );
    wrong.repetitions = 1;
    assert_eq!(
        experiment(&wrong).unwrap_err().to_string(),
        "--check needs at least 2 repetitions: one tells nothing of how much results vary"
    );
    wrong = arguments("static", &to);
    wrong.groups = Some("0".to_owned());
    assert!(experiment(&wrong).unwrap_err().message.contains("0 groups"));
    wrong = arguments("planetlab", &to);
    wrong.traces = Some(dir.path().join("missing.csv"));
    assert!(
        experiment(&wrong)
            .unwrap_err()
            .message
            .contains("missing.csv")
    );
    assert!(!to.exists());
}
