//! The program `xavantes-pm`: a process manager on a network.

use std::process::ExitCode;

fn main() -> ExitCode {
    shell::program::main::<process_daemon::Service>(std::env::args_os())
}
