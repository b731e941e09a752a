use std::path::Path;

use clap::Parser;

use super::*;
use crate::arguments::{Arguments as Line, Command};

fn arguments(words: &[&str]) -> Arguments {
    let line = Line::try_parse_from(["xav", "forecast"].iter().chain(words)).expect("a good line");
    let Command::Forecast(arguments) = line.command else {
        panic!("another command");
    };
    arguments
}

fn told(folder: &Path, table: &str, words: &[&str]) -> Result<Json, String> {
    let file = folder.join("table.csv");
    std::fs::write(&file, table).unwrap();
    let file = file.to_str().unwrap().to_owned();
    let words: Vec<&str> = [file.as_str()]
        .into_iter()
        .chain(words.iter().copied())
        .collect();
    let arguments = arguments(&words);
    let mut methods = arguments.predictors.clone();
    methods.push(arguments.against);
    methods.sort();
    methods.dedup();
    let read = read(&arguments, &methods).map_err(|failure| failure.message)?;
    Ok(as_json(&read.done, &read.sums.mean()))
}

#[test]
fn errors_are_told_for_each_series_and_for_their_mean() {
    let folder = tempfile::tempdir().unwrap();
    let json = told(
        folder.path(),
        "a,1,3,2\nb,5,5,5\n",
        &["--predictors", "last"],
    )
    .unwrap();
    // Forecasts 1 and 3 of 3 and 2: errors 2 and -1.
    let last = &json["series"]["a"]["last"];
    assert_eq!(last["rmse"], json!(2.5f64.sqrt()));
    assert_eq!((&last["mae"], &last["bias"]), (&json!(1.5), &json!(0.5)));
    assert!(last["nanoseconds"].as_f64().unwrap() >= 0.0);
    assert_eq!(json["series"]["b"]["last"]["rmse"], json!(0.0));
    assert_eq!(json["mean"]["last"]["mae"], json!(0.75));
    assert!(json["mean"]["es"]["rmse"].is_number());
}

#[test]
fn rows_of_the_same_name_are_series_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let json = told(
        folder.path(),
        "a,1,3,2\na,5,5,5\n",
        &["--predictors", "last"],
    )
    .unwrap();
    assert!(json["series"]["a (2)"]["last"]["rmse"] == json!(0.0));
    let table = "a (2),1,2\na,1,3\na,5,5\na,7,8\n";
    let json = told(folder.path(), table, &["--predictors", "last"]).unwrap();
    let names: Vec<&String> = json["series"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["a", "a (2)", "a (3)", "a (4)"]);
}

#[test]
fn of_more_series_than_are_told_there_are_means() {
    let mut read = Read {
        n_kept_max: SERIES_TOLD_MAX,
        ..Read::default()
    };
    let figures = Figures {
        n_values: 2,
        rmse: Some(3.0),
        ..Figures::default()
    };
    for _ in 0..=SERIES_TOLD_MAX {
        read.add("a", BTreeMap::from([(Method::Des, figures)]));
    }
    assert_eq!(read.done.len(), SERIES_TOLD_MAX);
    assert_eq!((read.n_series, read.n_values), (100_001, 200_002));
    assert_eq!(read.sums.mean()[&Method::Des].rmse, Some(3.0));
}

#[test]
fn one_value_has_no_errors() {
    let folder = tempfile::tempdir().unwrap();
    let json = told(folder.path(), "4\n", &[]).unwrap();
    assert_eq!(json["series"]["values"]["es"]["rmse"], Json::Null);
    assert_eq!(json["mean"]["es"]["mae"], Json::Null);
}

#[test]
fn mistakes_name_the_file_and_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = told(folder.path(), "a,1,2\nb,1,oops\n", &[]).unwrap_err();
    assert!(wrong.contains("table.csv: line 2: \"oops\""), "{wrong}");
    let wrong = told(folder.path(), "a,1,-2\n", &["--quantity", "runtime"]).unwrap_err();
    assert!(wrong.contains("-2 is not a runtime"), "{wrong}");
}

#[test]
fn every_predictor_is_defined_on_everything_that_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let all = Method::ALL.map(Method::name).join(",");
    let table =
        "spike,1,2,1e12,1,2,1\nnegative,-1,-5,3,-2\nconstant,0,0,0,0\ngaps,,,1,,2,\nsingle,1,\n";
    let json = told(folder.path(), table, &["--predictors", &all]).unwrap();
    for (name, figures) in json["series"].as_object().unwrap() {
        for method in Method::ALL {
            let rmse = &figures[method.name()]["rmse"];
            assert!(
                rmse.is_number() || name == "single",
                "{name} {method}: {rmse}"
            );
        }
    }
}

#[test]
fn the_picture_has_the_newest_values_and_the_forecasts() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("list.csv");
    let numbers: String = (0..5000).map(|at| format!("{at}\n")).collect();
    std::fs::write(&file, numbers).unwrap();
    let svg = folder.path().join("picture.svg");
    let words = [
        file.to_str().unwrap(),
        "--predictors",
        "xavantes,last",
        "--svg",
        svg.to_str().unwrap(),
    ];
    assert_eq!(forecast(&arguments(&words)).unwrap(), 0);
    let picture = std::fs::read_to_string(svg).unwrap();
    assert!(picture.contains("the newest 2000 of 5000 values") && picture.contains(">xavantes<"));
    assert!(picture.contains(">3001</text>") && picture.contains(">5000</text>"));
}
