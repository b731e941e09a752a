use clap::Parser;

use super::*;
use crate::arguments::{Arguments as Line, Command as Given};

fn command(words: &[&str]) -> Command {
    let line = Line::try_parse_from(["xav", "trace"].iter().chain(words)).expect("a good line");
    let Given::Trace(command) = line.command else {
        panic!("another command");
    };
    command
}

fn done(command: &Command) -> Outcome {
    match command {
        Command::Stats(arguments) => stats(arguments),
        Command::Generate(arguments) => generate(arguments),
    }
}

#[test]
fn what_is_generated_can_be_described_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let (csv, svg) = (folder.path().join("two.csv"), folder.path().join("two.svg"));
    let (csv, svg) = (csv.to_str().unwrap(), svg.to_str().unwrap());
    let words = [
        "generate", "--set", "two", "--series", "3", "--values", "200", "--seed", "1",
    ];
    let mut words = words.to_vec();
    words.extend(["--out", csv]);
    assert_eq!(done(&command(&words)).unwrap(), 0);
    let first = std::fs::read_to_string(csv).unwrap();
    assert_eq!(first.lines().count(), 4);
    assert_eq!(done(&command(&words)).unwrap(), 0);
    assert_eq!(std::fs::read_to_string(csv).unwrap(), first);
    let words = ["stats", csv, "--series", "two-2", "--svg", svg, "--json"];
    assert_eq!(done(&command(&words)).unwrap(), 0);
    assert!(
        std::fs::read_to_string(svg)
            .unwrap()
            .contains("two-2, 200 values")
    );
}

#[test]
fn the_text_has_all_statistics_and_the_advice() {
    let values: Vec<f64> = (0..100)
        .map(|at| if at % 2 == 0 { 1.0 } else { 9.0 })
        .collect();
    let shown = shown(&[("a".to_owned(), Described::of(&values))]);
    for name in NAMES {
        assert!(shown.contains(name), "{name}");
    }
    assert!(
        shown.contains("the mean is a better forecast than the last value"),
        "{shown}"
    );
    assert!(shown.contains("running each job twice pays"), "{shown}");
    let nothing = super::shown(&[("a".to_owned(), Described::of(&[]))]);
    assert!(nothing.contains('-'));
}

#[test]
fn none_and_too_many_are_refused() {
    for words in [
        ["--series", "0"],
        ["--values", "0"],
        ["--series", "4000000"],
    ] {
        let words: Vec<&str> = ["generate"].into_iter().chain(words).collect();
        assert!(done(&command(&words)).is_err());
    }
}

#[test]
fn a_long_series_is_drawn_by_its_extremes() {
    let mut values = vec![5.0; 100_000];
    values[77_777] = 1e6;
    let picture = pictured("a", &values);
    assert!(picture.curves[0].values.len() <= PICTURE_VALUES);
    assert!(picture.curves[0].values.contains(&Some(1e6)));
}
