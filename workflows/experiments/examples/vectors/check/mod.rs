//! Holds schedulers and rounds against the entries that a vector file expects (the format is in
//! common/schedule/tests/vectors/README.md).

mod case;
mod dynamic;
mod fixed;

use schedule::less;
use serde_json::Value;

use case::Case;

/// The result of one file.
#[derive(Default)]
pub(crate) struct Outcome {
    /// Entries that were computed and compared.
    pub(crate) checked: Vec<String>,
    /// Entries of algorithms, policies or modes that are not known here.
    pub(crate) unknown: Vec<String>,
    /// The differences, one line each.
    pub(crate) differences: Vec<String>,
}

/// Compares every entry of a file. Times within 1e-6 of the larger one or of 1, all else exactly.
/// The error tells what of the file cannot be read.
pub(crate) fn check_file(text: &str) -> Result<Outcome, String> {
    let file: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let case =
        Case::read(&file).ok_or("not a vector file: a field is missing or of another type")?;
    let problem = case.problem()?;
    let expected = &file["expected"];
    let entries = expected["static"]
        .as_object()
        .ok_or("expected.static is missing")?;
    let mut outcome = Outcome::default();
    let numbers = [
        ("critical_path_time", schedule::critical_path_time(&problem)),
        ("sequential_time", schedule::sequential_time(&problem)),
    ];
    for (name, got) in numbers {
        compare_time(&mut outcome.differences, name, got, &expected[name]);
    }
    for (name, entry) in entries {
        outcome.add(name, fixed::compare(&case, &problem, name, entry)?);
    }
    for (name, entry) in expected["dynamic"].as_object().into_iter().flatten() {
        outcome.add(name, dynamic::compare(&case, &file, &problem, name, entry)?);
    }
    Ok(outcome)
}

impl Outcome {
    fn add(&mut self, name: &str, found: Option<Vec<String>>) {
        match found {
            Some(found) => {
                let lines = found.iter().map(|line| format!("{name}: {line}"));
                self.differences.extend(lines);
                self.checked.push(name.to_owned());
            }
            None => self.unknown.push(name.to_owned()),
        }
    }
}

fn compare_time(found: &mut Vec<String>, what: &str, got: f64, want: &Value) {
    match want.as_f64() {
        Some(want) if (got - want).abs() <= 1e-6 * want.abs().max(1.0) => {}
        Some(want) => {
            let side = if less(got, want) { "below" } else { "above" };
            found.push(format!("{what} is {got}, {side} the expected {want}"));
        }
        None => found.push(format!("{what} is not in the file")),
    }
}
