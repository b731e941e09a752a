//! `cargo run --release -p forecast --example predictions -- FILE...` works the vectors of a file out
//! again and compares; the exit status is 1 if anything differs.
#![expect(clippy::print_stdout, reason = "a program for people")]

#[path = "../tests/support/vectors.rs"]
mod vectors;

use std::process::ExitCode;

fn main() -> ExitCode {
    let files: Vec<String> = std::env::args().skip(1).collect();
    if files.is_empty() {
        println!("usage: predictions FILE...");
        return ExitCode::from(2);
    }
    let mut is_same = true;
    for file in files {
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) => {
                println!("{file} could not be read: {error}");
                return ExitCode::from(2);
            }
        };
        let report = vectors::check(&text);
        for difference in &report.differences {
            println!("{difference}");
        }
        println!(
            "{file}: {} lines with {} numbers compared in {}, {} differ; other subjects: {}",
            report.n_lines,
            report.n_numbers,
            report.groups.join(" "),
            report.differences.len(),
            report.left_out.join(" ")
        );
        is_same &= report.differences.is_empty();
    }
    ExitCode::from(u8::from(!is_same))
}
