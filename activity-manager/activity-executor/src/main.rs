//! The executor as a program of its own, for tests and examples.

use std::process::ExitCode;

fn main() -> ExitCode {
    activity_executor::main(std::env::args_os().skip(1))
}
