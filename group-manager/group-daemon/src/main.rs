//! The program `xavantes-gm`: a group manager on a network.

use std::process::ExitCode;

fn main() -> ExitCode {
    shell::program::main::<group_daemon::Service>(std::env::args_os())
}
