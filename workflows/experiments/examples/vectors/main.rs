//! `cargo run --release -p experiments --example vectors -- FILE...` holds schedulers and rounds against
//! vector files,
//! prints what differs, and ends with status 1 if anything does.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people"
)]

mod check;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut differs = false;
    let files: Vec<String> = std::env::args().skip(1).collect();
    if files.is_empty() {
        eprintln!("usage: vectors FILE...");
        return ExitCode::from(2);
    }
    for file in &files {
        let text = std::fs::read_to_string(file).map_err(|error| error.to_string());
        match text.and_then(|text| check::check_file(&text)) {
            Ok(outcome) => {
                let verdict = if outcome.differences.is_empty() {
                    "agrees"
                } else {
                    "DIFFERS"
                };
                println!("{file}: {verdict}: {}", outcome.checked.join(", "));
                if !outcome.unknown.is_empty() {
                    println!("  not known here: {}", outcome.unknown.join(", "));
                }
                outcome
                    .differences
                    .iter()
                    .for_each(|line| println!("  {line}"));
                differs |= !outcome.differences.is_empty();
            }
            Err(error) => {
                println!("{file}: cannot be checked: {error}");
                differs = true;
            }
        }
    }
    if differs {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}
